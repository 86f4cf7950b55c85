//! Sleeping until a datagram arrives.

#![allow(
    clippy::disallowed_types,
    reason = "the atomics come from lapis_core::sync; the lint sees through it"
)]

use crate::sys::{self, Epoll, EventFd};
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use lapis_core::sync::{Arc, AtomicBool, Ordering};
use lapis_core::transport::Waiter;
use std::io;
use std::os::fd::RawFd;
use std::sync::PoisonError;

/// What the transport and its waiter share. The sockets are members of the set that is slept on
/// only while somebody is to be woken: each arrival at a watched socket calls the set, and that
/// would cost every sender's datagram a tenth of a microsecond. Adding and removing them reaches a
/// thread that sleeps already.
pub(crate) struct Notifier {
    all: Epoll,
    event: EventFd,
    notified: AtomicBool,
    /// Something ended a sleep since [`take_stirred`](Self::take_stirred).
    stirred: AtomicBool,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    sockets: Vec<RawFd>,
    armed: bool,
}

impl Notifier {
    pub(crate) fn new() -> io::Result<Self> {
        let (all, event) = (Epoll::new()?, EventFd::new()?);
        all.add(event.fd())?;
        Ok(Self {
            all,
            event,
            notified: AtomicBool::new(false),
            stirred: AtomicBool::new(true),
            watched: Mutex::default(),
        })
    }

    /// Counts a socket among those whose arrivals end a sleep.
    pub(crate) fn watch(&self, socket: RawFd) -> io::Result<()> {
        let mut watched = self.watched();
        watched.sockets.push(socket);
        if watched.armed { self.all.add(socket) } else { Ok(()) }
    }

    /// Whether arrivals end the sleep.
    pub(crate) fn arm(&self, on: bool) -> io::Result<()> {
        let mut watched = self.watched();
        if watched.armed != on {
            let change = if on { Epoll::add } else { Epoll::remove };
            watched.sockets.iter().try_for_each(|socket| change(&self.all, *socket))?;
            watched.armed = on;
        }
        Ok(())
    }

    /// Whether what is watched may have woken a sleeper since the last call.
    pub(crate) fn take_stirred(&self) -> bool {
        // SYNC: pairs with the Release store in `wait`. The swap is needed seldom.
        self.stirred.load(Ordering::Relaxed) && self.stirred.swap(false, Ordering::Acquire)
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sleeping half of [`Udp`](crate::Udp).
pub struct UdpWaiter(pub(crate) Arc<Notifier>);

impl std::fmt::Debug for UdpWaiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UdpWaiter").field(&self.0.all.fd()).finish()
    }
}

impl Waiter for UdpWaiter {
    fn wait(&self, timeout_ns: u64) {
        if sys::wait_readable(self.0.all.fd(), timeout_ns) {
            // SYNC: pairs with the Acquire swap in `take_stirred`.
            self.0.stirred.store(true, Ordering::Release);
        }
        // SYNC: pairs with the Release store in `wake`.
        if self.0.notified.swap(false, Ordering::Acquire) {
            self.0.event.quiet();
        }
    }

    fn wake(&self) {
        self.0.event.ring();
        // SYNC: pairs with the Acquire swap in `wait`. Noted when it is readable: whoever wakes up
        // in between for another reason would take the note, and every later sleep would end.
        self.0.notified.store(true, Ordering::Release);
    }

    fn fd(&self) -> i32 {
        self.0.all.fd()
    }
}
