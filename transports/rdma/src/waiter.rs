//! Sleeping until libfabric has a completion.

#![allow(
    clippy::disallowed_types,
    reason = "the atomics come from lapis_core::sync; the lint sees through it"
)]

use lapis_core::sync::{Arc, AtomicBool, Ordering};
use lapis_core::transport::Waiter;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

const NEVER: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What the transport and its waiter share: a set of descriptors, of which each ends a sleep.
pub(crate) struct Bell {
    all: OwnedFd,
    event: OwnedFd,
    timer: OwnedFd,
    rung: AtomicBool,
}

impl Bell {
    /// `links`: the descriptor of the links' news, which stays open as long as anything arrives.
    pub(crate) fn new(links: Option<RawFd>) -> io::Result<Self> {
        let all = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: the descriptor is open during this call; closing it takes it out of the set.
        let links = links.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) });
        for fd in [event.as_fd(), timer.as_fd()].into_iter().chain(links) {
            epoll::add(&all, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(Self { all, event, timer, rung: AtomicBool::new(false) })
    }

    /// One more descriptor that ends sleeps. Closing its last copy takes it out as well.
    pub(crate) fn watch(&self, fd: RawFd) -> io::Result<()> {
        // SAFETY: the descriptor is open during this call; closing it takes it out of the set.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        Ok(epoll::add(&self.all, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?)
    }

    /// A descriptor ends sleeps no more.
    pub(crate) fn leave(&self, fd: RawFd) {
        // SAFETY: the descriptor is open during this call.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        // One that is not watched is as good.
        let _ = epoll::delete(&self.all, fd);
    }

    /// Ends all present sleeps, or the next one.
    pub(crate) fn ring(&self) {
        self.ring_around(|| ());
    }

    /// The descriptor becomes readable before that is noted, with something in between: what is
    /// noted is read once, and what became readable after that would end every later sleep.
    fn ring_around(&self, between: impl FnOnce()) {
        // The one failure is a full count, which is as good.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        between();
        // SYNC: pairs with the Acquire swap in `wait`.
        self.rung.store(true, Ordering::Release);
    }

    /// Bounds sleeps from now, by less than a second, or no more.
    pub(crate) fn nap(&self, limit: Option<Duration>) {
        let nanos = limit.map_or(0, |limit| limit.subsec_nanos());
        let value =
            Itimerspec { it_interval: NEVER, it_value: Timespec { tv_sec: 0, tv_nsec: nanos.into() } };
        // It can't fail with these values.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value);
    }

    fn wait(&self, timeout_ns: u64) {
        let limit = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000).min(1 << 30) as i64,
            tv_nsec: (timeout_ns % 1_000_000_000) as i64,
        };
        let mut fds = [PollFd::new(&self.all, PollFlags::IN)];
        // Every result is a reason to look again.
        let _ = poll(&mut fds, Some(&limit));
        // SYNC: pairs with the Release store in `ring_around`.
        if self.rung.swap(false, Ordering::Acquire) {
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
        }
    }
}

/// The sleeping half of [`Rdma`](crate::Rdma).
pub struct RdmaWaiter(pub(crate) Arc<Bell>);

impl std::fmt::Debug for RdmaWaiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RdmaWaiter").field(&self.0.all).finish()
    }
}

impl Waiter for RdmaWaiter {
    fn wait(&self, timeout_ns: u64) {
        self.0.wait(timeout_ns);
    }

    fn wake(&self) {
        self.0.ring();
    }

    fn fd(&self) -> i32 {
        self.0.all.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Bell {
        /// Whether the end of a nap is still to come, or to be read.
        pub(crate) fn naps(&self) -> bool {
            rustix::time::timerfd_gettime(&self.timer).unwrap().it_value != NEVER
        }

        /// How many descriptors end sleeps.
        pub(crate) fn watched(&self) -> usize {
            let file = format!("/proc/self/fdinfo/{}", self.all.as_raw_fd());
            std::fs::read_to_string(file).unwrap().lines().filter(|line| line.starts_with("tfd:")).count()
        }
    }

    fn is_readable(bell: &Bell) -> bool {
        let mut fds = [PollFd::new(&bell.all, PollFlags::IN)];
        poll(&mut fds, Some(&NEVER)) == Ok(1)
    }

    /// A sleep ends for another reason while somebody is about to ring.
    #[test]
    fn a_ring_amid_a_wake_up_ends_one_more_sleep_and_no_others() {
        let bell = Bell::new(None).unwrap();
        bell.ring_around(|| bell.wait(0));
        bell.wait(0);
        assert!(!is_readable(&bell), "a sleeper would spin");
        bell.ring();
        assert!(is_readable(&bell));
        bell.wait(0);
        assert!(!is_readable(&bell));
    }
}
