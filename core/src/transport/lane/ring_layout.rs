//! Where messages lie in a data ring: both ends compute it from the lengths alone.

use lapis_ablation::{Optimization, without};

/// How a data ring is divided, which follows from its length. Both ends use the same layout.
///
/// Long messages may lie anywhere in it. Shorter ones keep to its first part, so that only that
/// part takes memory as long as no long messages are sent. Short ones keep to so little of it that
/// it stays in the second-level caches: their latency counts. Medium ones have more room: lines
/// that both second caches hold would have to be taken from one by the other, each time that a
/// receiver reads them and a sender writes them again, and these are faster from the cache that
/// both share.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RingLayout {
    /// Its bytes; 0 for no ring.
    pub size: usize,
    /// Short messages.
    pub small: Class,
    /// Messages of one packet that are not short.
    pub medium: Class,
    /// Data bytes that the receiver has read but not given back, at most. A short message that
    /// steps over all but the first part must find room all the same once everything before it has
    /// been read.
    pub kept: usize,
}

/// Messages shorter than something, and the beginning of the ring that they keep to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Longer messages, and those of this length, in bytes, are none of these.
    pub below: usize,
    /// The bytes that these keep to.
    pub part: usize,
}

impl RingLayout {
    /// That of no ring: nothing fits.
    pub const fn none() -> Self {
        let class = Class { below: 0, part: 0 };
        Self { size: 0, small: class, medium: class, kept: 0 }
    }

    /// That of a ring of `size` bytes, a power of two.
    ///
    /// # Panics
    /// It is none.
    pub const fn of(size: usize) -> Self {
        const K: usize = 1 << 10;
        assert!(size.is_power_of_two() && size.is_multiple_of(64));
        let small = Class { below: least(size / 128, K), part: least(size / 4, 256 * K) };
        let medium =
            if size > 1024 * K { Class { below: 17 * K, part: least(size, 2048 * K) } } else { small };
        let kept = least(size / 16, 64 * K);
        assert!(kept + 2 * small.below <= small.part && kept + 2 * medium.below <= medium.part);
        Self { size, small, medium, kept }
    }

    /// Where `len` bytes go that may not wrap, with a gap behind them: at `pos` or, if they would
    /// pass the end of their part of the ring, at the next beginning.
    #[inline(always)]
    pub fn place(&self, pos: u64, len: usize, gap: usize) -> u64 {
        let at = self.offset(pos);
        let part = match len {
            _ if without(Optimization::RingParts) => self.size,
            _ if len < self.small.below => self.small.part,
            _ if len < self.medium.below => self.medium.part,
            _ => self.size,
        };
        let taken = len + gap;
        if at + taken <= part {
            return pos;
        }
        // Behind that part, or at its end.
        let end = if at <= part { part } else { self.size };
        if at + taken > end { pos + (self.size - at) as u64 } else { pos }
    }

    /// Up to which position everything lies one behind the other, however long, from `pos` on: to
    /// the end of the first part that this is in.
    pub fn straight(&self, pos: u64) -> u64 {
        let at = self.offset(pos);
        let end = [self.small.part, self.medium.part].into_iter().find(|part| at <= *part);
        pos + (end.unwrap_or(self.size) - at) as u64
    }

    /// Where a position is in the ring.
    #[inline(always)]
    pub fn offset(&self, pos: u64) -> usize {
        pos as usize & (self.size - 1)
    }

    /// The longest message, in bytes.
    pub const fn longest(&self) -> usize {
        self.size / 4
    }
}

const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// The position after a message of `len` bytes at `start`. Every message begins on a cache line.
#[inline(always)]
pub fn after(start: u64, len: usize) -> u64 {
    (start + len as u64).next_multiple_of(64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::GAP;
    use super::*;

    #[test]
    fn whatever_ends_on_the_straight_lies_where_the_one_before_it_ended() {
        for ring_layout in [RingLayout::of(32 << 10), RingLayout::of(1 << 20), RingLayout::of(4 << 20)] {
            let Class { below, part } = ring_layout.medium;
            let lengths = [185, 1000, ring_layout.small.below, below - 1, below, ring_layout.longest()];
            let (mut pos, mut followed) = (0, 0);
            let gaps = [0, GAP, 0, 0, GAP];
            for (len, gap) in lengths.into_iter().cycle().zip(gaps.into_iter().cycle()).take(10_000) {
                let start = ring_layout.place(pos, len, gap);
                if after(pos, len + gap) <= ring_layout.straight(pos) {
                    assert_eq!(start, pos, "{len} bytes of a ring of {}", ring_layout.size);
                    followed += 1;
                }
                pos = after(start, len + gap);
            }
            assert!(followed > 0 && followed < 10_000);
            let end = |pos| ring_layout.straight(pos) - pos;
            assert_eq!((end(0), end(ring_layout.small.part as u64)), (ring_layout.small.part as u64, 0));
            assert!(end(part as u64 + 64) <= (ring_layout.size - part) as u64);
        }
    }

    #[test]
    fn shorter_messages_keep_to_the_first_part_and_come_back_to_it_after_a_long_one() {
        for ring_layout in [RingLayout::of(32 << 10), RingLayout::of(1 << 20), RingLayout::of(4 << 20)] {
            for class in [ring_layout.small, ring_layout.medium] {
                let (mut pos, most) = (0, ring_layout.longest());
                let lengths = || [185, class.below - 1].into_iter().cycle().take(10_000);
                for len in lengths().chain([most]) {
                    let at = ring_layout.place(pos, len, 0);
                    let end = ring_layout.offset(at) + len;
                    assert!(at >= pos && (end <= class.part || len == most), "{len} bytes at {at}");
                    pos = after(at, len);
                }
                while ring_layout.offset(pos) <= class.part {
                    pos = after(ring_layout.place(pos, most, 0), most);
                }
                let mut turns = 0;
                for len in lengths() {
                    let at = ring_layout.place(pos, len, 0);
                    let begins = ring_layout.offset(at) == 0;
                    assert!(turns > 0 || at == pos || begins, "no room is left out but at the end");
                    turns += u64::from(begins);
                    assert!(turns == 0 || ring_layout.offset(at) + len <= class.part, "{len} bytes at {at}");
                    pos = after(at, len);
                }
                assert!(turns > 1);
            }
        }
    }
}
