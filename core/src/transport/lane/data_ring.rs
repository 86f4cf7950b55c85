//! The data ring of a lane: the bytes of messages that are too long for a slot, one behind the
//! other, each from the beginning of a cache line on.

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
    /// The first position that may not be written yet, as far as the transport has looked.
    pub limit: u64,
    /// How the ring is divided; of size 0, nothing is sent here.
    pub layout: RingLayout,
    /// The longest message that the reader takes, in bytes; 0 where there is no ring.
    pub longest: usize,
    /// From how many bytes on messages are stored past the caches, if not 0: where that is faster
    /// than through them. Less than 1 KiB counts as 1 KiB.
    pub far: u32,
}

impl DataOut {
    /// No ring.
    pub const fn none() -> Self {
        Self { area: Area::none(), next: 0, limit: 0, layout: RingLayout::none(), longest: 0, far: 0 }
    }

    /// An empty ring, or one that its last writer left at position `next`; the reader has given
    /// back everything, and takes messages of up to `longest` bytes, as far as they fit the layout.
    pub fn at(area: Area, layout: RingLayout, next: u64, longest: usize) -> Self {
        let limit = next.wrapping_add(layout.size as u64);
        Self { area, next, limit, layout, longest: longest.min(layout.longest()), far: 0 }
    }

    /// The place of a message of `len` bytes, writable to the end of the cache line in which it
    /// ends, and the position behind it. `None`: there is no room as far as was looked, or the
    /// reader takes no message of this length.
    ///
    /// # Safety
    /// The ring is alive.
    #[inline(always)]
    pub unsafe fn room(&self, len: usize) -> Option<(*mut u8, u64)> {
        if len > self.longest {
            return None;
        }
        let start = self.layout.place(self.next, len);
        let end = after(start, len);
        if end.wrapping_sub(self.limit) as i64 > 0 {
            return None;
        }
        // SAFETY: `place` keeps the range inside the ring.
        Some((unsafe { self.area.for_write(self.layout.offset(start), len) }, end))
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
    /// What was given back: everything before this position.
    pub released: u64,
    /// Where the sender is told so; null where there is no ring.
    pub tail: *const AtomicU64,
    /// How the ring is divided.
    pub layout: RingLayout,
    /// The longest message that is taken, in bytes; 0 where there is no ring.
    pub longest: usize,
}

impl DataIn {
    /// No ring.
    pub const fn none() -> Self {
        let layout = RingLayout::none();
        Self { area: Area::none(), next: 0, released: 0, tail: std::ptr::null(), layout, longest: 0 }
    }

    /// Takes the next message, of `len` bytes.
    ///
    /// # Safety
    /// The ring is alive, and its writer has announced such a message; `len` is no more than
    /// `longest`, which is no more than the layout's longest.
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, len: usize) -> *mut u8 {
        let start = self.layout.place(self.next, len);
        self.next = after(start, len);
        // SAFETY: `place` keeps the range inside the ring.
        unsafe { self.area.for_read(self.layout.offset(start), len) }
    }

    /// Whether so much was taken that it is to be given back.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        self.next.wrapping_sub(self.released) >= self.layout.kept as u64
    }
}
