//! Two engines, and a hand on every datagram between them.

use super::wire::{ACK_NOW, HEADER_LEN, Header};
use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Tasks 0 and 1, each other's peer.
struct Pair {
    now: Nanos,
    engines: [Engine<JobAuth>; 2],
    /// Datagrams on their way to each task.
    wires: [Vec<Vec<u8>>; 2],
    /// Units that each task got.
    got: [Vec<Vec<u8>>; 2],
    memory: Buffers,
}

struct Buffers(Vec<u8>);

impl Memory for Buffers {
    fn read(&mut self, buffer: u64, offset: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        assert_eq!(buffer, 9);
        read(&self.0[offset as usize..][..len as usize]);
    }
}

fn auth() -> JobAuth {
    JobAuth::new(&[5; 32])
}

fn engine(task: u32, config: &EngineConfig) -> Engine<JobAuth> {
    Engine::new(config.clone(), task, 3, auth()).expect("a valid configuration")
}

impl Pair {
    fn with(config: &EngineConfig, paths: &[PathInfo], known: Option<u32>) -> Self {
        let engines = [0, 1].map(|task| {
            let mut engine = engine(task, config);
            engine.add_peer(0, 1 - task, 1, known, paths).expect("a new peer");
            engine
        });
        let memory = Buffers((0..100_000u32).map(|n| (n * 7 % 251) as u8).collect());
        Self { now: 0, engines, wires: Default::default(), got: Default::default(), memory }
    }

    fn new() -> Self {
        Self::with(&EngineConfig::default(), &[PathInfo { path_id: 0, max_datagram: 1472 }], Some(1))
    }

    fn submit(&mut self, from: usize, lane: Lane, body: &[u8], token: u64) -> Result<(), SubmitError> {
        self.engines[from].submit(self.now, 1 - from as u32, lane, b"h:", Body::Copy(body), token)
    }

    /// Puts what a task has to send on its wire; returns how many datagrams.
    fn send(&mut self, from: usize) -> usize {
        self.engines[from].on_timeout(self.now);
        let (mut out, before) = (Transmit::default(), self.wires[1 - from].len());
        while self.engines[from].poll_transmit(self.now, &mut self.memory, &mut out) {
            for index in 0..out.datagrams() {
                let mut datagram = Vec::new();
                out.copy_datagram(index, &mut self.memory, &mut datagram);
                self.wires[1 - from].push(datagram);
            }
        }
        self.wires[1 - from].len() - before
    }

    fn deliver(&mut self, to: usize, datagram: &[u8], verdict: Verdict) {
        let got = &mut self.got[to];
        self.engines[to].on_datagram(self.now, datagram, |delivery| {
            if verdict == Verdict::Accept {
                got.push(delivery.packet.to_vec());
            }
            verdict
        });
    }

    /// Delivers what is on the wire to a task.
    fn receive(&mut self, to: usize) {
        for datagram in std::mem::take(&mut self.wires[to]) {
            self.deliver(to, &datagram, Verdict::Accept);
        }
    }

    /// Lets time pass, and everything through.
    fn run(&mut self, time: Nanos) {
        let until = self.now + time;
        loop {
            for task in 0..2 {
                self.send(task);
                self.receive(1 - task);
            }
            if self.wires.iter().all(Vec::is_empty) && !self.engines_busy() {
                let next = self.engines.iter().filter_map(Engine::next_timeout).min();
                match next {
                    Some(at) if at <= until => self.now = self.now.max(at),
                    _ => break,
                }
            }
        }
        self.now = until;
    }

    fn engines_busy(&mut self) -> bool {
        self.send(0) + self.send(1) > 0
    }

    fn events(&mut self, task: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.engines[task].poll_event()).collect()
    }
}

fn header(datagram: &[u8]) -> Header {
    Header::parse(datagram).expect("a datagram of ours").0
}

#[test]
fn a_lone_unit_leaves_at_once_and_is_acknowledged_after_the_delay() {
    let mut pair = Pair::new();
    pair.submit(0, Lane::Request, b"hello", 42).unwrap();
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
    pair.submit(0, Lane::Request, b"question", 1).unwrap();
    pair.send(0);
    pair.receive(1);
    pair.submit(1, Lane::Reply, b"answer", 2).unwrap();
    assert_eq!(pair.send(1), 1);
    pair.receive(0);
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 1 }]);
    assert_eq!(pair.engines[1].stats(0).unwrap().acks_sent, 1);
}

#[test]
fn acknowledgements_are_batched_by_the_threshold() {
    for threshold in [1, 4, 31] {
        let config =
            EngineConfig { ack_threshold: threshold, receive_buffer: 8 << 20, ..EngineConfig::default() };
        let mut pair = Pair::with(&config, &[PathInfo { path_id: 0, max_datagram: 1472 }], Some(1));
        for round in 0..62u64 {
            pair.submit(0, Lane::Request, &[1; 64], round).unwrap();
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
        pair.submit(0, Lane::Request, &[n as u8; 8], NO_TOKEN).unwrap();
    }
    let datagrams = pair.send(0);
    let per_datagram = (1472 - HEADER_LEN) / 18;
    assert_eq!(datagrams, 500usize.div_ceil(per_datagram));
    pair.receive(1);
    assert_eq!(pair.got[1].len(), 500);
}

#[test]
fn a_full_lane_says_again_and_goes_on_after_acknowledgements() {
    let config = EngineConfig { lane_units: 8, ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo { path_id: 0, max_datagram: 1472 }], Some(1));
    for n in 0..8 {
        pair.submit(0, Lane::Request, b"x", n).unwrap();
    }
    assert_eq!(pair.submit(0, Lane::Request, b"x", 8), Err(SubmitError::Again));
    pair.submit(0, Lane::Reply, b"x", 9).expect("the other lane has room");
    pair.send(0);
    pair.receive(1);
    assert_eq!(pair.send(1), 1, "the starved sender asked for an acknowledgement without delay");
    pair.receive(0);
    assert_eq!(pair.events(0).len(), 9);
    pair.submit(0, Lane::Request, b"x", 8).unwrap();
}

#[test]
fn the_total_bound_counts_events_that_nobody_fetched() {
    let config = EngineConfig { total_units: 10, ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo { path_id: 0, max_datagram: 1472 }], Some(1));
    for n in 0..10 {
        pair.submit(0, Lane::Request, b"x", n).unwrap();
    }
    assert_eq!(pair.submit(0, Lane::Request, b"x", 10), Err(SubmitError::Again));
    pair.submit(0, Lane::Reply, b"x", 11).expect("replies have a reserve");
    pair.run(10 * MS);
    assert_eq!(pair.submit(0, Lane::Request, b"x", 10), Err(SubmitError::Again), "11 events wait");
    assert_eq!(pair.events(0).len(), 11);
    pair.submit(0, Lane::Request, b"x", 10).unwrap();
}

#[test]
fn a_lost_tail_is_sent_again_soon_under_a_new_number() {
    let mut pair = Pair::new();
    pair.submit(0, Lane::Request, b"warm up", 0).unwrap();
    pair.run(10 * MS);
    pair.submit(0, Lane::Request, b"tail", 1).unwrap();
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
fn a_replayed_datagram_has_no_effect() {
    let mut pair = Pair::new();
    let mut overheard = Vec::new();
    for n in 0..50u64 {
        pair.submit(0, Lane::Request, &n.to_le_bytes(), n).unwrap();
        pair.submit(1, Lane::Request, &n.to_le_bytes(), n).unwrap();
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
    pair.submit(0, Lane::Request, b"genuine", 1).unwrap();
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
    let counted = stats.auth_failures + stats.malformed + stats.strangers + stats.unknown_peer;
    assert_eq!(counted as usize, genuine.len() * 9);
    pair.receive(1);
    assert_eq!(pair.got[1].len(), 1);
}

#[test]
fn a_refused_unit_comes_again() {
    let mut pair = Pair::new();
    pair.submit(0, Lane::Request, b"twice", 1).unwrap();
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
    let mut pair = Pair::with(&config, &[PathInfo { path_id: 0, max_datagram: 1472 }], Some(1));
    for n in 0..100 {
        pair.submit(0, Lane::Request, &[0; 1400], n).unwrap();
    }
    let requests = pair.send(0);
    assert!(requests < 100);
    assert_eq!(pair.send(0), 0, "the window is full");
    pair.submit(0, Lane::Reply, b"urgent", 100).unwrap();
    assert_eq!(pair.send(0), 1);
    let last = pair.wires[1].last().unwrap().clone();
    pair.deliver(1, &last, Verdict::Accept);
    assert_eq!(pair.got[1], [b"h:urgent"]);
}

#[test]
fn external_bodies_are_named_not_copied() {
    let mut pair = Pair::new();
    let body = Body::External { buffer: 9, offset: 1000, len: 1200 };
    pair.engines[0].submit(0, 1, Lane::Request, b"head", body, 7).unwrap();
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
    let mut pair = Pair::with(&config, &[PathInfo { path_id: 0, max_datagram: 1472 }], Some(1));
    for n in 0..16 {
        pair.submit(1, Lane::Request, &[1; 1400], n).unwrap();
    }
    pair.send(1);
    pair.receive(0);
    let max = pair.engines[0].max_payload(1).unwrap();
    for _ in 0..40 {
        let body = Body::External { buffer: 9, offset: 0, len: max as u32 };
        pair.engines[0].submit(0, 1, Lane::Request, &[], body, 1).unwrap();
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
fn units_larger_than_the_new_path_mtu_get_through() {
    let mut pair = Pair::with(
        &EngineConfig { receive_buffer: 8 << 20, ..EngineConfig::default() },
        &[PathInfo { path_id: 0, max_datagram: 9000 }],
        Some(1),
    );
    for n in 0..10u64 {
        let body = Body::External { buffer: 9, offset: n * 17, len: 8000 };
        pair.engines[0].submit(0, 1, Lane::Request, &n.to_le_bytes(), body, n).unwrap();
    }
    pair.send(0);
    // None of them passes any more.
    pair.wires[1].clear();
    pair.engines[0].set_max_datagram(1, 0, 1000).unwrap();
    assert_eq!(pair.events(0), [Event::MaxPayload { peer: 1, bytes: 1000 - 64 }]);
    assert!(matches!(
        pair.submit(0, Lane::Request, &[0; 2000], 0),
        Err(SubmitError::TooLarge { peer: 1, len: 2002, max: 936 })
    ));
    pair.send(0);
    assert!(pair.wires[1].iter().all(|datagram| datagram.len() <= 1000));
    pair.run(100 * MS);
    assert_eq!(pair.got[1].len(), 10);
    for unit in &pair.got[1] {
        let n = u64::from_le_bytes(unit[..8].try_into().unwrap()) as usize;
        assert_eq!(unit[8..], pair.memory.0[n * 17..n * 17 + 8000]);
    }
    assert_eq!(pair.events(0).len(), 10);
    assert_eq!(pair.engines[0].outstanding(1), Some(0));
}

#[test]
fn a_greeting_precedes_data_when_epochs_are_unknown() {
    let mut pair = Pair::with(&EngineConfig::default(), &[PathInfo { path_id: 0, max_datagram: 1472 }], None);
    pair.submit(0, Lane::Request, b"secret", 1).unwrap();
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
fn packets_that_come_before_the_peer_is_added_are_not_lost() {
    let path = [PathInfo { path_id: 0, max_datagram: 1472 }];
    for known in [None, Some(1)] {
        let mut pair = Pair::with(&EngineConfig::default(), &path, known);
        pair.engines[1] = engine(1, &EngineConfig::default());
        for n in 0..100 {
            pair.submit(0, Lane::Request, &[7; 500], n).unwrap();
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
        pair.submit(0, Lane::Request, b"old", n).unwrap();
        pair.submit(1, Lane::Request, b"old too", n).unwrap();
    }
    pair.send(0);
    pair.send(1);
    let held = pair.wires.clone();
    pair.wires.iter_mut().for_each(Vec::clear);
    pair.engines[0].purge(1).unwrap();
    let purged: Vec<_> = (0..3).map(|token| Event::Purged { peer: 1, token }).collect();
    assert_eq!(pair.events(0), purged);
    assert_eq!(pair.submit(0, Lane::Request, b"x", 9), Err(SubmitError::PeerDown(1)));
    for datagram in &held[0] {
        pair.deliver(0, datagram, Verdict::Accept);
    }
    assert!(pair.got[0].is_empty(), "a purged peer is not heard");
    pair.engines[0].resume(pair.now, 1).unwrap();
    pair.submit(0, Lane::Request, b"new", 10).unwrap();
    pair.run(50 * MS);
    // The other side has learnt of it: what it had outstanding is void.
    let events = pair.events(1);
    assert_eq!(events[..3], (0..3).map(|token| Event::Purged { peer: 0, token }).collect::<Vec<_>>());
    assert_eq!(events[3], Event::PeerRestarted { peer: 0, epoch: 2 });
    for (task, wire) in held.iter().enumerate() {
        for datagram in wire {
            pair.deliver(task, datagram, Verdict::Accept);
        }
    }
    pair.run(50 * MS);
    assert_eq!(pair.got[1], [b"h:new"]);
    assert!(pair.got[0].is_empty());
    pair.submit(1, Lane::Request, b"back", 11).unwrap();
    pair.run(50 * MS);
    assert_eq!(pair.got[0], [b"h:back"]);
}

#[test]
fn a_silent_peer_is_reported_after_the_timeout_and_again() {
    let config = EngineConfig { peer_timeout: Some(200 * MS), ..EngineConfig::default() };
    let mut pair = Pair::with(&config, &[PathInfo { path_id: 0, max_datagram: 1472 }], Some(1));
    pair.submit(0, Lane::Request, b"anybody?", 1).unwrap();
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
    pair.submit(0, Lane::Request, b"once", 1).unwrap();
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
    let path = [PathInfo { path_id: 0, max_datagram: 1472 }];
    let (mut out, mut offers) = (Transmit::default(), Vec::new());
    for task in 1..=4 {
        let mut source = engine(task, &config);
        source.add_peer(0, 0, 1, Some(1), &path).unwrap();
        sink.add_peer(0, task, 1, Some(1), &path).unwrap();
        source.submit(0, 0, Lane::Request, &[], Body::Copy(&[1; 100]), 1).unwrap();
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
    let paths = [0, 1].map(|path_id| PathInfo { path_id, max_datagram: 1472 });
    let mut pair = Pair::with(&EngineConfig::default(), &paths, Some(1));
    for n in 0..4 {
        pair.submit(0, Lane::Request, &[n; 1000], n.into()).unwrap();
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
    let path = |path_id, max_datagram| PathInfo { path_id, max_datagram };
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
    let unknown = engine.submit(0, 2, Lane::Request, &[], Body::Copy(&[]), 0);
    assert_eq!(unknown, Err(SubmitError::Unknown(2)));
    let config = EngineConfig { ack_threshold: 32, ..EngineConfig::default() };
    let error = Engine::new(config, 0, 0, NoAuth).unwrap_err();
    assert_eq!(error.to_string(), "reliable packets: ack_threshold = 32 is outside 1..=31");
}
