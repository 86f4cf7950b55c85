//! The socket to the launcher, with deadlines.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::bootstrap::Address;
use crate::bootstrap::client::timespec;
use crate::bootstrap::error::BootstrapError;

/// Longest message that is believed.
const MAX: usize = 1 << 20;

pub(super) struct Link {
    fd: OwnedFd,
    inbox: Vec<u8>,
}

impl Link {
    /// The descriptor that the launcher has left open.
    pub(super) fn of_descriptor(fd: RawFd) -> Result<Self, BootstrapError> {
        // SAFETY: fcntl looks at a number; it is only believed to be a descriptor if the kernel
        // says so.
        let open = fd > 2 && unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
        if !open {
            return Err(BootstrapError::NoService {
                announced: format!("a launcher at descriptor {fd} (PMI_FD={fd})"),
                remedy: "that descriptor is not open here: let the launcher start the program itself, or something that \
                         passes descriptors on; or unset PMI_FD if each process is a job of its own"
                    .into(),
            });
        }
        // A copy of our own: an MPI library in this process may close the launcher's.
        // SAFETY: the descriptor is open, as was just seen; it is borrowed for the copy only.
        let copy = rustix::io::fcntl_dupfd_cloexec(unsafe { BorrowedFd::borrow_raw(fd) }, 3);
        let fd = copy.map_err(|e| system("copying the launcher's descriptor", e.into()))?;
        Ok(Self { fd, inbox: Vec::new() })
    }

    /// A connection to the launcher's port.
    pub(super) fn to_port(host: &str, port: u16, patience: Duration) -> Result<Self, BootstrapError> {
        let address = Address::Tcp { host: host.into(), port };
        let fd = address.connect(patience).map_err(|source| BootstrapError::Unreachable {
            address: address.to_string(),
            waited: patience,
            attempts: 1,
            source,
            remedy: "PMI_PORT names the launcher's port: check that the launcher still runs",
        })?;
        Ok(Self { fd, inbox: Vec::new() })
    }

    pub(super) fn send(&mut self, bytes: &[u8], during: &str) -> Result<(), BootstrapError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::net::send(&self.fd, rest, rustix::net::SendFlags::NOSIGNAL) {
                Ok(n) => rest = &rest[n..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    let _ = rustix::event::poll(&mut [PollFd::new(&self.fd, PollFlags::OUT)], None);
                }
                Err(e) => return Err(lost(during, e.into())),
            }
        }
        Ok(())
    }

    /// A message: `whole` says how long it is once enough of it is there.
    pub(super) fn receive(
        &mut self,
        during: &str,
        patience: Duration,
        whole: impl Fn(&[u8]) -> Result<Option<usize>, BootstrapError>,
    ) -> Result<Vec<u8>, BootstrapError> {
        let start = Instant::now();
        loop {
            if let Some(length) = whole(&self.inbox)?
                && self.inbox.len() >= length
            {
                return Ok(self.inbox.drain(..length).collect());
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() || self.inbox.len() > MAX {
                return Err(BootstrapError::Timeout {
                    during: during.into(),
                    waited: patience,
                    detail: "the launcher does not answer, or not all tasks of the job have come".into(),
                });
            }
            let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
            let _ = rustix::event::poll(&mut fds, Some(&timespec(left)));
            if fds[0].revents().is_empty() {
                continue;
            }
            let mut chunk = [0u8; 4096];
            match rustix::io::read(&self.fd, &mut chunk) {
                Ok(0) => return Err(lost(during, io::ErrorKind::UnexpectedEof.into())),
                Ok(n) => self.inbox.extend_from_slice(&chunk[..n]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(e) => return Err(lost(during, e.into())),
            }
        }
    }

    /// A line, without its end.
    pub(super) fn line(&mut self, during: &str, patience: Duration) -> Result<String, BootstrapError> {
        let line = self
            .receive(during, patience, |inbox| Ok(inbox.iter().position(|&b| b == b'\n').map(|at| at + 1)))?;
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn system(what: &str, source: io::Error) -> BootstrapError {
    BootstrapError::System { what: what.into(), source }
}

fn lost(during: &str, source: io::Error) -> BootstrapError {
    BootstrapError::ServerLost { address: "the launcher's PMI socket".into(), during: during.into(), source }
}
