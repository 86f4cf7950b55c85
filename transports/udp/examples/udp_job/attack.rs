//! A stranger who hears all datagrams on the loopback interface and sends back what is not welcome.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

pub(crate) struct Attack {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Attack {
    pub(crate) fn start() -> io::Result<Self> {
        let ear = listen()?;
        let mouth = UdpSocket::bind("127.0.0.1:0")?;
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || run(&ear, &mouth, &flag));
        Ok(Self { stop, thread })
    }

    /// Ends it; answers how many datagrams were sent.
    pub(crate) fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the attacker")
    }
}

/// A packet socket that hears IPv4 on the loopback interface.
fn listen() -> io::Result<OwnedFd> {
    let protocol = (libc::ETH_P_IP as u16).to_be();
    // SAFETY: calls with valid arguments; the descriptor is owned from here on.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, i32::from(protocol));
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = libc::if_nametoindex(c"lo".as_ptr()) as i32;
        let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let time = libc::timeval { tv_sec: 0, tv_usec: 10_000 };
        let size = size_of::<libc::timeval>() as libc::socklen_t;
        let set = libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const time).cast(),
            size,
        );
        if libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) < 0 || set < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(fd)
    }
}

fn run(ear: &OwnedFd, mouth: &UdpSocket, stop: &AtomicBool) -> u64 {
    let own = mouth.local_addr().map_or(0, |a| a.port());
    let (mut sent, mut buffer, mut x) = (0, vec![0u8; 1 << 16], 88_172_645_463_325_252u64);
    let mut recorded: Vec<(u16, Vec<u8>)> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        // SAFETY: the buffer is valid for the call.
        let n = unsafe { libc::recv(ear.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let Ok(n) = usize::try_from(n) else { continue };
        let packet = &buffer[..n];
        let header = usize::from(packet[0] & 15) * 4;
        if n < header + 8 || packet[9] != 17 {
            continue;
        }
        let port = |at: usize| u16::from_be_bytes([packet[header + at], packet[header + at + 1]]);
        let (from, to) = (port(0), port(2));
        // The engine's format: what is not of this job may be anybody's traffic.
        let payload = &packet[header + 8..];
        if from == own || payload.len() < 56 || payload[0] != 1 {
            continue;
        }
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let mut datagram = payload[..payload.len().min(60_000)].to_vec();
        match x % 5 {
            0 => datagram.truncate(x as usize / 5 % datagram.len()),
            1 => {
                let at = x as usize / 5 % datagram.len();
                datagram[at] ^= 1 << (x >> 60 & 7);
            }
            2 => datagram.iter_mut().for_each(|b| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *b = (x >> 56) as u8;
            }),
            3 => {
                // From long ago.
                if recorded.len() < 1000 {
                    recorded.push((to, datagram.clone()));
                }
                let (to, old) = &recorded[x as usize / 5 % recorded.len()];
                sent += u64::from(mouth.send_to(old, ("127.0.0.1", *to)).is_ok());
            }
            _ => {}
        }
        sent += u64::from(mouth.send_to(&datagram, ("127.0.0.1", to)).is_ok());
    }
    sent
}
