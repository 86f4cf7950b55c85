//! Sleeping until a datagram arrives, or an adapter goes up or down.

use lapis_adapters::bell::Bell;
use lapis_core::sync::{Arc, AtomicBool, Ordering};
use lapis_core::transport::Waiter;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// What the transport and its waiter share.
pub(crate) struct Notifier {
    all: OwnedFd,
    own: Bell,
    /// Something ended a sleep since [`take_stirred`](Self::take_stirred).
    stirred: AtomicBool,
}

impl Notifier {
    pub(crate) fn new() -> io::Result<Self> {
        let notifier = Self {
            all: epoll::create(CreateFlags::CLOEXEC)?,
            own: Bell::new()?,
            stirred: AtomicBool::new(true),
        };
        notifier.watch(&notifier.own)?;
        Ok(notifier)
    }

    /// Counts a descriptor among those that end a sleep whenever something happens to it: nobody
    /// needs to quiet a bell for the next sleep.
    pub(crate) fn watch(&self, fd: impl AsFd) -> io::Result<()> {
        let when = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.all, fd, EventData::new_u64(0), when)?)
    }

    /// Whether a sleep has ended since the last call.
    #[inline]
    pub(crate) fn take_stirred(&self) -> bool {
        // SYNC: pairs with the Release store in `wait`. The swap is needed seldom.
        self.stirred.load(Ordering::Relaxed) && self.stirred.swap(false, Ordering::Acquire)
    }
}

/// The sleeping half of [`Hps`](crate::Hps).
pub struct HpsWaiter(pub(crate) Arc<Notifier>);

impl std::fmt::Debug for HpsWaiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HpsWaiter").field(&self.0.all.as_raw_fd()).finish()
    }
}

impl Waiter for HpsWaiter {
    fn wait(&self, timeout_ns: u64) {
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000).min(i64::MAX as u64 / 2).cast_signed(),
            tv_nsec: (timeout_ns % 1_000_000_000) as _,
        };
        let mut events = Vec::with_capacity(16);
        let woken = epoll::wait(&self.0.all, rustix::buffer::spare_capacity(&mut events), Some(&timeout));
        if woken.is_ok_and(|n| n > 0) {
            // SYNC: pairs with the Acquire swap in `take_stirred`.
            self.0.stirred.store(true, Ordering::Release);
        }
    }

    fn wake(&self) {
        self.0.own.ring();
    }

    fn fd(&self) -> i32 {
        self.0.all.as_raw_fd()
    }
}
