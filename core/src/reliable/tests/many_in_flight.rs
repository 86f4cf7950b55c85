//! A path that has as many datagrams in flight as it can keep track of.

use super::super::sent::MAX_SENT;
use super::*;

const MOST: usize = MAX_SENT - 1;
const TOLD: usize = 8972;
/// Two of them do not fit into one datagram, by little: the window begins with 1024 datagrams.
const UNIT: usize = TOLD / 2 - 10;

impl Pair {
    fn wide() -> Self {
        let config = EngineConfig {
            channel_bytes: 16 << 20,
            receive_buffer: 64 << 20,
            initial_window: 1024,
            ..EngineConfig::default()
        };
        Self::with(&config, &[PathInfo::new(0, TOLD)], Some(1))
    }

    /// Sends rounds of datagrams with one unit each until so many go as a path has numbers for.
    /// They are on the wire.
    fn fill_the_path(&mut self) {
        for _ in 0..100 {
            while self.submit(0, Channel::Request, &[1; UNIT], NO_TOKEN).is_ok() {}
            if self.send(0) == MOST {
                return;
            }
            self.run(MS);
        }
        panic!("the window stays small");
    }

    fn gets_everything(&mut self) {
        self.run(1000 * MS);
        assert_eq!(self.engines[0].outstanding(1), Some(0));
    }
}

#[test]
fn a_path_that_becomes_narrower_while_all_its_numbers_are_in_flight_goes_on() {
    let mut pair = Pair::wide();
    pair.fill_the_path();
    // The network has become narrower for what is on its way as well.
    pair.wires[1].clear();
    pair.engines[0].set_max_datagram(1, 0, 4000).unwrap();
    assert!(pair.send(0) > 0, "nothing is sent again");
    pair.gets_everything();
}

#[test]
fn a_path_goes_on_when_the_oldest_of_its_numbers_is_the_last_that_counts_as_lost() {
    let mut pair = Pair::wide();
    // One that comes late: from now on what is missing is waited for.
    for _ in 0..5 {
        pair.submit(0, Channel::Request, &[1; UNIT], NO_TOKEN).unwrap();
    }
    pair.send(0);
    pair.now += 100 * US;
    let late = pair.wires[1].remove(0);
    pair.receive(1);
    pair.send(1);
    pair.receive(0);
    pair.deliver(1, &late, Verdict::Accept);
    pair.send(1);
    pair.receive(0);
    assert_eq!(pair.engines[0].stats(1).unwrap().losses_undone, 1);
    pair.run(10 * MS);
    pair.fill_the_path();
    pair.now += 100 * US;
    pair.wires[1].remove(0);
    // All acknowledgements come before the time that the first one is waited for is over.
    pair.receive(1);
    pair.send(1);
    pair.receive(0);
    pair.gets_everything();
}
