//! Memory that a purged task may still copy from directly, over a link without keys.

use super::super::played::{Coming, Play, Played, last_sent};
use super::super::two_tasks::{self, PEER};
use crate::context::Notify;
use crate::error::Error;
use crate::message::{AmSend, Bulk, Source};
use crate::transport::{Caps, PeerId};
use crate::wire::{Header, Kind};
use std::cell::Cell;
use std::sync::mpsc;

const BYTES: usize = 1 << 20;

thread_local! {
    /// How often this task has polled since a question for which it waits.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static POLLS: Cell<u32> = const { Cell::new(0) };
}

/// The other task can copy from this one's memory. It leaves memory alone a while after it was
/// asked to.
struct Direct;

impl Play for Direct {
    const CAPS: Caps = Caps::GET_ZCOPY.union(Caps::ANY_ADDRESS);

    fn coming() -> Option<Coming> {
        let asked = last_sent(|header| header.kind == Kind::Recall)?;
        POLLS.set(POLLS.get() + 1);
        let left_alone =
            Header { user_header: super::LEFT_ALONE, ..Header::new(Kind::Recall, 0, asked.subject) };
        (POLLS.get() == 3).then_some(Coming::Packet(left_alone))
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    use super::Played;

    crate::export_transport!(Played<super::Direct>, "direct", "0");
}

#[test]
fn memory_that_a_purged_task_may_copy_from_is_free_when_that_task_has_said_so() {
    let context = two_tasks::context_over(linked::table());
    let memory = vec![7_u8; BYTES];
    let (tell, told) = mpsc::channel();
    let origin: Notify = Notify::Dyn(Box::new(move |_: PeerId, outcome| {
        tell.send((POLLS.get(), outcome)).expect("the test listens");
    }));
    let message = AmSend {
        target: PEER,
        handler: 1,
        user_header: &[],
        source: Source::Contiguous(memory.as_ptr(), BYTES as u64),
        target_counter: 0,
        origin,
        completion: Notify::None,
    };
    // SAFETY: the memory outlives the context; the handler is a number.
    unsafe { context.am_send_by(message, Bulk::Use).unwrap() };
    let fetch = last_sent(|header| header.kind == Kind::AmPull);
    assert!(fetch.is_some(), "the other task is to fetch it");
    context.purge(PEER).unwrap();
    let (polls, outcome): (u32, Result<(), Error>) = told.try_recv().expect("the purge waits for the answer");
    assert!(matches!(outcome, Err(Error::Purged { task: PEER })), "{outcome:?}");
    assert_eq!(polls, 3, "told before the other task has answered");
    context.terminate().unwrap();
}
