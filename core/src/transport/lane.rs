//! Lanes: the shortest way of a message that fits one packet, which core walks itself.
//!
//! A transport whose peers share memory with this task may keep, for a pair of tasks, a ring of
//! slots with one writer and one reader. If it lays them out as drawn here and sets
//! [`Caps::LANES`](super::Caps::LANES), core writes and reads messages in place, without a
//! call through the table; everything else (rings that are full, sleeping receivers, new and dead
//! peers) stays the transport's business.
//!
//! ```text
//! slot:      0        4        8                                                    192
//!            | number | length | the message, up to 184 bytes                        |
//! ```
//!
//! `number` is the low half of the message's position plus one, and is written, with the length,
//! last and in one store: a slot is full exactly when its number is the one the reader expects, and
//! nobody clears it. A length beyond 184 tells that the message lies elsewhere. A reader whose lane
//! has no data ring, or that finds a length that can't be, leaves such a slot, and all behind it,
//! to [`Transport::poll`](super::Transport::poll).
//!
//! The bytes of a longer message lie in the lane's **data ring**, if it has one ([`DataOut`],
//! [`DataIn`]); its slot tells the length alone, and both ends compute from the lengths where the
//! bytes are ([`RingLayout`]). They are written before the slot's head and read in place. A message
//! that is not one of a stream has a gap behind it ([`GAP`]), of which its slot tells ([`APART`]).
//!
//! A slot has three cache lines, though most messages fill less than one. If slots were adjacent
//! lines, the hardware would fetch the next slot's line along with this one, and the writer would
//! have to take it away from the reader again, which lengthens a round trip by a
//! quarter. For the same reason a ring has few slots: as many as the first-level cache holds beside
//! other things.
//!
//! Messages take the slots in the order that [`slot_at`] gives.
//!
//! Both ends are described by a line ([`SendLane`], [`ReceiveLane`]) that lives in the transport.
//! Core and transport change it alternately, both under the context's lock.

use super::copy::{FirstLine, LINE, Raw, copy_long, store_past_caches};
#[cfg(all(test, loom))]
use super::types::PeerId;
#[cfg(test)]
use crate::sync::{AtomicU32, AtomicU64, Ordering};
pub use data_ring::{DataIn, DataOut};
pub use mailbox_line::Mailbox;
pub use receive::{Found, ReceiveLane, Taken};
pub use ring_layout::{Class, RingLayout, after};
pub use send::SendLane;
pub use shared_bytes::Area;
#[cfg(loom)]
pub use shared_bytes::Watched;
pub use slot::{APART, GAP, IN_MAILBOX, INLINE, MOST_SLOTS, MailboxLine, Payload, SLOT, Slot, head, slot_at};

mod data_ring;
mod mailbox_line;
mod receive;
mod ring_layout;
mod send;
mod shared_bytes;
mod slot;

/// Lanes that core looks at one by one; with more senders, the transport is asked to poll.
pub const MAX_DIRECT: usize = 8;

/// Shorter bodies are stored as usual, however far the reader is: their latency counts.
const LEAST_PAST_CACHES: usize = 1 << 10;

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

/// Puts the two parts of a message into a data ring, bypassing the caches if the second one has
/// `past` bytes or more and `past` is not 0.
///
/// # Safety
/// `to` is at the beginning of a cache line and writable to the end of the line in which the bytes
/// end; it overlaps neither slice.
#[inline(always)]
pub unsafe fn store_message(head: &[u8], body: &[u8], to: *mut u8, past: u32) {
    // SAFETY: this function demands what `store_parts` does, and the head has that length.
    unsafe {
        store_parts(
            head.len(),
            |place| place.copy_from_nonoverlapping(head.as_ptr(), head.len()),
            body,
            to,
            past,
        );
    }
}

/// The same where `write` writes the first part, of `before` bytes. It gets an address that is
/// divisible by 8.
///
/// # Safety
/// As for [`store_message`]; `write` writes `before` bytes and no more.
#[inline(always)]
unsafe fn store_parts(before: usize, write: impl FnOnce(*mut u8), body: &[u8], to: *mut u8, past: u32) {
    // SAFETY: the place is as `store_past_caches` wants it, and has room for both parts; what a
    // line has room for is first written there.
    unsafe {
        // One question for most messages, which are shorter.
        if body.len() >= LEAST_PAST_CACHES {
            // 0 is never: one less is more than any message has.
            if body.len() > past.wrapping_sub(1) as usize && before <= LINE {
                let mut line = FirstLine::new();
                write(line.as_mut_ptr());
                return store_past_caches(&mut line, before, body, to);
            }
            write(to);
            return copy_long(body.as_ptr(), to.add(before), body.len());
        }
        write(to);
        to.add(before).copy_from_nonoverlapping(body.as_ptr(), body.len());
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
