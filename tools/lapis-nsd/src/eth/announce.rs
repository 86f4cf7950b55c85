//! Telling the neighbours that an interface has another hardware address: over IPv4 by an
//! announcement of the address resolution protocol (RFC 5227, section 3), over IPv6 by an
//! advertisement that nobody has asked for (RFC 4861, section 7.2.6).

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;

const ALL: [u8; 6] = [0xff; 6];
/// All nodes of a link, as IPv6 has it.
const NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const NODES_MAC: [u8; 6] = [0x33, 0x33, 0, 0, 0, 1];

/// The frame that says who has an address.
fn frame(mac: [u8; 6], address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => announcement(mac, address),
        IpAddr::V6(address) => advertisement(mac, address),
    }
}

fn announcement(mac: [u8; 6], address: Ipv4Addr) -> Vec<u8> {
    // Ethernet, 6 bytes for IPv4's 4: a request for the sender's own address.
    const REQUEST: [u8; 10] = [8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
    let address = address.octets();
    [&ALL[..], &mac, &REQUEST, &mac, &address, &[0; 6], &address].concat()
}

fn advertisement(mac: [u8; 6], address: Ipv6Addr) -> Vec<u8> {
    const ICMP: u8 = 58;
    const ADVERTISEMENT: u8 = 136;
    /// What neighbours know is to be replaced.
    const OVERRIDE: u8 = 0x20;
    const OWN_ADDRESS: [u8; 2] = [2, 1];
    let (own, nodes) = (address.octets(), NODES.octets());
    let mut body = [&[ADVERTISEMENT, 0, 0, 0, OVERRIDE, 0, 0, 0][..], &own, &OWN_ADDRESS, &mac].concat();
    let len = body.len() as u16;
    let pseudo = [&own[..], &nodes, &[0, 0], &len.to_be_bytes(), &[0, 0, 0, ICMP], &body].concat();
    let words = pseudo.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    // Neighbours take it only with the highest limit of hops: no router has passed it on.
    let head = [&[0x60, 0, 0, 0][..], &len.to_be_bytes(), &[ICMP, 255], &own, &nodes].concat();
    [&NODES_MAC[..], &mac, &[0x86, 0xdd], &head, &body].concat()
}

/// Tells everybody at the interface's network who has the address.
///
/// # Errors
/// The daemon may not send frames, or the interface is down.
pub(crate) fn send(interface: u32, mac: [u8; 6], address: IpAddr) -> io::Result<()> {
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
    to.sll_addr[..ALL.len()].copy_from_slice(&bytes[..ALL.len()]);
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
        let bytes = frame([2, 0, 0, 0, 0, 9], Ipv4Addr::new(10, 0, 0, 7).into());
        assert_eq!(bytes.len(), 42);
        assert_eq!((&bytes[..6], &bytes[6..12]), (&ALL[..], &[2, 0, 0, 0, 0, 9][..]));
        assert_eq!(bytes[12..22], [8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!((&bytes[28..32], &bytes[38..42]), (&[10, 0, 0, 7][..], &[10, 0, 0, 7][..]));
    }

    #[test]
    fn an_advertisement_names_the_sender_and_has_a_sum_that_comes_to_zero() {
        let address = Ipv6Addr::new(0xfd00, 1, 2, 3, 0xffff, 5, 6, 7);
        let bytes = frame([2, 0, 0, 0, 0, 9], address.into());
        assert_eq!(bytes.len(), 14 + 40 + 32);
        assert_eq!((&bytes[..6], &bytes[6..12]), (&NODES_MAC[..], &[2, 0, 0, 0, 0, 9][..]));
        assert_eq!((&bytes[22..38], &bytes[62..78]), (&address.octets()[..], &address.octets()[..]));
        assert_eq!(bytes[80..], [2, 0, 0, 0, 0, 9]);
        let words = bytes[22..].chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum = words.sum::<u32>() + 58 + 32;
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}
