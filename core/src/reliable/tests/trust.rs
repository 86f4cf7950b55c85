//! What must not be taken: replays, forgeries, other incarnations.

use super::*;

#[test]
fn a_replayed_datagram_has_no_effect() {
    let mut pair = Pair::new();
    let mut overheard = Vec::new();
    for n in 0..50u64 {
        pair.submit(0, Channel::Request, &n.to_le_bytes(), n).unwrap();
        pair.submit(1, Channel::Request, &n.to_le_bytes(), n).unwrap();
        for task in 0..2 {
            pair.send(task);
            overheard.extend(pair.wires[1 - task].iter().map(|datagram| (1 - task, datagram.clone())));
            pair.receive(1 - task);
        }
        pair.now += 50 * US;
    }
    pair.run(10 * MS);
    let (got, memory) = (pair.got.clone(), pair.engines[1].memory());
    for _ in 0..3 {
        for (to, datagram) in &overheard {
            pair.deliver(*to, datagram, Verdict::Accept);
        }
    }
    assert_eq!(pair.got, got);
    assert_eq!(pair.send(0) + pair.send(1), 0, "a replay is not even answered");
    assert_eq!(pair.engines[1].memory(), memory);
    let replays = 3 * overheard.iter().filter(|(to, _)| *to == 1).count() as u64;
    assert_eq!(pair.engines[1].stats(0).unwrap().duplicate_datagrams, replays);
}

#[test]
fn forged_foreign_and_damaged_datagrams_are_counted_and_dropped() {
    let mut pair = Pair::new();
    pair.submit(0, Channel::Request, b"genuine", 1).unwrap();
    pair.send(0);
    let genuine = pair.wires[1][0].clone();
    for bit in 0..genuine.len() * 8 {
        let mut forged = genuine.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        pair.deliver(1, &forged, Verdict::Accept);
    }
    for len in 0..genuine.len() {
        pair.deliver(1, &genuine[..len], Verdict::Accept);
    }
    assert!(pair.got[1].is_empty());
    let stats = pair.engines[1].engine_stats();
    assert_eq!(stats.unknown_peer, 0, "nobody is looked for because of a forgery");
    let counted = stats.auth_failures + stats.malformed + stats.strangers;
    assert_eq!(counted as usize, genuine.len() * 9);
    pair.receive(1);
    assert_eq!(pair.got[1].len(), 1);
}

#[test]
fn a_greeting_precedes_data_when_epochs_are_unknown() {
    let mut pair = Pair::with(&EngineConfig::default(), &[PathInfo::new(0, 1472)], None);
    pair.submit(0, Channel::Request, b"secret", 1).unwrap();
    assert_eq!(pair.send(0), 1);
    assert_eq!(header(&pair.wires[1][0]).destination_epoch, 0);
    assert!(pair.wires[1][0].len() < 80, "no data in a greeting");
    // It gets lost, and is repeated.
    pair.wires[1].clear();
    pair.run(10 * MS);
    assert_eq!(pair.got[1], [b"h:secret"]);
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 1 }]);
}

#[test]
fn replayed_greetings_are_answered_seldom() {
    let mut pair = Pair::with(&EngineConfig::default(), &[PathInfo::new(0, 1472)], None);
    pair.submit(0, Channel::Request, b"secret", 1).unwrap();
    pair.send(0);
    let greeting = pair.wires[1][0].clone();
    assert_eq!(header(&greeting).destination_epoch, 0);
    pair.run(10 * MS);
    assert_eq!(pair.got[1].len(), 1);
    let mut answers = 0;
    for _ in 0..1000 {
        for _ in 0..10 {
            pair.deliver(1, &greeting, Verdict::Accept);
            answers += pair.send(1);
        }
        pair.wires[0].clear();
        pair.now += 10 * US;
    }
    // In ten milliseconds. One that is genuine is answered now and then, for the answer before it
    // may be lost.
    assert!((9..=11).contains(&answers), "{answers} answers to 10,000 greetings");
}

#[test]
fn packets_that_come_before_the_peer_is_added_are_not_lost() {
    let path = [PathInfo::new(0, 1472)];
    for known in [None, Some(1)] {
        let mut pair = Pair::with(&EngineConfig::default(), &path, known);
        pair.engines[1] = engine(1, &EngineConfig::default());
        for n in 0..100 {
            pair.submit(0, Channel::Request, &[7; 500], n).unwrap();
        }
        pair.run(50 * MS);
        assert!(pair.got[1].is_empty());
        assert!(pair.engines[1].engine_stats().unknown_peer > 0);
        pair.engines[1].add_peer(pair.now, 0, 1, known, &path).unwrap();
        pair.run(500 * MS);
        assert_eq!(pair.got[1].len(), 100);
    }
}

#[test]
fn nothing_from_before_a_purge_is_taken_after_it() {
    let mut pair = Pair::new();
    for n in 0..3 {
        pair.submit(0, Channel::Request, b"old", n).unwrap();
        pair.submit(1, Channel::Request, b"old too", n).unwrap();
    }
    pair.send(0);
    pair.send(1);
    let held = pair.wires.clone();
    pair.wires.iter_mut().for_each(Vec::clear);
    pair.engines[0].purge(1).unwrap();
    let purged: Vec<_> = (0..3).map(|token| Event::Purged { peer: 1, token }).collect();
    assert_eq!(pair.events(0), purged);
    assert_eq!(pair.submit(0, Channel::Request, b"x", 9), Err(SubmitError::PeerDown(1)));
    for datagram in &held[0] {
        pair.deliver(0, datagram, Verdict::Accept);
    }
    assert!(pair.got[0].is_empty(), "a purged peer is not heard");
    let unknown = pair.engines[0].engine_stats().unknown_peer;
    assert_eq!(unknown, held[0].len() as u64);
    let mut forged = held[0][0].clone();
    *forged.last_mut().unwrap() ^= 1;
    pair.deliver(0, &forged, Verdict::Accept);
    let stats = pair.engines[0].engine_stats();
    assert_eq!((stats.unknown_peer, stats.auth_failures), (unknown, 1));
    pair.engines[0].resume(pair.now, 1).unwrap();
    pair.submit(0, Channel::Request, b"new", 10).unwrap();
    pair.run(50 * MS);
    // The other side has learnt of it: what it had outstanding is void.
    let events = pair.events(1);
    assert_eq!(events[..3], (0..3).map(|token| Event::Purged { peer: 0, token }).collect::<Vec<_>>());
    assert_eq!(events[3], Event::PeerRestarted { peer: 0, epoch: 2, outstanding: 3 });
    for (task, wire) in held.iter().enumerate() {
        for datagram in wire {
            pair.deliver(task, datagram, Verdict::Accept);
        }
    }
    pair.run(50 * MS);
    assert_eq!(pair.got[1], [b"h:new"]);
    assert!(pair.got[0].is_empty());
    pair.submit(1, Channel::Request, b"back", 11).unwrap();
    pair.run(50 * MS);
    assert_eq!(pair.got[0], [b"h:back"]);
}

#[test]
fn a_peer_of_which_only_recorded_datagrams_are_heard_is_silent() {
    let config = EngineConfig { peer_timeout: Some(200 * MS), ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
    pair.submit(1, Channel::Request, b"its last words", 1).unwrap();
    pair.send(1);
    let recorded = pair.wires[0][0].clone();
    pair.receive(0);
    pair.submit(0, Channel::Request, b"anybody?", 2).unwrap();
    while pair.now < 300 * MS {
        pair.send(0);
        pair.deliver(0, &recorded, Verdict::Accept);
        pair.now += 10 * MS;
    }
    assert!(pair.events(0).iter().any(|event| matches!(event, Event::PeerTimeout { peer: 1, .. })));
}
