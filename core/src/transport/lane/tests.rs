//! Lanes and the line beside them, by one thread.

use super::*;
use std::ptr::null_mut;

fn slots() -> [Slot; 4] {
    Default::default()
}

fn words(first: u64, second: u64) -> [u8; 16] {
    zerocopy::transmute!([first, second])
}

#[test]
fn messages_arrive_in_order_until_the_limit_and_long_ones_are_left_alone() {
    let slots = slots();
    let (attention, told) = (AtomicU32::new(0), AtomicU64::new(0));
    let base = slots.as_ptr();
    let mut tx = SendLane {
        slots: base,
        mask: 3,
        position: 9,
        limit: 12,
        attention: &raw const attention,
        mailbox: null_mut(),
    };
    let mut rx = ReceiveLane {
        slots: base,
        mask: 3,
        position: 9,
        limit: 11,
        told: &raw const told,
        peer: 1,
        mailbox: null_mut(),
    };
    // SAFETY: one writer, one reader, and the memory outlives both.
    unsafe {
        assert_eq!(rx.take(), Taken::Nothing);
        for (n, body) in
            [&b"12345678"[..], b"", b"the third one is longer than the others"].iter().enumerate()
        {
            assert!(tx.has_room());
            assert_eq!(tx.send(&words(n as u64, 77), body), 0);
        }
        assert!(!tx.has_room());
        let Taken::Message { peer, data, len, .. } = rx.take() else { panic!("the first is there") };
        assert_eq!((peer, std::slice::from_raw_parts(data.add(16), len - 16)), (1, &b"12345678"[..]));
        assert_eq!(data.add(8).cast::<u64>().read_unaligned(), 77);
        assert_eq!(told.load(Ordering::Relaxed), 10);
        assert!(matches!(rx.take(), Taken::Message { len: 16, .. }));
        assert_eq!(rx.take(), Taken::Left, "beyond the limit");
        rx.limit = 20;
        assert!(matches!(rx.take(), Taken::Message { len: 55, .. }));
        // A slot that announces a long message.
        slots[index(12, 3)].head.store(head(12, INLINE + 1), Ordering::Relaxed);
        assert_eq!(rx.take(), Taken::Left);
        rx.look_ahead();
    }
}

#[test]
fn what_finds_the_turn_with_its_side_goes_there_and_the_rest_follows_in_order() {
    let slots = slots();
    let line = MailboxLine::default();
    let (attention, told) = (AtomicU32::new(0), AtomicU64::new(0));
    let (base, line) = (slots.as_ptr(), &raw const line);
    let (mut theirs, mut ours) = (Mailbox::new(line, true), Mailbox::new(line, false));
    let mut tx = SendLane {
        slots: base,
        mask: 3,
        limit: 4,
        attention: &raw const attention,
        mailbox: &raw mut theirs,
        ..SendLane::closed()
    };
    let (limit, told, mailbox) = (4, &raw const told, &raw mut ours);
    let mut rx = ReceiveLane { slots: base, mask: 3, position: 0, limit, told, peer: 1, mailbox };
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
        let mut back = ReceiveLane {
            slots: base,
            mask: 3,
            position: 0,
            limit: 0,
            told,
            peer: 0,
            mailbox: &raw mut theirs,
        };
        assert_eq!(back.take(), Taken::Left, "a length that can't be is left to the transport");
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
