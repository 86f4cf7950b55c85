//! The kernel's rings: memory that it shares with the process, where one of the two writes entries
//! and the other one takes them out.

use crate::memory::Memory;
use lapis_core::sync::prefetch::before_reading;
use lapis_core::sync::{AtomicU32, Ordering, fence};
use rustix::net::xdp::{XdpDesc, XdpRingOffset};
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd;

/// What a ring's flags say: the kernel sleeps until it is called.
const NEED_WAKEUP: u32 = 1;

/// One of the rings of an AF_XDP socket, with entries of type `T`. Positions run on and wrap.
#[derive(Debug)]
pub struct Ring<T> {
    memory: Memory,
    at: XdpRingOffset,
    mask: u32,
    entries: PhantomData<T>,
}

/// Entries of the rings for frames that come and go.
pub type Descriptor = XdpDesc;

impl<T: Copy> Ring<T> {
    /// Maps a ring of `entries` entries, a power of two, of this socket.
    ///
    /// # Errors
    /// The socket has no such ring, or another one.
    pub fn map(socket: impl AsFd, which: u64, at: XdpRingOffset, entries: u32) -> io::Result<Self> {
        if !entries.is_power_of_two() {
            let why = format!("a ring can't have {entries} entries");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let len = at.desc as usize + entries as usize * size_of::<T>();
        let memory = Memory::map_ring(socket, len, which)?;
        Ok(Self { memory, at, mask: entries - 1, entries: PhantomData })
    }

    /// Has processes that this one makes by fork(2) not map it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hide_from_children(&self) -> io::Result<()> {
        self.memory.hide_from_children()
    }

    fn word(&self, at: u64) -> &AtomicU32 {
        // SAFETY: the kernel laid the word out within the ring's mapping, aligned; both sides use
        // it as an atomic.
        unsafe { &*self.memory.base().add(at as usize).cast() }
    }

    fn place(&self, position: u32) -> *mut T {
        // SAFETY: the masked position is one of the entries that were mapped.
        unsafe {
            self.memory.base().add(self.at.desc as usize).cast::<T>().add((position & self.mask) as usize)
        }
    }

    /// Entries that it holds.
    pub fn capacity(&self) -> u32 {
        self.mask + 1
    }

    /// Where the next entry is written.
    #[inline]
    pub fn producer(&self) -> u32 {
        // SYNC: pairs with the kernel's release of the entries that it wrote, or with `publish` of
        // whoever shares the ring.
        self.word(self.at.producer).load(Ordering::Acquire)
    }

    /// Where the next entry is taken out.
    #[inline]
    pub fn consumer(&self) -> u32 {
        // SYNC: pairs with the kernel's release after it has read entries, or with `release` of
        // whoever shares the ring.
        self.word(self.at.consumer).load(Ordering::Acquire)
    }

    /// Entries that are in it.
    #[inline]
    pub fn len(&self) -> u32 {
        self.producer().wrapping_sub(self.consumer()).min(self.capacity())
    }

    /// Whether nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes an entry that nobody sees before [`publish`](Self::publish). For its producer, at
    /// most a capacity after the consumer.
    #[inline]
    pub fn write(&self, position: u32, entry: T) {
        // SAFETY: the place is within the mapping and aligned; the kernel doesn't read it before it
        // is published.
        unsafe { self.place(position).write_volatile(entry) }
    }

    /// Shows everything before this position to the other side.
    #[inline]
    pub fn publish(&self, position: u32) {
        // SYNC: the kernel reads the producer with acquire and then the entries.
        self.word(self.at.producer).store(position, Ordering::Release);
    }

    /// The entry at a position between consumer and producer.
    #[inline]
    pub fn read(&self, position: u32) -> T {
        // SAFETY: the place is within the mapping and aligned; entries are plain numbers.
        unsafe { self.place(position).read_volatile() }
    }

    /// The entry at a position is read soon.
    #[inline(always)]
    pub fn prefetch(&self, position: u32) {
        before_reading(self.place(position).cast());
    }

    /// Gives everything before this position back to the other side.
    #[inline]
    pub fn release(&self, position: u32) {
        // SYNC: the kernel reads the consumer with acquire before it writes entries again.
        self.word(self.at.consumer).store(position, Ordering::Release);
    }

    /// Whether the kernel must be called to look at it.
    #[inline]
    pub fn must_wake(&self) -> bool {
        self.at.flags.is_some_and(|at| {
            // SYNC: pairs with a driver's setting the flag and looking at the ring once more:
            // either that sees the position that was published before, or this sees the flag.
            fence(Ordering::SeqCst);
            self.word(at).load(Ordering::Relaxed) & NEED_WAKEUP != 0
        })
    }
}
