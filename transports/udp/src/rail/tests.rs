use super::*;
use lapis_core::transport::{Event, host_table};
use lapis_patience::Patience;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

fn open(options: &Options) -> Rail {
    let entry = Entry {
        name: "lo".into(),
        ip: "127.0.0.1".parse().expect("an address"),
        prefix: 8,
        scope: 0,
        port: 0,
        loopback: true,
        bridge: false,
    };
    // SAFETY: the table is static.
    let host = unsafe { Host::from_raw(host_table(), "udp") };
    Rail::open(entry, options, &host).expect("the loopback interface is up")
}

fn other() -> (UdpSocket, RawAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let at = RawAddr::new(socket.local_addr().expect("bound"));
    (socket, at)
}

#[test]
fn a_batch_that_the_kernel_does_not_cut_goes_datagram_by_datagram_and_later_ones_whole() {
    let mut rail = open(&Options::default());
    let (receiver, to) = other();
    receiver.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    let mut send = |count: u16| {
        let bytes: Vec<u8> = (0..count).flat_map(|n| [n.to_le_bytes(), n.to_be_bytes()].concat()).collect();
        let (a, b) = bytes.split_at(bytes.len() / 2 - 1); // where no datagram ends
        let slices = [a, b].map(|s| RawSlice { ptr: s.as_ptr().cast_mut(), len: s.len() });
        // SAFETY: the slices outlive the call.
        assert_eq!(unsafe { rail.send(&to, &slices, 4, false) }, Sent::Yes);
        for n in 0..count {
            let mut datagram = [0; 16];
            assert_eq!(receiver.recv(&mut datagram).expect("all arrive"), 4);
            assert_eq!(datagram[..4], [n.to_le_bytes(), n.to_be_bytes()].concat());
        }
        rail.gso.works()
    };
    assert!(send(8), "Linux knows UDP_SEGMENT since 4.18");
    // More segments than the kernel cuts, and fewer than the receiver has room for.
    assert!(!send(200), "it is refused");
    assert!(!send(8), "the next one is not tried");
    assert!(send(8), "a later one is, and is taken");
}

/// A socket of another family takes the place of the rail's: over the loopback interface the kernel
/// always has room.
#[test]
fn a_batch_goes_on_where_it_stopped_and_another_one_begins_at_its_beginning() {
    const LEN: usize = 64;
    let mut rail = open(&Options::default());
    let (near, far) = UnixDatagram::pair().expect("sockets");
    near.set_nonblocking(true).expect("a socket");
    far.set_nonblocking(true).expect("a socket");
    // SAFETY: both are sockets of this test's.
    assert!(unsafe { libc::dup2(near.as_raw_fd(), rail.socket.fd()) } >= 0);
    (rail.connected, rail.gso) = (true, Offload::new(false));
    let (_, to) = other();
    let mut send = |bytes: &[u8]| {
        let slice = RawSlice { ptr: bytes.as_ptr().cast_mut(), len: bytes.len() };
        // SAFETY: the slice outlives the call.
        unsafe { rail.send(&to, &[slice], LEN, false) }
    };
    let taken = || {
        let mut datagram = [0; LEN];
        std::iter::from_fn(|| far.recv(&mut datagram).ok().map(|len| datagram[..len].to_vec()))
            .collect::<Vec<_>>()
    };
    let batch =
        |of: u8| (0..4096u16).map(|n| [&[of; LEN - 2][..], &n.to_le_bytes()].concat()).collect::<Vec<_>>();
    assert_eq!(send(&batch(1).concat()), Sent::Again);
    let first = taken();
    assert!(!first.is_empty() && batch(1).starts_with(&first));
    // The rest of it is never offered again; this one is, from another place each time.
    let mut all = Vec::new();
    loop {
        let sent = send(&batch(2).concat());
        all.extend(taken());
        if sent == Sent::Yes {
            break;
        }
    }
    assert!(all == batch(2), "{} of 4096 arrived", all.len());
}

#[test]
fn what_the_receive_buffer_has_no_room_for_is_counted() {
    what_got_lost_is_told(Inbox::new(), &open(&Options::default()), &other().0);
}

#[test]
fn what_gets_lost_while_datagrams_come_one_by_one_is_told_once_they_stream() {
    let (rail, mut inbox, (sender, _)) = (open(&Options::default()), Inbox::new(), other());
    let (mut events, mut came) = ([Event::EMPTY; 4], 0);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while !inbox.comes_alone() && !patience.is_over() {
        sender.send_to(&[7; 10], rail.entry.socket_addr()).expect("UDP takes all");
        // Until one is found, and then nothing.
        while inbox.poll(&rail.socket, &mut events, &mut 0) == 0 && !patience.is_over() {}
        came += 1;
        assert_eq!(inbox.poll(&rail.socket, &mut events, &mut 0), 0);
    }
    assert!(inbox.comes_alone(), "after {came} that came one by one");
    what_got_lost_is_told(inbox, &rail, &sender);
}

fn what_got_lost_is_told(mut inbox: Inbox, rail: &Rail, sender: &UdpSocket) {
    let sent = 3 * rail.receive_buffer as usize / 1000;
    for _ in 0..sent {
        sender.send_to(&[7; 1000], rail.entry.socket_addr()).expect("UDP takes all");
    }
    let (mut events, mut came, mut dropped) = ([Event::EMPTY; 64], 0, 0);
    let mut drain = |came: &mut usize, dropped: &mut u32| loop {
        match inbox.poll(&rail.socket, &mut events, dropped) {
            0 => break,
            n => *came += n,
        }
    };
    drain(&mut came, &mut dropped);
    // The next one that has room tells.
    sender.send_to(&[7; 1000], rail.entry.socket_addr()).expect("UDP takes all");
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while came + (dropped as usize) < sent + 1 && !patience.is_over() {
        drain(&mut came, &mut dropped);
    }
    assert!(
        dropped > 0 && came + dropped as usize == sent + 1,
        "{came} came, {dropped} dropped of {sent} and one"
    );
}

#[test]
fn reads_poll_the_device_for_as_long_as_the_user_wants() {
    let rail = open(&Options { busy_poll: Some(37), ..Options::default() });
    let time = rail.socket.busy_poll_time().expect("Linux knows SO_BUSY_POLL since 3.11");
    if time == 0 {
        return eprintln!("skipped: longer busy polling than the system's needs CAP_NET_ADMIN");
    }
    assert_eq!(time, 37);
}
