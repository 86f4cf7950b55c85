//! The thread that watches whether services daemons end, one in each process.
//!
//! A port works when its program calls it. But a new daemon must learn of all ports soon: it says
//! of those that it has not been shown that they are closed, and senders on other hosts believe it.
//! So this thread sleeps until a daemon goes, and shows ports to the next one, whatever their
//! program does. It touches nothing of a port that a call needs.

use crate::daemon::Registration;
use lapis_adapters::bell::Bell;
use lapis_core::sync::blocking::Mutex;
use lapis_core::sync::{Arc, AtomicPtr, Ordering};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::null_mut;
use std::sync::{PoisonError, Weak};

/// From one look for a new daemon to the next.
const BETWEEN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The watch of this process, or of the one that it was forked from. None is ever freed.
static WATCH: AtomicPtr<Watch> = AtomicPtr::new(null_mut());

struct Watch {
    process: u32,
    /// Rung when there is one more port.
    bell: Bell,
    ports: Mutex<Vec<Weak<Registration>>>,
    /// The thread has been started.
    runs: Mutex<bool>,
}

/// Watches for a port until it is dropped.
pub(crate) fn add(port: &Arc<Registration>) {
    let watched = Watch::of_process().and_then(|watch| {
        watch.ports.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(port));
        watch.bell.ring();
        watch.start_with(|| {
            let thread = std::thread::Builder::new().name("lapis-gm-watch".to_owned());
            lapis_core::threads::spawn(thread, || watch.run()).map(drop)
        })
    });
    if let Err(e) = watched {
        tracing::warn!(
            target: "lapis::gm",
            "nobody watches the services daemon ({e}): if it is started anew, it learns of ports from their calls"
        );
    }
}

impl Watch {
    /// The watch of this process, made now if there is none.
    fn of_process() -> std::io::Result<&'static Self> {
        let process = std::process::id();
        // SYNC: Acquire pairs with the exchange below.
        let known = WATCH.load(Ordering::Acquire);
        // SAFETY: null, or a watch, of which none is freed.
        match unsafe { known.as_ref() } {
            Some(watch) if watch.process == process => return Ok(watch),
            _ => {}
        }
        let new = Self { process, bell: Bell::new()?, ports: Mutex::default(), runs: Mutex::default() };
        let new = Box::into_raw(Box::new(new));
        // SYNC: Release: who finds the watch finds it whole. Acquire: so does who comes second.
        match WATCH.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it came from a box, and is never freed.
            Ok(_) => Ok(unsafe { &*new }),
            Err(other) => {
                // SAFETY: it came from a box, and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: another thread of this process was quicker; its watch is never freed.
                Ok(unsafe { &*other })
            }
        }
    }

    /// Starts the thread that watches if none does. Where it can't be started, the next port tries
    /// again, for all.
    fn start_with(&self, start: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if !*runs {
            start()?;
            *runs = true;
        }
        Ok(())
    }

    /// The ports that are still there.
    fn ports(&self) -> Vec<Arc<Registration>> {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let mut there = Vec::new();
        ports.retain(|port| {
            port.upgrade().is_some_and(|port| {
                there.push(port);
                true
            })
        });
        there
    }

    fn run(&self) {
        loop {
            let (numbers, alone) = self.to_be_watched();
            self.sleep(&numbers, alone);
            self.ports().iter().for_each(|port| port.look());
        }
    }

    /// Numbers of connections, and whether a port looks for a daemon. The ports themselves are not
    /// kept: whoever drops one closes its connection.
    fn to_be_watched(&self) -> (Vec<RawFd>, bool) {
        let ports = self.ports();
        let numbers = ports.iter().filter_map(|port| port.watched()).collect();
        (numbers, ports.iter().any(|port| port.is_alone()))
    }

    fn sleep(&self, numbers: &[RawFd], alone: bool) {
        let mut fds = vec![PollFd::new(&self.bell, PollFlags::IN)];
        fds.extend(numbers.iter().map(|number| {
            // SAFETY: it is asked for its end alone. A number that has been closed, or is another
            // file's by now, ends the sleep once too often, and is not in the next list.
            PollFd::from_borrowed_fd(unsafe { BorrowedFd::borrow_raw(*number) }, PollFlags::empty())
        }));
        // Whatever ended it, everything is looked at again.
        let _ = poll(&mut fds, alone.then_some(&BETWEEN));
        self.bell.quiet();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_be_started_is_tried_again_and_started_once() {
        let bell = Bell::new().expect("descriptors");
        let watch = Watch { process: 0, bell, ports: Mutex::default(), runs: Mutex::default() };
        let mut started = 0;
        assert!(watch.start_with(|| Err(std::io::ErrorKind::WouldBlock.into())).is_err());
        for _ in 0..2 {
            let start = || {
                started += 1;
                Ok(())
            };
            watch.start_with(start).expect("it starts");
        }
        assert_eq!(started, 1);
    }
}
