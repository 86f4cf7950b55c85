//! The launcher's signals, read from a descriptor; sending signals to tasks.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::{Pid, Signal};

/// Signals that the launcher passes on to all tasks, unless it was started with them ignored.
pub(crate) const FORWARDED: &[i32] =
    &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// Signals read instead of delivered.
pub(crate) struct Signals {
    fd: OwnedFd,
    /// The mask that the launcher was started with: the tasks get it back.
    pub(crate) original: libc::sigset_t,
}

impl Signals {
    /// Takes over the launcher's signals. Threads started later inherit the mask.
    ///
    /// What was ignored, as after nohup(1), stays so: blocked, it would be read like any other, and
    /// tasks on other machines, which do not inherit that, would hear of it.
    pub(crate) fn take() -> io::Result<Self> {
        let heeded = FORWARDED.iter().chain(&[libc::SIGTSTP]).filter(|signal| !is_ignored(**signal));
        // SAFETY: the sets are local and initialised by sigemptyset before use; signalfd returns a
        // descriptor that nobody else owns; the default is no handler that might run.
        unsafe {
            // Where it is ignored, which some daemons leave to what they start, the kernel reaps
            // the tasks, and their ends are never heard of.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            let mut original = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            for signal in heeded.chain(&[libc::SIGCHLD, libc::SIGCONT, libc::SIGPIPE]) {
                libc::sigaddset(&raw mut set, *signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut original) != 0 {
                return Err(io::Error::last_os_error());
            }
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { fd: OwnedFd::from_raw_fd(fd), original })
        }
    }

    /// The signals that have come.
    pub(crate) fn read(&self) -> Vec<i32> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut found = Vec::new();
        let mut buffer = [0u8; SIZE];
        loop {
            // SAFETY: the buffer has the size that is passed.
            let n = unsafe { libc::read(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), SIZE) };
            if n != SIZE as isize {
                return found;
            }
            // ssi_signo is the first field, 32 bits.
            found.push(i32::from_ne_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]));
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether this process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: without a new action the call only writes the present one to local memory, for which
    // zeroes are a value.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Sends a signal to the whole group of a task; a group that has ended is no error.
pub(crate) fn send_group(group: Pid, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Sends a signal to one process that has not been reaped.
pub(crate) fn send(process: Pid, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// A signal's name, as `kill -l` knows it.
pub(crate) fn name(signal: i32) -> &'static str {
    const NAMES: &[(i32, &str)] = &[
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    NAMES.iter().find(|(number, _)| *number == signal).map_or("a signal without a name", |(_, name)| name)
}
