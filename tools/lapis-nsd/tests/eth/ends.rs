//! What becomes of windows, and of what they have at the interface, when somebody ends.

use super::{Hosts, NOBODY, hosts, kill, open, patience, receive, send, way};
use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, Opened};
use lapis_adapters::eth::port::Port;
use lapis_adapters::key::Key;
use lapis_adapters::memory::Memory;
use lapis_testing::{Space, clean, run};
use std::os::unix::process::CommandExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What stands of a program at the interface, as `ip` shows it.
fn program(space: &Space) -> bool {
    let shown = space.inside(|| clean("ip").args(["-d", "link", "show", "r0"]).output());
    String::from_utf8_lossy(&shown.expect("ip").stdout).contains("prog/xdp")
}

#[test]
fn windows_outlive_the_daemon_and_nothing_is_left_when_all_have_gone() {
    let Some(hosts) = hosts("killed", 1) else { return };
    let (Some(a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let (_, mut here) = open(&near, key);
    let (_, mut there) = open(&far, key);
    let (go, back) = (way(&near, &here, &there), way(&far, &there, &here));
    let mut both_ways = |here: &mut Port| {
        for round in 0..5000u32 {
            send(here, &go, &round.to_le_bytes());
            assert_eq!(receive(&mut there), round.to_le_bytes());
            send(&mut there, &back, &round.to_le_bytes());
            assert_eq!(receive(here), round.to_le_bytes());
        }
    };
    both_ways(&mut here);
    kill(a);
    both_ways(&mut here);
    assert!(program(&hosts.spaces[0]), "the task's window needs it");
    // The next daemon says that the interface is not its yet, and takes it when it is free.
    let next = hosts.daemon(0, &[]).expect("has started before");
    let near = hosts.client(0);
    let refused = near.open("sn0", None, key).expect_err("taken").to_string();
    assert!(refused.contains("a daemon that has ended"), "{refused}");
    both_ways(&mut here);
    drop(here);
    until_free(&hosts.spaces[0]);
    // The kernel frees the queue some moments after the program.
    let mut patience = patience();
    while near.open("sn0", None, key).is_err() {
        assert!(!patience.is_over(), "{:?}", near.adapters());
    }
    let (_, _port) = open(&near, key);
    kill(next);
    drop(_port);
    until_free(&hosts.spaces[0]);
}

/// Tasks that go on with their windows know how long a datagram was with the daemon before.
#[test]
fn the_next_daemon_tells_at_once_how_long_a_datagram_may_be() {
    let Some(hosts) = hosts("room", 1) else { return };
    let Some(first) = hosts.daemon(0, &[]) else { return };
    assert!(hosts.spaces[0].ip("link set r0 mtu 1300"));
    kill(first);
    let _next = hosts.daemon(0, &[]).expect("has started before");
    let near = hosts.client(0);
    assert_eq!(near.matrix().room(0), near.adapters().expect("adapters")[0].longest);
    assert_eq!(near.matrix().room(0), 1300 - 40);
}

/// The last one's end is noticed by another process.
fn until_free(space: &Space) {
    let mut patience = patience();
    while program(space) {
        assert!(!patience.is_over(), "something is left at the interface");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn no_descriptor_of_a_task_takes_the_program_away() {
    const LINK_DETACH: libc::c_long = 34;
    let Some(hosts) = hosts("detach", 1) else { return };
    let Some(_daemon) = hosts.daemon(0, &[]) else { return };
    let near = hosts.client(0);
    let (_, _port) = open(&near, Key::of_text("job"));
    let fds = std::fs::read_dir("/proc/self/fd").expect("descriptors");
    let fds: Vec<u32> = fds.flatten().filter_map(|fd| fd.file_name().to_str()?.parse().ok()).collect();
    assert!(fds.len() > 5, "{fds:?}");
    for fd in fds {
        // SAFETY: the attributes are there for the call, and as long as is said.
        let done = unsafe { libc::syscall(libc::SYS_bpf, LINK_DETACH, &raw const fd, size_of_val(&fd)) };
        assert_ne!(done, 0, "descriptor {fd} is a link");
    }
    assert!(program(&hosts.spaces[0]));
}

/// Opens a window as whatever user it runs as, and says how that went.
#[test]
fn opener() {
    let Ok(address) = std::env::var("LAPIS_TEST_OPENER") else { return };
    let daemon = Daemon::connect(&Address::new(&address)).expect("the daemon is root's");
    match daemon.open("sn0", None, Key::of_text("a")) {
        Ok(_) => println!("\nopened"),
        Err(e) => println!("\n{e}"),
    }
}

/// Has another user open a window of the first host, and gives what that one said. `None`, said
/// aloud, where this process can't be another user.
pub(crate) fn other_user(hosts: &Hosts) -> Option<impl Fn() -> String> {
    if clean("true").uid(NOBODY).current_dir("/").status().is_err() {
        eprintln!("SKIP: only root can be two users");
        return None;
    }
    let _ = clean("chmod").args(["0777", hosts.addresses[0].as_str()]).status();
    Some(move || {
        let mut command = clean(std::env::current_exe().expect("the test has a file"));
        command.args(["ends::opener", "--exact", "--nocapture", "--test-threads=1"]).uid(NOBODY);
        command.env("LAPIS_TEST_OPENER", hosts.addresses[0].as_str());
        run(command).expect(0).out
    })
}

#[test]
fn a_socket_that_a_task_keeps_costs_its_user_nothing_and_other_users_are_told() {
    let Some(hosts) = hosts("kept", 1) else { return };
    let Some(_daemon) = hosts.daemon(0, &["--eth-user", &NOBODY.to_string()]) else { return };
    let Some(other_user) = other_user(&hosts) else { return };
    let near = hosts.client(0);
    let key = Key::of_text("job");
    let opened = near.open_window("sn0", None, key).expect("a window");
    let kept = opened.wire.expect("of an Ethernet").sockets;
    near.close(&opened.place).expect("it is ours");
    // The same memory serves on, at once and after the daemon has looked.
    for pause in [0, 100, 600] {
        std::thread::sleep(Duration::from_millis(pause));
        let (place, _) = near.open("sn0", None, key).expect("another window of this user");
        near.close(&place).expect("it is ours");
    }
    let said = other_user();
    assert!(said.contains("a process still has the socket of a window that is closed"), "{said}");
    drop(kept);
    let said = other_user();
    assert!(said.contains("opened"), "{said}");
}

/// Tasks end again and again with frames that they have read, or that lie in their rings, while
/// another window is open all the time.
#[test]
fn frames_of_ended_tasks_come_back() {
    let Some(hosts) = hosts("leak", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let (mut there, mut stays) = (open(&far, key).1, open(&near, key).1);
    for _ in 0..250 {
        let (place, mut window) = open(&near, key);
        let go = way(&far, &there, &window);
        for number in 0..40u32 {
            send(&mut there, &go, &number.to_le_bytes());
        }
        for number in 0..20u32 {
            assert_eq!(receive(&mut window), number.to_le_bytes());
        }
        drop(window);
        near.close(&place).expect("it is ours");
    }
    let go = way(&far, &there, &stays);
    for number in 0..5000u32 {
        send(&mut there, &go, &number.to_le_bytes());
        assert_eq!(receive(&mut stays), number.to_le_bytes());
    }
}

/// A task that goes on when it has lost its connection: its lock, its frames and its number are its
/// own, and it can have its window again.
#[test]
fn nothing_is_taken_from_a_task_that_has_lost_its_connection_and_goes_on() {
    let Some(hosts) = hosts("lives", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (first, other, far) = (hosts.client(0), hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let Opened { place, parts, wire } = first.open_window("sn0", None, key).expect("a window");
    let wire = wire.expect("of an Ethernet");
    let (frames, len) = (wire.sockets[0].1.try_clone().expect("descriptors"), wire.wire.layout.bytes());
    let mut here = Port::open(wire, place.window, key.tag()).expect("its socket");
    // The fill ring's lock, as `lock.rs` of lapis-adapters draws it: put aside while it has it.
    let frames = Memory::map(&frames, len).expect("shared");
    // SAFETY: the lock is the first word of the memory, and all processes use it as an atomic.
    let lock: &AtomicU64 = unsafe { &*frames.base().cast() };
    let mark = 1 << 32 | u64::from(place.window) << 22 | u64::from(std::process::id());
    lock.store(mark, Ordering::Relaxed);
    drop(first);
    let mut limit = patience();
    while !other.windows("sn0").expect("windows").is_empty() {
        assert!(!limit.is_over(), "the daemon does not notice the end of a connection");
    }
    // Longer than the daemon waits before it clears up.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(100) {
        let (another, _) = other.open("sn0", None, key).expect("there are more");
        assert_ne!(another, place, "whoever has it goes on with it");
        other.close(&another).expect("it is open");
    }
    assert_eq!(lock.load(Ordering::Relaxed), mark, "somebody who lives has the lock");
    let again = hosts.client(0);
    again.adopt(&place, key, &parts).expect("it is this process's");
    lock.store(0, Ordering::Relaxed);
    let (_, mut there) = open(&far, key);
    let go = way(&far, &there, &here);
    send(&mut there, &go, b"steered there again");
    assert_eq!(receive(&mut here), b"steered there again");
    lock.store(mark, Ordering::Relaxed);
    again.close(&place).expect("it is open");
    let mut limit = patience();
    while lock.load(Ordering::Relaxed) != 0 {
        assert!(!limit.is_over(), "who has closed his window needs no lock");
    }
}
