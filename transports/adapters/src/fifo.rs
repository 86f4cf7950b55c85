//! The receive FIFO of a window: many senders, one owner, datagrams that may get lost.
//!
//! ```text
//!   control          slots: 8 bytes of word, 248 of data           chunks: the bytes of longer
//! ones  ┌──────────┐     ┌──────┬──────────────┬──────┬─────────┬──    ┌──────────┬──────────┬──
//!  │ head     │     │ word │ data         │ word │ data    │ …    │          │          │ …
//!  │ tail     │     └──────┴──────────────┴──────┴─────────┴──    └──────────┴──────────┴──
//!  │ attention│      word: position + 1 (bits 0–31) · length (32–47) · ready (48) · left (49)
//!  │ refused  │
//!  │ notes    │
//!  └──────────┘     the slot of position p is p mod slots, its chunk p mod chunks
//! ```
//!
//! A sender claims the slot of the next position by a compare-and-swap on the slot's word, writes
//! the datagram into slot or chunk, and declares it ready by another one. The owner copies it out,
//! and gives slots back by its tail. A claim that its maker does not complete is *left* by the
//! owner after a while: it marks the word, so that the late compare-and-swap fails, and goes on.
//! What such a maker still writes may spoil a later datagram of the same place, as a bad cable
//! would; nobody believes a datagram that no authenticator vouches for.
//!
//! The owner keeps its position to itself and checks lengths against what it knows, so that nothing
//! that anybody writes into the memory leads it astray. Senders trust the memory as little: each
//! index is masked.

mod owner;
mod sender;

pub use owner::{Found, Owner};
pub use sender::{Claim, Outcome, Sender};

use lapis_core::sync::{AtomicU32, AtomicU64};
use serde::{Deserialize, Serialize};

/// Bytes of a slot, its word included.
pub const SLOT: usize = 256;
/// The longest datagram that lies in its slot.
pub const INLINE: usize = if cfg!(loom) { 8 } else { SLOT - 8 };
/// The longest datagram of all: what a word's field for it holds.
pub const LONGEST: usize = 0xffff;

/// In a word: the datagram is complete.
const READY: u64 = 1 << 48;
/// In a word: the owner has gone on without it.
const SKIPPED: u64 = 1 << 49;

/// How many numbers the owner of a FIFO may note for people to see.
pub const NOTES: usize = 8;

/// In the attention word: the owner sleeps, and wants its bell rung.
pub const SLEEPS: u32 = 1;

/// In the attention word: whoever writes into a lane puts no fence before its look at this word.
/// The owner makes one of it when it wants to sleep.
pub const SPARES: u32 = 2;

/// How a FIFO is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Number of slots: a power of two.
    pub slots: u32,
    /// Number of chunks: a power of two, at most as many as slots.
    pub chunks: u32,
    /// Bytes of a chunk, and so of the longest datagram: a multiple of 64, at most 65472.
    pub chunk: u32,
    /// Bytes for [lanes](crate::lanes) behind the chunks: a multiple of 4096, at most 1 GiB.
    pub lanes: u32,
}

impl Default for Geometry {
    /// Room for 2048 short datagrams or 256 of 16 KiB, and for 15 lanes of 4 MiB: 68.5 MiB, of
    /// which those pages exist that were used.
    fn default() -> Self {
        Self { slots: 2048, chunks: 256, chunk: 16 << 10, lanes: 64 << 20 }
    }
}

impl Geometry {
    const CONTROL: usize = 4096;

    /// Whether a FIFO can be divided so. Numbers that came from elsewhere are asked this first.
    pub fn is_sound(&self) -> bool {
        let Self { slots, chunks, chunk, lanes } = *self;
        (16..=1 << 16).contains(&slots)
            && slots.is_power_of_two()
            && (16..=slots).contains(&chunks)
            && chunks.is_power_of_two()
            && (SLOT as u32..=LONGEST as u32).contains(&chunk)
            && chunk.is_multiple_of(64)
            && lanes <= 1 << 30
            && lanes.is_multiple_of(4096)
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.lanes_at() + self.lanes as usize
    }

    /// Where the lanes begin: on a page.
    fn lanes_at(&self) -> usize {
        let fifo = self.slots as usize * SLOT + self.chunks as usize * self.chunk as usize;
        Self::CONTROL + fifo.next_multiple_of(4096)
    }

    /// The longest datagram.
    pub fn longest(&self) -> usize {
        (self.chunk as usize).max(INLINE)
    }

    /// The places of a FIFO in memory that begins at `base`.
    ///
    /// # Safety
    /// The geometry is sound, and `base` is aligned to a page and has [`bytes`](Self::bytes).
    #[cfg(not(loom))]
    pub unsafe fn places(self, base: *mut u8) -> Places {
        // SAFETY: all of it lies within the memory, by the caller's promise.
        unsafe {
            let slots = base.add(Self::CONTROL);
            Places {
                control: base.cast(),
                slots: slots.cast(),
                chunks: slots.add(self.slots as usize * SLOT),
                lanes: base.add(self.lanes_at()),
                geometry: self,
            }
        }
    }
}

#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Line<T>(pub(crate) T);

/// The words that all of a FIFO's users share.
#[repr(C)]
#[derive(Default)]
pub struct Control {
    /// The next position to claim, as a hint that any sender pushes on.
    pub(crate) head: Line<AtomicU64>,
    /// The owner has copied out what lies before this position.
    pub(crate) tail: Line<AtomicU64>,
    /// [`SLEEPS`] and [`SPARES`].
    pub(crate) attention: Line<AtomicU32>,
    /// Datagrams that senders gave up for want of room.
    pub(crate) refused: Line<AtomicU64>,
    /// Not 0: nobody owns the FIFO any more. See [`CLOSED_AT`].
    pub(crate) closed: Line<AtomicU32>,
    /// What the owner notes for people to see.
    pub(crate) notes: Line<[AtomicU64; NOTES]>,
    /// Grows whenever somebody has taken a lane or leaves it.
    pub(crate) claims: Line<AtomicU32>,
    /// Bytes of each lane's data ring, as the owner has decided; 0: there are no lanes.
    pub(crate) ring: Line<AtomicU64>,
}

/// Where in a FIFO's memory the word lies that the daemon sets when the window is closed.
pub const CLOSED_AT: usize = std::mem::offset_of!(Control, closed);

/// So many bytes of a FIFO's memory have what [`counts`] finds.
#[cfg(not(loom))]
pub(crate) const COUNTED: usize = size_of::<Control>();

/// What the owner took out so far, what senders gave up, and the owner's notes, in a copy of a
/// FIFO's first bytes. Whoever reads these, and does not map them, waits for nobody: the kernel
/// keeps those who touch a page waiting while it frees others around it.
#[cfg(not(loom))]
pub(crate) fn counts(bytes: &[u8; COUNTED]) -> (u64, u64, [u64; NOTES]) {
    let word = |at: usize| {
        let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u64::from_ne_bytes(*word))
    };
    let notes = std::mem::offset_of!(Control, notes);
    (
        word(std::mem::offset_of!(Control, tail)),
        word(std::mem::offset_of!(Control, refused)),
        std::array::from_fn(|n| word(notes + 8 * n)),
    )
}

/// A slot.
#[repr(C, align(64))]
pub struct Slot {
    pub(crate) word: AtomicU64,
    pub(crate) data: Data,
}

#[cfg(not(loom))]
pub(crate) use placed::Data;
#[cfg(not(loom))]
mod placed {
    /// The bytes of a short datagram.
    #[repr(transparent)]
    pub(crate) struct Data([u8; super::INLINE]);

    impl Data {
        /// # Safety
        /// `this` is alive.
        #[inline(always)]
        pub(crate) unsafe fn for_write(this: *const Self) -> *mut u8 {
            this.cast_mut().cast()
        }

        /// # Safety
        /// `this` is alive.
        #[inline(always)]
        pub(crate) unsafe fn for_read(this: *const Self) -> *const u8 {
            this.cast()
        }
    }

    const _: () = assert!(size_of::<super::Slot>() == super::SLOT);
    const _: () = assert!(size_of::<super::Control>() <= 4096);
}

#[cfg(loom)]
pub(crate) use watched::Data;
#[cfg(loom)]
mod watched {
    use lapis_core::sync::UnsafeCell;

    /// The same, watched by the model checker.
    pub(crate) struct Data(pub(crate) UnsafeCell<[u8; super::INLINE]>);

    impl Data {
        pub(crate) unsafe fn for_write(this: *const Self) -> *mut u8 {
            // SAFETY: the caller's promise.
            unsafe { (*this).0.with_mut(|bytes| bytes.cast()) }
        }

        pub(crate) unsafe fn for_read(this: *const Self) -> *const u8 {
            // SAFETY: the caller's promise.
            unsafe { (*this).0.with(|bytes| bytes.cast()) }
        }
    }
}

/// Where a FIFO lies.
#[derive(Clone, Copy)]
pub struct Places {
    pub(crate) control: *const Control,
    pub(crate) slots: *const Slot,
    pub(crate) chunks: *mut u8,
    #[cfg_attr(loom, expect(dead_code, reason = "the models have no lanes"))]
    pub(crate) lanes: *mut u8,
    pub(crate) geometry: Geometry,
}

// SAFETY: what lies there is reached through atomics and copies alone.
unsafe impl Send for Places {}

impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("at", &self.control).field("geometry", &self.geometry).finish()
    }
}

impl Places {
    #[inline(always)]
    fn slot(&self, position: u64) -> *const Slot {
        // Masked, so that it lies within the slots.
        self.slots.wrapping_add(position as usize & (self.geometry.slots as usize - 1))
    }

    /// The word of a position's slot.
    ///
    /// # Safety
    /// The FIFO is alive.
    #[inline(always)]
    unsafe fn word<'a>(&self, position: u64) -> &'a AtomicU64 {
        // SAFETY: the caller's promise; the slot exists.
        unsafe { &(*self.slot(position)).word }
    }

    #[inline(always)]
    fn chunk(&self, position: u64) -> *mut u8 {
        let index = position as usize & (self.geometry.chunks as usize - 1);
        self.chunks.wrapping_add(index * self.geometry.chunk as usize)
    }
}

/// The word of a claimed slot.
#[inline(always)]
fn claimed(position: u64, len: usize) -> u64 {
    u64::from(position.wrapping_add(1) as u32) | (len as u64 & 0xffff) << 32
}

/// Whether a word is of this position, claimed or complete.
#[inline(always)]
fn is_of(word: u64, position: u64) -> bool {
    word as u32 == position.wrapping_add(1) as u32
}

/// Whether a word is what the lap before left in the slot of this position.
#[inline(always)]
fn is_before(word: u64, position: u64, slots: u32) -> bool {
    let first = position < u64::from(slots);
    word as u32 == if first { 0 } else { (position.wrapping_add(1) as u32).wrapping_sub(slots) }
}

#[cfg(all(test, not(loom)))]
mod tests;
