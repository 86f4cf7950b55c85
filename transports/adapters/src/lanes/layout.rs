//! How lanes lie in a window's memory.

use crate::fifo::Places;
use lapis_core::sync::{AtomicU32, AtomicU64};
use lapis_core::transport::lane::{Area, Slot};
use lapis_lanes::{Control, LONGEST_RING};

/// Slots of a lane.
pub(super) const SLOTS: usize = 128;

#[repr(C, align(64))]
pub(super) struct Line<T>(pub(super) T);

/// What stands before a data ring.
#[repr(C)]
pub(super) struct Head {
    /// Who sends here; 0: nobody.
    pub(super) owner: Line<AtomicU64>,
    /// Not 0: the sender sleeps until there is room.
    pub(super) needy: Line<AtomicU32>,
    pub(super) control: Control,
    _apart: Line<[u64; 8]>,
    pub(super) slots: [Slot; SLOTS],
}

/// From one lane to the next: an odd number of lines, so that equal places of many lanes don't
/// fight for one cache set.
pub(super) const fn stride(ring: usize) -> usize {
    size_of::<Head>() + ring + 17 * 64
}
const _: () = assert!(!(stride(LONGEST_RING) / 64).is_multiple_of(2));

impl Places {
    /// How many lanes there are with rings of so many bytes.
    pub(super) fn lane_count(&self, ring: usize) -> usize {
        self.geometry.lanes as usize / stride(ring)
    }

    /// A lane's head; its ring follows.
    pub(super) fn lane_head(&self, index: usize, ring: usize) -> *const Head {
        debug_assert!(index < self.lane_count(ring));
        self.lanes.wrapping_add(index * stride(ring)).cast()
    }
}

/// The ring behind a head.
pub(super) fn ring_of(head: *const Head) -> Area {
    Area(head.wrapping_add(1).cast_mut().cast())
}
