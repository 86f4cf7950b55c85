//! Copies between the memories of two tasks of one host, past the windows.
//!
//! Each task publishes a landmark in its card: two words of its own memory. A peer that reads the
//! one and writes the other has found the right process, and has the system's permission.

use lapis_core::sync::{AtomicU64, Ordering};
use lapis_core::transport::{RawSlice, Status};
use lapis_cross_memory::{self as cross_memory, Access, Landmark};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// This process's landmark. It stays where it is: others write to it.
pub(crate) struct Own {
    words: Box<[AtomicU64; 2]>,
}

impl Own {
    pub(crate) fn new() -> Self {
        Self { words: Box::new([AtomicU64::new(random()), AtomicU64::new(0)]) }
    }

    /// What peers are told. Pid 0, if they shall not copy.
    pub(crate) fn landmark(&self, wanted: bool) -> Landmark {
        let [nonce, scratch] = &*self.words;
        Landmark {
            pid: if wanted { rustix::process::getpid().as_raw_nonzero().get() } else { 0 },
            nonce_at: nonce.as_ptr().expose_provenance() as u64,
            scratch_at: scratch.as_ptr().expose_provenance() as u64,
            nonce: nonce.load(Ordering::Relaxed),
        }
    }
}

/// No secret: should the system have no random numbers, the address and the pid must do.
fn random() -> u64 {
    let mut bytes = [0; 8];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK);
    u64::from_ne_bytes(bytes)
}

/// A peer's process, whose memory can be copied from and to.
pub(crate) struct Process {
    pid: i32,
    /// Tells that it has ended: its number may then be somebody else's.
    end: OwnedFd,
}

impl Process {
    /// Finds the process of a landmark.
    ///
    /// # Errors
    /// Why it can't be copied from and to, as the end of a sentence that begins with "cross-memory
    /// attach".
    pub(crate) fn find(there: &Landmark) -> Result<Self, String> {
        let off = || "is switched off by the peer (LAPIS_HPS_COPY=windows)".to_owned();
        let pid = Pid::from_raw(there.pid).ok_or_else(off)?;
        // The descriptor comes first: what the probe finds is then the process that it names.
        let end = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| format!("refused (pidfd_open: {e})"))?;
        cross_memory::probe(there, random() | 1)?;
        Ok(Self { pid: there.pid, end })
    }

    /// Its number.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        let mut entry = [PollFd::new(&self.end, PollFlags::IN)];
        matches!(poll(&mut entry, Some(&Timespec::default())), Ok(n) if n > 0)
    }

    /// Copies between `local` and `remote` in the peer's memory. The error is what the user should
    /// know.
    ///
    /// # Safety
    /// `local` is valid, writable for [`Access::Read`].
    pub(crate) unsafe fn copy(
        &self,
        access: Access,
        local: RawSlice,
        remote: u64,
    ) -> Result<Status, std::io::Error> {
        if self.has_ended() {
            return Ok(Status::PeerDown);
        }
        // SAFETY: the local range is valid by the promise of this function's caller.
        let result = unsafe { cross_memory::copy(access, self.pid, local.ptr, remote, local.len) };
        let Err(e) = result else { return Ok(Status::Done) };
        match e.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::FAULT) => Ok(Status::Invalid),
            Some(Errno::SRCH) => Ok(Status::PeerDown),
            _ => Err(e),
        }
    }
}

/// Processes that were parted from while they lived, and the names under which they send by lanes.
#[derive(Default)]
pub(crate) struct Parted(Vec<(u64, Process)>);

impl Parted {
    pub(crate) fn add(&mut self, name: u64, process: Process) {
        self.0.push((name, process));
    }

    /// The process of this name is no former one: it is connected again.
    pub(crate) fn forget(&mut self, name: u64) {
        self.0.retain(|(known, _)| *known != name);
    }

    /// The names of those that have ended since. Costs a system call for each process.
    pub(crate) fn take_ended(&mut self) -> Vec<u64> {
        self.0.extract_if(.., |(_, process)| process.has_ended()).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namesake::Namesake;
    use std::process::{Command, Stdio};

    #[test]
    fn this_process_finds_itself_and_copies() {
        let own = Own::new();
        let process = match Process::find(&own.landmark(true)) {
            Ok(process) => process,
            Err(why) => {
                eprintln!("SKIPPED: cross-memory attach {why} here");
                return;
            }
        };
        let there: Vec<u8> = (0..100).collect();
        let mut here = vec![0u8; 100];
        let local = RawSlice { ptr: here.as_mut_ptr(), len: 100 };
        // SAFETY: the local bytes are writable, the remote ones are those of `there`.
        let status = unsafe { process.copy(Access::Read, local, there.as_ptr().addr() as u64) };
        assert_eq!(status.expect("copies"), Status::Done);
        assert_eq!(here, there);
        // SAFETY: the local bytes are writable; nothing is at the remote place.
        let status = unsafe { process.copy(Access::Read, local, 8) };
        assert_eq!(status.expect("is no surprise"), Status::Invalid);
        let why = Process::find(&own.landmark(false)).err().expect("not wanted");
        assert!(why.contains("switched off"), "{why}");
    }

    /// A task that hangs is purged first, and killed then.
    #[test]
    fn who_was_parted_from_is_told_when_it_ends_and_once() {
        let mut children =
            [(); 2].map(|()| Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat is everywhere"));
        let mut parted = Parted::default();
        for (name, child) in (1..).zip(&children) {
            let pid = child.id() as i32;
            let end = pidfd_open(Pid::from_raw(pid).expect("positive"), PidfdFlags::empty());
            parted.add(name, Process { pid, end: end.expect("a child") });
        }
        assert!(parted.take_ended().is_empty());
        children[1].kill().expect("a child");
        children[1].wait().expect("a child");
        assert_eq!(parted.take_ended(), [2]);
        assert!(parted.take_ended().is_empty());
        parted.forget(1);
        children[0].kill().expect("a child");
        children[0].wait().expect("a child");
        assert!(parted.take_ended().is_empty(), "it was connected again");
    }

    #[test]
    fn nothing_is_written_to_a_process_that_got_the_number_of_a_peer() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat is everywhere");
        let pid = child.id() as i32;
        let of = |pid| {
            let end = pidfd_open(Pid::from_raw(pid).expect("positive"), PidfdFlags::empty());
            Process { pid, end: end.expect("a child") }
        };
        let peer = of(pid);
        child.kill().expect("a child");
        child.wait().expect("a child");
        let (mut data, page) = ([7u8; 4096], vec![1u8; 4096]);
        let local = RawSlice { ptr: data.as_mut_ptr(), len: data.len() };
        let place = page.as_ptr().expose_provenance() as u64;
        // SAFETY: the local bytes are there; the process is not.
        let status = unsafe { peer.copy(Access::Write, local, place) };
        assert_eq!(status.expect("is no surprise"), Status::PeerDown, "nobody has its number");
        // The namesake has a copy of the page, at the same place.
        let Some(namesake) = Namesake::start(pid) else { return };
        // SAFETY: the local bytes are there; the kernel checks the others.
        let status = unsafe { peer.copy(Access::Write, local, place) };
        assert_eq!(status.expect("is no surprise"), Status::PeerDown, "another has its number");
        // SAFETY: the local bytes can be written; the kernel checks the others.
        let status = unsafe { of(namesake.0).copy(Access::Read, local, place) };
        match status {
            Ok(status) => assert_eq!((status, &data[..]), (Status::Done, &page[..])),
            Err(e) => {
                eprintln!("SKIPPED: whether a stranger's memory was overwritten can't be seen here: {e}")
            }
        }
    }
}
