//! The timer queue: which peer has to be looked at next, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::config::Nanos;

/// A queue of deadlines. A peer's deadline mostly moves away from now, as answers come in; entries
/// are therefore not moved but found too early when they come up, and set again. An entry that is
/// not its peer's earliest one is void.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u32)>>,
}

impl Timers {
    /// Sets a deadline for a peer; `scheduled` is the peer's earliest one.
    #[inline]
    pub(super) fn set(&mut self, at: Nanos, peer: u32, scheduled: &mut Nanos) {
        if at < *scheduled {
            *scheduled = at;
            self.heap.push(Reverse((at, peer)));
        }
    }

    /// The earliest deadline, or one that turns out to be void.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|&Reverse((at, _))| at)
    }

    /// Takes the earliest deadline if it is not after `now`.
    pub(super) fn pop(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Drops void entries if they have become many. `scheduled` yields a peer's earliest deadline.
    pub(super) fn tidy(&mut self, peers: usize, scheduled: impl Fn(u32) -> Nanos) {
        if self.heap.len() > 8 * peers + 64 {
            self.heap.retain(|&Reverse((at, peer))| scheduled(peer) == at);
        }
    }

    /// Bytes of heap.
    pub(super) fn heap(&self) -> usize {
        self.heap.capacity() * size_of::<(Nanos, u32)>()
    }
}
