//! Callers of the same host that are no peers: they cost a bounded amount of work and of
//! descriptors, and keep nobody from starting.

mod common;
use common::*;
use lapis_core::transport::*;
use lapis_patience::Patience;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Where an address has the name of its socket.
const NAME_AT: usize = 80;

/// Connects to an instance's socket and says nothing.
fn call(name: &[u8]) -> OwnedFd {
    // SAFETY: a plain structure, filled below; ranges are valid for the calls; the descriptor is
    // fresh.
    unsafe {
        let fd = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0);
        let fd = OwnedFd::from_raw_fd(fd);
        let mut at: libc::sockaddr_un = std::mem::zeroed();
        at.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, from) in at.sun_path[1..].iter_mut().zip(name) {
            *to = *from as libc::c_char;
        }
        let len = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
        assert_eq!(libc::connect(fd.as_raw_fd(), (&raw const at).cast(), len as libc::socklen_t), 0);
        fd
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn strangers_who_say_nothing_get_a_bounded_part_of_each_turn_and_lose_their_places() {
    let job = job_name("strangers");
    let (mut a, _a) = try_open(0, 2, 0, 0, &job).unwrap();
    let (mut b, _b) = try_open(1, 2, 0, 0, &job).unwrap();
    let address = a.address();
    let strangers: Vec<OwnedFd> = (0..300).map(|_| call(&address[NAME_AT..])).collect();
    let before = descriptors();
    assert!(!a.progress_connect().unwrap() || descriptors() < before + strangers.len());
    assert!(descriptors() <= before + 70, "{} descriptors more after one turn", descriptors() - before);
    a.connect(1, &b.address()).unwrap();
    b.connect(0, &address).unwrap();
    // They stand in the queue before the peer, which comes in all the same.
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    while !(a.progress_connect().unwrap() & b.progress_connect().unwrap()) {
        assert!(!patience.is_over(), "the peer was not let in");
        assert!(descriptors() <= before + 200, "{} descriptors more", descriptors() - before);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(a.am_short(1, b"hello", b""), Status::Done);
    let mut got = Vec::new();
    poll(&mut b, &mut |e| got.push(bytes(e)));
    assert_eq!(got, [b"hello"]);
}
