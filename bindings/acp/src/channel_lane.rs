//! The way of a channel's short messages between processes of one host: a lane of core's
//! ([`lapis_core::transport::lane`]), in memory of the receiver's that the sender has mapped.
//!
//! ```text
//! | attention |   | tail |   | slots |
//! 0               128        256
//! ```
//!
//! Each part has one writer, and pairs of lines of its own. Behind a slot's head stand the number
//! of the message and then its bytes: long messages go as messages of core's, so that numbers here
//! have gaps. A sender that has put something there looks at `attention`; unless it is 0, the
//! receiver sleeps and is sent a message. So the receiver that sets it makes a barrier of
//! [`membarrier`] before its last look.

use crate::heap::Heap;
use lapis_core::sync::{AtomicU32, AtomicU64, Ordering, membarrier};
use lapis_core::transport::PeerId;
use lapis_core::transport::lane::{
    DataIn, DataOut, INLINE, Payload, ReceiveLane, SLOT, SendLane, Slot, slot_at,
};
use std::ptr::null_mut;

/// Slots of a lane, a power of two.
pub(crate) const SLOTS: u64 = 32;

const TAIL: usize = 128;
const HEADER: usize = 256;
const NUMBER: usize = 8;

/// So many slots before the last one, the sender asks for the line of the tail.
const AHEAD: u64 = 3;

/// Bytes of a lane.
pub(crate) const BYTES: usize = HEADER + SLOTS as usize * SLOT;

/// Bytes of the longest message that goes this way.
pub(crate) const LONGEST: u64 = (INLINE - NUMBER) as u64;

/// This process's memory for lanes, and what is free of it.
#[derive(Debug)]
pub(crate) struct Lanes {
    base: *mut u8,
    len: u64,
    free: Heap,
}

// SAFETY: the memory is shared between processes anyway, and reached as lanes allow it.
unsafe impl Send for Lanes {}

impl Default for Lanes {
    /// No memory.
    fn default() -> Self {
        // SAFETY: there is no byte of it.
        unsafe { Self::new(null_mut(), 0) }
    }
}

impl Lanes {
    /// # Safety
    /// `base`, a multiple of 64, has `len` bytes as long as this and what it makes are used;
    /// nothing but lanes uses them.
    pub(crate) unsafe fn new(base: *mut u8, len: u64) -> Self {
        Self { base, len, free: Heap::new(len) }
    }

    /// Lays a lane out; gives where it is and its reading end. `None`: there is no room.
    pub(crate) fn make(&mut self, peer: PeerId) -> Option<(u64, Reader)> {
        // Whole lines: the heap knows multiples of 16 only, but of equal blocks all are whole.
        let at = self.free.allocate(BYTES as u64)?;
        debug_assert!(at.is_multiple_of(64));
        // SAFETY: within the memory, by the heap; nobody else has this part of it.
        let reader = unsafe { Reader::new(self.base.add(at as usize), peer) };
        Some((at, reader))
    }

    /// A lane's both ends are not used any more.
    pub(crate) fn give_back(&mut self, at: u64) {
        self.free.free(at);
    }

    /// All lanes are gone.
    pub(crate) fn clear(&mut self) {
        self.free = Heap::new(self.len);
    }
}

/// The sender's end.
#[derive(Debug)]
pub(crate) struct Writer(SendLane);

// SAFETY: the pointers lead to memory that is mapped as long as the context lives, and one thread
// at a time has this, the only writer.
unsafe impl Send for Writer {}

impl Writer {
    /// # Safety
    /// A reader has laid the lane out at `at`. It stays mapped, and nobody else writes to it.
    pub(crate) unsafe fn new(at: *mut u8) -> Self {
        // SAFETY: a lane has so many bytes.
        let (tail, slots) = unsafe { (at.add(TAIL), at.add(HEADER)) };
        Self(SendLane {
            slots: slots.cast::<Slot>(),
            mask: SLOTS - 1,
            position: 0,
            limit: SLOTS,
            attention: at.cast::<AtomicU32>(),
            mailbox: null_mut(),
            tail: tail.cast::<AtomicU64>(),
            data: DataOut::none(),
        })
    }

    /// Puts a message there if there is room; says whether the receiver has to be woken.
    ///
    /// # Safety
    /// The address is readable for so many bytes, [`LONGEST`] at most.
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, number: u64, (address, len): (usize, u64)) -> Option<bool> {
        // SAFETY: the lane is alive and this its only writer; the bytes are readable as this
        // function demands.
        unsafe {
            // Before the last slots are written, so that nobody waits for the tail's line.
            match self.0.limit.wrapping_sub(self.0.position) {
                0 if !self.0.refresh() => return None,
                1 => drop(self.0.refresh()),
                AHEAD => self.ask_for_tail(),
                _ => {}
            }
            let bytes: &[u8] = if len == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), len as usize)
            };
            Some(self.0.send(&number.to_le_bytes(), bytes) != 0)
        }
    }

    /// Asks the cache for the line that tells how far the reader is.
    #[inline(always)]
    fn ask_for_tail(&self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch has no effect on memory.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.0.tail.cast());
        }
    }

    /// The position that the reader must have passed for there to be room.
    pub(crate) fn awaited(&self) -> u64 {
        self.0.limit.wrapping_sub(SLOTS)
    }
}

/// The receiver's end.
#[derive(Debug)]
pub(crate) struct Reader {
    lane: ReceiveLane,
    attention: *const AtomicU32,
}

// SAFETY: the pointers lead to memory that is mapped as long as the context lives, and one thread
// at a time has this, the only reader.
unsafe impl Send for Reader {}

/// A message in its slot.
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) bytes: *const u8,
    pub(crate) len: usize,
}

impl Reader {
    /// # Safety
    /// `at`, a multiple of 64, has [`BYTES`] bytes, which nobody uses yet.
    unsafe fn new(at: *mut u8, peer: PeerId) -> Self {
        // SAFETY: within these bytes, which are atomics from here on.
        unsafe {
            at.write_bytes(0, BYTES);
            let tail = at.add(TAIL).cast::<AtomicU64>().cast_const();
            Self {
                lane: ReceiveLane {
                    slots: at.add(HEADER).cast::<Slot>(),
                    mask: SLOTS - 1,
                    position: 0,
                    due: SLOTS / 4,
                    told: tail,
                    peer,
                    mailbox: null_mut(),
                    tail,
                    data: DataIn::none(),
                },
                attention: at.cast::<AtomicU32>(),
            }
        }
    }

    fn slot(&self) -> *const Slot {
        // SAFETY: the mask is the lane's.
        unsafe { slot_at(self.lane.slots, self.lane.position, self.lane.mask) }
    }

    /// The next message, which stays where it is until [`pass`](Self::pass).
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<Waiting> {
        let slot = self.slot();
        // SAFETY: the slot lives as long as the lane; the sender writes nothing more to a slot that
        // holds a message. Its length is what the sender wrote, and is checked.
        unsafe {
            if !Slot::holds(slot, self.lane.position) {
                return None;
            }
            let len = (u64::from_le((*slot).head.load(Ordering::Relaxed)) >> 32) as usize;
            let bytes = Payload::for_read(&raw const (*slot).payload).cast_const();
            let len = len.checked_sub(NUMBER).filter(|_| len <= INLINE)?;
            let number = u64::from_le_bytes(bytes.cast::<[u8; NUMBER]>().read());
            Some(Waiting { number, bytes: bytes.add(NUMBER), len })
        }
    }

    /// Goes on behind the next message, whose bytes have been copied.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        // SAFETY: `next` found a message, whose bytes nobody uses any more.
        unsafe {
            self.lane.take_slot();
            self.lane.give_back();
        }
    }

    /// Gives back what is free. Whether the sender has room that it did not know of when it waited
    /// for the reader to pass a position.
    pub(crate) fn release(&mut self, awaited: u64) -> bool {
        // SAFETY: the lane is alive, and what was taken from it has been copied.
        unsafe { self.lane.release() };
        self.lane.position != awaited
    }

    /// Where the next message will be seen.
    pub(crate) fn watch(&self) -> Watch {
        Watch { slot: self.slot(), position: self.lane.position }
    }

    /// Says how many threads sleep until a message of core's wakes them. Whoever is about to sleep
    /// makes a [barrier](sleeps) afterwards, and then looks once more.
    pub(crate) fn tell_sleepers(&self, sleepers: u32) {
        // SAFETY: the word lives as long as the lane.
        unsafe { (*self.attention).store(sleepers, Ordering::Relaxed) };
    }
}

/// Between saying that one sleeps and the last look.
pub(crate) fn sleeps() {
    membarrier::heavy();
}

/// A slot that a message is expected in.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    slot: *const Slot,
    position: u64,
}

impl Watch {
    /// Whether a message is there, or has been.
    #[inline(always)]
    pub(crate) fn sees(&self) -> bool {
        // SAFETY: lanes stay mapped as long as the context lives; a slot is atomics.
        unsafe { Slot::holds(self.slot, self.position) }
    }
}
