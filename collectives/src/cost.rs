//! The modelled cost of schedules: the scripts of all members in virtual time, by the LogGP model,
//! for up to a million members.
//!
//! The model describes a network by five numbers ([`Network`]). Networks have neither topology nor
//! congestion; each member sends and receives one message at a time. Data beyond 8 KiB waits for
//! its receiver, as in the executor. Scripts are kept as twelve bytes a step, so that those of a
//! million members fit in memory.

use lapis_schedules::{Script, Step};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A network and its processors. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Its name.
    pub name: &'static str,
    /// L: latency of the network, for the first byte.
    pub latency: f64,
    /// o: processor time for each message, at either side.
    pub overhead: f64,
    /// g: minimum time between two messages of a member.
    pub gap: f64,
    /// G: time per byte of a message.
    pub byte: f64,
    /// Time per byte that a processor folds or copies.
    pub work: f64,
}

/// The cost of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// When the last member has ended, in nanoseconds, if all begin at 0.
    pub time: f64,
    /// The largest number of messages that a member sends.
    pub sends: usize,
    /// The largest number of steps of a member.
    pub steps: usize,
    /// The largest scratch of a member, in elements.
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
const EAGER: u32 = crate::engine::EAGER as u32;

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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Send,
    Receive,
    Wait,
    Drain,
    Work,
}

/// A step: which message, of how many bytes, or on how many bytes the processor works.
#[derive(Clone, Copy)]
struct Short {
    kind: Kind,
    message: u32,
    bytes: u32,
}

/// The scripts of all members of an operation, with sends and receives that have met.
pub struct Scripts {
    members: Vec<Box<[Short]>>,
    /// Sender and receiver of each message.
    messages: Vec<(u32, u32)>,
    most: Cost,
}

impl Scripts {
    /// Those of `n` members, whose steps `write` writes, on elements of `size` bytes. `None` if a
    /// send or a receive has no other side.
    pub fn of(n: usize, size: usize, write: &dyn Fn(usize, &mut Script)) -> Option<Self> {
        let mut all = Self { members: Vec::with_capacity(n), messages: Vec::new(), most: Cost::default() };
        let mut open: HashMap<Key, u32, BuildHasherDefault<Mix>> = HashMap::default();
        let mut script = Script::default();
        for me in 0..n {
            script.steps.clear();
            script.scratch = 0;
            write(me, &mut script);
            let sends = script.steps.iter().filter(|step| matches!(step, Step::Send { .. })).count();
            all.most = Cost {
                time: 0.0,
                sends: all.most.sends.max(sends),
                steps: all.most.steps.max(script.steps.len()),
                scratch: all.most.scratch.max(script.scratch),
            };
            let mut meet = |from: u32, to: u32, tag: u32| {
                let key = (from, to, tag);
                open.remove(&key).unwrap_or_else(|| {
                    all.messages.push((from, to));
                    open.insert(key, all.messages.len() as u32 - 1);
                    all.messages.len() as u32 - 1
                })
            };
            let short = |step: &Step| {
                let bytes = |len: usize| (len * size) as u32;
                let (kind, message, bytes) = match *step {
                    Step::Send { to, tag, data } => (Kind::Send, meet(me as u32, to, tag), bytes(data.len)),
                    Step::Receive { from, tag, into } => {
                        (Kind::Receive, meet(from, me as u32, tag), bytes(into.len))
                    }
                    Step::Wait => (Kind::Wait, 0, 0),
                    Step::Drain => (Kind::Drain, 0, 0),
                    Step::Copy { from, .. } | Step::Fold { from, .. } => (Kind::Work, 0, bytes(from.len)),
                    Step::Look => (Kind::Work, 0, 0),
                };
                Short { kind, message, bytes }
            };
            let steps = script.steps.iter().map(short).collect();
            all.members.push(steps);
        }
        open.is_empty().then_some(all)
    }

    /// What they cost over a network. `None` if members wait for each other for ever.
    pub fn cost(&self, network: &Network) -> Option<Cost> {
        let n = self.members.len();
        let mut run = Run {
            scripts: self,
            network: *network,
            members: vec![Member::default(); n],
            letters: vec![Letter { sent: f64::NAN, posted: f64::NAN }; self.messages.len()],
            ready: (0..n as u32).collect(),
            arrivals: Vec::new(),
        };
        let (mut ended, mut time) = (0, 0f64);
        while let Some(me) = run.ready.pop_front() {
            if run.advance(me) {
                ended += 1;
                time = time.max(run.members[me as usize].now);
            }
        }
        (ended == n).then_some(Cost { time, ..self.most })
    }
}

/// The cost of an operation of `n` members, whose steps `write` writes, on elements of `size`
/// bytes. `None` if their steps do not fit each other.
pub fn cost(n: usize, size: usize, network: &Network, write: &dyn Fn(usize, &mut Script)) -> Option<Cost> {
    Scripts::of(n, size, write)?.cost(network)
}

/// When a message was sent, and when its receiver was ready; not a number before that.
#[derive(Clone, Copy)]
struct Letter {
    sent: f64,
    posted: f64,
}

#[derive(Clone, Copy, Default)]
struct Member {
    /// The processor's time.
    now: f64,
    /// From when on the network takes another message.
    free: f64,
    next: u32,
    /// The message that the member waits for.
    waits: Option<u32>,
}

struct Run<'a> {
    scripts: &'a Scripts,
    network: Network,
    members: Vec<Member>,
    letters: Vec<Letter>,
    ready: VecDeque<u32>,
    arrivals: Vec<f64>,
}

impl Run<'_> {
    /// When a message has come, and the sender's memory is free; not a number if nobody knows yet.
    fn arrival(&self, letter: Letter, bytes: u32) -> f64 {
        let way = self.network.latency + self.network.byte * f64::from(bytes);
        if bytes <= EAGER {
            return letter.sent + way;
        }
        let told = letter.posted + self.network.overhead + self.network.latency;
        // Nothing if either is not known: the larger one of a number and nothing were the number.
        if letter.sent.is_nan() || told.is_nan() { f64::NAN } else { letter.sent.max(told) + way }
    }

    /// Takes a member's steps until it waits. True: it has ended.
    fn advance(&mut self, me: u32) -> bool {
        let scripts = self.scripts;
        let steps = &scripts.members[me as usize];
        let mut at = self.members[me as usize].next as usize;
        while let Some(step) = steps.get(at) {
            match step.kind {
                Kind::Send => self.send(me, step),
                Kind::Receive => {
                    self.letters[step.message as usize].posted = self.members[me as usize].now;
                    self.tell(step.message, self.scripts.messages[step.message as usize].0);
                }
                Kind::Wait | Kind::Drain => {
                    if !self.settle(me, &steps[..at], step.kind) {
                        break;
                    }
                }
                Kind::Work => {
                    self.members[me as usize].now += self.network.work * f64::from(step.bytes);
                }
            }
            at += 1;
        }
        self.members[me as usize].next = at as u32;
        at == steps.len()
    }

    fn send(&mut self, me: u32, step: &Short) {
        let member = &mut self.members[me as usize];
        member.now += self.network.overhead;
        let sent = member.now.max(member.free);
        member.free = sent + self.network.gap + self.network.byte * f64::from(step.bytes);
        self.letters[step.message as usize].sent = sent;
        self.tell(step.message, self.scripts.messages[step.message as usize].1);
    }

    /// One side of a message has come; the other one goes on if it waits for this.
    fn tell(&mut self, message: u32, other: u32) {
        if self.members[other as usize].waits == Some(message) {
            self.members[other as usize].waits = None;
            self.ready.push_back(other);
        }
    }

    /// Waits for the receives, or the sends, that were begun since the last such step. False: one
    /// has not come.
    fn settle(&mut self, me: u32, before: &[Short], by: Kind) -> bool {
        let receives = by == Kind::Wait;
        let begun = if receives { Kind::Receive } else { Kind::Send };
        self.arrivals.clear();
        for step in before.iter().rev().take_while(|step| step.kind != by).filter(|s| s.kind == begun) {
            // What is short leaves the sender's memory at once.
            let done = match receives || step.bytes > EAGER {
                true => self.arrival(self.letters[step.message as usize], step.bytes),
                false => 0.0,
            };
            if done.is_nan() {
                self.members[me as usize].waits = Some(step.message);
                return false;
            }
            self.arrivals.push(done);
        }
        self.arrivals.sort_by(f64::total_cmp);
        let now = &mut self.members[me as usize].now;
        for done in &self.arrivals {
            *now = now.max(*done) + if receives { self.network.overhead } else { 0.0 };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_schedules::{Place, Span, doubling, ring, tree};

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
