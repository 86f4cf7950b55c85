//! A path that carries less than it is said to.

use super::*;

const TOLD: usize = 8972;
const PASSES: usize = 1472;

impl Pair {
    /// Task 0 sends, and hears what task 1 has to say to that. Returns what did not arrive.
    fn step(&mut self, arrives: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
        self.send(0);
        let (arrived, rest) = std::mem::take(&mut self.wires[1]).into_iter().partition(|d| arrives(d));
        self.wires[1] = arrived;
        self.receive(1);
        self.send(1);
        self.receive(0);
        rest
    }
}

/// Whether a datagram is there to find out whether its size passes.
fn is_padded(datagram: &[u8]) -> bool {
    datagram.len() > 200
        && matches!(wire::Frames::new(&datagram[HEADER_LEN..]).next(), Some(Ok(wire::Frame::Probe)))
}

#[test]
fn a_probe_that_comes_late_says_nothing_of_the_one_that_is_under_way() {
    let mut pair = Pair::with(&EngineConfig::default(), &[PathInfo::new(0, TOLD)], Some(1));
    // The path turns out to be narrower. A probe that passes is under way for long.
    let is_late = |datagram: &[u8]| is_padded(datagram) && (1233..=PASSES).contains(&datagram.len());
    let late = loop {
        pair.now += 20 * US;
        assert!(pair.now < 10_000 * MS, "no size is tried");
        if pair.engines[0].outstanding(1) < Some(20) {
            let max = pair.engines[0].max_payload(1).unwrap();
            let len = if pair.now.is_multiple_of(80 * US) { max - 2 } else { 10 };
            pair.submit(0, Channel::Request, &vec![7; len], NO_TOKEN).unwrap();
        }
        let mut rest = pair.step(|datagram| datagram.len() <= PASSES && !is_late(datagram));
        if let Some(at) = rest.iter().position(|datagram| is_late(datagram)) {
            break rest.swap_remove(at);
        }
    };
    // Then hardly anything passes for a while, so that all is tried anew.
    let mut rounds = 0;
    let is_tried_anew = |rest: &[Vec<u8>]| rest.iter().any(|datagram| datagram.len() > PASSES);
    loop {
        let lens = [1100, 10, 10, 10, 10];
        let tried_anew = lens.iter().any(|len| {
            pair.submit(0, Channel::Request, &vec![7; *len], NO_TOKEN).unwrap();
            is_tried_anew(&pair.step(|datagram| datagram.len() < 200))
        });
        if tried_anew {
            break;
        }
        pair.now += US;
        rounds += 1;
        assert!(rounds < 20, "it does not fall back");
    }
    pair.deliver(1, &late, Verdict::Accept);
    pair.send(1);
    pair.receive(0);
    let max = pair.engines[0].max_payload(1).unwrap();
    assert!(max < PASSES, "{max} bytes are said to pass");
}
