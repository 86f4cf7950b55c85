//! News of the links: the kernel says when an interface loses or gains its carrier.
//!
//! What the messages say is not read: they are a reason to look. So there is nothing to parse, and nothing to miss when the
//! kernel drops some because too many came.

use super::{check, own};
use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A socket that hears of links and addresses.
pub(crate) struct LinkNews(OwnedFd);

impl LinkNews {
    pub(crate) fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a call without pointers.
        let fd = own(check(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?);
        // SAFETY: plain data, valid as zeros.
        let mut address: libc::sockaddr_nl = unsafe { zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR) as u32;
        let len = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the address is valid for the call.
        check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(Self(fd))
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Whether anything was said since the last call.
    pub(crate) fn any(&self) -> bool {
        let mut found = false;
        let mut scratch = [0u8; 512];
        loop {
            // SAFETY: the buffer is valid; what does not fit is cut off, which does no harm.
            let n = unsafe { libc::recv(self.fd(), scratch.as_mut_ptr().cast(), scratch.len(), 0) };
            match n {
                1.. => found = true,
                0 => return found,
                _ => match io::Error::last_os_error().raw_os_error() {
                    // More came than it keeps.
                    Some(libc::ENOBUFS) => found = true,
                    Some(libc::EINTR) => {}
                    _ => return found,
                },
            }
        }
    }
}

/// Whether an interface is up and has a carrier. One that is not there is not.
pub(crate) fn link_is_up(name: &str) -> bool {
    let Ok(name) = CString::new(name) else { return false };
    let bytes = name.as_bytes_with_nul();
    // SAFETY: plain data, valid as zeros.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if bytes.len() > request.ifr_name.len() {
        return false;
    }
    for (slot, byte) in request.ifr_name.iter_mut().zip(bytes) {
        *slot = *byte as libc::c_char;
    }
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: a call without pointers.
    let Ok(fd) = check(unsafe { libc::socket(libc::AF_INET, kind, 0) }) else { return true };
    let fd = own(fd);
    // SAFETY: the request is valid for the call.
    if unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) } < 0 {
        return false;
    }
    // SAFETY: the call has filled the flags in.
    let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    let both = libc::IFF_UP | libc::IFF_RUNNING;
    flags & both == both
}
