//! Global memory access: copies between any two processes' memory, and atomic operations.
//!
//! Memory that is mapped here (this process's own, and blocks of processes on the same host) is
//! read and written by the calling thread. Otherwise a copy's request goes to the process that has
//! the source, which sends the data to the one that has the destination; the process that writes
//! the data notifies the origin. An atomic operation on memory that is not mapped is its owner's to
//! apply, by the same instructions: one variable stays atomic, whichever way operations on it
//! travel.

use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::messages::send_words_by;
use crate::operation::{Atomic, Place, What, Work, apply, move_bytes, store};
use crate::order::{ALL, CONT, NULL, Needs};
use crate::process::{Process, World};
use crate::protocol::{self, ATOMIC, FETCH};
use std::collections::VecDeque;

impl World {
    /// Whether the memory of an address is this process's own.
    fn is_mine(&self, address: u64) -> bool {
        self.space.rank(address) == u64::from(self.rank)
    }
}

impl Process {
    /// Finds memory. Another process's, unless it is mapped here, is for that process to judge.
    pub(crate) fn place(&self, address: u64, len: u64) -> Result<Place> {
        let world = self.world();
        if let Some(at) = world.mapped(address, len) {
            return Ok(Place::Near(at, None));
        }
        let rank = world.rank_of(address)?;
        if rank != world.rank {
            return Ok(Place::Far(world.block(rank)?.task));
        }
        let (at, region) = self.regions().find(world.space.position(address), len)?;
        Ok(Place::Near(std::ptr::with_exposed_provenance_mut(at), Some(region)))
    }

    /// Copies memory to memory, in the given order.
    pub(crate) fn copy(&self, dst: u64, src: u64, len: u64, order: u64) -> Result<u64> {
        match self.copy_at_once(dst, src, len, order) {
            Some(handle) => Ok(handle),
            None => self.begin_copy(dst, src, len, order),
        }
    }

    /// The same where nothing has to be waited for and both ends are mapped here. It cannot panic.
    #[inline(always)]
    pub(crate) fn copy_at_once(&self, dst: u64, src: u64, len: u64, order: u64) -> Option<u64> {
        let world = self.world();
        if !self.order.permits(order) {
            return None;
        }
        let (to, from) = (world.mapped(dst, len)?, world.mapped(src, len)?);
        // SAFETY: both are mapped for this length; nothing borrows global memory.
        unsafe { move_bytes(to, from, len as usize) };
        Some(self.order.last())
    }

    /// The same in general.
    pub(crate) fn begin_copy(&self, dst: u64, src: u64, len: u64, order: u64) -> Result<u64> {
        let world = self.world();
        world.rank_of(dst).at("dst", dst)?;
        world.rank_of(src).at("src", src)?;
        self.check_mine(dst, len).at("dst", dst)?;
        self.check_mine(src, len).at("src", src)?;
        self.begin(order, |handle| Work { handle, dst, src, what: What::Copy(len) })
    }

    /// Applies an atomic operation to `src`; what was there before goes to `dst`.
    pub(crate) fn atomic(&self, dst: u64, src: u64, atomic: Atomic, order: u64) -> Result<u64> {
        match self.atomic_at_once(dst, src, atomic, order) {
            Some(handle) => Ok(handle),
            None => self.begin_atomic(dst, src, atomic, order),
        }
    }

    /// The same where nothing has to be waited for and both ends are mapped here. It cannot panic.
    #[inline(always)]
    pub(crate) fn atomic_at_once(&self, dst: u64, src: u64, atomic: Atomic, order: u64) -> Option<u64> {
        let (world, width) = (self.world(), u64::from(atomic.width));
        if !(src | dst).is_multiple_of(width) || !self.order.permits(order) || !world.is_mine(dst) {
            return None;
        }
        let (to, at) = (world.mapped(dst, width)?, world.mapped(src, width)?);
        // SAFETY: mapped and aligned, as positions are.
        unsafe { store(to, atomic.width, apply(at, atomic)) };
        Some(self.order.last())
    }

    /// The same in general.
    pub(crate) fn begin_atomic(&self, dst: u64, src: u64, atomic: Atomic, order: u64) -> Result<u64> {
        let (world, width) = (self.world(), u64::from(atomic.width));
        for (name, address) in [("src", src), ("dst", dst)] {
            if !address.is_multiple_of(width) {
                return Err(Error::Alignment).at(name, address);
            }
        }
        world.rank_of(src).at("src", src)?;
        if world.rank_of(dst).at("dst", dst)? != world.rank {
            return Err(Error::NotLocal).at("dst", dst);
        }
        self.check_mine(dst, width).at("dst", dst)?;
        self.check_mine(src, width).at("src", src)?;
        self.begin(order, |handle| Work { handle, dst, src, what: What::Atomic(atomic) })
    }

    /// What is wrong with the caller's own memory is told at once.
    fn check_mine(&self, address: u64, len: u64) -> Result {
        if self.world().is_mine(address) { self.place(address, len).map(drop) } else { Ok(()) }
    }

    fn begin(&self, order: u64, work: impl FnOnce(u64) -> Work) -> Result<u64> {
        if !self.order.has_room() {
            self.wait(|| self.order.needed(ALL), || self.order.has_room())?;
        }
        let (handle, now) = self.order.enter(order, work);
        self.work(now.into_iter().collect());
        Ok(handle)
    }

    /// Begins operations whose time has come, and those whose time comes with their end.
    pub(crate) fn work(&self, mut ready: VecDeque<Work>) {
        while let Some(work) = ready.pop_front() {
            if let Some(outcome) = self.start(work).unwrap_or_else(|error| Some(Err(error))) {
                self.order.end(work.handle, outcome, |_, _| {}, &mut ready);
            }
        }
    }

    /// Begins an operation. Gives how it ended, if it has.
    fn start(&self, work: Work) -> Result<Option<Result>> {
        match work.what {
            What::Copy(len) => self.start_copy(work, len),
            What::Atomic(atomic) => self.start_atomic(work, atomic),
        }
    }

    fn start_copy(&self, work: Work, len: u64) -> Result<Option<Result>> {
        let Work { handle, dst, src, .. } = work;
        match (self.place(src, len)?, self.place(dst, len)?) {
            (Place::Near(from, _from), Place::Near(to, _to)) => {
                // SAFETY: both places have this length and are kept meanwhile.
                unsafe { move_bytes(to, from, len as usize) };
                Ok(Some(Ok(())))
            }
            (Place::Near(from, memory), Place::Far(task)) => {
                self.order.needs(handle, Needs { tasks: [Some(task), None], ..Needs::default() });
                // SAFETY: the place has this length as long as its region is kept.
                unsafe { protocol::put(self, task, handle, dst, (from, len), memory) }?;
                Ok(None)
            }
            (Place::Far(task), to) => {
                let (other, memory) = match to {
                    Place::Far(other) => (Some(other), None),
                    Place::Near(_, memory) => (None, memory),
                };
                self.order.needs(handle, Needs { tasks: [Some(task), other], memory, result: None });
                // What died before cannot end it.
                if other.is_some_and(|other| self.is_gone(other)) {
                    return Err(Error::Peer);
                }
                send_words_by(self, task, FETCH, [handle, dst, src, len], self.colours.preferred_rail(src))?;
                Ok(None)
            }
        }
    }

    fn start_atomic(&self, work: Work, atomic: Atomic) -> Result<Option<Result>> {
        let width = u64::from(atomic.width);
        let Place::Near(to, memory) = self.place(work.dst, width)? else { return Err(Error::NotLocal) };
        match self.place(work.src, width)? {
            Place::Near(at, _region) => {
                // SAFETY: both are kept meanwhile, and aligned as their addresses are.
                unsafe { store(to, atomic.width, apply(at, atomic)) };
                Ok(Some(Ok(())))
            }
            Place::Far(task) => {
                let result = Some((to.expose_provenance(), atomic.width));
                self.order.needs(work.handle, Needs { tasks: [Some(task), None], memory, result });
                let Atomic { operator, width, operand, compare } = atomic;
                let kind = operator as u64 | u64::from(width) << 8;
                let words = [work.handle, work.src, kind, operand, compare];
                send_words_by(self, task, ATOMIC, words, self.colours.preferred_rail(work.src))?;
                Ok(None)
            }
        }
    }

    /// Whether [`complete`](Self::complete) has nothing to wait for and nothing to tell.
    #[inline(always)]
    pub(crate) fn is_complete(&self, handle: u64) -> bool {
        self.order.is_well(handle)
    }

    /// Waits until an operation and all before it have ended; tells of a failure among them.
    pub(crate) fn complete(&self, handle: u64) -> Result {
        if matches!(handle, NULL | CONT) {
            return Ok(());
        }
        // Those that come meanwhile are none of the caller's.
        let upto = if handle == ALL { self.order.last() } else { handle };
        if !self.order.complete(upto) {
            self.wait(|| self.order.needed(upto), || self.order.complete(upto))?;
        }
        self.order.failure(upto)
    }

    /// Whether one up to an operation has not ended.
    pub(crate) fn inquire(&self, handle: u64) -> Result<bool> {
        if matches!(handle, NULL | CONT) {
            return Ok(false);
        }
        if !self.order.complete(handle) {
            self.context.progress().map_err(crate::error::of_core)?;
            self.probe_needed(|| self.order.needed(handle));
        }
        Ok(!self.order.complete(handle))
    }
}
