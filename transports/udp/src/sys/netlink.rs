//! News of the links: the kernel says when an interface loses or gains its carrier.
//!
//! What the messages say is not read: they are a reason to look. So there is nothing to parse, and
//! nothing to miss when the kernel drops some because too many came.

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

    /// Whether anything was said since the last call. An error: nothing more will be.
    pub(crate) fn any(&self) -> io::Result<bool> {
        let mut found = false;
        let mut scratch = [0u8; 512];
        loop {
            // SAFETY: the buffer is valid; what does not fit is cut off, which does no harm.
            let n = unsafe { libc::recv(self.fd(), scratch.as_mut_ptr().cast(), scratch.len(), 0) };
            match n {
                1.. => found = true,
                0 => return Ok(found),
                _ => match io::Error::last_os_error().raw_os_error() {
                    // More came than it keeps.
                    Some(libc::ENOBUFS) => found = true,
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => return Ok(found),
                    other => return Err(io::Error::from_raw_os_error(other.unwrap_or(libc::EIO))),
                },
            }
        }
    }

    /// Whether an interface is up and has a carrier. One that is not there is not.
    pub(crate) fn is_up(&self, name: &str) -> io::Result<bool> {
        let Ok(name) = CString::new(name) else { return Ok(false) };
        let bytes = name.as_bytes_with_nul();
        // SAFETY: plain data, valid as zeros.
        let mut request: libc::ifreq = unsafe { zeroed() };
        if bytes.len() > request.ifr_name.len() {
            return Ok(false);
        }
        for (slot, byte) in request.ifr_name.iter_mut().zip(bytes) {
            *slot = *byte as libc::c_char;
        }
        // Any socket serves, so none need be opened, which might fail.
        // SAFETY: the request is valid for the call.
        match check(unsafe { libc::ioctl(self.fd(), libc::SIOCGIFFLAGS as _, &raw mut request) }) {
            Ok(_) => {}
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => return Ok(false),
            Err(e) => return Err(e),
        }
        // SAFETY: the call has filled the flags in.
        let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        let both = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(flags & both == both)
    }
}
