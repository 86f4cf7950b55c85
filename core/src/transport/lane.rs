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
//! bytes are ([`RingLayout`]). They are written before the slot's head and read in place.
//!
//! A slot has three cache lines, though most messages fill less than one. If slots were adjacent
//! lines, the hardware would fetch the next slot's line along with this one, and the writer would
//! have to take it away from the reader again, which lengthens a round trip by a
//! quarter. For the same reason a ring has few slots: as many as the first-level cache holds beside
//! other things.
//!
//! Messages take the slots in the order that [`index`] gives.
//!
//! Both ends are described by a line ([`SendLane`], [`ReceiveLane`]) that lives in the transport.
//! Core and transport change it alternately, both under the context's lock.

use super::copy::{Raw, copy_long, store_past_caches};
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
pub use slot::{IN_MAILBOX, INLINE, MailboxLine, Payload, SLOT, Slot, head, index};
use zerocopy::IntoBytes;

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

/// The first part of a message that goes into a data ring.
#[derive(Clone, Copy, Debug)]
pub enum Head<'a> {
    /// Any bytes.
    Bytes(&'a [u8]),
    /// So many bytes of a line, at most all: copied whole, which needs no question for its length.
    Line(&'a [u64; 8], usize),
}

impl Head<'_> {
    /// How many bytes it has.
    #[inline(always)]
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Line(_, len) => *len,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Puts the two parts of a message into a data ring, bypassing the caches if there are `past` bytes
/// or more and `past` is not 0.
///
/// # Safety
/// `to` is at the beginning of a cache line and writable to the end of the line in which the bytes
/// end; it overlaps neither slice.
#[inline(always)]
pub unsafe fn store_message(head: Head<'_>, body: &[u8], to: *mut u8, past: u32) {
    // SAFETY: the place is as `store_past_caches` wants it, has room for both parts, and is a line
    // at least.
    unsafe {
        let bytes = match head {
            Head::Bytes(bytes) => bytes,
            Head::Line(line, len) => &line.as_bytes()[..len],
        };
        if past != 0 && body.len() >= LEAST_PAST_CACHES.max(past as usize) {
            return store_past_caches(bytes, body, to);
        }
        match head {
            Head::Bytes(bytes) => to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()),
            Head::Line(line, _) => to.cast::<[u64; 8]>().write(*line),
        }
        copy_long(body.as_ptr(), to.add(bytes.len()), body.len());
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
