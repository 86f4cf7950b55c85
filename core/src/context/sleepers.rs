//! Who sleeps inside a context.

use crate::sync::futex::{wait_on, wake_all};
use crate::sync::placed::AtomicU32 as Word;
use crate::sync::{AtomicU32, Ordering};
use std::time::Duration;

/// Longest sleep of a thread while another one sleeps in the transport.
const BESIDE: Duration = Duration::from_millis(1);

/// Threads of this process that sleep inside the context.
pub(crate) struct Sleepers {
    /// How many: the one that sleeps in the transport and those that wait for it.
    pub(super) count: AtomicU32,
    /// 1 if somebody sleeps in the transport. No lock: a signal handler that comes in between may
    /// sleep here as well.
    asleep: Word,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU32::new(0), asleep: Word::new(0) }
    }

    /// Runs `sleep`, which sleeps in the transport, unless another thread does so: then this one
    /// sleeps for a moment, or until the other one has found something.
    pub(super) fn one_at_a_time(&self, limit: Duration, sleep: impl FnOnce()) {
        // SYNC: Acquire pairs with the Release below: one sleeper comes after the other.
        if self.asleep.swap(1, Ordering::Acquire) != 0 {
            return wait_on(&self.asleep, 1, limit.min(BESIDE));
        }
        sleep();
        // SYNC: pairs with the Acquire above.
        self.asleep.store(0, Ordering::Release);
        self.changed();
    }

    /// Something may have changed for those who wait for the one in the transport.
    pub(super) fn changed(&self) {
        wake_all(&self.asleep);
    }
}
