//! The command by which an agent was started. It may be a script with children of its own: all of
//! its group are ended with it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::guard::Line;

/// One remote command.
pub(super) struct RemoteCommand {
    child: Child,
    /// Whether its end has been learned: its number may be another's.
    reaped: bool,
    guard: Line,
}

impl RemoteCommand {
    /// Lets it start as if the user had: with his signals, and out of ^C's reach. The guard ends it
    /// if this process is killed.
    pub(super) fn start(mut command: Command, mask: libc::sigset_t, guard: Line) -> io::Result<Self> {
        // A group of its own keeps ^C from the remote command: signals are passed on to the tasks.
        command.process_group(0);
        let line = guard.clone();
        // SAFETY: the closure runs between fork and exec and makes system calls only: no
        // allocation, no locks.
        unsafe {
            command.pre_exec(move || {
                line.announce_own()?;
                // The launcher's blocked signals would be inherited all the way down to the tasks.
                match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut()) {
                    0 => Ok(()),
                    error => Err(io::Error::from_raw_os_error(error)),
                }
            });
        }
        Ok(Self { child: command.spawn()?, reaped: false, guard })
    }

    /// The ends of its standard input and output.
    pub(super) fn take_pipes(&mut self) -> io::Result<(ChildStdin, ChildStdout)> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        pipes.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Kills it with all that it has started.
    pub(super) fn kill(&self) {
        if !self.reaped {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
    }

    /// Waits for its end, for which it has no reason to wait. `None`: it had to be killed.
    pub(super) fn end(&mut self, until: Instant) -> Option<io::Result<ExitStatus>> {
        let ended = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                ended => break ended.transpose(),
            }
        };
        if ended.is_none() {
            self.kill();
            let _ = self.child.wait();
        }
        if !std::mem::replace(&mut self.reaped, true) {
            // If it is gone, there is nobody who would kill the group.
            let _ = self.guard.forget(self.child.id().cast_signed());
        }
        ended
    }
}
