//! The FIFO against a model, and against writers that keep no rules.

use super::{Claim, Found, Geometry, INLINE, Outcome, Owner, Sender};
use crate::memory::{Memory, sealed};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

const SMALL: Geometry = Geometry { slots: 32, chunks: 16, chunk: 1024, lanes: 0 };

struct Fifo {
    owner: Owner,
    memory: Memory,
}

impl Fifo {
    fn new(geometry: Geometry) -> Self {
        let file = sealed("fifo", geometry.bytes()).expect("memory");
        let memory = Memory::map(file, geometry.bytes()).expect("maps");
        // SAFETY: the memory is as long as the geometry says and lives beside the owner.
        let owner = unsafe { Owner::attach(geometry.places(memory.base())) };
        Self { owner, memory }
    }

    fn sender(&self) -> Sender {
        // SAFETY: the tests keep the FIFO until their senders have gone.
        unsafe { Sender::attach(SMALL.places(self.memory.base())) }
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; SMALL.longest()];
        // SAFETY: the vector has that length.
        match unsafe { self.owner.pop(bytes.as_mut_ptr(), bytes.len()) } {
            Found::Datagram(len) => {
                bytes.truncate(len);
                Some(bytes)
            }
            _ => None,
        }
    }
}

fn fill(claim: &Claim, len: usize, byte: u8) {
    // SAFETY: the claim is for so many bytes.
    unsafe { claim.bytes.write_bytes(byte, len) };
}

fn send(sender: &mut Sender, len: usize, byte: u8) -> bool {
    let Some(claim) = sender.claim(len) else { return false };
    fill(&claim, len, byte);
    sender.publish(claim) == Outcome::There
}

#[test]
fn geometries_that_would_lead_astray_are_refused() {
    assert!(SMALL.is_sound() && Geometry::default().is_sound());
    for bad in [
        Geometry { slots: 0, ..SMALL },
        Geometry { slots: 33, ..SMALL },
        Geometry { slots: 1 << 17, ..SMALL },
        Geometry { chunks: 64, ..SMALL },
        Geometry { chunks: 0, ..SMALL },
        Geometry { chunk: 100, ..SMALL },
        Geometry { chunk: 1 << 16, ..SMALL },
    ] {
        assert!(!bad.is_sound(), "{bad:?}");
    }
}

#[test]
fn a_full_fifo_refuses_and_takes_again_what_was_read() {
    let mut fifo = Fifo::new(SMALL);
    let mut sender = fifo.sender();
    let long = INLINE + 1;
    let count = (0..100).take_while(|i| send(&mut sender, long, *i)).count();
    assert_eq!(count, 16, "as many long ones as chunks");
    let more = (0..100).take_while(|_| send(&mut sender, 1, 9)).count();
    assert_eq!(more, 16, "and short ones up to the slots");
    assert!(sender.claim(SMALL.longest() + 1).is_none());
    for i in 0..16 {
        assert_eq!(fifo.pop(), Some(vec![i; long]));
    }
    assert!(send(&mut sender, 2, 3), "the owner gave slots back as it went");
}

#[test]
fn a_claim_that_is_not_completed_holds_up_for_a_while_only() {
    let mut fifo = Fifo::new(SMALL);
    let (mut slow, mut quick) = (fifo.sender(), fifo.sender());
    let late = slow.claim(4).expect("room");
    assert_eq!(fifo.pop(), None);
    assert!(!fifo.owner.is_full(), "nothing lies behind it: no hurry");
    assert!(send(&mut quick, 3, 5));
    assert!(fifo.owner.is_full(), "an owner must not sleep now");
    assert!(!fifo.owner.arm());
    let got = loop {
        if let Some(bytes) = fifo.pop() {
            break bytes;
        }
        std::thread::sleep(Duration::from_micros(100));
    };
    assert_eq!((got, fifo.owner.left()), (vec![5; 3], 1));
    fill(&late, 4, 1);
    assert_eq!(slow.publish(late), Outcome::Late);
    for lap in 0..5 {
        for i in 0..32 {
            assert!(send(&mut quick, 3, i), "lap {lap}: the slot that was left serves again");
            assert_eq!(fifo.pop(), Some(vec![i; 3]));
        }
    }
}

#[test]
fn one_sender_is_told_to_wake_a_sleeper() {
    let mut fifo = Fifo::new(SMALL);
    let (mut one, mut other) = (fifo.sender(), fifo.sender());
    assert!(fifo.owner.arm());
    let claims = [one.claim(1), other.claim(1)].map(|c| c.expect("room"));
    let [first, second] = claims;
    assert_eq!(one.publish(first), Outcome::Wake);
    assert_eq!(other.publish(second), Outcome::There);
    assert!(!fifo.owner.arm(), "something is there");
    assert!(fifo.pop().is_some() && fifo.pop().is_some());
    assert!(fifo.owner.arm());
    fifo.owner.disarm();
    let claim = one.claim(1).expect("room");
    assert_eq!(one.publish(claim), Outcome::There);
}

#[test]
fn who_finds_something_there_leaves_the_bell_of_others_who_sleep() {
    let mut fifo = Fifo::new(SMALL);
    let mut sender = fifo.sender();
    assert!(fifo.owner.arm());
    let claims = [sender.claim(1), sender.claim(1)].map(|c| c.expect("room"));
    assert!(!fifo.owner.arm(), "a claim is to be left");
    let [first, second] = claims;
    assert_eq!(sender.publish(first), Outcome::Wake);
    assert_eq!(sender.publish(second), Outcome::There);
    assert!(!fifo.owner.arm() && fifo.pop().is_some() && fifo.pop().is_some());
    assert_eq!(sender.claim(1).map(|claim| sender.publish(claim)), Some(Outcome::There), "nobody sleeps");
}

#[test]
fn refused_datagrams_are_counted_and_no_absurd_count_is_believed() {
    let mut fifo = Fifo::new(SMALL);
    let sender = fifo.sender();
    sender.count_refused();
    sender.count_refused();
    assert_eq!((fifo.owner.take_refused(), fifo.owner.take_refused()), (2, 0));
    // SAFETY: the control words are there; this is what anybody who has the memory may do.
    unsafe { fifo.memory.base().add(192).cast::<u64>().write_volatile(u64::MAX) };
    assert_eq!(fifo.owner.take_refused(), SMALL.slots);
}

#[test]
fn many_senders_lose_and_double_nothing() {
    const EACH: u32 = 20_000;
    let mut fifo = Fifo::new(SMALL);
    let mut next = [0u32; 3];
    std::thread::scope(|scope| {
        for who in 0..3u32 {
            let mut sender = fifo.sender();
            scope.spawn(move || {
                for i in 0..EACH {
                    let len = if i % 7 == 0 { 600 } else { 8 + i as usize % 240 };
                    let claim = loop {
                        match sender.claim(len) {
                            Some(claim) => break claim,
                            None => std::thread::yield_now(),
                        }
                    };
                    // SAFETY: the claim is for at least eight bytes.
                    unsafe {
                        claim.bytes.cast::<[u32; 2]>().write_unaligned([who, i]);
                        claim.bytes.add(8).write_bytes(i as u8, len - 8);
                    }
                    // One that lost its core between the two steps may be left: it is sent again.
                    let mut outcome = sender.publish(claim);
                    while outcome == Outcome::Late {
                        outcome = match sender.claim(8) {
                            Some(again) => {
                                // SAFETY: the claim is for eight bytes.
                                unsafe { again.bytes.cast::<[u32; 2]>().write_unaligned([who, i]) };
                                sender.publish(again)
                            }
                            None => Outcome::Late,
                        };
                        std::thread::yield_now();
                    }
                }
            });
        }
        while next.iter().any(|n| *n < EACH) {
            let Some(bytes) = fifo.pop() else {
                std::thread::yield_now();
                continue;
            };
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let (who, number) = (word(0) as usize, word(4));
            assert_eq!(number, next[who], "in order from each");
            assert!(bytes[8..].iter().all(|b| *b == number as u8));
            next[who] += 1;
        }
    });
    assert_eq!((fifo.pop(), fifo.owner.garbage()), (None, 0));
}

#[test]
fn an_owner_survives_writers_that_keep_no_rules() {
    let mut fifo = Fifo::new(SMALL);
    let words = SMALL.bytes() / 8;
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut step = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut popped = 0;
    for round in 0..200_000u64 {
        let at = step() as usize % words;
        // Half of them look like what the owner waits for, with a length at will.
        let value = if round % 2 == 0 {
            step()
        } else {
            u64::from(fifo.owner.next.wrapping_add(1) as u32) | (step() & 0xffff) << 32 | super::READY
        };
        let slot = (4096 + (fifo.owner.next as usize % 32) * super::SLOT) / 8;
        let at = if round % 4 == 1 { slot } else { at };
        // SAFETY: within the memory; any bytes may stand there.
        unsafe { fifo.memory.base().cast::<u64>().add(at).write_volatile(value) };
        popped += u32::from(fifo.pop().is_some_and(|bytes| bytes.len() <= SMALL.longest()));
        if round % 64 == 0 {
            fifo.owner.arm();
        }
    }
    assert!(popped > 0 && fifo.owner.garbage() > 0, "{popped} of any kind were handed out");
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Pop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![3 => (1usize..=1024).prop_map(Step::Send), 2 => Just(Step::Pop)];
    proptest::collection::vec(one, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 128 }))]

    #[test]
    fn it_is_a_queue(steps in steps()) {
        let mut fifo = Fifo::new(SMALL);
        let mut sender = fifo.sender();
        let mut model: VecDeque<(usize, u8)> = VecDeque::new();
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Step::Send(len) => {
                    if send(&mut sender, len, i as u8) {
                        model.push_back((len, i as u8));
                    } else {
                        // The owner gives back in eighths.
                        let depth = if len > INLINE { 16 } else { 32 };
                        prop_assert!(model.len() + 2 >= depth, "room for {}", depth);
                    }
                    prop_assert!(model.len() <= 32);
                }
                Step::Pop => {
                    let expected = model.pop_front().map(|(len, byte)| vec![byte; len]);
                    prop_assert_eq!(fifo.pop(), expected);
                }
            }
        }
    }
}
