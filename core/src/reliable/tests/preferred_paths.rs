//! Units with a preferred path.

use super::*;

const BIG: [u8; 1200] = [7; 1200];

fn pair() -> Pair {
    let paths = [0, 1].map(|path_id| PathInfo::new(path_id, 1472));
    Pair::with(&EngineConfig::default(), &paths, Some(1))
}

impl Pair {
    fn submit_preferring(&mut self, path: u8, body: &[u8], token: u64) {
        let via = Via::path(Channel::Request, Some(path));
        self.engines[0].submit(self.now, 1, via, b"h:", Body::Copy(body), token).unwrap();
    }

    /// Lets time pass until a timer ends.
    fn wait(&mut self) {
        let next = self.engines.iter_mut().filter_map(Engine::next_timeout).min();
        self.now = self.now.max(next.expect("a timer"));
    }

    /// The paths of the datagrams on the wire to task 1 that carry anything, and their sizes.
    fn taken(&self) -> Vec<(u8, usize)> {
        let carrying = self.wires[1].iter().filter(|datagram| datagram.len() > 100);
        carrying.map(|datagram| (header(datagram).path, datagram.len())).collect()
    }
}

#[test]
fn units_take_their_preferred_path_however_many_they_are() {
    for path in [0, 1] {
        let mut pair = pair();
        (0..400).for_each(|token| pair.submit_preferring(path, &BIG, token));
        while pair.engines[0].outstanding(1) > Some(0) {
            if pair.send(0) == 0 {
                pair.wait();
            }
            let taken = pair.taken();
            assert!(taken.iter().all(|(took, _)| *took == path), "{taken:?}");
            pair.receive(1);
            pair.send(1);
            pair.receive(0);
        }
        assert_eq!(pair.got[1].len(), 400);
    }
}

#[test]
fn a_datagram_carries_units_that_may_take_its_path_and_no_others() {
    let mut pair = pair();
    for (path, token) in [(1, 0), (1, 1), (0, 2), (0, 3), (0, 4), (1, 5)] {
        pair.submit_preferring(path, &[path; 100], token);
    }
    pair.send(0);
    let taken: Vec<u8> = pair.taken().iter().map(|(path, _)| *path).collect();
    assert_eq!(taken, [1, 0, 1]);
    // In the order in which they were submitted.
    pair.receive(1);
    let paths: Vec<u8> = pair.got[1].iter().map(|unit| unit[2]).collect();
    assert_eq!(paths, [1, 1, 0, 0, 0, 1]);
}

#[test]
fn units_without_a_wish_go_along_with_those_that_have_one() {
    let mut pair = pair();
    pair.submit(0, Channel::Request, &[2; 100], 0).unwrap();
    pair.submit_preferring(1, &[1; 100], 1);
    pair.submit(0, Channel::Request, &[2; 100], 2).unwrap();
    pair.send(0);
    assert_eq!(pair.taken().iter().map(|(path, _)| *path).max(), Some(1));
    pair.run(MS);
    assert_eq!(pair.got[1].len(), 3);
}

#[test]
fn a_wish_for_a_path_that_is_down_or_not_there_is_none() {
    let mut pair = pair();
    pair.engines[0].hint_path(1, 1, false).unwrap();
    pair.submit_preferring(1, &BIG, 0);
    pair.submit_preferring(5, &BIG, 1);
    pair.send(0);
    assert!(pair.taken().iter().all(|(path, _)| *path == 0), "{:?}", pair.taken());
    assert_eq!(pair.taken().len(), 2);
}

#[test]
fn what_was_on_its_way_over_a_path_that_goes_down_takes_another() {
    let mut pair = pair();
    (0..8).for_each(|token| pair.submit_preferring(1, &BIG, token));
    pair.send(0);
    assert!(pair.taken().iter().all(|(path, _)| *path == 1));
    pair.wires[1].clear();
    pair.engines[0].hint_path(1, 1, false).unwrap();
    pair.send(0);
    let again = pair.taken();
    assert!(again.len() >= 8 && again.iter().all(|(path, _)| *path == 0), "{again:?}");
    pair.receive(1);
    assert_eq!(pair.got[1].len(), 8);
}

#[test]
fn lost_units_are_sent_again_over_their_preferred_path() {
    let mut pair = pair();
    (0..8).for_each(|token| pair.submit_preferring((token % 2) as u8, &BIG, token));
    pair.send(0);
    pair.wires[1].clear();
    let mut paths = [0, 0];
    while pair.engines[0].outstanding(1) > Some(0) {
        pair.wait();
        pair.send(0);
        for datagram in std::mem::take(&mut pair.wires[1]) {
            let path = header(&datagram).path;
            let before = pair.got[1].len();
            pair.deliver(1, &datagram, Verdict::Accept);
            for unit in &pair.got[1][before..] {
                assert_eq!(unit.len(), 2 + BIG.len());
                paths[usize::from(path)] += 1;
            }
        }
        pair.send(1);
        pair.receive(0);
    }
    assert_eq!(paths, [4, 4]);
}

/// A unit that counted as lost and arrived all the same waits for nothing, so no path is chosen for
/// it.
#[test]
fn what_arrived_after_it_counted_as_lost_keeps_no_other_unit_from_its_path() {
    let mut pair = pair();
    // Path 0 answers sooner than the other one is thought to.
    pair.submit_preferring(0, b"first", 0);
    pair.send(0);
    pair.now += 10 * US;
    pair.receive(1);
    pair.run(5 * MS);
    for token in 1..5 {
        pair.submit_preferring(0, &[0; 100], token);
        assert_eq!(pair.send(0), 1);
        pair.now += US;
    }
    // The oldest comes last.
    pair.wires[1].rotate_left(1);
    for datagram in std::mem::take(&mut pair.wires[1]) {
        pair.deliver(1, &datagram, Verdict::Accept);
        pair.send(1);
    }
    // One poll brings all acknowledgements.
    pair.receive(0);
    let stats = pair.engines[0].stats(1).unwrap();
    assert_eq!((stats.datagrams_lost, stats.losses_undone, stats.units_acked), (1, 1, 5));
    pair.submit_preferring(1, &BIG, 5);
    pair.send(0);
    assert_eq!(pair.taken().iter().map(|(path, _)| *path).collect::<Vec<_>>(), [1]);
}
