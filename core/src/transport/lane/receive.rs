//! The reading end of a lane.

use super::{DataIn, IN_MAILBOX, INLINE, Mailbox, Payload, Slot, slot::length, slot_at};
use crate::sync::{AtomicU64, Ordering, prefetch};
use crate::transport::types::PeerId;
use lapis_ablation::{Optimization, without};
use std::ptr::null_mut;

/// How far ahead of the slot being read the cache is asked for slots.
const AHEAD: u64 = 3;

/// The reading end of a lane.
#[repr(C)]
#[derive(Debug)]
pub struct ReceiveLane {
    /// The slots.
    pub slots: *const Slot,
    /// As in [`SendLane`](super::SendLane).
    pub mask: u64,
    /// Position of the next message.
    pub position: u64,
    /// Slots are given back when the position gets here.
    pub due: u64,
    /// Where core stores the position, for the code that decides about sleeping; not null.
    pub told: *const AtomicU64,
    /// The writer.
    pub peer: PeerId,
    /// The line that both tasks write alternately; null if there is none.
    pub mailbox: *mut Mailbox,
    /// Where the sender reads which slots it may write again: those before this position; not null.
    pub tail: *const AtomicU64,
    /// The place of messages that are too long for a slot.
    pub data: DataIn,
}

impl ReceiveLane {
    /// Takes the waiting message. Messages taken before are no longer in use.
    ///
    /// # Safety
    /// The lane is alive and this is its only reader; no message that came from it is in use any
    /// more.
    #[inline(always)]
    pub unsafe fn take(&mut self) -> Taken {
        // SAFETY: the lane is alive, and a message is taken from where it was found; the word where
        // the position is told lives as long as the lane.
        unsafe {
            self.give_back();
            match self.find() {
                (slot, Found::InSlot(len)) => match self.take_found(slot, len) {
                    Some((data, len)) => {
                        self.tell();
                        Taken::Message { data, len, mailbox: null_mut() }
                    }
                    None => Taken::Left,
                },
                (_, Found::Nothing) => Taken::Nothing,
                (_, Found::InMailbox(len)) if len <= IN_MAILBOX => {
                    let data = self.take_mailbox();
                    Taken::Message { data, len, mailbox: self.mailbox }
                }
                (_, Found::InMailbox(_)) => Taken::Left,
            }
        }
    }

    /// Takes the message in the next slot, if it is the next one of all, and looks ahead. `None`:
    /// [`take`](Self::take) says more. [`tell`](Self::tell) follows, once for several.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline(always)]
    pub(crate) unsafe fn take_next(&mut self) -> Option<(*const u8, usize)> {
        // SAFETY: this function demands what `take` does.
        unsafe {
            if self.is_due() {
                // Before the sender writes there again: who looks for a message in a slot that has
                // a later one finds none.
                self.tell();
                self.release();
            }
            // The slot that is being taken counts. Found before the slot is read, after which the
            // lane's fields would be read again.
            let ahead = self.slot(AHEAD + 1);
            match self.find() {
                (slot, Found::InSlot(len)) => {
                    prefetch_slot(ahead);
                    self.take_found(slot, len)
                }
                _ => None,
            }
        }
    }

    /// Takes the message that the slot has or announces, unless that can't be.
    ///
    /// # Safety
    /// [`find`](Self::find) has just found it.
    #[inline(always)]
    unsafe fn take_found(&mut self, slot: *const Slot, announced: usize) -> Option<(*const u8, usize)> {
        // SAFETY: the message was found there, and the lane is alive.
        unsafe {
            if announced <= INLINE {
                self.step();
                return Some((Payload::for_read(&raw const (*slot).payload), announced));
            }
            let (data, len) = self.take_data(announced)?;
            Some((data, len))
        }
    }

    /// Tells whoever decides about sleeping up to where messages have been taken. Until then it
    /// takes what has been taken for messages that wait.
    ///
    /// # Safety
    /// The lane is alive.
    #[inline(always)]
    pub(crate) unsafe fn tell(&self) {
        // SAFETY: the word lives as long as the lane.
        unsafe { (*self.told).store(self.position, Ordering::Relaxed) };
    }

    /// Looks for the next message, wherever it is. Its length is the number that the sender wrote,
    /// which is not checked.
    ///
    /// # Safety
    /// The lane is alive and this is its only reader.
    #[inline(always)]
    pub unsafe fn look(&self) -> Found {
        // SAFETY: the lane is alive.
        unsafe { self.find() }.1
    }

    /// The next slot, and where the next message is.
    ///
    /// # Safety
    /// As for [`look`](Self::look).
    #[inline(always)]
    unsafe fn find(&self) -> (*const Slot, Found) {
        let (slot, position) = (self.slot(0), self.position);
        // SAFETY: slot and mailbox are alive as the lane is.
        unsafe {
            // SYNC: pairs with the Release store of `SendLane::commit`: the message is there.
            let head = u64::from_le((*slot).head.load(Ordering::Acquire));
            // After the slot: what came before it is visible by now.
            if !self.mailbox.is_null()
                && let Some(len) = (*self.mailbox).look(position)
            {
                return (slot, Found::InMailbox(len));
            }
            if head as u32 != position.wrapping_add(1) as u32 {
                return (slot, Found::Nothing);
            }
            (slot, Found::InSlot((head >> 32) as usize))
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

    /// Takes the message that the slot announced, and says how long it is; `None`: no message is as
    /// long as that. Its bytes stay in the data ring until the slot is given back.
    ///
    /// # Safety
    /// [`look`](Self::look) has just found it, with more than [`INLINE`] bytes.
    #[inline(always)]
    pub unsafe fn take_data(&mut self, announced: usize) -> Option<(*mut u8, usize)> {
        let (len, gap) = length(announced);
        // Nor is one of no bytes here, with or without a ring.
        if len.wrapping_sub(1) >= self.data.longest {
            return None;
        }
        self.step();
        // SAFETY: a message of this length was announced.
        let (data, is_due) = unsafe { self.data.take(len, gap) };
        if is_due {
            self.due = self.position;
        }
        Some((data, len))
    }

    /// Goes past a slot.
    #[inline(always)]
    fn step(&mut self) {
        self.position = self.position.wrapping_add(1);
    }

    /// Gives back the slots of the messages taken, if they are enough to tell the sender.
    ///
    /// # Safety
    /// The lane is alive; no message that came from it is in use any more.
    #[inline(always)]
    pub unsafe fn give_back(&mut self) {
        if self.is_due() {
            // SAFETY: this function's contract.
            unsafe { self.release() };
        }
    }

    /// Whether it is worth telling the sender what was taken.
    #[inline(always)]
    fn is_due(&self) -> bool {
        self.position.wrapping_sub(self.due) as i64 >= 0
    }

    /// As [`give_back`](Self::give_back), however few they are.
    ///
    /// # Safety
    /// As for [`give_back`](Self::give_back).
    pub unsafe fn release(&mut self) {
        self.due = self.position.wrapping_add((self.mask >> 2) + 1);
        self.data.released = self.data.next;
        // SYNC: pairs with the Acquire loads of `SendLane::refresh`, and of whoever looks for room
        // in the data ring: our reads are over.
        // SAFETY: the words live as long as the lane.
        unsafe {
            if !self.data.tail.is_null() {
                (*self.data.tail).store(self.data.next, Ordering::Release);
            }
            (*self.tail).store(self.position, Ordering::Release);
        }
    }

    /// The slot `ahead` messages behind the next one.
    #[inline(always)]
    fn slot(&self, ahead: u64) -> *const Slot {
        // SAFETY: the mask is the lane's.
        unsafe { slot_at(self.slots, self.position.wrapping_add(ahead), self.mask) }
    }

    /// Asks the cache for what comes after the next messages: for a reader that goes on reading.
    #[inline(always)]
    pub(crate) fn look_ahead(&self) {
        self.prefetch(AHEAD);
    }

    /// Asks the cache for the slot `ahead` messages behind the next one.
    #[inline(always)]
    pub fn prefetch(&self, ahead: u64) {
        prefetch_slot(self.slot(ahead));
    }
}

/// Asks the cache for a slot.
#[inline(always)]
fn prefetch_slot(slot: *const Slot) {
    if !without(Optimization::SlotPrefetch) {
        prefetch::before_reading(slot.cast());
    }
}

/// Where the next message of a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has not arrived.
    Nothing,
    /// In the mailbox, with so many bytes.
    InMailbox(usize),
    /// In the slot, with so many bytes; elsewhere if they are more than [`INLINE`], and then
    /// [`take_data`](ReceiveLane::take_data) says how many.
    InSlot(usize),
}

/// What a poll of a lane has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing is there.
    Nothing,
    /// Something is there that the transport wants to handle.
    Left,
    /// A message, whose bytes stay in place until this lane is polled again or the transport polls,
    /// and until [`Mailbox::done`] if it came in a mailbox.
    Message {
        /// Its bytes.
        data: *const u8,
        /// How many there are.
        len: usize,
        /// Where it came in; null if in a slot.
        mailbox: *mut Mailbox,
    },
}
