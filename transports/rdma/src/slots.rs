//! Short messages that a peer writes straight into this task's memory.
//!
//! A message that arrives in a receive buffer passes all of libfabric's queues, and over
//! `tcp;ofi_rxm` one of them writes to a descriptor and reads it again. What a peer writes into
//! memory passes none. So a peer that has sent a few messages gets slots for its short messages. A
//! short put has a trailer there; its bytes go to their destination.
//!
//! ```text
//!  0            48      52       53     56       59       64
//!  | … payload  | acked | length | free | number | cookie |
//! ```
//!
//! A message ends where the slot ends, and its last word says that it is all there: bytes of one
//! write come in their order. The word has the message's number among all messages of the peer and
//! the upper 40 bits of its cookie. Number and slot go together, so that a message of another kind
//! leaves its slot empty.
//!
//! **Reuse.** A slot is written again when [`COUNT`] messages later are allowed, of which credits
//! allow one window beyond what was taken. What core still reads goes back less than three windows
//! from there: one that it was given, and one that was taken since and copied. Until it has read
//! them it gives no more credit.

use crate::endpoint::{Access, Endpoint, Registration};
use crate::header::{Header, LAST_NUMBER, WINDOW, padded};
use crate::memory::Memory;
use crate::send::join;
use lapis_core::sync::Ordering;
use lapis_core::sync::placed::AtomicU64;
use lapis_core::transport::RawSlice;

/// Slots that a peer has.
pub(crate) const COUNT: usize = 4 * WINDOW as usize;
/// Bytes of a slot: what is injected over `tcp;ofi_rxm`.
const SIZE: usize = 64;
const TRAILER: usize = 16;
/// The longest payload.
pub(crate) const LONGEST: usize = SIZE - TRAILER;

/// In place of a length: there is no message, but the bytes of a put are in memory.
const PUT: u8 = u8::MAX;

/// The word that ends a message. It is never 0.
fn mark(cookie: u64, number: u32) -> u64 {
    let number = u64::from(number & LAST_NUMBER);
    cookie & !u64::from(LAST_NUMBER) | 1 << 24 | number
}

/// Bytes on their way to a slot.
pub(crate) struct Outgoing {
    bytes: [u8; SIZE],
    from: usize,
    number: u32,
}

impl Outgoing {
    /// A message of parts, of at most [`LONGEST`] bytes.
    #[inline]
    pub(crate) fn message(header: &Header, parts: [&[u8]; 2]) -> Self {
        let length = header.length as usize;
        let (mut bytes, from) = ([0; SIZE], LONGEST - padded(length));
        join(&mut bytes[from..LONGEST], parts);
        bytes[48..52].copy_from_slice(&header.acked.to_le_bytes());
        bytes[52] = length as u8;
        bytes[56..].copy_from_slice(&mark(header.cookie, header.number).to_le_bytes());
        Self { bytes, from, number: header.number }
    }

    /// What says behind a put that it has come: a message without payload, whose length is none.
    #[inline]
    pub(crate) fn behind_put(header: &Header) -> Self {
        let mut this = Self::message(header, [&[], &[]]);
        this.bytes[52] = PUT;
        this
    }

    /// What is written.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

/// Bytes that are written for a payload.
pub(crate) fn written(payload: usize) -> usize {
    TRAILER + padded(payload)
}

/// Slots of a peer's, as it names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    addr: u64,
    pub(crate) key: u64,
}

impl Offer {
    pub(crate) fn encode(self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.addr.to_le_bytes());
        out[8..].copy_from_slice(&self.key.to_le_bytes());
        out
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let (addr, rest) = payload.split_first_chunk()?;
        let key = rest.first_chunk()?;
        Some(Self { addr: u64::from_le_bytes(*addr), key: u64::from_le_bytes(*key) })
    }

    /// Where something is written.
    #[inline]
    pub(crate) fn place(&self, outgoing: &Outgoing) -> u64 {
        self.addr.wrapping_add((slot_of(outgoing.number) + outgoing.from) as u64)
    }
}

/// Where the slot of a message begins.
#[inline]
fn slot_of(number: u32) -> usize {
    number as usize % COUNT * SIZE
}

/// One slot.
#[repr(align(64))]
#[derive(Clone)]
struct Slot(#[expect(dead_code, reason = "its bytes are the peer's")] [u8; SIZE]);

/// What was found in a slot.
pub(crate) struct Found {
    /// How many of our messages the peer has consumed.
    pub(crate) acked: u32,
    /// A message, in memory that the peer may write again as the module says. A put has none.
    pub(crate) payload: Option<RawSlice>,
}

/// Slots that a peer writes to.
pub(crate) struct Slots {
    // Before the memory, so that it is closed first.
    registration: Registration,
    // Reached through `first` only: libfabric writes there.
    _slots: Box<[Slot]>,
    first: *mut u8,
    gap: Gap,
}

/// Whether a message is missing whose slot is empty.
#[derive(Debug, Default)]
struct Gap {
    /// How far behind it a later one is looked for.
    ahead: u32,
    /// How often in a row that one was there while the queue was empty.
    seen: u32,
}

/// A message is lost when a later one has been there for so many looks at an empty queue in a row,
/// in each of which libfabric may have moved what it had from one of its queues to the next.
const LOST_AFTER: u32 = 1000;

impl Slots {
    /// Gives a peer slots; the error is libfabric's number.
    pub(crate) fn new(endpoint: &mut Endpoint, memory: &mut Memory) -> Result<Self, i32> {
        let (slots, first) = zeroed();
        let range = RawSlice { ptr: first, len: COUNT * SIZE };
        // SAFETY: the slots are freed after the registration, by the order of the fields.
        let registration = unsafe { memory.for_transfer(endpoint, range, Access::PeersWrite) }?;
        Ok(Self { registration, _slots: slots, first, gap: Gap::default() })
    }

    /// What the peer is told.
    pub(crate) fn offer(&self) -> Offer {
        Offer { addr: self.first.addr() as u64, key: self.registration.key() }
    }

    /// Takes the message with this number if it has come.
    #[inline]
    pub(crate) fn take(&mut self, cookie: u64, number: u32) -> Option<Found> {
        // SAFETY: the slots are as many as numbers lead to.
        let found = unsafe { take(self.first, cookie, number) };
        if found.is_some() {
            self.gap = Gap::default();
        }
        found
    }

    /// Notes that the message with this number is missing while the queue is empty. Returns whether
    /// it is lost.
    #[inline]
    pub(crate) fn misses(&mut self, cookie: u64, number: u32) -> bool {
        let first = self.first;
        // SAFETY: the slots are as many as numbers lead to.
        self.gap.observe(number, |later| unsafe { word(first, later) } == mark(cookie, later))
    }

    /// Notes an arrival through the queue: a missing message may also arrive that way.
    #[inline]
    pub(crate) fn may_still_come(&mut self) {
        self.gap.seen = 0;
    }

    /// Whether the message with this number, or any of the window behind it, is there.
    pub(crate) fn has_any(&self, cookie: u64, number: u32) -> bool {
        (0..WINDOW).map(|ahead| number.wrapping_add(ahead)).any(|number| {
            // SAFETY: the slots are as many as numbers lead to.
            unsafe { word(self.first, number) == mark(cookie, number) }
        })
    }
}

impl Gap {
    /// Checks for one message behind the one with this number, a different one each time, or the
    /// same one as long as it is there.
    #[inline]
    fn observe(&mut self, number: u32, is_there: impl Fn(u32) -> bool) -> bool {
        if self.seen == 0 {
            self.ahead = self.ahead % (WINDOW - 1) + 1;
        }
        self.seen = if is_there(number.wrapping_add(self.ahead)) { self.seen + 1 } else { 0 };
        self.seen > LOST_AFTER
    }
}

/// Empty slots.
fn zeroed() -> (Box<[Slot]>, *mut u8) {
    let mut slots = vec![Slot([0; SIZE]); COUNT].into_boxed_slice();
    let first = slots.as_mut_ptr().cast();
    (slots, first)
}

/// The last word of the slot of a message.
///
/// # Safety
/// There are [`COUNT`] slots.
#[inline]
unsafe fn word(first: *mut u8, number: u32) -> u64 {
    // SAFETY: by the caller's promise; slots are aligned, and nobody has references into them.
    let word = unsafe { AtomicU64::from_ptr(first.add(slot_of(number) + SIZE - 8).cast()) };
    // SYNC: pairs with the write of whichever thread of libfabric's or ours has received it.
    u64::from_le(word.load(Ordering::Acquire))
}

/// Takes a message out of its slot. The length is what a peer has written.
///
/// # Safety
/// There are [`COUNT`] slots.
#[inline]
unsafe fn take(first: *mut u8, cookie: u64, number: u32) -> Option<Found> {
    // SAFETY: by the caller's promise; reads and writes stay within the slot.
    unsafe {
        if word(first, number) != mark(cookie, number) {
            return None;
        }
        let trailer = first.add(slot_of(number) + LONGEST);
        let acked = u32::from_le(trailer.cast::<u32>().read_volatile());
        let length = trailer.add(4).read_volatile();
        let len = usize::from(length).min(LONGEST);
        trailer.add(8).cast::<u64>().write_volatile(0);
        let payload = RawSlice { ptr: trailer.sub(padded(len)), len };
        Some(Found { acked, payload: (length != PUT).then_some(payload) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header;

    const COOKIE: u64 = 0x1234_5678_9abc_def0;

    fn header(number: u32, length: usize) -> Header {
        let kind = header::Kind::Message;
        Header { cookie: COOKIE, source: 1, acked: 7, length: length as u32, kind, number }
    }

    /// Writes the first bytes of something to its slot.
    fn write(first: *mut u8, outgoing: &Outgoing, len: usize) {
        let offer = Offer { addr: first.addr() as u64, key: 0 };
        let at = first.with_addr(offer.place(outgoing) as usize);
        // SAFETY: a message ends where its slot does.
        unsafe { at.copy_from_nonoverlapping(outgoing.bytes().as_ptr(), len) };
    }

    fn payload(first: *mut u8, cookie: u64, number: u32) -> Option<Vec<u8>> {
        // SAFETY: the tests have as many slots.
        let Found { acked, payload } = unsafe { take(first, cookie, number) }?;
        assert_eq!(acked, 7);
        let at = payload?;
        // SAFETY: nobody writes to the slot now.
        Some(unsafe { std::slice::from_raw_parts(at.ptr, at.len) }.to_vec())
    }

    #[test]
    fn a_message_is_there_with_its_last_byte_and_once() {
        let (_slots, first) = zeroed();
        for (number, length) in
            [(0, 0), (1, 1), (COUNT as u32 - 1, LONGEST), (COUNT as u32, 9), (LAST_NUMBER, 40)]
        {
            let bytes: Vec<u8> = (1..=length as u8).collect();
            let outgoing =
                Outgoing::message(&header(number, length), [&bytes[..length / 2], &bytes[length / 2..]]);
            let all = outgoing.bytes().len();
            assert_eq!(all, written(length));
            write(first, &outgoing, all - 1);
            assert_eq!(payload(first, COOKIE, number), None, "the last byte is missing");
            write(first, &outgoing, all);
            assert_eq!(payload(first, !COOKIE, number), None, "another life's");
            assert_eq!(payload(first, COOKIE, number.wrapping_add(COUNT as u32)), None, "a later one's slot");
            assert_eq!(payload(first, COOKIE, number), Some(bytes));
            assert_eq!(payload(first, COOKIE, number), None, "it was taken");
        }
    }

    #[test]
    fn behind_a_put_there_is_no_message() {
        let (_slots, first) = zeroed();
        let outgoing = Outgoing::behind_put(&header(5, 0));
        write(first, &outgoing, outgoing.bytes().len());
        // SAFETY: there are as many slots.
        let found = unsafe { take(first, COOKIE, 5) };
        assert!(found.is_some_and(|found| found.payload.is_none()));
    }

    #[test]
    fn lengths_beyond_the_slot_reach_no_further() {
        let (_slots, first) = zeroed();
        let mut outgoing = Outgoing::message(&header(3, LONGEST), [&[9; LONGEST], &[]]);
        outgoing.bytes[52] = 254;
        write(first, &outgoing, SIZE);
        assert_eq!(payload(first, COOKIE, 3), Some(vec![9; LONGEST]));
    }

    #[test]
    fn a_message_is_missed_once_a_later_one_has_been_there_for_long() {
        for later in [1, WINDOW - 1] {
            let mut gap = Gap::default();
            assert!((0..10 * LOST_AFTER).all(|_| !gap.observe(u32::MAX, |_| false)));
            let is_there = |number: u32| number == later - 1;
            let looks = (1..).find(|_| gap.observe(u32::MAX, is_there));
            assert!(looks.is_some_and(|looks| (LOST_AFTER + 1..LOST_AFTER + WINDOW + 1).contains(&looks)));
        }
    }

    #[test]
    fn offers_come_back_as_they_were() {
        let offer = Offer { addr: 1 << 47, key: u64::MAX - 1 };
        assert_eq!(Offer::decode(&offer.encode()), Some(offer));
        assert_eq!(Offer::decode(&offer.encode()[..15]), None);
    }
}
