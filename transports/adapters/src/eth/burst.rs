//! Many datagrams to one peer at once.
//!
//! The kernel takes a frame of an AF_XDP socket for itself: it makes a buffer for each and takes it
//! through its layers by itself. What an ordinary UDP socket sends with `UDP_SEGMENT` goes through
//! them as one buffer, which is cut where the hardware begins. Where there is none, as between two
//! ends of a virtual Ethernet, nobody cuts it, and it arrives in one piece. So only a peer that
//! says that it takes such pieces ([`Wire::joins`]) is sent to like this.
//!
//! The socket receives nothing: what is sent to its port is not for it, and it has room for next to
//! nothing.

use crate::eth::Wire;
use crate::eth::frame::{OURS, mark_of_many};
use lapis_core::transport::Segments;
use rustix::net::sockopt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;

/// The most datagrams that the kernel takes at once.
const MOST: usize = 64;
/// The most bytes that it takes at once: with all heads below 64 KiB, from which on it cuts itself.
const LONGEST: usize = 65_400;

/// See the module.
#[derive(Debug)]
pub struct Burst {
    socket: UdpSocket,
    tag: [u8; 8],
    mark: [u8; OURS],
    /// Bytes of each datagram.
    each: usize,
    datagrams: usize,
    parts: Vec<libc::iovec>,
}

// SAFETY: the pointers are those of one burst, which its caller vouches for at each `send`.
unsafe impl Send for Burst {}

fn option(socket: &UdpSocket, level: libc::c_int, name: libc::c_int, value: u32) -> io::Result<()> {
    let (value, len) = ((&raw const value).cast(), size_of_val(&value) as libc::socklen_t);
    // SAFETY: the value is there for the call, with the length that is said.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value, len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Burst {
    /// To this window, from the interface of `wire`.
    pub(super) fn open(wire: &Wire, to: SocketAddr, tag: [u8; 8]) -> io::Result<Self> {
        let socket = UdpSocket::bind((wire.address, 0))?;
        option(&socket, libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX, wire.index)?;
        sockopt::set_socket_recv_buffer_size(&socket, 1)?;
        socket.connect(to)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, tag, mark: [0; OURS], each: 0, datagrams: 0, parts: Vec::new() })
    }

    /// How many datagrams of this length leave at once.
    pub fn most(each: usize) -> usize {
        MOST.min(LONGEST / (each + OURS))
    }

    /// Begins with datagrams of so many bytes each; the last one may be shorter.
    pub fn begin(&mut self, each: usize) {
        self.mark = mark_of_many(self.tag, each as u16);
        (self.each, self.datagrams) = (each, 0);
        self.parts.clear();
    }

    /// Begins the next datagram.
    pub fn start(&mut self) {
        self.add(self.mark.as_ptr(), OURS);
        self.datagrams += 1;
    }

    /// Adds bytes to the datagram.
    pub fn add(&mut self, bytes: *const u8, len: usize) {
        if len == 0 {
            return;
        }
        self.parts.push(libc::iovec { iov_base: bytes.cast_mut().cast(), iov_len: len });
    }

    /// Sends what was added, and answers how many datagrams that were.
    ///
    /// # Safety
    /// It is readable.
    pub(super) unsafe fn send(&mut self) -> io::Result<u64> {
        let mut segments = Segments::new();
        // SAFETY: plain data, valid as zeros.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = self.parts.as_mut_ptr();
        header.msg_iovlen = self.parts.len() as _;
        segments.cut(&mut header, (self.each + OURS) as u16);
        // SAFETY: all that the header names is valid for the call, by the caller's promise.
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(self.datagrams as u64) }
    }
}
