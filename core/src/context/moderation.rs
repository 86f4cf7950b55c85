//! Interrupt moderation: while the program polls continuously, arrivals need no interrupts.
//!
//! In interrupt mode each polling call would disable the links' interrupts at its beginning and
//! enable them at its end. That takes a store to a word in shared memory, which senders then have
//! to fetch again for each message, and a fence on both sides; between distant cores this costs
//! several times as much as a message. So when polling calls follow each other closely, interrupts
//! stay disabled, and the progress thread checks periodically whether the program still polls. If
//! it does not, interrupts are enabled again. One call between two checks suffices. As such a call
//! may find what it waits for without polling everything, the progress thread does that at its
//! checks. While a thread of the program sleeps for an arrival, interrupts are enabled.
//!
//! A message that arrives just after the program has stopped polling waits for up to two checks:
//! 0.3 ms, or a fiftieth of the time for which the program has polled, up to 2 ms. Later arrivals
//! interrupt at once.

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
