//! The mailbox line: one cache line that a pair of tasks writes alternately, beside its two lanes.
//!
//! A message in a slot costs two transfers of a cache line: the writer takes the line away from the
//! reader, which polls it all the time, and the reader fetches it back. A line that both tasks
//! write is transferred once, because a task may overwrite what it has just read. So a task that
//! has read the other one's message in the mailbox line puts its next short message there. Two
//! tasks that answer each other at once never touch a slot. If it is the other side's turn to
//! write, a message goes into the lane: in a stream, all but the first.
//!
//! ```text
//! line:      0        4        5          8                                          64
//!            | number | length | position | the message, up to 56 bytes               |
//! ```
//!
//! `number` counts the messages of both sides; a message is there when the number is one above the
//! last that was written or read. `position`, the low 24 bits of the writer's next position in its
//! lane, keeps the order: a message in the mailbox is read when all before it have been read from
//! the lane, and a reader that finds a message in the lane checks the mailbox afterwards, where an
//! earlier message must then be visible.

use super::slot::{IN_MAILBOX, MailboxLine};
use crate::sync::{AtomicU64, Ordering};

/// Where the head has the message's length.
const LENGTH: u64 = 0xff << 32;

/// This task's end of a mailbox line. It stays where it is until the transport's instance is
/// closed.
#[repr(C)]
#[derive(Debug)]
pub struct Mailbox {
    /// The line.
    pub line: *const MailboxLine,
    /// Number of the last message that was written or read. Sleepers read it, too.
    pub number: AtomicU64,
    /// Not 0: this side alone may write.
    pub ours: u32,
}

impl Mailbox {
    /// A mailbox at its beginning; the line's first word is 0.
    pub fn new(line: *const MailboxLine, begins: bool) -> Self {
        Self { line, number: AtomicU64::new(0), ours: u32::from(begins) }
    }

    /// Whether this side may write.
    #[inline(always)]
    pub fn is_ours(&self) -> bool {
        self.ours != 0
    }

    /// What belongs at the line's beginning, stored last, when a message of `len` bytes has been
    /// written after `position` messages in the lane. From here on the other side may write.
    #[inline(always)]
    pub fn pass(&mut self, position: u64, len: usize) -> u64 {
        debug_assert!(self.is_ours() && len <= IN_MAILBOX);
        self.ours = 0;
        let number = self.number.load(Ordering::Relaxed).wrapping_add(1);
        self.number.store(number, Ordering::Relaxed);
        head(number, position, len)
    }

    /// Length of the message that waits, if one does and it is the next after those before
    /// `position` in the lane.
    ///
    /// # Safety
    /// The line is alive.
    #[inline(always)]
    pub unsafe fn look(&self, position: u64) -> Option<usize> {
        if self.is_ours() {
            // The other side waits for what this one writes next.
            return None;
        }
        let number = self.number.load(Ordering::Relaxed).wrapping_add(1);
        // SYNC: pairs with the Release store of `SendLane::commit`: the message is there.
        // SAFETY: the caller says that the line is alive.
        let found = unsafe { (*self.line).head.load(Ordering::Acquire) };
        // In a stream nothing has come, which the number alone tells.
        if u64::from_le(found) as u32 != number as u32 {
            return None;
        }
        let differ = u64::from_le(found ^ head(number, position, 0));
        (differ & !LENGTH == 0).then_some((differ >> 32) as usize)
    }

    /// Whether a message waits: for whoever is not its reader and decides about sleeping.
    ///
    /// # Safety
    /// `this` points to a live mailbox, and its line is alive. Others may change the mailbox
    /// meanwhile, but for the line's address.
    pub unsafe fn waits(this: *const Self) -> bool {
        // SYNC: pairs with the Release store of `SendLane::commit`.
        // SAFETY: the caller says that both are alive. No reference to the whole mailbox is made,
        // which its reader may be changing.
        let (head, number) = unsafe {
            let number = &raw const (*this).number;
            ((*(*this).line).head.load(Ordering::Acquire), (*number).load(Ordering::Relaxed))
        };
        u64::from_le(head) as u32 == number.wrapping_add(1) as u32
    }

    /// The message that [`look`](Self::look) found has been taken.
    #[inline(always)]
    pub fn taken(&self) {
        self.number.store(self.number.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Messages of both sides so far: the same number at both.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    /// The bytes of the message that was taken are no longer needed: the line may be written.
    #[inline(always)]
    pub fn done(&mut self) {
        self.ours = 1;
    }
}

#[inline(always)]
fn head(number: u64, position: u64, len: usize) -> u64 {
    (u64::from(number as u32) | (len as u64) << 32 | position << 40).to_le()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn store(line: &MailboxLine, head: u64) {
        line.head.store(head, Ordering::Relaxed);
    }

    #[test]
    fn sides_write_alternately_and_whoever_wrote_last_waits() {
        let line = MailboxLine::default();
        let at = &raw const line;
        let (mut a, mut b) = (Mailbox::new(at, true), Mailbox::new(at, false));
        // SAFETY: the line outlives both.
        unsafe {
            for (len, position) in [(8, 0), (56, 3), (0, 0xff_ffff), (1, 0x100_0000)] {
                assert!(a.is_ours() && !b.is_ours() && b.look(position).is_none());
                store(&line, a.pass(position, len));
                assert!(!a.is_ours() && a.look(position).is_none(), "one's own message is none");
                assert_eq!(b.look(position), Some(len));
                b.taken();
                assert!(!b.is_ours() && b.look(position).is_none(), "taken, but still in use");
                b.done();
                std::mem::swap(&mut a, &mut b);
            }
        }
    }

    #[test]
    fn a_message_waits_for_those_before_it_in_the_lane() {
        let line = MailboxLine::default();
        let at = &raw const line;
        let (mut a, b) = (Mailbox::new(at, true), Mailbox::new(at, false));
        store(&line, a.pass(7, 16));
        // SAFETY: the line outlives both.
        unsafe {
            assert_eq!((5..7).find_map(|position| b.look(position)), None);
            assert_eq!(b.look(7), Some(16));
        }
    }
}
