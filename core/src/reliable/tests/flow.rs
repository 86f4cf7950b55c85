//! Units, datagrams, acknowledgements, windows.

use super::*;

#[test]
fn a_lone_unit_leaves_at_once_and_is_acknowledged_after_the_delay() {
    let mut pair = Pair::new();
    pair.submit(0, Channel::Request, b"hello", 42).unwrap();
    assert_eq!(pair.send(0), 1);
    pair.receive(1);
    assert_eq!(pair.got[1], [b"h:hello"]);
    assert_eq!(pair.send(1), 0, "the acknowledgement waits for company");
    assert!(pair.engines[1].owes_acks());
    pair.now += 100 * US;
    assert_eq!(pair.send(1), 1);
    pair.receive(0);
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 42 }]);
    assert_eq!(pair.engines[0].outstanding(1), Some(0));
    assert!(!pair.engines[1].owes_acks());
}

#[test]
fn an_answer_carries_the_acknowledgement() {
    let mut pair = Pair::new();
    pair.submit(0, Channel::Request, b"question", 1).unwrap();
    pair.send(0);
    pair.receive(1);
    pair.submit(1, Channel::Reply, b"answer", 2).unwrap();
    assert_eq!(pair.send(1), 1);
    pair.receive(0);
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 1 }]);
    assert_eq!(pair.engines[1].stats(0).unwrap().acks_sent, 1);
}

#[test]
fn an_acknowledgement_that_was_put_off_counts_from_when_it_came() {
    let mut pair = Pair::new();
    pair.engines[0].postpone_acks(true);
    pair.submit(0, Channel::Request, b"question", 1).unwrap();
    pair.send(0);
    pair.now += 20 * US;
    pair.receive(1);
    pair.submit(1, Channel::Reply, b"answer", 2).unwrap();
    pair.send(1);
    pair.now += 20 * US;
    pair.receive(0);
    assert_eq!(pair.got[0], [b"h:answer"], "the answer does not wait");
    assert!(pair.engines[0].is_behind());
    assert_eq!((pair.events(0), pair.engines[0].outstanding(1)), (vec![], Some(1)));
    pair.now += 60 * US;
    pair.engines[0].catch_up();
    assert!(!pair.engines[0].is_behind());
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 1 }]);
    // Of 40 us, not of 100: the next probe comes that early.
    pair.submit(0, Channel::Request, b"again", 3).unwrap();
    pair.send(0);
    assert!(pair.engines[0].next_timeout().unwrap() <= pair.now + 300 * US);
}

#[test]
fn nothing_is_put_off_while_much_is_under_way_nor_beyond_a_timer() {
    let mut pair = Pair::new();
    pair.engines[0].postpone_acks(true);
    for token in 0..40 {
        pair.submit(0, Channel::Request, &[1; 600], token).unwrap();
    }
    pair.send(0);
    pair.receive(1);
    pair.send(1);
    pair.receive(0);
    assert!(!pair.engines[0].is_behind());
    pair.run(10 * MS);
    assert_eq!(pair.events(0).len(), 40);
    pair.submit(0, Channel::Request, b"last", 40).unwrap();
    pair.run(10 * MS);
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 40 }]);
    assert_eq!(pair.engines[0].stats(1).unwrap().units_resent, 0, "what came in time was not sent again");
}

#[test]
fn acknowledgements_are_batched_by_the_threshold() {
    for threshold in [1, 4, 31] {
        let config =
            EngineConfig { ack_threshold: threshold, receive_buffer: 8 << 20, ..EngineConfig::default() };
        let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
        for round in 0..62u64 {
            pair.submit(0, Channel::Request, &[1; 64], round).unwrap();
            pair.send(0);
            pair.receive(1);
            pair.send(1);
            pair.receive(0);
        }
        let acks = pair.engines[1].stats(0).unwrap().acks_sent;
        assert_eq!(acks, 62 / u64::from(threshold), "threshold {threshold}");
    }
}

#[test]
fn small_units_share_datagrams_when_more_wait() {
    let mut pair = Pair::new();
    for n in 0..500 {
        pair.submit(0, Channel::Request, &[n as u8; 8], NO_TOKEN).unwrap();
    }
    let datagrams = pair.send(0);
    let per_datagram = (1472 - HEADER_LEN) / 18;
    assert_eq!(datagrams, 500usize.div_ceil(per_datagram));
    pair.receive(1);
    assert_eq!(pair.got[1].len(), 500);
}

/// As MP_RETRANSMIT_INTERVAL and MP_POLLING_INTERVAL have it: checks shorten pauses, and pauses
/// have a bound.
#[test]
fn a_check_sends_again_what_is_late_without_waiting_for_the_timer_that_has_grown() {
    let asked = |checks_every: Option<Nanos>, longest: Nanos| {
        let config =
            EngineConfig { retransmit_max: longest, suspect_after: 60_000 * MS, ..EngineConfig::default() };
        let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
        pair.submit(0, Channel::Request, b"lost for a second", 1).unwrap();
        while pair.now < 1000 * MS {
            if checks_every.is_some_and(|every| pair.now.is_multiple_of(every)) {
                pair.engines[0].check_unanswered(pair.now);
            }
            pair.send(0);
            pair.wires[1].clear();
            pair.now += 100 * US;
        }
        let asked = pair.engines[0].stats(1).unwrap().timeouts;
        // The link is whole again: what was lost gets through, once.
        pair.run(1000 * MS);
        assert_eq!(pair.got[1], [b"h:lost for a second"]);
        assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 1 }]);
        asked
    };
    let grown = asked(None, 400 * MS);
    assert!((8..=14).contains(&grown), "pauses double: {grown}");
    // A second at the bound of 20 ms.
    let bounded = asked(None, 20 * MS);
    assert!((50..=60).contains(&bounded), "pauses stay below their bound: {bounded}");
    let checked = asked(Some(10 * MS), 400 * MS);
    assert!((95..=110).contains(&checked), "each check asks: {checked}");
    // However often checks come, a round trip passes between two questions.
    let often = asked(Some(100 * US), 400 * MS);
    assert!((500..=1500).contains(&often), "no more than the round trips allow: {often}");
}

#[test]
fn a_check_asks_nobody_who_owes_nothing() {
    let mut pair = Pair::new();
    pair.engines[0].check_unanswered(pair.now);
    assert_eq!(pair.send(0), 0);
    pair.submit(0, Channel::Request, b"x", 1).unwrap();
    pair.send(0);
    pair.engines[0].check_unanswered(pair.now + 50 * US);
    assert_eq!(pair.send(0), 0, "a round trip has not passed");
    pair.run(10 * MS);
    pair.engines[0].check_unanswered(pair.now);
    assert_eq!(pair.send(0), 0, "everything is answered");
    assert_eq!(pair.engines[0].stats(1).unwrap().units_resent, 0);
}

#[test]
fn a_full_channel_says_again_and_goes_on_after_acknowledgements() {
    let config = EngineConfig { channel_units: 8, ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
    for n in 0..8 {
        pair.submit(0, Channel::Request, b"x", n).unwrap();
    }
    assert_eq!(pair.submit(0, Channel::Request, b"x", 8), Err(SubmitError::Again));
    pair.submit(0, Channel::Reply, b"x", 9).expect("the other channel has room");
    pair.send(0);
    pair.receive(1);
    assert_eq!(pair.send(1), 1, "the starved sender asked for an acknowledgement without delay");
    pair.receive(0);
    assert_eq!(pair.events(0).len(), 9);
    pair.submit(0, Channel::Request, b"x", 8).unwrap();
}

#[test]
fn the_total_bound_counts_events_that_nobody_fetched() {
    let config = EngineConfig { total_units: 10, ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
    for n in 0..10 {
        pair.submit(0, Channel::Request, b"x", n).unwrap();
    }
    assert_eq!(pair.submit(0, Channel::Request, b"x", 10), Err(SubmitError::Again));
    pair.submit(0, Channel::Reply, b"x", 11).expect("replies have a reserve");
    pair.run(10 * MS);
    assert_eq!(pair.submit(0, Channel::Request, b"x", 10), Err(SubmitError::Again), "11 events wait");
    assert_eq!(pair.events(0).len(), 11);
    pair.submit(0, Channel::Request, b"x", 10).unwrap();
}

#[test]
fn a_lost_tail_is_sent_again_soon_under_a_new_number() {
    let mut pair = Pair::new();
    pair.submit(0, Channel::Request, b"warm up", 0).unwrap();
    pair.run(10 * MS);
    pair.submit(0, Channel::Request, b"tail", 1).unwrap();
    pair.send(0);
    let lost = pair.wires[1].pop().unwrap();
    let start = pair.now;
    while pair.wires[1].is_empty() {
        pair.now = pair.engines[0].next_timeout().expect("a probe timer");
        pair.send(0);
    }
    assert!(pair.now - start <= MS, "waited {} us", (pair.now - start) / US);
    let again = &pair.wires[1][0];
    assert!(header(again).number > header(&lost).number);
    assert_eq!(header(again).flags, ACK_NOW);
    pair.receive(1);
    pair.deliver(1, &lost, Verdict::Accept);
    assert_eq!(pair.got[1], [&b"h:warm up"[..], b"h:tail"]);
}

#[test]
fn a_peer_that_stays_silent_is_asked_without_data_and_its_answer_says_what_was_lost() {
    let mut pair = Pair::new();
    pair.submit(0, Channel::Request, b"warm up", 0).unwrap();
    pair.run(10 * MS);
    for token in 1..=3 {
        pair.submit(0, Channel::Request, &[7; 1400], token).unwrap();
    }
    pair.send(0);
    let data: Vec<_> = std::mem::take(&mut pair.wires[1]);
    let ask = |pair: &mut Pair| {
        while pair.wires[1].is_empty() {
            pair.now = pair.engines[0].next_timeout().expect("a probe timer");
            pair.send(0);
        }
        std::mem::take(&mut pair.wires[1])
    };
    let tail = ask(&mut pair);
    assert_eq!(tail.iter().map(|datagram| datagram.len() > 1400).collect::<Vec<_>>(), [true], "a lost tail");
    let mut asked = Vec::new();
    for _ in 0..6 {
        asked = ask(&mut pair);
        assert!(asked.len() <= 2 && asked.iter().all(|datagram| datagram.len() < 100));
    }
    let resent = |pair: &Pair| pair.engines[0].stats(1).unwrap().units_resent;
    assert_eq!(resent(&pair), 1);
    // It was busy: everything was there.
    for datagram in data.iter().chain(&tail).chain(&asked) {
        pair.deliver(1, datagram, Verdict::Accept);
    }
    pair.run(MS);
    assert_eq!((pair.got[1].len(), resent(&pair)), (4, 1));
    // Everything was lost: what goes again waits for the answer to a question.
    for token in 4..=6 {
        pair.submit(0, Channel::Request, &[7; 1400], token).unwrap();
    }
    pair.send(0);
    pair.wires[1].clear();
    ask(&mut pair);
    pair.wires[1] = ask(&mut pair);
    pair.run(MS);
    assert_eq!((pair.got[1].len(), pair.engines[0].outstanding(1)), (7, Some(0)));
}

#[test]
fn a_refused_unit_comes_again() {
    let mut pair = Pair::new();
    pair.submit(0, Channel::Request, b"twice", 1).unwrap();
    pair.send(0);
    let first = pair.wires[1].remove(0);
    pair.deliver(1, &first, Verdict::Drop);
    assert!(!pair.engines[1].owes_acks());
    pair.run(10 * MS);
    assert_eq!(pair.got[1], [b"h:twice"]);
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 1 }]);
}

#[test]
fn replies_pass_requests_that_fill_the_window() {
    let config = EngineConfig { initial_window: 2, ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
    for n in 0..100 {
        pair.submit(0, Channel::Request, &[0; 1400], n).unwrap();
    }
    let requests = pair.send(0);
    assert!(requests < 100);
    assert_eq!(pair.send(0), 0, "the window is full");
    pair.submit(0, Channel::Reply, b"urgent", 100).unwrap();
    assert_eq!(pair.send(0), 1);
    let last = pair.wires[1].last().unwrap().clone();
    pair.deliver(1, &last, Verdict::Accept);
    assert_eq!(pair.got[1], [b"h:urgent"]);
}

#[test]
fn external_bodies_are_named_not_copied() {
    let mut pair = Pair::new();
    let body = Body::External { buffer: 9, offset: 1000, len: 1200 };
    pair.engines[0].submit(0, 1, Channel::Request, b"head", body, 7).unwrap();
    let mut out = Transmit::default();
    assert!(pair.engines[0].poll_transmit(0, &mut pair.memory, &mut out));
    assert_eq!(out.datagram(0)[1], Segment::External { buffer: 9, offset: 1000, len: 1200 });
    assert!(out.bytes.len() < 100);
    let mut datagram = Vec::new();
    out.copy_datagram(0, &mut pair.memory, &mut datagram);
    pair.deliver(1, &datagram, Verdict::Accept);
    assert_eq!(pair.got[1][0], [b"head", &pair.memory.0[1000..2200]].concat());
}

#[test]
fn a_batch_has_datagrams_of_one_size_and_acknowledgements_behind_them() {
    let config = EngineConfig { receive_buffer: 8 << 20, ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
    for n in 0..16 {
        pair.submit(1, Channel::Request, &[1; 1400], n).unwrap();
    }
    pair.send(1);
    pair.receive(0);
    let max = pair.engines[0].max_payload(1).unwrap();
    for _ in 0..40 {
        let body = Body::External { buffer: 9, offset: 0, len: max as u32 };
        pair.engines[0].submit(0, 1, Channel::Request, &[], body, 1).unwrap();
    }
    let mut out = Transmit::default();
    assert!(pair.engines[0].poll_transmit(0, &mut pair.memory, &mut out));
    assert_eq!(out.segment_size, 1472);
    assert_eq!(out.datagrams(), 17, "sixteen full ones are the window, and the acknowledgement");
    assert_eq!(out.total, 16 * 1472 + HEADER_LEN + 16);
    let lens: Vec<usize> = (0..17)
        .map(|index| {
            let mut datagram = Vec::new();
            out.copy_datagram(index, &mut pair.memory, &mut datagram);
            datagram.len()
        })
        .collect();
    assert!(lens[..16].iter().all(|&len| len == 1472));
}

#[test]
fn what_is_known_to_have_arrived_is_left_alone() {
    let mut pair = Pair::new();
    for n in 0..2 {
        let body = Body::External { buffer: 9, offset: n * 1000, len: 1000 };
        pair.engines[0].submit(0, 1, Channel::Request, b"h:", body, 7).expect("room");
    }
    pair.submit(0, Channel::Request, b"of the engine", 8).expect("room");
    assert!(pair.send(0) > 0);
    pair.wires[1].clear();
    pair.engines[0].settle(1, 7);
    let settled = |event: &Event| matches!(event, Event::Acked { token: 7, .. });
    assert_eq!(pair.events(0).iter().filter(|event| settled(event)).count(), 2);
    // To read it again would be an error from now on.
    pair.memory.0.clear();
    pair.run(50 * MS);
    assert_eq!(pair.got[1], [b"h:of the engine"]);
    assert_eq!(pair.engines[0].outstanding(1), Some(0));
    assert_eq!(pair.events(0).iter().filter(|event| settled(event)).count(), 0);
}

#[test]
fn what_is_withdrawn_before_it_was_sent_names_no_memory() {
    let mut pair = Pair::new();
    for n in 0..3 {
        let body = Body::External { buffer: 9, offset: n * 1000, len: 1000 };
        pair.engines[0].submit(0, 1, Channel::Request, b"h:", body, 7).expect("room");
    }
    pair.engines[0].withdraw(1, 7);
    pair.memory.0.clear();
    pair.run(50 * MS);
    assert_eq!(pair.got[1].len(), 3);
    assert!(pair.got[1].iter().all(|unit| unit[2..].iter().all(|&byte| byte == 0)));
}

#[test]
fn what_is_withdrawn_on_its_way_and_gets_lost_comes_again_without_its_memory() {
    const FURTHER: usize = 6000;
    let mut pair = Pair::new();
    let body = Body::External { buffer: 9, offset: 0, len: 1000 };
    pair.engines[0].submit(0, 1, Channel::Request, b"h:", body, 7).expect("room");
    assert_eq!(pair.send(0), 1);
    pair.wires[1].clear();
    pair.engines[0].withdraw(1, 7);
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 7 }], "its memory is free");
    pair.memory.0.clear();
    // More than the receiver keeps track of behind a unit that is missing.
    for n in 0..FURTHER {
        let mut refused = 0;
        while let Err(error) = pair.submit(0, Channel::Request, b"x", NO_TOKEN) {
            assert_eq!(error, SubmitError::Again);
            refused += 1;
            assert!(refused < 1000, "stuck behind {n} units");
            pair.run(MS);
        }
    }
    pair.run(100 * MS);
    assert_eq!(pair.got[1].len(), 1 + FURTHER);
    let withdrawn: Vec<_> = pair.got[1].iter().filter(|unit| unit.len() > 3).collect();
    assert_eq!(withdrawn, [&[b"h:", &[0; 1000][..]].concat()]);
    assert_eq!((pair.engines[0].outstanding(1), pair.events(0)), (Some(0), Vec::new()));
}

#[test]
fn acknowledgements_that_one_send_has_no_room_for_go_in_the_next_one() {
    let config = EngineConfig { receive_buffer: 8 << 20, ..EngineConfig::default() };
    for max_datagram in [65_440, 65_507] {
        let mut pair = Pair::with(&config, &[PathInfo::new(0, max_datagram)], Some(1));
        for n in 0..16 {
            pair.submit(1, Channel::Request, &[1; 1400], n).unwrap();
            assert_eq!(pair.send(1), 1);
        }
        pair.receive(0);
        let max = pair.engines[0].max_payload(1).unwrap();
        for _ in 0..2 {
            let body = Body::External { buffer: 9, offset: 0, len: max as u32 };
            pair.engines[0].submit(0, 1, Channel::Request, &[], body, 1).unwrap();
        }
        let (mut out, mut acks) = (Transmit::default(), 0);
        while pair.engines[0].poll_transmit(0, &mut pair.memory, &mut out) {
            assert!(out.total <= wire::MAX_DATAGRAM, "{} bytes in one send", out.total);
            acks += pair.engines[0].stats(1).unwrap().acks_sent;
            for index in 0..out.datagrams() {
                let mut datagram = Vec::new();
                out.copy_datagram(index, &mut pair.memory, &mut datagram);
                pair.deliver(1, &datagram, Verdict::Accept);
            }
        }
        assert!(acks > 0);
        assert_eq!((pair.got[1].len(), pair.engines[1].outstanding(0)), (2, Some(0)));
    }
}
