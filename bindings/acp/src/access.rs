//! Global memory access: copies between any two processes' memory, and atomic operations.
//!
//! Memory that is mapped here (this process's own, and blocks of processes on the same host) is
//! read and written by the calling thread. Otherwise a copy's request goes to the process that has
//! the source, which sends the data to the one that has the destination; whoever wrote them tells
//! the origin. An atomic operation on memory that is not mapped is its owner's to apply, by the
//! same instructions: one variable stays atomic, whichever way operations on it travel.

use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::order::{ALL, CONT, NULL, Needs};
use crate::process::{Process, World};
use crate::protocol::{self, ATOMIC, FETCH};
use crate::regions::Region;
use lapis_core::sync::placed::{AtomicU32, AtomicU64};
use lapis_core::sync::{Ordering, fence};
use std::collections::VecDeque;
use std::sync::Arc;

/// What an atomic operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    CompareAndSwap = 0,
    Swap = 1,
    Add = 2,
    Xor = 3,
    Or = 4,
    And = 5,
}

impl Operator {
    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::CompareAndSwap, Self::Swap, Self::Add, Self::Xor, Self::Or, Self::And]
            .into_iter()
            .find(|operator| *operator as u64 == number)
    }
}

/// An atomic operation without its places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) operator: Operator,
    /// 4 or 8 bytes.
    pub(crate) width: u32,
    pub(crate) operand: u64,
    /// What a compare-and-swap compares with.
    pub(crate) compare: u64,
}

/// An operation that waits, or begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) handle: u64,
    pub(crate) dst: u64,
    pub(crate) src: u64,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Copy(u64),
    Atomic(Atomic),
}

/// Where memory is, seen from this process.
pub(crate) enum Place {
    /// In this address space; the region is kept meanwhile if it is a registered one.
    Near(*mut u8, Option<Arc<Region>>),
    /// In this task's.
    Far(u32),
}

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
                self.order.needs(handle, Needs { tasks: [Some(task), None], memory, result: None });
                // SAFETY: the operation's entry keeps the memory until it ends.
                unsafe { protocol::put(self, task, handle, dst, (from, len)) }?;
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
                protocol::send_words(self, task, FETCH, [handle, dst, src, len])?;
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
                protocol::send_words(self, task, ATOMIC, [work.handle, work.src, kind, operand, compare])?;
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
        }
        Ok(!self.order.complete(handle))
    }
}

/// Longest copy that is made word by word where both ends are aligned: the library's own structures
/// are shorter, and are read while others write them.
const BY_WORDS: usize = 128;

/// Copies bytes that may overlap. Words that programs wait for are read and written as such.
///
/// # Safety
/// Both are valid for `len` bytes.
#[inline(always)]
pub(crate) unsafe fn move_bytes(to: *mut u8, from: *const u8, len: usize) {
    let aligned = |place: usize| place.is_multiple_of(len);
    // SAFETY: both places have `len` bytes; words are read and written as atomics only where the
    // address is a multiple of their size.
    unsafe {
        match len {
            8 if aligned(to.addr()) => {
                let word = if aligned(from.addr()) {
                    (*from.cast::<AtomicU64>()).load(Ordering::Relaxed)
                } else {
                    from.cast::<u64>().read_unaligned()
                };
                // SYNC: Release: whoever sees the word sees what was copied before it.
                (*to.cast::<AtomicU64>()).store(word, Ordering::Release);
            }
            4 if aligned(to.addr()) => {
                let word = if aligned(from.addr()) {
                    (*from.cast::<AtomicU32>()).load(Ordering::Relaxed)
                } else {
                    from.cast::<u32>().read_unaligned()
                };
                // SYNC: Release: whoever sees the word sees what was copied before it.
                (*to.cast::<AtomicU32>()).store(word, Ordering::Release);
            }
            _ => {
                if len <= BY_WORDS && (to.addr() | from.addr() | len).is_multiple_of(8) {
                    move_words(to.cast(), from.cast(), len / 8);
                } else {
                    std::ptr::copy(from, to, len);
                }
                // SYNC: Release: what is stored afterwards is seen afterwards.
                fence(Ordering::Release);
            }
        }
    }
}

/// Copies words that may overlap, each in one piece.
///
/// # Safety
/// Both are valid for so many words, and aligned to them.
unsafe fn move_words(to: *const AtomicU64, from: *const AtomicU64, count: usize) {
    // SAFETY: both loops stay below `count`, and both places have so many aligned words.
    let one = |at: usize| unsafe {
        (*to.add(at)).store((*from.add(at)).load(Ordering::Relaxed), Ordering::Relaxed)
    };
    // A destination that begins within the source is filled from its end.
    if to.addr().wrapping_sub(from.addr()) < count * 8 {
        (0..count).rev().for_each(one);
    } else {
        (0..count).for_each(one);
    }
}

/// Stores a result.
///
/// # Safety
/// `to` is valid for `width` bytes, 4 or 8, and aligned to them.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut u8, width: u32, value: u64) {
    // SAFETY: `to` has `width` bytes and is a multiple of that; an atomic has its integer's layout.
    unsafe {
        if width == 4 {
            (*to.cast::<AtomicU32>()).store(value as u32, Ordering::Relaxed);
        } else {
            (*to.cast::<AtomicU64>()).store(value, Ordering::Relaxed);
        }
    }
}

/// Applies an atomic operation; gives what was there before.
///
/// # Safety
/// `at` is valid for the operation's width, 4 or 8, and aligned to it.
#[inline(always)]
pub(crate) unsafe fn apply(at: *mut u8, atomic: Atomic) -> u64 {
    macro_rules! run {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: `at` has the operation's width and is a multiple of it; an atomic has its
            // integer's layout.
            let v = unsafe { &*at.cast::<$atomic>() };
            let (value, compare) = (atomic.operand as $word, atomic.compare as $word);
            // SYNC: AcqRel with each other, in whichever process: how programs publish data.
            let how = Ordering::AcqRel;
            u64::from(match atomic.operator {
                Operator::Add => v.fetch_add(value, how),
                Operator::Xor => v.fetch_xor(value, how),
                Operator::Or => v.fetch_or(value, how),
                Operator::And => v.fetch_and(value, how),
                Operator::Swap => v.swap(value, how),
                Operator::CompareAndSwap => {
                    // SYNC: AcqRel with the others; a comparison that fails writes nothing.
                    v.compare_exchange(compare, value, how, Ordering::Acquire).unwrap_or_else(|seen| seen)
                }
            })
        }};
    }
    if atomic.width == 4 { run!(AtomicU32, u32) } else { run!(AtomicU64, u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_move_as_a_whole_however_the_places_overlap() {
        for len in [0, 3, 4, 8, 16, 24, 64, 120, BY_WORDS, BY_WORDS + 8] {
            for (to, from) in [(0, 0), (0, 8), (8, 0), (0, 64), (64, 0), (4, 0), (0, 3), (16, 160)] {
                let mut words: [u64; 40] = std::array::from_fn(|at| at as u64 * 0x0101_0101_0101_0101 + 7);
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                let mut wanted = bytes;
                wanted.copy_within(from..from + len, to);
                let base = words.as_mut_ptr().cast::<u8>();
                // SAFETY: both places lie within the words.
                unsafe { move_bytes(base.add(to), base.add(from), len) };
                let moved: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                assert_eq!(moved, wanted, "{len} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn every_operator_gives_what_was_and_leaves_what_shall_be() {
        for (operator, operand, compare, before, after) in [
            (Operator::Add, 5, 0, u64::MAX, 4),
            (Operator::Xor, 0b0110, 0, 0b0011, 0b0101),
            (Operator::Or, 0b0110, 0, 0b0011, 0b0111),
            (Operator::And, 0b0110, 0, 0b0011, 0b0010),
            (Operator::Swap, 9, 0, 3, 9),
            (Operator::CompareAndSwap, 9, 3, 3, 9),
            (Operator::CompareAndSwap, 9, 4, 3, 3),
        ] {
            assert_eq!(Operator::of(operator as u64), Some(operator));
            let mut wide = [before, 77];
            // SAFETY: a local variable of this width.
            let was =
                unsafe { apply(wide.as_mut_ptr().cast(), Atomic { operator, width: 8, operand, compare }) };
            assert_eq!((was, wide), (before, [after, 77]), "{operator:?}");
            let mut narrow = [before as u32, 77];
            let atomic = Atomic { operator, width: 4, operand, compare };
            // SAFETY: a local variable of this width.
            let was = unsafe { apply(narrow.as_mut_ptr().cast(), atomic) };
            assert_eq!((was as u32, narrow), (before as u32, [after as u32, 77]), "{operator:?}");
        }
        assert_eq!(Operator::of(6), None);
    }
}
