//! Data that members read from each other's inputs, where the system lets them.

use super::Board;
use super::buffers::{Buffers, Data};
use super::rounds::{Put, Take};
use crate::combine::Fold;
use crate::error::{CollectiveError, Result, lost};
use lapis_core::Context;
use lapis_schedules::Span;

/// The buffers of a call whose plan [shows](super::Plan::shows) them.
pub(crate) struct Shown<'a> {
    pub(crate) buffers: Buffers,
    pub(crate) board: *const Board,
    pub(crate) context: &'a Context,
}

impl Data for Shown<'_> {
    /// Puts the address of the input.
    unsafe fn put(&mut self, puts: &[Put], area: *mut u8) {
        for put in puts {
            let (address, _) = self.buffers.bytes(put.from);
            // SAFETY: the plan reserves room for an address; the caller's promise.
            unsafe { area.cast::<u64>().write_unaligned(address.expose_provenance() as u64) }
        }
    }

    unsafe fn copy(&mut self, copies: &[(Span, Span)]) {
        // SAFETY: the caller's promise.
        unsafe { self.buffers.copy(copies) }
    }

    /// Reads from the member's input.
    unsafe fn take(&mut self, take: &Take, area: *const u8, _: &Fold) -> Result<()> {
        // SAFETY: the board is the call's, and lives.
        let (own, from) = unsafe { ((*self.board).me == take.member, (*self.board).task(take.member)) };
        if own {
            let at = Span { start: take.at, len: take.into.len, buffer: lapis_schedules::Buffer::Input };
            // SAFETY: the caller's promise.
            unsafe { self.buffers.copy(&[(at, take.into)]) };
            return Ok(());
        }
        let (into, len) = self.buffers.bytes(take.into);
        // SAFETY: the caller's promise: the member has put an address there. The kernel checks it.
        let address = unsafe { area.cast::<u64>().read_unaligned() };
        let at = address.wrapping_add((take.at * self.buffers.size) as u64);
        // SAFETY: the output is writable, as the caller says.
        if unsafe { self.context.read_memory(from, at, into, len) } {
            return Ok(());
        }
        self.context.reachable(from).map_err(|e| lost(from, e))?;
        Err(CollectiveError::Unreadable { from, address: at, bytes: len })
    }
}
