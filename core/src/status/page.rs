//! The page itself: how it is laid out, made, and written.

use crate::stats::Statistics;
use crate::sync::placed::{AtomicU32, AtomicU64};
use rustix::fs::{MemfdFlags, SealFlags};
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

/// The file's name, as `/proc/PID/fd` shows it.
pub(crate) const NAME: &str = "lapis-status";

/// "lapisST" and the layout's number: readers take no other.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"lapisST\x03");

/// Length of the file.
pub(crate) const BYTES: usize = 4096;

/// No task.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Waits, outstanding operations and rails that are shown; more are counted only.
pub(crate) const WAITS: usize = 8;
pub(crate) const OPEN: usize = 16;
pub(crate) const RAILS: usize = 8;

/// One wait of a thread.
#[repr(C)]
pub(crate) struct WaitSlot {
    /// When it began, by [`monotonic_ns`]; 0: no wait.
    pub(crate) since: AtomicU64,
    /// The counter's address; 0 for none.
    pub(crate) counter: AtomicU64,
    pub(crate) kind: AtomicU32,
    pub(crate) peer: AtomicU32,
    /// Values of the counter: waited for, and when it was last looked at.
    pub(crate) wanted: AtomicU32,
    pub(crate) value: AtomicU32,
    pub(crate) thread: AtomicU32,
    unused: AtomicU32,
}

/// An operation whose answer is outstanding.
#[repr(C)]
pub(crate) struct OpenSlot {
    pub(crate) peer: AtomicU32,
    pub(crate) kind: AtomicU32,
}

/// One path of a datagram link, or one rail of another transport, all peers together.
#[repr(C)]
pub(crate) struct RailSlot {
    pub(crate) name: [AtomicU64; 2],
    pub(crate) number: AtomicU32,
    /// Peers that it leads to, and those of them that don't acknowledge on it.
    pub(crate) peers: AtomicU32,
    pub(crate) suspects: AtomicU32,
    /// The first one of these.
    pub(crate) suspect: AtomicU32,
    /// Datagrams and bytes that are not acknowledged.
    pub(crate) open: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    /// What the windows allow, and what the peers are ready to take, in bytes.
    pub(crate) window: AtomicU64,
    pub(crate) credit: AtomicU64,
    /// Probe timers that ran out since the last news.
    pub(crate) timeouts: AtomicU64,
    /// Of rails that are counted by their transport: 1 if so, 2 if it carries, too.
    pub(crate) counted: AtomicU64,
    /// What it has carried, in the order of `RailTraffic`.
    pub(crate) traffic: [AtomicU64; 6],
}

/// What others may read.
#[repr(C)]
pub(crate) struct Page {
    pub(crate) magic: AtomicU64,
    pub(crate) process: AtomicU32,
    pub(crate) task: AtomicU32,
    pub(crate) tasks: AtomicU32,
    pub(crate) context: AtomicU32,
    /// The job's identity, cut.
    pub(crate) job: [AtomicU64; 8],
    pub(crate) began: AtomicU64,
    /// When the rest was told last.
    pub(crate) told: AtomicU64,
    /// Threads in a call that polls.
    pub(crate) polling: AtomicU32,
    pub(crate) last_from: AtomicU32,
    /// 1 if arrivals are served while the program computes.
    pub(crate) interrupts: AtomicU32,
    unused: AtomicU32,
    pub(crate) last_at: AtomicU64,
    /// The same for messages, puts and the like, without steps of barriers and answers.
    pub(crate) message_at: AtomicU64,
    pub(crate) message_from: AtomicU32,
    unused_too: AtomicU32,
    /// No room for what is to be sent: since when, when that was last so, and for whom.
    pub(crate) room_since: AtomicU64,
    pub(crate) room_at: AtomicU64,
    pub(crate) room_peer: AtomicU32,
    /// The last compare-and-swap that failed: whose variable, where, how many so far.
    pub(crate) swap_peer: AtomicU32,
    pub(crate) swap_address: AtomicU64,
    pub(crate) swaps_failed: AtomicU64,
    /// Bytes that no packet carried: [network, shared memory, itself] × [sent, received].
    pub(crate) direct: [AtomicU64; 6],
    /// Repetitions as the packet engines count them.
    pub(crate) duplicates: AtomicU64,
    pub(crate) retransmissions: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Waits told so far, and how long those that ended took, in nanoseconds.
    pub(crate) waits_begun: AtomicU64,
    pub(crate) waited_ns: AtomicU64,
    pub(crate) waits: [WaitSlot; WAITS],
    /// How many operations are outstanding.
    pub(crate) open: AtomicU64,
    pub(crate) opened: [OpenSlot; OPEN],
    /// Tasks that have not confirmed all messages to them, or not answered all operations.
    pub(crate) owing: AtomicU64,
    pub(crate) owers: [AtomicU32; OPEN],
    /// Tasks that are down without a farewell.
    pub(crate) down: AtomicU64,
    pub(crate) downs: [AtomicU32; OPEN],
    pub(crate) rails: [RailSlot; RAILS],
    /// What the context counts with, at the end: its fields are plain words.
    pub(crate) statistics: std::cell::UnsafeCell<Statistics>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Page>() <= BYTES);

/// Nanoseconds of the clock that all processes of a machine share.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Not rustix, whose way to the kernel's shared code valgrind does not survive.
    // SAFETY: the time is valid for writes; the clock is there on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A context's page, and the file that shows it. Where the system gives no file, memory that nobody
/// else can see takes its place.
pub(crate) struct StatusPage {
    page: NonNull<Page>,
    _file: Option<OwnedFd>,
}

// SAFETY: the page's fields are atomics, but for the statistics, which are handed out under the
// lock only (see `Counts`).
unsafe impl Send for StatusPage {}
// SAFETY: shared, the page is read and written as atomics only.
unsafe impl Sync for StatusPage {}

impl StatusPage {
    /// A page for this context, with what does not change filled in.
    pub(crate) fn new(job: &str, task: u32, tasks: u32, context: u32) -> std::io::Result<Self> {
        let file = file().map_err(|e| tracing::debug!("nobody sees this task's status: {e}")).ok();
        let (kind, descriptor) = match &file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // Through the C library, whose calls ThreadSanitizer sees: it must not take this page for
        // that of a former context, which lay in the same place.
        // SAFETY: a new mapping touches nobody's memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, rights, kind, descriptor, 0) };
        if memory == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let page = NonNull::new(memory.cast::<Page>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        if let Some(file) = &file {
            // After the mapping, which may still be written.
            let _ = rustix::fs::fcntl_add_seals(file, SealFlags::FUTURE_WRITE);
        }
        let this = Self { page, _file: file };
        use crate::sync::Ordering::Relaxed;
        this.process.store(std::process::id(), Relaxed);
        this.task.store(task, Relaxed);
        this.tasks.store(tasks, Relaxed);
        this.context.store(context, Relaxed);
        put_text(&this.job, job);
        for none in [&this.last_from, &this.message_from, &this.room_peer, &this.swap_peer] {
            none.store(NOBODY, Relaxed);
        }
        let now = monotonic_ns();
        this.began.store(now, Relaxed);
        this.told.store(now, Relaxed);
        // SYNC: Release: who reads the magic number finds the rest.
        this.magic.store(MAGIC, crate::sync::Ordering::Release);
        Ok(this)
    }

    /// What the context counts with.
    pub(crate) fn counts(&self) -> Counts {
        // SAFETY: the page is mapped; the field is taken by its address alone.
        Counts(unsafe { NonNull::new_unchecked((*self.page.as_ptr()).statistics.get()) })
    }
}

impl Deref for StatusPage {
    type Target = Page;

    #[inline(always)]
    fn deref(&self) -> &Page {
        // SAFETY: mapped as long as self lives, zeroes are a page, and all but the cell is atomics.
        unsafe { self.page.as_ref() }
    }
}

impl Drop for StatusPage {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody refers to it any more.
        unsafe { libc::munmap(self.page.as_ptr().cast(), BYTES) };
    }
}

/// The statistics, where the outside can read them. They belong to the state: who has the state
/// has them alone.
pub(crate) struct Counts(NonNull<Statistics>);

// SAFETY: a part of the state, which the lock guards.
unsafe impl Send for Counts {}

impl Deref for Counts {
    type Target = Statistics;

    #[inline(always)]
    fn deref(&self) -> &Statistics {
        // SAFETY: the page lives as long as the context's shared part, which the state is in; other
        // processes only read.
        unsafe { self.0.as_ref() }
    }
}

impl std::ops::DerefMut for Counts {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Statistics {
        // SAFETY: the page lives as long as the context's shared part; `self` is borrowed alone,
        // and there is one `Counts` of a page.
        unsafe { self.0.as_mut() }
    }
}

fn file() -> rustix::io::Result<OwnedFd> {
    if cfg!(miri) {
        // It knows no such files.
        return Err(rustix::io::Errno::NOSYS);
    }
    let file = rustix::fs::memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&file, BYTES as u64)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
    Ok(file)
}

/// Writes as much of a text as there is room for; the rest is zeroes.
pub(crate) fn put_text(words: &[AtomicU64], text: &str) {
    let mut bytes = text.bytes();
    for word in words {
        let mut eight = [0; 8];
        eight.iter_mut().zip(&mut bytes).for_each(|(to, byte)| *to = byte);
        word.store(u64::from_le_bytes(eight), crate::sync::Ordering::Relaxed);
    }
}
