//! Sleeping until a datagram arrives.

#![allow(
    clippy::disallowed_types,
    reason = "the atomics come from lapis_core::sync; the lint sees through it"
)]

use crate::sys::{self, Epoll, EventFd};
use lapis_core::sync::{Arc, AtomicBool, Ordering};
use lapis_core::transport::Waiter;
use std::io;
use std::os::fd::RawFd;

/// What the transport and its waiter share. The sockets form a set of their own, a member of the set that is slept on,
/// so that arming and disarming are one system call whatever the number of sockets, and reach a thread that sleeps
/// already.
pub(crate) struct Bell {
    all: Epoll,
    sockets: Epoll,
    event: EventFd,
    rung: AtomicBool,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let (all, sockets, event) = (Epoll::new()?, Epoll::new()?, EventFd::new()?);
        all.add(sockets.fd(), false)?;
        all.add(event.fd(), true)?;
        Ok(Self { all, sockets, event, rung: AtomicBool::new(false) })
    }

    pub(crate) fn watch(&self, socket: RawFd) -> io::Result<()> {
        self.sockets.add(socket, true)
    }

    /// Whether arrivals end the sleep.
    pub(crate) fn arm(&self, on: bool) -> io::Result<()> {
        self.all.change(self.sockets.fd(), on)
    }
}

/// The sleeping half of [`Udp`](crate::Udp).
pub struct UdpWaiter(pub(crate) Arc<Bell>);

impl std::fmt::Debug for UdpWaiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UdpWaiter").field(&self.0.all.fd()).finish()
    }
}

impl Waiter for UdpWaiter {
    fn wait(&self, timeout_ns: u64) {
        sys::wait_readable(self.0.all.fd(), timeout_ns);
        // SYNC: pairs with the Release store in `wake`.
        if self.0.rung.swap(false, Ordering::Acquire) {
            self.0.event.quiet();
        }
    }

    fn wake(&self) {
        // SYNC: pairs with the Acquire swap in `wait`.
        self.0.rung.store(true, Ordering::Release);
        self.0.event.ring();
    }

    fn fd(&self) -> i32 {
        self.0.all.fd()
    }
}
