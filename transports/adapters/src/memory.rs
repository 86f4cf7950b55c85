//! Sealed memory: anonymous files that can't change their length, and mappings of them.
//!
//! The seals matter to whoever maps a file that another process has as well: nobody can shorten it
//! and so end its readers by SIGBUS. Files of huge pages are refused for the same reason: their
//! readers end like that where the system has no huge page left.

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create,
};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// An anonymous file of `len` zero bytes whose length is sealed. `name` is what `/proc` shows.
///
/// # Errors
/// What the system says: most often that descriptors or memory are short.
pub fn sealed(name: &str, len: usize) -> io::Result<OwnedFd> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, len as u64)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

/// What fstatfs(2) says of a file of huge pages: HUGETLBFS_MAGIC.
const OF_HUGE_PAGES: u32 = 0x9584_58f6;

/// A mapped file; unmapped when dropped.
#[derive(Debug)]
pub struct Memory {
    base: *mut u8,
    len: usize,
}

// SAFETY: a mapping may be used from any thread; what lies in it is reached through atomics and
// copies alone.
unsafe impl Send for Memory {}
// SAFETY: shared, it gives its address and length away and nothing else.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps a file of exactly `len` bytes, to read and write.
    ///
    /// # Errors
    /// The file isn't sealed against being shortened, has huge pages or another length, or can't be
    /// mapped.
    pub fn map(file: impl AsFd, len: usize) -> io::Result<Self> {
        Self::map_as(file, len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps a file of exactly `len` bytes, to read.
    ///
    /// # Errors
    /// As for [`map`](Self::map).
    pub fn map_readable(file: impl AsFd, len: usize) -> io::Result<Self> {
        Self::map_as(file, len, ProtFlags::READ)
    }

    /// Maps the first `len` bytes of a ring of the kernel's: which one, the offset says.
    ///
    /// # Errors
    /// There is no such ring, or it is shorter.
    #[cfg(not(loom))]
    pub(crate) fn map_ring(socket: impl AsFd, len: usize, offset: u64) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping replaces nothing.
        let base = unsafe {
            mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags, socket, offset)
        }?;
        Ok(Self { base: base.cast(), len })
    }

    fn map_as(file: impl AsFd, len: usize, protection: ProtFlags) -> io::Result<Self> {
        let refused = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        if !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(refused("the memory is not sealed: somebody could shorten it".to_owned()));
        }
        // Only now: of what has seals the kernel itself tells; no file server delays the answer.
        if fstatfs(&file)?.f_type as u32 == OF_HUGE_PAGES {
            return Err(refused(
                "the memory is of huge pages, of which there may be none to read".to_owned(),
            ));
        }
        let has = fstat(&file)?.st_size;
        if u64::try_from(has) != Ok(len as u64) {
            return Err(refused(format!("the memory has {has} bytes where {len} were announced")));
        }
        // SAFETY: a fresh mapping replaces nothing.
        let base = unsafe {
            mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED | MapFlags::NORESERVE, &file, 0)
        }?;
        Ok(Self { base: base.cast(), len })
    }

    /// Has processes that this one makes by fork(2) not map it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hide_from_children(&self) -> io::Result<()> {
        // SAFETY: the range was mapped by us, and nothing changes about it in this process.
        Ok(unsafe { madvise(self.base.cast(), self.len, Advice::LinuxDontFork) }?)
    }

    /// Where it begins; aligned to a page.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// How long it is, in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this range was mapped by us; what points into it has gone.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sealed_memory_keeps_its_length_and_is_shared() {
        let file = sealed("test", 8192).expect("memory");
        ftruncate(&file, 4096).expect_err("sealed against shrinking");
        ftruncate(&file, 16384).expect_err("sealed against growing");
        fcntl_add_seals(&file, SealFlags::WRITE).expect_err("sealed against seals");
        let (one, other) = (Memory::map(&file, 8192).expect("maps"), Memory::map_readable(&file, 8192));
        // SAFETY: both mappings have 8192 bytes.
        unsafe {
            one.base().add(8191).write_volatile(7);
            assert_eq!(other.expect("maps").base().add(8191).read_volatile(), 7);
        }
    }

    /// No huge page need exist for such a file, nor for a mapping of it.
    #[test]
    fn memory_of_huge_pages_is_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
        let Ok(huge) = memfd_create("test", flags | MemfdFlags::HUGE_2MB) else {
            return eprintln!("SKIPPED: this kernel has no files of huge pages");
        };
        ftruncate(&huge, 2 << 20).expect("grows");
        fcntl_add_seals(&huge, SealFlags::SHRINK).expect("can be sealed");
        let why = Memory::map(&huge, 2 << 20).expect_err("of huge pages").to_string();
        assert!(why.contains("huge pages"), "{why}");
    }

    #[test]
    fn memory_that_could_be_shortened_or_has_another_length_is_refused() {
        let open = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("memory");
        ftruncate(&open, 4096).expect("grows");
        let why = Memory::map(&open, 4096).expect_err("not sealed").to_string();
        assert!(why.contains("not sealed"), "{why}");
        let file = sealed("test", 4096).expect("memory");
        let why = Memory::map(&file, 8192).expect_err("shorter").to_string();
        assert!(why.contains("4096") && why.contains("8192"), "{why}");
    }
}
