//! The handshake: how a segment's descriptor gets to a peer.
//!
//! Each task listens on an abstract socket. A peer connects, sends one message with its memory file
//! attached, and disconnects. The kernel queues this until the listener polls. The message carries
//! an authenticator keyed with the job's secret, and the kernel identifies the sender
//! (SO_PEERCRED). Other users and other jobs are refused.

use crate::layout::VERSION;
use crate::sys::{self, check};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Instant;

/// Length of an encoded greeting.
const LEN: usize = 8 + 4 * 5 + 8 + 32;
const MAGIC: &[u8; 8] = b"LapisHi\x01";

/// Who greets whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) context: u32,
    /// Of the sender.
    pub(crate) incarnation: u32,
    /// Length of the attached segment.
    pub(crate) total: u64,
}

/// The job's name and secret.
pub(crate) struct Key {
    job: String,
    secret: [u8; 32],
}

impl Key {
    pub(crate) fn new(job: &str, secret: &[u8; 32]) -> Self {
        Self { job: job.to_owned(), secret: *secret }
    }

    /// A keyed authenticator of `bytes` in this job.
    pub(crate) fn tag(&self, bytes: &[u8]) -> [u8; 32] {
        let mut tag = [0; 32];
        for (half, out) in self.secret.chunks_exact(16).zip(tag.chunks_exact_mut(16)) {
            let mut key = [0; 16];
            key.copy_from_slice(half);
            let mut hasher = SipHasher24::new_with_key(&key);
            hasher.write_usize(self.job.len());
            hasher.write(self.job.as_bytes());
            hasher.write(bytes);
            out.copy_from_slice(&hasher.finish128().as_bytes());
        }
        tag
    }
}

impl Hello {
    fn encode(&self, key: &Key) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..8].copy_from_slice(MAGIC);
        for (i, word) in [VERSION, self.from, self.to, self.context, self.incarnation].into_iter().enumerate()
        {
            out[8 + 4 * i..12 + 4 * i].copy_from_slice(&word.to_le_bytes());
        }
        out[28..36].copy_from_slice(&self.total.to_le_bytes());
        let tag = key.tag(&out[..36]);
        out[36..].copy_from_slice(&tag);
        out
    }

    fn decode(bytes: &[u8], key: &Key) -> Result<Self, &'static str> {
        if bytes.len() != LEN || &bytes[..8] != MAGIC {
            return Err("it is not a greeting");
        }
        // Compared without an early end, so that its duration tells nothing.
        let wrong = key.tag(&bytes[..36]).iter().zip(&bytes[36..]).fold(0, |w, (a, b)| w | (a ^ b));
        if wrong != 0 {
            return Err("its authenticator is not of this job");
        }
        let word = |i: usize| {
            u32::from_le_bytes([bytes[8 + 4 * i], bytes[9 + 4 * i], bytes[10 + 4 * i], bytes[11 + 4 * i]])
        };
        if word(0) != VERSION {
            return Err("its version differs");
        }
        let total = u64::from(u32::from_le_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]))
            | u64::from(u32::from_le_bytes([bytes[32], bytes[33], bytes[34], bytes[35]])) << 32;
        Ok(Self { from: word(1), to: word(2), context: word(3), incarnation: word(4), total })
    }
}

/// Who is at the other end of a socket, by the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) pid: i32,
    pub(crate) uid: u32,
}

fn credentials(fd: RawFd) -> io::Result<Credentials> {
    let mut c = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: buffer and length fit together.
    check(unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut c).cast(), &raw mut len).into()
    })?;
    Ok(Credentials { pid: c.pid, uid: c.uid })
}

/// A descriptor for the process at the other end: exact where the kernel offers it (Linux 6.5),
/// else by its number.
fn peer_pidfd(fd: RawFd, pid: i32) -> io::Result<OwnedFd> {
    const SO_PEERPIDFD: i32 = 77;
    let mut pidfd: RawFd = -1;
    let mut len = size_of::<RawFd>() as libc::socklen_t;
    // SAFETY: buffer and length fit together; a descriptor that the kernel gives is ours.
    unsafe {
        if libc::getsockopt(fd, libc::SOL_SOCKET, SO_PEERPIDFD, (&raw mut pidfd).cast(), &raw mut len) == 0 {
            return Ok(OwnedFd::from_raw_fd(pidfd));
        }
    }
    let e = io::Error::last_os_error();
    match e.raw_os_error() {
        Some(libc::ENOPROTOOPT | libc::EINVAL | libc::EOPNOTSUPP) => sys::pidfd_open(pid),
        _ => Err(e),
    }
}

fn abstract_address(name: &str) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: plain data.
    let mut a: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    a.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The leading NUL makes it abstract: no file, and gone with its last descriptor.
    for (to, from) in a.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let len = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    (a, len as libc::socklen_t)
}

fn socket(kind: i32) -> io::Result<OwnedFd> {
    // SAFETY: a call without pointers; the descriptor is fresh.
    unsafe {
        let fd =
            check(libc::socket(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0).into())?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

fn bind(fd: RawFd, name: &str) -> io::Result<()> {
    let (a, len) = abstract_address(name);
    // SAFETY: address and length fit together.
    check(unsafe { libc::bind(fd, (&raw const a).cast(), len).into() }).map(drop)
}

/// The name of the wake-up socket that belongs to a listening socket.
fn wake_name(name: &str) -> String {
    format!("{name}.w")
}

/// A socket on which wake-ups arrive.
pub(crate) fn wake_socket(name: &str) -> io::Result<OwnedFd> {
    let fd = socket(libc::SOCK_DGRAM)?;
    bind(fd.as_raw_fd(), &wake_name(name))?;
    Ok(fd)
}

/// An unbound socket to send wake-ups with.
pub(crate) fn ringer() -> io::Result<OwnedFd> {
    socket(libc::SOCK_DGRAM)
}

/// Wakes whoever sleeps on the wake-up socket that belongs to `name`. A full queue wakes as well.
pub(crate) fn ring(ringer: RawFd, name: &str) {
    let (a, len) = abstract_address(&wake_name(name));
    let byte = 0u8;
    // SAFETY: all ranges are valid for the call.
    unsafe {
        libc::sendto(ringer, (&raw const byte).cast(), 1, libc::MSG_NOSIGNAL, (&raw const a).cast(), len)
    };
}

/// Empties a wake-up socket.
pub(crate) fn drain(fd: RawFd) {
    let mut byte = [0u8; 8];
    // SAFETY: the buffer is valid; the socket does not block.
    while unsafe { libc::recv(fd, byte.as_mut_ptr().cast(), byte.len(), 0) } >= 0 {}
}

/// Listens under `name`.
pub(crate) fn listen(name: &str) -> io::Result<OwnedFd> {
    let fd = socket(libc::SOCK_SEQPACKET)?;
    bind(fd.as_raw_fd(), name)?;
    // SAFETY: a call without pointers.
    check(unsafe { libc::listen(fd.as_raw_fd(), 4096).into() })?;
    Ok(fd)
}

/// What came of a greeting.
pub(crate) enum Greeted {
    /// Delivered; here is a descriptor for the listener's process.
    Yes(Credentials, io::Result<OwnedFd>),
    /// The listener's queue is full, or too many descriptors are under way: later.
    Later,
}

/// Greets the listener under `name` and leaves `segment` with it, if its user is `uid`.
pub(crate) fn greet(name: &str, uid: u32, hello: &Hello, key: &Key, segment: RawFd) -> io::Result<Greeted> {
    let fd = socket(libc::SOCK_SEQPACKET)?;
    let (a, len) = abstract_address(name);
    // SAFETY: address and length fit together.
    if let Err(e) = check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const a).cast(), len).into() }) {
        return if e.raw_os_error() == Some(libc::EAGAIN) { Ok(Greeted::Later) } else { Err(e) };
    }
    let who = credentials(fd.as_raw_fd())?;
    if who.uid != uid {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("user {} listens there", who.uid),
        ));
    }
    let bytes = hello.encode(key);
    let mut iov = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut space = [0u64; 4];
    // SAFETY: the message is built as cmsg(3) says: one header with one descriptor, in a buffer
    // that is long enough.
    let sent = unsafe {
        let mut m: libc::msghdr = std::mem::zeroed();
        m.msg_iov = &raw mut iov;
        m.msg_iovlen = 1;
        m.msg_control = space.as_mut_ptr().cast();
        m.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let c = libc::CMSG_FIRSTHDR(&raw const m);
        (*c).cmsg_level = libc::SOL_SOCKET;
        (*c).cmsg_type = libc::SCM_RIGHTS;
        (*c).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(c).cast::<RawFd>().write_unaligned(segment);
        check(libc::sendmsg(fd.as_raw_fd(), &raw const m, libc::MSG_NOSIGNAL) as libc::c_long)
    };
    match sent {
        Ok(_) => Ok(Greeted::Yes(who, peer_pidfd(fd.as_raw_fd(), who.pid))),
        // The listener may have taken us for a stranger who says nothing, if we were slow.
        Err(e)
            if matches!(
                e.raw_os_error(),
                Some(libc::EAGAIN | libc::ETOOMANYREFS | libc::ENOBUFS | libc::EPIPE | libc::ECONNRESET)
            ) =>
        {
            Ok(Greeted::Later)
        }
        Err(e) => Err(e),
    }
}

/// Somebody who has connected but whose greeting has not been read yet.
pub(crate) struct Caller {
    fd: OwnedFd,
    who: Credentials,
    /// When it came in.
    pub(crate) since: Instant,
}

/// Who stood at the door.
pub(crate) enum Accepted {
    Caller(Caller),
    /// Another user, or somebody who has left again.
    Stranger,
    Nobody,
}

/// Whether no descriptor is left.
pub(crate) fn is_full(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// The next caller, if there is one. One of another user is sent away.
pub(crate) fn accept(listener: RawFd, uid: u32) -> io::Result<Accepted> {
    loop {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a call without addresses; the descriptor is fresh.
        let fd = match check(unsafe {
            libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags).into()
        }) {
            // SAFETY: the kernel has just made the descriptor, and nobody else has it.
            Ok(fd) => unsafe { OwnedFd::from_raw_fd(fd as RawFd) },
            Err(e) => match e.raw_os_error() {
                Some(libc::EAGAIN) => return Ok(Accepted::Nobody),
                Some(libc::EINTR) => continue,
                Some(libc::ECONNABORTED) => return Ok(Accepted::Stranger),
                _ => return Err(e),
            },
        };
        let who = credentials(fd.as_raw_fd())?;
        let caller = Caller { fd, who, since: Instant::now() };
        return Ok(if who.uid == uid { Accepted::Caller(caller) } else { Accepted::Stranger });
    }
}

/// What a caller said.
pub(crate) enum Said {
    /// Nothing yet.
    Wait,
    /// Its greeting, its segment, who it is.
    Hello(Hello, OwnedFd, Credentials),
    /// Nothing that we want to hear.
    Nonsense(&'static str),
    /// The segment's descriptor did not fit into the table.
    NoDescriptor,
}

impl Caller {
    pub(crate) fn read_greeting(&self, key: &Key) -> io::Result<Said> {
        let mut bytes = [0u8; LEN + 1];
        let mut iov = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut space = [0u64; 4];
        // SAFETY: the message has one buffer and room for one descriptor, both of which outlive the
        // call; every descriptor received is taken over at once.
        let (n, flags, fd) = unsafe {
            let mut m: libc::msghdr = std::mem::zeroed();
            m.msg_iov = &raw mut iov;
            m.msg_iovlen = 1;
            m.msg_control = space.as_mut_ptr().cast();
            m.msg_controllen = libc::CMSG_SPACE(4) as usize;
            let n = libc::recvmsg(self.fd.as_raw_fd(), &raw mut m, libc::MSG_CMSG_CLOEXEC);
            if n < 0 {
                let e = io::Error::last_os_error();
                return if e.raw_os_error() == Some(libc::EAGAIN) { Ok(Said::Wait) } else { Err(e) };
            }
            let c = libc::CMSG_FIRSTHDR(&raw const m);
            let one = !c.is_null()
                && (*c).cmsg_level == libc::SOL_SOCKET
                && (*c).cmsg_type == libc::SCM_RIGHTS
                && (*c).cmsg_len == libc::CMSG_LEN(4) as usize;
            let fd = one.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(c).cast::<RawFd>().read_unaligned()));
            (n as usize, m.msg_flags, fd)
        };
        match Hello::decode(&bytes[..n.min(LEN + 1)], key) {
            Err(why) => Ok(Said::Nonsense(why)),
            Ok(hello) => match fd {
                Some(fd) => Ok(Said::Hello(hello, fd, self.who)),
                None if flags & libc::MSG_CTRUNC != 0 => Ok(Said::NoDescriptor),
                None => Ok(Said::Nonsense("it brought no segment")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Hello = Hello { from: 1, to: 2, context: 3, incarnation: 4, total: 1 << 40 };

    #[test]
    fn greetings_of_the_job_are_believed_and_no_others() {
        let key = Key::new("job", &[7; 32]);
        let bytes = HELLO.encode(&key);
        assert_eq!(Hello::decode(&bytes, &key), Ok(HELLO));
        for i in 0..LEN {
            let mut bad = bytes;
            bad[i] ^= 1;
            assert!(Hello::decode(&bad, &key).is_err(), "byte {i} may be changed");
            assert!(Hello::decode(&bytes[..i], &key).is_err());
        }
        let mut secret = [7; 32];
        secret[31] = 8;
        assert!(Hello::decode(&bytes, &Key::new("job", &secret)).is_err());
        assert!(Hello::decode(&bytes, &Key::new("jobs", &[7; 32])).is_err());
    }
}
