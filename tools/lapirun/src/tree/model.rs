//! A model of the start tree in virtual time: the divisions are those of the launcher and its
//! agents; processes and networks are represented by numbers.

use super::{FAN_OUT, branches};

/// What one start costs, in seconds. Measured with OpenSSH on a machine of two cores: see
/// docs/launching.md.
struct Costs {
    /// The starter is busy with one remote command: fork, exec, connection, key agreement.
    busy: f64,
    /// From there until the agent on the other machine has its order.
    reach: f64,
    /// The order of one machine goes over the network and is divided again.
    word: f64,
}

const SSH: Costs = Costs { busy: 0.04, reach: 0.5, word: 2e-6 };

#[derive(Default, Debug)]
struct Start {
    /// Each machine's start; 0 for one that was never started.
    at: Vec<f64>,
    most_children: usize,
    deepest: usize,
}

impl Start {
    fn of(machines: u32, fan_out: u32) -> Self {
        let mut start = Self { at: vec![0.0; machines as usize], ..Self::default() };
        start.run((0..machines).collect(), fan_out, 0.0, 1);
        start
    }

    fn run(&mut self, machines: Vec<u32>, fan_out: u32, begun: f64, level: usize) {
        let mut now = begun + SSH.word * machines.len() as f64;
        let below = branches(machines, fan_out);
        self.most_children = self.most_children.max(below.len());
        for (head, rest) in below {
            now += SSH.busy;
            let there = now + SSH.reach + SSH.word * rest.len() as f64;
            assert_eq!(std::mem::replace(&mut self.at[head as usize], there), 0.0, "{head} is started twice");
            self.deepest = self.deepest.max(level);
            self.run(rest, fan_out, there, level + 1);
        }
    }

    fn last(&self) -> f64 {
        self.at.iter().copied().fold(0.0, f64::max)
    }
}

#[test]
fn a_hundred_thousand_machines_start_each_once_in_four_levels() {
    let tree = Start::of(100_000, FAN_OUT);
    assert!(tree.at.iter().all(|at| *at > 0.0));
    assert_eq!((tree.most_children, tree.deepest), (FAN_OUT as usize, 4));
    let alone = Start::of(100_000, u32::MAX);
    assert_eq!((alone.most_children, alone.deepest), (100_000, 1));
    eprintln!("100,000 machines: {:.1} s in a tree, {:.0} s one after the other", tree.last(), alone.last());
    assert!(tree.last() * 100.0 < alone.last(), "{} {}", tree.last(), alone.last());
}

#[test]
fn as_many_as_one_machine_starts_are_started_by_it() {
    let tree = Start::of(FAN_OUT, FAN_OUT);
    assert_eq!((tree.most_children, tree.deepest), (FAN_OUT as usize, 1));
    assert_eq!(Start::of(FAN_OUT + 1, FAN_OUT).deepest, 2);
}
