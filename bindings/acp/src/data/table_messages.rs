//! Work on tables that are not mapped here: their owner does it, and answers. Numbers are 64-bit
//! words.
//!
//! | message | user header | data |
//! |---|---|---|
//! | ask | question, table, structure, task and kind, bucket, element, extra, length of the key | key and value |
//! | answer | question, error or 0, element, bucket, bytes of the key, extra, done | bytes |
//!
//! An owner that finds a bucket changing all the time does not wait, and is asked again.

use super::bucket::Patience;
use super::table_words::{Found, Kind, Order, Task};
use crate::error::{Error, Result};
use crate::messages::{on, send_owned, with_bytes, words_of};
use crate::process::Process;
use lapis_core::{Delivery, HandlerId, Incoming};

const ASK: HandlerId = HandlerId(9);
const ANSWER: HandlerId = HandlerId(10);

pub(crate) fn install(process: &'static Process) -> lapis_core::Result<()> {
    on(process, ASK, asked)?;
    on(process, ANSWER, answered)
}

fn asked(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [question, table, structure, what, slot, elem, extra, key] = words_of(message.user_header)?;
    let (task, kind) = (Task::of(what & 0xff)?, Kind::of(what >> 8)?);
    let source = message.source;
    // Keys and values that no element can have are malformed.
    if key > message.len || (task == Task::Insert && kind == Kind::Map && extra != message.len - key) {
        return None;
    }
    Some(with_bytes(message, move |data| {
        let order = Order { task, kind, table, structure, slot, elem, extra, key, data };
        let (found, code) = match process.do_near(&order, Patience::Handler) {
            Ok(found) => (found, 0),
            Err(error) => (Found::default(), error.code()),
        };
        let Found { elem, slot, key, extra, done, data } = found;
        let words = [question, code, elem, slot, key, extra, u64::from(done)];
        // Whoever asked and is gone needs no answer.
        let _ = send_owned(process, source, ANSWER, words, data);
    }))
}

fn answered(process: &'static Process, message: &Incoming<'_>) -> Option<Delivery> {
    let [question, code, elem, slot, key, extra, done] = words_of(message.user_header)?;
    let answer = move |data| {
        let found = Found { elem, slot, key, extra, done: done == 1, data };
        process.data.finds.answer(question, Error::of_code(code).map(|()| found));
    };
    if let Some(data) = message.data() {
        answer(data.to_vec());
        return Some(Delivery::bury());
    }
    Some(with_bytes(message, answer))
}

impl Process {
    /// Does a task with a table, wherever that is.
    pub(crate) fn on_table(&self, order: &Order) -> Result<Found> {
        let world = self.world();
        if world.mapped(order.table, 8).is_some() {
            return self.do_near(order, Patience::Caller);
        }
        let task = world.block(world.rank_of(order.table)?)?.task;
        for tries in 0.. {
            match self.ask_owner(task, order) {
                Err(Error::Busy) => self.pause(tries)?,
                outcome => return outcome,
            }
        }
        Err(Error::Internal)
    }

    fn ask_owner(&self, task: u32, order: &Order) -> Result<Found> {
        let finds = &self.data.finds;
        let question = finds.ask(task);
        let what = order.task as u64 | (order.kind as u64) << 8;
        let words =
            [question, order.table, order.structure, what, order.slot, order.elem, order.extra, order.key];
        if self.is_gone(task) {
            finds.answer(question, Err(Error::Peer));
        } else if let Err(error) = send_owned(self, task, ASK, words, order.data.clone()) {
            finds.answer(question, Err(error));
        }
        let mut answer = None;
        self.wait(
            || vec![task],
            || {
                answer = finds.take(question);
                answer.is_some()
            },
        )?;
        answer.unwrap_or(Err(Error::Internal))
    }
}
