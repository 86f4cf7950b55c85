//! Cross-memory attach: the kernel copies straight between the memories of two processes.
//!
//! The system may refuse it (another user, a container's filter, Yama's `ptrace_scope`), and a
//! process number may name another process than was meant. So a transport that wants to copy this
//! way has its peer publish a [`Landmark`], and [tries](probe) it first.

use std::io;

/// Bytes per system call: short enough that a signal or a dying peer is noticed, long enough that
/// calls don't count.
const STEP: usize = 64 << 20;

/// What is done to the other process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// From there to here.
    Read,
    /// From here to there.
    Write,
}

/// Two words of a process, by which others find out whether they reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landmark {
    /// The process's number, as the one that probes sees it; 0 or less: it can't see it.
    pub pid: i32,
    /// Where eight bytes lie that have the value `nonce`.
    pub nonce_at: u64,
    /// Where eight bytes lie that may be overwritten, and are not looked at.
    pub scratch_at: u64,
    /// A number that no other process has at this place.
    pub nonce: u64,
}

/// Copies `len` bytes between `local` and `remote` in process `pid`.
///
/// # Errors
/// What the system says: EPERM and ENOSYS where it refuses, ESRCH where there is no such process,
/// EFAULT where a part of the remote range is not there. Some of the bytes may have been copied.
///
/// # Safety
/// `local` is valid for `len` bytes, writable for [`Access::Read`].
pub unsafe fn copy(access: Access, pid: i32, local: *mut u8, remote: u64, len: usize) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let step = (len - done).min(STEP);
        // SAFETY: `done + step ≤ len`.
        let here = libc::iovec { iov_base: unsafe { local.add(done) }.cast(), iov_len: step };
        let Some(at) = usize::try_from(remote).ok().and_then(|r| r.checked_add(done)) else {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        };
        let there = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: step };
        // SAFETY: both vectors have one entry; the local range is valid by the promise of this
        // function's caller; the kernel checks the remote one.
        let n = unsafe {
            match access {
                Access::Read => libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0),
                Access::Write => libc::process_vm_writev(pid, &raw const here, 1, &raw const there, 1, 0),
            }
        };
        match n {
            -1 => {
                let e = io::Error::last_os_error();
                if e.raw_os_error() != Some(libc::EINTR) {
                    return Err(e);
                }
            }
            // The kernel stops short at an unmapped page and says EFAULT only when nothing was
            // copied.
            0 => return Err(io::Error::from_raw_os_error(libc::EFAULT)),
            n => done += n as usize,
        }
    }
    Ok(())
}

/// Whether the process of a landmark, which was [probed](probe) once, is still there, as far as can
/// be told: another one may have its number by now. One system call.
#[must_use]
pub fn is_there(there: &Landmark) -> bool {
    let mut word = 0u64;
    // SAFETY: `word` has eight bytes that may be written.
    match unsafe { copy(Access::Read, there.pid, (&raw mut word).cast(), there.nonce_at, 8) } {
        Ok(()) => word == there.nonce,
        // A refusal says nothing, and the copy that follows meets it, too.
        Err(e) => !matches!(e.raw_os_error(), Some(libc::ESRCH | libc::EFAULT)),
    }
}

/// Tries both ways on the process of a landmark. `mark` is what is written.
///
/// # Errors
/// Why it can't be done, as the end of a sentence that begins with "cross-memory attach".
pub fn probe(there: &Landmark, mark: u64) -> Result<(), String> {
    if there.pid <= 0 {
        return Err("impossible: the peer lives in another process-number namespace".into());
    }
    let refused = |e: io::Error| {
        let name = match e.raw_os_error() {
            Some(libc::EPERM) => "EPERM".to_owned(),
            Some(libc::ENOSYS) => "ENOSYS".to_owned(),
            Some(libc::EACCES) => "EACCES".to_owned(),
            _ => e.to_string(),
        };
        format!("refused ({name})")
    };
    let (mut word, mut mark) = (0u64, mark);
    // SAFETY: `word` has eight bytes that may be written.
    unsafe { copy(Access::Read, there.pid, (&raw mut word).cast(), there.nonce_at, 8) }.map_err(refused)?;
    // Before anything is written: this must be the process that was meant.
    if word != there.nonce {
        return Err("reached the wrong process".into());
    }
    // SAFETY: `mark` has eight bytes that may be read.
    unsafe { copy(Access::Write, there.pid, (&raw mut mark).cast(), there.scratch_at, 8) }.map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of this process, which may always copy from itself.
    fn landmark(nonce: &u64, scratch: &mut u64) -> Landmark {
        Landmark {
            pid: std::process::id() as i32,
            nonce_at: (&raw const *nonce).addr() as u64,
            scratch_at: (&raw mut *scratch).addr() as u64,
            nonce: *nonce,
        }
    }

    #[test]
    fn a_process_is_told_from_others_by_its_nonce() {
        let (nonce, mut scratch) = (0x1234_5678_9abc_def0, 0);
        let there = landmark(&nonce, &mut scratch);
        match probe(&there, 77) {
            Ok(()) => {}
            Err(why) if why.contains("EPERM") || why.contains("ENOSYS") => {
                eprintln!("SKIPPED: cross-memory attach is {why} here");
                return;
            }
            Err(why) => panic!("{why}"),
        }
        // SAFETY: the word is alive; the kernel wrote to it.
        assert_eq!(unsafe { (&raw const scratch).read_volatile() }, 77);
        assert!(is_there(&there) && !is_there(&Landmark { nonce: 1, ..there }));
        assert!(!is_there(&Landmark { nonce_at: 8, ..there }), "nothing is there");
        let why = probe(&Landmark { nonce: 1, ..there }, 78).expect_err("another nonce");
        assert!(why.contains("wrong process"), "{why}");
        // SAFETY: the word is alive; nobody may have written to it since.
        assert_eq!(unsafe { (&raw const scratch).read_volatile() }, 77);
        let why = probe(&Landmark { nonce_at: 8, ..there }, 78).expect_err("nothing is there");
        assert!(why.contains("refused"), "{why}");
        for pid in [0, -1] {
            let why = probe(&Landmark { pid, ..there }, 78).expect_err("no such number");
            assert!(why.contains("namespace"), "{why}");
        }
    }

    #[test]
    fn ranges_beyond_the_address_space_are_refused() {
        let mut byte = 0u8;
        for remote in [u64::MAX, 0] {
            // SAFETY: one byte is there.
            let result = unsafe { copy(Access::Read, std::process::id() as i32, &raw mut byte, remote, 1) };
            assert!(result.is_err(), "{remote:#x}");
        }
    }
}
