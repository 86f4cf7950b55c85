//! Paths that carry data only while no other one does.

use super::*;

/// A regular path, and a standby one that takes less at once.
fn pair() -> Pair {
    let paths = [PathInfo::new(7, 1232).standby(0), PathInfo::new(0, 1472)];
    Pair::with(&EngineConfig::default(), &paths, Some(1))
}

impl Pair {
    /// The paths of the datagrams on the wire to task 1 that carry data.
    fn carried(&self) -> Vec<u8> {
        let carrying = self.wires[1].iter().filter(|datagram| datagram.len() > 100);
        carrying.map(|datagram| header(datagram).path).collect()
    }

    /// Loses what is on the wires of a path.
    fn lose(&mut self, path: u8) {
        self.wires.iter_mut().for_each(|wire| wire.retain(|datagram| header(datagram).path != path));
    }

    /// Lets time pass, and everything through but over one path. Ends when nothing is outstanding.
    fn run_without(&mut self, path: u8, time: Nanos) {
        let until = self.now + time;
        while self.now < until && self.engines[0].outstanding(1) > Some(0) {
            for task in 0..2 {
                self.send(task);
                self.lose(path);
                self.receive(1 - task);
            }
            self.now += 50 * US;
        }
    }

    /// Which way task 0 has turned.
    fn turns(&mut self) -> Vec<bool> {
        let turn = |event: Event| if let Event::Standby { on, .. } = event { Some(on) } else { None };
        self.events(0).into_iter().filter_map(turn).collect()
    }
}

#[test]
fn data_take_the_standby_only_while_no_other_path_is_up() {
    let mut pair = pair();
    assert_eq!(pair.engines[0].rail_state(1, 0), Some(PathState::Up));
    assert_eq!(pair.engines[0].rail_state(1, 1), None, "it is no rail beside the other one");
    let before = pair.engines[0].max_payload(1);
    for n in 0..4 {
        pair.submit(0, Channel::Request, &[n; 1000], n.into()).unwrap();
    }
    pair.send(0);
    assert_eq!(pair.carried(), [0; 4]);
    pair.wires[1].clear();
    pair.engines[0].hint_path(1, 0, false).unwrap();
    assert_eq!(pair.turns(), [true]);
    assert!(pair.engines[0].max_payload(1) < before, "what is submitted fits the standby");
    pair.send(0);
    assert_eq!(pair.carried(), [7; 4], "at once");
    pair.lose(0);
    pair.receive(1);
    assert_eq!(pair.got[1].len(), 4);
    // The other path answers a probe: back to it.
    pair.engines[0].hint_path(1, 0, true).unwrap();
    pair.run(10 * MS);
    assert_eq!(pair.turns(), [false]);
    assert_eq!(pair.engines[0].max_payload(1), before);
    pair.submit(0, Channel::Request, &[9; 1000], 9).unwrap();
    pair.send(0);
    assert_eq!(pair.carried(), [0]);
    pair.run(MS);
    assert_eq!(pair.got[1].len(), 5, "each came once");
}

#[test]
fn a_path_is_left_when_it_is_silent_and_the_standby_answers() {
    let mut pair = pair();
    for n in 0..50 {
        // Larger than what the standby takes: they go in parts.
        pair.submit(0, Channel::Request, &[n; 1400], n.into()).unwrap();
    }
    pair.run_without(0, 1000 * MS);
    assert_eq!(pair.turns(), [true]);
    assert_eq!(pair.got[1].len(), 50);
    assert!(pair.got[1].iter().all(|unit| unit.len() == 1402 && unit[2..].iter().all(|b| *b == unit[2])));
    pair.run(1000 * MS);
    assert_eq!(pair.turns(), [false], "probes find that it is back");
}

/// A peer that computes answers nowhere: nothing is gained by another path.
#[test]
fn a_peer_that_is_busy_is_not_left() {
    let mut pair = pair();
    pair.submit(0, Channel::Request, &[1; 1000], 1).unwrap();
    for _ in 0..20_000 {
        pair.send(0);
        assert!(!pair.carried().contains(&7));
        pair.wires[1].clear();
        pair.now += 100 * US;
    }
    assert_eq!(pair.turns(), []);
    assert_eq!(pair.engines[0].path_state(1, 0), Some(PathState::Up));
    pair.run(1000 * MS);
    assert_eq!((pair.got[1].len(), pair.turns()), (1, vec![]));
}

#[test]
fn a_standby_that_is_dead_takes_nothing_from_the_others() {
    let mut pair = pair();
    pair.engines[0].hint_path(1, 7, false).unwrap();
    assert_eq!(pair.turns(), []);
    for n in 0..200 {
        pair.submit(0, Channel::Request, &[n; 1000], n.into()).unwrap();
    }
    pair.run_without(7, 1000 * MS);
    assert_eq!((pair.got[1].len(), pair.turns()), (200, vec![]));
    // Neither carries anything: whichever answers first does.
    pair.engines[0].hint_path(1, 0, false).unwrap();
    pair.submit(0, Channel::Request, &[7; 1000], 7).unwrap();
    pair.run_without(7, 1000 * MS);
    assert_eq!((pair.got[1].len(), pair.turns()), (201, vec![true, false]));
}

#[test]
fn units_prefer_standby_paths_by_their_numbers_among_these() {
    let paths = [0, 1].map(|rail| PathInfo::new(7 - rail, 1472).standby(rail));
    let paths = [&[PathInfo::new(0, 1472), PathInfo::new(1, 1472)][..], &paths].concat();
    let mut pair = Pair::with(&EngineConfig::default(), &paths, Some(1));
    for (up, expected) in [(true, [0, 1, 0]), (false, [7, 6, 7])] {
        (0..2).for_each(|path| pair.engines[0].hint_path(1, path, up).unwrap());
        for (rail, token) in [(0, 0), (1, 1), (0, 2)] {
            let via = Via::path(Channel::Request, Some(rail));
            let submitted = pair.engines[0].submit(pair.now, 1, via, b"h:", Body::Copy(&[7; 1300]), token);
            submitted.unwrap();
        }
        pair.send(0);
        let mut carried = pair.carried();
        carried.retain(|path| expected.contains(path));
        carried.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(carried, expected);
        pair.run(MS);
    }
}

#[test]
fn where_there_is_nothing_to_stand_in_for_a_standby_path_is_like_any_other() {
    let path = [PathInfo::new(7, 1472).standby(0)];
    let mut pair = Pair::with(&EngineConfig::default(), &path, Some(1));
    assert!(pair.engines[0].has_only_standby(1) && !pair.engines[0].stands_in(1, 7));
    assert_eq!(pair.engines[0].rail_state(1, 0), Some(PathState::Up));
    let unit = FastUnit { peer: 1, channel: Channel::Request, head: b"h:", body: b"x", token: 0, few: 4 };
    let mut out = Transmit::default();
    assert!(pair.engines[0].submit_fast(pair.now, unit, &mut out, |_| {}), "the fast path, too");
    // Another path comes, and the first one goes.
    pair.engines[0].add_path(1, PathInfo::new(0, 1472)).unwrap();
    assert!(pair.engines[0].stands_in(1, 7));
    for n in 0..8 {
        pair.submit(0, Channel::Request, &[n; 1000], n.into()).unwrap();
    }
    pair.send(0);
    assert_eq!(pair.carried(), [0; 8]);
    pair.wires[1].clear();
    pair.engines[0].remove_path(1, 0).unwrap();
    assert!(pair.engines[0].remove_path(1, 7).is_err(), "it is the last one");
    pair.run(100 * MS);
    assert_eq!(pair.got[1].len(), 9, "what was on its way came over the other one");
}

/// Whoever reports that a path is down knows more than what was sent before.
#[test]
fn acknowledgements_of_what_was_sent_before_do_not_bring_back_a_path_that_is_reported_down() {
    let mut pair = pair();
    pair.submit(0, Channel::Request, &[1; 1000], 1).unwrap();
    pair.send(0);
    pair.receive(1);
    pair.engines[0].hint_path(1, 0, false).unwrap();
    pair.now += MS;
    assert!(pair.send(1) > 0, "it is acknowledged");
    pair.receive(0);
    assert_eq!((pair.engines[0].outstanding(1), pair.turns()), (Some(0), vec![true]));
    pair.submit(0, Channel::Request, &[2; 1000], 2).unwrap();
    pair.send(0);
    assert_eq!(pair.carried(), [7]);
    // A probe is on its way as well, and its answer does.
    pair.run(100 * MS);
    assert_eq!((pair.got[1].len(), pair.turns()), (2, vec![false]));
}

#[test]
fn a_path_may_become_a_standby_one_and_a_regular_one_again() {
    let mut pair = pair();
    pair.engines[0].remove_path(1, 7).unwrap();
    pair.engines[0].set_kind(1, PathInfo::new(0, 1472).standby(0)).unwrap();
    assert!(pair.engines[0].has_only_standby(1));
    pair.submit(0, Channel::Request, &[1; 1000], 1).unwrap();
    pair.send(0);
    assert_eq!(pair.carried(), [0], "there is nothing to stand in for");
    pair.wires[1].clear();
    pair.engines[0].add_path(1, PathInfo::new(1, 1472)).unwrap();
    pair.submit(0, Channel::Request, &[2; 1000], 2).unwrap();
    pair.send(0);
    assert_eq!(pair.carried(), [1]);
    pair.wires[1].clear();
    pair.engines[0].set_kind(1, PathInfo::new(0, 1472)).unwrap();
    assert!(!pair.engines[0].stands_in(1, 0) && !pair.engines[0].stands_in(1, 1));
    assert!(pair.engines[0].set_kind(1, PathInfo::new(5, 1472)).is_err(), "there is no such path");
}
