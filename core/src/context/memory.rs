//! Memory that peers reach directly.

use super::Context;
use crate::error::{Error, Result};
use crate::sync::{AtomicU32, AtomicU64};
use crate::transport::{Caps, PeerId, RegionInfo, TransportError};
use std::ptr::NonNull;

/// Memory of this task that every task can put to, get from and change atomically: through shared
/// memory without a message, otherwise by messages.
///
/// Peers may write to it at any time, so it is never a Rust slice: copy into it and out of it, or
/// use the atomics. Dropping it waits, like dropping [registered](Context::register) memory.
#[derive(Debug)]
pub struct Memory {
    context: Context,
    base: NonNull<u8>,
    len: usize,
    region: Owner,
}

#[derive(Debug)]
enum Owner {
    /// From a transport: index of the link and its identifier.
    Transport(usize, u64),
    /// From the heap: peers reach it by messages.
    Heap(std::alloc::Layout),
}

// SAFETY: all access goes through copies and atomics.
unsafe impl Send for Memory {}
// SAFETY: threads that use it at the same time copy, or use atomics, as peers do.
unsafe impl Sync for Memory {}

/// The name of a task's [`Memory`] for other tasks: plain data that can be sent in a message or
/// exchanged collectively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMemory {
    /// The task whose memory it is.
    pub task: PeerId,
    /// First byte, in that task's address space.
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
}

impl RemoteMemory {
    /// Length of the encoded form in bytes.
    pub const SIZE: usize = 20;

    /// The encoded form, for messages.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        out[..4].copy_from_slice(&self.task.to_le_bytes());
        out[4..12].copy_from_slice(&self.addr.to_le_bytes());
        out[12..].copy_from_slice(&self.len.to_le_bytes());
        out
    }

    /// The opposite of [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Self { task: u32::from_le_bytes(std::array::from_fn(|i| bytes[i])), addr: word(4), len: word(12) }
    }

    /// The part from `offset` on, `len` bytes long; `None` if it does not lie within.
    pub fn part(&self, offset: u64, len: u64) -> Option<Self> {
        (offset.checked_add(len)? <= self.len).then_some(Self { addr: self.addr + offset, len, ..*self })
    }
}

impl Context {
    /// Allocates `len` bytes of zeroed memory that peers reach as directly as the transports allow.
    ///
    /// # Errors
    /// No room is left: the message names the variable that sets the limit.
    #[doc(alias = "lapis_alloc")]
    pub fn alloc(&self, len: usize) -> Result<Memory> {
        self.usable()?;
        let len = len.max(1);
        let mut locked = self.locked();
        let state = &mut *locked;
        let link = state.links.open.iter().position(|l| {
            l.caps().contains(Caps::ALLOCATE | Caps::WINDOW) && !l.caps().contains(Caps::SELF_ONLY)
        });
        let (base, region) = match link {
            Some(index) => {
                let info = state.links.open[index].mem_alloc(len).map_err(|e| exhausted(&e, len))?;
                let base = NonNull::new(info.addr as usize as *mut u8).ok_or_else(|| Error::Internal {
                    what: "a transport allocated memory at address 0".into(),
                })?;
                (base, Owner::Transport(index, info.id))
            }
            None => heap(len)?,
        };
        // SAFETY: the memory stays until `drop` below takes the region away.
        unsafe { locked.add_region(base.as_ptr(), len) };
        drop(locked);
        Ok(Memory { context: self.clone(), base, len, region })
    }

    /// Allocates memory for a layer above that frees it by address.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    pub fn alloc_raw(&self, len: usize) -> Result<RegionInfo> {
        let memory = std::mem::ManuallyDrop::new(self.alloc(len)?);
        let info = RegionInfo {
            addr: memory.base.addr().get() as u64,
            len: memory.len as u64,
            id: match memory.region {
                Owner::Transport(_, id) => id,
                Owner::Heap(_) => u64::MAX,
            },
            key: 0,
        };
        // The handle's share of the context goes; the interface frees before it terminates.
        // SAFETY: `memory` is never used or dropped again, so the context is dropped once.
        drop(unsafe { std::ptr::read(&raw const memory.context) });
        Ok(info)
    }

    /// Frees memory of [`alloc_raw`](Self::alloc_raw).
    ///
    /// # Safety
    /// `info` came from this context's `alloc_raw`, and nobody uses the memory any more.
    pub unsafe fn free_raw(&self, info: RegionInfo) {
        if !self.is_of_this_process() {
            return;
        }
        let region = if info.id == u64::MAX {
            heap_layout(info.len as usize).map(Owner::Heap)
        } else {
            self.locked()
                .links
                .open
                .iter()
                .position(|l| {
                    l.caps().contains(Caps::ALLOCATE | Caps::WINDOW) && !l.caps().contains(Caps::SELF_ONLY)
                })
                .map(|index| Owner::Transport(index, info.id))
        };
        if let (Some(region), Some(base)) = (region, NonNull::new(info.addr as usize as *mut u8)) {
            drop(Memory { context: self.clone(), base, len: info.len as usize, region });
        }
    }
}

/// Memory of the program that peers can reach while this value lives. See [`Context::register`].
#[derive(Debug)]
pub struct RegisteredMemory {
    context: Context,
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the address is only named to the context, under its lock.
unsafe impl Send for RegisteredMemory {}
// SAFETY: nothing can be done with it but to ask what it names.
unsafe impl Sync for RegisteredMemory {}

impl RegisteredMemory {
    pub(crate) fn new(context: &Context, base: NonNull<u8>, len: usize) -> Self {
        Self { context: context.clone(), base, len }
    }

    /// The name of this memory for other tasks.
    pub fn remote(&self) -> RemoteMemory {
        RemoteMemory { task: self.context.task(), addr: self.base.addr().get() as u64, len: self.len as u64 }
    }
}

impl Drop for RegisteredMemory {
    fn drop(&mut self) {
        if !self.context.is_of_this_process() {
            return;
        }
        self.context.locked().remove_region(self.base.as_ptr(), self.len);
    }
}

fn heap_layout(len: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(len, 64).ok()
}

fn heap(len: usize) -> Result<(NonNull<u8>, Owner)> {
    let refused = || Error::MemoryExhausted { what: "memory for peers", bytes: len };
    let layout = heap_layout(len).ok_or_else(refused)?;
    // SAFETY: the layout has a size above 0.
    let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or_else(refused)?;
    Ok((base, Owner::Heap(layout)))
}

fn exhausted(e: &TransportError, len: usize) -> Error {
    tracing::debug!("allocation refused: {e}");
    match e {
        TransportError::Exhausted(what) => Error::SharedMemory { what: what.clone(), source: None },
        _ => Error::MemoryExhausted { what: "memory for peers", bytes: len },
    }
}

impl Memory {
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes: never.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// First byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The name of this memory for other tasks.
    pub fn remote(&self) -> RemoteMemory {
        RemoteMemory { task: self.context.task(), addr: self.base.addr().get() as u64, len: self.len as u64 }
    }

    /// Copies `bytes` into the memory at `offset`.
    ///
    /// # Panics
    /// The range exceeds the memory.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: in range; the memory is never borrowed, and racing peers leave some mixture of
        // bytes.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.base.as_ptr().add(offset), bytes.len()) };
    }

    /// Copies bytes out of the memory, from `offset` on.
    ///
    /// # Panics
    /// The range exceeds the memory.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.check(offset, into.len());
        // SAFETY: in range; the memory is never borrowed, and racing peers leave some mixture of
        // bytes.
        unsafe { std::ptr::copy(self.base.as_ptr().add(offset), into.as_mut_ptr(), into.len()) };
    }

    /// The 64-bit variable at `offset`, for the processor's atomics; peers' atomics act on it too.
    ///
    /// # Panics
    /// The variable exceeds the memory or is misaligned.
    pub fn atomic_u64(&self, offset: usize) -> &AtomicU64 {
        self.check(offset, 8);
        assert!(offset.is_multiple_of(8), "offset {offset} of a 64-bit variable is not a multiple of 8");
        // SAFETY: in range, aligned, and atomics tolerate any other atomic access.
        unsafe { &*self.base.as_ptr().add(offset).cast() }
    }

    /// The 32-bit variable at `offset`.
    ///
    /// # Panics
    /// The variable exceeds the memory or is misaligned.
    pub fn atomic_u32(&self, offset: usize) -> &AtomicU32 {
        self.check(offset, 4);
        assert!(offset.is_multiple_of(4), "offset {offset} of a 32-bit variable is not a multiple of 4");
        // SAFETY: in range, aligned, and atomics tolerate any other atomic access.
        unsafe { &*self.base.as_ptr().add(offset).cast() }
    }

    #[track_caller]
    fn check(&self, offset: usize, len: usize) {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(inside, "{len} bytes at {offset} do not lie within memory of {} bytes", self.len);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if !self.context.is_of_this_process() {
            // The memory is the parent's, which still uses it.
            return;
        }
        let mut locked = self.context.locked();
        locked.remove_region(self.base.as_ptr(), self.len);
        let state = &mut *locked;
        match self.region {
            Owner::Transport(index, id) => {
                if let Some(link) = state.links.open.get_mut(index) {
                    // SAFETY: the identifier came from this link and is released once.
                    unsafe { link.mem_release(id) };
                }
            }
            // SAFETY: allocated with this layout, freed once; no region names it any more, so no
            // peer's message can.
            Owner::Heap(layout) => unsafe { std::alloc::dealloc(self.base.as_ptr(), layout) },
        }
    }
}
