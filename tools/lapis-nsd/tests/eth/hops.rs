//! What tasks are told of neighbours and routes.

use super::changes::until;
use super::{hop, hosts, kill, open, patience, v6_hosts};
use lapis_adapters::client::Daemon;
use lapis_adapters::key::Key;
use std::net::IpAddr;
use std::time::Duration;

#[test]
fn tasks_hear_of_neighbours_and_routes_that_change() {
    let Some(hosts) = hosts("hops", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let near = hosts.client(0);
    let (_, _port) = open(&near, Key::of_text("job"));
    let there = IpAddr::from([10, 217, 0, 2]);
    let beyond = IpAddr::from([10, 217, 50, 1]);
    let until = |what: &str, to: IpAddr, seen: u32, mac: [u8; 6]| {
        let mut patience = patience();
        while near.matrix().hops(0) == seen || hop(&near, to).mac != mac {
            assert!(!patience.is_over(), "{what}: {:?}", near.hop("sn0", to));
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let old = hop(&near, there);
    let seen = near.matrix().hops(0);
    assert!(hosts.spaces[1].ip("link set r0 address 02:00:00:00:07:01"));
    until("the neighbour's address", there, seen, [2, 0, 0, 0, 7, 1]);
    assert_ne!(old.mac, [2, 0, 0, 0, 7, 1]);
    // Another way to a host beyond. Each interface there answers for its own address alone.
    let strict = || std::fs::write("/proc/sys/net/ipv4/conf/all/arp_ignore", "1");
    hosts.spaces[1].inside(strict).expect("may be written");
    assert!(
        hosts.spaces[1].ip("link add link r0 name m0 address 02:00:00:00:07:02 type macvlan mode bridge")
    );
    assert!(hosts.spaces[1].ip("addr add 10.217.0.77/32 dev m0") && hosts.spaces[1].ip("link set m0 up"));
    assert!(hosts.spaces[0].ip("route add 10.217.50.0/24 via 10.217.0.2"));
    assert_eq!(hop(&near, beyond).mac, [2, 0, 0, 0, 7, 1]);
    hop(&near, IpAddr::from([10, 217, 0, 77]));
    let seen = near.matrix().hops(0);
    assert!(hosts.spaces[0].ip("route replace 10.217.50.0/24 via 10.217.0.77"));
    until("the route", beyond, seen, hop(&near, IpAddr::from([10, 217, 0, 77])).mac);
    // This host's own address, which frames carry, too.
    let seen = near.matrix().hops(0);
    assert!(hosts.spaces[0].ip("link set r0 address 02:00:00:00:07:03"));
    let mut patience = patience();
    while near.matrix().hops(0) == seen || hop(&near, there).from != [2, 0, 0, 0, 7, 3] {
        assert!(!patience.is_over(), "{:?}", near.hop("sn0", there));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The same over IPv6, where neighbours are found and told of in another way.
#[test]
fn tasks_hear_of_neighbours_and_routes_that_change_over_ipv6() {
    let Some(hosts) = v6_hosts("hops6", 1) else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let (_, _port) = open(&near, Key::of_text("job"));
    let (_, _other) = open(&far, Key::of_text("job"));
    let (here, there) =
        (IpAddr::from([0xfd17, 0, 0, 0, 0, 0, 0, 1]), IpAddr::from([0xfd17, 0, 0, 0, 0, 0, 0, 2]));
    let beyond = IpAddr::from([0xfd17, 0x50, 0, 0, 0, 0, 0, 1]);
    let until = |daemon: &Daemon, to: IpAddr, seen: u32, mac: [u8; 6]| {
        let mut patience = patience();
        while daemon.matrix().hops(0) == seen || hop(daemon, to).mac != mac {
            assert!(!patience.is_over(), "{to}: {:?}", daemon.hop("sn0", to));
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    assert!(hosts.spaces[0].ip("route add fd17:50::/64 via fd17:0::2"));
    assert_eq!(hop(&near, beyond), hop(&near, there));
    hop(&far, here);
    // The daemon there advertises the interface's new address.
    let seen = near.matrix().hops(0);
    assert!(hosts.spaces[1].ip("link set r0 address 02:00:00:00:07:01"));
    until(&near, there, seen, [2, 0, 0, 0, 7, 1]);
    until(&near, beyond, seen, [2, 0, 0, 0, 7, 1]);
    let seen = far.matrix().hops(0);
    assert!(hosts.spaces[0].ip("link set r0 address 02:00:00:00:07:03"));
    until(&far, here, seen, [2, 0, 0, 0, 7, 3]);
    assert!(!hosts.spaces[0].ip("route get fd17:77::1"), "there is no such way");
    near.hop("sn0", IpAddr::from([0xfd17, 0x77, 0, 0, 0, 0, 0, 1])).expect_err("is said");
}

/// Two windows of a daemon before are shown to the next one, which has no frames of theirs. When
/// one of their tasks ends, the other one still hears of neighbours.
#[test]
fn a_task_hears_of_neighbours_after_another_one_of_a_former_daemon_has_ended() {
    let Some(hosts) = hosts("adopted", 1) else { return };
    let (Some(former), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let key = Key::of_text("job");
    let before = [hosts.client(0), hosts.client(0)];
    let opened = before.each_ref().map(|daemon| daemon.open_window("sn0", None, key).expect("a window"));
    kill(former);
    let Some(_a) = hosts.daemon(0, &[]) else { return };
    let tasks = [hosts.client(0), hosts.client(0)];
    for (daemon, window) in tasks.iter().zip(&opened) {
        daemon.adopt(&window.place, key, &window.parts).expect("nobody else has it");
    }
    let [stays, ends] = tasks;
    let there = IpAddr::from([10, 217, 0, 2]);
    let old = hop(&stays, there);
    let seen = stays.matrix().hops(0);
    drop(ends);
    let mut patience = patience();
    while stays.windows("sn0").expect("windows").len() > 1 {
        assert!(!patience.is_over(), "the window of a task that has gone is not free");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(hosts.spaces[1].ip("link set r0 address 02:00:00:00:07:01"));
    while stays.matrix().hops(0) == seen {
        assert!(!patience.is_over(), "nothing is told of the neighbour");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_ne!(hop(&stays, there).mac, old.mac);
}

/// Nobody answers at a network whose carrier is there. Whoever asked is told when somebody does.
#[test]
fn a_network_where_nobody_answers_is_silent_until_somebody_does() {
    let Some(hosts) = hosts("silence", 1) else { return };
    let Some(_a) = hosts.daemon(0, &[]) else { return };
    let near = hosts.client(0);
    let (place, _port) = open(&near, Key::of_text("job"));
    let answers = |yes| {
        let ignored = if yes { "0" } else { "8" };
        let write = || std::fs::write("/proc/sys/net/ipv4/conf/r0/arp_ignore", ignored);
        hosts.spaces[1].inside(write).expect("may be written");
    };
    let there = IpAddr::from([10, 217, 0, 2]);
    answers(false);
    // It gives up after some rounds if the kernel learns of neighbours meanwhile.
    until("flushed", || hosts.spaces[0].ip("neigh flush dev r0"));
    let seen = near.matrix().hops(0);
    assert_eq!(near.hop("sn0", there).expect("there is a way"), None);
    until("silent", || near.matrix().is_silent(0));
    assert!(near.matrix().is_up(0) && near.adapters().expect("adapters")[0].up);
    let told = lapis_adapters::status::text(&lapis_adapters::status::of(&near).expect("the status"));
    assert!(told.contains(" silent "), "{told}");
    answers(true);
    until("told", || near.matrix().hops(0) != seen && !near.matrix().is_silent(0));
    assert!(near.hop("sn0", there).expect("there is a way").is_some());
    // Nobody is left who looks for anybody.
    answers(false);
    // It gives up after some rounds if the kernel learns of neighbours meanwhile.
    until("flushed", || hosts.spaces[0].ip("neigh flush dev r0"));
    assert_eq!(near.hop("sn0", there).expect("there is a way"), None);
    until("silent again", || near.matrix().is_silent(0));
    near.close(&place).expect("this connection has opened it");
    until("nobody asks", || !near.matrix().is_silent(0));
}
