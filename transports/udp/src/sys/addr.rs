//! Socket addresses in the kernel's form.

use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A socket address in the kernel's form.
#[derive(Clone, Copy)]
pub(crate) struct RawAddr {
    storage: libc::sockaddr_storage,
    pub(super) len: libc::socklen_t,
}

impl RawAddr {
    pub(crate) fn new(addr: SocketAddr) -> Self {
        // SAFETY: plain data, valid as zeros.
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let len = match addr {
            SocketAddr::V4(v4) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: `sockaddr_storage` has room and alignment for every address.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: the storage has room for an address of any family, and is aligned for it.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self { storage, len: len as libc::socklen_t }
    }

    pub(super) fn ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }
}

/// # Safety
/// `addr` is null or a valid address of its family.
pub(super) unsafe fn parse_addr(addr: *const libc::sockaddr) -> Option<SocketAddr> {
    if addr.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the family says which form it has. Unaligned reads: nothing
    // promises alignment.
    unsafe {
        match i32::from((*addr).sa_family) {
            libc::AF_INET => {
                let raw = addr.cast::<libc::sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(raw.sin_port)).into())
            }
            libc::AF_INET6 => {
                let raw = addr.cast::<libc::sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
                Some(
                    SocketAddrV6::new(ip, u16::from_be(raw.sin6_port), raw.sin6_flowinfo, raw.sin6_scope_id)
                        .into(),
                )
            }
            _ => None,
        }
    }
}
