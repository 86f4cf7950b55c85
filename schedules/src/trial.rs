//! Trials for tests of schedules: a collective of a given number of members, run by the
//! [model](crate::model) in random orders and with both ways to send, on values that reveal which
//! members contributed to them.

use crate::model::{Model, Sending, Values};
use crate::{Place, Script, ring};

/// A map x → ax + b: composing them is associative, does not commute, and tells who is in it.
pub type Map = (u64, u64);

/// First one map, then the other: keeps order.
pub fn then(first: &Map, second: &Map) -> Map {
    (first.0.wrapping_mul(second.0), first.1.wrapping_mul(second.0).wrapping_add(second.1))
}

/// The sum of both: has no order.
pub fn plus(a: &Map, b: &Map) -> Map {
    (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1))
}

/// A number that is different for each argument.
pub fn noise(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What a member has at first, as an element of its input.
pub fn value(member: usize, element: usize) -> Map {
    let seed = (member as u64) << 32 | element as u64;
    (noise(seed) | 1, noise(!seed))
}

/// What nobody has.
pub const JUNK: Map = (0xdead, 0xbeef);

/// One collective to check.
pub struct Case<'a> {
    /// Members.
    pub n: usize,
    /// Whether operands are folded in the order of ranks.
    pub ordered: bool,
    /// Whether input and output are the same.
    pub in_place: bool,
    /// Elements of a member's input.
    pub inputs: &'a dyn Fn(usize) -> usize,
    /// Elements of a member's output.
    pub outputs: &'a dyn Fn(usize) -> usize,
    /// What stands in the output before.
    pub before: &'a dyn Fn(usize, usize) -> Map,
    /// The schedule.
    pub script: &'a dyn Fn(&mut Script, Place<'_>),
    /// What a member must have at a place of its output in the end.
    pub expected: &'a dyn Fn(usize, usize) -> Map,
}

impl Case<'_> {
    fn fold(&self) -> fn(&Map, &Map) -> Map {
        if self.ordered { then } else { plus }
    }

    /// Checks it.
    ///
    /// # Panics
    /// A member waits for ever, a message is lost, or somebody has what it must not.
    pub fn check(&self, name: &str) {
        let both = [(Sending::Eager, 1), (Sending::Synchronous, 2)];
        // Larger groups take the ways to send by turns.
        let ways = if self.n > 40 { &both[self.n % 2..][..1] } else { &both[..] };
        for (sending, seed) in ways.iter().copied() {
            let mut random = seed * 1000 + self.n as u64;
            self.check_in_order(name, sending, |len| {
                random = noise(random);
                random as usize % len
            });
        }
    }

    /// Checks it with this way to send; `pick` chooses which of so many members goes on.
    ///
    /// # Panics
    /// As for [`check`](Self::check).
    pub fn check_in_order(&self, name: &str, sending: Sending, pick: impl FnMut(usize) -> usize) {
        let member = |me: usize| {
            let mut script = Script::default();
            (self.script)(&mut script, Place::all(me, self.n));
            let input: Vec<Map> = (0..(self.inputs)(me)).map(|i| value(me, i)).collect();
            let mut output: Vec<Map> = (0..(self.outputs)(me)).map(|i| (self.before)(me, i)).collect();
            if self.in_place {
                let both = output.len().max(input.len());
                output.resize(both, JUNK);
                output[..input.len()].copy_from_slice(&input);
            }
            let scratch = vec![JUNK; script.scratch];
            (script, Values { buffers: [input, output, scratch], fold: self.fold() })
        };
        let model = Model::new((0..self.n).map(member).collect(), sending, self.in_place);
        let context = || format!("{name} among {} ({sending:?}, in place: {})", self.n, self.in_place);
        let ends = model.run(pick).unwrap_or_else(|fault| panic!("{}: {fault}", context()));
        for (me, end) in ends.iter().enumerate() {
            for i in 0..(self.outputs)(me) {
                assert_eq!(
                    end.buffers[1][i],
                    (self.expected)(me, i),
                    "{} member {me} element {i}",
                    context()
                );
            }
        }
    }
}

/// Every number of members up to 256 for what is cheap; fewer of the larger ones where all data
/// reaches all; few under Miri.
pub fn sizes(dear: bool) -> Vec<usize> {
    if cfg!(miri) {
        return vec![1, 2, 3, 5, 8];
    }
    let most = if dear { 40 } else { 256 };
    (1..=most).chain(dear.then_some([63, 64, 65, 100, 255, 256]).into_iter().flatten()).collect()
}

/// The first member, one in the middle, and the last.
pub fn roots(n: usize) -> Vec<usize> {
    let mut roots = vec![0, n / 2, n - 1];
    roots.dedup();
    roots
}

/// Elements from `from` of what members `who` folded have.
pub fn folded(who: std::ops::Range<usize>, element: usize, ordered: bool) -> Map {
    let fold = if ordered { then } else { plus };
    who.map(|member| value(member, element)).reduce(|a, b| fold(&a, &b)).unwrap_or(JUNK)
}

/// Parts of unequal lengths, some of them empty.
pub fn uneven(n: usize) -> (Vec<usize>, Vec<usize>) {
    let counts: Vec<usize> = (0..n).map(|i| noise(i as u64) as usize % 4).collect();
    let starts = ring::starts(&counts);
    (counts, starts)
}

/// Whose element, and which, stands at a place of parts.
pub fn owner(counts: &[usize], at: usize) -> (usize, usize) {
    let mut left = at;
    for (member, count) in counts.iter().enumerate() {
        if left < *count {
            return (member, left);
        }
        left -= count;
    }
    panic!("{at} beyond the end")
}
