//! The memory that an operation's rounds work on.

use super::rounds::{Put, Take};
use crate::combine::{Fold, fold_by};
use crate::error::Result;
use lapis_core::transport::copy::{copy_long, copy_past_caches};
use lapis_schedules::{Side, Span};

/// What an operation's rounds read and write: [`Buffers`], [`Layouts`], or buffers that are
/// [`Shown`](super::Shown).
pub(crate) trait Data {
    /// See [`Buffers::put`].
    ///
    /// # Safety
    /// As there.
    unsafe fn put(&mut self, puts: &[Put], area: *mut u8);

    /// The same; stores of `past` bytes and more bypass the caches, where that is possible.
    ///
    /// # Safety
    /// As there.
    unsafe fn put_long(&mut self, puts: &[Put], area: *mut u8, past: usize) {
        let _ = past;
        // SAFETY: the caller's promise.
        unsafe { self.put(puts, area) }
    }

    /// See [`Buffers::copy`].
    ///
    /// # Safety
    /// As there.
    unsafe fn copy(&mut self, copies: &[(Span, Span)]);

    /// See [`Buffers::take`].
    ///
    /// # Errors
    /// Another member's memory can't be read.
    ///
    /// # Safety
    /// As there.
    unsafe fn take(&mut self, take: &Take, area: *const u8, fold: &Fold) -> Result<()>;

    /// The same for data that replaces what is there. Stores bypass the caches, where that is
    /// possible.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    unsafe fn take_past(&mut self, take: &Take, area: *const u8, fold: &Fold) -> Result<()> {
        // SAFETY: the caller promises of area and buffers what `take` asks for.
        unsafe { self.take(take, area, fold) }
    }
}

/// Non-contiguous data. Rounds, and messages that carry parts from one layout to another, access it
/// in place; other messages carry it packed.
pub(crate) trait Layouts: Data + Send {
    /// Reads from a part that is given.
    ///
    /// # Safety
    /// The layouts' memory is valid, and used by nobody else.
    unsafe fn read(&mut self, span: Span, into: &mut [u8]);

    /// Writes to a part that is received.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    unsafe fn write(&mut self, span: Span, bytes: &[u8]);

    /// Bytes of input and output that messages need.
    fn lens(&self) -> (usize, usize);

    /// Packs all data that is given into the buffers that messages use, which have room for it.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    unsafe fn pack(&mut self, input: &mut [u8], output: &mut [u8]);

    /// Unpacks all data that was received.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    unsafe fn unpack(&mut self, output: &[u8]);
}

/// The first bytes of an operation's input, output and scratch, and the bytes of an element.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    pub(crate) bases: [*mut u8; 3],
    pub(crate) size: usize,
}

impl Buffers {
    /// The first byte of a span, and the number of bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self, span: Span) -> (*mut u8, usize) {
        let base = self.bases[span.buffer as usize];
        (base.wrapping_add(span.start * self.size), span.len * self.size)
    }

    /// Writes the data that a member puts in a round.
    ///
    /// # Safety
    /// The buffers are as long as the spans say, and used by nobody else; nobody reads the area,
    /// which is this member's and has room.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, puts: &[Put], area: *mut u8) {
        for put in puts {
            let (from, len) = self.bytes(put.from);
            // SAFETY: the caller's promise.
            unsafe { copy(from, area.add(put.at * self.size), len) };
        }
    }

    /// Copies within the member's own memory.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    pub(crate) unsafe fn copy(&self, copies: &[(Span, Span)]) {
        for (from, into) in copies {
            let ((from, len), (into, _)) = (self.bytes(*from), self.bytes(*into));
            if from != into {
                // SAFETY: the caller's promise. What is done in place may overlap.
                unsafe { std::ptr::copy(from, into, len) };
            }
        }
    }

    /// Takes data from an area, which may be the member's own.
    ///
    /// # Safety
    /// As for [`put`](Self::put); the area holds what the plan says, and nobody writes there now.
    #[inline(always)]
    pub(crate) unsafe fn take(&self, take: &Take, area: *const u8, fold: &Fold) {
        // SAFETY: the caller's promise.
        unsafe {
            let (into, len) = self.bytes(take.into);
            let from = area.add(take.at * self.size);
            match (take.fold, fold) {
                (None, _) => copy(from, into, len),
                (Some(_), Fold::Kernel(kernel)) => kernel(into, from, len / self.size),
                (Some(side), Fold::User(fold)) => {
                    let from = std::slice::from_raw_parts(from, len);
                    fold_by(fold, from, std::slice::from_raw_parts_mut(into, len), side);
                }
                (Some(Side::Before | Side::After), Fold::None) => {}
            }
        }
    }
}

/// Copies. In short calls, or with many short parts, a call of `memcpy` would take most of the
/// time.
///
/// # Safety
/// As for `copy_nonoverlapping` of bytes.
#[inline(always)]
unsafe fn copy(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match len {
            8 => into.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            ..LONG => std::ptr::copy_nonoverlapping(from, into, len),
            _ => copy_many(from, into, len),
        }
    }
}

/// Copies with fewer bytes than this use `memcpy`.
const LONG: usize = 1 << 10;

/// Not inlined, so that the code of short calls stays short.
///
/// # Safety
/// As for `copy_nonoverlapping` of bytes.
#[inline(never)]
unsafe fn copy_many(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_long(from, into, len) }
}

impl Data for Buffers {
    #[inline(always)]
    unsafe fn put(&mut self, puts: &[Put], area: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { Self::put(self, puts, area) }
    }

    #[inline(never)]
    unsafe fn put_long(&mut self, puts: &[Put], area: *mut u8, past: usize) {
        for put in puts {
            let (from, len) = self.bytes(put.from);
            // SAFETY: the caller's promise.
            unsafe {
                let into = area.add(put.at * self.size);
                if len < past { copy(from, into, len) } else { copy_past_caches(from, into, len) }
            }
        }
    }

    #[inline(always)]
    unsafe fn copy(&mut self, copies: &[(Span, Span)]) {
        // SAFETY: the caller's promise.
        unsafe { Self::copy(self, copies) }
    }

    #[inline(always)]
    unsafe fn take(&mut self, take: &Take, area: *const u8, fold: &Fold) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { Self::take(self, take, area, fold) };
        Ok(())
    }

    #[inline(never)]
    unsafe fn take_past(&mut self, take: &Take, area: *const u8, _: &Fold) -> Result<()> {
        let (into, len) = self.bytes(take.into);
        // SAFETY: the area holds the bytes that the take names, and they fit the output, the caller
        // promises; areas are no part of a buffer.
        unsafe { copy_past_caches(area.add(take.at * self.size), into, len) };
        Ok(())
    }
}
