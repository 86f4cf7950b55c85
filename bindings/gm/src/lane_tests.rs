//! Messages between two ports of this process by lanes. Short ones, past the engine, and in order
//! with those that go through it; long ones by parts while both call, and without the sender's help
//! where it does not.

use crate::events::Pending;
use crate::net::FEW;
use crate::port::Port;
use crate::rubbish_tests::{Random, daemon};
use crate::settings::Settings;
use crate::stream::{Op, Teller};
use crate::wire::{Head, Kind};
use crate::wish::Wish;
use lapis_adapters::soft::{InLane, Sender};
use lapis_copies::Copies;
use lapis_testing::Patience;
use std::time::Duration;

const SIZE: u32 = 21;
const LEN: usize = (1 << SIZE) - 8;

struct Pair {
    from: Port,
    to: Port,
    message: Vec<u8>,
    buffer: Vec<u8>,
}

impl Pair {
    /// Sends the message.
    fn send(&mut self) {
        self.buffer.fill(0);
        let at = self.buffer.as_mut_ptr().expose_provenance() as u64;
        self.to.provide(at, SIZE, 0, 0);
        let (node, port) = (self.to.node, self.to.number);
        let local = self.message.as_ptr().expose_provenance() as u64;
        let op = Op::Message { size: SIZE as u8 };
        self.from.send(Wish { op, local, len: LEN as u64, priority: 0, node, port, teller: Teller::Event });
    }

    /// Polls until the message is there; the sender no more once `is_enough`.
    fn receive(&mut self, is_enough: impl Fn(&Port) -> bool) {
        let mut enough = false;
        loop {
            enough |= is_enough(&self.to);
            if !enough {
                self.from.poll();
            }
            self.to.poll();
            let got = |event: &Pending| matches!(event, Pending::Received(m) if m.len as usize == LEN);
            if self.to.events.iter().any(got) {
                break;
            }
        }
        assert!(self.buffer[..LEN] == self.message[..LEN], "the bytes are those that were sent");
        self.to.events.clear();
        self.to.buffers.provided -= 1;
        while self.from.tokens_out > 0 {
            self.from.poll();
            self.to.poll();
        }
    }

    fn peer(&self) -> &crate::stream::Peer {
        let is_from =
            |peer: &&crate::stream::Peer| (peer.node, peer.port) == (self.from.node, self.from.number);
        self.to.peers.iter().find(is_from).expect("it has sent something")
    }
}

/// Two ports that know each other.
struct Two {
    from: Port,
    to: Port,
    /// What the next message received is to be, by priority.
    next: [u64; 2],
    sent: [u64; 2],
    messages: Vec<Box<[u8]>>,
    buffers: Vec<Vec<u8>>,
}

/// Messages' size class: of those that lie in one unit.
const SHORT: u32 = 13;
const ROOM: usize = (1 << SHORT) - 8;

impl Two {
    fn open(daemon: &lapis_adapters::channel::Address) -> Self {
        let open = |number| {
            let settings =
                Settings { daemon: daemon.clone(), node: "left".to_owned(), ..Settings::of_process() };
            Port::open(settings, 0, number, "two").expect("free")
        };
        let mut two = Self {
            from: open(2),
            to: open(4),
            next: [0; 2],
            sent: [0; 2],
            messages: Vec::new(),
            buffers: vec![vec![0; ROOM + 8]; 64],
        };
        let places: Vec<u64> =
            two.buffers.iter_mut().map(|buffer| buffer.as_mut_ptr().expose_provenance() as u64).collect();
        for (at, place) in places.into_iter().enumerate() {
            two.to.provide(place, SHORT, (at % 2) as u32, 0);
        }
        two.send(0, 8);
        two.receive(1);
        two
    }

    /// Both know in which life the other one is: whom the engine greets it hears of soon.
    fn meet(&mut self) {
        while self.from.net.engine.epochs(crate::stream::task(self.to.node, 4)).is_none() {
            self.from.poll();
            self.to.poll();
        }
    }

    fn send(&mut self, priority: usize, len: usize) {
        let number = self.sent[priority];
        self.sent[priority] += 1;
        let message: Box<[u8]> = vec![(number * 2) as u8 | priority as u8; len].into();
        let local = message.as_ptr().expose_provenance() as u64;
        self.messages.push(message);
        let (node, port, op) = (self.to.node, self.to.number, Op::Message { size: SHORT as u8 });
        let teller = Teller::Event;
        self.from.send(Wish { op, local, len: len as u64, priority: priority as u32, node, port, teller });
    }

    /// Takes what has come, which is in order, and gives its buffers back.
    fn take(&mut self) -> usize {
        self.to.poll();
        let mut count = 0;
        while let Some(event) = self.to.next_event() {
            let Pending::Received(message) = event else { continue };
            let priority = usize::from(message.priority);
            let bytes: Vec<u8> = match message.fast {
                // SAFETY: it is shown until the next one is.
                Some(at) => unsafe { (&(*self.to.fast.show(at)))[..message.len as usize].to_vec() },
                // SAFETY: a buffer of this test's, which has come back.
                None => unsafe { crate::memory::memory(message.buffer, message.len as usize).to_vec() },
            };
            let expected = (self.next[priority] * 2) as u8 | priority as u8;
            assert!(bytes.iter().all(|byte| *byte == expected), "priority {priority}: in order");
            self.next[priority] += 1;
            self.to.provide(message.buffer, SHORT, priority as u32, 0);
            count += 1;
        }
        count
    }

    /// Both work until so many messages have come, and have ended.
    fn receive(&mut self, mut count: usize) {
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while count > 0 || self.from.tokens_out > 0 {
            assert!(!patience.is_over(), "{count} messages to come, {} to end", self.from.tokens_out);
            count -= self.take();
            self.from.poll();
        }
        assert!(self.from.counters.failed == 0);
        self.from.events.clear();
        self.from.sent.clear();
        self.messages.clear();
    }

    /// Units that the sender has given to the engine.
    fn by_engine(&self) -> u64 {
        self.from
            .net
            .engine
            .stats(crate::stream::task(self.to.node, 4))
            .map_or(0, |stats| stats.units_submitted)
    }
}

#[test]
fn short_messages_go_past_the_engine_once_two_ports_know_each_other() {
    let (daemon, _handle) = daemon("past");
    let mut two = Two::open(&daemon);
    two.meet();
    let before = two.by_engine();
    for len in [0, 8, 128, 129, 2000, 2100, ROOM] {
        two.send(0, len);
        two.receive(1);
    }
    // Those that follow each other closely go in bundles, and the next one alone again.
    (0..30).for_each(|_| two.send(0, 8));
    two.receive(30);
    two.send(0, 8);
    two.receive(1);
    assert_eq!(two.by_engine(), before);
}

#[test]
fn a_bundle_leaves_when_its_slot_is_full_or_with_the_next_call() {
    let (daemon, _handle) = daemon("bundle");
    let mut two = Two::open(&daemon);
    two.meet();
    (0..FEW + 2).for_each(|_| two.send(0, 8));
    assert_eq!(two.take(), FEW, "the first few leave at once, and the others wait");
    assert_eq!(two.take(), 0);
    two.from.poll();
    assert_eq!(two.take(), 2, "they leave with the next call");
    two.receive(0);
    (0..30).for_each(|_| two.send(0, 8));
    let at_once = two.take() + two.take();
    assert!((FEW + 10..30).contains(&at_once), "full places leave: {at_once}");
    // To another stream, which has no bundle.
    two.send(1, 8);
    assert_eq!(two.take() + two.take(), 31 - at_once, "any other message is a call, too");
    two.receive(0);
    // One that is too long for a bundle takes what waits along, in order.
    (0..FEW + 1).for_each(|_| two.send(0, 8));
    two.send(0, 129);
    assert_eq!(two.take(), FEW + 2);
    two.receive(0);
}

#[test]
fn what_a_port_has_sent_before_it_was_closed_is_read_whatever_waits_for_the_program() {
    let (daemon, _handle) = daemon("closed");
    let mut two = Two::open(&daemon);
    two.meet();
    (0..30).for_each(|_| two.send(0, 8));
    two.from.poll();
    let Two { from, mut to, messages, buffers, .. } = two;
    to.poll();
    let peer = to.peer(from.node, from.number);
    drop(from);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while to.peers[peer].link != crate::stream::Link::Down {
        assert!(!patience.is_over(), "its end is not seen");
        to.poll();
    }
    let received = to.events.iter().filter(|event| matches!(event, Pending::Received(_))).count();
    assert_eq!(received, 30);
    drop((to, messages, buffers));
}

#[test]
fn a_bundle_that_is_cut_off_is_read_as_far_as_it_goes() {
    let (daemon, _handle) = daemon("cut-off");
    let mut two = Two::open(&daemon);
    let peer = two.to.peer(two.from.node, 2);
    let next = two.to.peers[peer].ins[0].next;
    let head = Head::new(Kind::Bundle, 0, two.to.peers[peer].ins[0].generation, next);
    let (head, len) = head.encode();
    let bundle = |rest: &[u8]| [&head[..len], &[SHORT as u8, 1, 2, SHORT as u8, 1, 4], rest].concat();
    // No such size, a message that is longer than what is left, half of what is before one.
    for (at, rest) in [&[32u8, 0][..], &[SHORT as u8, 4, 0, 0], &[SHORT as u8]].into_iter().enumerate() {
        two.to.peers[peer].ins[0].next = next;
        assert!(two.to.unit(peer, &bundle(rest)));
        assert_eq!(two.to.peers[peer].ins[0].next, next + 2);
        assert_eq!(two.to.events.len(), 2 * (at + 1));
    }
}

#[test]
fn messages_are_in_order_whichever_way_each_takes() {
    let (daemon, _handle) = daemon("ways");
    let mut two = Two::open(&daemon);
    let mut random = Random(5);
    for round in 0..400 {
        let count = 1 + (random.next() % 20) as usize;
        for _ in 0..count {
            two.from.net.lanes = !random.next().is_multiple_of(3);
            let len = if random.next().is_multiple_of(4) { random.next() as usize % ROOM } else { 8 };
            two.send((random.next() & 1) as usize, len);
            if random.next().is_multiple_of(8) {
                two.from.poll();
            }
        }
        two.receive(count);
        // Adapters that are down carry nothing; the next look finds them up.
        if round % 40 == 0 {
            let task = crate::stream::task(two.to.node, 4);
            two.from.net.outlets.set_up(task, false);
            (0..8).for_each(|_| two.send(0, 8));
            two.receive(8);
        }
    }
    assert!(two.by_engine() > 100);
}

#[test]
fn who_has_been_given_up_hears_of_it_when_it_sends_by_its_lane() {
    let (daemon, _handle) = daemon("given-up");
    let mut two = Two::open(&daemon);
    let peer = two.to.peer(two.from.node, 2);
    two.to.part_from(peer);
    two.send(0, 8);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while two.from.tokens_out > 0 {
        assert!(!patience.is_over(), "its send does not end");
        two.from.poll();
        two.to.poll();
    }
}

#[test]
fn what_somebody_without_a_port_writes_into_a_lane_is_not_heard() {
    let (daemon, _handle) = daemon("lane-rubbish");
    let mut two = Two::open(&daemon);
    let known = two.to.peers.len();
    let way = two.to.daemon.attach_port(two.to.node, two.to.node, 4, two.to.key).expect("it is open");
    let lapis_adapters::client::PortWay::Here { parts, .. } = way else { panic!("this host's") };
    let mut sender = Sender::open(parts, Copies::USUAL).expect("maps");
    let mut random = Random(11);
    for _ in 0..5000 {
        let bytes: Vec<u8> = (0..random.next() % 300).map(|_| random.next() as u8).collect();
        sender.send_in_lane(1 + random.next() % 2000, &[], &bytes);
        assert_eq!(two.take(), 0);
    }
    assert_eq!(two.to.peers.len(), known, "nobody is made a peer");
    two.send(0, 8);
    two.receive(1);
}

#[test]
fn a_long_message_comes_by_a_lane_or_without_the_help_of_a_sender_that_does_not_call() {
    let (daemon, _handle) = daemon("lanes");
    let open = |number| {
        let settings = Settings { daemon: daemon.clone(), node: "left".to_owned(), ..Settings::of_process() };
        Port::open(settings, 0, number, "lanes").expect("free")
    };
    let message = (0..LEN).map(|at| (at * 13 + at / 4096) as u8).collect();
    let mut pair = Pair { from: open(2), to: open(4), message, buffer: vec![0; LEN + 8] };
    for _ in 0..3 {
        pair.send();
        pair.receive(|_| false);
    }
    // Whoever calls in time brings the bytes itself, unless this machine is very busy.
    let asked = pair.peer().busy.left == 0;
    // The sender has announced the message, and calls no more when the receiver has heard of it.
    let begun = |to: &Port| to.peers.iter().any(|peer| peer.ins[0].current.is_some());
    pair.send();
    pair.receive(begun);
    assert!(pair.peer().busy.left > 0, "it was copied without the sender");
    let before = pair.peer().busy.left;
    pair.send();
    pair.receive(begun);
    assert_eq!(pair.peer().busy.left, before - 1, "the next one is copied at once");
    eprintln!("parts came by the lane: {asked}");
}

/// A program that is killed leaves its lane as it is, and may be started again before anybody has
/// noticed its end.
#[test]
fn lanes_of_programs_that_are_killed_and_started_again_are_for_others() {
    let (address, _daemon) = daemon("again");
    let mut two = Two::open(&address);
    // More often than there are lanes.
    for _ in 0..40 {
        two.from.registration.close();
        let settings =
            Settings { daemon: address.clone(), node: "left".to_owned(), ..Settings::of_process() };
        let next = Port::open(settings, 0, 2, "two").expect("its number is free");
        // Nothing of it is run any more.
        std::mem::forget(std::mem::replace(&mut two.from, next));
        // What it sends first is noticed before the end of the former one.
        let task = crate::stream::task(two.to.node, 2);
        two.to.peer_restarted(task, true);
        two.send(0, 8);
        two.receive(1);
    }
    let window = &two.to.registration.opened.place;
    let parts = two.from.daemon.attach(window, two.to.key).expect("it is open");
    let mut other = Sender::open(parts, Copies::USUAL).expect("maps");
    // SAFETY: eight bytes were asked for.
    let sent = other.write_in_lane(77, 8, |to| unsafe { to.write_bytes(0, 8) });
    assert_eq!(sent, InLane::Sent);
}
