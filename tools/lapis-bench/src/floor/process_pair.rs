//! Two forked processes, each on a core, over one shared mapping.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use anyhow::{Context, Result, bail};
use lapis_bench::pin;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Longer than any floor takes; a hung pair is killed by the kernel, and the runner names it.
pub(super) const WATCHDOG_SECONDS: u32 = 60;

/// Two cache lines each: the prefetcher fetches lines in pairs.
#[repr(align(128))]
pub(super) struct Line(pub(super) AtomicU64);

/// A zeroed anonymous mapping that forked children share.
pub(super) struct Shared {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread; what is in it is accessed through
// atomics or by the protocol of the floor that uses it.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps so many bytes and touches each page, so that no page fault falls into a measurement.
    pub(super) fn new(length: usize) -> Result<Self> {
        let length = length.next_multiple_of(4096);
        let (prot, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE);
        // SAFETY: a fresh anonymous mapping at a place of the kernel's choice touches nothing of
        // ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, prot, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error())
                .with_context(|| format!("cannot map {length} shared bytes"));
        }
        let start = NonNull::new(start.cast()).context("mmap returned address 0")?;
        Ok(Self { start, length })
    }

    /// The line with this index.
    pub(super) fn line(&self, index: usize) -> &AtomicU64 {
        assert!((index + 1) * size_of::<Line>() <= self.length, "line {index} of {} bytes", self.length);
        // SAFETY: in bounds as asserted, aligned as the mapping starts on a page, zeroed memory is
        // a valid atomic, and lines are accessed as atomics only.
        unsafe { &(*self.start.as_ptr().cast::<Line>().add(index)).0 }
    }

    /// The byte at an offset.
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.length, "offset {offset} of {} bytes", self.length);
        // SAFETY: in bounds as asserted.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mapping, and no reference outlives self.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Runs `partner` in a forked process on the second core while `leader` runs here on the first.
///
/// The partner must end by what the leader tells it through the mapping or a socket. If either
/// hangs, the watchdog ends both.
pub(super) fn run<T>(
    leader: impl FnOnce(libc::pid_t) -> Result<T>,
    partner: impl FnOnce() -> Result<()>,
) -> Result<T> {
    let (here, there) = pin::pair();
    // SAFETY: this program is single-threaded when it forks, so the child may go on as if it were a
    // new program.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error()).context("cannot fork");
    }
    // SAFETY: alarm has no preconditions.
    unsafe { libc::alarm(WATCHDOG_SECONDS) };
    if child == 0 {
        // SAFETY: prctl with these arguments only sets which signal we get when the parent dies.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let code = match pin::to(there).map_err(Into::into).and_then(|()| partner()) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("lapis-bench: partner: {error:#}");
                1
            }
        };
        // SAFETY: ends the child without running the parent's destructors a second time.
        unsafe { libc::_exit(code) };
    }
    let pinned = pin::while_held(here).context("cannot pin to the first core")?;
    let outcome = leader(child);
    drop(pinned);
    if outcome.is_err() {
        // SAFETY: child is our own child and has not been waited for.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    let mut status = 0;
    // SAFETY: status is valid for writes; child is our own.
    unsafe { libc::waitpid(child, &mut status, 0) };
    // SAFETY: has no memory effects; switches the watchdog off.
    unsafe { libc::alarm(0) };
    let value = outcome?;
    if status != 0 {
        bail!("the partner process ended with wait status {status:#x}");
    }
    Ok(value)
}

/// Spins until the line holds something else than `old`, and returns that.
pub(super) fn wait_for_change(line: &AtomicU64, old: u64) -> u64 {
    loop {
        // SYNC: pairs with the Release store of the process that writes this line.
        let value = line.load(Ordering::Acquire);
        if value != old {
            return value;
        }
        std::hint::spin_loop();
    }
}

/// Spins until the line holds `wanted`.
pub(super) fn wait_for(line: &AtomicU64, wanted: u64) {
    // SYNC: pairs with the Release store of the process that writes this line.
    while line.load(Ordering::Acquire) != wanted {
        std::hint::spin_loop();
    }
}
