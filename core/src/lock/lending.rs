//! Distinguishing nested calls from calls that interrupt others.
//!
//! A thread that holds the lock may call again: from a handler, or because the program has taken
//! the lock itself. It must not do so from a signal handler that interrupted it while the guarded
//! state was inconsistent. So the lock is *lent* while code of the program runs.

use super::{ContextLock, barrier, thread_word};
use crate::sync::Ordering;

/// Where a call of the program's begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The thread does not hold the lock.
    Outermost,
    /// In a handler, or with the lock that the program took.
    Nested,
    /// In a signal handler, in the midst of another call: what the lock guards is not whole.
    Amid,
}

impl ContextLock {
    /// Begins a call of the program's, before it takes the lock. A thread that holds the lock
    /// already must be in a handler or have taken it by its own wish; otherwise it was interrupted
    /// in the midst of a call, and a signal handler makes this one.
    #[inline(always)]
    pub(crate) fn begin_call(&self) -> Call {
        // Who may try does not hold the lock: as good as always, and quicker to see.
        if self.words.slots[0].may_try(thread_word()) || !self.held_by_me() {
            Call::Outermost
        } else {
            self.begin_nested_call()
        }
    }

    fn begin_nested_call(&self) -> Call {
        let call = if self.words.lent.swap(false, Ordering::Relaxed) { Call::Nested } else { Call::Amid };
        // What follows changes what the lock guards: a signal handler must not find it lent any
        // more.
        barrier::light();
        call
    }

    /// The thread goes back to code of the program, or into it. Nothing happens unless it holds the
    /// lock.
    #[inline(always)]
    pub(crate) fn lend(&self) {
        if self.held_by_me() {
            self.words.lent.store(true, Ordering::Relaxed);
        }
    }

    /// As [`lend`](Self::lend), by a thread that knows that it holds the lock: the dispatcher,
    /// whose every message would ask.
    #[inline(always)]
    pub(crate) fn lend_held(&self) {
        debug_assert!(self.held_by_me());
        self.words.lent.store(true, Ordering::Relaxed);
    }

    /// The opposite of [`lend_held`](Self::lend_held).
    #[inline(always)]
    pub(crate) fn unlend_held(&self) {
        debug_assert!(self.held_by_me());
        self.words.lent.store(false, Ordering::Relaxed);
    }

    /// The opposite of [`lend`](Self::lend).
    #[inline(always)]
    pub(crate) fn unlend(&self) {
        if self.held_by_me() {
            self.words.lent.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::STREAK;
    use super::*;

    #[test]
    fn a_call_in_the_midst_of_another_is_told_from_one_that_nests() {
        let lock = ContextLock::for_tests();
        // Both ways of holding it: by compare-and-swap, and by the bias.
        for _ in 0..STREAK + 2 {
            assert_eq!(lock.begin_call(), Call::Outermost);
            let held = lock.guard();
            assert_eq!(lock.begin_call(), Call::Amid);
            lock.lend(); // A handler begins, and makes a call.
            assert_eq!(lock.begin_call(), Call::Nested);
            assert_eq!(lock.begin_call(), Call::Amid);
            lock.lend();
            lock.unlend();
            assert_eq!(lock.begin_call(), Call::Amid);
            drop(held);
            lock.lend();
            lock.acquire();
            assert_eq!(lock.begin_call(), Call::Amid);
            lock.release();
        }
    }
}
