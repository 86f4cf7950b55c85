//! Messages with descriptors over a UNIX socket: each message is a packet of its own.

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::net::sockopt::{Timeout, set_socket_passcred, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg,
    sendmsg, shutdown, socket_with,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Descriptors that a message may have: as many as the kernel passes, SCM_MAX_FD. Of more than a
/// receiver has room for it would close the rest itself, at once.
pub const MAX_FDS: usize = 253;

const _: () = assert!(3 + 2 * crate::eth::MOST_QUEUES as usize <= MAX_FDS);

/// The shortest time that a socket can be told to wait: none is for ever.
const SHORTEST: Duration = Duration::from_millis(1);

/// `unix(7)` calls it SIOCOUTQ.
const TIOCOUTQ: Opcode = libc::TIOCOUTQ as Opcode;

/// Of `asm-generic/socket.h`; the libc crate has no name for it.
const SO_PASSRIGHTS: libc::c_int = 83;

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

    pub(crate) fn socket_address(&self) -> io::Result<SocketAddrUnix> {
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

pub(crate) fn socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Whether descriptors may be sent to a socket: to a connected one, or to those that will connect
/// to a listener. Before Linux 6.16 they always may. Answers whether the kernel does as it is told.
pub fn let_descriptors_in(socket: impl AsFd, may: bool) -> bool {
    let may = libc::c_int::from(may);
    // SAFETY: the value lives during the call, and has the length that is told.
    let set = unsafe {
        let (fd, len) = (socket.as_fd().as_raw_fd(), size_of_val(&may) as libc::socklen_t);
        libc::setsockopt(fd, libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw const may).cast(), len)
    };
    set == 0
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
        let (address, begun) = (to.socket_address()?, Instant::now());
        // To connect takes as long as it takes to be queued there. A signal ends the wait, whatever
        // its handler was installed with.
        let mut left = patience;
        loop {
            set_socket_timeout(&socket, Timeout::Send, Some(left))?;
            match connect(&socket, &address) {
                Err(Errno::INTR) => left = patience.saturating_sub(begun.elapsed()).max(SHORTEST),
                Err(Errno::AGAIN) => {
                    let text = "as many clients as may already wait for it";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                connected => {
                    connected?;
                    break;
                }
            }
        }
        let channel = Self(socket);
        channel.be_patient(patience)?;
        Ok(channel)
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// Nobody listens there, or not to this user, or takes no more clients at present.
    pub fn connect_at_once(to: &Address) -> io::Result<Self> {
        let (socket, address) = (socket()?, to.socket_address()?);
        rustix::io::ioctl_fionbio(&socket, true)?;
        connect(&socket, &address)?;
        rustix::io::ioctl_fionbio(&socket, false)?;
        Ok(Self(socket))
    }

    /// From now on waits for each message for so long at most.
    ///
    /// # Errors
    /// What the system says.
    pub fn be_patient(&self, patience: Duration) -> io::Result<()> {
        set_socket_timeout(&self.0, Timeout::Recv, Some(patience))?;
        Ok(set_socket_timeout(&self.0, Timeout::Send, Some(patience))?)
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

    /// See [`let_descriptors_in`].
    pub fn let_descriptors_in(&self, may: bool) -> bool {
        let_descriptors_in(&self.0, may)
    }

    /// Ends the conversation, as the other end sees it. What is left is to close the descriptor.
    pub fn hang_up(self) -> OwnedFd {
        let _ = shutdown(&self.0, Shutdown::Both);
        self.0
    }

    /// The same, and closes the connection if that takes no time: nothing with descriptors waits to
    /// be received. If something does, the connection is the caller's to close.
    pub fn hang_up_and_close(self) -> Option<OwnedFd> {
        // From now on nobody sends to it.
        let connection = self.hang_up();
        // With its sender's credentials each message differs from none, also one without bytes.
        let may_hold = set_socket_passcred(&connection, true).is_err() || holds_descriptors(&connection);
        may_hold.then_some(connection)
    }
}

/// Whether a message with descriptors waits at a connection whose messages have credentials. Those
/// before it are lost.
fn holds_descriptors(connection: &OwnedFd) -> bool {
    /// More messages than the kernel lets wait.
    const MOST: u32 = 1024;
    let look = |flags| {
        // Has no room for descriptors, so that none is made.
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let message = recvmsg(connection, &mut [IoSliceMut::new(&mut [0])], &mut control, flags)?;
        Ok::<_, Errno>((control.drain().count() > 0, message.flags.contains(ReturnFlags::CTRUNC)))
    };
    for _ in 0..MOST {
        match look(RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((false, false)) | Err(Errno::AGAIN | Errno::CONNRESET) => return false,
            Ok((true, false)) => {
                // It has none, and makes way for the next one.
                let _ = look(RecvFlags::DONTWAIT);
            }
            _ => return true,
        }
    }
    true
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::listener::Listener;
    use lapis_patience::Patience;
    use std::sync::mpsc;

    /// With a time-out, connect(2) ends at each signal, whatever SA_RESTART says.
    #[test]
    fn signals_neither_end_nor_prolong_the_wait_for_who_takes_no_clients() {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: zeroes are a valid action, and the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
        }
        let at = Address::new(&format!("lapis-channel-signals-{}", std::process::id()));
        let listener = Listener::bind(&at).expect("free");
        listener.listen().expect("bound");
        let mut queued = Vec::new();
        while let Ok(client) = Channel::connect(&at, Duration::from_millis(1)) {
            queued.push(client);
        }
        let (tell, told) = mpsc::channel();
        let waits = std::thread::spawn(move || {
            // SAFETY: a call without arguments.
            let me = unsafe { libc::pthread_self() };
            tell.send(me).expect("is there");
            Channel::connect(&at, Duration::from_millis(300)).expect_err("the queue is full").kind()
        });
        let thread = told.recv().expect("it has begun");
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while !waits.is_finished() {
            assert!(!patience.is_over(), "signals keep it waiting");
            // SAFETY: the thread has not been joined, so that its name is its own.
            unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(waits.join().expect("ends"), io::ErrorKind::TimedOut);
    }

    #[test]
    fn who_takes_no_clients_keeps_nobody_waiting_longer_than_he_will() {
        let at = Address::new(&format!("lapis-channel-full-{}", std::process::id()));
        let listener = Listener::bind(&at).expect("free");
        listener.listen().expect("bound");
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            // More than are queued for him.
            let clients: Vec<_> = (0..200).map(|_| Channel::connect(&at, Duration::from_millis(1))).collect();
            let _ = done.send(clients.iter().filter(|client| client.is_ok()).count());
        });
        let connected = is_done.recv_timeout(Duration::from_secs(20)).expect("nobody waits for ever");
        assert!((1..200).contains(&connected), "{connected}");
    }

    #[test]
    fn connections_over_which_descriptors_were_sent_are_left_to_be_closed_and_no_others() {
        let at = Address::new(&format!("lapis-channel-hang-up-{}", std::process::id()));
        let listener = Listener::bind(&at).expect("free");
        listener.listen().expect("bound");
        let bell = || socket().expect("a socket");
        for (messages, expected) in [
            (&[][..], false),
            (&[("", false), ("x", false), ("", false)], false),
            (&[("x", true)], true),
            (&[("", true)], true),
            (&[("", false), ("xyz", false), ("", false), ("", true)], true),
        ] {
            let near = Channel::connect(&at, Duration::from_secs(60)).expect("listens");
            let far = listener.accept().expect("descriptors").expect("one waits");
            far.let_descriptors_in(true);
            for (text, with) in messages {
                let bell = bell();
                let fds = if *with { &[bell.as_fd()][..] } else { &[] };
                near.send(text.as_bytes(), fds, true).expect("it may");
            }
            assert_eq!(far.hang_up_and_close().is_some(), expected, "{messages:?}");
            assert!(near.send(b"x", &[], true).is_err(), "it has ended");
        }
    }
}
