//! What a lane consists of in memory: its slots, and the line that both tasks write.
//!
//! In shipped builds these types are bare memory. Under `--cfg loom` every access to a payload is
//! reported to the model checker, which fails a test when two unordered accesses meet.

use crate::sync::{AtomicU64, Ordering, UnsafeCell};
use lapis_ablation::{Optimization, without};

/// Bytes of a slot: three cache lines.
pub const SLOT: usize = 192;
/// Bytes of a message that fit a slot.
pub const INLINE: usize = SLOT - 8;
/// Set in the length that a slot announces: the message takes [`GAP`] bytes more of the data ring
/// than it has.
pub const APART: usize = 1 << 31;
/// Bytes left free in the data ring behind a message that is not one of a stream. The hardware
/// fetches ahead of what a core reads, up to 1 KiB; without a gap, a receiver that reads a message
/// whole would fetch lines of the next one, and the sender would have to take them back before it
/// writes there.
pub const GAP: usize = 1024;
/// Bytes of a message that fit the line that both tasks write.
pub const IN_MAILBOX: usize = 64 - 8;

/// The place of one message in a lane.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Slot {
    /// What [`head`] gives, stored last.
    pub head: AtomicU64,
    /// The message, if it is a short one.
    pub payload: Payload<INLINE>,
}

/// The line that the two tasks of a pair write in turns (see [`Mailbox`](super::Mailbox)).
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct MailboxLine {
    /// Number, length and position of the message, stored last.
    pub head: AtomicU64,
    /// The message.
    pub payload: Payload<IN_MAILBOX>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == SLOT && size_of::<MailboxLine>() == 64);

impl Slot {
    /// Whether the slot holds the message at `position`: for whoever is not the reader and decides
    /// about sleeping. What the head announces can be read afterwards.
    ///
    /// # Safety
    /// `this` points to a live slot.
    #[inline(always)]
    pub unsafe fn holds(this: *const Self, position: u64) -> bool {
        // SYNC: pairs with the Release store of `SendLane::commit`.
        // SAFETY: the caller says that the slot is alive.
        let head = unsafe { (*this).head.load(Ordering::Acquire) };
        u64::from_le(head) as u32 == position.wrapping_add(1) as u32
    }
}

/// The most slots that a lane has.
pub const MOST_SLOTS: usize = 256;

/// Which slot has the message at a place in the order of messages, in bytes from the first slot:
/// the place's Gray code, so that no two steps in a row are of the same length. Slots in plain
/// order are a stride that the hardware learns; it then fetches the next slot while its writer is
/// at it, which costs a message to and fro a tenth of its time.
static ORDER: [u32; MOST_SLOTS] = {
    let mut order = [0; MOST_SLOTS];
    let mut place = 0;
    while place < MOST_SLOTS {
        order[place] = ((place ^ place >> 1) * size_of::<Slot>()) as u32;
        place += 1;
    }
    order
};

/// The slot of the message at `position`, of those that begin at `slots`.
///
/// # Safety
/// `mask` is the number of slots minus one; they are a power of two, and at most [`MOST_SLOTS`].
#[inline(always)]
pub unsafe fn slot_at(slots: *const Slot, position: u64, mask: u64) -> *const Slot {
    let place = (position & mask) as usize;
    debug_assert!(place < MOST_SLOTS);
    if without(Optimization::GrayCode) {
        return slots.wrapping_add(place);
    }
    // SAFETY: a place is below the number of slots.
    slots.wrapping_byte_add(unsafe { *ORDER.get_unchecked(place) } as usize)
}

/// What stands at the head of the slot of the message at `position`.
#[inline(always)]
pub fn head(position: u64, len: usize) -> u64 {
    (u64::from(position.wrapping_add(1) as u32) | (len as u64) << 32).to_le()
}

/// Of what a slot announces: the length of a message, and the bytes left free behind it.
#[inline(always)]
pub(super) fn length(announced: usize) -> (usize, usize) {
    let len = announced & !APART;
    (len, (announced & APART) / (APART / GAP))
}

/// The bytes behind a head.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct Payload<const N: usize>(UnsafeCell<[u8; N]>);

impl<const N: usize> Default for Payload<N> {
    fn default() -> Self {
        Self(UnsafeCell::new([0; N]))
    }
}

#[cfg(not(loom))]
impl<const N: usize> Payload<N> {
    /// The bytes, about to be written.
    ///
    /// # Safety
    /// `this` points to a live payload.
    #[inline(always)]
    pub unsafe fn for_write(this: *const Self) -> *mut u8 {
        // SAFETY: the payload is alive, and no reference to its bytes is formed.
        unsafe { UnsafeCell::raw_get(&raw const (*this).0).cast() }
    }

    /// The bytes, about to be read.
    ///
    /// # Safety
    /// `this` points to a live payload.
    #[inline(always)]
    pub unsafe fn for_read(this: *const Self) -> *mut u8 {
        // SAFETY: the payload is alive, which is all that `for_write` asks for.
        unsafe { Self::for_write(this) }
    }
}

#[cfg(loom)]
impl<const N: usize> Payload<N> {
    /// The bytes, about to be written.
    ///
    /// # Safety
    /// `this` points to a live payload.
    pub unsafe fn for_write(this: *const Self) -> *mut u8 {
        // SAFETY: the payload is alive.
        unsafe { (*this).0.with_mut(|p| p.cast()) }
    }

    /// The bytes, about to be read.
    ///
    /// # Safety
    /// `this` points to a live payload.
    pub unsafe fn for_read(this: *const Self) -> *mut u8 {
        // SAFETY: the payload is alive.
        unsafe { (*this).0.with(|p| p.cast_mut().cast()) }
    }
}
