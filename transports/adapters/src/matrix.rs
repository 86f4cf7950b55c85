//! The availability matrix: which adapters are up. One page, which the daemon writes and everybody
//! else can only read; to look at it is to load a word.
//!
//! The guide calls it the Network Availability Matrix.

use crate::memory::Memory;
use lapis_core::sync::{AtomicU32, AtomicU64, Ordering};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of the matrix.
const BYTES: usize = 4096;
/// The most adapters that it has room for.
pub const ADAPTERS: usize = 64;

const UP: u32 = 1;
const SILENT: u32 = 2;

#[repr(C)]
struct Page {
    changes: AtomicU64,
    /// Bits: [`UP`], [`SILENT`].
    states: [AtomicU32; ADAPTERS],
    /// The longest datagram at present, 0: as when the window was opened.
    rooms: [AtomicU32; ADAPTERS],
    /// Grow when a next hop may be another one.
    hops: [AtomicU32; ADAPTERS],
}

const _: () = assert!(size_of::<Page>() <= BYTES);

/// The daemon's end.
#[derive(Debug)]
pub struct Writer {
    memory: Memory,
    file: OwnedFd,
}

impl Writer {
    /// A matrix in which every adapter is down.
    ///
    /// # Errors
    /// Memory or descriptors are short, or the kernel can't seal memory against others' writing
    /// (Linux 5.1 can).
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("lapis-availability", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, BYTES as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        let memory = Memory::map(&file, BYTES)?;
        // From here on nobody can map it to write.
        fcntl_add_seals(&file, SealFlags::FUTURE_WRITE | SealFlags::SEAL)?;
        Ok(Self { memory, file })
    }

    fn page(&self) -> &Page {
        // SAFETY: the memory is long enough and aligned; it holds atomics only.
        unsafe { &*self.memory.base().cast() }
    }

    /// Says whether the adapter of this number is up.
    pub fn set(&self, adapter: usize, up: bool) {
        self.set_bit(adapter, UP, up);
    }

    /// Says whether nobody answers at the adapter's network whom tasks look for there.
    pub fn set_silent(&self, adapter: usize, silent: bool) {
        self.set_bit(adapter, SILENT, silent);
    }

    fn set_bit(&self, adapter: usize, bit: u32, on: bool) {
        let page = self.page();
        if let Some(state) = page.states.get(adapter) {
            let others = state.load(Ordering::Relaxed) & !bit;
            // SYNC: pairs with the Acquire load of `Reader::changes`.
            state.store(others | if on { bit } else { 0 }, Ordering::Release);
            page.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Says how long a datagram of the adapter may be at present.
    pub fn set_room(&self, adapter: usize, room: u32) {
        let page = self.page();
        if let Some(word) = page.rooms.get(adapter) {
            // SYNC: pairs with the Acquire load of `Reader::changes`.
            word.store(room, Ordering::Release);
            page.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Says that datagrams of the adapter may have to go another way.
    pub fn change_hops(&self, adapter: usize) {
        let page = self.page();
        if let Some(word) = page.hops.get(adapter) {
            // SYNC: pairs with the Acquire load of `Reader::changes`.
            word.fetch_add(1, Ordering::Release);
            page.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// What readers map.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What everybody else sees.
#[derive(Debug)]
pub struct Reader(Memory);

impl Reader {
    /// Maps the matrix.
    ///
    /// # Errors
    /// It isn't one, or can't be mapped.
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        Memory::map_readable(file, BYTES).map(Self)
    }

    fn page(&self) -> &Page {
        // SAFETY: the memory is long enough and aligned; it holds atomics only.
        unsafe { &*self.0.base().cast() }
    }

    /// Grows whenever something changes.
    #[inline]
    pub fn changes(&self) -> u64 {
        // SYNC: pairs with the increment in `Writer::set_bit`.
        self.page().changes.load(Ordering::Acquire)
    }

    /// Whether the adapter of this number is up.
    #[inline]
    pub fn is_up(&self, adapter: usize) -> bool {
        self.has_bit(adapter, UP)
    }

    /// Whether nobody answers at the adapter's network whom tasks look for there. Windows of this
    /// host reach each other nevertheless.
    pub fn is_silent(&self, adapter: usize) -> bool {
        self.has_bit(adapter, SILENT)
    }

    #[inline]
    fn has_bit(&self, adapter: usize, bit: u32) -> bool {
        // SYNC: pairs with the Release store in `Writer::set_bit`.
        self.page().states.get(adapter).is_some_and(|state| state.load(Ordering::Acquire) & bit != 0)
    }

    /// How long a datagram of the adapter may be at present; 0: as when the window was opened.
    pub fn room(&self, adapter: usize) -> u32 {
        // SYNC: pairs with the Release store in `Writer::set_room`.
        self.page().rooms.get(adapter).map_or(0, |room| room.load(Ordering::Acquire))
    }

    /// Another number when next hops of the adapter may have changed.
    pub fn hops(&self, adapter: usize) -> u32 {
        // SYNC: pairs with the increment in `Writer::change_hops`.
        self.page().hops.get(adapter).map_or(0, |hops| hops.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_changes_and_can_make_none() {
        let writer = Writer::new().expect("memory");
        let reader = Reader::map(writer.file()).expect("maps");
        let before = reader.changes();
        assert!(!reader.is_up(3));
        writer.set(3, true);
        assert!(reader.is_up(3) && !reader.is_up(4) && reader.changes() > before);
        writer.set_silent(3, true);
        assert!(reader.is_up(3) && reader.is_silent(3) && !reader.is_silent(4));
        writer.set(3, false);
        writer.set(ADAPTERS, true);
        assert!(!reader.is_up(3) && reader.is_silent(3) && !reader.is_up(ADAPTERS));
        let (before, hops) = (reader.changes(), reader.hops(3));
        writer.set_room(3, 1400);
        writer.change_hops(3);
        assert_eq!((reader.room(3), reader.room(4), reader.changes()), (1400, 0, before + 2));
        assert_ne!(reader.hops(3), hops);
        Memory::map(writer.file(), BYTES).expect_err("nobody else writes");
    }
}
