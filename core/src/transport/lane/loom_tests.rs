//! Models of a pair's lanes and of the line that both write: the code that runs in every context.

use super::*;
use crate::sync::{Arc, thread};

/// What two tasks share: a lane each way, the line, and the words beside them.
#[derive(Default)]
struct Pair {
    slots: [[Slot; 2]; 2],
    line: MailboxLine,
    attention: [AtomicU32; 2],
    told: [AtomicU64; 2],
    tail: [AtomicU64; 2],
}

/// How long message `number` of a task is: each second one fits a slot only.
fn length(number: u8) -> usize {
    if number % 2 == 1 { IN_MAILBOX + 8 } else { 8 }
}

/// Task `me` sends so many messages and takes as many of the other's, which must be whole and come
/// in order.
fn converse(pair: &Pair, me: usize, messages: u8) {
    let other = 1 - me;
    let mut mailbox = Mailbox::new(&raw const pair.line, me == 0);
    let mut tx = SendLane {
        slots: pair.slots[me].as_ptr(),
        mask: 1,
        limit: 2,
        attention: &raw const pair.attention[other],
        mailbox: &raw mut mailbox,
        tail: &raw const pair.tail[me],
        ..SendLane::closed()
    };
    let mut rx = ReceiveLane {
        slots: pair.slots[other].as_ptr(),
        mask: 1,
        position: 0,
        due: 1,
        told: &raw const pair.told[me],
        peer: other as PeerId,
        mailbox: &raw mut mailbox,
        tail: &raw const pair.tail[other],
        data: DataIn::none(),
    };
    let (mut sent, mut received) = (0, 0);
    while sent < messages || received < messages {
        // SAFETY: the pair outlives both tasks, each of which writes one lane and reads the other.
        unsafe {
            if sent < messages {
                let len = length(sent);
                assert!(tx.takes(len));
                assert_eq!(tx.publish(len, |place| place.write_bytes(sent + 1, len)), 0);
                sent += 1;
            }
            match rx.take() {
                Taken::Nothing => {}
                Taken::Left => panic!("message {received} is a short one"),
                Taken::Message { data, len, mailbox, .. } => {
                    assert_eq!(len, length(received));
                    let whole = (0..len).all(|at| *data.add(at) == received + 1);
                    assert!(whole, "message {received} is damaged");
                    if !mailbox.is_null() {
                        (*mailbox).done();
                    }
                    received += 1;
                    continue;
                }
            }
        }
        if sent == messages && received < messages {
            thread::yield_now();
        }
    }
}

/// Both send at once; the first message of task 0 goes into the mailbox, and what follows into the
/// lane.
#[test]
fn loom_messages_in_lanes_and_in_the_turn_are_whole_and_in_order() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let pair = Arc::new(Pair::default());
        let theirs = Arc::clone(&pair);
        let other = thread::spawn(move || converse(&theirs, 1, 2));
        converse(&pair, 0, 2);
        other.join().unwrap();
    });
}

/// One task sends, the other one answers each message in the line that brought it, which so changes
/// hands.
#[test]
fn loom_the_turn_goes_to_and_fro() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let pair = Arc::new(Pair::default());
        let theirs = Arc::clone(&pair);
        let other = thread::spawn(move || echo(&theirs, 1, 2));
        echo(&pair, 0, 2);
        other.join().unwrap();
    });
}

/// Task 0 begins; each message is answered by the next one, in the mailbox.
fn echo(pair: &Pair, me: usize, messages: u8) {
    let mut mailbox = Mailbox::new(&raw const pair.line, me == 0);
    let mailbox = &raw mut mailbox;
    let slots = pair.slots[me].as_ptr();
    let attention = &raw const pair.attention[me];
    let mut tx = SendLane { slots, limit: 1, attention, mailbox, ..SendLane::closed() };
    let (slots, told) = (pair.slots[1 - me].as_ptr(), &raw const pair.told[me]);
    let (tail, data) = (&raw const pair.tail[1 - me], DataIn::none());
    let mut rx = ReceiveLane { slots, mask: 0, position: 0, due: 1, told, peer: 0, mailbox, tail, data };
    for number in 0..messages {
        // SAFETY: the pair outlives both tasks; a mailbox that was used is this side's again after
        // the answer.
        unsafe {
            let mut send = |byte: u8| tx.publish(8, |place| place.write_bytes(byte, 8));
            if me == 0 {
                send(2 * number);
            }
            let data = loop {
                match rx.take() {
                    Taken::Message { data, len: 8, mailbox, .. } if !mailbox.is_null() => break data,
                    Taken::Nothing => thread::yield_now(),
                    other => panic!("no message in the mailbox: {other:?}"),
                }
            };
            let expected = 2 * number + u8::from(me == 0);
            assert!((0..8).all(|at| *data.add(at) == expected), "message {number} is damaged");
            (*mailbox).done();
            if me == 1 {
                send(expected + 1);
            }
        }
    }
}

/// A lane of two slots with a data ring of sixteen lines.
struct Long {
    slots: [Slot; 2],
    ring: Watched,
    words: [AtomicU64; 3],
    attention: AtomicU32,
}

/// Bytes of its ring.
const RING: usize = 1024;

/// Messages in slots and in the data ring, sent and read as core does it: slots are given back with
/// the next look, and room in the ring is looked for only when none is known.
#[test]
fn loom_long_messages_are_whole_and_in_order() {
    const LENGTHS: [usize; 5] = [256, 8, 190, 256, 250];
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let long = Arc::new(Long {
            slots: Default::default(),
            ring: Watched::new(RING),
            words: Default::default(),
            attention: AtomicU32::default(),
        });
        let theirs = Arc::clone(&long);
        let other = thread::spawn(move || send_all(&theirs, &LENGTHS));
        let [told, tail, data_tail] = &long.words;
        let layout = RingLayout::of(RING);
        let mut rx = ReceiveLane {
            slots: long.slots.as_ptr(),
            mask: 1,
            position: 0,
            due: 1,
            told,
            peer: 1,
            mailbox: std::ptr::null_mut(),
            tail,
            data: DataIn {
                area: Area(&raw const long.ring),
                tail: data_tail,
                layout,
                longest: layout.longest(),
                ..DataIn::none()
            },
        };
        for (number, len) in LENGTHS.into_iter().enumerate() {
            // SAFETY: the lane outlives both ends, and this is its only reader.
            unsafe {
                let data = loop {
                    match rx.take() {
                        Taken::Message { data, len: got, .. } => break (data, got),
                        Taken::Nothing => thread::yield_now(),
                        Taken::Left => panic!("message {number} can be read here"),
                    }
                };
                assert_eq!(data.1, len);
                let whole = (0..len).all(|at| *data.0.add(at) == number as u8 + 1);
                assert!(whole, "message {number} is damaged");
            }
        }
        other.join().unwrap();
    });
}

fn send_all(long: &Long, lengths: &[usize]) {
    let [_, tail, data_tail] = &long.words;
    let mut tx = SendLane {
        slots: long.slots.as_ptr(),
        mask: 1,
        limit: 2,
        attention: &raw const long.attention,
        tail,
        data: DataOut::at(Area(&raw const long.ring), RingLayout::of(RING), 0, RING),
        ..SendLane::closed()
    };
    for (number, &len) in lengths.iter().enumerate() {
        let body = vec![number as u8 + 1; len];
        // SAFETY: the lane outlives both ends, and this is its only writer.
        while !unsafe {
            (tx.has_room() || tx.refresh())
                && if len <= INLINE {
                    tx.send(&[], &body) == 0
                } else {
                    // SYNC: as transports do it: pairs with `ReceiveLane::release`.
                    tx.data.limit = data_tail.load(Ordering::Acquire) + RING as u64;
                    tx.send_data(&[], &body).is_some()
                }
        } {
            thread::yield_now();
        }
    }
}
