//! Blocking reads, writes and atomic operations on global memory.
//!
//! What is mapped here is touched at once. Otherwise the access is one of `access.rs`, between the
//! place and a buffer that is registered meanwhile. It waits for nothing that the program began,
//! and a failure is the caller's alone to see.

use crate::error::{Error, Result, of_core};
use crate::operation::{Atomic, Operator, Place, What, Work, apply, move_bytes};
use crate::order::ALL;
use crate::process::Process;
use lapis_core::sync::{Ordering, fence};

/// Pieces of memory that a copy's two ends consist of, in order.
pub(crate) type Parts = Vec<(u64, u64)>;

impl Process {
    /// Reads words. Whether others change them meanwhile is for the reader to find out.
    pub(crate) fn read_words(&self, from: u64, words: &mut [u64]) -> Result {
        // SAFETY: the slice is valid for its size.
        unsafe { self.read_raw(from, words.as_mut_ptr().cast(), size_of_val(words)) }
    }

    /// Reads bytes. The length may be any that a program gives.
    pub(crate) fn read_bytes(&self, from: u64, len: u64) -> Result<Vec<u8>> {
        // What is here has its bounds, so that no more memory is asked for than there is.
        self.place(from, len)?;
        let len = usize::try_from(len).map_err(|_| Error::Size)?;
        Vec::<u8>::new().try_reserve_exact(len).map_err(|_| Error::Memory)?;
        let mut bytes = vec![0; len];
        // SAFETY: the vector has this length.
        unsafe { self.read_raw(from, bytes.as_mut_ptr(), bytes.len()) }?;
        Ok(bytes)
    }

    /// Reads memory into memory of this process.
    ///
    /// # Safety
    /// `into` is valid for `len` bytes.
    unsafe fn read_raw(&self, from: u64, into: *mut u8, len: usize) -> Result {
        match self.place(from, len as u64)? {
            Place::Near(at, _region) => {
                // SAFETY: both are valid for this length; the region is kept meanwhile.
                unsafe { move_bytes(into, at, len) };
                // SYNC: Acquire pairs with the release of whoever wrote: what a word that was just
                // read speaks of is seen by the reads that follow.
                fence(Ordering::Acquire);
                Ok(())
            }
            Place::Far(_) => {
                let bounce = self.bounced(vec![0; len.div_ceil(8)], |buffer| {
                    self.run(buffer, from, What::Copy(len as u64))
                })?;
                // SAFETY: the buffer was made for `len` bytes, and `into` has room for as many.
                unsafe { std::ptr::copy_nonoverlapping(bounce.as_ptr().cast(), into, len) };
                Ok(())
            }
        }
    }

    /// Writes words; one alone at once and after everything that this process has written.
    pub(crate) fn write_words(&self, to: u64, words: &[u64]) -> Result {
        // SAFETY: the slice is valid for its size.
        unsafe { self.write_raw(to, words.as_ptr().cast(), size_of_val(words)) }
    }

    /// Writes bytes.
    pub(crate) fn write_bytes(&self, to: u64, bytes: &[u8]) -> Result {
        // SAFETY: the slice is valid for its size.
        unsafe { self.write_raw(to, bytes.as_ptr(), bytes.len()) }
    }

    /// Writes memory of this process to memory.
    ///
    /// # Safety
    /// `from` is valid for `len` bytes.
    pub(crate) unsafe fn write_raw(&self, to: u64, from: *const u8, len: usize) -> Result {
        match self.place(to, len as u64)? {
            Place::Near(at, _region) => {
                // SAFETY: both are valid for this length; the region is kept meanwhile.
                unsafe { move_bytes(at, from, len) };
                Ok(())
            }
            Place::Far(_) => {
                let mut bounce = vec![0_u64; len.div_ceil(8)];
                // SAFETY: the buffer was made for `len` bytes, and `from` has as many.
                unsafe { std::ptr::copy_nonoverlapping(from, bounce.as_mut_ptr().cast(), len) };
                self.bounced(bounce, |buffer| self.run(to, buffer, What::Copy(len as u64))).map(drop)
            }
        }
    }

    /// Copies between any two places; they may overlap if they are one process's.
    pub(crate) fn transfer(&self, to: u64, from: u64, len: u64) -> Result {
        if len == 0 {
            return Ok(());
        }
        match (self.place(to, len)?, self.place(from, len)?) {
            (Place::Near(to, _region), Place::Near(from, _other)) => {
                // SAFETY: both places have this length; regions are kept meanwhile.
                unsafe { move_bytes(to, from, usize::try_from(len).map_err(|_| Error::Size)?) };
                Ok(())
            }
            _ => self.run(to, from, What::Copy(len)),
        }
    }

    /// Copies between places that come in parts. The parts of one end don't overlap the other's.
    pub(crate) fn transfer_parts(&self, to: &[(u64, u64)], from: &[(u64, u64)]) -> Result {
        let (mut to, mut from) = (to.iter().copied(), from.iter().copied());
        let (mut target, mut source) = ((0, 0), (0, 0));
        loop {
            if target.1 == 0 {
                let Some(next) = to.next() else { return Ok(()) };
                target = next;
            }
            if source.1 == 0 {
                let Some(next) = from.next() else { return Ok(()) };
                source = next;
            }
            let len = target.1.min(source.1);
            self.transfer(target.0, source.0, len)?;
            target = (target.0 + len, target.1 - len);
            source = (source.0 + len, source.1 - len);
        }
    }

    /// Puts `new` into a word if it is `old`; gives what was there.
    pub(crate) fn compare_and_swap(&self, at: u64, old: u64, new: u64) -> Result<u64> {
        if !at.is_multiple_of(8) {
            return Err(Error::Alignment);
        }
        let atomic = Atomic { operator: Operator::CompareAndSwap, width: 8, operand: new, compare: old };
        match self.place(at, 8)? {
            // SAFETY: valid for a word, and aligned as its address is.
            Place::Near(word, _region) => Ok(unsafe { apply(word, atomic) }),
            Place::Far(_) => {
                let was = self.bounced(vec![0], |buffer| self.run(buffer, at, What::Atomic(atomic)))?;
                was.first().copied().ok_or(Error::Internal)
            }
        }
    }

    /// Lets others go on, before a try is repeated for the so-many-th time.
    pub(crate) fn pause(&self, tries: u32) -> Result {
        self.context.progress().map_err(of_core)?;
        if tries < 32 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(std::time::Duration::from_micros(u64::from(tries.min(500))));
        }
        Ok(())
    }

    /// Runs an access to its end.
    fn run(&self, dst: u64, src: u64, what: What) -> Result {
        if !self.order.has_room() {
            self.wait(|| self.order.needed(ALL), || self.order.has_room())?;
        }
        let (handle, now) = self.order.enter_own(|handle| Work { handle, dst, src, what });
        self.work(now.into_iter().collect());
        if !self.order.has_ended(handle) {
            self.wait(|| self.order.needed(handle), || self.order.has_ended(handle))?;
        }
        self.order.failure_of(handle)
    }

    /// Registers a buffer while `f` works with its global address.
    fn bounced(&self, mut words: Vec<u64>, f: impl FnOnce(u64) -> Result) -> Result<Vec<u64>> {
        if words.is_empty() {
            return Ok(words);
        }
        let base = words.as_mut_ptr().expose_provenance();
        let key = self.regions().register(base, size_of_val(words.as_slice()) as u64, 0)?;
        let world = self.world();
        let outcome = f(world.space.address(world.rank, key));
        let mut region = self.regions().unregister(key)?;
        if self.wait_for_owners(&mut region).is_err() {
            // A message may still write there: better lost than given to somebody else.
            std::mem::forget(words);
            return Err(Error::Wait);
        }
        outcome.map(|()| words)
    }
}
