//! Data that members read from each other's inputs, where the system lets them.
//!
//! A member that shows its input puts its address on its board. If its call fails, it has the input
//! back, while others may not have heard of it: before it returns it puts the cause in place of the
//! address. A reader looks at the word before it reads and again afterwards. What it has read
//! meanwhile does not count if the address is gone.

use super::Board;
use super::buffers::{Buffers, Data};
use super::rounds::{Put, Take};
use crate::combine::Fold;
use crate::error::{Cause, CollectiveError, Result, lost};
use lapis_core::Context;
use lapis_core::sync::{AtomicU64, Ordering, fence};
use lapis_schedules::Span;
use std::ptr::NonNull;

/// Set in words that name a cause; addresses of programs have it clear.
const OVER: u64 = 1 << 63;

/// A word on a board that names the address of its owner's input or, if the owner has the input
/// back, the cause. It lives as long as the board.
#[derive(Clone, Copy)]
pub(crate) struct Word(NonNull<AtomicU64>);

impl Word {
    /// # Safety
    /// There is room for a word in an area or a line, which its owner alone writes.
    unsafe fn at(area: *const u8) -> Self {
        debug_assert!(area.cast::<AtomicU64>().is_aligned());
        // SAFETY: areas and lines are never at address 0.
        Self(unsafe { NonNull::new_unchecked(area.cast_mut().cast()) })
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: boards are mapped as long as they are used, and the word is accessed by this
        // alone while its round is under way.
        unsafe { self.0.as_ref() }
    }

    /// Shows an address, which the round's flag then publishes.
    fn show(self, address: u64) {
        self.word().store(address, Ordering::Relaxed);
    }

    /// The owner has its input back, because of this.
    pub(crate) fn withdraw(self, cause: Cause) {
        let cause = OVER | u64::from(cause.code()) << 32 | u64::from(cause.task());
        self.word().store(cause, Ordering::Relaxed);
        // SYNC: pairs with the fence in `Shown::take`: who reads what the program stores in the
        // input from now on also reads this.
        fence(Ordering::Release);
    }

    fn address(self) -> Result<u64> {
        match self.word().load(Ordering::Relaxed) {
            over if over & OVER != 0 => {
                Err(Cause::from_code(((over & !OVER) >> 32) as u32, over as u32).error())
            }
            address => Ok(address),
        }
    }
}

/// The buffers of a call whose plan [shows](super::Plan::shows) them.
pub(crate) struct Shown<'a> {
    pub(crate) buffers: Buffers,
    pub(crate) board: *const Board,
    pub(crate) context: &'a Context,
    /// Where the caller's own input is shown, once it is.
    pub(crate) word: Option<Word>,
}

impl Data for Shown<'_> {
    /// Puts the address of the input.
    unsafe fn put(&mut self, puts: &[Put], area: *mut u8) {
        for put in puts {
            let (address, _) = self.buffers.bytes(put.from);
            // SAFETY: the plan reserves room for an address; the caller's promise.
            let word = unsafe { Word::at(area) };
            word.show(address.expose_provenance() as u64);
            self.word = Some(word);
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
        // SAFETY: the caller's promise: the member has put a word there.
        let word = unsafe { Word::at(area) };
        let address = word.address()?.wrapping_add((take.at * self.buffers.size) as u64);
        // SAFETY: the output is writable, as the caller says. The kernel checks the address.
        let is_read = unsafe { self.context.read_memory(from, address, into, len) };
        // SYNC: pairs with the fence in `Word::withdraw`: if the bytes are newer than the call, so
        // is the word.
        fence(Ordering::Acquire);
        word.address()?;
        if is_read {
            return Ok(());
        }
        self.context.reachable(from).map_err(|e| lost(from, e))?;
        Err(CollectiveError::Unreadable { from, address, bytes: len })
    }
}
