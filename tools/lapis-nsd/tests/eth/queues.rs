//! Interfaces that spread what arrives over several queues.

use super::{Hosts, cross, hosts, hosts_with, open, receive, send, way};
use lapis_adapters::eth::port::Port;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::Place;
use lapis_testing::Space;

/// Two hosts joined by a wire of four queues each way.
pub(crate) fn wide(test: &str) -> Option<Hosts> {
    let queues = |hosts: [&Space; 2]| {
        let [a, b] = hosts;
        let ends = "numrxqueues 4 numtxqueues 4";
        let again = format!("link add r0 {ends} type veth peer name r0 {ends} netns {}", b.path());
        let up = |host: &Space, n: u32| {
            host.ip(&format!("addr add 10.217.0.{n}/24 dev r0")) && host.ip("link set r0 up")
        };
        a.ip("link del r0") && a.ip(&again) && up(a, 1) && up(b, 2)
    };
    hosts_with(test, 1, queues)
}

#[test]
fn datagrams_of_every_length_cross_a_wire_of_several_queues() {
    let Some(hosts) = wide("queues") else { return };
    cross(&hosts, 1500 - 40, &[]);
}

/// Windows send by queues alternately, and hear what arrives at any.
#[test]
fn windows_hear_what_arrives_at_each_queue() {
    let Some(hosts) = wide("spread") else { return };
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let mode = near.adapters().expect("adapters")[0].mode.clone().expect("it is taken");
    assert!(mode.contains("4 queues"), "{mode}");
    let key = Key::of_text("job");
    let mut here: Vec<Port> = (0..8).map(|_| open(&near, key).1).collect();
    let mut there = open(&far, key).1;
    let ways: Vec<_> = here.iter().map(|port| way(&near, port, &there)).collect();
    let back: Vec<_> = here.iter().map(|port| way(&far, &there, port)).collect();
    for round in 0..1000u32 {
        for (at, port) in here.iter_mut().enumerate() {
            let bytes = [&round.to_le_bytes()[..], &[at as u8]].concat();
            send(port, &ways[at], &bytes);
            assert_eq!(receive(&mut there), bytes);
            send(&mut there, &back[at], &bytes);
            assert_eq!(receive(port), bytes);
        }
    }
    let arrived: Vec<u64> = there.arrived_at().collect();
    assert_eq!(arrived, [2000; 4], "two windows send by each queue");
    // All that the other end sends leaves by the queue of its window.
    assert!(here.iter().all(|port| port.arrived_at().filter(|count| *count > 0).count() == 1));
    // Closed and opened again, with the frames of all queues.
    drop(here);
    for window in near.windows("sn0").expect("windows") {
        let place = Place { adapter: "sn0".to_owned(), window: window.window };
        near.close(&place).expect("this connection has opened it");
    }
    let mut one = open(&near, key).1;
    let go = way(&near, &one, &there);
    for round in 0..5000u32 {
        send(&mut one, &go, &round.to_le_bytes());
        assert_eq!(receive(&mut there), round.to_le_bytes());
    }
}

/// The frames of a queue are shared: what waits for tasks that compute leaves some to the one that
/// does not, of one queue or several.
#[test]
fn tasks_that_compute_keep_no_other_one_from_receiving() {
    for hosts in [hosts("computes1", 1), wide("computes4")] {
        let Some(hosts) = hosts else { return };
        compute(&hosts);
    }
}

fn compute(hosts: &Hosts) {
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let mut here = open(&near, key).1;
    // All that there may be.
    let computing = [(); 15].map(|()| open(&far, key).1);
    let mut polls = open(&far, key).1;
    let free = way(&near, &here, &polls);
    for computes in &computing {
        let busy = way(&near, &here, computes);
        for round in 0..2000u32 {
            send(&mut here, &busy, &round.to_le_bytes());
        }
    }
    for round in 0..2000u32 {
        send(&mut here, &free, &round.to_le_bytes());
        assert_eq!(receive(&mut polls), round.to_le_bytes());
    }
    let windows = far.windows("sn0").expect("windows");
    let lost: Vec<u64> = windows.iter().map(|window| window.counts.expect("is open").lost).collect();
    assert!(lost[..15].iter().all(|lost| *lost > 900) && lost[15] == 0, "{lost:?}");
}
