//! Tests of `peers.rs`.

use super::*;

/// A peer with so many paths.
fn peer(paths: usize) -> Peer {
    let now = Instant::now();
    Peer::new((0..paths).map(|at| Path::new((at, at), (0, &[]), true, now)).collect(), paths > 1, (1, 2))
}

#[test]
fn what_is_not_known_to_be_consumed_goes_again_in_its_order() {
    let mut peer = peer(2);
    (peer.sent, peer.acked, peer.again) = (u32::MAX - 1, u32::MAX - 1, u32::MAX - 1);
    for n in 0..4u8 {
        peer.keep(1, |out| out[0] = n);
        peer.count_sent();
    }
    assert!(!peer.is_behind() && peer.count_acked(u32::MAX));
    peer.turn_to(1);
    assert!(peer.is_behind());
    let mut seen = Vec::new();
    while let Some((head, bytes)) = peer.next_again(0) {
        seen.push((head.number, bytes[0]));
        peer.count_again();
    }
    assert_eq!(seen, [(LAST_NUMBER, 1), (0, 2), (1, 3)]);
    assert!(!peer.is_behind());
    peer.turn_to(0);
    assert!(peer.count_acked(1), "what is consumed meanwhile needs not go again");
    assert_eq!(peer.next_again(0).map(|(head, bytes)| (head.number, bytes[0])), Some((1, 3)));
}

#[test]
fn credit_ends_with_the_window_and_comes_back_with_acknowledgements() {
    let mut peer = peer(1);
    (peer.sent, peer.again) = (u32::MAX - 3, u32::MAX - 3);
    peer.acked = u32::MAX - 3;
    for _ in 0..WINDOW {
        assert!(peer.has_credit());
        peer.count_sent();
    }
    assert!(!peer.has_credit());
    assert!(peer.count_acked(peer.acked.wrapping_add(5)));
    assert!(peer.has_credit());
}

#[test]
fn slots_are_for_few_messages_at_a_time() {
    let mut peer = peer(1);
    assert_eq!(peer.slots_for_few(), None, "the peer has offered none");
    peer.slots_there = Offer::decode(&[1; 16]);
    let few = (0..WINDOW).take_while(|_| {
        peer.count_sent();
        peer.slots_for_few().is_some()
    });
    assert_eq!(few.count() as u32, FEW - 1);
    assert!(peer.count_acked(1) && peer.slots_for_few().is_some());
}

#[test]
fn more_than_was_sent_cannot_be_acknowledged() {
    let mut peer = peer(1);
    peer.count_sent();
    assert!(!peer.count_acked(2));
    assert!(peer.count_acked(1));
    assert!(peer.count_acked(0), "an older count is no lie");
    assert_eq!(peer.acked, 1);
}

#[test]
fn failures_in_a_row_are_borne_a_few_times() {
    let mut peer = peer(2);
    for _ in 0..2 {
        assert_eq!((0..10).filter(|_| peer.may_fail()).count() as u32, FAILURES);
        peer.strikes = 0;
    }
}

#[test]
fn a_message_follows_those_that_have_come_and_no_others() {
    let (mut one, mut other) = (peer(1), peer(1));
    (one.sent, other.consumed) = (LAST_NUMBER, LAST_NUMBER);
    for _ in 0..3 {
        assert!(other.follows(one.header(0, Kind::Message, 8).number));
        one.count_sent();
        assert!(!other.follows(one.header(0, Kind::Ack, 0).number), "one is missing");
        other.count_consumed();
    }
}

#[test]
fn what_has_no_number_may_come_behind_what_was_written_after_it() {
    let (one, mut other) = (peer(1), peer(1));
    let ack = one.header(0, Kind::Ack, 0).number;
    other.count_consumed();
    assert!(!other.is_behind_slots(ack), "there are no slots");
    other.slots_here = Some(0);
    assert!(other.is_behind_slots(ack) && other.is_behind_slots(ack + 1));
    assert!(!other.is_behind_slots(ack + 2), "a message before it is missing");
}

#[test]
fn a_put_takes_the_place_of_a_message_and_one_that_is_lost_is_missed() {
    let (mut one, mut other) = (peer(1), peer(1));
    (one.our_cookie, other.its_cookie) = (u64::MAX << 32, u64::MAX << 32);
    (one.sent, other.consumed) = (LAST_NUMBER, LAST_NUMBER);
    for _ in 0..3 {
        let mark = Mark::of(&one.header(0, Kind::Message, 8));
        assert!(other.is_followed_by(mark) && !other.is_followed_by(Mark { cookie: 7, ..mark }));
        one.count_put();
        let behind = one.header(0, Kind::Message, 8);
        assert!(!other.is_followed_by(Mark::of(&behind)) && !other.follows(behind.number));
        other.count_consumed();
    }
}

#[test]
fn a_put_tells_nothing_of_what_was_consumed() {
    let mut peer = peer(1);
    let told = (0..WINDOW).filter(|_| {
        peer.count_put();
        peer.count_consumed() == Untold::Many
    });
    assert_eq!(told.count(), 1, "it is due once, until somebody tells");
}

#[test]
fn a_peer_is_told_once_in_a_quarter_of_its_window_and_at_once_after_three() {
    for (due, every) in [(Untold::Many, TELL_AFTER), (Untold::Most, TELL_NOW)] {
        let mut peer = peer(1);
        for n in 1..=WINDOW {
            let untold = peer.count_consumed();
            assert_eq!(untold == due, n % every == 0, "message {n}");
            (untold == due).then(|| peer.count_told());
        }
    }
}
