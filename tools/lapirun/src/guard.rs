//! The guard: a small process that kills the tasks if the launcher is killed.
//!
//! It sleeps in a read on a pipe of which only the launcher holds the other end. Each task writes
//! its process group to this pipe before it becomes the user's program, and the launcher takes it
//! off when the group's number may become another's. If the pipe ends without a word of dismissal,
//! the launcher was killed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};

/// Word that sends the guard away.
const DISMISS: i32 = 0;

/// The launcher's end.
pub(crate) struct Guard {
    pipe: Arc<OwnedFd>,
    pid: libc::pid_t,
}

/// Where tasks announce themselves, and the launcher takes them off.
#[derive(Clone)]
pub(crate) struct Line(Arc<OwnedFd>);

impl Guard {
    /// Starts the guard. The launcher must have no second thread yet.
    pub(crate) fn start() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the process has one thread, so the child may go on using everything; it never
        // returns from `watch`.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(write);
                watch(&read)
            }
            pid => Ok(Self { pipe: Arc::new(write), pid }),
        }
    }

    /// The launcher's and its tasks' line to the guard.
    pub(crate) fn line(&self) -> Line {
        Line(self.pipe.clone())
    }
}

impl Line {
    /// The calling process and its group are to be killed with the launcher. A task says so itself,
    /// before it becomes the user's program: if the launcher did, it could be killed before it has,
    /// when the task's own children already run.
    pub(crate) fn announce_own(&self) -> io::Result<()> {
        self.say(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// A task has been reaped: its group's number may be another's.
    pub(crate) fn forget(&self, group: i32) -> io::Result<()> {
        self.say(-group)
    }

    fn say(&self, word: i32) -> io::Result<()> {
        match rustix::io::write(&self.0, &word.to_ne_bytes())? {
            4 => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }
}

impl Drop for Guard {
    /// Sends the guard away: all tasks have ended.
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.pipe, &DISMISS.to_ne_bytes());
        // SAFETY: waits for this launcher's own child; no status is asked for.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

fn watch(pipe: &OwnedFd) -> ! {
    // A session of its own: neither ^C nor a killed terminal group reaches the guard. The
    // launcher's mask, inherited, blocks the rest.
    let _ = rustix::process::setsid();
    // Whoever waits for the end of the launcher's output must not wait for the guard.
    // SAFETY: these calls only change this process's descriptor table, which no one else uses.
    unsafe {
        libc::dup2(pipe.as_raw_fd(), 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(null, 1);
        libc::dup2(null, 2);
        libc::close_range(3, u32::MAX, 0);
    }
    let _ = rustix::thread::set_name(c"lapirun-guard");
    let mut groups = Vec::new();
    let mut word = [0u8; 4];
    loop {
        // SAFETY: descriptor 0 is the pipe now; the buffer has the size that is passed. Words of
        // four bytes are written whole.
        let n = unsafe { libc::read(0, word.as_mut_ptr().cast(), word.len()) };
        if n == 4 {
            match i32::from_ne_bytes(word) {
                // SAFETY: _exit ends the process without running what belongs to the launcher.
                DISMISS => unsafe { libc::_exit(0) },
                group => note(&mut groups, group),
            }
        } else if n == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
    for group in groups {
        // SAFETY: kill has no memory effects; the number is a group that the launcher made.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    // SAFETY: ends the process; nothing of it is needed any more.
    unsafe { libc::_exit(0) }
}

/// A group is there, or, as a negative number, no longer.
fn note(groups: &mut Vec<i32>, word: i32) {
    match word.checked_neg() {
        Some(gone @ 1..) => groups.retain(|group| *group != gone),
        _ => groups.push(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_were_reaped_are_not_killed() {
        let mut groups = Vec::new();
        for word in [70, 80, 90, -80, 95, -70, 80, -1] {
            note(&mut groups, word);
        }
        assert_eq!(groups, [90, 95, 80]);
    }
}
