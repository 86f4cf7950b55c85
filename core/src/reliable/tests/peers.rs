//! Silence, rails, path MTU, credits, wrong arguments.

use super::*;

#[test]
fn units_larger_than_the_new_path_mtu_get_through() {
    let mut pair = Pair::with(
        &EngineConfig { receive_buffer: 8 << 20, ..EngineConfig::default() },
        &[PathInfo::new(0, 9000)],
        Some(1),
    );
    for n in 0..10u64 {
        let body = Body::External { buffer: 9, offset: n * 17, len: 8000 };
        pair.engines[0].submit(0, 1, Channel::Request, &n.to_le_bytes(), body, n).unwrap();
    }
    pair.send(0);
    // None of them passes any more.
    pair.wires[1].clear();
    pair.engines[0].set_max_datagram(1, 0, 1000).unwrap();
    assert_eq!(pair.events(0), [Event::MaxPayload { peer: 1, bytes: 1000 - 64 }]);
    // Whoever made a unit for the path as it was need not make it again.
    pair.submit(0, Channel::Reply, &[7; 2000], 10).unwrap();
    assert!(matches!(
        pair.submit(0, Channel::Request, &[0; 65_442], 0),
        Err(SubmitError::TooLarge { peer: 1, len: 65_444, max: 65_443 })
    ));
    pair.send(0);
    assert!(pair.wires[1].iter().all(|datagram| datagram.len() <= 1000));
    pair.run(100 * MS);
    assert_eq!(pair.got[1].len(), 11);
    let late = pair.got[1].iter().position(|unit| unit.len() == 2002).expect("it arrives, too");
    assert_eq!(pair.got[1].swap_remove(late)[2..], [7; 2000]);
    for unit in &pair.got[1] {
        let n = u64::from_le_bytes(unit[..8].try_into().unwrap()) as usize;
        assert_eq!(unit[8..], pair.memory.0[n * 17..n * 17 + 8000]);
    }
    assert_eq!(pair.events(0).len(), 11);
    assert_eq!(pair.engines[0].outstanding(1), Some(0));
}

#[test]
fn a_silent_peer_is_reported_after_the_timeout_and_again() {
    let config = EngineConfig { peer_timeout: Some(200 * MS), ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
    pair.submit(0, Channel::Request, b"anybody?", 1).unwrap();
    let mut reports = Vec::new();
    while pair.now < 500 * MS {
        pair.send(0);
        pair.wires[1].clear();
        pair.now = pair.engines[0].next_timeout().expect("a timer");
        for event in pair.events(0) {
            if let Event::PeerTimeout { peer: 1, .. } = event {
                reports.push(pair.now / MS);
            }
        }
    }
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert!(pair.engines[0].stats(1).unwrap().datagrams_sent < 40, "the probes thin out");
}

#[test]
fn an_idle_engine_has_no_timer() {
    let mut pair = Pair::new();
    pair.submit(0, Channel::Request, b"once", 1).unwrap();
    pair.run(1000 * MS);
    pair.now += 10_000 * MS;
    for engine in &mut pair.engines {
        engine.on_timeout(pair.now);
        assert_eq!(engine.next_timeout(), None);
    }
}

#[test]
fn credits_are_shared_among_the_senders() {
    let config = EngineConfig { receive_buffer: 400_000, ..EngineConfig::default() };
    let mut sink = engine(0, &config);
    let path = [PathInfo::new(0, 1472)];
    let (mut out, mut offers) = (Transmit::default(), Vec::new());
    for task in 1..=4 {
        let mut source = engine(task, &config);
        source.add_peer(0, 0, 1, Some(1), &path).unwrap();
        sink.add_peer(0, task, 1, Some(1), &path).unwrap();
        source.submit(0, 0, Channel::Request, &[], Body::Copy(&[1; 100]), 1).unwrap();
        assert!(source.poll_transmit(0, &mut NoMemory, &mut out));
        let mut datagram = Vec::new();
        out.copy_datagram(0, &mut NoMemory, &mut datagram);
        sink.on_datagram(0, &datagram, |_| Verdict::Accept);
        sink.on_timeout(MS);
        assert!(sink.poll_transmit(MS, &mut NoMemory, &mut out));
        offers.push(header(&out.bytes).credit);
    }
    assert_eq!(offers, [300_000, 150_000, 100_000, 75_000]);
    sink.note_overflow(MS, 3);
    assert_eq!(sink.engine_stats().overflows, 3);
}

#[test]
fn a_rail_that_is_reported_down_is_left_at_once() {
    let paths = [0, 1].map(|path_id| PathInfo::new(path_id, 1472));
    let mut pair = Pair::with(&EngineConfig::default(), &paths, Some(1));
    for n in 0..4 {
        pair.submit(0, Channel::Request, &[n; 1000], n.into()).unwrap();
    }
    pair.send(0);
    let victim = header(&pair.wires[1][0]).path;
    pair.wires[1].retain(|datagram| header(datagram).path != victim);
    pair.engines[0].hint_path(1, victim, false).unwrap();
    assert_eq!(pair.engines[0].path_state(1, victim), Some(PathState::Suspect));
    pair.send(0);
    pair.receive(1);
    assert_eq!(pair.got[1].len(), 4, "everything went over the other rail, without waiting");
    pair.run(100 * MS);
    assert_eq!(pair.engines[0].path_state(1, victim), Some(PathState::Up), "it answered a probe");
}

#[test]
fn wrong_arguments_are_explained() {
    let path = |path_id, max_datagram| PathInfo::new(path_id, max_datagram);
    let mut engine = engine(0, &EngineConfig::default());
    assert!(matches!(engine.add_peer(0, 1, 1, None, &[]), Err(PeerError::Paths { peer: 1, count: 0 })));
    let twice = [path(1, 1472), path(1, 1472)];
    assert!(matches!(engine.add_peer(0, 1, 1, None, &twice), Err(PeerError::Paths { .. })));
    assert!(matches!(engine.add_peer(0, 1, 1, None, &[path(8, 1472)]), Err(PeerError::Paths { .. })));
    assert!(matches!(engine.add_peer(0, 1, 1, None, &[path(0, 100)]), Err(PeerError::Datagram { .. })));
    assert_eq!(engine.add_peer(0, 1, 0, None, &[path(0, 1472)]), Err(PeerError::Epoch(1)));
    engine.add_peer(0, 1, 1, None, &[path(0, 1472)]).unwrap();
    assert_eq!(engine.add_peer(0, 1, 1, None, &[path(0, 1472)]), Err(PeerError::Exists(1)));
    assert_eq!(engine.purge(2), Err(PeerError::Unknown(2)));
    let unknown = engine.submit(0, 2, Channel::Request, &[], Body::Copy(&[]), 0);
    assert_eq!(unknown, Err(SubmitError::Unknown(2)));
    let config = EngineConfig { ack_threshold: 32, ..EngineConfig::default() };
    let error = Engine::new(config, 0, 0, NoAuth).unwrap_err();
    assert_eq!(error.to_string(), "reliable packets: ack_threshold = 32 is outside 1..=31");
}

#[test]
fn a_sender_keeps_to_the_credit() {
    let small = EngineConfig { receive_buffer: 16_000, ..EngineConfig::default() };
    let mut pair = Pair::new();
    pair.engines[1] = engine(1, &small);
    let path = [PathInfo::new(0, 1472)];
    pair.engines[1].add_peer(0, 0, 1, Some(1), &path).unwrap();
    // The sender learns of it with the first acknowledgement.
    pair.submit(0, Channel::Request, b"first", 0).unwrap();
    pair.run(MS);
    for n in 1..500 {
        pair.submit(0, Channel::Request, &[0; 1400], n).unwrap();
    }
    // Each datagram counts with its overhead; the one that reaches the credit is still sent.
    let sent = pair.send(0);
    assert_eq!(sent, 12_000usize.div_ceil(1400 + 2 + 8 + HEADER_LEN + 512));
    let last = header(pair.wires[1].last().unwrap());
    assert_eq!(last.flags, ACK_NOW, "a sender that is held up asks for an acknowledgement");
    pair.run(100 * MS);
    assert_eq!(pair.got[1].len(), 500);
}

#[test]
fn time_in_which_nobody_looked_is_no_silence() {
    let config = EngineConfig { peer_timeout: Some(200 * MS), ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo::new(0, 1472)], Some(1));
    pair.submit(0, Channel::Request, b"anybody?", 1).unwrap();
    pair.send(0);
    // The task is stopped. What the peer has said meanwhile was not read yet.
    pair.now += 1000 * MS;
    pair.engines[0].was_away(pair.now);
    let silent = |pair: &mut Pair| {
        pair.send(0);
        pair.events(0).iter().any(|event| matches!(event, Event::PeerTimeout { .. }))
    };
    assert!(!silent(&mut pair));
    pair.now += 199 * MS;
    assert!(!silent(&mut pair));
    pair.now += MS;
    assert!(silent(&mut pair), "it is dead all the same");
}
