//! Vector gets that wait for their data.

use super::layout::Layout;
use crate::sync::lock;
use lapis_core::sync::blocking::Mutex;
use lapis_core::{CompletionHandler, Context, Error};
use std::collections::BTreeMap;

/// Gets whose answer has not arrived, by number.
#[derive(Default)]
pub(crate) struct Pending(pub(super) Mutex<Numbered>);

#[derive(Default)]
pub(super) struct Numbered {
    next: u64,
    pub(super) gets: BTreeMap<u64, Get>,
}

pub(super) struct Get {
    pub(super) target: u32,
    /// How often everything had started again with the target: an answer belongs to one beginning.
    pub(super) life: u32,
    /// Where the data goes; taken when the answer begins to arrive.
    pub(super) origin: Option<Layout>,
    pub(super) completion: Option<CompletionHandler>,
}

impl Pending {
    pub(super) fn add(&self, get: Get) -> u64 {
        let mut all = lock(&self.0);
        let number = all.next;
        all.next += 1;
        all.gets.insert(number, get);
        number
    }

    pub(super) fn remove(&self, number: u64) -> Option<Get> {
        lock(&self.0).gets.remove(&number)
    }

    /// Names the gets that have begun so far.
    pub(crate) fn mark(&self) -> u64 {
        lock(&self.0).next
    }

    /// Whether all gets before the mark have ended.
    ///
    /// # Errors
    /// The oldest one will never end: its target is gone, or everything has started again with it.
    /// What was lost with an earlier life of a target is given up, so that this is told once; of
    /// one that is gone, every fence says so.
    pub(crate) fn done(&self, context: &Context, mark: u64) -> Result<bool, Error> {
        let of = |(number, get): (&u64, &Get)| (*number < mark).then_some((get.target, get.life));
        // Not with the list locked: whoever takes an answer has the context's lock, then this one.
        let oldest = lock(&self.0).gets.first_key_value().and_then(of);
        let Some((target, life)) = oldest else { return Ok(true) };
        if context.beginnings_with(target) == life {
            return context.reachable(target).map(|()| false);
        }
        lock(&self.0).gets.retain(|_, get| (get.target, get.life) != (target, life));
        context.reachable(target).and(Err(Error::PurgedBy { task: target }))
    }

    /// Gives up the gets from a task that is purged.
    pub(crate) fn forget(&self, target: u32) {
        lock(&self.0).gets.retain(|_, get| get.target != target);
    }
}
