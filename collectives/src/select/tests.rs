//! Any operation of any shape by any algorithm, as [`select`] writes it: between as many hosts,
//! with unequal parts, in both ways to send.

use crate::call::Call;
use crate::select::{self, Overrides, Shape};
use lapis_schedules::levels::Hosts;
use lapis_schedules::ring;
use lapis_schedules::tree::Parts;
use lapis_schedules::trial::{Case, JUNK, Map, folded, noise, owner, uneven, value};
use proptest::prelude::*;

/// What is tried, by numbers.
#[derive(Clone, Copy, Debug)]
struct Trial {
    n: usize,
    operation: usize,
    count: usize,
    root: usize,
    hosts: usize,
    reorder: bool,
    reproducible: bool,
    in_place: bool,
    seed: u64,
}

fn trials() -> impl Strategy<Value = Trial> {
    let sizes = (1usize..48, 0usize..12, 0usize..40, any::<usize>(), 1usize..9);
    (sizes, any::<[bool; 3]>(), any::<u64>()).prop_map(|(sizes, flags, seed)| {
        let (n, operation, count, root, hosts) = sizes;
        let [reorder, reproducible, in_place] = flags;
        Trial { n, operation, count, root: root % n, hosts, reorder, reproducible, in_place, seed }
    })
}

impl Trial {
    fn call<'a>(&self, counts: &'a [usize], starts: &'a [usize]) -> Call<'a> {
        let (root, count) = (self.root, self.count);
        match self.operation {
            0 => Call::Broadcast { root, count },
            1 => Call::Reduce { root, count },
            2 => Call::AllReduce { count },
            3 => Call::ReduceScatter { counts },
            4 => Call::Gather { root, count },
            5 => Call::Scatter { root, count },
            6 => Call::AllGather { count },
            7 => Call::AllGatherV { parts: Parts { counts, starts } },
            8 => Call::AllToAll { count },
            9 => Call::Scan { count },
            10 => Call::ExScan { count },
            _ => Call::ReduceScatterBlock { count },
        }
    }

    /// What member `me` has at place `i` in the end.
    fn expected(&self, counts: &[usize], starts: &[usize], me: usize, i: usize) -> Map {
        let (n, count, ordered) = (self.n, self.count, !self.reorder);
        match self.operation {
            0 => value(self.root, i),
            1 | 2 => folded(0..n, i, ordered),
            3 => folded(0..n, starts[me] + i, ordered),
            4 | 6 => value(i / count, i % count),
            5 => value(self.root, me * count + i),
            7 => {
                let (member, at) = owner(counts, i);
                value(member, at)
            }
            8 => value(i / count, me * count + i % count),
            9 => folded(0..me + 1, i, ordered),
            11 => folded(0..n, me * count + i, ordered),
            _ if me > 0 => folded(0..me, i, ordered),
            _ if self.in_place => value(0, i),
            _ => JUNK,
        }
    }

    fn check(&self) {
        let n = self.n;
        let (counts, _) = uneven(n);
        let starts = ring::starts(&counts);
        let call = self.call(&counts, &starts);
        // Hosts of blocks of ranks, or of ranks alternately.
        let host =
            |rank: usize| if self.seed.is_multiple_of(2) { rank * self.hosts / n } else { rank % self.hosts };
        let hosts = Hosts::of((0..n).map(|rank| host(rank) as u64));
        let shape = |me| Shape {
            me,
            n,
            hosts: (hosts.len() > 1).then_some(&hosts),
            size: 1 + (noise(self.seed) % 5000) as usize,
            reorder: self.reorder,
            reproducible: self.reproducible,
        };
        let row = select::table().iter().find(|row| call.name().trim_end_matches("_block") == row.operation);
        let entry = row.map(|row| {
            let algorithm = row.algorithms[self.seed as usize / 2 % row.algorithms.len()];
            format!("{}={}", row.operation, algorithm.name())
        });
        let overrides = Overrides::parse(&entry.unwrap_or_default()).unwrap();
        let way = select::choose(&call, &shape(0), &overrides);
        // What is scanned folds in order with the operands in any place.
        let reads = matches!(self.operation, 1 | 2 | 9 | 10);
        Case {
            n,
            ordered: !self.reorder,
            in_place: self.in_place && reads,
            inputs: &|me| call.needs(me, n).0,
            outputs: &|me| call.needs(me, n).1,
            before: &|me, i| if self.operation == 0 && me == self.root { value(me, i) } else { JUNK },
            script: &|out, at| *out = select::script(&call, &shape(at.me), way),
            expected: &|me, i| {
                Self { in_place: self.in_place && reads, ..*self }.expected(&counts, &starts, me, i)
            },
        }
        .check(&format!("{} by {} in {self:?}", call.name(), way.name()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 400 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_operation_of_any_shape_does_what_it_says(trial in trials()) {
        trial.check();
    }
}

#[test]
fn no_file_or_variable_changes_the_schedule_of_reproducible_reductions() {
    let text = "allreduce=ring,reduce=chain,reduce_scatter=ring,barrier=two-levels,allgather=ring";
    let wishes = Overrides::parse(text).unwrap();
    let shape = |reproducible| Shape { me: 0, n: 8, hosts: None, size: 8, reorder: true, reproducible };
    let chosen = |call: &Call<'_>, reproducible| {
        let by = |overrides: &Overrides| select::choose(call, &shape(reproducible), overrides).name();
        (by(&wishes), by(&Overrides::default()))
    };
    let counts = [4; 8];
    let folding = [
        Call::Reduce { root: 1, count: 30 },
        Call::AllReduce { count: 30 },
        Call::ReduceScatter { counts: &counts },
        Call::ReduceScatterBlock { count: 4 },
    ];
    for call in &folding {
        let (wished, own) = chosen(call, true);
        assert_eq!(wished, own, "{call:?}");
        let (wished, own) = chosen(call, false);
        assert_ne!(wished, own, "{call:?}");
    }
    assert_eq!(chosen(&Call::AllGather { count: 1 }, true), ("ring", "doubling"));
}
