//! Vector gets that wait for their data.

use super::layout::Layout;
use crate::sync::lock;
use lapis_core::CompletionHandler;
use lapis_core::sync::blocking::Mutex;
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
    pub(crate) fn done(&self, mark: u64) -> bool {
        lock(&self.0).gets.first_key_value().is_none_or(|(number, _)| *number >= mark)
    }

    /// Gives up the gets from a task that is purged.
    pub(crate) fn forget(&self, target: u32) {
        lock(&self.0).gets.retain(|_, get| get.target != target);
    }
}
