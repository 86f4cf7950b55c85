//! The process behind a connection, in whichever PID name space it is.

use lapis_adapters::channel::Channel;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fmt;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::sync::Arc;

/// A descriptor of the process at the other end (Linux 6.5).
const SO_PEERPIDFD: libc::c_int = 77;

/// See the module. Becomes readable when the process has ended.
#[derive(Clone, Debug)]
pub struct Process {
    descriptor: Arc<OwnedFd>,
    number: u32,
}

impl Process {
    /// The one at the other end, whose number is this: 0 if it is in a PID name space that this
    /// process can't see. Before Linux 6.5 there is no descriptor of such a one.
    pub(crate) fn behind(channel: &Channel, number: u32) -> Option<Self> {
        let by_number = || pidfd_open(Pid::from_raw(number.cast_signed())?, PidfdFlags::empty()).ok();
        let descriptor = Arc::new(descriptor_of_peer(channel.as_fd()).or_else(by_number)?);
        Some(Self { descriptor, number })
    }

    /// Whether it has ended, also if its parent has not asked after it yet.
    pub(crate) fn has_ended(&self) -> bool {
        let mut entry = [PollFd::new(&self.descriptor, PollFlags::IN)];
        matches!(poll(&mut entry, Some(&Timespec::default())), Ok(1..))
    }

    /// Whether it is the one of this number, as far as numbers tell.
    pub(crate) fn is(&self, number: u32) -> bool {
        number != 0 && self.number == number
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => f.write_str("a process of another PID name space"),
            number => write!(f, "process {number}"),
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn descriptor_of_peer(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    let (mut fd, mut len) = (-1, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the kernel writes an int, for which there is room.
    let done = unsafe {
        let to = (&raw mut fd).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PEERPIDFD, to, &raw mut len)
    };
    // SAFETY: the kernel has just made the descriptor for us; it closes on exec.
    (done == 0 && fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}
