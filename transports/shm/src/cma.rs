//! Cross-memory attach: the kernel copies straight between two address spaces.

use std::io;

/// Bytes per system call: short enough that a signal or a dying peer is noticed, long enough that
/// calls don't count.
const STEP: usize = 64 << 20;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
}

/// Copies `len` bytes between `local` and `remote` in process `pid`.
///
/// # Safety
/// `local` is valid for `len` bytes, writable for [`Way::Read`].
pub(crate) unsafe fn copy(way: Way, pid: i32, local: *mut u8, remote: u64, len: usize) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let step = (len - done).min(STEP);
        // SAFETY: `done + step ≤ len`.
        let here = libc::iovec { iov_base: unsafe { local.add(done) }.cast(), iov_len: step };
        let Some(at) = usize::try_from(remote).ok().and_then(|r| r.checked_add(done)) else {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        };
        let there = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: step };
        // SAFETY: both vectors have one entry; the local range is valid by the caller's promise;
        // the kernel checks the remote one.
        let n = unsafe {
            match way {
                Way::Read => libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0),
                Way::Write => libc::process_vm_writev(pid, &raw const here, 1, &raw const there, 1, 0),
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
