//! How many queues an interface has.

use std::io;
use std::net::Ipv4Addr;

/// Over how many queues an interface spreads what it receives.
pub(crate) fn of(name: &str) -> io::Result<u32> {
    #[repr(C)]
    #[derive(Default)]
    struct Channels {
        command: u32,
        most: [u32; 4],
        receiving: u32,
        sending: u32,
        other: u32,
        combined: u32,
    }
    const GET_CHANNELS: u32 = 0x3c;
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    // SAFETY: plain data, valid as zeros.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: the request names memory of the length that the command has.
    let done = unsafe {
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCETHTOOL as _, &raw mut request)
    };
    // Drivers that don't know the question have one queue.
    Ok(if done < 0 { 1 } else { (channels.receiving + channels.combined).max(1) })
}
