//! A process that holds the steering program at the interface when the daemon has died.
//!
//! A process that has the program's link can remove the program from the interface, so tasks must
//! not have it. They get a lease instead, one end of a pipe that nobody writes to. The holder has
//! the other end, and ends when daemon and tasks have closed all of theirs, however they went:
//!
//! ```text
//!   daemon ── link                        holder ── link
//!   daemon, tasks ── lease (read end) ◄── holder ── write end: fails when no lease is left
//! ```

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

/// What `ps` calls it.
const NAME: &std::ffi::CStr = c"lapis-nsd-hold";

/// Taken to start a holder, and to map memory that a holder must not have: one that is started in
/// between by another daemon of this process would keep it.
pub(crate) static FORKING: Mutex<()> = Mutex::new(());

/// Starts a holder of a link and gives the lease that keeps it.
///
/// # Errors
/// Processes or descriptors are short.
pub(crate) fn start(link: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let (lease, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
    let keep = [link.as_raw_fd().min(pipe.as_raw_fd()), link.as_raw_fd().max(pipe.as_raw_fd())];
    let _guard = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the child makes system calls alone, which threads of the parent can't disturb.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        // SAFETY: this is the child of a fork, and it has no other threads.
        0 => unsafe { detach(keep, pipe.as_raw_fd()) },
        child => {
            // It ends at once: the holder is its child, and nobody's to wait for.
            let child = Pid::from_raw(child);
            while matches!(waitpid(child, WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
        }
    }
    Ok(lease)
}

/// Becomes a holder that no terminal, parent or descriptor ties to the daemon.
///
/// # Safety
/// To be called in the child of a fork only: it makes system calls alone, and does not return.
unsafe fn detach(keep: [RawFd; 2], pipe: RawFd) -> ! {
    // SAFETY: system calls with plain numbers, and with memory of this function.
    unsafe {
        if libc::setsid() < 0 || libc::fork() != 0 {
            libc::_exit(0);
        }
        let [low, high] = keep.map(RawFd::cast_unsigned);
        if low > 0 {
            libc::syscall(libc::SYS_close_range, 0, low - 1, 0);
        }
        if low + 1 < high {
            libc::syscall(libc::SYS_close_range, low + 1, high - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, high + 1, u32::MAX, 0);
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        // What the daemon waits for with a thread would reach nobody here.
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        let root = c"/";
        libc::chdir(root.as_ptr());
        let mut watched = libc::pollfd { fd: pipe, events: 0, revents: 0 };
        while libc::poll(&raw mut watched, 1, -1) < 1 {}
        libc::_exit(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::os::fd::AsFd;

    /// Any descriptor will do in place of a link: here one end of a pipe, of which the other tells
    /// whether somebody still has it.
    #[test]
    fn what_is_held_stays_as_long_as_a_lease_does() {
        let (tells, held) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        let lease = start(held.as_fd()).expect("a process");
        drop(held);
        let is_held = |wait: i64| {
            let mut fds = [PollFd::new(&tells, PollFlags::empty())];
            let wait = Timespec { tv_sec: wait, tv_nsec: 0 };
            poll(&mut fds, Some(&wait)).expect("polls") == 0
        };
        let copy = lease.try_clone().expect("a descriptor");
        drop(lease);
        assert!(is_held(0), "a task has a lease");
        drop(copy);
        assert!(!is_held(60), "nobody has a lease");
    }
}
