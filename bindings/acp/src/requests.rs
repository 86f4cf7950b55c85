//! Questions to other processes whose answer a call waits for.

use crate::error::{Error, Result};
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use std::sync::PoisonError;

/// Questions that are open, by number. `T` is what is answered.
pub(crate) struct Requests<T = u64> {
    open: Mutex<Open<T>>,
}

struct Open<T> {
    last: u64,
    by_number: FxHashMap<u64, (u32, Option<Result<T>>)>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { open: Mutex::new(Open { last: 0, by_number: FxHashMap::default() }) }
    }
}

impl<T> Requests<T> {
    fn lock(&self) -> MutexGuard<'_, Open<T>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a question to a task.
    pub(crate) fn ask(&self, task: u32) -> u64 {
        let mut open = self.lock();
        open.last += 1;
        let number = open.last;
        open.by_number.insert(number, (task, None));
        number
    }

    /// The answer has come.
    pub(crate) fn answer(&self, number: u64, answer: Result<T>) {
        if let Some((_, place @ None)) = self.lock().by_number.get_mut(&number) {
            *place = Some(answer);
        }
    }

    /// Nobody will answer what this task was asked.
    pub(crate) fn gone(&self, task: u32) {
        for (asked, answer) in self.lock().by_number.values_mut() {
            if *asked == task && answer.is_none() {
                *answer = Some(Err(Error::Peer));
            }
        }
    }

    /// Takes the answer if it is there.
    pub(crate) fn take(&self, number: u64) -> Option<Result<T>> {
        let mut open = self.lock();
        open.by_number.get(&number).filter(|(_, answer)| answer.is_some())?;
        open.by_number.remove(&number)?.1
    }
}
