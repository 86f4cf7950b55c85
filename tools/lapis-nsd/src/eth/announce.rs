//! Telling the neighbours that an interface has another hardware address, by an announcement of the
//! address resolution protocol (RFC 5227, section 3).

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

const ALL: [u8; 6] = [0xff; 6];

/// The frame that says who has an address.
fn frame(mac: [u8; 6], address: Ipv4Addr) -> Vec<u8> {
    // Ethernet, 6 bytes for IPv4's 4: a request for the sender's own address.
    const REQUEST: [u8; 10] = [8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
    let address = address.octets();
    [&ALL[..], &mac, &REQUEST, &mac, &address, &[0; 6], &address].concat()
}

/// Tells everybody at the interface's network who has the address.
///
/// # Errors
/// The daemon may not send frames, or the interface is down.
pub(crate) fn send(interface: u32, mac: [u8; 6], address: Ipv4Addr) -> io::Result<()> {
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let bytes = frame(mac, address);
    let mut to = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: 0,
        sll_ifindex: interface.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: ALL.len() as u8,
        sll_addr: [0; 8],
    };
    to.sll_addr[..ALL.len()].copy_from_slice(&ALL);
    // SAFETY: frame and address are there for the call, with the lengths that are said.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_DONTWAIT,
            (&raw const to).cast(),
            size_of_val(&to) as libc::socklen_t,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_names_the_sender_twice() {
        let bytes = frame([2, 0, 0, 0, 0, 9], Ipv4Addr::new(10, 0, 0, 7));
        assert_eq!(bytes.len(), 42);
        assert_eq!((&bytes[..6], &bytes[6..12]), (&ALL[..], &[2, 0, 0, 0, 0, 9][..]));
        assert_eq!(bytes[12..22], [8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!((&bytes[28..32], &bytes[38..42]), (&[10, 0, 0, 7][..], &[10, 0, 0, 7][..]));
    }
}
