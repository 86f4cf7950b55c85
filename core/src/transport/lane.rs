//! Lanes: the shortest way of a short message, which core walks itself.
//!
//! A transport whose peers share memory with this task may keep, for a pair of tasks, a ring of slots with one writer and one
//! reader. If it lays them out as drawn here and sets [`Caps::LANES`](super::Caps::LANES), core writes
//! and reads short messages in place, without a call through the table; everything else (long messages, rings that are
//! full, sleeping receivers, new and dead peers) stays the transport's business.
//!
//! ```text
//! slot:      0        4        8                                                    192
//!            | number | length | the message, up to 184 bytes                        |
//! ```
//!
//! `number` is the low half of the message's position plus one, and is written, with the length, last and in one store: a slot
//! is full exactly when its number is the one the reader expects, and nobody clears it. A length beyond 184 tells that the message
//! lies elsewhere; core leaves such a slot, and all behind it, to [`Transport::poll`](super::Transport::poll).
//!
//! Three lines for a slot, though most messages fill less than one: a neighbour that the hardware fetches along is a line that the
//! writer must take away from the reader again, which costs a message to and fro a quarter of its time. For the same reason a
//! ring has few slots: as many as the first cache holds beside other things.
//!
//! Messages take the slots in the order that [`index`] gives.
//!
//! Both ends are described by a line ([`SendLane`], [`ReceiveLane`]) that lives in the transport. Core and transport change it
//! in turns, both under the context's lock.

use super::types::PeerId;
use crate::sync::{AtomicU32, AtomicU64, Ordering, compiler_fence};
pub use turn::{IN_TURN, Turn};

mod turn;

/// Bytes of a slot: three cache lines.
pub const SLOT: usize = 192;
/// Bytes of a message that fit a slot.
pub const INLINE: usize = SLOT - 8;
/// How far ahead of the slot being read the cache is asked for slots.
#[cfg(all(target_arch = "x86_64", not(loom)))]
const AHEAD: u64 = 3;
/// Lanes that core looks at one by one; with more senders, the transport is asked to poll.
pub const MAX_DIRECT: usize = 8;

/// The writing end of a lane. One that is closed or full has `position == limit`.
#[repr(C)]
#[derive(Debug)]
pub struct SendLane {
    /// The slots, aligned to 64 bytes.
    pub slots: *mut u8,
    /// Number of slots, a power of two, minus one.
    pub mask: u64,
    /// Position of the next message.
    pub position: u64,
    /// The first position that may not be written yet, as far as the transport has looked.
    pub limit: u64,
    /// Read after each message; anything but 0 is for [`Transport::attend`](super::Transport::attend). The transport
    /// sees to it that a compiler's fence between message and word is enough.
    pub attention: *const AtomicU32,
    /// The line that is written in turns with the receiver; null where there is none.
    pub turn: *mut Turn,
}

impl SendLane {
    /// A lane in which nothing fits.
    pub const fn closed() -> Self {
        Self {
            slots: std::ptr::null_mut(),
            mask: 0,
            position: 0,
            limit: 0,
            attention: std::ptr::null(),
            turn: std::ptr::null_mut(),
        }
    }

    /// Whether the next slot may be written.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.position != self.limit
    }

    /// Sends a message that has two parts. Gives what the receiver's attention word says.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room); the lane is alive and this is its only writer; the parts have at most [`INLINE`] bytes together.
    #[inline(always)]
    pub(crate) unsafe fn send(&mut self, head: &[u8], body: &[u8]) -> u32 {
        // SAFETY: the caller's promise; the message fits where it is written.
        unsafe {
            self.publish(head.len() + body.len(), |place| {
                copy_short(head.as_ptr(), place, head.len());
                copy_short(body.as_ptr(), place.add(head.len()), body.len());
            })
        }
    }

    /// Lets `write` put a message of `len` bytes into the turn or the next slot. Gives what the receiver's attention word says.
    ///
    /// # Safety
    /// As for [`send`](Self::send); `write` writes `len` bytes and no more. The address that it gets is divisible by 8.
    #[inline(always)]
    pub(crate) unsafe fn publish(&mut self, len: usize, write: impl FnOnce(*mut u8)) -> u32 {
        debug_assert!(len <= INLINE && self.has_room());
        // SAFETY: the index is masked; turn and slot are ours until their head is written, and the message fits.
        unsafe {
            let (place, head) = if !self.turn.is_null() && (*self.turn).is_ours() && len <= IN_TURN {
                ((*self.turn).line, (*self.turn).pass(self.position, len))
            } else {
                let at = self.position;
                self.position = at.wrapping_add(1);
                (self.slots.add(index(at, self.mask) * SLOT), head(at, len))
            };
            write(place.add(8));
            // SYNC: pairs with the Acquire loads of `ReceiveLane::take`, and with those of the transport.
            (*place.cast::<AtomicU64>()).store(head, Ordering::Release);
            // SYNC: the store above stays before the load below; the transport turns this into a real fence when it matters.
            compiler_fence(Ordering::SeqCst);
            (*self.attention).load(Ordering::Relaxed)
        }
    }
}

/// Which slot has the message at `position`: the positions' Gray code, so that no two steps in a row are of the same length. Slots
/// in plain order are a stride that the hardware learns; it then fetches the next slot while its writer is at it, which costs a
/// message to and fro a tenth of its time.
#[inline(always)]
pub fn index(position: u64, mask: u64) -> usize {
    let place = position & mask;
    (place ^ place >> 1) as usize
}

/// What stands at the head of the slot of the message at `position`.
#[inline(always)]
pub fn head(position: u64, len: usize) -> u64 {
    (u64::from(position.wrapping_add(1) as u32) | (len as u64) << 32).to_le()
}

/// The reading end of a lane.
#[repr(C)]
#[derive(Debug)]
pub struct ReceiveLane {
    /// The slots.
    pub slots: *const u8,
    /// Number of slots minus one.
    pub mask: u64,
    /// Position of the next message.
    pub position: u64,
    /// Core takes nothing at this position or behind it: the transport wants to give slots back first.
    pub limit: u64,
    /// Where the position is told to whoever decides about sleeping.
    pub told: *const AtomicU64,
    /// Who writes.
    pub peer: PeerId,
    /// The line that is written in turns with the sender; null where there is none.
    pub turn: *mut Turn,
}

impl ReceiveLane {
    /// Takes the message that waits, if it is a short one.
    ///
    /// # Safety
    /// The lane is alive and this is its only reader.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self) -> Taken {
        let (slots, mask, position) = (self.slots, self.mask, self.position);
        let next = position.wrapping_add(1);
        // SAFETY: the index is masked; the word lives as long as the lane.
        unsafe {
            let slot = slots.add(index(position, mask) * SLOT);
            // SYNC: pairs with the Release store of `SendLane::send`: the message is there.
            let head = u64::from_le((*slot.cast::<AtomicU64>()).load(Ordering::Acquire));
            // After the slot: what came before it is visible by now.
            if !self.turn.is_null()
                && let Some(len) = (*self.turn).look(position)
            {
                if len > IN_TURN {
                    return Taken::Left;
                }
                (*self.turn).taken();
                (*self.turn).make_ready();
                return Taken::Message {
                    peer: self.peer,
                    data: (*self.turn).line.add(8),
                    len,
                    turn: self.turn,
                };
            }
            let len = (head >> 32) as usize;
            if head as u32 != next as u32 {
                return Taken::Nothing;
            }
            if len > INLINE || position == self.limit {
                return Taken::Left;
            }
            self.position = next;
            (*self.told).store(next, Ordering::Relaxed);
            Taken::Message { peer: self.peer, data: slot.add(8), len, turn: std::ptr::null_mut() }
        }
    }

    /// Asks the cache for what comes after the next messages: for a reader that goes on reading.
    ///
    /// # Safety
    /// The lane is alive.
    #[inline(always)]
    pub(crate) unsafe fn look_ahead(&self) {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        // SAFETY: the index is masked, and a prefetch has no effect on memory.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let slot = self.slots.add(index(self.position.wrapping_add(AHEAD), self.mask) * SLOT);
            _mm_prefetch::<_MM_HINT_T0>(slot.cast());
        }
    }
}

/// What a look at a lane gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing is there.
    Nothing,
    /// Something is there that the transport wants to handle.
    Left,
    /// A message, whose bytes stay in place until the transport's next poll, and until [`Turn::done`] if it came in a turn.
    Message { peer: PeerId, data: *const u8, len: usize, turn: *mut Turn },
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

/// Copies up to some hundred bytes without a call.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`].
#[inline(always)]
pub unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: every access lies inside `from..from + len` and `to..to + len`; the last word of a range may overlap the
    // word before it, which rewrites equal bytes.
    unsafe {
        if len >= 8 {
            let last = len - 8;
            let mut at = 0;
            while at < last {
                to.add(at).cast::<u64>().write_unaligned(from.add(at).cast::<u64>().read_unaligned());
                at += 8;
            }
            to.add(last).cast::<u64>().write_unaligned(from.add(last).cast::<u64>().read_unaligned());
        } else if len >= 4 {
            let last = len - 4;
            let tail = from.add(last).cast::<u32>().read_unaligned();
            to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned());
            to.add(last).cast::<u32>().write_unaligned(tail);
        } else if len > 0 {
            to.write(*from);
            to.add(len / 2).write(*from.add(len / 2));
            to.add(len - 1).write(*from.add(len - 1));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    #[repr(align(64))]
    struct Slots([u8; 4 * SLOT]);

    fn words(first: u64, second: u64) -> [u8; 16] {
        zerocopy::transmute!([first, second])
    }

    #[test]
    fn messages_arrive_in_order_until_the_limit_and_long_ones_are_left_alone() {
        let mut slots = Box::new(Slots([0; 4 * SLOT]));
        let (attention, told) = (AtomicU32::new(0), AtomicU64::new(0));
        let base = slots.0.as_mut_ptr();
        let mut tx = SendLane {
            slots: base,
            mask: 3,
            position: 9,
            limit: 12,
            attention: &raw const attention,
            turn: null_mut(),
        };
        let mut rx = ReceiveLane {
            slots: base,
            mask: 3,
            position: 9,
            limit: 11,
            told: &raw const told,
            peer: 1,
            turn: null_mut(),
        };
        // SAFETY: one writer, one reader, and the memory outlives both.
        unsafe {
            assert_eq!(rx.take(), Taken::Nothing);
            for (n, body) in
                [&b"12345678"[..], b"", b"the third one is longer than the others"].iter().enumerate()
            {
                assert!(tx.has_room());
                assert_eq!(tx.send(&words(n as u64, 77), body), 0);
            }
            assert!(!tx.has_room());
            let Taken::Message { peer, data, len, .. } = rx.take() else { panic!("the first is there") };
            assert_eq!((peer, std::slice::from_raw_parts(data.add(16), len - 16)), (1, &b"12345678"[..]));
            assert_eq!(data.add(8).cast::<u64>().read_unaligned(), 77);
            assert_eq!(told.load(Ordering::Relaxed), 10);
            assert!(matches!(rx.take(), Taken::Message { len: 16, .. }));
            assert_eq!(rx.take(), Taken::Left, "beyond the limit");
            rx.limit = 20;
            assert!(matches!(rx.take(), Taken::Message { len: 55, .. }));
            // A slot that announces a long message.
            (*base.add(index(12, 3) * SLOT).cast::<AtomicU64>())
                .store(head(12, INLINE + 1), Ordering::Relaxed);
            assert_eq!(rx.take(), Taken::Left);
            rx.look_ahead();
        }
    }

    #[test]
    fn what_finds_the_turn_with_its_side_goes_there_and_the_rest_follows_in_order() {
        let mut slots = Box::new(Slots([0; 4 * SLOT]));
        let mut line = Box::new(Slots([0; 4 * SLOT]));
        let (attention, told) = (AtomicU32::new(0), AtomicU64::new(0));
        let (base, line) = (slots.0.as_mut_ptr(), line.0.as_mut_ptr());
        let (mut theirs, mut ours) = (Turn::new(line, true), Turn::new(line, false));
        let mut tx = SendLane {
            slots: base,
            mask: 3,
            limit: 4,
            attention: &raw const attention,
            turn: &raw mut theirs,
            ..SendLane::closed()
        };
        let (limit, told, turn) = (4, &raw const told, &raw mut ours);
        let mut rx = ReceiveLane { slots: base, mask: 3, position: 0, limit, told, peer: 1, turn };
        // SAFETY: one writer, one reader, and the memory outlives both.
        unsafe {
            let mut takes = |first: u64, in_turn: bool| {
                let Taken::Message { data, turn, .. } = rx.take() else { panic!("message {first} is there") };
                assert_eq!((data.cast::<u64>().read(), !turn.is_null()), (first, in_turn));
            };
            // Too long for the turn; in the turn, behind it; again in the lane.
            tx.send(&words(0, 0), &[0; IN_TURN - 15]);
            tx.send(&words(1, 0), b"short");
            tx.send(&words(2, 0), b"short");
            assert_eq!(tx.position, 2);
            takes(0, false);
            takes(1, true);
            takes(2, false);
            assert_eq!(rx.take(), Taken::Nothing);
            // The other way the turn may be used now, and not before the message in it was done with.
            assert!(!ours.is_ours());
            ours.done();
            let head = ours.pass(0, IN_TURN).wrapping_add((1u64 << 32).to_le());
            (*line.cast::<AtomicU64>()).store(head, Ordering::Relaxed);
            let mut back = ReceiveLane {
                slots: base,
                mask: 3,
                position: 0,
                limit: 0,
                told,
                peer: 0,
                turn: &raw mut theirs,
            };
            assert_eq!(back.take(), Taken::Left, "a length that can't be is left to the transport");
        }
    }

    #[test]
    fn short_copies_copy_everything_and_nothing_else() {
        let from: Vec<u8> = (1..=INLINE as u8).collect();
        for len in 0..=INLINE {
            let mut to = [0u8; INLINE + 8];
            // SAFETY: both ranges have `len` bytes.
            unsafe { copy_short(from.as_ptr(), to.as_mut_ptr(), len) };
            assert_eq!(to[..len], from[..len]);
            assert!(to[len..].iter().all(|b| *b == 0), "length {len} wrote past its end");
        }
    }
}
