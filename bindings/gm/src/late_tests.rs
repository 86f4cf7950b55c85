//! What a peer says too late, or too early: of messages behind a get whose bytes are still on their
//! way, and of a long message whose bytes have come before they were asked for.

use crate::abi::Status;
use crate::events::Pending;
use crate::port::Port;
use crate::rubbish_tests::open;
use crate::stream::{Link, Op, Teller};
use crate::wire::{Head, Kind};
use crate::wish::Wish;

/// A peer that nothing is sent to, with a get of four bytes and a message behind it.
fn begin(port: &mut Port, got: &mut [u8; 4], message: &[u8; 4]) -> usize {
    let (node, number) = (port.node + 1, 4);
    let peer = port.peer(node, number);
    port.peers[peer].link = Link::Seeking { since: port.net.now(), again: u64::MAX };
    let here = |at: *const u8| at.expose_provenance() as u64;
    for (op, local) in
        [(Op::Get { address: 64 }, here(got.as_mut_ptr())), (Op::Message { size: 4 }, here(message.as_ptr()))]
    {
        port.send(Wish { op, local, len: 4, priority: 0, node, port: number, teller: Teller::Event });
    }
    peer
}

fn hear(port: &mut Port, peer: usize, head: Head, bytes: &[u8]) {
    let (first, len) = head.encode();
    port.unit(peer, &[&first[..len], bytes].concat());
    port.stir(peer);
}

#[test]
fn a_message_behind_a_get_ends_after_it() {
    let (mut port, _daemon) = open("late-done");
    let (mut got, message) = ([0; 4], [1; 4]);
    let peer = begin(&mut port, &mut got, &message);
    hear(&mut port, peer, Head::new(Kind::Done, 0, 0, 2), &[]);
    assert!(port.sent.is_empty() && port.tokens_out == 2, "the get's bytes are not there");
    hear(&mut port, peer, Head { a: 2, ..Head::new(Kind::Got, 0, 0, 0) }, b"cd");
    assert!(port.sent.is_empty());
    hear(&mut port, peer, Head::new(Kind::Got, 0, 0, 0), b"ab");
    assert_eq!(port.sent, [&raw const got as u64, &raw const message as u64]);
    assert_eq!((&got, port.tokens_out), (b"abcd", 0));
}

#[test]
fn a_message_that_fails_behind_a_get_fails_after_it() {
    let (mut port, _daemon) = open("late-failed");
    let (mut got, message) = ([0; 4], [1; 4]);
    let peer = begin(&mut port, &mut got, &message);
    let failed = Head { status: Status::SendRejected as u8, ..Head::new(Kind::Failed, 0, 0, 1) };
    hear(&mut port, peer, failed, &[]);
    assert!(port.sent.is_empty() && port.tokens_out == 2 && !port.peers[peer].out[0].paused);
    hear(&mut port, peer, Head::new(Kind::Got, 0, 0, 0), b"abcd");
    assert_eq!(port.sent, [&raw const got as u64]);
    let told = port.events.iter().any(
        |event| matches!(event, Pending::NotSent { message: at, .. } if *at == &raw const message as u64),
    );
    assert!(told && port.peers[peer].out[0].paused && port.tokens_out == 0);
}

#[test]
fn nobody_is_given_what_is_where_the_bytes_of_a_get_will_be() {
    let (mut port, _daemon) = open("late-go");
    let (mut got, message) = ([0; 4], [1; 4]);
    let peer = begin(&mut port, &mut got, &message);
    hear(&mut port, peer, Head::new(Kind::Go, 0, 0, 0), &[]);
    hear(&mut port, peer, Head::new(Kind::Go, 0, 0, 1), &[]);
    let wanted: Vec<bool> = port.peers[peer].out[0].messages.iter().map(|message| message.wanted).collect();
    assert_eq!(wanted, [false, true]);
}

#[test]
fn who_has_all_of_a_message_asks_for_nothing_of_the_next_one() {
    let (mut port, _daemon) = open("late-part");
    let (mut got, message) = ([0; 4], [1; 4]);
    // Nothing is sent to this peer: what it is owed it stays owed.
    let peer = begin(&mut port, &mut got, &message);
    let mut buffer = vec![0u8; 1 << 12];
    port.provide(buffer.as_mut_ptr().expose_provenance() as u64, 12, 0, 0);
    hear(&mut port, peer, Head { size: 12, a: 4, ..Head::new(Kind::LongMessage, 0, 0, 0) }, &[]);
    assert!(port.peers[peer].ins[0].owes_go, "its bytes are to be asked for");
    hear(&mut port, peer, Head::new(Kind::Part, 0, 0, 0), b"late");
    assert_eq!((port.counters.received, &buffer[..4]), (1, &b"late"[..]));
    assert!(!port.peers[peer].ins[0].owes_go, "the next message is not there to be asked for");
}
