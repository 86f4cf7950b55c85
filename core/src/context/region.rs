//! Memory of tasks as values: this task's own and attached memory of others, behind one trait.

use super::{Context, Memory, RemoteMemory};
use crate::error::{Error, Result};
use crate::sync::{Ordering, fence};
use crate::transport::RmwOp;
use crate::transport::copy::copy_watched;
use crate::transport::rmw::local_rmw;
use dyn_clone::DynClone;
use std::ptr::NonNull;

/// Registered memory of some task: where it is, and how this task reaches it.
///
/// Layers above store `Box<dyn MemoryRegion>`, which can be cloned, for memory of either kind.
pub trait MemoryRegion: DynClone + std::fmt::Debug + Send + Sync {
    /// Its task, address and length.
    fn remote(&self) -> RemoteMemory;

    /// Its address in this address space if it is mapped, so that loads, stores and atomics need no
    /// call.
    fn as_local_ptr(&self) -> Option<NonNull<u8>>;
}

dyn_clone::clone_trait_object!(MemoryRegion);

/// Attached memory of a task: how to reach it has been determined once.
///
/// Through shared memory a [`put`](Self::put) is a copy and an atomic is one instruction; otherwise
/// they send the messages of [`Context::put_bytes`] and its relatives.
#[derive(Clone, Debug)]
pub struct Attached {
    context: Context,
    remote: RemoteMemory,
    /// Where it is mapped.
    local: Option<NonNull<u8>>,
    /// The same, if operations need not check whether the memory is still mapped.
    direct: Option<NonNull<u8>>,
}

// SAFETY: the mapping lives as long as the context, which this keeps; access is by copies and
// atomics only.
unsafe impl Send for Attached {}
// SAFETY: threads that use it at the same time copy, or use atomics, as the owner does.
unsafe impl Sync for Attached {}

impl Context {
    /// Attaches memory of any task, this one included.
    ///
    /// # Errors
    /// The task is not one of the job.
    pub fn attach(&self, remote: RemoteMemory) -> Result<Attached> {
        self.usable()?;
        self.check_target(remote.task)?;
        let local = self.direct(remote.task, remote.addr, remote.len).and_then(NonNull::new);
        // All of this task's memory is mapped: what it gives to others may end before this does.
        let direct = local.filter(|_| remote.task != self.task());
        Ok(Attached { context: self.clone(), remote, local, direct })
    }
}

impl MemoryRegion for Attached {
    fn remote(&self) -> RemoteMemory {
        self.remote
    }

    fn as_local_ptr(&self) -> Option<NonNull<u8>> {
        self.local
    }
}

impl Attached {
    /// Copies `data` to `offset`; returns when `data` may be reused. A [fence](Context::fence)
    /// guarantees that it has arrived.
    ///
    /// # Errors
    /// The range exceeds the memory; the target is down.
    #[inline(always)]
    pub fn put(&self, offset: u64, data: &[u8]) -> Result<()> {
        match self.place(offset, data.len() as u64)? {
            // SAFETY: within the attached range; never borrowed, and racing tasks leave some
            // mixture of bytes.
            Some(to) => unsafe { copy_watched(data.as_ptr(), to, data.len()) },
            None => return self.context.put_bytes(self.part(offset, data.len() as u64)?, data),
        }
        Ok(())
    }

    /// Copies from `offset` into `into`.
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[inline(always)]
    pub fn get(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        match self.place(offset, into.len() as u64)? {
            // SAFETY: within the attached range; never borrowed, and racing tasks leave some
            // mixture of bytes.
            Some(from) => unsafe { copy_watched(from, into.as_mut_ptr(), into.len()) },
            None => return self.context.get_bytes(self.part(offset, into.len() as u64)?, into),
        }
        Ok(())
    }

    /// Adds to the 64-bit variable at `offset`; returns its previous value.
    ///
    /// # Errors
    /// The variable exceeds the memory or is misaligned; the target is down.
    #[inline(always)]
    pub fn fetch_add(&self, offset: u64, operand: u64) -> Result<u64> {
        self.atomic(offset, RmwOp::FetchAndAdd, operand, 0)
    }

    /// Replaces the 64-bit variable at `offset`; returns its previous value.
    ///
    /// # Errors
    /// As for [`fetch_add`](Self::fetch_add).
    #[inline(always)]
    pub fn swap(&self, offset: u64, value: u64) -> Result<u64> {
        self.atomic(offset, RmwOp::Swap, value, 0)
    }

    /// Replaces the 64-bit variable at `offset` if it equals `expected`; returns its previous
    /// value.
    ///
    /// # Errors
    /// As for [`fetch_add`](Self::fetch_add).
    #[inline(always)]
    pub fn compare_and_swap(&self, offset: u64, expected: u64, value: u64) -> Result<u64> {
        self.atomic(offset, RmwOp::CompareAndSwap, value, expected)
    }

    #[inline(always)]
    fn atomic(&self, offset: u64, op: RmwOp, operand: u64, compare: u64) -> Result<u64> {
        if let Some(variable) = self.place(offset, 8)?
            && variable.addr().is_multiple_of(8)
        {
            // SAFETY: within the attached range and aligned.
            return Ok(unsafe { local_rmw(variable, 8, op, operand, compare) });
        }
        let variable = self.part(offset, 8)?;
        match op {
            RmwOp::FetchAndAdd => self.context.fetch_add(variable, operand),
            RmwOp::FetchAndOr => self.context.fetch_or(variable, operand),
            RmwOp::Swap => self.context.swap(variable, operand),
            RmwOp::CompareAndSwap => self.context.compare_and_swap(variable, compare, operand),
        }
    }

    /// Where `len` bytes at `offset` are mapped, if they are; an error beyond the end.
    #[inline(always)]
    fn place(&self, offset: u64, len: u64) -> Result<Option<*mut u8>> {
        if offset > self.remote.len || len > self.remote.len - offset {
            return Err(Error::DataLength { len: offset.saturating_add(len), max: self.remote.len });
        }
        // SAFETY: within the mapped range, by the check above.
        Ok(self.direct.map(|base| unsafe { base.as_ptr().add(offset as usize) }))
    }

    fn part(&self, offset: u64, len: u64) -> Result<RemoteMemory> {
        let beyond = Error::DataLength { len: offset.saturating_add(len), max: self.remote.len };
        self.remote.part(offset, len).ok_or(beyond)
    }

    /// Makes this task's direct stores visible before whatever it does next.
    pub fn publish(&self) {
        // SYNC: Release: pairs with whatever tells the other task to look.
        fence(Ordering::Release);
    }
}

impl Memory {
    /// This memory as a region like any other.
    ///
    /// # Errors
    /// The context has ended.
    pub fn region(&self) -> Result<Attached> {
        self.context().attach(self.remote())
    }
}
