//! The writing end of a lane.

use super::{
    self as lane, DataOut, GAP, IN_MAILBOX, INLINE, Mailbox, Payload, Slot, after, copy_short, head, slot_at,
    store_parts,
};
use crate::sync::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// The writing end of a lane. One that is closed or full has `position == limit`.
#[repr(C)]
#[derive(Debug)]
pub struct SendLane {
    /// The slots, aligned to 64 bytes.
    pub slots: *const Slot,
    /// Number of slots, a power of two and at most [`MOST_SLOTS`](lane::MOST_SLOTS), minus one.
    pub mask: u64,
    /// Position of the next message.
    pub position: u64,
    /// The first position that may not be written yet, as last read.
    pub limit: u64,
    /// Read after each message; anything but 0 is for
    /// [`Transport::attend`](crate::transport::Transport::attend). The transport ensures that a
    /// compiler fence between message and word is enough.
    pub attention: *const AtomicU32,
    /// The line that both tasks write alternately; null if there is none.
    pub mailbox: *mut Mailbox,
    /// The position of the first slot that the reader has not given back yet, stored by the reader;
    /// null if only the transport reads it.
    pub tail: *const AtomicU64,
    /// The place for messages that are too long for a slot.
    pub data: DataOut,
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
            tail: std::ptr::null(),
            data: DataOut::none(),
        }
    }

    /// Whether the next slot may be written.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.position != self.limit
    }

    /// Reads how far the receiver has got. Says whether the next slot may be written.
    ///
    /// # Safety
    /// The lane is alive.
    #[cold]
    pub unsafe fn refresh(&mut self) -> bool {
        if !self.tail.is_null() {
            // SYNC: pairs with the Release store of `ReceiveLane::release`: what the receiver read
            // before, it has read.
            // SAFETY: the word lives as long as the lane.
            let tail = unsafe { (*self.tail).load(Ordering::Acquire) };
            self.limit = tail.wrapping_add(self.mask).wrapping_add(1);
        }
        self.has_room()
    }

    /// Whether a message of `len` bytes goes into the mailbox.
    ///
    /// # Safety
    /// The lane is alive.
    #[inline(always)]
    unsafe fn has_mailbox(&self, len: usize) -> bool {
        // In a stream it is never ours: that is asked before the length.
        // SAFETY: a mailbox lives as long as the lanes that name it.
        if self.mailbox.is_null() || unsafe { !(*self.mailbox).is_ours() } {
            return false;
        }
        unlike_a_stream();
        len <= IN_MAILBOX
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

    /// Sends a message that has two parts. Returns the receiver's attention word.
    ///
    /// # Safety
    /// [`takes`](Self::takes) their length; this is the lane's only writer.
    #[inline(always)]
    pub unsafe fn send(&mut self, head: &[u8], body: &[u8]) -> u32 {
        // SAFETY: the lengths that the caller asked `takes` about; as much is written as is
        // announced.
        unsafe {
            self.publish(head.len() + body.len(), |place| {
                copy_short(head.as_ptr(), place, head.len());
                copy_short(body.as_ptr(), place.add(head.len()), body.len());
            })
        }
    }

    /// Lets `write` put a message of `len` bytes into the mailbox or the next slot. Returns the
    /// receiver's attention word.
    ///
    /// # Safety
    /// As for [`send`](Self::send); `write` writes `len` bytes and no more. The address that it
    /// gets is divisible by 8.
    #[inline(always)]
    pub unsafe fn publish(&mut self, len: usize, write: impl FnOnce(*mut u8)) -> u32 {
        // SAFETY: `reserve` asks of its caller what this does; the bytes are written when it is
        // told.
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

    /// Sends a message of two parts, together longer than [`INLINE`], if there is room for it as
    /// far as is known. Returns the receiver's attention word.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room); the lane is alive and this is its only writer.
    #[inline(always)]
    pub unsafe fn send_data(&mut self, head: &[u8], body: &[u8]) -> Option<u32> {
        let write = |place: *mut u8| {
            // SAFETY: the place has room for the first part.
            unsafe { place.copy_from_nonoverlapping(head.as_ptr(), head.len()) }
        };
        // SAFETY: this function demands what `send_parts` does, and the head has that length.
        unsafe { self.send_parts::<false>(head.len(), write, body) }
    }

    /// The same where `write` writes the first part, of `before` bytes. `APART`: with
    /// a gap behind the message.
    ///
    /// # Safety
    /// As for [`send_data`](Self::send_data); `write` writes `before` bytes and no more. The
    /// address that it gets is divisible by 8.
    #[inline(always)]
    pub(crate) unsafe fn send_parts<const APART: bool>(
        &mut self,
        before: usize,
        write: impl FnOnce(*mut u8),
        body: &[u8],
    ) -> Option<u32> {
        let len = before + body.len();
        let (gap, mark) = if APART { (GAP, lane::APART) } else { (0, 0) };
        // SAFETY: the place begins at a cache line, and no other message has a part of the line in
        // which its bytes end.
        unsafe {
            let (place, end) = self.data.room_apart(len, gap)?;
            self.data.advance(end);
            store_parts(before, write, body, place, self.data.far);
            Some(self.publish_elsewhere(len | mark))
        }
    }

    /// Publishes a message of more than [`INLINE`] bytes that has been written to the place that
    /// [`DataOut::room`] returned. Returns the receiver's attention word.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room), and the bytes are there; the lane is alive and this is its
    /// only writer.
    #[inline(always)]
    pub unsafe fn publish_data(&mut self, len: usize) -> u32 {
        let DataOut { layout, next, .. } = self.data;
        self.data.advance(after(layout.place(next, len, 0), len));
        // SAFETY: there is a slot.
        unsafe { self.publish_elsewhere(len) }
    }

    /// Announces a message of more than [`INLINE`] bytes, which have been written elsewhere: its
    /// length, and [`APART`](lane::APART) or not.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room); the lane is alive and this is its only writer.
    #[inline(always)]
    unsafe fn publish_elsewhere(&mut self, announced: usize) -> u32 {
        debug_assert!(announced > INLINE && self.has_room());
        // SAFETY: there is room for a slot.
        unsafe {
            let (slot, head) = self.next_slot(announced);
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
        // SAFETY: the mask is the lane's.
        (unsafe { slot_at(self.slots, at, self.mask) }, head(at, len))
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

/// Tells the compiler that the way of a stream is the other one.
#[cold]
const fn unlike_a_stream() {}

/// The place of a message that is about to be written.
pub(crate) struct Reserved {
    /// Where its bytes go; divisible by 8.
    pub(crate) bytes: *mut u8,
    /// Where its head goes, last.
    at: *const AtomicU64,
    head: u64,
}
