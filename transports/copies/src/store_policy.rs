//! Which kind of stores moves long data to memory that another task reads.
//!
//! If both cores share a cache, ordinary stores are best: the peer finds the bytes in the cache. If
//! they share none, each line must be taken away from the other core and fetched back, which costs
//! several times as much as going through memory. There is no way to ask which cores share a cache,
//! since a virtual machine's cores change places from one minute to the next. So the sender
//! measures it: now and then it reads a line on which the receiver says how far it is, and the time
//! that this takes tells how far away the receiver is.

use crate::Copies;
use lapis_ablation::{Optimization, without};
use std::time::Instant;

/// What is known of the way to one peer.
#[derive(Debug)]
pub struct StorePolicy {
    /// From where on what is better.
    limits: Copies,
    /// Whether the latest reads took long, the last one in bit 0.
    slow: u8,
    /// How many of them must have taken long.
    enough: u32,
    far: bool,
}

impl StorePolicy {
    /// By these limits; nothing is known yet.
    pub fn new(limits: Copies) -> Self {
        Self { limits, slow: 0, enough: u8::BITS / 2, far: false }
    }

    /// The same for many peers, each of which is watched in turn. Some are near in any case,
    /// because they share the caller's core.
    pub fn of_many(limits: Copies) -> Self {
        Self { enough: u8::BITS / 4, ..Self::new(limits) }
    }

    /// Reads how far the receiver is; `known` is what it said before.
    #[inline]
    pub fn watch(&mut self, known: u64, read: impl FnOnce() -> u64) -> u64 {
        let start = Instant::now();
        let tail = read();
        let took = start.elapsed().as_nanos();
        // Unless it has changed, the line was in this core's cache.
        if tail != known {
            self.took(took);
        }
        tail
    }

    /// Several of the latest reads decide: an interrupt may lengthen one, and another read just
    /// before shortens some.
    fn took(&mut self, nanoseconds: u128) {
        self.slow = self.slow << 1 | u8::from(nanoseconds >= u128::from(self.limits.far));
        self.far = self.slow.count_ones() >= self.enough;
    }

    /// Shorter data goes through the caches, near or far.
    pub fn least(&self) -> u32 {
        let limits = [self.limits.near_past, self.limits.far_past];
        limits.into_iter().flatten().min().unwrap_or(u32::MAX)
    }

    /// From how many bytes on data is to go past the caches; 0: none.
    pub fn past(&self) -> u32 {
        if without(Optimization::StorePolicy) {
            return 0;
        }
        self.limits.past(self.far).unwrap_or(0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_far_when_most_reads_of_its_line_take_long() {
        let limits = Copies { far: 100, near_past: None, far_past: Some(2048), attach: 1 };
        let mut policy = StorePolicy::new(limits);
        assert_eq!(policy.past(), 0);
        for (took, far) in
            [300, 40, 160, 9000, 30, 150].into_iter().zip([false, false, false, false, false, true])
        {
            policy.took(took);
            assert_eq!(policy.past(), if far { 2048 } else { 0 }, "after a read of {took} ns");
        }
        (0..5).for_each(|_| policy.took(50));
        assert_eq!(policy.past(), 0);
        policy.took(200);
        for _ in 0..10 {
            assert_eq!(policy.watch(7, || 7), 7);
        }
        assert_eq!(policy.slow & 1, 1, "reads of an unchanged line tell nothing");
    }
}
