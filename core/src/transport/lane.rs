//! Lanes: the shortest way of a short message, which core walks itself.
//!
//! A transport whose peers share memory with this task may keep, for a pair of tasks, a ring of
//! slots with one writer and one reader. If it lays them out as drawn here and sets
//! [`Caps::LANES`](super::Caps::LANES), core writes and reads short messages in place, without a
//! call through the table; everything else (long messages, rings that are full, sleeping receivers,
//! new and dead peers) stays the transport's business.
//!
//! ```text
//! slot:      0        4        8                                                    192
//!            | number | length | the message, up to 184 bytes                        |
//! ```
//!
//! `number` is the low half of the message's position plus one, and is written, with the length,
//! last and in one store: a slot is full exactly when its number is the one the reader expects, and
//! nobody clears it. A length beyond 184 tells that the message lies elsewhere; core leaves such a
//! slot, and all behind it, to [`Transport::poll`](super::Transport::poll).
//!
//! A slot has three cache lines, though most messages fill less than one. If slots were adjacent
//! lines, the hardware would fetch the next slot's line along with this one, and the writer would
//! have to take it away from the reader again, which lengthens a message to and fro by a quarter.
//! For the same reason a ring has few slots: as many as the first-level cache holds beside other
//! things.
//!
//! Messages take the slots in the order that [`index`] gives.
//!
//! Both ends are described by a line ([`SendLane`], [`ReceiveLane`]) that lives in the transport.
//! Core and transport change it in turns, both under the context's lock.

use super::copy::Raw;
use super::types::PeerId;
use crate::sync::{AtomicU32, AtomicU64, Ordering, compiler_fence};
use lapis_ablation::{Optimization, without};
pub use mailbox_line::Mailbox;
pub use slot::{IN_MAILBOX, INLINE, MailboxLine, Payload, SLOT, Slot, head, index};

mod mailbox_line;
mod slot;

/// How far ahead of the slot being read the cache is asked for slots.
const AHEAD: u64 = 3;
/// Lanes that core looks at one by one; with more senders, the transport is asked to poll.
pub const MAX_DIRECT: usize = 8;

/// The writing end of a lane. One that is closed or full has `position == limit`.
#[repr(C)]
#[derive(Debug)]
pub struct SendLane {
    /// The slots, aligned to 64 bytes.
    pub slots: *const Slot,
    /// Number of slots, a power of two, minus one.
    pub mask: u64,
    /// Position of the next message.
    pub position: u64,
    /// The first position that may not be written yet, as far as the transport has looked.
    pub limit: u64,
    /// Read after each message; anything but 0 is for
    /// [`Transport::attend`](super::Transport::attend). The transport sees to it that a compiler's
    /// fence between message and word is enough.
    pub attention: *const AtomicU32,
    /// The line that is written in turns with the receiver; null where there is none.
    pub mailbox: *mut Mailbox,
}

impl SendLane {
    /// A lane in which nothing fits.
    pub const fn closed() -> Self {
        Self {
            slots: std::ptr::null(),
            mask: 0,
            position: 0,
            limit: 0,
            attention: std::ptr::null(),
            mailbox: std::ptr::null_mut(),
        }
    }

    /// Whether the next slot may be written.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.position != self.limit
    }

    /// Whether a message of `len` bytes goes into the mailbox.
    ///
    /// # Safety
    /// The lane is alive.
    #[inline(always)]
    unsafe fn has_mailbox(&self, len: usize) -> bool {
        // SAFETY: a mailbox lives as long as the lanes that name it.
        len <= IN_MAILBOX && !self.mailbox.is_null() && unsafe { (*self.mailbox).is_ours() }
    }

    /// Whether a message of `len` bytes can be published now.
    ///
    /// # Safety
    /// The lane is alive.
    #[inline(always)]
    pub unsafe fn takes(&self, len: usize) -> bool {
        // SAFETY: the lane is alive.
        len <= INLINE && (self.has_room() || unsafe { self.has_mailbox(len) })
    }

    /// Sends a message that has two parts. Gives what the receiver's attention word says.
    ///
    /// # Safety
    /// [`takes`](Self::takes) their length; this is the lane's only writer.
    #[inline(always)]
    pub unsafe fn send(&mut self, head: &[u8], body: &[u8]) -> u32 {
        // SAFETY: the caller's promise is that of `publish`; as much is written as is announced.
        unsafe {
            self.publish(head.len() + body.len(), |place| {
                copy_short(head.as_ptr(), place, head.len());
                copy_short(body.as_ptr(), place.add(head.len()), body.len());
            })
        }
    }

    /// Lets `write` put a message of `len` bytes into the mailbox or the next slot. Gives what the
    /// receiver's attention word says.
    ///
    /// # Safety
    /// As for [`send`](Self::send); `write` writes `len` bytes and no more. The address that it
    /// gets is divisible by 8.
    #[inline(always)]
    pub unsafe fn publish(&mut self, len: usize, write: impl FnOnce(*mut u8)) -> u32 {
        // SAFETY: the caller's promise is that of `reserve`; the bytes have been written by then.
        unsafe {
            let place = self.reserve(len);
            write(place.bytes);
            self.commit(place)
        }
    }

    /// Where a message of `len` bytes goes: to the mailbox or the next slot.
    ///
    /// # Safety
    /// As for [`send`](Self::send). [`commit`](Self::commit) follows before anything else happens
    /// to the lane.
    #[inline(always)]
    pub(crate) unsafe fn reserve(&mut self, len: usize) -> Reserved {
        // SAFETY: mailbox and slot are ours until their head is written, and the message fits.
        unsafe {
            debug_assert!(self.takes(len));
            if self.has_mailbox(len) {
                let line = (*self.mailbox).line;
                let head = (*self.mailbox).pass(self.position, len);
                let bytes = Payload::for_write(&raw const (*line).payload);
                return Reserved { bytes, at: &raw const (*line).head, head };
            }
            let (slot, head) = self.next_slot(len);
            let bytes = Payload::for_write(&raw const (*slot).payload);
            Reserved { bytes, at: &raw const (*slot).head, head }
        }
    }

    /// Announces a message of more than [`INLINE`] bytes, which have been written elsewhere. Gives
    /// what the receiver's attention word says.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room); the lane is alive and this is its only writer.
    #[inline(always)]
    pub unsafe fn publish_elsewhere(&mut self, len: usize) -> u32 {
        debug_assert!(len > INLINE && self.has_room());
        // SAFETY: there is room for a slot.
        unsafe {
            let (slot, head) = self.next_slot(len);
            let at = &raw const (*slot).head;
            self.commit(Reserved { bytes: std::ptr::null_mut(), at, head })
        }
    }

    /// The slot of the next message, and what belongs at its head.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room), and the lane is alive.
    #[inline(always)]
    unsafe fn next_slot(&mut self, len: usize) -> (*const Slot, u64) {
        let at = self.position;
        self.position = at.wrapping_add(1);
        // SAFETY: the index is masked.
        (unsafe { self.slots.add(index(at, self.mask)) }, head(at, len))
    }

    /// Hands a message over. Gives what the receiver's attention word says.
    ///
    /// # Safety
    /// The place is this lane's, and the message has been written there.
    #[inline(always)]
    pub(crate) unsafe fn commit(&self, place: Reserved) -> u32 {
        // SYNC: pairs with the Acquire loads of `ReceiveLane::look`, `Mailbox::look`, `Slot::holds`
        // and `Mailbox::waits`.
        // SAFETY: the place is alive, the caller says; the attention word lives as long as the
        // lane.
        unsafe {
            (*place.at).store(place.head, Ordering::Release);
            // SYNC: the store above stays before the load below; the transport turns this into a
            // real fence when it matters.
            compiler_fence(Ordering::SeqCst);
            (*self.attention).load(Ordering::Relaxed)
        }
    }
}

/// The place of a message that is about to be written.
pub(crate) struct Reserved {
    /// Where its bytes go; divisible by 8.
    pub(crate) bytes: *mut u8,
    /// Where its head goes, last.
    at: *const AtomicU64,
    head: u64,
}

/// The reading end of a lane.
#[repr(C)]
#[derive(Debug)]
pub struct ReceiveLane {
    /// The slots.
    pub slots: *const Slot,
    /// Number of slots minus one.
    pub mask: u64,
    /// Position of the next message.
    pub position: u64,
    /// Core takes nothing at this position or behind it: the transport wants to give slots back
    /// first.
    pub limit: u64,
    /// Where the position is told to whoever decides about sleeping.
    pub told: *const AtomicU64,
    /// Who writes.
    pub peer: PeerId,
    /// The line that is written in turns with the sender; null where there is none.
    pub mailbox: *mut Mailbox,
}

impl ReceiveLane {
    /// Takes the message that waits, if it is a short one.
    ///
    /// # Safety
    /// The lane is alive and this is its only reader.
    #[inline(always)]
    pub unsafe fn take(&mut self) -> Taken {
        // SAFETY: the caller's promise is that of `look` and of what takes the message that it
        // found; the word where the position is told lives as long as the lane.
        unsafe {
            match self.look() {
                Found::Nothing => Taken::Nothing,
                Found::InMailbox(len) if len <= IN_MAILBOX => {
                    let data = self.take_mailbox();
                    (*self.mailbox).make_ready();
                    Taken::Message { peer: self.peer, data, len, mailbox: self.mailbox }
                }
                Found::InSlot(len) if len <= INLINE && self.position != self.limit => {
                    let data = self.take_slot();
                    (*self.told).store(self.position, Ordering::Relaxed);
                    Taken::Message { peer: self.peer, data, len, mailbox: std::ptr::null_mut() }
                }
                Found::InMailbox(_) | Found::InSlot(_) => Taken::Left,
            }
        }
    }

    /// Looks for the next message, wherever it is. Its length is what the sender wrote, and may be
    /// any.
    ///
    /// # Safety
    /// The lane is alive and this is its only reader.
    #[inline(always)]
    pub unsafe fn look(&self) -> Found {
        // SAFETY: slot and mailbox are alive as the lane is.
        unsafe {
            // SYNC: pairs with the Release store of `SendLane::commit`: the message is there.
            let head = u64::from_le((*self.slot(0)).head.load(Ordering::Acquire));
            // After the slot: what came before it is visible by now.
            if !self.mailbox.is_null()
                && let Some(len) = (*self.mailbox).look(self.position)
            {
                return Found::InMailbox(len);
            }
            if head as u32 != self.position.wrapping_add(1) as u32 {
                return Found::Nothing;
            }
            Found::InSlot((head >> 32) as usize)
        }
    }

    /// Takes what was found in the mailbox. The bytes stay in place until [`Mailbox::done`].
    ///
    /// # Safety
    /// [`look`](Self::look) has just found it, with at most [`IN_MAILBOX`] bytes.
    #[inline(always)]
    pub unsafe fn take_mailbox(&mut self) -> *mut u8 {
        // SAFETY: a message was found there, so that the mailbox is alive.
        unsafe {
            (*self.mailbox).taken();
            Payload::for_read(&raw const (*(*self.mailbox).line).payload)
        }
    }

    /// Takes what was found in the slot. The bytes stay in place until the slot is given back.
    ///
    /// # Safety
    /// [`look`](Self::look) has just found it, with at most [`INLINE`] bytes.
    #[inline(always)]
    pub unsafe fn take_slot(&mut self) -> *mut u8 {
        let slot = self.slot(0);
        self.step();
        // SAFETY: a message was found there, so that the slot is alive.
        unsafe { Payload::for_read(&raw const (*slot).payload) }
    }

    /// Goes past a slot whose message lies elsewhere.
    #[inline(always)]
    pub fn step(&mut self) {
        self.position = self.position.wrapping_add(1);
    }

    /// The slot `ahead` messages behind the next one.
    #[inline(always)]
    fn slot(&self, ahead: u64) -> *const Slot {
        self.slots.wrapping_add(index(self.position.wrapping_add(ahead), self.mask))
    }

    /// Asks the cache for what comes after the next messages: for a reader that goes on reading.
    #[inline(always)]
    pub(crate) fn look_ahead(&self) {
        self.prefetch(AHEAD);
    }

    /// Asks the cache for the slot `ahead` messages behind the next one.
    #[inline(always)]
    pub fn prefetch(&self, ahead: u64) {
        if without(Optimization::SlotPrefetch) {
            return;
        }
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        // SAFETY: a prefetch has no effect on memory.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.slot(ahead).cast());
        }
        #[cfg(any(not(target_arch = "x86_64"), loom))]
        let _ = ahead;
    }
}

/// Where the next message of a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has not come.
    Nothing,
    /// In the mailbox, with so many bytes.
    InMailbox(usize),
    /// In the slot, with so many bytes; elsewhere if they are more than [`INLINE`].
    InSlot(usize),
}

/// What a look at a lane gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing is there.
    Nothing,
    /// Something is there that the transport wants to handle.
    Left,
    /// A message, whose bytes stay in place until the transport's next poll, and until
    /// [`Mailbox::done`] if it came in a mailbox.
    Message {
        /// Who sent it.
        peer: PeerId,
        /// Its bytes.
        data: *const u8,
        /// How many there are.
        len: usize,
        /// Where it came in; null if in a slot.
        mailbox: *mut Mailbox,
    },
}

/// The lanes that core may read at present.
#[repr(C)]
#[derive(Debug)]
pub struct ReceiveLanes {
    /// The first `count` are valid.
    pub lanes: [*mut ReceiveLane; MAX_DIRECT],
    /// 0 when the transport wants to do all the reading itself.
    pub count: u32,
}

impl ReceiveLanes {
    /// No lanes.
    pub const fn none() -> Self {
        Self { lanes: [std::ptr::null_mut(); MAX_DIRECT], count: 0 }
    }
}

/// Copies up to some hundred bytes without a call, as they are: what a user sends may hold padding
/// that nobody wrote, or pointers.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`].
#[inline(always)]
pub unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: every access lies inside `from..from + len` and `to..to + len`; the last word of a
    // range may overlap the word before it, which rewrites equal bytes.
    unsafe {
        if len >= 8 {
            let last = len - 8;
            let mut at = 0;
            while at < last {
                to.add(at)
                    .cast::<Raw<u64>>()
                    .write_unaligned(from.add(at).cast::<Raw<u64>>().read_unaligned());
                at += 8;
            }
            to.add(last)
                .cast::<Raw<u64>>()
                .write_unaligned(from.add(last).cast::<Raw<u64>>().read_unaligned());
        } else if len >= 4 {
            let last = len - 4;
            let tail = from.add(last).cast::<Raw<u32>>().read_unaligned();
            to.cast::<Raw<u32>>().write_unaligned(from.cast::<Raw<u32>>().read_unaligned());
            to.add(last).cast::<Raw<u32>>().write_unaligned(tail);
        } else if len > 0 {
            let (from, to) = (from.cast::<Raw<u8>>(), to.cast::<Raw<u8>>());
            to.write(*from);
            to.add(len / 2).write(*from.add(len / 2));
            to.add(len - 1).write(*from.add(len - 1));
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
