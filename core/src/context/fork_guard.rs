//! Knowing that this process is still the one that initialised the context.

use crate::error::{Error, Result};
#[cfg(not(miri))]
use rustix::mm::{Advice, madvise};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// A word that the kernel zeroes in forked children.
///
/// A child has none of its parent's threads, shares the parent's rings and sockets, and would
/// corrupt them; with this, every call finds out for the price of one load.
pub(crate) struct ForkGuard {
    page: NonNull<u32>,
    owner: u32,
}

const PAGE: usize = 4096;

// SAFETY: the page is written before it is shared and only read afterwards.
unsafe impl Send for ForkGuard {}
// SAFETY: threads only read the page.
unsafe impl Sync for ForkGuard {}

impl ForkGuard {
    pub(crate) fn new() -> Result<Self> {
        let failed = |source: rustix::io::Errno| Error::System {
            what: "mapping the page that tells a forked child apart",
            source: source.into(),
        };
        // SAFETY: a fresh anonymous mapping touches nobody's memory.
        let page = unsafe {
            mmap_anonymous(std::ptr::null_mut(), PAGE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
        .map_err(failed)?;
        #[cfg(not(miri))]
        // SAFETY: the range is the mapping just made.
        if let Err(e) = unsafe { madvise(page, PAGE, Advice::LinuxWipeOnFork) } {
            tracing::debug!("no wipe-on-fork memory: {e}; a forked child is not told apart");
        }
        let page = NonNull::new(page.cast::<u32>()).ok_or_else(|| failed(rustix::io::Errno::NOMEM))?;
        // SAFETY: writable and ours alone.
        unsafe { page.write(1) };
        Ok(Self { page, owner: std::process::id() })
    }

    /// Whether this is the process that made the guard.
    #[inline(always)]
    pub(crate) fn here(&self) -> bool {
        // SAFETY: mapped as long as self lives; volatile because the kernel changes it across fork.
        unsafe { self.page.as_ptr().read_volatile() == 1 }
    }

    /// The process that made the guard.
    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }
}

impl Drop for ForkGuard {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody reads it any more.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), PAGE) };
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn the_maker_is_here_and_a_forked_child_is_not() {
        let guard = ForkGuard::new().unwrap();
        assert!(guard.here());
        // SAFETY: the child only reads memory and exits without running destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let code = if guard.here() { 1 } else { 0 };
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
    }
}
