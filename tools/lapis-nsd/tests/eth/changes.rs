//! Interfaces that are made anew, whose queues change, and that users have one after the other.

use super::queues::wide;
use super::{Hosts, NOBODY, hosts, open, patience, receive, send, way};
use lapis_adapters::client::Daemon;
use lapis_adapters::key::Key;
use lapis_testing::Space;
use std::net::UdpSocket;
use std::os::fd::AsRawFd as _;

/// Datagrams go both ways between two new windows, which are closed afterwards. Gives how many
/// queues the interfaces have.
fn exchange([near, far]: [&Daemon; 2]) -> u32 {
    let key = Key::of_text("job");
    let [(here, mut one), (there, mut other)] = [near, far].map(|daemon| open(daemon, key));
    let (go, back) = (way(near, &one, &other), way(far, &other, &one));
    for number in 0..1000u32 {
        send(&mut one, &go, &number.to_le_bytes());
        assert_eq!(receive(&mut other), number.to_le_bytes());
        send(&mut other, &back, &number.to_le_bytes());
        assert_eq!(receive(&mut one), number.to_le_bytes());
    }
    let queues = one.wire().queues;
    drop((one, other));
    near.close(&here).expect("this connection has opened it");
    far.close(&there).expect("this connection has opened it");
    queues
}

/// Waits until it is so.
pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    let mut patience = patience();
    while !is() {
        assert!(!patience.is_over(), "not so: {what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The interface is removed, and another one of the same name made. Nobody asks for it meanwhile.
#[test]
fn an_interface_that_is_made_anew_under_the_same_name_is_taken_again() {
    let Some(hosts) = hosts("anew", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let daemons = [hosts.client(0), hosts.client(1)];
    let [a, b] = &hosts.spaces;
    for closes_late in [false, true] {
        exchange(daemons.each_ref());
        // What was at it ends with it: a window that is open then has to be closed.
        let (place, _port) = open(&daemons[0], Key::of_text("job"));
        let close = || daemons[0].close(&place).expect("this connection has opened it");
        assert!(a.ip("link del r0"));
        until("removed", || daemons.iter().all(|daemon| !daemon.matrix().is_up(0)));
        if !closes_late {
            close();
        }
        assert!(a.join(b, 1));
        until("up at the other end", || daemons[1].matrix().is_up(0));
        if closes_late {
            close();
        }
        until("up again", || daemons[0].matrix().is_up(0));
    }
    exchange(daemons.each_ref());
}

/// Does what `ethtool -L r0 rx N tx N` does. False: this kernel or driver refuses.
fn set_queues(space: &Space, receiving: u32, sending: u32) -> bool {
    const SET_CHANNELS: u32 = 0x3d;
    space.inside(|| {
        // Command, greatest numbers, and those for receiving, sending, others and both.
        let mut channels = [SET_CHANNELS, 0, 0, 0, 0, receiving, sending, 0, 0];
        // SAFETY: plain data, valid as zeros.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(b"r0") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = channels.as_mut_ptr().cast();
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        // SAFETY: the request names memory of the length that the command has.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        if done < 0 {
            eprintln!("{receiving} and {sending} queues: {}", std::io::Error::last_os_error());
        }
        done == 0
    })
}

/// The same at both ends. A wire's end receives at least as many as the other end sends.
fn set_all_queues(hosts: &Hosts, queues: u32, before: u32) -> bool {
    let both = |receiving, sending| hosts.spaces.iter().all(|space| set_queues(space, receiving, sending));
    both(queues.max(before), queues.min(before)) && both(queues, queues)
}

#[test]
fn an_interface_whose_queues_change_is_set_up_again_for_the_next_window() {
    let test = "an_interface_whose_queues_change_is_set_up_again_for_the_next_window";
    let Some(hosts) = wide("requeued") else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let daemons = [hosts.client(0), hosts.client(1)];
    let (mut before, mut seen) = (4, Vec::new());
    for queues in [2, 4, 3] {
        seen.push(exchange(daemons.each_ref()));
        if !set_all_queues(&hosts, queues, before) {
            eprintln!("SKIP {test}: the number of queues of a virtual wire can't be changed here");
            return;
        }
        before = queues;
    }
    seen.push(exchange(daemons.each_ref()));
    assert_eq!(seen, [4, 2, 4, 3]);
}

/// Windows of an interface share memory: so it is for one user at a time, whoever is allowed.
#[test]
fn two_users_have_an_interface_one_after_the_other() {
    let Some(hosts) = hosts("two", 1) else { return };
    let Some(_daemon) = hosts.daemon(0, &["--eth-user", &NOBODY.to_string()]) else { return };
    let Some(other_user) = super::ends::other_user(&hosts) else { return };
    let near = hosts.client(0);
    let key = Key::of_text("job");
    let opened = [near.open("sn0", None, key), near.open("sn0", None, key)];
    let places = opened.map(|opened| opened.expect("a window").0);
    for place in places {
        let said = other_user();
        assert!(
            said.contains("in use by user 0: an interface's windows are for one user at a time"),
            "{said}"
        );
        near.close(&place).expect("this connection has opened it");
    }
    let said = other_user();
    assert!(said.contains("opened"), "{said}");
    // Its process has ended: the interface is free.
    near.open("sn0", None, key).expect("nobody else has it");
}
