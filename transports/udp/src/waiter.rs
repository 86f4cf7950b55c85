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
        if watched.armed == on {
            return Ok(());
        }
        let change = if on { Epoll::add } else { Epoll::remove };
        let sockets = watched.sockets.iter();
        let failed = sockets.fold(None, |failed, socket| change(&self.all, *socket).err().or(failed));
        if on && let Some(e) = failed {
            // Some of them are no use: who waits for the others would sleep through.
            for socket in &watched.sockets {
                let _ = self.all.remove(*socket);
            }
            return Err(e);
        }
        watched.armed = on;
        Ok(())
    }

    /// A descriptor that was watched is to be closed.
    pub(crate) fn unwatch(&self, descriptor: RawFd) {
        let mut watched = self.watched();
        watched.sockets.retain(|one| *one != descriptor);
        if watched.armed {
            let _ = self.all.remove(descriptor);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    /// Whether a datagram to a socket ends the sleep.
    fn wakes(notifier: &Notifier, socket: &UdpSocket) -> bool {
        let to = socket.local_addr().expect("it has an address");
        socket.send_to(&[1], to).expect("it reaches itself");
        let wakes = sys::wait_readable(notifier.all.fd(), 0);
        socket.recv(&mut [0; 8]).expect("the datagram has come");
        wakes
    }

    #[test]
    fn what_can_not_be_watched_any_more_keeps_the_rest_from_nothing() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let other = UdpSocket::bind("127.0.0.1:0").expect("another one");
        let notifier = Notifier::new().expect("descriptors");
        notifier.watch(socket.as_raw_fd()).expect("not slept on yet");
        notifier.watch(other.as_raw_fd()).expect("not slept on yet");
        notifier.arm(true).expect("both can be watched");
        notifier.unwatch(other.as_raw_fd());
        drop(other);
        for _ in 0..2 {
            assert!(wakes(&notifier, &socket));
            notifier.arm(false).expect("it can always be removed");
            assert!(!wakes(&notifier, &socket));
            notifier.arm(true).expect("one is left, which can be watched");
        }
    }

    #[test]
    fn a_sleep_that_not_all_arrivals_would_end_is_refused_until_they_would() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        // epoll refuses files of this kind.
        let file = std::fs::File::open("/proc/self/exe").expect("this program");
        let notifier = Notifier::new().expect("descriptors");
        notifier.watch(socket.as_raw_fd()).expect("not slept on yet");
        notifier.watch(file.as_raw_fd()).expect("not slept on yet");
        for _ in 0..2 {
            let refused = notifier.arm(true).expect_err("the file can't be watched");
            assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
            assert!(!wakes(&notifier, &socket));
        }
        notifier.unwatch(file.as_raw_fd());
        notifier.arm(true).expect("the socket can be watched");
        assert!(wakes(&notifier, &socket));
    }
}
