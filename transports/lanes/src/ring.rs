//! The SPSC ring: the lane of one sender, with one slot for each message.
//!
//! A slot is three cache lines, of which most messages need one: an 8-byte header, written last,
//! and 184 bytes of payload. The header carries the low half of the message's position plus one, so
//! a slot is full exactly when its header names the position that the receiver expects: nobody ever
//! clears it, and since headers stand at fixed places, no payload can be taken for one. Longer
//! messages put their bytes, contiguously, into the lane's data ring. Both sides compute where from
//! the lengths alone; no offset crosses.
//!
//! The receiver publishes how far it has read on a line of its own, and only every quarter of a
//! lane's slots or 64 KiB of its data ring, so that the sender's cached copy is nearly always good
//! enough.
//!
//! The data ring is larger than two second caches where memory allows it: in a smaller one each
//! line is stored while the receiver's cache still holds it from the last round, and taking it away
//! from there costs more than fetching it from the cache that both share.
//!
//! Everything here is memory-safe against a peer that writes nonsense: positions are masked and
//! lengths checked.

use lapis_copies::StorePolicy;
use lapis_core::sync::{AtomicU32, AtomicU64, Ordering};
use lapis_core::transport::PeerId;
use lapis_core::transport::lane::{
    Area, DataIn, DataOut, Found, IN_MAILBOX, INLINE, MOST_SLOTS, Mailbox, ReceiveLane, RingLayout, SendLane,
    Slot, copy_short,
};
use std::ptr::{NonNull, null_mut};

/// The line on which the receiver says how far it has read.
#[repr(C, align(64))]
pub struct Control {
    /// Slots before this position may be written again.
    pub tail: AtomicU64,
    /// Data bytes before this position may be written again.
    pub data_tail: AtomicU64,
}

/// A header that no correct sender writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// The length that it tells.
    pub len: usize,
}

/// The sending end.
pub struct LaneTx<const SLOTS: usize> {
    /// What core may use, too; owned, at a place that never changes.
    line: NonNull<SendLane>,
    control: *const Control,
}

impl<const SLOTS: usize> LaneTx<SLOTS> {
    /// Takes over a lane at the place where its receiver stands, which takes messages of up to
    /// `longest` bytes.
    ///
    /// # Safety
    /// The three pointers name a lane of this layout that outlives the result, and nobody else
    /// sends in it.
    pub unsafe fn attach(
        slots: *const Slot,
        control: *const Control,
        data: Area,
        ring_layout: RingLayout,
        longest: usize,
    ) -> Self {
        const { assert!(SLOTS.is_power_of_two() && SLOTS <= MOST_SLOTS) }
        // SYNC: pairs with the Release stores of the receiver's `release`.
        // SAFETY: the caller's promise.
        let (head, data_head) = unsafe {
            ((*control).tail.load(Ordering::Acquire), (*control).data_tail.load(Ordering::Acquire))
        };
        let line = SendLane {
            slots,
            mask: SLOTS as u64 - 1,
            position: head,
            limit: head.wrapping_add(SLOTS as u64),
            attention: std::ptr::null(),
            mailbox: null_mut(),
            // SAFETY: the lane is alive; only an address is computed.
            tail: unsafe { &raw const (*control).tail },
            data: DataOut::at(data, ring_layout, data_head, longest),
        };
        Self { line: keep(line), control }
    }

    /// A lane in which nothing fits.
    pub fn closed() -> Self {
        Self { line: keep(SendLane::closed()), control: std::ptr::null() }
    }

    /// The end as core sees it.
    #[inline(always)]
    pub fn line(&self) -> *mut SendLane {
        self.line.as_ptr()
    }

    /// Says which word is to be read after each message.
    pub fn set_attention(&mut self, word: *const AtomicU32) {
        // SAFETY: ours, and core is not in the middle of using it.
        unsafe { (*self.line.as_ptr()).attention = word };
    }

    /// Says which line is written alternately with the receiver; null for none. A closed lane has
    /// none: the receiver looks at the line when it looks at the lane.
    pub fn set_mailbox(&mut self, mailbox: *mut Mailbox) {
        if self.control.is_null() {
            return;
        }
        // SAFETY: ours, and core is not in the middle of using it.
        unsafe { (*self.line.as_ptr()).mailbox = mailbox };
    }

    /// Becomes `other` without changing its place: core may know it.
    pub fn replace(&mut self, mut other: Self) {
        // SAFETY: both are ours; core is not in the middle of using them.
        unsafe { std::ptr::swap(self.line.as_ptr(), other.line.as_ptr()) };
        std::mem::swap(&mut self.line, &mut other.line);
        std::mem::swap(self, &mut other);
    }

    /// Whether the cached positions leave room for a slot. No room does not mean that there is
    /// none: see
    /// [`refresh`](Self::refresh).
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        // SAFETY: ours, and core is not in the middle of using it.
        unsafe { (*self.line.as_ptr()).has_room() }
    }

    /// Reads how far the receiver got. Says whether a slot is free.
    pub fn refresh(&mut self) -> bool {
        // SAFETY: ours, and core is not in the middle of using it; the lane is alive.
        unsafe { (*self.line.as_ptr()).refresh() }
    }

    /// Whether a message of `len` bytes can be sent at once: in the line that is written
    /// alternately, or in the next slot.
    #[inline(always)]
    pub fn takes(&self, len: usize) -> bool {
        // SAFETY: ours, and core is not in the middle of using it; what it names lives as long.
        unsafe { (*self.line.as_ptr()).takes(len) }
    }

    /// Sends a message in two parts; answers the receiver's attention word.
    ///
    /// # Safety
    /// [`takes`](Self::takes) their length.
    #[inline(always)]
    pub unsafe fn send(&mut self, head: &[u8], body: &[u8]) -> u32 {
        // SAFETY: there is room for the message; the end is ours, and core is not in the middle of
        // using it.
        unsafe { (*self.line.as_ptr()).send(head, body) }
    }

    /// Lets `write` put a message of `len` bytes where it belongs; answers the receiver's attention
    /// word.
    ///
    /// # Safety
    /// [`takes`](Self::takes) this length; `write` writes as many bytes.
    #[inline(always)]
    pub unsafe fn publish(&mut self, len: usize, write: impl FnOnce(*mut u8)) -> u32 {
        // SAFETY: there is room for the message; the end is ours, and core is not in the middle of
        // using it.
        unsafe { (*self.line.as_ptr()).publish(len, write) }
    }

    /// Room for a message of `len` > 184 bytes in the data ring; `None` when it is full.
    ///
    /// # Safety
    /// The lane is attached.
    #[inline]
    pub unsafe fn data_room(&mut self, len: usize, policy: &mut StorePolicy) -> Option<*mut u8> {
        // SAFETY: the end is ours, and core is not in the middle of using it; the lane is alive.
        unsafe {
            let data = &raw mut (*self.line.as_ptr()).data;
            if let Some((place, _)) = (*data).room(len) {
                return Some(place);
            }
            let size = (*data).layout.size as u64;
            // SYNC: pairs with the Release store of `ReceiveLane::release`.
            let read = || (*self.control).data_tail.load(Ordering::Acquire);
            let tail = policy.watch((*data).limit.wrapping_sub(size), read);
            (*data).limit = tail.wrapping_add(size);
            (*data).far = policy.past();
            (*data).room(len).map(|(place, _)| place)
        }
    }

    /// Hands over the message of `len` > 184 bytes that has been written to the data ring; answers
    /// the receiver's attention word.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room), and the bytes are where [`data_room`](Self::data_room) said
    /// for this length.
    #[inline(always)]
    pub unsafe fn publish_data(&mut self, len: usize) -> u32 {
        // SAFETY: there is a slot; the end is ours, and core is not in the middle of using it.
        unsafe { (*self.line.as_ptr()).publish_data(len) }
    }
}

impl<const SLOTS: usize> Drop for LaneTx<SLOTS> {
    fn drop(&mut self) {
        // SAFETY: made by `keep`; core forgets it before the instance closes.
        drop(unsafe { Box::from_raw(self.line.as_ptr()) });
    }
}

/// Puts something at a place of its own.
fn keep<T>(value: T) -> NonNull<T> {
    NonNull::from(Box::leak(Box::new(value)))
}

/// The receiving end.
pub struct LaneRx<const SLOTS: usize> {
    /// What core may use, too; owned, at a place that never changes.
    line: NonNull<ReceiveLane>,
    /// The last message that came in the mailbox; at a place of its own, for events name it while
    /// this end may move.
    copy: Box<[u64; IN_MAILBOX / 8]>,
}

impl<const SLOTS: usize> LaneRx<SLOTS> {
    /// Takes the lane where its last receiver left it. Messages longer than `max` are refused.
    ///
    /// # Safety
    /// The pointers name a lane of this layout that outlives the result, and nobody else receives
    /// from it.
    pub unsafe fn attach(
        slots: *const Slot,
        control: *const Control,
        data: Area,
        ring_layout: RingLayout,
        max: usize,
    ) -> Self {
        // SAFETY: the caller's promise. These two words are written by this side only.
        let (next, data_next) = unsafe {
            ((*control).tail.load(Ordering::Relaxed), (*control).data_tail.load(Ordering::Relaxed))
        };
        // SAFETY: the lane is alive; only addresses are computed.
        let (tail, data_tail) = unsafe { (&raw const (*control).tail, &raw const (*control).data_tail) };
        let line = keep(ReceiveLane {
            slots,
            mask: SLOTS as u64 - 1,
            position: next,
            due: next.wrapping_add((SLOTS as u64).div_ceil(4)),
            told: std::ptr::null(), // Core does not know the lane before `share`.
            peer: 0,
            mailbox: null_mut(),
            tail,
            data: DataIn {
                area: data,
                next: data_next,
                released: data_next,
                tail: data_tail,
                layout: ring_layout,
                longest: max.min(ring_layout.longest()),
                straight: 0,
            },
        });
        Self { line, copy: Box::new([0; IN_MAILBOX / 8]) }
    }

    /// Lets core read the lane: it is from `peer`, and the position is to be told at `told`.
    pub fn share(&mut self, peer: PeerId, told: *const AtomicU64) {
        // SAFETY: ours, and core does not know it yet.
        let line = unsafe { &mut *self.line.as_ptr() };
        (line.peer, line.told) = (peer, told);
    }

    /// Says which line is written alternately with the sender; null for none.
    pub fn set_mailbox(&mut self, mailbox: *mut Mailbox) {
        // SAFETY: ours, and core is not in the middle of using it.
        unsafe { (*self.line.as_ptr()).mailbox = mailbox };
    }

    /// The end as core sees it.
    pub fn line(&self) -> *mut ReceiveLane {
        self.line.as_ptr()
    }

    /// Position of the next message.
    #[inline(always)]
    fn next_position(&self) -> u64 {
        // SAFETY: ours, and core is not in the middle of using it.
        unsafe { (*self.line.as_ptr()).position }
    }

    /// Whether a message waits.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        // SAFETY: ours, and core is not in the middle of using it; the lane is alive.
        unsafe { (*self.line.as_ptr()).look() != Found::Nothing }
    }

    /// The next message: its bytes stay in place until [`release`](Self::release).
    #[inline(always)]
    pub fn take_next(&mut self) -> Option<Result<(*mut u8, usize), Corrupt>> {
        // SAFETY: ours, and core is not in the middle of using it; the lane is alive. A message is
        // taken from where it was found, lengths are checked, and `place` computes where data are.
        unsafe {
            let line = self.line.as_ptr();
            match (*line).look() {
                Found::Nothing => None,
                Found::InMailbox(len) if len <= IN_MAILBOX => {
                    // A copy, so that the answer can go the same way before the next poll. There is
                    // no second message in the mailbox before that.
                    let copy = self.copy.as_mut_ptr().cast::<u8>();
                    copy_short((*line).take_mailbox(), copy, len);
                    (*(*line).mailbox).done();
                    Some(Ok((copy, len)))
                }
                Found::InSlot(len) if len <= INLINE => Some(Ok(((*line).take_slot(), len))),
                Found::InSlot(len) => Some((*line).take_data(len).ok_or(Corrupt { len })),
                Found::InMailbox(len) => Some(Err(Corrupt { len })),
            }
        }
    }

    /// Copies the position of the next message to where sleepers look.
    #[inline(always)]
    pub fn tell_position(&self, to: &AtomicU64) {
        to.store(self.next_position(), Ordering::Relaxed);
    }

    /// Asks the cache for the slot `ahead` places further on.
    #[inline(always)]
    pub fn prefetch(&self, ahead: u64) {
        // SAFETY: ours, and core is not in the middle of using it.
        unsafe { (*self.line.as_ptr()).prefetch(ahead) };
    }

    /// Gives back everything that [`take_next`](Self::take_next) returned so far; tells the sender
    /// if it is worth telling.
    #[inline(always)]
    pub fn release(&mut self) {
        // SAFETY: ours, and core is not in the middle of using it; the lane is alive. Events are
        // done with when the next poll begins.
        unsafe { (*self.line.as_ptr()).give_back() };
    }

    /// As [`release`](Self::release), whether worth telling or not.
    pub fn release_now(&mut self) {
        // SAFETY: the end is ours, the lane alive, and events are done with.
        unsafe { (*self.line.as_ptr()).release() };
    }
}

impl<const SLOTS: usize> Drop for LaneRx<SLOTS> {
    fn drop(&mut self) {
        // SAFETY: made by `keep`; the list of lanes that core reads no longer names it.
        drop(unsafe { Box::from_raw(self.line.as_ptr()) });
    }
}

// SAFETY: the ends are used by one thread at a time; the memory behind them is shared by design.
unsafe impl<const S: usize> Send for LaneTx<S> {}
// SAFETY: an end is used by one thread at a time; the memory behind it is shared by design.
unsafe impl<const S: usize> Send for LaneRx<S> {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SLOTS: usize = 64;

    #[test]
    fn whatever_lengths_come_there_is_room_once_everything_was_read() {
        // A small ring, in which messages from 256 bytes on are long ones, and those that tasks
        // use, with the longest of their messages.
        let small = RingLayout::of(32 << 10);
        exchange(small, small.longest(), 100_000);
        for ring in [1 << 20, 2 << 20, 4 << 20] {
            exchange(RingLayout::of(ring), 18 << 10, 10_000);
        }
    }

    /// Messages of up to `longest` bytes, two of three short ones, each read before the next is
    /// sent.
    fn exchange(ring_layout: RingLayout, longest: usize, messages: u32) {
        // SAFETY: zeroes are slots that nobody has written and a line on which nothing was told.
        let (slots, control): (Box<[Slot; SLOTS]>, Box<Control>) =
            unsafe { (Box::new(std::mem::zeroed()), Box::new(std::mem::zeroed())) };
        let mut data = vec![[0u64; 8]; ring_layout.size / 64];
        let area = Area(data.as_mut_ptr().cast());
        // SAFETY: the lane outlives both ends, of which there is one each.
        let (mut tx, mut rx) = unsafe {
            (
                LaneTx::<SLOTS>::attach(slots.as_ptr(), &raw const *control, area, ring_layout, longest),
                LaneRx::<SLOTS>::attach(slots.as_ptr(), &raw const *control, area, ring_layout, longest),
            )
        };
        let word = AtomicU32::new(0);
        tx.set_attention(&raw const word);
        let (mut seed, mut policy) = (7u64, StorePolicy::new(lapis_copies::Copies::USUAL));
        for i in 0..messages {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let most = if i % 3 == 0 { longest } else { longest.min(ring_layout.size / 128) };
            let len = INLINE + 1 + (seed >> 40) as usize % (most - INLINE);
            assert!(tx.has_room() || tx.refresh(), "no slot for message {i}");
            // SAFETY: there is a slot.
            let place = unsafe { tx.data_room(len, &mut policy) };
            let place = place.unwrap_or_else(|| panic!("no room for message {i} of {len} bytes"));
            // SAFETY: the place has `len` bytes.
            unsafe {
                place.write_bytes(i as u8, len);
                tx.publish_data(len);
            }
            let (at, got) = rx.take_next().unwrap().unwrap();
            // SAFETY: the message stays until it is released.
            let bytes = unsafe { std::slice::from_raw_parts(at, got) };
            assert!(got == len && bytes.iter().all(|b| *b == i as u8), "message {i} is damaged");
            rx.release();
        }
    }
}
