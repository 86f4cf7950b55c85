//! Lines in mapped memory by which a member publishes the rounds that it has begun.
//!
//! A member has several lines, which it writes in turns, so that the line of the next round can be
//! fetched for writing while others still read the present one. Each word has one writer. Teams
//! have such lines on their boards, with short data behind the flag; a layer above that has mapped
//! memory of its own may use them as they are.

use lapis_core::sync::{AtomicU64, Ordering, prefetch};

/// Distance of two lines: processors prefetch cache lines in pairs.
pub const LINE: usize = 128;

/// Bytes of an area of a board, for longer data than a line has room for. Rounds fold no elements
/// that are longer.
pub(crate) const AREA: usize = 64 << 10;

const CACHE_LINE: usize = 64;

/// The flag of a round.
#[repr(C)]
pub struct Line {
    round: AtomicU64,
    /// The member's call.
    signature: AtomicU64,
}

impl Line {
    #[cfg(all(test, loom))]
    pub(crate) fn new() -> Self {
        Self { round: AtomicU64::new(0), signature: AtomicU64::new(0) }
    }

    /// Publishes a round, what was stored before it, and the call that it belongs to.
    #[inline(always)]
    pub fn show(&self, round: u64, signature: u64) {
        // SYNC: pairs with the fence in `Board::called`: who sees the call of a later round sees
        // that this member has begun the round before.
        self.signature.store(signature, Ordering::Release);
        // SYNC: pairs with the Acquire loads in `shown` and `is_reached`: signature and data come
        // first.
        self.round.store(round, Ordering::Release);
    }

    /// The member's call, if the line shows `round`.
    #[inline(always)]
    pub fn shown(&self, round: u64) -> Option<u64> {
        // SYNC: pairs with the Release store in `show`.
        let there = self.round.load(Ordering::Acquire) == round;
        there.then(|| self.signature.load(Ordering::Relaxed))
    }

    /// Whether the line shows `round`, or a later one.
    #[inline(always)]
    pub fn is_reached(&self, round: u64) -> bool {
        // SYNC: pairs with the Release store in `show`.
        self.round.load(Ordering::Acquire) >= round
    }
}

/// The lines of a member, which are `STEP` bytes apart. Of so many, a member may begin a round if
/// all have begun the one that comes as many less one before it; nobody reads its line any more
/// then.
#[derive(Clone, Copy)]
pub struct Lines<const STEP: usize = LINE> {
    first: *mut u8,
    /// Their number, less one.
    mask: u64,
}

impl<const STEP: usize> Lines<STEP> {
    /// Bytes of so many lines.
    pub const fn bytes(count: usize) -> usize {
        count * STEP
    }

    /// The lines that begin at an address; their number is a power of two.
    ///
    /// # Safety
    /// There are [`bytes`](Self::bytes) for so many, aligned to 8, which are mapped as long as this
    /// or a copy is used. They hold zeroes or what the member's own process stores. This alone
    /// accesses them, but for the bytes of a line behind its [`Line`].
    #[inline(always)]
    pub unsafe fn at(first: *mut u8, count: usize) -> Self {
        debug_assert!(count.is_power_of_two());
        Self { first, mask: count as u64 - 1 }
    }

    /// The first byte of a round's line.
    #[inline(always)]
    pub fn address(&self, round: u64) -> *mut u8 {
        self.first.wrapping_add((round & self.mask) as usize * STEP)
    }

    /// The flag of a round.
    #[inline(always)]
    pub fn line(&self, round: u64) -> &Line {
        // SAFETY: within the lines, which the caller of `at` says are there; atomics alone.
        unsafe { &*self.address(round).cast() }
    }

    /// Fetches the line of a round that the calling member begins next, for writing. Others have
    /// read it in an earlier round, so it is in their caches, too. Fetched before the lines of the
    /// present round have arrived, it would delay those.
    #[inline(always)]
    pub fn prefetch(&self, round: u64) {
        prefetch::before_writing(self.address(round));
    }

    /// As [`prefetch`](Self::prefetch), with the data behind the flag.
    #[inline(always)]
    pub(crate) fn prefetch_with_data(&self, round: u64) {
        self.prefetch(round);
        prefetch::before_writing(self.address(round).wrapping_add(CACHE_LINE));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_take_turns_and_show_the_last_round_of_each() {
        let mut memory = [[0u64; LINE / 8]; 2];
        // SAFETY: two lines, used by this alone.
        let lines = unsafe { <Lines>::at(memory.as_mut_ptr().cast(), memory.len()) };
        for round in 1..=5 {
            lines.prefetch_with_data(round);
            assert!(!lines.line(round).is_reached(round));
            lines.line(round).show(round, round * 7);
        }
        assert_eq!((lines.line(5).shown(5), lines.line(4).shown(4)), (Some(35), Some(28)));
        assert_eq!((lines.line(3).shown(3), lines.line(3).is_reached(3)), (None, true));
        assert!(!lines.line(6).is_reached(6));
    }
}
