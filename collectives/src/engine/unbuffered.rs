//! Messages that carry data directly from one layout to another, without a buffer in between.
//!
//! This is possible if each message carries a part of its sender's input to its final place at the
//! receiver: in exchanges with neighbours, and in those alltoalls, gathers and scatters that send
//! each part once. If members forward data, everything is packed.

use super::op::{Act, Op};
use lapis_core::message::{Gather, Scatter};
use lapis_core::{Destination, Source};
use lapis_schedules::{Buffer, Span};
use std::ptr::NonNull;

/// Bytes that packets do not separate, as windows of rounds don't.
const UNIT: u64 = 16;

impl Op {
    /// Whether all messages go from input to output.
    pub(super) fn passes_nothing_on(&self) -> bool {
        let reads = |span: &Span| span.buffer == Buffer::Input;
        let writes = |span: &Span| span.buffer == Buffer::Output;
        self.acts.iter().all(|act| match act {
            Act::Send { slot } => reads(&self.sends[*slot as usize].span),
            Act::Receive { slot } => writes(&self.receives[*slot as usize].span),
            Act::Copy { from, into } => reads(from) && writes(into),
            Act::Wait | Act::Drain => true,
            Act::Look | Act::Fold { .. } => false,
        })
    }

    /// Where the bytes of a long message come from.
    ///
    /// # Safety
    /// The operation lives, and its layouts are nobody else's, until the message's end is told.
    pub(super) unsafe fn source(this: *mut Self, span: Span) -> Source {
        // SAFETY: the caller's promise; the reference ends here.
        let (straight, (data, len)) = unsafe { ((*this).is_straight(), (*this).bytes(span)) };
        if straight {
            return Source::Gather(Box::new(Part { op: this, span }), len as u64);
        }
        Source::Contiguous(data, len as u64)
    }

    /// Where the bytes of a long message go.
    ///
    /// # Safety
    /// As for [`source`](Self::source).
    pub(super) unsafe fn destination(this: *mut Self, span: Span) -> Destination {
        // SAFETY: the caller's promise; the reference ends here.
        let (straight, (into, _)) = unsafe { ((*this).is_straight(), (*this).bytes(span)) };
        if straight {
            return Destination::Scatter(Box::new(Part { op: this, span }));
        }
        NonNull::new(into).map_or(Destination::Discard, Destination::Contiguous)
    }

    /// Fetches a short part from its layout.
    ///
    /// # Safety
    /// The operation's memory is valid and nobody else's; there is room for as many bytes as the
    /// span has.
    #[cold]
    pub(super) unsafe fn fetch(&mut self, span: Span, into: &mut [u8]) {
        if let Some(layouts) = self.layouts.as_deref_mut().filter(|_| !into.is_empty()) {
            // SAFETY: the caller's promise.
            unsafe { layouts.read(span, into) };
        }
    }

    /// Puts what has come where it goes.
    ///
    /// # Safety
    /// The operation's memory is valid and nobody else's; there are as many bytes as the span has.
    pub(super) unsafe fn place(&mut self, span: Span, bytes: &[u8]) {
        let (into, len) = self.bytes(span);
        debug_assert_eq!(bytes.len(), len);
        let straight = self.is_straight();
        match self.layouts.as_deref_mut().filter(|_| straight && len > 0) {
            // SAFETY: the caller's promise.
            Some(layouts) => unsafe { layouts.write(span, bytes) },
            None if straight => {}
            // SAFETY: the caller's promise.
            None => unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), into, len) },
        }
    }
}

/// A part of an operation's data, which lies in layouts.
struct Part {
    op: *mut Op,
    span: Span,
}

// SAFETY: core reads and writes layouts under the lock of the context, under which the operation is
// used, too.
unsafe impl Send for Part {}

impl Part {
    fn span(&self, position: u64, len: usize) -> Span {
        Span { start: self.span.start + position as usize, len, ..self.span }
    }
}

impl Gather for Part {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let span = self.span(position, out.len());
        // SAFETY: the operation lives until the message's end, and nobody refers to its layouts
        // while messages are sent; the caller vouches for their memory.
        if let Some(layouts) = unsafe { (&mut (*self.op).layouts).as_deref_mut() } {
            // SAFETY: the caller's promise.
            unsafe { layouts.read(span, out) };
        }
    }

    fn atom(&self) -> u64 {
        UNIT
    }
}

impl Scatter for Part {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        let span = self.span(position, bytes.len());
        // SAFETY: the operation lives until the message's end, and nobody refers to its layouts
        // while messages come; the caller vouches for their memory.
        if let Some(layouts) = unsafe { (&mut (*self.op).layouts).as_deref_mut() } {
            // SAFETY: the caller's promise.
            unsafe { layouts.write(span, bytes) };
        }
    }
}
