//! Segments: one anonymous file per task, mapped by its local peers.

use crate::address::{Address, Place};
use crate::layout::{self, Header, MAGIC, NONCE_AT, RING_AT, VERSION};
use crate::sys::{self, io_error};
use lapis_core::sync::Ordering;
use lapis_core::transport::lane::{Area, RingLayout, Slot};
use lapis_core::transport::{Host, TransportError};
use lapis_lanes::Control;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A mapped segment. Unmapped when dropped.
pub(crate) struct Segment {
    base: *mut u8,
    mapped: usize,
    ring_layout: RingLayout,
}

// SAFETY: a mapping may be used from any thread; what it holds is atomics and bytes guarded by the
// ring protocols.
unsafe impl Send for Segment {}
// SAFETY: what a mapping holds is atomics, and bytes that the rings' protocols guard.
unsafe impl Sync for Segment {}

/// Smallest heap that a shortage of address space may leave.
const LEAST_HEAP: usize = 1 << 20;

/// What a segment's file is called, and how the kernel shows that.
const NAME: &CStr = c"lapis-shm";
const MEMORY_FILE: &str = "/memfd:lapis-shm";

impl Segment {
    /// Makes this task's own segment, with a heap of `heap` bytes or, if address space is short,
    /// less.
    pub(crate) fn create(
        host: &Host,
        task: u32,
        tasks: u32,
        heap: usize,
    ) -> Result<(Self, OwnedFd), TransportError> {
        let mut heap = heap.next_multiple_of(page());
        let mut ring = layout::ring_for(tasks, usize::MAX);
        if let Some(limit) = sys::limit(libc::RLIMIT_AS) {
            // Every peer's segment has to fit as well; assume that theirs are as long as ours.
            let used = address_space();
            let share = limit.saturating_sub(used) / 2 / (u64::from(tasks.clamp(1, 65)) + 1);
            let share = usize::try_from(share).unwrap_or(usize::MAX);
            ring = layout::ring_for(tasks, share.saturating_sub(LEAST_HEAP));
            let fits = share.saturating_sub(layout::heap_at(ring));
            if fits < heap {
                let reduced = (fits & !(page() - 1)).max(LEAST_HEAP.min(heap));
                host.warn(format_args!(
                    "address space is limited to {limit} bytes (RLIMIT_AS) of which {used} are used: the heap for \
                     direct access shrinks from {heap} to {reduced} bytes"
                ));
                heap = reduced;
            }
        }
        if let Some(limit) = sys::limit(libc::RLIMIT_FSIZE) {
            heap = heap_within(limit, layout::heap_at(ring), heap, host)?;
        }
        loop {
            let total = layout::heap_at(ring) + heap;
            let made = sys::sealed_memfd(NAME, total as u64)
                .and_then(|fd| sys::map(fd.as_raw_fd(), total).map(|base| (fd, base)));
            match made {
                Ok((fd, base)) => {
                    let segment = Self { base, mapped: total, ring_layout: RingLayout::of(ring) };
                    segment.publish(task, total);
                    return Ok((segment, fd));
                }
                Err(e) if e.raw_os_error() == Some(libc::ENOMEM) && heap > LEAST_HEAP => {
                    let reduced = (heap / 2).next_multiple_of(page());
                    host.warn(format_args!("no room for a heap of {heap} bytes ({e}); trying {reduced}"));
                    heap = reduced;
                }
                Err(e) => return Err(refused("make the segment", total, &e)),
            }
        }
    }

    fn publish(&self, task: u32, total: usize) {
        let header = self.header();
        header.version.store(VERSION, Ordering::Relaxed);
        header.task.store(task, Ordering::Relaxed);
        header.total.store(total as u64, Ordering::Relaxed);
        header.base.store(self.base as u64, Ordering::Relaxed);
        header.ring.store(self.ring_layout.size as u64, Ordering::Relaxed);
        header.nonce.store(sys::random() | 1, Ordering::Relaxed);
        // SYNC: pairs with the Acquire load in `attach`; the rest of the header is there.
        header.magic.store(MAGIC, Ordering::Release);
    }

    /// Opens the segment of a peer by its address. `None`: its process has ended, or has closed it.
    pub(crate) fn open(
        host: &Host,
        address: &Address,
        place: &Place,
    ) -> Result<Option<Self>, TransportError> {
        let path = format!("/proc/{}/fd/{}", place.pid, place.file);
        // Before it is opened: the number may be a socket's, a device's or another file's by now.
        if std::fs::read_link(&path).is_ok_and(|file| !file.to_string_lossy().starts_with(MEMORY_FILE)) {
            return Ok(None);
        }
        let fd = match std::fs::OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => OwnedFd::from(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(libc::ESRCH) => {
                return Ok(None);
            }
            // Of a process that is ending, /proc shows the descriptors to root only.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied && sys::has_ended(place.pid) => {
                return Ok(None);
            }
            Err(e) => {
                let what = format!("open the memory of task {}, {path}", address.task);
                let error = io_error(&what, &e);
                return Err(match e.kind() {
                    io::ErrorKind::PermissionDenied => TransportError::Io(format!(
                        "cannot {what}: {e}; set LAPIS_SHM_CONTACT=start in all tasks, so that each hands out its own"
                    )),
                    _ => error,
                });
            }
        };
        // The number may be another process's by now, or another file's: the nonce tells.
        let nonce = sys::sealed_len(fd.as_raw_fd()).and_then(|_| sys::read_word(fd.as_raw_fd(), NONCE_AT));
        if !nonce.is_ok_and(|nonce| nonce == place.nonce) {
            return Ok(None);
        }
        Self::attach(host, fd.as_raw_fd(), address.task, address.total).map(Some)
    }

    /// Maps the segment of a peer, which says that it is `task` and `total` bytes long. Without
    /// enough address space the heap is left out.
    pub(crate) fn attach(host: &Host, fd: RawFd, task: u32, total: u64) -> Result<Self, TransportError> {
        let foreign = |what: &str| TransportError::Io(format!("the segment of task {task}: {what}"));
        let len = sys::sealed_len(fd).map_err(|e| foreign(&e.to_string()))?;
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        // Read, not mapped: how much is to be mapped without the heap depends on it.
        let ring = sys::read_word(fd, RING_AT).map_err(|e| foreign(&e.to_string()))?;
        if !lapis_lanes::is_ring(ring) {
            return Err(foreign(&format!(
                "its header says that data rings have {ring} bytes: do the tasks run different versions of lapis-shm?"
            )));
        }
        let ring_layout = RingLayout::of(ring as usize);
        let heap_at = layout::heap_at(ring_layout.size);
        if len != total as u64 || total < heap_at {
            return Err(foreign(&format!("has {len} bytes where {total} were announced")));
        }
        let (base, mapped) = match sys::map(fd, total) {
            Ok(base) => (base, total),
            Err(e) if e.raw_os_error() == Some(libc::ENOMEM) => {
                let base = sys::map(fd, heap_at)
                    .map_err(|e| refused(&format!("map the lanes of task {task}"), heap_at, &e))?;
                host.warn(format_args!(
                    "no address space for the heap of task {task} ({} bytes, {e}): its memory is reached by messages, \
                     not directly",
                    total - heap_at
                ));
                (base, heap_at)
            }
            Err(e) => return Err(refused(&format!("map the segment of task {task}"), total, &e)),
        };
        let segment = Self { base, mapped, ring_layout };
        let header = segment.header();
        // SYNC: pairs with the Release store in `publish`.
        let magic = header.magic.load(Ordering::Acquire);
        let version = header.version.load(Ordering::Relaxed);
        if magic != MAGIC || version != VERSION || header.task.load(Ordering::Relaxed) != task {
            return Err(foreign(&format!(
                "its header says magic {magic:#x}, layout {version}, not {MAGIC:#x}, {VERSION}: the tasks run \
                 different versions of lapis-shm"
            )));
        }
        Ok(segment)
    }

    /// How its data rings are divided.
    pub(crate) fn ring_layout(&self) -> RingLayout {
        self.ring_layout
    }

    /// Where in it the heap begins.
    pub(crate) fn heap_at(&self) -> usize {
        layout::heap_at(self.ring_layout.size)
    }

    /// The pointers of lane `index`, below [`LANES`](layout::LANES).
    pub(crate) fn lane(&self, index: usize) -> (*const Slot, *const Control, Area) {
        debug_assert!(index < layout::LANES);
        // SAFETY: it is mapped, and the lane exists.
        unsafe { layout::lane(self.base, index, self.ring_layout.size) }
    }

    /// Where it is mapped.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Its header: atomics only, so that a shared reference is sound whatever peers store.
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping is longer than a header, page-aligned and lives as long as `self`.
        unsafe { &(*self.base.cast::<layout::Fixed>()).header }
    }

    /// The heap as mapped here: begin and length (0 when it is not mapped).
    pub(crate) fn heap(&self) -> (*mut u8, usize) {
        let at = self.heap_at();
        // SAFETY: that is no more than the mapping's length.
        (unsafe { self.base.add(at) }, self.mapped - at)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by us, and everything that points into it has gone or is
        // never used again.
        unsafe { libc::munmap(self.base.cast(), self.mapped) };
    }
}

/// A heap that leaves the segment within the limit on the length of files: beyond it, making the
/// segment would end the process by SIGXFSZ.
fn heap_within(limit: u64, before: usize, heap: usize, host: &Host) -> Result<usize, TransportError> {
    let fits = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(before) & !(page() - 1);
    if fits < LEAST_HEAP.min(heap) {
        return Err(TransportError::Exhausted(format!(
            "files are limited to {limit} bytes (RLIMIT_FSIZE), and the memory that tasks share is a file of at least {} \
             bytes: raise the limit (`ulimit -f`)",
            before + LEAST_HEAP.min(heap)
        )));
    }
    if fits < heap {
        host.warn(format_args!(
            "files are limited to {limit} bytes (RLIMIT_FSIZE, `ulimit -f`): the heap for direct access shrinks from \
             {heap} to {fits} bytes"
        ));
    }
    Ok(fits.min(heap))
}

/// Size of a page.
pub(crate) fn page() -> usize {
    // SAFETY: a call without pointers.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Bytes of address space in use.
fn address_space() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split_whitespace().next().and_then(|p| p.parse().ok()).unwrap_or(0);
    pages * page() as u64
}

fn refused(what: &str, len: usize, e: &io::Error) -> TransportError {
    let limit = |r| sys::limit(r).map_or("unlimited".to_owned(), |l| l.to_string());
    let text = format!(
        "cannot {what} of {len} bytes: {e} (address space limit RLIMIT_AS {}, {} used; descriptor limit RLIMIT_NOFILE \
         {}); raise the limit or lower LAPIS_SHM_HEAP",
        limit(libc::RLIMIT_AS),
        address_space(),
        limit(libc::RLIMIT_NOFILE)
    );
    match e.raw_os_error() {
        Some(libc::ENOMEM | libc::EMFILE | libc::ENFILE) => TransportError::Exhausted(text),
        _ => TransportError::Io(text),
    }
}
