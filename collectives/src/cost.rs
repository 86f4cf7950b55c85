//! What schedules cost on paper: the scripts of all members in virtual time, by the LogGP model,
//! for more members than anybody has.
//!
//! The model knows a network by five numbers ([`Network`]). Networks have no topology and don't get
//! crowded; each member sends and receives one message at a time. Data beyond 8 KiB waits for its
//! receiver, as in the executor. Scripts are written anew when a member goes on and are kept by
//! nobody, so that a million members fit in memory.

use crate::schedule::{Script, Step};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A network and its processors. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// What people call it.
    pub name: &'static str,
    /// L: from one processor's network to the other's, for the first byte.
    pub latency: f64,
    /// o: the processor's work for each message, at either side.
    pub overhead: f64,
    /// g: the least time between two messages of a member.
    pub gap: f64,
    /// G: for each byte of a message.
    pub byte: f64,
    /// For each byte that is folded or copied by a processor.
    pub work: f64,
}

/// What an operation costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// When the last member has ended, in nanoseconds, if all begin at 0.
    pub time: f64,
    /// The most messages that a member sends.
    pub sends: usize,
    /// The most steps of a member.
    pub steps: usize,
    /// The most scratch of a member, in elements.
    pub scratch: usize,
}

impl Cost {
    /// Bytes that the member with the most steps keeps for the operation, with elements of so many
    /// bytes: its steps and its scratch.
    pub fn memory(&self, size: usize) -> usize {
        self.steps * size_of::<Step>() + self.scratch * size
    }
}

/// Data beyond this length waits for its receiver.
const EAGER: usize = crate::engine::EAGER;

/// A message: when it was sent, when its receiver was ready, and whether a side waits for it.
#[derive(Clone, Copy, Default)]
struct Letter {
    sent: Option<f64>,
    posted: Option<f64>,
    bytes: usize,
    /// Both sides are done with it when both have seen its end.
    seen: u8,
}

/// Sender, receiver and tag.
type Key = (u32, u32, u32);

/// Keys are numbers: mixing them is enough.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        let mixed = (self.0 ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[derive(Clone, Copy, Default)]
struct Member {
    /// The processor's time.
    now: f64,
    /// From when on the network takes another message.
    free: f64,
    next: u32,
    /// The message that the member waits for.
    waits: Option<Key>,
}

struct Run<'a> {
    network: Network,
    size: usize,
    write: &'a dyn Fn(usize, &mut Script),
    members: Vec<Member>,
    letters: HashMap<Key, Letter, BuildHasherDefault<Mix>>,
    ready: VecDeque<u32>,
    cost: Cost,
}

/// The cost of an operation of `n` members, whose steps `write` writes, on elements of `size`
/// bytes. `None` if they wait for each other for ever.
pub fn cost(n: usize, size: usize, network: &Network, write: &dyn Fn(usize, &mut Script)) -> Option<Cost> {
    let mut run = Run {
        network: *network,
        size,
        write,
        members: vec![Member::default(); n],
        letters: HashMap::default(),
        ready: (0..n as u32).collect(),
        cost: Cost::default(),
    };
    let mut script = Script::default();
    let mut ended = 0;
    while let Some(me) = run.ready.pop_front() {
        script.steps.clear();
        script.scratch = 0;
        (run.write)(me as usize, &mut script);
        ended += usize::from(run.advance(me, &script));
    }
    (ended == n).then_some(run.cost)
}

impl Run<'_> {
    /// When a message has come, and the sender's memory is free, if that is known.
    fn arrival(&self, letter: &Letter) -> Option<f64> {
        let way = self.network.latency + self.network.byte * letter.bytes as f64;
        match (letter.sent, letter.posted) {
            (Some(sent), _) if letter.bytes <= EAGER => Some(sent + way),
            (Some(sent), Some(posted)) => {
                let told = posted + self.network.overhead + self.network.latency;
                Some(sent.max(told) + way)
            }
            _ => None,
        }
    }

    /// Takes a member's steps until it waits. True: it has ended.
    fn advance(&mut self, me: u32, script: &Script) -> bool {
        let mut at = self.members[me as usize].next as usize;
        while let Some(step) = script.steps.get(at) {
            let member = &mut self.members[me as usize];
            match *step {
                Step::Send { to, tag, data } => {
                    member.now += self.network.overhead;
                    let bytes = data.len * self.size;
                    let sent = member.now.max(member.free);
                    member.free = sent + self.network.gap + self.network.byte * bytes as f64;
                    self.change(
                        (me, to, tag),
                        |letter| (letter.sent, letter.bytes) = (Some(sent), bytes),
                        to,
                    );
                }
                Step::Receive { from, tag, into } => {
                    let (now, bytes) = (member.now, into.len * self.size);
                    self.change(
                        (from, me, tag),
                        |letter| (letter.posted, letter.bytes) = (Some(now), bytes),
                        from,
                    );
                }
                Step::Wait => {
                    if !self.settle(me, &script.steps[..at], true) {
                        break;
                    }
                }
                Step::Drain => {
                    if !self.settle(me, &script.steps[..at], false) {
                        break;
                    }
                }
                Step::Copy { from, .. } | Step::Fold { from, .. } => {
                    member.now += self.network.work * (from.len * self.size) as f64;
                }
                Step::Look => {}
            }
            at += 1;
        }
        self.members[me as usize].next = at as u32;
        let ended = at == script.steps.len();
        if ended {
            let sends = script.steps.iter().filter(|step| matches!(step, Step::Send { .. })).count();
            let now = self.members[me as usize].now;
            self.cost = Cost {
                time: self.cost.time.max(now),
                sends: self.cost.sends.max(sends),
                steps: self.cost.steps.max(script.steps.len()),
                scratch: self.cost.scratch.max(script.scratch),
            };
        }
        ended
    }

    /// One side of a message comes; the other one goes on if it waits for this.
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Letter), other: u32) {
        change(self.letters.entry(key).or_default());
        if self.members[other as usize].waits == Some(key) {
            self.members[other as usize].waits = None;
            self.ready.push_back(other);
        }
    }

    /// Waits for the receives, or the sends, that were begun since the last such step. False: one
    /// has not come.
    fn settle(&mut self, me: u32, before: &[Step], receives: bool) -> bool {
        let begun = before.iter().rev().take_while(|step| match step {
            Step::Wait => !receives,
            Step::Drain => receives,
            _ => true,
        });
        let keys = begun.filter_map(|step| match *step {
            Step::Send { to, tag, .. } if !receives => Some((me, to, tag)),
            Step::Receive { from, tag, .. } if receives => Some((from, me, tag)),
            _ => None,
        });
        let keys: Vec<Key> = keys.collect();
        let mut arrivals = Vec::with_capacity(keys.len());
        for key in &keys {
            let letter = self.letters.get(key).copied().unwrap_or_default();
            // What is short leaves the sender's memory at once.
            let done = if receives || letter.bytes > EAGER { self.arrival(&letter) } else { Some(0.0) };
            let Some(done) = done else {
                self.members[me as usize].waits = Some(*key);
                return false;
            };
            arrivals.push(done);
        }
        arrivals.sort_by(f64::total_cmp);
        for done in arrivals {
            let now = &mut self.members[me as usize].now;
            *now = now.max(done) + if receives { self.network.overhead } else { 0.0 };
        }
        for key in keys {
            if let Some(letter) = self.letters.get_mut(&key) {
                letter.seen += 1;
                if letter.seen == 2 {
                    self.letters.remove(&key);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Place, Span, doubling, ring, tree};

    const PLAIN: Network =
        Network { name: "plain", latency: 100.0, overhead: 10.0, gap: 5.0, byte: 1.0, work: 0.5 };

    fn of(n: usize, write: impl Fn(&mut Script, Place<'_>)) -> Cost {
        cost(n, 1, &PLAIN, &|me, out| write(out, Place::all(me, n))).unwrap()
    }

    #[test]
    fn a_barrier_costs_a_message_for_each_round() {
        for (n, rounds) in [(2, 1.0), (4, 2.0), (1000, 10.0)] {
            let cost = of(n, |out, at| doubling::barrier(out, at, 2));
            assert_eq!((cost.time, cost.sends as f64), (rounds * 120.0, rounds), "{n} members");
        }
    }

    #[test]
    fn a_chain_costs_its_length_and_a_tree_its_depth() {
        let chain = of(9, |out, at| ring::broadcast(out, at, 0, 8, 8));
        assert_eq!(chain.time, 8.0 * 128.0);
        let flat = of(9, |out, at| tree::broadcast(out, at, 0, 8, 9));
        // The last of eight messages leaves when the others have: each takes 5 + 8, and the first
        // one 10 before.
        assert_eq!(flat.time, 10.0 + 7.0 * 13.0 + 108.0 + 10.0);
    }

    #[test]
    fn long_data_waits_for_its_receiver() {
        let long = of(2, |out, at| tree::broadcast(out, at, 0, 10_000, 2));
        // The receiver is ready at 0 and says so; the data takes as long as it is.
        assert_eq!(long.time, 110.0 + 100.0 + 10_000.0 + 10.0);
    }

    #[test]
    fn members_that_wait_for_each_other_have_no_time() {
        let both = |me: usize, out: &mut Script| {
            let (other, into) = (1 - me as u32, Span::output(0, 1));
            out.steps.push(Step::Receive { from: other, tag: 0, into });
            out.steps.push(Step::Wait);
            out.steps.push(Step::Send { to: other, tag: 0, data: into });
            out.steps.push(Step::Drain);
        };
        assert_eq!(cost(2, 1, &PLAIN, &both), None);
    }

    #[test]
    fn what_a_member_keeps_grows_by_the_logarithm_of_the_members() {
        type Write = fn(&mut Script, Place<'_>);
        let ways: [(&str, Write); 6] = [
            ("barrier", |out, at| doubling::barrier(out, at, 2)),
            ("broadcast", |out, at| tree::broadcast(out, at, 0, 1, 2)),
            ("reduce", |out, at| tree::reduce(out, at, 0, 1, 2, false)),
            ("allreduce", |out, at| doubling::all_reduce(out, at, 1)),
            ("halves", |out, at| doubling::all_reduce_by_halves(out, at, 1 << 20)),
            ("scan", |out, at| doubling::scan(out, at, 1)),
        ];
        for (name, write) in ways {
            for n in [1usize << 10, 1 << 20, 1_000_000] {
                // Those with the most to do: the ends, the middle, and some others.
                let steps = [0, 1, n / 2, n / 2 + 1, n - 2, n - 1, n / 3].map(|me| {
                    let mut script = Script::default();
                    write(&mut script, Place::all(me, n));
                    script.steps.len()
                });
                let log = n.next_power_of_two().trailing_zeros() as usize;
                assert!(steps.iter().all(|steps| *steps <= 10 * log + 20), "{name} among {n}: {steps:?}");
            }
        }
    }
}
