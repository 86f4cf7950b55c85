//! Ports that are opened anew, and processes that are forked.

use crate::abi::Status;
use crate::api::{Event, Port, Target};
use crate::rubbish_tests::daemon;
use lapis_testing::Patience;
use std::time::Duration;

const SIZE: u32 = 10;

fn open(daemon: &str, number: u32) -> Port {
    Port::open_at(daemon, "left", 0, number, "life").expect("free")
}

/// Both ports work until the first one has been told of so many ends, which this answers.
fn ends(sender: &mut Port, receiver: &mut Port, count: usize) -> Vec<(Vec<u8>, Status)> {
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    let mut ends = Vec::new();
    while ends.len() < count {
        assert!(!patience.is_over(), "{ends:?}");
        while receiver.poll().is_some() {}
        if let Some(Event::Sent { message, status, .. }) = sender.poll() {
            ends.push((message, status));
        }
    }
    ends
}

#[test]
fn who_has_the_port_now_gets_what_is_sent_now() {
    let (daemon, _handle) = daemon("reopened");
    let mut sender = open(daemon.as_str(), 2);
    let to = Target { node: sender.node(), port: 4, high: false };
    for life in 0..3 {
        let mut receiver = open(daemon.as_str(), 4);
        receiver.provide(SIZE, false, 0).expect("a token");
        sender.send(to, SIZE, vec![life]).expect("a token");
        assert_eq!(ends(&mut sender, &mut receiver, 1), [(vec![life], Status::Success)]);
    }
}

#[test]
fn what_the_former_program_has_not_taken_fails_alone() {
    let (daemon, _handle) = daemon("former");
    let mut sender = open(daemon.as_str(), 2);
    let to = |high| Target { node: 1, port: 4, high };
    assert_eq!(sender.node(), 1);
    let mut former = open(daemon.as_str(), 4);
    former.provide(SIZE, false, 0).expect("a token");
    for message in [0, 1] {
        sender.send(to(false), SIZE, vec![message]).expect("a token");
    }
    assert_eq!(ends(&mut sender, &mut former, 1), [(vec![0], Status::Success)]);
    drop(former);
    let mut next = open(daemon.as_str(), 4);
    for high in [false, true] {
        next.provide(SIZE, high, 0).expect("a token");
    }
    sender.send(to(true), SIZE, vec![2]).expect("a token");
    let mut told = ends(&mut sender, &mut next, 2);
    told.sort_unstable_by_key(|(message, _)| message[0]);
    assert_eq!(told, [(vec![1], Status::SendTargetPortClosed), (vec![2], Status::Success)]);
}

#[test]
fn a_fork_has_no_part_in_the_port() {
    let (daemon, _handle) = daemon("forked");
    let mut port = open(daemon.as_str(), 2);
    let to = Target { node: port.node(), port: 2, high: false };
    // SAFETY: the child calls nothing that another thread of the parent may have locked, but for
    // memory, whose locks the system's fork takes.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = port.send(to, SIZE, vec![1]) == Err(Status::InvalidParameter)
            && port.provide(SIZE, false, 0) == Err(Status::InvalidParameter)
            && port.poll().is_none();
        drop(port);
        // SAFETY: it ends the child at once.
        unsafe { libc::_exit(i32::from(!refused)) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a place for its status.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    // The port is open as before.
    assert_eq!(Port::open_at(daemon.as_str(), "left", 0, 2, "life").err(), Some(Status::Busy));
    port.provide(SIZE, false, 0).expect("a token");
    port.send(to, SIZE, vec![3]).expect("a token");
    let mut events = [port.wait(), port.wait()].map(|event| matches!(event, Event::Received { .. }));
    events.sort_unstable();
    assert_eq!(events, [false, true]);
}
