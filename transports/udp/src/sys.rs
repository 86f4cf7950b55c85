//! Every system call of this transport. What fails answers with [`io::Error`].

mod addr;
mod netlink;
mod pages;
mod sleeping;

pub(crate) use addr::RawAddr;
use addr::parse_addr;
pub(crate) use netlink::LinkNews;
pub(crate) use pages::Pages;
pub(crate) use sleeping::{Epoll, EventFd, wait_readable};

use lapis_core::transport::Segments;
use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn own(fd: libc::c_int) -> OwnedFd {
    // SAFETY: the kernel has just given us this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// An address of an interface.
#[derive(Clone, Debug)]
pub(crate) struct InterfaceAddr {
    pub(crate) name: String,
    pub(crate) ip: IpAddr,
    pub(crate) scope: u32,
    pub(crate) prefix: u8,
    pub(crate) loopback: bool,
}

/// Every IP address of every interface that is up.
pub(crate) fn interfaces() -> io::Result<Vec<InterfaceAddr>> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the place is valid; the list is freed below.
    check(unsafe { libc::getifaddrs(&raw mut list) })?;
    let mut found = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: an element of the kernel's list, valid until it is freed.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        let flags = entry.ifa_flags as libc::c_int;
        // Whether there is a carrier is no question yet: the kernel notices it a second late.
        if flags & libc::IFF_UP == 0 {
            continue;
        }
        // SAFETY: addresses of the list are null or valid.
        let (addr, mask) = unsafe { (parse_addr(entry.ifa_addr), parse_addr(entry.ifa_netmask)) };
        let Some(addr) = addr else { continue };
        let prefix = match mask.map(|m| m.ip()) {
            Some(IpAddr::V4(m)) => u32::from(m).count_ones() as u8,
            Some(IpAddr::V6(m)) => u128::from(m).count_ones() as u8,
            None => 0,
        };
        // SAFETY: the name is terminated.
        let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let scope = if let SocketAddr::V6(v6) = addr { v6.scope_id() } else { 0 };
        found.push(InterfaceAddr {
            name,
            ip: addr.ip(),
            scope,
            prefix,
            loopback: flags & libc::IFF_LOOPBACK != 0,
        });
    }
    // SAFETY: the list came from `getifaddrs` and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

fn set_int(fd: RawFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value is valid for the call.
    check(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), len) }).map(drop)
}

fn get_int(fd: RawFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both places are valid for the call.
    check(unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &raw mut len) })?;
    Ok(value)
}

/// A bound UDP socket.
pub(crate) struct Socket {
    fd: OwnedFd,
    v6: bool,
}

impl Socket {
    /// A non-blocking socket bound to an address; the port may be 0.
    pub(crate) fn bind(addr: SocketAddr) -> io::Result<Self> {
        let v6 = addr.is_ipv6();
        let family = if v6 { libc::AF_INET6 } else { libc::AF_INET };
        // SAFETY: a call without pointers.
        let fd = own(check(unsafe {
            libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
        })?);
        let raw = RawAddr::new(addr);
        // SAFETY: the address is valid for the call.
        check(unsafe { libc::bind(fd.as_raw_fd(), raw.ptr(), raw.len) })?;
        Ok(Self { fd, v6 })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        // SAFETY: plain data, valid as zeros.
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let mut len = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: both places are valid for the call; the kernel writes a valid address.
        unsafe {
            check(libc::getsockname(self.fd(), (&raw mut storage).cast(), &raw mut len))?;
            parse_addr((&raw const storage).cast())
        }
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the socket has no IP address"))
    }

    /// Fixes where datagrams go and come from.
    pub(crate) fn connect(&self, addr: SocketAddr) -> io::Result<()> {
        let raw = RawAddr::new(addr);
        // SAFETY: the address is valid for the call.
        check(unsafe { libc::connect(self.fd(), raw.ptr(), raw.len) }).map(drop)
    }

    /// Takes datagrams from anybody again, at the same address.
    pub(crate) fn disconnect(&self, local: SocketAddr) -> io::Result<()> {
        // SAFETY: plain data, valid as zeros.
        let mut nobody: libc::sockaddr = unsafe { zeroed() };
        nobody.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
        let len = size_of::<libc::sockaddr>() as libc::socklen_t;
        // SAFETY: the address is valid for the call.
        check(unsafe { libc::connect(self.fd(), &raw const nobody, len) })?;
        // The kernel takes a port back that it has chosen itself.
        if self.local()?.port() == local.port() {
            return Ok(());
        }
        let raw = RawAddr::new(local);
        // SAFETY: the address is valid for the call, and as long as it says.
        check(unsafe { libc::bind(self.fd(), raw.ptr(), raw.len) }).map(drop)
    }

    /// The path MTU of a connected socket.
    pub(crate) fn path_mtu(&self) -> io::Result<usize> {
        let (level, name) =
            if self.v6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
        get_int(self.fd(), level, name).map(|mtu| mtu as usize)
    }

    /// Datagrams that don't fit the path are refused instead of cut into fragments.
    pub(crate) fn forbid_fragments(&self) -> io::Result<()> {
        if self.v6 {
            set_int(self.fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)
        } else {
            set_int(self.fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)
        }
    }

    /// Asks for buffers of so many bytes, beyond the administrator's limit where we may.
    pub(crate) fn set_buffers(&self, receive: usize, send: usize) {
        for (force, plain, bytes) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, receive), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, send)]
        {
            if set_int(self.fd(), libc::SOL_SOCKET, force, bytes as libc::c_int).is_err() {
                // Cut to the limit by the kernel; what we got is read back.
                let _ = set_int(self.fd(), libc::SOL_SOCKET, plain, bytes as libc::c_int);
            }
        }
    }

    /// The receive buffer, as the kernel accounts it.
    pub(crate) fn receive_buffer(&self) -> io::Result<u32> {
        get_int(self.fd(), libc::SOL_SOCKET, libc::SO_RCVBUF).map(|bytes| bytes as u32)
    }

    /// Several datagrams of one sender may arrive as one, or no longer. Those that are queued stay
    /// as they are.
    pub(crate) fn join(&self, on: bool) -> io::Result<()> {
        set_int(self.fd(), libc::SOL_UDP, libc::UDP_GRO, on.into())
    }

    /// Arrivals carry the number of datagrams that the buffer had no room for since the socket was
    /// opened, or no longer.
    pub(crate) fn report_overflow(&self, on: bool) -> io::Result<()> {
        set_int(self.fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, on.into())
    }

    /// Reads poll the device for so many microseconds.
    pub(crate) fn busy_poll(&self, microseconds: u32) -> io::Result<()> {
        set_int(self.fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds as libc::c_int)
    }

    #[cfg(test)]
    pub(crate) fn busy_poll_time(&self) -> io::Result<libc::c_int> {
        get_int(self.fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL)
    }

    /// Whether the kernel knows sends of several datagrams in one call.
    pub(crate) fn knows_gso(&self) -> bool {
        get_int(self.fd(), libc::SOL_UDP, libc::UDP_SEGMENT).is_ok()
    }

    /// Sends one datagram that lies in one piece, as cheaply as the kernel can.
    ///
    /// # Safety
    /// `len` bytes are readable at `at`.
    #[inline]
    pub(crate) unsafe fn send_one(&self, to: Option<&RawAddr>, at: *const u8, len: usize) -> io::Result<()> {
        let (name, name_len) = to.map_or((std::ptr::null(), 0), |to| (to.ptr(), to.len));
        // SAFETY: the caller's promise; the address is valid for the call.
        let sent = unsafe { libc::sendto(self.fd(), at.cast(), len, libc::MSG_NOSIGNAL, name, name_len) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends the bytes of `slices` as datagrams of `segment` bytes each (one datagram if `segment`
    /// is 0).
    ///
    /// # Safety
    /// The slices are readable, and laid out as the kernel's `iovec`.
    #[inline]
    pub(crate) unsafe fn send(
        &self,
        to: Option<&RawAddr>,
        slices: *const libc::iovec,
        count: usize,
        segment: u16,
    ) -> io::Result<()> {
        let mut segments = Segments::new();
        // SAFETY: plain data, valid as zeros.
        let mut header: libc::msghdr = unsafe { zeroed() };
        if let Some(to) = to {
            header.msg_name = to.ptr().cast_mut().cast();
            header.msg_namelen = to.len;
        }
        header.msg_iov = slices.cast_mut();
        header.msg_iovlen = count as _;
        if segment != 0 {
            segments.cut(&mut header, segment);
        }
        // SAFETY: everything the header names is valid for the call.
        let sent = unsafe { libc::sendmsg(self.fd(), &raw const header, libc::MSG_NOSIGNAL) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends several datagrams; answers how many left. An error concerns the first.
    ///
    /// # Safety
    /// Each range is readable.
    pub(crate) unsafe fn send_many(
        &self,
        to: Option<&RawAddr>,
        datagrams: &[(*const libc::iovec, usize)],
    ) -> io::Result<usize> {
        const MOST: usize = 64;
        // SAFETY: plain data, valid as zeros.
        let mut headers: [libc::mmsghdr; MOST] = unsafe { zeroed() };
        let n = datagrams.len().min(MOST);
        for (header, (slices, count)) in headers.iter_mut().zip(datagrams) {
            if let Some(to) = to {
                header.msg_hdr.msg_name = to.ptr().cast_mut().cast();
                header.msg_hdr.msg_namelen = to.len;
            }
            header.msg_hdr.msg_iov = slices.cast_mut();
            header.msg_hdr.msg_iovlen = *count as _;
        }
        // SAFETY: everything the headers name is valid for the call.
        let sent = unsafe {
            libc::sendmmsg(self.fd(), headers.as_mut_ptr(), n as libc::c_uint, libc::MSG_NOSIGNAL as _)
        };
        check(sent).map(|n| n as usize)
    }
}

/// Room for control messages, aligned as the kernel wants it.
#[repr(align(8))]
struct Control<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
}

impl<const N: usize> Control<N> {
    fn new() -> Self {
        Self { bytes: [const { MaybeUninit::zeroed() }; N] }
    }

    fn ptr(&mut self) -> *mut libc::c_void {
        self.bytes.as_mut_ptr().cast()
    }
}

const fn cmsg_space(len: u32) -> usize {
    // SAFETY: arithmetic only.
    unsafe { libc::CMSG_SPACE(len) as usize }
}

/// Where arriving datagrams land: a fixed number of buffers and what the kernel says about each.
pub(crate) struct Slots {
    _buffers: Box<[u8]>,
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    controls: Box<[Control<CONTROL>]>,
}

const CONTROL: usize = cmsg_space(4) * 2;

// SAFETY: the pointers inside are to memory that this value owns.
unsafe impl Send for Slots {}

/// One arrival: one datagram, or several of equal size (the last may be shorter).
pub(crate) struct Arrival {
    pub(crate) bytes: *mut u8,
    pub(crate) len: usize,
    /// Size of each datagram.
    pub(crate) segment: usize,
    /// Datagrams that the buffer had no room for since the socket was opened, as far as this
    /// arrival tells.
    pub(crate) overflow: Option<u32>,
}

impl Arrival {
    /// Whether it is several datagrams.
    #[inline]
    pub(crate) fn is_joined(&self) -> bool {
        self.len > self.segment
    }
}

impl Slots {
    pub(crate) fn new(count: usize, each: usize) -> Self {
        let mut buffers = vec![0u8; count * each].into_boxed_slice();
        let mut vectors: Box<[libc::iovec]> = (0..count)
            .map(|i| libc::iovec { iov_base: buffers[i * each..].as_mut_ptr().cast(), iov_len: each })
            .collect();
        let mut controls: Box<[_]> = (0..count).map(|_| Control::new()).collect();
        let headers = (0..count)
            .map(|i| {
                // SAFETY: plain data, valid as zeros.
                let mut header: libc::mmsghdr = unsafe { zeroed() };
                header.msg_hdr.msg_iov = &raw mut vectors[i];
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = controls[i].ptr();
                header
            })
            .collect();
        Self { _buffers: buffers, headers, vectors, controls }
    }

    pub(crate) fn count(&self) -> usize {
        self.headers.len()
    }

    /// Takes one datagram off the socket, into the first slot, as cheaply as the kernel can;
    /// `None`: there is none. To be used while datagrams don't come joined: nothing would tell
    /// where they end.
    #[inline]
    pub(crate) fn receive_one(&mut self, socket: &Socket) -> io::Result<Option<Arrival>> {
        let libc::iovec { iov_base, iov_len } = self.vectors[0];
        // SAFETY: the slot's buffer is owned by this value.
        let n = unsafe { libc::recv(socket.fd(), iov_base, iov_len, 0) };
        if n >= 0 {
            let len = n as usize;
            return Ok(Some(Arrival { bytes: iov_base.cast(), len, segment: len, overflow: None }));
        }
        // SAFETY: this thread's own number, set by the call above.
        match unsafe { *libc::__errno_location() } {
            libc::EAGAIN => Ok(None),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Takes at most `most` arrivals off the socket.
    #[inline]
    pub(crate) fn receive(&mut self, socket: &Socket, most: usize) -> io::Result<usize> {
        for (header, control) in self.headers[..most].iter_mut().zip(&self.controls) {
            header.msg_hdr.msg_controllen = size_of_val(&control.bytes) as _;
        }
        if most == 1 {
            // SAFETY: everything the header names is owned by this value.
            let n = unsafe { libc::recvmsg(socket.fd(), &raw mut self.headers[0].msg_hdr, 0) };
            if n < 0 {
                return Err(io::Error::last_os_error());
            }
            self.headers[0].msg_len = n as libc::c_uint;
            return Ok(1);
        }
        // SAFETY: the headers' vectors and addresses live in this value; there are at least `most`
        // headers (sliced above).
        let n = unsafe {
            libc::recvmmsg(
                socket.fd(),
                self.headers.as_mut_ptr(),
                most as libc::c_uint,
                0,
                std::ptr::null_mut(),
            )
        };
        check(n).map(|n| n as usize)
    }

    /// What [`receive`](Self::receive) put into slot `index`.
    #[inline]
    pub(crate) fn arrival(&self, index: usize) -> Arrival {
        let header = &self.headers[index];
        let len = header.msg_len as usize;
        let (mut segment, mut overflow) = (len, None);
        // SAFETY: the kernel wrote well-formed control messages into our buffer.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(&raw const header.msg_hdr);
            while !message.is_null() {
                match ((*message).cmsg_level, (*message).cmsg_type) {
                    (libc::SOL_UDP, libc::UDP_GRO) => {
                        let size = libc::CMSG_DATA(message).cast::<libc::c_int>().read_unaligned();
                        segment = if size > 0 { size as usize } else { len };
                    }
                    (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                        overflow = Some(libc::CMSG_DATA(message).cast::<u32>().read_unaligned());
                    }
                    _ => {}
                }
                message = libc::CMSG_NXTHDR(&raw const header.msg_hdr, message);
            }
        }
        Arrival { bytes: self.vectors[index].iov_base.cast(), len, segment, overflow }
    }
}

/// What tells this network stack from all others: the machine's boot and the network namespace.
pub(crate) fn network_identity() -> [u8; 16] {
    use std::os::unix::fs::MetadataExt;
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in boot {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let space = std::fs::metadata("/proc/self/ns/net").map_or(0, |m| m.ino());
    let mut identity = [0; 16];
    identity[..8].copy_from_slice(&hash.to_le_bytes());
    identity[8..].copy_from_slice(&space.to_le_bytes());
    identity
}

/// Whether an interface is a bridge, which often leads to nobody but this machine's own containers.
pub(crate) fn is_bridge(name: &str) -> bool {
    std::path::Path::new("/sys/class/net").join(name).join("bridge").is_dir()
}
