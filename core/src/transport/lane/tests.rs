//! Lanes and the line beside them, by one thread.

use super::data_ring::{DataIn, DataOut};
use super::*;
use std::ptr::null_mut;
use zerocopy::IntoBytes;

fn slots() -> [Slot; 4] {
    Default::default()
}

fn words(first: u64, second: u64) -> [u8; 16] {
    zerocopy::transmute!([first, second])
}

/// What a reader tells: where sleepers look, and where the sender does.
#[derive(Default)]
struct Words {
    told: AtomicU64,
    tail: AtomicU64,
    data_tail: AtomicU64,
    attention: AtomicU32,
}

/// Both ends of a lane of four slots that stands at `position`, with a data ring if there is one.
fn ends(slots: &[Slot; 4], words: &Words, position: u64, ring: Option<Area>) -> (SendLane, ReceiveLane) {
    let layout = ring.map_or(RingLayout::none(), |_| RingLayout::of(RING));
    let area = ring.unwrap_or(Area::none());
    words.tail.store(position, Ordering::Relaxed);
    let slots = slots.as_ptr();
    let tx = SendLane {
        slots,
        mask: 3,
        position,
        limit: position,
        attention: &raw const words.attention,
        tail: &raw const words.tail,
        data: DataOut::at(area, layout, 0, RING),
        ..SendLane::closed()
    };
    let rx = ReceiveLane {
        slots,
        mask: 3,
        position,
        due: position + 1,
        told: &raw const words.told,
        peer: 1,
        mailbox: null_mut(),
        tail: &raw const words.tail,
        data: DataIn {
            area,
            tail: &raw const words.data_tail,
            layout,
            longest: layout.longest(),
            ..DataIn::none()
        },
    };
    (tx, rx)
}

/// The smallest ring that tests of this file use, in bytes.
const RING: usize = 4096;

#[test]
fn messages_arrive_in_order_and_slots_are_given_back_with_the_next_look() {
    let (slots, told) = (slots(), Words::default());
    let (mut tx, mut rx) = ends(&slots, &told, 9, None);
    // SAFETY: one writer, one reader, and the memory outlives both.
    unsafe {
        assert_eq!(rx.take(), Taken::Nothing);
        assert!(!tx.has_room() && tx.refresh());
        for (n, body) in
            [&b"12345678"[..], b"", b"the third one is longer than the others", b"4"].iter().enumerate()
        {
            assert!(tx.has_room());
            assert_eq!(tx.send(&words(n as u64, 77), body), 0);
        }
        assert!(!tx.has_room() && !tx.refresh());
        let Taken::Message { data, len, .. } = rx.take() else { panic!("the first is there") };
        assert_eq!(std::slice::from_raw_parts(data.add(16), len - 16), b"12345678");
        assert_eq!(data.add(8).cast::<u64>().read_unaligned(), 77);
        assert_eq!(told.told.load(Ordering::Relaxed), 10);
        assert!(!tx.refresh(), "the first one is still in use");
        assert_eq!(rx.take_next().map(|(_, len)| len), Some(16));
        assert!(tx.refresh() && tx.limit == 14, "the first one is done with");
        assert!(matches!(rx.take(), Taken::Message { len: 55, .. }));
        assert!(matches!(rx.take(), Taken::Message { len: 17, .. }));
        // A slot that announces a long message, in a lane without a data ring.
        (*slot_at(slots.as_ptr(), 13, 3)).head.store(head(13, INLINE + 1), Ordering::Relaxed);
        assert_eq!((rx.take(), rx.take_next()), (Taken::Left, None));
        (*slot_at(slots.as_ptr(), 13, 3)).head.store(head(13, APART), Ordering::Relaxed);
        assert_eq!((rx.take(), rx.take_next()), (Taken::Left, None));
        rx.look_ahead();
    }
}

#[test]
fn long_messages_lie_in_the_data_ring_and_too_long_ones_are_left_alone() {
    let (slots, told) = (slots(), Words::default());
    let mut ring = vec![[0u64; 8]; RING / 64];
    let (mut tx, mut rx) = ends(&slots, &told, 0, Some(Area(ring.as_mut_ptr().cast())));
    let line = [1, 2, 3, 4, 5, 6, 7, 8];
    let body: Vec<u8> = (0..RING as u32 / 4).map(|at| at as u8).collect();
    // SAFETY: one writer, one reader, and the memory outlives both.
    unsafe {
        for round in 0..100usize {
            assert!(tx.has_room() || tx.refresh());
            let len = INLINE + 1 + round * 7 % (RING / 4 - INLINE);
            let (first, second) = if round % 2 == 0 { (24, len - 24) } else { (0, len) };
            let head = &line.as_bytes()[..first];
            let send = |tx: &mut SendLane| match round % 3 {
                0 => tx.send_parts::<true>(first, |to| copy_short(head.as_ptr(), to, first), &body[..second]),
                _ => tx.send_data(head, &body[..second]),
            };
            rx.release();
            let sent = send(&mut tx).or_else(|| {
                // As the transport does.
                tx.data.limit = told.data_tail.load(Ordering::Relaxed) + RING as u64;
                send(&mut tx)
            });
            assert_eq!(sent, Some(0), "no room for message {round}");
            let Taken::Message { data, len: got, .. } = rx.take() else { panic!("{round} is there") };
            let got = std::slice::from_raw_parts(data, got);
            assert_eq!((got.len(), &got[..first]), (len, &line.as_bytes()[..first]));
            assert_eq!(&got[first..], &body[..second], "message {round}");
        }
        assert_eq!(tx.send_data(&[0; 8], &body), None, "longer than the ring allows");
        tx.data.longest = 500;
        assert_eq!(tx.send_data(&[], &body[..501]), None, "longer than the reader takes");
        (*slot_at(slots.as_ptr(), 100, 3)).head.store(head(100, RING / 4 + 1), Ordering::Relaxed);
        assert_eq!(rx.take(), Taken::Left, "longer than a message can be");
        (*slot_at(slots.as_ptr(), 100, 3)).head.store(head(100, APART | (RING / 4 + 1)), Ordering::Relaxed);
        assert_eq!(rx.take(), Taken::Left, "longer than a message can be");
    }
}

#[test]
fn the_next_message_is_a_gap_away_from_one_that_stands_alone() {
    let (slots, told) = (slots(), Words::default());
    let mut ring = vec![[0u64; 8]; RING / 64];
    let (mut tx, mut rx) = ends(&slots, &told, 0, Some(Area(ring.as_mut_ptr().cast())));
    tx.limit = 4;
    // SAFETY: one writer, one reader, and the memory outlives both.
    unsafe {
        assert_eq!(tx.send_parts::<true>(0, |_| (), &[1; 200]), Some(0));
        assert_eq!(tx.send_parts::<false>(0, |_| (), &[2; 300]), Some(0));
        assert_eq!(tx.send_data(&[3; 8], &[3; 200]), Some(0));
        let mut place = |len: usize, byte: u8| {
            let Taken::Message { data, len: got, .. } = rx.take() else { panic!("{byte} is there") };
            assert_eq!(std::slice::from_raw_parts(data, got), vec![byte; len]);
            data.addr() - ring.as_ptr().addr()
        };
        assert_eq!([place(200, 1), place(300, 2), place(208, 3)], [0, 256 + GAP, 256 + GAP + 320]);
    }
}

#[test]
fn both_parts_of_a_message_lie_one_behind_the_other_however_they_are_stored() {
    let body: Vec<u8> = (0..3 * RING).map(|at| (at % 251) as u8).collect();
    let mut place: Vec<MailboxLine> = (0..2 * RING / 64).map(|_| MailboxLine::default()).collect();
    let to = place.as_mut_ptr().cast::<u8>();
    for (before, len) in [(0, 1 << 10), (24, 1000), (24, 1 << 10), (24, 5000), (64, 2000), (100, 2000)] {
        for past in [0, 1 << 10, 4 << 10] {
            let (head, body) = (&body[7..7 + before], &body[..len]);
            // SAFETY: the place begins with a line, and is longer than both parts.
            let got = unsafe {
                to.write_bytes(0, 2 * RING);
                store_message(head, body, to, past);
                std::slice::from_raw_parts(to, before + len)
            };
            assert_eq!(got, [head, body].concat(), "{before} and {len} bytes, past the caches from {past}");
        }
    }
}

#[test]
fn what_finds_the_turn_with_its_side_goes_there_and_the_rest_follows_in_order() {
    let (slots, told, back) = (slots(), Words::default(), Words::default());
    let line = MailboxLine::default();
    let line = &raw const line;
    let (mut theirs, mut ours) = (Mailbox::new(line, true), Mailbox::new(line, false));
    let (mut tx, mut rx) = ends(&slots, &told, 0, None);
    (tx.limit, tx.mailbox, rx.mailbox) = (4, &raw mut theirs, &raw mut ours);
    // SAFETY: one writer, one reader, and the memory outlives both.
    unsafe {
        let mut takes = |first: u64, in_mailbox: bool| {
            let Taken::Message { data, mailbox, .. } = rx.take() else { panic!("message {first} is there") };
            assert_eq!((data.cast::<u64>().read(), !mailbox.is_null()), (first, in_mailbox));
        };
        // Too long for the mailbox; in the mailbox, behind it; again in the lane.
        tx.send(&words(0, 0), &[0; IN_MAILBOX - 15]);
        tx.send(&words(1, 0), b"short");
        tx.send(&words(2, 0), b"short");
        assert_eq!(tx.position, 2);
        takes(0, false);
        takes(1, true);
        takes(2, false);
        assert_eq!(rx.take(), Taken::Nothing);
        // The other way the mailbox may be used now, and not before the message in it was done
        // with.
        assert!(!ours.is_ours());
        ours.done();
        let head = ours.pass(0, IN_MAILBOX).wrapping_add((1u64 << 32).to_le());
        (*line).head.store(head, Ordering::Relaxed);
        let (_, mut back) = ends(&slots, &back, 0, None);
        back.mailbox = &raw mut theirs;
        assert_eq!(back.take(), Taken::Left, "a length that can't be is left to the transport");
        assert_eq!(back.take_next(), None, "only `take` looks at the mailbox");
    }
}

#[test]
fn short_copies_copy_everything_and_nothing_else() {
    let from: Vec<u8> = (1..=INLINE as u8).collect();
    for len in 0..=INLINE {
        let mut to = [0u8; INLINE + 8];
        // SAFETY: both ranges have `len` bytes.
        unsafe { copy_short(from.as_ptr(), to.as_mut_ptr(), len) };
        assert_eq!(to[..len], from[..len]);
        assert!(to[len..].iter().all(|b| *b == 0), "length {len} wrote past its end");
    }
}

/// Words that point somewhere, and bytes that nobody has written. Only Miri can tell.
#[test]
fn short_copies_move_pointers_and_padding_as_they_are() {
    static NUMBER: u64 = 314;
    let from: [Raw<&u64>; 4] = [Raw::new(&NUMBER), Raw::uninit(), Raw::new(&NUMBER), Raw::uninit()];
    for len in (0..=3).chain([4, 7, 8, 11, 16, 24, 27, 32]) {
        let mut to: [Raw<&u64>; 4] = [Raw::uninit(); 4];
        // SAFETY: both ranges have `len` bytes; only what was copied is looked at.
        unsafe {
            copy_short(from.as_ptr().cast(), to.as_mut_ptr().cast(), len);
            copy_short(from[1..].as_ptr().cast(), to[1..].as_mut_ptr().cast(), len.min(8));
            for (i, pointer) in to.iter().enumerate().step_by(2).filter(|(i, _)| 8 * i + 8 <= len) {
                assert_eq!(pointer.assume_init(), &NUMBER, "word {i} of {len} bytes");
            }
        }
    }
}
