//! Short messages: their data is copied at once, and their completion is not reported at the
//! origin.

use crate::context::HandlerId;
use crate::transport::PeerId;
use crate::transport::lane::{INLINE, copy_short};
use crate::wire::{ShortKind, short_head};

/// An active message, or a put, whose bytes are copied at once and of which the origin wants no
/// notification.
///
/// On the usual path it stays in registers: only code out of line names it by an address, and gets
/// a copy of its own (`Aside`). Each store besides those to the lane takes room in the processor's
/// store queue, which also holds the messages whose lines have not come from the receiver yet:
/// seven more stores cost a stream a tenth. And a copy that is loaded before its stores have left
/// that queue waits for all of them, which halves the rate of messages.
///
/// Whoever makes one vouches for what it names at the target, so that sending it is safe.
pub struct Short<'a> {
    pub(super) kind: ShortKind,
    pub(super) target: PeerId,
    /// As in [`AmSend`](super::AmSend); a put has the address of its first byte here.
    pub(super) handler: u64,
    pub(super) user_header: &'a [u8],
    pub(super) data: &'a [u8],
    /// Address of a counter at the target, 0 for none.
    pub(super) target_counter: u64,
}

/// A [`Short`] message with an address. A type of its own: the compiler would find that two of one
/// type are the same, and give the first one an address, too.
///
/// Handler and counter lie apart: side by side, both would be loaded at once, and a load that is
/// wider than the stores before it waits until these have left the processor's queue.
#[repr(C)]
pub(crate) struct Aside<'a> {
    handler: u64,
    data: &'a [u8],
    target_counter: u64,
    user_header: &'a [u8],
    target: PeerId,
    kind: ShortKind,
}

impl<'a> Aside<'a> {
    /// The message.
    #[inline(always)]
    pub(crate) fn short(&self) -> Short<'a> {
        let &Self { kind, target, handler, user_header, data, target_counter } = self;
        Short { kind, target, handler, user_header, data, target_counter }
    }

    /// Target, user header and data.
    pub(crate) fn parts(&self) -> (PeerId, &'a [u8], &'a [u8]) {
        (self.target, self.user_header, self.data)
    }
}

/// How a try to send a [`Short`] message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Sent,
    /// There was none: the lock has to be taken first.
    None,
    NoRoom,
    /// The message needs more than this way has, or something is wrong with it.
    Unfit,
}

impl<'a> Short<'a> {
    /// The same for what is out of line.
    #[inline(always)]
    pub(crate) fn aside(&self) -> Aside<'a> {
        let &Self { kind, target, handler, user_header, data, target_counter } = self;
        Aside { kind, target, handler, user_header, data, target_counter }
    }

    /// Whether it is an active message of data alone, as most are.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.kind == ShortKind::Am && self.user_header.is_empty() && self.target_counter == 0
    }

    /// How many bytes go before the data.
    #[inline(always)]
    pub(super) fn before(&self) -> usize {
        let words = if self.target_counter == 0 { 16 } else { 24 };
        words + self.user_header.len()
    }

    /// Whether all of it fits a slot, and its user header is as it must be.
    #[inline(always)]
    pub(super) fn fits_slot(&self) -> bool {
        let Self { user_header, data, .. } = self;
        // Not the sum of both, which may overflow.
        let room = INLINE.checked_sub(self.before());
        room.is_some_and(|room| data.len() <= room) && user_header.len().is_multiple_of(4)
    }

    /// Writes what goes before the data of message `number`.
    ///
    /// # Safety
    /// `place` is divisible by 8 and writable for as many bytes as [`before`](Self::before) says.
    #[inline(always)]
    pub(super) unsafe fn write_head(&self, number: u32, place: *mut u8) {
        let &Self { kind, handler, user_header, target_counter, .. } = self;
        let head = short_head(kind, number, user_header.len(), target_counter != 0);
        // SAFETY: as much is written as was counted.
        unsafe {
            place.cast::<u64>().write(head.to_le());
            place.add(8).cast::<u64>().write(handler.to_le());
            if target_counter != 0 {
                place.add(16).cast::<u64>().write(target_counter.to_le());
            }
            let words = self.before() - user_header.len();
            copy_short(user_header.as_ptr(), place.add(words), user_header.len());
        }
    }

    /// Data beyond this length, in bytes, don't count as short.
    pub const LONGEST: u64 = 16 << 10;

    /// One to a handler of the target's table, which knows what it may call.
    #[inline(always)]
    pub fn to_table(target: PeerId, handler: HandlerId, user_header: &'a [u8], data: &'a [u8]) -> Self {
        let kind = ShortKind::Am;
        Self { kind, target, handler: handler.0.into(), user_header, data, target_counter: 0 }
    }

    /// One with data alone, to a handler as [`AmSend`](super::AmSend) has it.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[inline(always)]
    pub unsafe fn plain(target: PeerId, handler: u64, data: &'a [u8]) -> Self {
        // SAFETY: this function demands what `new` does.
        unsafe { Self::new(target, handler, &[], data, 0) }
    }

    /// One with everything that a short message can have.
    ///
    /// # Safety
    /// `target_counter` and an address in `handler` are what the target gave out.
    #[inline(always)]
    pub unsafe fn new(
        target: PeerId,
        handler: u64,
        user_header: &'a [u8],
        data: &'a [u8],
        target_counter: u64,
    ) -> Self {
        Self { kind: ShortKind::Am, target, handler, user_header, data, target_counter }
    }

    /// A put to `remote`; the target looks whether it has given that out if `checked`.
    ///
    /// # Safety
    /// `remote` and `target_counter` are what the target gave out.
    #[inline(always)]
    pub(super) unsafe fn put(
        target: PeerId,
        remote: u64,
        data: &'a [u8],
        target_counter: u64,
        checked: bool,
    ) -> Self {
        let kind = if checked { ShortKind::CheckedPut } else { ShortKind::Put };
        Self { kind, target, handler: remote, user_header: &[], data, target_counter }
    }
}
