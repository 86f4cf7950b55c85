//! Where a bootstrap server listens, and the sockets to get there.
//!
//! `unix:@name` is an abstract unix socket (nothing in the file system, gone with its last holder);
//! `tcp:host:port` reaches other machines. All descriptors are close-on-exec and non-blocking.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::str::FromStr;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::error::BootstrapError;

/// How long one of several addresses of a host may take to answer: a packet that is lost is sent
/// again after a second.
const ONE_OF_SEVERAL: Duration = Duration::from_secs(3);

/// Address of a bootstrap server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An abstract unix socket, written `unix:@name`.
    Unix(String),
    /// A TCP port, written `tcp:host:port`; IPv6 hosts stand in brackets.
    Tcp {
        /// Host name or number.
        host: String,
        /// Port; 0 when listening means any.
        port: u16,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(name) => write!(f, "unix:@{name}"),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp:[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp:{host}:{port}"),
        }
    }
}

impl FromStr for Address {
    type Err = BootstrapError;

    fn from_str(text: &str) -> Result<Self, BootstrapError> {
        let bad = |reason| BootstrapError::BadAddress { text: text.to_owned(), reason };
        if let Some(name) = text.strip_prefix("unix:") {
            let name = name.strip_prefix('@').ok_or(bad("a unix name starts with @"))?;
            // sun_path holds 108 bytes and an abstract name spends one of them.
            return match name.len() {
                0 => Err(bad("the unix name is empty")),
                1..=107 => Ok(Self::Unix(name.to_owned())),
                _ => Err(bad("the unix name is longer than 107 bytes")),
            };
        }
        let rest = text.strip_prefix("tcp:").ok_or(bad("neither unix: nor tcp:"))?;
        let (host, port) = rest.rsplit_once(':').ok_or(bad("the port is missing"))?;
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        let port = port.parse().map_err(|_| bad("the port is not a number from 0 to 65535"))?;
        Ok(Self::Tcp { host: host.to_owned(), port })
    }
}

impl Address {
    /// One attempt to connect.
    pub(crate) fn connect(&self, patience: Duration) -> io::Result<OwnedFd> {
        match self {
            Self::Unix(name) => {
                let fd = unix_socket()?;
                rustix::net::connect(&fd, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
                Ok(fd)
            }
            Self::Tcp { host, port } => {
                let targets: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs()?.collect();
                let stream = connect_any(&targets, patience)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
        }
    }
}

/// One attempt to connect to a host that has several addresses, some of which may swallow what is
/// sent there.
fn connect_any(targets: &[SocketAddr], patience: Duration) -> io::Result<TcpStream> {
    let each = if targets.len() > 1 { patience.min(ONE_OF_SEVERAL) } else { patience };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for target in targets {
        match TcpStream::connect_timeout(target, each.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn unix_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// User and process at the other end of a unix socket; `None` for other sockets.
pub(crate) fn peer(fd: BorrowedFd<'_>) -> Option<(u32, u32)> {
    if sockopt::socket_domain(fd).ok()? != AddressFamily::UNIX {
        return None;
    }
    peer_credentials(fd).ok()
}

/// User and process at the other end of a unix socket, as they were when it connected or began to
/// listen. The process is 0 if this one can't see it: it is in another PID namespace.
///
/// # Errors
/// What the system says.
pub fn peer_credentials(fd: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    // Not by rustix, whose number of a process can't be 0.
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes as many bytes as `len` says at most, which the structure has.
    let failed = unsafe {
        let to = (&raw mut peer).cast();
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, to, &raw mut len)
    };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((peer.uid, peer.pid.cast_unsigned()))
}

/// The user this process acts as.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A listening socket and the address at which others find it.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    address: Address,
}

impl Listener {
    /// Listens at `address`; TCP port 0 picks a free port, which [`Listener::address`] then shows.
    pub fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Unix(name) => {
                let fd = unix_socket()?;
                rustix::net::bind(&fd, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
                rustix::net::listen(&fd, 1024)?;
                Ok(Self { fd, address: address.clone() })
            }
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port))?;
                listener.set_nonblocking(true)?;
                let port = listener.local_addr()?.port();
                Ok(Self { fd: listener.into(), address: Address::Tcp { host: host.clone(), port } })
            }
        }
    }

    /// Where others connect to.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Takes the next connection.
    pub(crate) fn accept(&self) -> rustix::io::Result<OwnedFd> {
        let fd = rustix::net::accept_with(&self.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        if matches!(self.address, Address::Tcp { .. }) {
            // Requests are small and each waits for its answer: holding them back would only add
            // delay.
            let _ = sockopt::set_tcp_nodelay(&fd, true);
        }
        Ok(fd)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port whose queue is full swallows connections.
    #[test]
    fn an_address_that_does_not_answer_does_not_hold_up_the_next() {
        let stuck = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        rustix::net::bind(&stuck, &any).unwrap();
        rustix::net::listen(&stuck, 0).unwrap();
        let full: SocketAddr = rustix::net::getsockname(&stuck).unwrap().try_into().unwrap();
        let soon = Duration::from_millis(100);
        let waiting: Vec<_> = std::iter::from_fn(|| TcpStream::connect_timeout(&full, soon).ok()).collect();
        assert!(!waiting.is_empty());
        let open = TcpListener::bind(any).unwrap();
        let there = open.local_addr().unwrap();
        let found = connect_any(&[full, there], Duration::from_secs(86_400)).unwrap();
        assert_eq!(found.peer_addr().unwrap(), there);
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["unix:@lapis/1", "tcp:127.0.0.1:80", "tcp:[::1]:65535", "tcp:node-7:1"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_addresses_are_refused_with_the_syntax() {
        let long = format!("unix:@{}", "x".repeat(108));
        for text in [
            "",
            "unix:",
            "unix:/tmp/x",
            "unix:@",
            "tcp:",
            "tcp:host",
            "tcp::1",
            "tcp:h:99999",
            "udp:h:1",
            &long,
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("unix:@name or tcp:host:port"), "{text}: {error}");
        }
    }
}
