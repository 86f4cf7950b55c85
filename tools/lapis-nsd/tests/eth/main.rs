//! Interfaces as adapters, in network namespaces: windows whose datagrams cross a wire, other
//! traffic beside them, and what is left when somebody is killed.

mod bursts;
mod changes;
mod ends;
mod frames;
mod hops;
mod queues;

use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, DaemonError};
use lapis_adapters::eth::Hop;
use lapis_adapters::eth::frame::Template;
use lapis_adapters::eth::port::Port;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{Place, Why};
use lapis_testing::{Patience, Running, Space, clean, joined, run};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::time::Duration;

const NOBODY: u32 = 65_534;

const NATIVE: &[&str] = &["--eth-mode", "native"];

/// Two hosts with daemons, joined by rails.
struct Hosts {
    spaces: [Space; 2],
    addresses: [Address; 2],
}

/// `None`, said aloud, where this machine has no namespaces or no AF_XDP.
fn hosts(test: &str, rails: u32) -> Option<Hosts> {
    hosts_with(test, rails, |_| true)
}

/// The same with spaces that something has been done to.
fn hosts_with(test: &str, rails: u32, prepare: impl Fn([&Space; 2]) -> bool) -> Option<Hosts> {
    let made = Space::new().zip(Space::new()).filter(|(a, b)| a.join(b, rails) && prepare([a, b]));
    let Some((a, b)) = made else {
        eprintln!("SKIP {test}: this process may not make network namespaces");
        return None;
    };
    let address = |host| {
        let name = format!("nsd-{test}-{host}-{}", std::process::id());
        Address::new(&PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).to_string_lossy())
    };
    Some(Hosts { spaces: [a, b], addresses: [address(0), address(1)] })
}

impl Hosts {
    /// A daemon on one of them. `None` if AF_XDP isn't to be had.
    fn daemon(&self, host: usize, more: &[&str]) -> Option<Running> {
        let mut command = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
        command.args(["--socket", self.addresses[host].as_str(), "--eth", "r0"]).args(more);
        let mut running = self.spaces[host].inside(|| Running::start(joined(&command)));
        loop {
            let line = running.read_lines(1).remove(0);
            if line.contains("listening") {
                return Some(running);
            }
            if line.contains("no AF_XDP") || line.contains("CAP_BPF") {
                eprintln!("SKIP: {line}");
                return None;
            }
            assert!(line.contains("a daemon that has ended"), "{line}");
        }
    }

    fn client(&self, host: usize) -> Daemon {
        Daemon::connect(&self.addresses[host]).expect("a daemon")
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for address in &self.addresses {
            let _ = std::fs::remove_file(address.as_str());
        }
    }
}

fn kill(running: Running) {
    let pid = rustix::process::Pid::from_raw(running.id().cast_signed()).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("ours");
    running.wait();
}

fn open(daemon: &Daemon, key: Key) -> (Place, Port) {
    let opened = daemon.open_window("sn0", None, key).expect("a window");
    let window = opened.place.window;
    let port = Port::open(opened.wire.expect("of an Ethernet"), window, key.tag()).expect("its socket");
    (opened.place, port)
}

fn patience() -> Patience {
    Patience::with_myself(Duration::from_secs(20))
}

fn hop(daemon: &Daemon, address: IpAddr) -> Hop {
    let mut patience = patience();
    loop {
        if let Some(hop) = daemon.hop("sn0", address).expect("there is a way") {
            return hop;
        }
        assert!(!patience.is_over(), "{address} is not found");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn way(daemon: &Daemon, from: &Port, to: &Port) -> Template {
    let wire = to.wire();
    from.template(hop(daemon, wire.address), wire.address, wire.port)
}

fn receive(port: &mut Port) -> Vec<u8> {
    let (mut bytes, mut patience) = (vec![0; 16 << 10], patience());
    loop {
        if let Some(len) = port.receive(&mut bytes) {
            bytes.truncate(len);
            return bytes;
        }
        assert!(!patience.is_over(), "nothing arrives: {:?} {:?}", port.counts(), port.lost());
        std::thread::yield_now();
    }
}

fn send(port: &mut Port, way: &Template, bytes: &[u8]) {
    let mut patience = patience();
    // SAFETY: so many bytes were asked for.
    let write = |to: *mut u8| unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    while !port.send(way, bytes.len(), write) {
        assert!(!patience.is_over(), "no room: {}", port.lost());
    }
    port.flush();
}

/// `None`, said aloud, where this kernel has no IPv6.
fn v6_hosts(test: &str, rails: u32) -> Option<Hosts> {
    if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
        eprintln!("SKIP {test}: this kernel has no IPv6");
        return None;
    }
    hosts_with(test, rails, |[a, b]| a.only_v6(rails, 1) && b.only_v6(rails, 2))
}

#[test]
fn datagrams_of_every_length_cross_the_wire_between_windows_of_one_job() {
    let Some(hosts) = hosts("cross", 1) else { return };
    cross(&hosts, 1500 - 40, &[]);
}

#[test]
fn datagrams_of_every_length_cross_the_wire_over_ipv6() {
    let Some(hosts) = v6_hosts("cross6", 1) else { return };
    cross(&hosts, 1500 - 60, &[]);
}

/// Longer than a page: a datagram takes up several frames, as many as four.
#[test]
fn datagrams_of_every_length_cross_a_wire_for_jumbo_frames() {
    wide(&[]);
}

/// A virtual wire of one queue is taken in the kernel's generic mode, unless its driver is asked
/// for.
#[test]
fn datagrams_of_every_length_cross_a_wire_by_its_driver() {
    let Some(hosts) = hosts("native", 1) else { return };
    cross(&hosts, 1500 - 40, NATIVE);
    wide(NATIVE);
}

fn wide(more: &[&str]) {
    for (mtu, longest) in [(3800, 3800 - 40), (9000, 9000 - 40), (20_000, 4 * (4096 - 256) - 14 - 40)] {
        let words = format!("link set r0 mtu {mtu}");
        let wide = |hosts: [&Space; 2]| hosts.iter().all(|host| host.ip(&words));
        let Some(hosts) = hosts_with(&format!("wide{mtu}{}", more.len()), 1, wide) else { return };
        cross(&hosts, longest, more);
    }
}

/// The daemon has taken the wire before: it is the frames of the next windows that change.
#[test]
fn datagrams_cross_a_wire_that_becomes_one_for_jumbo_frames_and_back() {
    let Some(hosts) = hosts("grows", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let daemons = [0, 1].map(|host| hosts.client(host));
    for mtu in [9000, 1500, 9000] {
        let words = format!("link set r0 mtu {mtu}");
        assert!(hosts.spaces.iter().all(|host| host.ip(&words)));
        let mut patience = patience();
        while daemons.iter().any(|daemon| daemon.matrix().room(0) != mtu - 40) {
            assert!(!patience.is_over(), "the daemons know nothing of an MTU of {mtu}");
            std::thread::sleep(Duration::from_millis(1));
        }
        let key = Key::of_text("job");
        let [(here, mut one), (there, mut other)] = [0, 1].map(|at| open(&daemons[at], key));
        let go = way(&daemons[0], &one, &other);
        let bytes = vec![7; one.wire().room as usize];
        assert_eq!(bytes.len(), mtu as usize - 40);
        send(&mut one, &go, &bytes);
        assert_eq!(receive(&mut other), bytes);
        drop((one, other));
        for (daemon, place) in daemons.iter().zip([here, there]) {
            daemon.close(&place).expect("this connection has opened it");
        }
    }
}

#[test]
fn datagrams_cross_the_wire_where_who_waits_makes_the_driver_look() {
    let Some(hosts) = hosts("busy", 1) else { return };
    cross(&hosts, 1500 - 40, &["--eth-busy-poll", "20"]);
}

fn cross(hosts: &Hosts, longest: usize, more: &[&str]) {
    let (Some(_a), Some(_b)) = (hosts.daemon(0, more), hosts.daemon(1, more)) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    // Two windows at each end: they share the interface's frames.
    let mut here = [open(&near, key).1, open(&near, key).1];
    let mut there = [open(&far, key).1, open(&far, key).1];
    let networks = [&near, &far].map(|daemon| daemon.adapters().expect("adapters")[0].network);
    assert_eq!(networks[0], networks[1]);
    let room = here[0].wire().room as usize;
    assert_eq!(room, longest);
    for one in &mut here {
        for other in &mut there {
            let (go, back) = (way(&near, one, other), way(&far, other, one));
            let lengths =
                [0, 1, 8, 501, 4096 - 54, 4096, 3840 - 54, 3840, 2 * 4096 - 54, room / 2, room - 1, room];
            for len in lengths.into_iter().filter(|len| *len <= room) {
                let bytes: Vec<u8> = (0..len).map(|at| (at * 7 + len) as u8).collect();
                send(one, &go, &bytes);
                assert_eq!(receive(other), bytes);
                send(other, &back, &bytes);
                assert_eq!(receive(one), bytes);
            }
        }
    }
    // Far more than there are frames: each comes back.
    let go = way(&near, &here[0], &there[1]);
    for round in 0..20_000u32 {
        send(&mut here[0], &go, &round.to_le_bytes());
        if round % 64 == 63 {
            for expected in round - 63..=round {
                assert_eq!(receive(&mut there[1]), expected.to_le_bytes());
            }
        }
    }
    let mode = near.adapters().expect("adapters")[0].mode.clone().expect("it is taken");
    let how = mode.split(", ").next().expect("the first word");
    let native = more == NATIVE || here[0].wire().queues > 1;
    assert_eq!(how, if native { "native" } else { "generic" }, "{mode}");
    assert_eq!(mode.contains("busy polling"), more.contains(&"--eth-busy-poll"), "{mode}");
    // Each window has counted what it took.
    let windows = far.windows("sn0").expect("windows");
    let taken: Vec<u64> = windows.iter().map(|window| window.counts.expect("is open").taken).collect();
    assert_eq!(taken, there.map(|port| port.counts().arrived), "{windows:?}");
    assert!(taken[1] > 19_000, "{taken:?}");
}

/// What is between two hosts may drop what has a wrong sum, as a host itself does: here a socket of
/// the kernel's takes what a window sends, because the other host has no daemon.
#[test]
fn the_kernel_finds_the_sums_of_frames_right() {
    for (hosts, there) in [
        (hosts("sums", 1), IpAddr::from([10, 217, 0, 2])),
        (v6_hosts("sums6", 1), IpAddr::from([0xfd17, 0, 0, 0, 0, 0, 0, 2])),
    ] {
        let Some(hosts) = hosts else { return };
        let Some(_daemon) = hosts.daemon(0, &[]) else { return };
        let near = hosts.client(0);
        let (_, mut port) = open(&near, Key::of_text("job"));
        let plain = hosts.spaces[1].inside(|| std::net::UdpSocket::bind((there, 28_672))).expect("free");
        plain.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let way = port.template(hop(&near, there), there, 28_672);
        for len in [0, 1, 2, 3, 700, 1401] {
            let bytes: Vec<u8> = (0..len).map(|at| (at * 31 + len) as u8 | 0xc0).collect();
            send(&mut port, &way, &bytes);
            let mut got = vec![0; 2048];
            let count = plain.recv(&mut got).expect("the kernel takes it");
            // Mark and job come first.
            assert_eq!(got[12..count], bytes);
        }
    }
}

#[test]
fn another_job_is_not_heard_another_user_gets_nothing_and_other_traffic_passes() {
    let Some(hosts) = hosts("others", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let (_, mut ours) = open(&near, Key::of_text("job"));
    let (_, mut theirs) = open(&near, Key::of_text("another"));
    let (_, mut window) = open(&far, Key::of_text("job"));
    let (right, wrong) = (way(&near, &ours, &window), way(&near, &theirs, &window));

    // A stream of TCP and a datagram to the window's own port, while datagrams go to windows.
    let listener = hosts.spaces[1].inside(|| TcpListener::bind("10.217.0.2:0")).expect("an address");
    let to = listener.local_addr().expect("bound");
    let port = window.wire().port;
    let plain = hosts.spaces[1].inside(|| std::net::UdpSocket::bind(("10.217.0.2", port))).expect("free");
    let stream = hosts.spaces[0].inside(|| TcpStream::connect(to));
    let mut stream = stream.expect("TCP passes");
    let mut accepted = listener.accept().expect("a connection").0;
    let sender = std::thread::spawn(move || {
        for block in 0..200u32 {
            stream.write_all(&[block as u8; 10_000]).expect("the stream goes on");
        }
    });
    for round in 0..500u32 {
        send(&mut theirs, &wrong, b"from another job");
        send(&mut ours, &right, &round.to_le_bytes());
        assert_eq!(receive(&mut window), round.to_le_bytes());
    }
    // A busy wire may drop some.
    assert!((1..=500).contains(&window.counts().refused), "{}", window.counts().refused);
    let mut all = Vec::new();
    accepted.read_to_end(&mut all).expect("arrives");
    sender.join().expect("sent");
    assert_eq!(all.len(), 2_000_000);
    assert!(all.chunks(10_000).enumerate().all(|(at, block)| block.iter().all(|byte| *byte == at as u8)));
    let other = hosts.spaces[0].inside(|| {
        std::net::UdpSocket::bind("10.217.0.1:0")
            .and_then(|socket| socket.send_to(b"not ours", ("10.217.0.2", port)))
    });
    other.expect("sends");
    plain.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    assert_eq!(plain.recv(&mut [0; 64]).expect("the port's own program hears it"), 8);
}

#[test]
fn users_that_nobody_named_may_not_send_frames() {
    let Some(hosts) = hosts("users", 1) else { return };
    let Some(_daemon) = hosts.daemon(0, &[]) else { return };
    let _ = std::process::Command::new("chmod").args(["0777", hosts.addresses[0].as_str()]).status();
    let mut command = clean(std::env::current_exe().expect("the test has a file"));
    command.args(["stranger", "--exact", "--nocapture", "--test-threads=1"]).uid(NOBODY);
    command.env("LAPIS_TEST_STRANGER", hosts.addresses[0].as_str());
    if clean("true").uid(NOBODY).current_dir("/").status().is_err() {
        eprintln!("SKIP users_that_nobody_named_may_not_send_frames: only root can be two users");
        return;
    }
    let done = run(command).expect(0);
    assert!(done.out.contains("refused as it should be"), "{done:?}");
}

#[test]
fn stranger() {
    let Ok(address) = std::env::var("LAPIS_TEST_STRANGER") else { return };
    let daemon = Daemon::connect(&Address::new(&address)).expect("the daemon is root's");
    let why = daemon.open("sn0", None, Key::of_text("a")).expect_err("not named");
    assert!(
        matches!(&why, DaemonError::Refused { why: Why::NotAllowed, text } if text.contains("--eth-user"))
    );
    let seen = daemon.settled_adapters().expect("adapters").remove(0);
    assert!(seen.refused.as_ref().is_some_and(|text| text.contains("--eth-user")), "{seen:?}");
    println!("refused as it should be");
}

#[test]
fn the_matrix_follows_the_interface_down_renamed_resized_and_removed() {
    let Some(hosts) = hosts("matrix", 1) else { return };
    let Some(_daemon) = hosts.daemon(0, &[]) else { return };
    let daemon = hosts.client(0);
    let (_, _port) = open(&daemon, Key::of_text("job"));
    let until = |what: &str, is: &dyn Fn() -> bool| {
        let mut patience = patience();
        while !is() {
            assert!(!patience.is_over(), "{what}: {:?}", daemon.adapters());
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    until("up", &|| daemon.matrix().is_up(0));
    assert!(hosts.spaces[1].ip("link set r0 down"));
    until("no carrier", &|| !daemon.matrix().is_up(0));
    assert!(hosts.spaces[1].ip("link set r0 up"));
    until("a carrier again", &|| daemon.matrix().is_up(0));
    assert!(hosts.spaces[0].ip("link set r0 mtu 1300"));
    until("resized", &|| daemon.matrix().room(0) == 1300 - 40);
    assert!(hosts.spaces[0].ip("link set r0 name other0"));
    let interface = || daemon.adapters().expect("adapters")[0].interface.clone();
    until("renamed", &|| interface().as_deref() == Some("other0"));
    assert!(daemon.matrix().is_up(0));
    assert!(hosts.spaces[0].ip("link del other0"));
    until("removed", &|| !daemon.matrix().is_up(0));
    let why = daemon.open("sn0", None, Key::of_text("job")).expect_err("nothing is left").to_string();
    assert!(why.contains("down"), "{why}");
}

/// Sends whatever it can until it is killed: this test's own program, started again.
#[test]
fn flooder() {
    let (Ok(address), Ok(to)) = (std::env::var("LAPIS_TEST_FLOOD"), std::env::var("LAPIS_TEST_TO")) else {
        return;
    };
    let daemon = Daemon::connect(&Address::new(&address)).expect("a daemon");
    let (_, mut port) = open(&daemon, Key::of_text("job"));
    let to: u16 = to.parse().expect("a port");
    let address = IpAddr::from([10, 217, 0, 2]);
    let way = port.template(hop(&daemon, address), address, to);
    println!("\nfloods");
    loop {
        for _ in 0..16 {
            port.send(&way, 8, |_| {});
        }
        port.flush();
        while port.receive(&mut [0; 2048]).is_some() {}
    }
}

/// Tasks are killed while they send and receive, at whatever they are about. Other windows of the
/// interface, whose frames and rings they share, go on, and theirs can be opened again.
#[test]
fn tasks_killed_at_any_moment_leave_the_other_windows_working() {
    let Some(hosts) = hosts("flood", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let (mut here, mut there) = (open(&near, key).1, open(&far, key).1);
    let (go, back) = (way(&near, &here, &there), way(&far, &there, &here));
    // Frames may get lost for want of room: they are sent again, as the packet engine would.
    let mut exchange = |number: u32| {
        let (wanted, mut patience) = (number.to_le_bytes(), patience());
        let mut bytes = [0; 2048];
        loop {
            send(&mut here, &go, &wanted);
            for _ in 0..1000 {
                while there.receive(&mut bytes) == Some(4) {
                    let got: [u8; 4] = std::array::from_fn(|at| bytes[at]);
                    send(&mut there, &back, &got);
                }
                if here.receive(&mut bytes) == Some(4) && bytes[..4] == wanted {
                    return;
                }
            }
            assert!(!patience.is_over(), "{:?} {:?}", here.lost(), there.lost());
        }
    };
    for round in 0..8 {
        let mut command = clean(std::env::current_exe().expect("the test has a file"));
        command.args(["flooder", "--exact", "--nocapture", "--test-threads=1"]);
        // At a window's port where nobody listens: what comes is dropped there.
        command.env("LAPIS_TEST_FLOOD", hosts.addresses[0].as_str()).env("LAPIS_TEST_TO", "28680");
        let mut flooder = Running::start(command);
        flooder.read_line("floods");
        (0..200).for_each(|n| exchange(1000 * round + n));
        kill(flooder);
        (0..200).for_each(|n| exchange(1000 * round + 500 + n));
    }
    // All of their windows are free.
    let mut patience = patience();
    while near.windows("sn0").expect("windows").len() > 1 {
        assert!(!patience.is_over(), "windows of those who were killed are not free");
        std::thread::sleep(Duration::from_millis(2));
    }
    let others: Vec<_> = (0..15).map(|_| open(&near, key)).collect();
    let full = near.open("sn0", None, key).expect_err("there are sixteen").to_string();
    assert!(full.contains("all 16 windows of sn0 are taken"), "{full}");
    drop(others);
}

#[test]
fn what_is_no_such_interface_is_said_in_one_line() {
    let Some(space) = Space::new() else {
        return eprintln!("SKIPPED: there are no network namespaces here");
    };
    assert!(space.ip("link add d0 type veth peer name d1"));
    for (interface, why) in [("lo", "no Ethernet"), ("none0", "no interface"), ("d0", "no address")] {
        let mut command = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
        command.args(["--socket", "lapis-test-eth-bad", "--eth", interface]);
        let err = space.inside(|| run(command)).expect(1).err;
        assert!(err.contains(why) && err.lines().count() == 1, "{err}");
    }
    // Without rights.
    assert!(space.ip("addr add 10.217.9.1/24 dev d0"));
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
    command.args(["--socket", "lapis-test-eth-bad", "--eth", "d0"]).uid(NOBODY);
    let err = space.inside(|| run(command)).expect(1).err;
    assert!(err.contains("CAP_NET_ADMIN") && err.lines().count() == 1, "{err}");
    // More queues than windows have sockets at.
    let ends = "numrxqueues 17 numtxqueues 17";
    assert!(space.ip(&format!("link add q0 {ends} type veth peer name q1 {ends}")));
    assert!(space.ip("addr add 10.217.8.1/24 dev q0"));
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-nsd"));
    command.args(["--socket", "lapis-test-eth-bad", "--eth", "q0"]);
    let err = space.inside(|| run(command)).expect(1).err;
    assert!(err.contains("ethtool -L q0 combined 16") && err.lines().count() == 1, "{err}");
}
