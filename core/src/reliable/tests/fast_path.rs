//! Units that leave without waiting for a turn.

use super::*;

const FEW: usize = 4;

impl Pair {
    /// Sends a unit on the fast path if it may take it: its datagram is on the wire then.
    fn send_fast(&mut self, from: usize, body: &[u8], token: u64) -> bool {
        let unit =
            FastUnit { peer: 1 - from as u32, channel: Channel::Request, head: b"h:", body, token, few: FEW };
        let wire = &mut self.wires[1 - from];
        let send = |out: &mut Transmit| {
            assert_eq!(out.datagrams(), 1);
            let mut datagram = Vec::new();
            out.copy_datagram(0, &mut { unit }, &mut datagram);
            out.copy_in(&mut { unit });
            let mut copied = Vec::new();
            out.copy_datagram(0, &mut NoMemory, &mut copied);
            assert_eq!(copied, datagram);
            wire.push(datagram);
        };
        self.engines[from].submit_fast(self.now, unit, &mut Transmit::default(), send)
    }
}

fn paths(count: u8) -> Vec<PathInfo> {
    (0..count).map(|path_id| PathInfo::new(path_id, 9000)).collect()
}

#[test]
fn an_answer_that_leaves_alone_carries_the_acknowledgement() {
    let mut pair = Pair::new();
    assert!(pair.send_fast(0, b"question", 1));
    assert!(!pair.engines[0].has_ready(), "nothing is left to send");
    assert_eq!(pair.engines[0].outstanding(1), Some(1));
    pair.receive(1);
    assert!(pair.send_fast(1, b"answer", 2));
    assert!(!pair.engines[1].owes_acks());
    pair.receive(0);
    assert_eq!(
        (&pair.got[0][..], &pair.got[1][..]),
        (&[b"h:answer".to_vec()][..], &[b"h:question".to_vec()][..])
    );
    assert_eq!(pair.events(0), [Event::Acked { peer: 1, token: 1 }]);
    pair.run(MS);
    assert_eq!(pair.events(1), [Event::Acked { peer: 0, token: 2 }]);
    assert_eq!(pair.engines[1].stats(0).unwrap().datagrams_sent, 1);
}

#[test]
fn what_was_sent_alone_and_lost_is_sent_again_from_what_was_kept() {
    let mut pair = Pair::with(&EngineConfig::default(), &paths(1), Some(1));
    let mut bodies: Vec<Vec<u8>> = (1..4u8).map(|n| vec![n; 2500 * usize::from(n)]).collect();
    for (token, body) in (0..).zip(&mut bodies) {
        assert!(pair.send_fast(0, body, token));
        body.fill(0);
    }
    pair.wires[1].clear();
    pair.run(10 * MS);
    pair.got[1].sort();
    let expected = (1..4u8).map(|n| [&b"h:"[..], &vec![n; 2500 * usize::from(n)]].concat());
    assert!(pair.got[1].iter().cloned().eq(expected), "three units, as they were");
    assert_eq!(pair.events(0).len(), 3);
}

#[test]
fn a_unit_that_finds_something_in_its_way_is_left_to_the_usual_one() {
    type Way = (&'static str, fn() -> Pair);
    let ways: [Way; 6] = [
        ("another that waits", || {
            let mut pair = Pair::with(&EngineConfig::default(), &paths(1), Some(1));
            pair.submit(0, Channel::Reply, b"first", 9).unwrap();
            pair
        }),
        ("as many under way as let it wait", || {
            let mut pair = Pair::with(&EngineConfig::default(), &paths(1), Some(1));
            (0..FEW as u64).for_each(|token| assert!(pair.send_fast(0, b"first", token)));
            pair
        }),
        ("a choice of paths", || Pair::with(&EngineConfig::default(), &paths(2), Some(1))),
        ("a peer that is still to be greeted", || Pair::with(&EngineConfig::default(), &paths(1), None)),
        ("a full window", || {
            let config = EngineConfig { initial_window: 2, ..EngineConfig::default() };
            let mut pair = Pair::with(&config, &paths(1), Some(1));
            (0..2).for_each(|token| assert!(pair.send_fast(0, &[1; 8000], token)));
            pair
        }),
        ("a full channel", || {
            let config = EngineConfig { channel_units: 1, ..EngineConfig::default() };
            let mut pair = Pair::with(&config, &paths(1), Some(1));
            assert!(pair.send_fast(0, b"first", 1));
            pair
        }),
    ];
    for (what, make) in ways {
        let mut pair = make();
        let outstanding = pair.engines[0].outstanding(1);
        assert!(!pair.send_fast(0, &[7; 6000], 77), "{what}");
        assert_eq!(pair.engines[0].outstanding(1), outstanding, "{what}");
        pair.run(20 * MS);
        assert!(!pair.got[1].iter().any(|unit| unit.len() == 6002), "{what}");
        pair.submit(0, Channel::Request, &[7; 6000], 77).unwrap();
        pair.run(20 * MS);
        assert_eq!(pair.got[1].iter().filter(|unit| unit.len() == 6002).count(), 1, "{what}");
    }
    let mut pair = Pair::new();
    assert!(!pair.send_fast(0, &[7; 6000], 77), "too large a unit");
    pair.engines[0].purge(1).unwrap();
    assert!(!pair.send_fast(0, b"anything", 78), "a purged peer");
}
