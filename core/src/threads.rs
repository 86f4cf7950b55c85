//! Threads that belong to the library: the program's signals are for the program's threads.
//!
//! A program that blocks a signal in its own threads, to wait for it in one of them, must get it
//! there. A thread that did not block it would take it, and mostly end the process. Faults stay
//! unblocked: they belong to the thread that runs into them, which may be running a handler of the
//! program.

use std::io;
use std::thread::{Builder, JoinHandle};

const FAULTS: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

/// Starts a thread that blocks all signals but faults, from its first instruction on.
///
/// # Errors
/// As for [`Builder::spawn`].
pub fn spawn<R: Send + 'static>(
    builder: Builder,
    body: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    // SAFETY: zeroes are a set; the calls work on local sets and on this thread's mask, which is
    // restored.
    unsafe {
        let (mut all, mut before) = std::mem::zeroed::<(libc::sigset_t, libc::sigset_t)>();
        libc::sigfillset(&raw mut all);
        for fault in FAULTS {
            libc::sigdelset(&raw mut all, fault);
        }
        // A new thread inherits the mask.
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        let thread = builder.spawn(body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        thread.map_err(with_limits)
    }
}

/// What stands behind the system's bare word for "no more threads".
fn with_limits(error: io::Error) -> io::Error {
    if error.raw_os_error() != Some(libc::EAGAIN) {
        return error;
    }
    let what = format!(
        "{error}: the user has as many processes and threads as RLIMIT_NPROC (`ulimit -u`) or the control group \
         (pids.max) allows, or RLIMIT_AS (`ulimit -v`) leaves no room for a stack"
    );
    io::Error::new(error.kind(), what)
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_threads_names_the_limits() {
        let text = with_limits(io::Error::from_raw_os_error(libc::EAGAIN)).to_string();
        assert!(text.contains("RLIMIT_NPROC (`ulimit -u`)"), "{text}");
        assert_eq!(with_limits(io::Error::from_raw_os_error(libc::EPERM)).raw_os_error(), Some(libc::EPERM));
    }

    fn blocked() -> Vec<libc::c_int> {
        // SAFETY: zeroes are a set, which is filled with this thread's mask.
        unsafe {
            let mut mask = std::mem::zeroed::<libc::sigset_t>();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            (1..32).filter(|&signal| libc::sigismember(&raw const mask, signal) == 1).collect()
        }
    }

    #[test]
    fn a_thread_of_the_library_blocks_signals_but_faults_and_who_starts_it_keeps_its_mask() {
        let before = blocked();
        let there = spawn(Builder::new(), blocked).unwrap().join().unwrap();
        assert_eq!(blocked(), before);
        assert!(
            [libc::SIGALRM, libc::SIGUSR1, libc::SIGTERM, libc::SIGCHLD].iter().all(|s| there.contains(s))
        );
        assert!(FAULTS.iter().all(|s| !there.contains(s)));
    }
}
