//! Sleeping until either transport has something.

use crate::sync::{Arc, AtomicBool, Ordering};
use crate::transport::{Sleeper, Waiter};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// The longest sleep if a transport has no descriptor to sleep on.
const NAP_NS: u64 = 1_000_000;

/// Sleeps on the descriptors of both.
pub(super) struct StandbyWaiter {
    parts: [Sleeper; 2],
    /// Readable when one of theirs is. `None`: not both have one.
    all: Option<OwnedFd>,
    /// The standby may have something: it is to be looked at.
    stirred: Arc<AtomicBool>,
}

impl StandbyWaiter {
    pub(super) fn new(parts: [Sleeper; 2], stirred: Arc<AtomicBool>) -> io::Result<Self> {
        let fds = parts.each_ref().map(Sleeper::fd);
        let mut all = None;
        if fds.iter().all(|fd| *fd >= 0) {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            for (part, fd) in (0..).zip(fds) {
                // SAFETY: the transport keeps its descriptor as long as its sleeper exists.
                let fd = unsafe { BorrowedFd::borrow_raw(fd) };
                epoll::add(&epoll, fd, EventData::new_u64(part), EventFlags::IN)?;
            }
            all = Some(epoll);
        }
        Ok(Self { parts, all, stirred })
    }

    /// Lets a transport take notice of what ended the sleep.
    fn take_notice(&self, part: usize) {
        if let Some(sleeper) = self.parts.get(part) {
            sleeper.wait(0);
        }
        self.stirred.store(true, Ordering::Relaxed);
    }
}

impl Waiter for StandbyWaiter {
    fn wait(&self, timeout_ns: u64) {
        let Some(all) = &self.all else {
            self.parts[0].wait(timeout_ns.min(NAP_NS));
            return self.take_notice(1);
        };
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000).min(i64::MAX as u64 / 2).cast_signed(),
            tv_nsec: (timeout_ns % 1_000_000_000) as _,
        };
        let mut events = Vec::with_capacity(2);
        // A signal ends it early, which is allowed.
        if epoll::wait(all, spare_capacity(&mut events), Some(&timeout)).is_ok() {
            events.iter().for_each(|event| self.take_notice(event.data.u64() as usize));
        }
    }

    fn wake(&self) {
        self.parts[0].wake();
    }

    fn fd(&self) -> i32 {
        self.all.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}
