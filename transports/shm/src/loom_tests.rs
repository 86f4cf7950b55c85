//! The model checker on the very code that ships:
//! `RUSTFLAGS="--cfg loom" cargo test -p lapis-shm --release --lib`.

use crate::mpsc_ring::{MpscRx, MpscTx, Places};
use crate::wake::{Attention, Sleeper, look, look_again, take_sleeper};
use lapis_copies::StorePolicy;
use lapis_core::sync::{Arc, AtomicU32, AtomicU64, Ordering, fence, thread};
use lapis_core::transport::lane::{
    Area, INLINE, Mailbox, MailboxLine, RingLayout, Slot, Watched, copy_short,
};
use lapis_lanes::{Control, LaneRx, LaneTx};
// tidy-allow(atomics): counts executions of the model, outside of it.
use std::sync::atomic::{AtomicUsize, Ordering as Plain};

/// Explores and says how much there was to explore.
fn explore(
    what: &'static str,
    least: usize,
    preemptions: Option<usize>,
    model: impl Fn() + Sync + Send + 'static,
) {
    let executions = std::sync::Arc::new(AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&executions);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        counter.fetch_add(1, Plain::Relaxed);
        model();
    });
    let n = executions.load(Plain::Relaxed);
    println!("{what}: {n} executions explored");
    assert!(n >= least, "{what}: only {n} executions: the model does not do what it should");
}

fn slots(n: usize) -> Vec<Slot> {
    (0..n).map(|_| Slot::default()).collect()
}

struct Lane {
    slots: Vec<Slot>,
    control: Control,
    data: Watched,
    attention: AtomicU32,
}

impl Lane {
    fn new(n: usize, data: usize) -> Arc<Self> {
        Arc::new(Self {
            slots: slots(n),
            control: Control { tail: AtomicU64::new(0), data_tail: AtomicU64::new(0) },
            data: Watched::new(data),
            attention: AtomicU32::new(0),
        })
    }
}

/// Sends messages of the lengths given, each filled with its number; receives them and checks order
/// and bytes.
fn lane<const SLOTS: usize, const DATA: usize>(lengths: &'static [usize]) {
    let lane = Lane::new(SLOTS, DATA);
    let sender = {
        let lane = Arc::clone(&lane);
        thread::spawn(move || {
            // SAFETY: the lane outlives the thread.
            let mut tx = unsafe {
                LaneTx::<SLOTS>::attach(
                    lane.slots.as_ptr(),
                    &raw const lane.control,
                    Area(&raw const lane.data),
                    RingLayout::of(DATA),
                    DATA,
                )
            };
            tx.set_attention(&raw const lane.attention);
            for (i, &len) in lengths.iter().enumerate() {
                loop {
                    // SAFETY: as the transport does it.
                    unsafe {
                        if tx.has_room() || tx.refresh() {
                            if len <= INLINE {
                                tx.publish(len, |place| place.write_bytes(i as u8 + 1, len));
                                break;
                            }
                            if let Some(place) =
                                tx.data_room(len, &mut StorePolicy::new(lapis_copies::Copies::USUAL))
                            {
                                place.write_bytes(i as u8 + 1, len);
                                tx.publish_data(len);
                                break;
                            }
                        }
                    }
                    thread::yield_now();
                }
            }
        })
    };
    // SAFETY: the lane outlives both ends, and this is the only reader.
    let mut rx = unsafe {
        LaneRx::<SLOTS>::attach(
            lane.slots.as_ptr(),
            &raw const lane.control,
            Area(&raw const lane.data),
            RingLayout::of(DATA),
            DATA,
        )
    };
    for (i, &len) in lengths.iter().enumerate() {
        let (at, got) = loop {
            if let Some(message) = rx.take_next() {
                break message.unwrap();
            }
            thread::yield_now();
        };
        assert_eq!(got, len);
        // SAFETY: the message stays in place until it is released.
        unsafe { assert!((0..len).all(|b| *at.add(b) == i as u8 + 1), "message {i} is damaged") };
        rx.release();
    }
    assert!(rx.take_next().is_none());
    sender.join().unwrap();
}

#[test]
fn a_lane_of_two_slots_wraps() {
    explore("lane, inline", 20, Some(4), || lane::<2, 256>(&[8, INLINE, 0, 24]));
}

#[test]
fn a_data_ring_of_two_messages_wraps() {
    // Quarter of 1024 is 256: messages of four lines; the third does not fit before the end.
    explore("lane, data ring", 20, Some(3), || lane::<2, 1024>(&[256, 190, 256, 256, 200]));
}

#[test]
fn inline_and_data_messages_mix() {
    explore("lane, mixed", 20, Some(3), || lane::<2, 1024>(&[192, 8, 188, 192]));
}

/// One task of a pair: sends so many messages, in the mailbox where it may, and receives as many;
/// the other's come in order.
fn converse(to: &Lane, from: &Lane, mailbox: Mailbox, messages: u8) {
    let mut mailbox = mailbox;
    // SAFETY: lanes and line outlive the thread.
    let (mut tx, mut rx) = unsafe {
        (
            LaneTx::<2>::attach(
                to.slots.as_ptr(),
                &raw const to.control,
                Area(&raw const to.data),
                RingLayout::of(64),
                64,
            ),
            LaneRx::<2>::attach(
                from.slots.as_ptr(),
                &raw const from.control,
                Area(&raw const from.data),
                RingLayout::of(64),
                64,
            ),
        )
    };
    tx.set_attention(&raw const to.attention);
    tx.set_mailbox(&raw mut mailbox);
    rx.set_mailbox(&raw mut mailbox);
    let (mut sent, mut received) = (0, 0);
    while sent < messages || received < messages {
        // SAFETY: as the transport does it.
        unsafe {
            if sent < messages && (tx.takes(8) || tx.refresh()) {
                tx.send(&[sent; 5], &[sent; 3]);
                sent += 1;
            }
            rx.release();
            if let Some(message) = rx.take_next() {
                let (at, len) = message.unwrap();
                assert_eq!((len, (0..8).map(|b| *at.add(b)).collect::<Vec<_>>()), (8, vec![received; 8]));
                received += 1;
                continue;
            }
        }
        thread::yield_now();
    }
}

#[test]
fn a_line_written_in_turns_keeps_the_order_of_its_lanes() {
    explore("mailbox and lanes", 20, Some(2), || {
        let (there, back) = (Lane::new(2, 64), Lane::new(2, 64));
        let line = Arc::new(MailboxLine::default());
        let mailbox = |first| Mailbox::new(&raw const *line, first);
        let (hers, his) = (mailbox(true), mailbox(false));
        struct Crossing(Mailbox);
        // SAFETY: the line outlives the thread that gets it.
        unsafe impl Send for Crossing {}
        let (his, lanes, kept) = (Crossing(his), (Arc::clone(&there), Arc::clone(&back)), Arc::clone(&line));
        let other = thread::spawn(move || {
            let Crossing(his) = { his };
            converse(&lanes.1, &lanes.0, his, 2);
            drop(kept);
        });
        converse(&there, &back, hers, 2);
        other.join().unwrap();
    });
}

struct Ring {
    slots: Vec<Slot>,
    head: AtomicU64,
    tail: AtomicU64,
    data: Watched,
}

const CHUNK: usize = 64;

impl Ring {
    fn new(n: usize) -> Arc<Self> {
        Arc::new(Self {
            slots: slots(n),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            data: Watched::new(n * CHUNK),
        })
    }
    fn places(&self) -> Places {
        Places {
            slots: self.slots.as_ptr(),
            head: &raw const self.head,
            tail: &raw const self.tail,
            data: Area(&raw const self.data),
        }
    }
}

fn send<const SLOTS: usize>(tx: &mut MpscTx<SLOTS, CHUNK>, number: u8, len: usize) {
    let (pos, place) = loop {
        if let Some(claimed) = tx.claim(len) {
            break claimed;
        }
        thread::yield_now();
    };
    // SAFETY: the claimed place has `len` bytes.
    unsafe {
        copy_short([number; 64].as_ptr(), place, len);
        tx.publish(pos, len);
    }
}

#[test]
fn a_hole_left_by_a_dead_sender_is_stepped_over() {
    explore("hole in the shared ring", 10, Some(3), || {
        let ring = Ring::new(2);
        let dead = Arc::new(AtomicU32::new(0));
        let victim = {
            let (ring, dead) = (Arc::clone(&ring), Arc::clone(&dead));
            thread::spawn(move || {
                // SAFETY: the ring outlives the thread.
                let mut tx = unsafe { MpscTx::<2, CHUNK>::attach(ring.places(), 1) };
                while tx.claim(8).is_none() {
                    thread::yield_now();
                }
                // SYNC: pairs with the Acquire load below, as a pidfd orders a process's end.
                dead.store(1, Ordering::Release);
            })
        };
        let living = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                // SAFETY: the ring outlives both ends.
                let mut tx = unsafe { MpscTx::<2, CHUNK>::attach(ring.places(), 0) };
                send(&mut tx, 5, 8);
            })
        };
        // SAFETY: the ring outlives both ends, and this is the only reader.
        let mut rx = unsafe { MpscRx::<2, CHUNK>::attach(ring.places()) };
        loop {
            // SYNC: pairs with the Release store above.
            match rx.next(|m| m == 1 && dead.load(Ordering::Acquire) == 1) {
                Some(m) => {
                    assert_eq!(m.unwrap().member, 0);
                    break;
                }
                None => thread::yield_now(),
            }
        }
        victim.join().unwrap();
        living.join().unwrap();
    });
}

/// The next message's sender, length and first byte; all its bytes are alike.
///
/// # Safety
/// The ring is alive.
unsafe fn received(rx: &mut MpscRx<2, CHUNK>) -> Option<(u16, usize, u8)> {
    let message = rx.next(|_| false)?.unwrap();
    // SAFETY: the message stays in place until it is released.
    let bytes: Vec<u8> = (0..message.len).map(|at| unsafe { *message.data.add(at) }).collect();
    assert!(bytes.iter().all(|b| *b == bytes[0]), "torn: {bytes:?}");
    rx.release();
    Some((message.member, message.len, bytes[0]))
}

/// Two living senders, one message each, in a ring that stands one slot before its end: whoever is
/// second wraps.
#[test]
fn two_senders_wrap_the_shared_ring() {
    explore("shared ring, two senders, wrapping", 20, Some(2), || {
        let ring = Ring::new(2);
        // SAFETY: the ring outlives both ends.
        let mut rx = unsafe { MpscRx::<2, CHUNK>::attach(ring.places()) };
        // SAFETY: the ring outlives both ends.
        send(&mut unsafe { MpscTx::<2, CHUNK>::attach(ring.places(), 0) }, 9, 8);
        // SAFETY: the message stays in place until it is released.
        assert!(unsafe { received(&mut rx) } == Some((0, 8, 9)));
        let senders: Vec<_> = [(1u16, 8), (2, 64)]
            .map(|(member, len)| {
                let ring = Arc::clone(&ring);
                thread::spawn(move || {
                    // SAFETY: the ring outlives the thread.
                    let mut tx = unsafe { MpscTx::<2, CHUNK>::attach(ring.places(), member) };
                    send(&mut tx, member as u8, len);
                })
            })
            .into();
        let mut seen = Vec::new();
        while seen.len() < 2 {
            // SAFETY: the message stays in place until it is released.
            match unsafe { received(&mut rx) } {
                Some(message) => seen.push(message),
                None => thread::yield_now(),
            }
        }
        for sender in senders {
            sender.join().unwrap();
        }
        seen.sort_unstable();
        assert_eq!(seen, [(1, 8, 1), (2, 64, 2)], "a message was lost, doubled or damaged");
        // SAFETY: the message stays in place until it is released.
        assert!(unsafe { received(&mut rx) }.is_none());
    });
}

/// A sender: a message, then a look at the word. True: it has to call the kernel.
fn publish_and_look(line: &Attention, flag: &AtomicU32) -> bool {
    // SYNC: as a slot is published.
    flag.fetch_add(1, Ordering::Release);
    // SAFETY: the line is alive.
    unsafe {
        let mut news = look(&raw const *line);
        if news & crate::wake::FENCE != 0 {
            news = look_again(&raw const *line);
        }
        news & crate::wake::SLEEP != 0 && take_sleeper(&raw const *line)
    }
}

/// A message, then a look at the word; against an announcement, then a look for the message.
fn sleeping(have_membarrier: bool, interrupts: bool) {
    let line = Arc::new(Attention {
        word: AtomicU32::new(0),
        wakes: AtomicU32::new(0),
        on_descriptor: AtomicU32::new(0),
    });
    let flag = Arc::new(AtomicU32::new(0));
    // SAFETY: the line outlives the sleeper.
    let sleeper = unsafe { Sleeper::new(&raw const *line, have_membarrier) };
    sleeper.set_fence(interrupts, !have_membarrier);
    let senders: Vec<_> = (0..2)
        .map(|_| {
            let (line, flag) = (Arc::clone(&line), Arc::clone(&flag));
            thread::spawn(move || publish_and_look(&line, &flag))
        })
        .collect();
    // SYNC: the model of membarrier is a full fence here and in `look`.
    let armed = sleeper.arm(|| fence(Ordering::SeqCst));
    // SYNC: as `is_full`.
    let seen = flag.load(Ordering::Acquire);
    let woken = senders.into_iter().map(|s| s.join().unwrap()).filter(|w| *w).count();
    assert!(woken <= 1, "two senders called the kernel");
    // Whoever went to sleep now would do so on `wakes == armed`.
    assert!(
        seen == 2 || line.wakes.load(Ordering::Relaxed) != armed,
        "a message was missed: {seen} of 2 were seen, and nobody woke the sleeper"
    );
}

/// Interrupts go on, or on and off, while another thread announces sleep. Whoever announces it
/// after that without a membarrier must know that senders see FENCE.
fn switching(off_again: bool) {
    let line = Arc::new(Attention {
        word: AtomicU32::new(0),
        wakes: AtomicU32::new(0),
        on_descriptor: AtomicU32::new(0),
    });
    // SAFETY: the line outlives the sleeper.
    let sleeper = Arc::new(unsafe { Sleeper::new(&raw const *line, true) });
    let switch = {
        let sleeper = Arc::clone(&sleeper);
        thread::spawn(move || {
            sleeper.set_fence(true, false);
            if off_again {
                sleeper.set_fence(false, false);
            }
        })
    };
    // SYNC: the model of membarrier is a full fence here and in `look`.
    sleeper.arm(|| fence(Ordering::SeqCst));
    if off_again {
        switch.join().unwrap();
        announce_and_send(&line, &sleeper);
    } else {
        announce_and_send(&line, &sleeper);
        switch.join().unwrap();
        announce_and_send(&line, &sleeper);
    }
}

/// Announces sleep while one message is sent, and checks that it is seen or wakes.
fn announce_and_send(line: &Arc<Attention>, sleeper: &Sleeper) {
    let flag = Arc::new(AtomicU32::new(0));
    let sender = {
        let (line, flag) = (Arc::clone(line), Arc::clone(&flag));
        thread::spawn(move || publish_and_look(&line, &flag))
    };
    let mut barrier = false;
    let armed = sleeper.arm(|| {
        // SYNC: the model of membarrier is a full fence here and in `look`.
        fence(Ordering::SeqCst);
        barrier = true;
    });
    // The model's light barrier is a fence even where there was no membarrier; a real one is not.
    assert!(
        barrier || line.word.load(Ordering::Relaxed) & crate::wake::FENCE != 0,
        "no membarrier, though senders put no fence"
    );
    // SYNC: as `is_full`.
    let seen = flag.load(Ordering::Acquire);
    sender.join().unwrap();
    assert!(seen == 1 || line.wakes.load(Ordering::Relaxed) != armed, "the message was missed");
    sleeper.clear(crate::wake::SLEEP);
}

#[test]
fn nobody_counts_on_fences_that_senders_do_not_put() {
    explore("sleep, interrupts go on", 20, Some(2), || switching(false));
    explore("sleep, interrupts go on and off", 20, Some(2), || switching(true));
}

#[test]
fn no_wake_up_is_lost() {
    explore("sleep, membarrier", 20, Some(3), || sleeping(true, false));
    explore("sleep, interrupt mode", 20, Some(3), || sleeping(true, true));
    explore("sleep, no membarrier", 20, Some(3), || sleeping(false, false));
}
