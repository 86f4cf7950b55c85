//! Sleeping on descriptors, and ending others' sleep.

use super::{check, own};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A set of descriptors to sleep on.
pub(crate) struct Epoll(OwnedFd);

impl Epoll {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a call without pointers.
        Ok(Self(own(check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?)))
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Makes a descriptor a member: its becoming readable counts from now on.
    pub(crate) fn add(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd)
    }

    pub(crate) fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd)
    }

    fn control(&self, what: libc::c_int, fd: RawFd) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: the event is valid for the call.
        check(unsafe { libc::epoll_ctl(self.fd(), what, fd, &raw mut event) }).map(drop)
    }
}

/// Sleeps until the descriptor is readable, at most `nanoseconds`. Answers whether it is.
pub(crate) fn wait_readable(fd: RawFd, nanoseconds: u64) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000).min(1 << 30) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: one valid entry and a valid time. Every result is a reason to look again.
    unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) > 0 }
}

/// A descriptor that other threads make readable.
pub(crate) struct EventFd(OwnedFd);

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a call without pointers.
        Ok(Self(own(check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?)))
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(crate) fn ring(&self) {
        // SAFETY: eight readable bytes. The one failure is a full count, which is as good.
        unsafe { libc::write(self.fd(), (&raw const ONE).cast(), 8) };
    }

    pub(crate) fn quiet(&self) {
        let mut count = 0u64;
        // SAFETY: eight writable bytes. The one failure is that nobody rang.
        unsafe { libc::read(self.fd(), (&raw mut count).cast(), 8) };
    }
}

static ONE: u64 = 1;
