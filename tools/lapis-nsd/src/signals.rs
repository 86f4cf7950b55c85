//! The signals that end the daemon.

use lapis_adapters::bell::Bell;
use std::io;
use std::sync::Arc;
use std::thread::Builder;

/// SIGTERM and SIGINT, unless they were ignored, which wait for [`Signals::ring`] from now on.
pub(crate) struct Signals(libc::sigset_t);

impl Signals {
    /// Blocks the signals in this thread, and in those that it starts.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn block() -> io::Result<Self> {
        // SAFETY: zeroes are a set and an action, which are this function's.
        unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGTERM, libc::SIGINT] {
                let mut before = std::mem::zeroed::<libc::sigaction>();
                libc::sigaction(signal, std::ptr::null(), &raw mut before);
                // A shell has its background programs ignore what its terminal interrupts.
                if before.sa_sigaction != libc::SIG_IGN {
                    libc::sigaddset(&raw mut set, signal);
                }
            }
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
                0 => Ok(Self(set)),
                e => Err(io::Error::from_raw_os_error(e)),
            }
        }
    }

    /// Starts a thread that rings a bell when a signal comes, or has come.
    ///
    /// # Errors
    /// Threads are short.
    pub(crate) fn ring(self, bell: Arc<Bell>) -> io::Result<()> {
        let wait = move || {
            let mut which = 0;
            // SAFETY: set and number are this closure's.
            while unsafe { libc::sigwait(&raw const self.0, &raw mut which) } == 0 {
                bell.ring();
            }
        };
        lapis_core::threads::spawn(Builder::new().name("lapis-nsd-signals".to_owned()), wait).map(drop)
    }
}
