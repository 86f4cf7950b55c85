//! Other processes of this machine.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open, test_kill_process};

pub use rustix::process::Pid;

/// Whether a process has ended, also if its parent has not asked after it yet.
pub fn has_ended(pid: Pid) -> bool {
    if test_kill_process(pid) == Err(Errno::SRCH) {
        return true;
    }
    // One that nobody has asked after looks like one of which only the first thread has ended: its
    // descriptor tells. Others are not asked for theirs, which valgrind does not know.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    if !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z") || rest.starts_with(" X")) {
        return false;
    }
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => {
            let mut entry = [PollFd::new(&process, PollFlags::IN)];
            matches!(poll(&mut entry, Some(&Timespec::default())), Ok(1..))
        }
        Err(e) => e == Errno::SRCH,
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_nobody_has_waited_for_has_ended_all_the_same() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat is everywhere");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a child");
        assert!(!has_ended(pid));
        child.kill().expect("a child");
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("a child");
        assert!(test_kill_process(pid).is_ok() && has_ended(pid), "it has its number still");
        child.wait().expect("a child");
        assert!(has_ended(pid));
    }
}
