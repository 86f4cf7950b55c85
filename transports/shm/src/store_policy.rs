//! Which kind of stores moves the bytes of long messages to a peer's ring.
//!
//! If both cores share a cache, ordinary stores are best: the peer finds the bytes in the cache. If
//! they share none, each line must be taken away from the other core and fetched back, which costs
//! several times as much as going through memory. There is no way to ask which cores share a cache,
//! since a virtual machine's cores change places from one minute to the next. So the sender
//! measures it: now and then it reads the line on which the receiver says how far it has read, and
//! the time that this takes tells how far away the receiver is.

use std::time::Instant;

/// From so many nanoseconds for a line of the receiver's on, no cache is shared. Neighbours on one
/// die need 15 to 70 ns, cores of different dies or sockets 130 and more; reading the clock takes
/// part of it.
const FAR: u128 = 100;
/// What is known of the way to one peer.
#[derive(Debug, Default)]
pub(crate) struct StorePolicy {
    /// Whether the latest reads took long, the last one in bit 0.
    slow: u8,
    far: bool,
}

impl StorePolicy {
    /// Reads how far the receiver has read; `known` is what it said before.
    #[inline]
    pub(crate) fn watch(&mut self, known: u64, read: impl FnOnce() -> u64) -> u64 {
        let start = Instant::now();
        let tail = read();
        let took = start.elapsed().as_nanos();
        // Unless it has changed, the line was in this core's cache.
        if tail != known {
            self.took(took);
        }
        tail
    }

    /// Half of the latest reads decide: an interrupt may lengthen one, and another read just before
    /// shortens some.
    fn took(&mut self, nanoseconds: u128) {
        self.slow = self.slow << 1 | u8::from(nanoseconds >= FAR);
        self.far = self.slow.count_ones() >= u8::BITS / 2;
    }

    /// Whether bytes are to go past the caches.
    pub(crate) fn is_far(&self) -> bool {
        self.far
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_far_when_most_reads_of_its_line_take_long() {
        let mut policy = StorePolicy::default();
        assert!(!policy.far);
        for (took, far) in
            [300, 40, 160, 9000, 30, 150].into_iter().zip([false, false, false, false, false, true])
        {
            policy.took(took);
            assert_eq!(policy.far, far, "after a read of {took} ns");
        }
        (0..5).for_each(|_| policy.took(50));
        assert!(!policy.far);
        policy.took(200);
        for _ in 0..10 {
            assert_eq!(policy.watch(7, || 7), 7);
        }
        assert_eq!(policy.slow & 1, 1, "reads of an unchanged line tell nothing");
    }
}
