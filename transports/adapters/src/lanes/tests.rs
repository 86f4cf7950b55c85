//! A window's lanes, across mappings of their own.

use super::layout::{SLOTS, stride};
use super::{LONGEST, SELDOM};
use crate::fifo::Geometry;
use crate::soft::{InLane, Parts, Sender, Window};
use lapis_copies::Copies;
use lapis_lanes::SHORTEST_RING;

/// Room for two lanes with the shortest rings.
const TWO: Geometry = Geometry {
    slots: 16,
    chunks: 16,
    chunk: 1024,
    lanes: (2 * stride(SHORTEST_RING)).next_multiple_of(4096) as u32,
};

struct Pair {
    parts: Parts,
    window: Window,
}

impl Pair {
    fn new(geometry: Geometry) -> Self {
        let parts = Parts::make("lanes", geometry).expect("memory");
        let mut window = Window::open(parts.try_clone().expect("descriptors")).expect("maps");
        window.lanes().divide(SHORTEST_RING);
        Self { parts, window }
    }

    fn sender(&self) -> Sender {
        Sender::open(self.parts.try_clone().expect("descriptors"), Copies::USUAL).expect("maps")
    }

    fn begin(&mut self) -> Vec<u64> {
        let mut woken = Vec::new();
        self.window.lanes().begin(|sender| woken.push(sender));
        woken
    }

    /// All that has come: from whom, and the bytes.
    fn read(&mut self) -> Vec<(u64, Vec<u8>)> {
        self.begin();
        let mut all = Vec::new();
        while let Some(arrival) = self.window.lanes().take() {
            // SAFETY: it stays in place until the next beginning.
            let bytes = unsafe { std::slice::from_raw_parts(arrival.data, arrival.len) };
            all.push((arrival.sender, bytes.to_vec()));
        }
        all
    }
}

#[test]
fn messages_of_every_kind_of_length_come_whole_and_in_order() {
    let mut pair = Pair::new(TWO);
    let mut sender = pair.sender();
    let mut expected = Vec::new();
    for round in 0..40u32 {
        for len in [1usize, 8, 184, 185, 4096, 9000, 20_000, LONGEST - 3] {
            let body: Vec<u8> = (0..len).map(|i| (i as u32 * 7 + round) as u8).collect();
            assert_eq!(sender.send_in_lane(5, b"abc", &body), InLane::Sent);
            expected.push((5, [b"abc", &body[..]].concat()));
        }
        let got = pair.read();
        assert!(got == expected, "round {round}");
        expected.clear();
    }
    assert!(pair.read().is_empty());
}

#[test]
fn a_full_lane_takes_nothing_until_it_has_been_read_and_wakes_who_waits_for_room() {
    let mut pair = Pair::new(TWO);
    let mut sender = pair.sender();
    let body = vec![7; LONGEST];
    let mut sent = 0;
    while sender.send_in_lane(5, &[], &body) == InLane::Sent {
        sent += 1;
    }
    assert_eq!(sent, SHORTEST_RING / (LONGEST.next_multiple_of(64)));
    assert!(sender.is_held_up() && sender.await_room(), "nobody has read");
    assert_eq!(pair.read().len(), sent);
    assert_eq!(pair.begin(), [5], "once");
    assert!(pair.begin().is_empty());
    assert!(!sender.await_room(), "there is room");
    assert!(!sender.is_held_up(), "room has been found");
    assert_eq!(sender.send_in_lane(5, &[], &body), InLane::Sent);
    assert!(!sender.is_held_up() && !sender.await_room());
    assert_eq!(pair.read().len(), 1);
    // Slots run out before the ring does where messages are short.
    let count = (0..1000).take_while(|_| sender.send_in_lane(5, b"x", b"y") == InLane::Sent).count();
    assert!(count > SLOTS / 2 && count <= SLOTS, "{count}");
}

#[test]
fn lanes_are_for_one_sender_each_and_go_to_the_next_when_they_have_been_read() {
    let mut pair = Pair::new(TWO);
    let (mut one, mut two, mut three) = (pair.sender(), pair.sender(), pair.sender());
    assert_eq!(one.send_in_lane(1, b"first", b""), InLane::Sent);
    assert_eq!(two.send_in_lane(2, b"second", b""), InLane::Sent);
    assert_eq!(three.send_in_lane(3, b"third", b""), InLane::NoLane);
    drop(one);
    assert_eq!(three.send_in_lane(3, b"third", b""), InLane::NoLane, "it has not been read");
    let mut got = pair.read();
    got.sort();
    assert_eq!(got, [(1, b"first".to_vec()), (2, b"second".to_vec())]);
    assert!(pair.read().is_empty());
    // Who has found none looks for one now and then.
    let tries = (0..=SELDOM).take_while(|_| three.send_in_lane(3, b"third", b"") == InLane::NoLane).count();
    assert_eq!(tries, SELDOM as usize - 1);
    assert_eq!(two.send_in_lane(2, b"fourth", b""), InLane::Sent);
    let mut got = pair.read();
    got.sort();
    assert_eq!(got, [(2, b"fourth".to_vec()), (3, b"third".to_vec())]);
    // A sender that has ended without a word.
    std::mem::forget(two);
    pair.window.lanes().sender_ended(2);
    assert!(pair.read().is_empty());
    assert_eq!(pair.sender().send_in_lane(4, b"fifth", b""), InLane::Sent);
    assert_eq!(pair.read(), [(4, b"fifth".to_vec())]);
}

#[test]
fn a_lane_that_was_taken_after_the_last_look_is_free_when_its_sender_has_ended() {
    let mut pair = Pair::new(TWO);
    for name in 1..10 {
        let mut sender = pair.sender();
        assert_eq!(sender.send_in_lane(name, b"last words", b""), InLane::Sent, "sender {name}");
        // It ends without a word, and its end is heard of before anything is read.
        std::mem::forget(sender);
        pair.window.lanes().sender_ended(name);
        assert_eq!(pair.read(), [(name, b"last words".to_vec())]);
        assert!(pair.read().is_empty());
    }
}

#[test]
fn what_comes_by_a_lane_ends_a_sleep() {
    for spares in [false, true] {
        let mut pair = Pair::new(TWO);
        if spares {
            pair.window.fifo().spare_fences();
        }
        let mut sender = pair.sender();
        assert!(pair.window.arm());
        assert_eq!(sender.send_in_lane(9, b"wake", b"up"), InLane::Sent);
        assert!(pair.window.bell().quiet(), "it was rung");
        assert!(!pair.window.arm(), "something is there");
        assert!(pair.window.has_arrivals());
        assert_eq!(pair.read(), [(9, b"wakeup".to_vec())]);
        assert!(pair.window.arm());
        // SAFETY: the place has three bytes.
        let write = |place: *mut u8| unsafe { place.copy_from_nonoverlapping(b"and".as_ptr(), 3) };
        assert_eq!(sender.write_in_lane(9, 3, write), InLane::Sent);
        assert!(pair.window.bell().quiet(), "it was rung");
        assert_eq!(sender.write_in_lane(9, 3, write), InLane::Sent);
        assert!(!pair.window.bell().quiet(), "nobody sleeps any more");
        assert_eq!(pair.read(), [(9, b"and".to_vec()), (9, b"and".to_vec())]);
    }
}

#[test]
fn a_window_without_room_for_lanes_has_none() {
    let pair = Pair::new(Geometry { lanes: 0, ..TWO });
    assert_eq!(pair.sender().send_in_lane(1, b"long", b""), InLane::NoLane);
}

/// Whoever can send can write anything: what is no message ends its lane, and nothing else.
#[test]
fn a_lane_with_rubbish_in_it_is_read_no_more() {
    let mut pair = Pair::new(TWO);
    let (mut good, mut bad) = (pair.sender(), pair.sender());
    assert_eq!(good.send_in_lane(1, b"good", b""), InLane::Sent);
    assert_eq!(bad.send_in_lane(2, b"bad", b""), InLane::Sent);
    assert_eq!(pair.read().len(), 2);
    let memory = crate::memory::Memory::map(&pair.parts.memory, TWO.bytes()).expect("maps");
    // SAFETY: as an ill-behaved sender would do it: the second lane's slots are within the memory.
    unsafe {
        let places = TWO.places(memory.base());
        let head = places.lane_head(1, SHORTEST_RING);
        let slots = (&raw const (*head).slots).cast::<u64>().cast_mut();
        for word in 0..SLOTS * 24 {
            slots.add(word).write_volatile(2 | 0xffff_ffff << 32);
        }
    }
    assert_eq!(good.send_in_lane(1, b"again", b""), InLane::Sent);
    assert_eq!(pair.read(), [(1, b"again".to_vec())]);
    assert_eq!(good.send_in_lane(1, b"and again", b""), InLane::Sent);
    assert_eq!(pair.read(), [(1, b"and again".to_vec())]);
}
