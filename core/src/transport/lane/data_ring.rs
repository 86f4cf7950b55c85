//! The data ring of a lane: the bytes of messages that are too long for a slot, one behind the
//! other, each beginning at a cache line.

use super::{Area, RingLayout, after};
use crate::sync::AtomicU64;

/// The writing end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DataOut {
    /// The ring's bytes.
    pub area: Area,
    /// Where the next message may begin: a position, which grows for ever.
    pub next: u64,
    /// The first position that may not be written yet, as last read.
    pub limit: u64,
    /// How the ring is divided; of size 0, nothing is sent here.
    pub layout: RingLayout,
    /// The longest message that the reader takes, in bytes; 0 if there is no ring.
    pub longest: usize,
    /// The length from which on stores of a message bypass the caches, where that is faster; 0 for
    /// never. Less than 1 KiB counts as 1 KiB.
    pub far: u32,
    /// Core's own, 0 at first: a message that ends here or before lies where the last one ended,
    /// and has room.
    pub straight: u64,
}

impl DataOut {
    /// No ring.
    pub const fn none() -> Self {
        let (area, layout) = (Area::none(), RingLayout::none());
        Self { area, next: 0, limit: 0, layout, longest: 0, far: 0, straight: 0 }
    }

    /// An empty ring, or one that its last writer left at position `next`; the reader has given
    /// back everything, and takes messages of up to `longest` bytes, as far as they fit the layout.
    pub fn at(area: Area, layout: RingLayout, next: u64, longest: usize) -> Self {
        let limit = next.wrapping_add(layout.size as u64);
        let longest = longest.min(layout.longest());
        Self { area, next, limit, layout, longest, far: 0, straight: 0 }
    }

    /// The place of a message of `len` bytes, writable to the end of the cache line in which it
    /// ends, and the position behind it. `None`: there is no room as far as is known, or the reader
    /// takes no message of this length.
    ///
    /// # Safety
    /// The ring is alive.
    #[inline(always)]
    pub unsafe fn room(&self, len: usize) -> Option<(*mut u8, u64)> {
        // SAFETY: the ring is alive, the caller says.
        unsafe { self.room_apart(len, 0) }
    }

    /// The same with a gap behind the message.
    ///
    /// # Safety
    /// As for [`room`](Self::room).
    #[inline(always)]
    pub(super) unsafe fn room_apart(&self, len: usize, gap: usize) -> Option<(*mut u8, u64)> {
        if len > self.longest {
            return None;
        }
        let (mut start, mut end) = (self.next, after(self.next, len + gap));
        if end > self.straight {
            start = self.look_for_room(len, gap)?;
            end = after(start, len + gap);
        }
        // SAFETY: `place` keeps the range inside the ring, as `straight` does.
        Some((unsafe { self.area.for_write(self.layout.offset(start), len) }, end))
    }

    /// The position of a message of `len` bytes that does not simply follow the last one, as far as
    /// is known.
    #[inline(never)]
    fn look_for_room(&self, len: usize, gap: usize) -> Option<u64> {
        let start = self.layout.place(self.next, len, gap);
        let has_room = after(start, len + gap).wrapping_sub(self.limit) as i64 <= 0;
        has_room.then_some(start)
    }

    /// A message has been put that ends at `end`. Room that was asked for and not used changes
    /// nothing.
    #[inline(always)]
    pub(super) fn advance(&mut self, end: u64) {
        self.next = end;
        if end > self.straight {
            self.look_for_straight();
        }
    }

    #[inline(never)]
    fn look_for_straight(&mut self) {
        self.straight = self.layout.straight(self.next).min(self.limit);
    }
}

/// The reading end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DataIn {
    /// The ring's bytes.
    pub area: Area,
    /// Where the next message may begin.
    pub next: u64,
    /// Everything before this position has been given back.
    pub released: u64,
    /// Where the sender reads this position; null if there is no ring.
    pub tail: *const AtomicU64,
    /// How the ring is divided.
    pub layout: RingLayout,
    /// The longest message that is taken, in bytes; 0 if there is no ring.
    pub longest: usize,
    /// Core's own, 0 at first: a message that ends here or before lies where the last one ended,
    /// and nothing need be given back after it.
    pub straight: u64,
}

impl DataIn {
    /// No ring.
    pub const fn none() -> Self {
        let layout = RingLayout::none();
        let (area, tail) = (Area::none(), std::ptr::null());
        Self { area, next: 0, released: 0, tail, layout, longest: 0, straight: 0 }
    }

    /// Takes the next message, of `len` bytes, and the gap behind it. Says also whether so much was
    /// taken that it is to be given back.
    ///
    /// # Safety
    /// The ring is alive, and its writer has announced such a message; `len` is no more than
    /// `longest`, which is no more than the layout's longest.
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, len: usize, gap: usize) -> (*mut u8, bool) {
        let (mut start, mut is_due) = (self.next, false);
        self.next = after(start, len + gap);
        if self.next > self.straight {
            (start, is_due) = self.take_elsewhere(start, len, gap);
        }
        // SAFETY: `place` keeps the range inside the ring, as `straight` does.
        (unsafe { self.area.for_read(self.layout.offset(start), len) }, is_due)
    }

    /// The position of a message that does not simply follow the last one, which ended at `last`,
    /// as far as is known; and whether something is to be given back.
    #[inline(never)]
    fn take_elsewhere(&mut self, last: u64, len: usize, gap: usize) -> (u64, bool) {
        let start = self.layout.place(last, len, gap);
        self.next = after(start, len + gap);
        let is_due = self.next.wrapping_sub(self.released) >= self.layout.kept as u64;
        let released = if is_due { self.next } else { self.released };
        let due = released.wrapping_add(self.layout.kept as u64);
        self.straight = self.layout.straight(self.next).min(due.wrapping_sub(1));
        (start, is_due)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn room_that_was_asked_for_and_not_used_changes_nothing() {
        let layout = RingLayout::of(4 << 20);
        let mut ring = vec![0u8; layout.size];
        let next = layout.small.part as u64 - 128;
        let mut out = DataOut::at(Area(ring.as_mut_ptr()), layout, next, layout.longest());
        let expected = |len| Some(after(layout.place(next, len, 0), len));
        for len in [1000, 185, 64 << 10, 185] {
            // SAFETY: the ring is alive.
            assert_eq!(unsafe { out.room(len) }.map(|(_, end)| end), expected(len), "{len} bytes");
        }
        out.advance(expected(185).unwrap());
        // SAFETY: the ring is alive.
        let room = unsafe { out.room(185) }.map(|(_, end)| end);
        assert_eq!(room, Some(after(layout.size as u64 + 192, 185)));
    }
}
