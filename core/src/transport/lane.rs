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
}

impl SendLane {
    /// A lane in which nothing fits.
    pub const fn closed() -> Self {
        Self { slots: std::ptr::null_mut(), mask: 0, position: 0, limit: 0, attention: std::ptr::null() }
    }

    /// Whether the next slot may be written.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.position != self.limit
    }

    /// Sends a message of two words and up to 40 bytes. Gives what the receiver's attention word says.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room); the lane is alive and this is its only writer; `body.len()` ≤ 40.
    #[inline(always)]
    pub(crate) unsafe fn send(&mut self, first: u64, second: u64, body: &[u8]) -> u32 {
        debug_assert!(body.len() <= INLINE - 16 && self.has_room());
        // SAFETY: the index is masked, the slot is ours until its head is written, and the message fits.
        unsafe {
            let slot = self.slots.add(index(self.position, self.mask) * SLOT);
            slot.add(8).cast::<u64>().write(first.to_le());
            slot.add(16).cast::<u64>().write(second.to_le());
            copy_short(body.as_ptr(), slot.add(24), body.len());
            // SYNC: pairs with the Acquire load of `ReceiveLane::take`, and with that of the transport.
            (*slot.cast::<AtomicU64>()).store(head(self.position, body.len() + 16), Ordering::Release);
            self.position = self.position.wrapping_add(1);
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
            let len = (head >> 32) as usize;
            if head as u32 != next as u32 {
                return Taken::Nothing;
            }
            if len > INLINE || position == self.limit {
                return Taken::Left;
            }
            self.position = next;
            (*self.told).store(next, Ordering::Relaxed);
            Taken::Message(self.peer, slot.add(8), len)
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
    /// A message: who sent it, and its bytes, which stay in place until the transport's next poll.
    Message(PeerId, *const u8, usize),
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

    #[repr(align(64))]
    struct Slots([u8; 4 * SLOT]);

    #[test]
    fn messages_arrive_in_order_until_the_limit_and_long_ones_are_left_alone() {
        let mut slots = Box::new(Slots([0; 4 * SLOT]));
        let (attention, told) = (AtomicU32::new(0), AtomicU64::new(0));
        let base = slots.0.as_mut_ptr();
        let mut tx =
            SendLane { slots: base, mask: 3, position: 9, limit: 12, attention: &raw const attention };
        let mut rx =
            ReceiveLane { slots: base, mask: 3, position: 9, limit: 11, told: &raw const told, peer: 1 };
        // SAFETY: one writer, one reader, and the memory outlives both.
        unsafe {
            assert_eq!(rx.take(), Taken::Nothing);
            for (n, body) in
                [&b"12345678"[..], b"", b"the third one is longer than the others"].iter().enumerate()
            {
                assert!(tx.has_room());
                assert_eq!(tx.send(n as u64, 77, body), 0);
            }
            assert!(!tx.has_room());
            let Taken::Message(peer, data, len) = rx.take() else { panic!("the first is there") };
            assert_eq!((peer, std::slice::from_raw_parts(data.add(16), len - 16)), (1, &b"12345678"[..]));
            assert_eq!(data.add(8).cast::<u64>().read_unaligned(), 77);
            assert_eq!(told.load(Ordering::Relaxed), 10);
            assert!(matches!(rx.take(), Taken::Message(1, _, 16)));
            assert_eq!(rx.take(), Taken::Left, "beyond the limit");
            rx.limit = 20;
            assert!(matches!(rx.take(), Taken::Message(1, _, 55)));
            // A slot that announces a long message.
            (*base.add(index(12, 3) * SLOT).cast::<AtomicU64>())
                .store(head(12, INLINE + 1), Ordering::Relaxed);
            assert_eq!(rx.take(), Taken::Left);
            rx.look_ahead();
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
