//! Calls on two levels, of hosts of any sizes: rounds, messages and rounds by the models of each,
//! on the buffers of the whole call.

use super::{TwoLevels, View, Within};
use crate::board::model::run_on;
use crate::call::Call;
use crate::select::{Shape, has_two_levels};
use lapis_schedules::Buffer;
use lapis_schedules::levels::Hosts;
use lapis_schedules::model::{Model, Sending, Values};
use lapis_schedules::trial::{JUNK, Map, noise, then, value};
use proptest::prelude::*;

/// The buffers of a member.
type Buffers = [Vec<Map>; 3];

#[derive(Clone, Debug)]
struct Trial {
    /// The host of each member.
    hosts: Vec<u64>,
    operation: usize,
    count: usize,
    root: usize,
    size: usize,
    reorder: bool,
    seed: u64,
}

fn trials() -> impl Strategy<Value = Trial> {
    let sizes = prop::collection::vec(1usize..6, 1..6);
    let rest = (0usize..9, 0usize..12, any::<usize>(), 1usize..8000, any::<[bool; 3]>(), any::<u64>());
    (sizes, rest).prop_map(|(sizes, (operation, count, root, size, [reorder, equal, mixed], seed))| {
        let of = |(host, size): (usize, &usize)| vec![host as u64; if equal { sizes[0] } else { *size }];
        let mut hosts: Vec<u64> = sizes.iter().enumerate().flat_map(of).collect();
        if mixed {
            let n = hosts.len();
            (1..n).for_each(|at| hosts.swap(at, noise(seed ^ at as u64) as usize % (at + 1)));
        }
        let root = root % hosts.len();
        Trial { hosts, operation, count, root, size, reorder, seed }
    })
}

impl Trial {
    fn call(&self) -> Call<'static> {
        let (root, count) = (self.root, self.count);
        match self.operation {
            0 => Call::Barrier,
            1 => Call::Broadcast { root, count },
            2 => Call::Reduce { root, count },
            3 => Call::AllReduce { count },
            4 => Call::Gather { root, count },
            5 => Call::Scatter { root, count },
            6 => Call::AllGather { count },
            7 => Call::ReduceScatterBlock { count },
            _ => Call::AllToAll { count },
        }
    }

    /// What a member gives: maps that commute, where operands may be reordered.
    fn given(&self, member: usize, i: usize) -> Map {
        let map = value(member, i);
        if self.reorder { (1, map.1) } else { map }
    }

    fn folded(&self, i: usize) -> Map {
        (0..self.hosts.len()).map(|member| self.given(member, i)).reduce(|a, b| then(&a, &b)).unwrap_or(JUNK)
    }

    fn expected(&self, me: usize, i: usize) -> Map {
        let count = self.count;
        match self.call() {
            Call::Broadcast { root, .. } => self.given(root, i),
            Call::Gather { .. } | Call::AllGather { .. } => self.given(i / count, i % count),
            Call::Scatter { root, .. } => self.given(root, me * count + i),
            Call::ReduceScatterBlock { .. } => self.folded(me * count + i),
            Call::AllToAll { .. } => self.given(i / count, me * count + i % count),
            _ => self.folded(i),
        }
    }

    fn check(&self) {
        let (call, n) = (self.call(), self.hosts.len());
        let hosts = Hosts::of(self.hosts.iter().copied());
        let shape = |me| Shape {
            me,
            n,
            hosts: Some(&hosts),
            size: self.size,
            reorder: self.reorder,
            reproducible: false,
        };
        let Some(mut parts) =
            (0..n).map(|me| TwoLevels::of(&call, &shape(me), &hosts)).collect::<Option<Vec<_>>>()
        else {
            assert!(!has_two_levels(&call, &shape(0), &hosts));
            return;
        };
        let buffers = |me: usize| {
            let (input, output) = call.needs(me, n);
            let mut output = vec![JUNK; output];
            if matches!(call, Call::Broadcast { .. }) {
                output.iter_mut().enumerate().for_each(|(i, place)| *place = self.given(me, i));
            }
            let scratch = vec![JUNK; parts[me].held.max(parts[me].messages.scratch)];
            [(0..input).map(|i| self.given(me, i)).collect(), output, scratch]
        };
        let mut whole: Vec<Buffers> = (0..n).map(buffers).collect();
        let inputs: Vec<Vec<Map>> = whole.iter().map(|[input, ..]| input.clone()).collect();
        within_hosts(&hosts, &mut whole, |me| parts[me].before);
        let mut random = self.seed;
        let pick = |len: usize| {
            random = noise(random);
            random as usize % len
        };
        let member = |(me, buffers): (usize, Buffers)| {
            (std::mem::take(&mut parts[me].messages), Values { buffers, fold: then })
        };
        let members = whole.into_iter().enumerate().map(member).collect();
        let sending = if self.seed.is_multiple_of(2) { Sending::Eager } else { Sending::Synchronous };
        let ended =
            Model::new(members, sending, false).run(pick).unwrap_or_else(|fault| panic!("{self:?}: {fault}"));
        let mut whole: Vec<Buffers> = ended.into_iter().map(|end| end.buffers).collect();
        within_hosts(&hosts, &mut whole, |me| parts[me].after);
        for (me, [input, output, _]) in whole.iter().enumerate() {
            assert_eq!(*input, inputs[me], "{self:?}: member {me} has written to its input");
            for (i, got) in output.iter().enumerate() {
                assert_eq!(*got, self.expected(me, i), "{self:?}: member {me} element {i}");
            }
        }
    }
}

/// A part of a call within each host.
fn within_hosts(hosts: &Hosts, whole: &mut [Buffers], part: impl Fn(usize) -> Option<Within>) {
    for host in 0..hosts.len() {
        let members: Vec<usize> = hosts.ranks(host).iter().map(|rank| rank as usize).collect();
        let parts: Vec<Option<Within>> = members.iter().map(|rank| part(*rank)).collect();
        let Some((call, _)) = parts[0] else {
            assert!(parts.iter().all(Option::is_none), "some have rounds that others have not");
            continue;
        };
        let places = || members.iter().zip(parts.iter().flatten()).enumerate();
        let before = places().map(|(me, (rank, (other, view)))| {
            assert_eq!(format!("{call:?}"), format!("{other:?}"));
            let (input, output) = call.needs(me, members.len());
            let buffer = |of: Buffer, len| cut(&whole[*rank], *view, of, len);
            [buffer(Buffer::Input, input), buffer(Buffer::Output, output), Vec::new()]
        });
        let after = run_on(&call, 3 * members.len(), before.collect());
        for ((me, (rank, (_, view))), [_, output, _]) in places().zip(after) {
            let len = call.needs(me, members.len()).1;
            let (buffer, start) = view.of(Buffer::Output);
            whole[*rank][buffer as usize][start..start + len].copy_from_slice(&output[..len]);
        }
    }
}

fn cut(whole: &Buffers, view: View, of: Buffer, len: usize) -> Vec<Map> {
    let (buffer, start) = view.of(of);
    // Who only takes part has no such buffer.
    if len == 0 { Vec::new() } else { whole[buffer as usize][start..start + len].to_vec() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 1000 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_on_two_levels_do_what_they_say(trial in trials()) {
        trial.check();
    }
}
