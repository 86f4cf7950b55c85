//! A wire that has no room for some of the datagrams, and takes the others.

use super::{FULL, NEWS, end, end_to, news, packet, poll, under_way};
use crate::config::Config;
use crate::datagrams::Datagrams;
use crate::transport::{Event, Link, Status};
use crate::wire::Kind;

/// Sends a packet that waits for nothing.
fn send((link, datagrams): &mut (Link, Datagrams), peer: u32, number: u32) {
    assert_eq!(datagrams.send(link, peer, &packet(Kind::Am, number), &[], true), Status::Done);
    let now = datagrams.now();
    datagrams.flush(link, now);
}

#[test]
fn a_path_without_room_holds_back_neither_other_paths_nor_their_order() {
    NEWS.set(vec![news(0, true), news(1, true)]);
    let mut near = end(0);
    NEWS.set([news(0, true), news(1, true)].map(|event| Event { peer: 0, ..event }).to_vec());
    let (mut far_link, mut far) = end(1);
    FULL.set(|_, path| path == 0);
    let mut came = Vec::new();
    for number in 0..8 {
        send(&mut near, 1, number);
        came.extend(poll(&mut far_link, &mut far).into_iter().map(|(_, number)| number));
    }
    assert!(came.len() >= 6, "what takes the other path leaves: {came:?}");
    assert!(came.is_sorted(), "in order on their path: {came:?}");
    assert!(near.1.holds_back());
    FULL.set(|_, _| false);
    let now = near.1.now();
    near.1.flush(&mut near.0, now);
    assert!(!near.1.holds_back());
    for number in 8..16 {
        send(&mut near, 1, number);
    }
    came.extend(poll(&mut far_link, &mut far).into_iter().map(|(_, number)| number));
    came.sort_unstable();
    assert_eq!(came, Vec::from_iter(0..16), "each comes once");
}

#[test]
fn a_peer_whose_socket_has_no_room_holds_back_no_other_peer() {
    let mut near = end_to(vec![(1, Some(1)), (2, Some(1))], 0, 1, &Config::default());
    let (mut far_link, mut far) = end(1);
    FULL.set(|peer, _| peer == 1);
    for number in 0..4 {
        send(&mut near, 1, number);
        send(&mut near, 2, number);
        assert_eq!((under_way(1).len(), under_way(2).len()), (0, number as usize + 1));
    }
    FULL.set(|_, _| false);
    let now = near.1.now();
    near.1.flush(&mut near.0, now);
    let came: Vec<u32> = poll(&mut far_link, &mut far).into_iter().map(|(_, number)| number).collect();
    assert_eq!(came, [0, 1, 2, 3]);
    assert_eq!(under_way(2).len(), 4, "nothing is sent twice");
    assert!(!near.1.holds_back());
}

#[test]
fn what_a_purged_peer_had_no_room_for_is_dropped_and_its_next_life_is_heard() {
    let mut near = end_to(vec![(1, Some(1)), (2, Some(1))], 0, 1, &Config::default());
    FULL.set(|_, _| true);
    send(&mut near, 1, 0);
    send(&mut near, 2, 0);
    near.1.purge(1);
    FULL.set(|_, _| false);
    near.1.resume(1);
    let now = near.1.now();
    near.1.flush(&mut near.0, now);
    assert!(!near.1.holds_back());
    assert_eq!((under_way(1).len(), under_way(2).len()), (1, 1), "a greeting, and what waited");
}
