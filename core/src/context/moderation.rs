//! Interrupt moderation: while the program polls all the time, arrivals need no interrupt.
//!
//! In interrupt mode each call that polls would take the links' interrupts away when it begins and
//! give them back when it ends. That is a word in shared memory, which whoever sends has to fetch
//! anew for each message, and a fence on both sides; between distant cores several times what a
//! message takes. So when calls that poll follow each other closely, interrupts are left out, and
//! the progress thread looks by the clock instead whether the program still polls. When it does
//! not, interrupts are there again. One call between two of these looks is enough to go on; such a
//! call may find what it waits for without a look at everything, which the progress thread does
//! then. While a thread of the program sleeps for an arrival, interrupts are not left out.
//!
//! What arrives just after the program has stopped polling waits for up to two of these looks: 0.3
//! ms, or a fiftieth of the time for which it has polled, up to 2 ms. Whatever comes later
//! interrupts at once.

mod switch;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What the program's threads and the progress thread share.
#[derive(Debug, Default)]
pub(crate) struct Moderation {
    /// Arrivals do not interrupt.
    active: AtomicBool,
    /// Calls that polled. Changed by the lock's holder only.
    polls: AtomicU32,
    /// Looks at everything. Changed by the lock's holder only.
    looks: AtomicU32,
    /// When it began, in microseconds of the context's clock.
    since: AtomicU64,
}

impl Moderation {
    /// Whether arrivals do not interrupt, because the program polls.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// The lock's holder is about to look at everything.
    #[inline(always)]
    pub(super) fn count_look(&self) {
        self.looks.store(self.looks.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}
