//! Thin wrappers of the system calls that this transport makes. Each answers with [`io::Error`].

use lapis_core::transport::TransportError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The result of a call that says −1 on failure.
pub(crate) fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn own(fd: libc::c_long) -> OwnedFd {
    // SAFETY: the kernel has just given us this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd as RawFd) }
}

/// An anonymous file of `len` bytes that can't change its size any more.
pub(crate) fn sealed_memfd(name: &std::ffi::CStr, len: u64) -> io::Result<OwnedFd> {
    // SAFETY: the name is terminated.
    let fd = own(check(unsafe {
        libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING).into()
    })?);
    let raw = fd.as_raw_fd();
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: calls on a descriptor of ours.
    unsafe {
        check(libc::ftruncate(raw, len as libc::off_t).into())?;
        check(libc::fcntl(raw, libc::F_ADD_SEALS, seals).into())?;
    }
    Ok(fd)
}

/// Length of a sealed file; an error if somebody could still shorten it.
pub(crate) fn sealed_len(fd: RawFd) -> io::Result<u64> {
    // SAFETY: `stat` is plain data; calls on a valid descriptor.
    unsafe {
        let seals = check(libc::fcntl(fd, libc::F_GET_SEALS).into())?;
        if seals & libc::c_long::from(libc::F_SEAL_SHRINK) == 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is not sealed"));
        }
        let mut stat: libc::stat = std::mem::zeroed();
        check(libc::fstat(fd, &raw mut stat).into())?;
        Ok(stat.st_size as u64)
    }
}

/// The word at an offset of a file.
pub(crate) fn read_word(fd: RawFd, offset: usize) -> io::Result<u64> {
    let mut word = [0; 8];
    // SAFETY: the buffer has 8 bytes; a call on a valid descriptor.
    let read = check(unsafe { libc::pread(fd, word.as_mut_ptr().cast(), 8, offset as libc::off_t) as _ })?;
    if read == 8 { Ok(u64::from_ne_bytes(word)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Maps the first `len` bytes of a file, shared.
pub(crate) fn map(fd: RawFd, len: usize) -> io::Result<*mut u8> {
    // SAFETY: a fresh mapping replaces nothing.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            fd,
            0,
        )
    };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at.cast()) }
}

/// Gives the pages of a range of a memory file back; they read as zero afterwards.
pub(crate) fn punch(fd: RawFd, at: usize, len: usize) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a call on a descriptor of ours.
    check(unsafe { libc::fallocate(fd, mode, at as libc::off_t, len as libc::off_t).into() }).map(drop)
}

/// Sleeps while `*word == expected`, at most `nanoseconds`.
///
/// # Safety
/// `word` is alive.
pub(crate) unsafe fn futex_wait(word: *const u32, expected: u32, nanoseconds: u64) {
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the caller's promise. Every result (woken, changed, timed out, interrupted) is a
    // return.
    unsafe {
        libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, expected, &raw const time, 0usize, 0);
    }
}

/// Wakes everybody who sleeps on `word`.
///
/// # Safety
/// `word` is alive.
pub(crate) unsafe fn futex_wake(word: *const u32) {
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX, 0usize, 0usize, 0) };
}

/// A descriptor for a process.
pub(crate) fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: a call without pointers.
    Ok(own(check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?))
}

/// Whether a process has ended, be it waited for or not, or is about to: its memory is gone.
pub(crate) fn has_ended(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/statm")) {
        Ok(pages) => pages.starts_with("0 "),
        Err(e) => e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(libc::ESRCH),
    }
}

/// An epoll descriptor.
pub(crate) fn epoll() -> io::Result<OwnedFd> {
    // SAFETY: a call without pointers.
    Ok(own(check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC).into() })?))
}

/// Adds a descriptor to an epoll set.
pub(crate) fn epoll_add(set: RawFd, fd: RawFd, data: u64) -> io::Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: data };
    // SAFETY: the event is valid for the call.
    check(unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event).into() }).map(drop)
}

/// What is ready in an epoll set, without waiting.
pub(crate) fn epoll_ready(set: RawFd, found: &mut Vec<u64>) {
    found.clear();
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 32];
    // SAFETY: the array has the size that is passed.
    let n = unsafe { libc::epoll_wait(set, events.as_mut_ptr(), events.len() as i32, 0) };
    found.extend(events.iter().take(n.max(0) as usize).map(|e| e.u64));
}

/// Whether a descriptor is readable now.
pub(crate) fn readable(fd: RawFd) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
}

/// Soft limit of a resource; `None` when there is none.
pub(crate) fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is valid for the call.
    let ok = unsafe { libc::getrlimit(resource, &raw mut limit) } == 0;
    (ok && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Random bytes.
pub(crate) fn random() -> u64 {
    let mut value = 0u64;
    // SAFETY: eight bytes are there. Should the kernel have none yet, zero serves as well: this is
    // no secret.
    unsafe { libc::getrandom((&raw mut value).cast(), 8, libc::GRND_NONBLOCK) };
    value
}

/// An error of a set-up call, with what to do about it.
pub(crate) fn io_error(what: &str, e: &io::Error) -> TransportError {
    match e.raw_os_error() {
        Some(libc::EMFILE) => TransportError::Exhausted(format!(
            "cannot {what}: {e}; the descriptor limit (RLIMIT_NOFILE) is {}. The shm transport needs about 6 \
             descriptors and one for each task of this host: raise the limit (ulimit -n)",
            limit(libc::RLIMIT_NOFILE).map_or("unlimited".to_owned(), |l| l.to_string())
        )),
        Some(libc::ENFILE | libc::ENOMEM) => TransportError::Exhausted(format!("cannot {what}: {e}")),
        _ => TransportError::Io(format!("cannot {what}: {e}")),
    }
}
