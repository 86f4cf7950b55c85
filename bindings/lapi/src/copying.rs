//! Copies of messages to which the library adds something of its own.
//!
//! The buffer of a message that MP_REXMIT_BUF_SIZE covers is free when the call returns. Core
//! copies such messages, and counts all that it sends. A program counts its data and its user
//! header. What lies between the two counts is copied here.

use crate::failure::Outcome;
use crate::vector::layout::reserved;
use lapis_core::Context;
use lapis_core::message::{Gather, Share, Source};

/// What a message has by two counts.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    /// Data and user header as the program knows them.
    pub(crate) program: u64,
    /// Bytes that the library adds to them.
    pub(crate) added: u64,
}

/// The message's data, copied if that is promised and core does not do it.
///
/// # Safety
/// The layout's memory can be read until the message's origin is told.
//= LAPI Guide, Send-side copy of small messages
pub(crate) unsafe fn covered(context: &Context, counts: Counts, source: Source) -> Outcome<Source> {
    let most = *context.config().rexmit_buf_size.get() as u64;
    let between = counts.program <= most && counts.program.saturating_add(counts.added) > most;
    match source {
        Source::Gather(mut layout, len) if between => {
            let mut bytes = reserved(len as usize)?;
            bytes.resize(len as usize, 0);
            // SAFETY: the caller's promise.
            unsafe { layout.read(0, &mut bytes) };
            Ok(Source::Gather(Box::new(Bytes { bytes, atom: layout.atom(), share: layout.share() }), len))
        }
        source => Ok(source),
    }
}

/// Bytes that the message owns.
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<u8>,
    /// So many are not to be separated.
    pub(crate) atom: u64,
    /// What of them is the program's.
    pub(crate) share: Share,
}

impl Gather for Bytes {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        let at = position as usize;
        out.copy_from_slice(&self.bytes[at..at + out.len()]);
    }

    fn atom(&self) -> u64 {
        self.atom
    }

    fn share(&self) -> Share {
        self.share
    }
}
