//! The layout of a segment. Both sides compute it from constants; [`VERSION`] changes with any of
//! them.

use crate::mpsc_ring::{MpscRx, MpscTx, Places};
use crate::wake::Attention;
use lapis_core::sync::{AtomicU32, AtomicU64};
use lapis_core::transport::lane::{Area, MailboxLine, Slot};
use lapis_lanes::{Control, LaneRx, LaneTx, SHORTEST_RING};
use std::mem::offset_of;

/// First word of a finished segment, stored last.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"LapisShm");
/// Version of the layout and of the greeting.
pub(crate) const VERSION: u32 = 8;

/// Slots of a lane.
pub(crate) const SLOTS: usize = 64;
/// Senders with a lane of their own.
pub(crate) const LANES: usize = 64;
/// Slots of the shared ring.
pub(crate) const SHARED_SLOTS: usize = 128;
/// Longest message in the shared ring: 16 KiB of data with the longest headers, so that a message
/// of that length is one packet.
pub(crate) const CHUNK: usize = 18 << 10;
/// Longest message.
pub(crate) const MAX_MESSAGE: usize = CHUNK;
/// Senders that a segment can have at once.
pub(crate) const MEMBERS: usize = 4096;
/// With more lanes than this in use the receiver reads a bitmap instead of every lane.
pub(crate) const DIRECT_LANES: usize = lapis_core::transport::lane::MAX_DIRECT;

pub(crate) type Tx = LaneTx<SLOTS>;
pub(crate) type Rx = LaneRx<SLOTS>;
pub(crate) type ManyTx = MpscTx<SHARED_SLOTS, CHUNK>;
pub(crate) type ManyRx = MpscRx<SHARED_SLOTS, CHUNK>;

/// A word with a cache line, and its neighbour, to itself.
#[repr(C, align(128))]
pub(crate) struct Lonely<T>(pub(crate) T);

/// The beginning of a segment.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: AtomicU64,
    pub(crate) version: AtomicU32,
    pub(crate) task: AtomicU32,
    /// Length of the whole segment.
    pub(crate) total: AtomicU64,
    /// Where the segment begins in its owner's address space.
    pub(crate) base: AtomicU64,
    /// A number that cross-memory attach must find at `base` + its offset.
    pub(crate) nonce: AtomicU64,
    /// Bytes of each data ring that are used.
    pub(crate) ring: AtomicU64,
    /// Peers write here by cross-memory attach to find out whether they may.
    pub(crate) scratch: AtomicU64,
    /// Read by every sender after every message; hardly ever written.
    pub(crate) attention: Lonely<Attention>,
    /// Grows with every new sender.
    pub(crate) claims: Lonely<AtomicU32>,
    /// Entries of `members` that were ever used.
    pub(crate) members_used: AtomicU32,
    /// Which lanes have news.
    pub(crate) bitmap: Lonely<AtomicU64>,
    pub(crate) shared_head: Lonely<AtomicU64>,
    pub(crate) shared_tail: Lonely<AtomicU64>,
    /// Who sends as number i ([`member_word`]), or 0. The first [`LANES`] have lanes.
    pub(crate) members: [AtomicU64; MEMBERS],
}

/// One lane.
#[repr(C, align(64))]
pub(crate) struct Lane {
    control: Control,
    _apart: [u64; 8],
    /// For owner and sender alternately, if the owner has the lower number.
    mailbox: MailboxLine,
    /// Also makes a lane's size an odd number of lines, so that the next slots of many lanes don't
    /// fight for one cache set.
    _apart_too: [u64; 16],
    slots: [Slot; SLOTS],
}

/// Everything before the data rings and the heap, which follow.
#[repr(C)]
pub(crate) struct Fixed {
    pub(crate) header: Header,
    shared_slots: [Slot; SHARED_SLOTS],
    shared_data: [[u8; CHUNK]; SHARED_SLOTS],
    lanes: [Lane; LANES],
}

const _: () = assert!(size_of::<Control>() == 64 && size_of::<MailboxLine>() == 64);
const _: () = assert!((size_of::<Lane>() / 64) % 2 == 1);
const _: () = assert!(offset_of!(Fixed, shared_data).is_multiple_of(64) && CHUNK.is_multiple_of(64));

/// Where the data rings begin.
const RINGS: usize = size_of::<Fixed>().next_multiple_of(4096);

/// From one data ring of `ring` bytes to the next: some lines more, so that the messages of many
/// lanes don't fight for one cache set.
const fn stride(ring: usize) -> usize {
    ring + 17 * 64
}

/// Where the heap begins, behind data rings of `ring` bytes: on a boundary of huge pages.
pub(crate) const fn heap_at(ring: usize) -> usize {
    (RINGS + LANES * stride(ring)).next_multiple_of(2 << 20)
}

/// How long the data rings of a task of so many are, a power of two, where the segment may have
/// `space` bytes.
pub(crate) const fn ring_for(tasks: u32, space: usize) -> usize {
    let mut ring = lapis_lanes::ring_for(tasks);
    while ring > SHORTEST_RING && heap_at(ring) > space {
        ring /= 2;
    }
    ring
}

/// What `members` holds for a sender.
pub(crate) fn member_word(task: u32, incarnation: u32) -> u64 {
    1 << 63 | u64::from(incarnation & 0x7fff_ffff) << 32 | u64::from(task)
}

/// The pointers of lane `index` of the segment at `base`, whose data rings have `ring` bytes.
///
/// # Safety
/// A segment is mapped at `base`; `index` < [`LANES`].
pub(crate) unsafe fn lane(base: *mut u8, index: usize, ring: usize) -> (*const Slot, *const Control, Area) {
    // SAFETY: the caller's promise; only addresses are computed.
    unsafe {
        let lane = &raw mut (*base.cast::<Fixed>()).lanes[index];
        let data = base.add(RINGS + index * stride(ring));
        ((&raw const (*lane).slots).cast(), &raw const (*lane).control, Area(data.cast()))
    }
}

/// The line of lane `index` that is written alternately.
///
/// # Safety
/// As for [`lane`].
pub(crate) unsafe fn mailbox_line(base: *mut u8, index: usize) -> *mut MailboxLine {
    // SAFETY: the caller's promise; only an address is computed.
    unsafe { &raw mut (*base.cast::<Fixed>()).lanes[index].mailbox }
}

/// The pointers of the shared ring.
///
/// # Safety
/// A segment is mapped at `base`.
pub(crate) unsafe fn shared(base: *mut u8) -> Places {
    let fixed = base.cast::<Fixed>();
    // SAFETY: the caller's promise; only addresses are computed.
    unsafe {
        Places {
            slots: (&raw const (*fixed).shared_slots).cast(),
            head: &raw const (*fixed).header.shared_head.0,
            tail: &raw const (*fixed).header.shared_tail.0,
            data: Area((&raw mut (*fixed).shared_data).cast()),
        }
    }
}

/// Offset of the word that tells how long the data rings are.
pub(crate) const RING_AT: usize = offset_of!(Header, ring);
/// Offset of the word that cross-memory attach reads when it is probed.
pub(crate) const NONCE_AT: usize = offset_of!(Header, nonce);
/// Offset of the word that it writes.
pub(crate) const SCRATCH_AT: usize = offset_of!(Header, scratch);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn data_rings_are_shorter_where_many_tasks_or_little_space_ask_for_it() {
        const M: usize = 1 << 20;
        let rings = [2, 10, 18].map(|tasks| ring_for(tasks, usize::MAX) / M);
        assert_eq!(rings, [4, 2, 1]);
        let spaces = [0, 100, 160, 300].map(|space| ring_for(2, space * M) / M);
        assert_eq!(spaces, [1, 1, 2, 4]);
    }
}
