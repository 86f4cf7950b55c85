//! Datagrams whose bytes are not copied: the kernel keeps references to the sender's pages instead.
//!
//! Pages go into a pipe (`vmsplice`), and from there into the socket (`splice`). What else the
//! kernel has for this, `MSG_ZEROCOPY`, copies after all where both ends are on one machine.

use super::{Socket, check, own};
use lapis_core::transport::{DatagramBatch, RawSlice};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Pieces that the kernel hands from a pipe to a socket at once; more become a datagram whose
/// checksum it computes.
const PIECES: usize = 16;

const PAGE: usize = 4096;

/// A pipe, empty between two datagrams.
pub(crate) struct Pages {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pages {
    pub(crate) fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) })?;
        let pages = Self { read: own(ends[0]), write: own(ends[1]) };
        // SAFETY: a call without pointers. A user with many pipes gets smaller ones.
        let room = check(unsafe { libc::fcntl(pages.write.as_raw_fd(), libc::F_GETPIPE_SZ) })?;
        if (room as usize) < PIECES * PAGE {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "pipes are too small"));
        }
        Ok(pages)
    }

    /// Whether a datagram of these slices passes in one piece.
    pub(crate) fn have_room_for(&self, slices: &[RawSlice]) -> bool {
        let pieces = |slice: &RawSlice| {
            if is_lent(slice) { (slice.ptr.addr() % PAGE + slice.len).div_ceil(PAGE) } else { 1 }
        };
        slices.iter().map(pieces).sum::<usize>() <= PIECES
    }

    /// Sends a datagram to where the socket is connected to. After an error part of it may be left
    /// here.
    ///
    /// # Safety
    /// The slices are readable.
    pub(crate) unsafe fn send(&mut self, socket: &Socket, slices: &[RawSlice]) -> io::Result<()> {
        let mut total = 0;
        for slice in slices {
            let vector = libc::iovec { iov_base: slice.ptr.cast(), iov_len: slice.len };
            let write = self.write.as_raw_fd();
            // SAFETY: the caller's promise. Pages that change later spoil nothing but this
            // datagram.
            let taken = unsafe {
                if is_lent(slice) {
                    libc::vmsplice(write, &raw const vector, 1, libc::SPLICE_F_NONBLOCK)
                } else {
                    libc::write(write, vector.iov_base, vector.iov_len)
                }
            };
            whole(taken, slice.len)?;
            total += slice.len;
        }
        let (none, flags) = (std::ptr::null_mut(), libc::SPLICE_F_NONBLOCK);
        // SAFETY: no offsets are passed.
        let sent = unsafe { libc::splice(self.read.as_raw_fd(), none, socket.fd(), none, total, flags) };
        whole(sent, total)
    }
}

fn is_lent(slice: &RawSlice) -> bool {
    slice.len >= DatagramBatch::LENT_FROM
}

/// A call that did only part of what it should is as good as refused.
fn whole(done: isize, wanted: usize) -> io::Result<()> {
    match usize::try_from(done) {
        Ok(done) if done == wanted => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
