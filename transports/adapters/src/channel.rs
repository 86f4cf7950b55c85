//! Messages with descriptors over a UNIX socket: each message is a packet of its own.

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, connect,
    listen, recvmsg, sendmsg, shutdown, socket_with,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// Descriptors that a message may have: as many as the kernel passes, SCM_MAX_FD. Of more than a
/// receiver has room for it would close the rest itself, at once.
pub const MAX_FDS: usize = 253;

const _: () = assert!(3 + 2 * crate::eth::MOST_QUEUES as usize <= MAX_FDS);

/// `unix(7)` calls it SIOCOUTQ.
const TIOCOUTQ: Opcode = libc::TIOCOUTQ as Opcode;

/// Where a daemon listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// The daemon of the host. It listens in the abstract name space, where nothing is left when it
    /// dies.
    pub const HOST: &'static str = "lapis-nsd";

    /// The address that a user writes: a name in the abstract name space, or a path, which has a
    /// slash.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// What a user writes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of the socket, if it has one.
    pub fn path(&self) -> Option<&Path> {
        self.0.contains('/').then(|| Path::new(&self.0))
    }

    fn socket_address(&self) -> io::Result<SocketAddrUnix> {
        Ok(match self.path() {
            Some(path) => SocketAddrUnix::new(path)?,
            None => SocketAddrUnix::new_abstract_name(self.0.as_bytes())?,
        })
    }
}

impl Default for Address {
    fn default() -> Self {
        Self::new(Self::HOST)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A socket that clients connect to.
///
/// # Errors
/// Somebody listens there already, or the system is short of something.
pub fn listener(at: &Address) -> io::Result<OwnedFd> {
    let (socket, address) = (socket()?, at.socket_address()?);
    match (bind(&socket, &address), at.path()) {
        (Err(Errno::ADDRINUSE), Some(path)) if is_left_behind(path, &address) => {
            std::fs::remove_file(path)?;
            bind(&socket, &address)?;
        }
        (bound, _) => bound?,
    }
    listen(&socket, 128)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Whether a path is the socket of somebody who has ended.
fn is_left_behind(path: &Path, address: &SocketAddrUnix) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket());
    let refused = || {
        let socket = socket()?;
        // A daemon that is behind with its clients is there.
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok::<bool, io::Error>(connect(&socket, address) == Err(Errno::CONNREFUSED))
    };
    is_socket && refused().unwrap_or(false)
}

/// One end of a conversation.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Connects to who listens at an address, and waits for that and for each message for so long
    /// at most.
    ///
    /// # Errors
    /// Nobody listens there, or not to this user.
    pub fn connect(to: &Address, patience: Duration) -> io::Result<Self> {
        let socket = socket()?;
        set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
        // To connect takes as long as it takes to be queued there.
        set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
        connect(&socket, &to.socket_address()?)?;
        Ok(Self(socket))
    }

    /// The end behind a connected socket.
    pub fn of(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// User and process at the other end, as they were when it connected or began to listen. The
    /// process is 0 if it is in a PID namespace that this one can't see.
    ///
    /// # Errors
    /// What the system says.
    pub fn peer(&self) -> io::Result<(u32, u32)> {
        lapis_core::bootstrap::peer_credentials(self.0.as_fd())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The other end has gone, or takes nothing more.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>], wait: bool) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut flags = SendFlags::NOSIGNAL;
        flags.set(SendFlags::DONTWAIT, !wait);
        loop {
            match sendmsg(&self.0, &[IoSlice::new(bytes)], &mut control, flags) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Receives a message. Answers its length, 0 if the other end has gone; descriptors that came
    /// with it are put into `fds`, even if it is refused.
    ///
    /// # Errors
    /// Nothing came in time, or the message or its descriptors were too many.
    pub fn receive(&self, bytes: &mut [u8], fds: &mut Vec<OwnedFd>, wait: bool) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut flags = RecvFlags::CMSG_CLOEXEC;
        flags.set(RecvFlags::DONTWAIT, !wait);
        let message = loop {
            match recvmsg(&self.0, &mut [IoSliceMut::new(bytes)], &mut control, flags) {
                Ok(message) => break message,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        };
        fds.clear();
        for item in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = item {
                fds.extend(rights);
            }
        }
        if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a message or its descriptors are too many",
            ));
        }
        Ok(message.bytes)
    }

    /// Bytes of what was sent that the other end has not read, as the kernel counts them: with some
    /// hundred more for each message than it has.
    ///
    /// # Errors
    /// What the system says.
    pub fn unread(&self) -> io::Result<usize> {
        // SAFETY: for a socket this asks for what waits (SIOCOUTQ), and the kernel writes an int.
        let waiting = unsafe { ioctl(&self.0, Getter::<TIOCOUTQ, i32>::new()) }?;
        Ok(usize::try_from(waiting).unwrap_or(0))
    }

    /// Ends the conversation, as the other end sees it. What is left is to close the descriptor.
    pub fn hang_up(self) -> OwnedFd {
        let _ = shutdown(&self.0, Shutdown::Both);
        self.0
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Takes the next client of a listener, if one waits.
///
/// # Errors
/// Descriptors are short.
pub fn accept(listener: impl AsFd) -> io::Result<Option<Channel>> {
    match rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
        Ok(socket) => Ok(Some(Channel(socket))),
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_socket_that_was_left_is_replaced_and_nothing_else_is() {
        let path = std::env::temp_dir().join(format!("lapis-channel-{}", std::process::id()));
        let at = Address::new(&path.to_string_lossy());
        let in_use = || listener(&at).expect_err("taken").kind() == io::ErrorKind::AddrInUse;
        let first = listener(&at).expect("free");
        assert!(in_use(), "somebody listens");
        drop(first);
        let second = listener(&at).expect("nobody listens any more");
        Channel::connect(&at, Duration::from_secs(9)).expect("listens");
        drop(second);
        std::fs::remove_file(&path).expect("it was left again");
        std::fs::write(&path, "not a socket").expect("a file");
        assert!(in_use(), "somebody's file");
        assert_eq!(std::fs::read(&path).expect("is there still"), b"not a socket");
        std::fs::remove_file(&path).expect("ours");
    }

    #[test]
    fn who_takes_no_clients_keeps_nobody_waiting_longer_than_he_will() {
        let at = Address::new(&format!("lapis-channel-full-{}", std::process::id()));
        let _listener = listener(&at).expect("free");
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            // More than are queued for him.
            let clients: Vec<_> = (0..200).map(|_| Channel::connect(&at, Duration::from_millis(1))).collect();
            let _ = done.send(clients.iter().filter(|client| client.is_ok()).count());
        });
        let connected = is_done.recv_timeout(Duration::from_secs(20)).expect("nobody waits for ever");
        assert!((1..200).contains(&connected), "{connected}");
    }
}
