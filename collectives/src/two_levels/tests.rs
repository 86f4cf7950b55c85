//! Calls on two levels, of hosts of any sizes: rounds, messages and rounds by the models of each,
//! on the buffers of the whole call.

use super::{Packed, TwoLevels, View, Within};
use crate::board::model::run_on;
use crate::board::{AREA, Rounds};
use crate::call::Call;
use crate::select::{Shape, has_two_levels};
use lapis_schedules::Buffer;
use lapis_schedules::levels::Hosts;
use lapis_schedules::model::{Model, Sending, Values};
use lapis_schedules::tree::Parts;
use lapis_schedules::trial::{JUNK, Map, noise, then, value};
use proptest::prelude::*;

/// The buffers of a member.
type Buffers = [Vec<Map>; 3];

struct Lists {
    counts: Vec<usize>,
    starts: Vec<usize>,
}

impl Lists {
    fn parts(&self) -> Parts<'_> {
        Parts { counts: &self.counts, starts: &self.starts }
    }

    /// The member whose part has an element, and which of the part's it is.
    fn part(&self, at: usize) -> Option<(usize, usize)> {
        let of = |rank: usize| (self.starts[rank]..self.starts[rank] + self.counts[rank]).contains(&at);
        (0..self.counts.len()).find(|rank| of(*rank)).map(|rank| (rank, at - self.starts[rank]))
    }
}

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
    let rest = (0usize..11, 0usize..12, any::<usize>(), 1usize..8000, any::<[bool; 3]>(), any::<u64>());
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
    fn call<'a>(&self, lists: &'a Lists) -> Call<'a> {
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
            8 => Call::AllToAll { count },
            9 => Call::AllGatherV { parts: lists.parts() },
            _ => Call::ReduceScatter { counts: &lists.counts },
        }
    }

    /// The lengths of the members' parts: of some nothing, of one everything, or all equal, and
    /// equal but for one; and where they begin at a member.
    fn lists(&self, me: usize) -> Lists {
        let n = self.hosts.len();
        let count = |rank: usize| match self.seed % 5 {
            0 => self.count,
            1 if rank == self.root => self.count,
            1 => 0,
            2 if rank == self.root => self.count + 1,
            2 => self.count,
            _ => noise(self.seed + rank as u64) as usize % (self.count + 1),
        };
        let counts: Vec<usize> = (0..n).map(count).collect();
        // One behind the other, with gaps, or backwards.
        let layout = noise(self.seed ^ me as u64) % 3;
        let behind = |rank: usize| match layout {
            0 => counts[..rank].iter().sum(),
            1 => counts[..rank].iter().map(|count| count + 2).sum::<usize>() + 1,
            _ => counts[rank + 1..].iter().sum(),
        };
        Lists { starts: (0..n).map(behind).collect(), counts }
    }

    /// What a member gives: maps that commute, where operands may be reordered.
    fn given(&self, member: usize, i: usize) -> Map {
        let map = value(member, i);
        if self.reorder { (1, map.1) } else { map }
    }

    fn folded(&self, i: usize) -> Map {
        (0..self.hosts.len()).map(|member| self.given(member, i)).reduce(|a, b| then(&a, &b)).unwrap_or(JUNK)
    }

    fn expected(&self, lists: &Lists, me: usize, i: usize) -> Map {
        let count = self.count;
        match self.call(lists) {
            Call::Broadcast { root, .. } => self.given(root, i),
            Call::Gather { .. } | Call::AllGather { .. } => self.given(i / count, i % count),
            Call::Scatter { root, .. } => self.given(root, me * count + i),
            Call::ReduceScatterBlock { .. } => self.folded(me * count + i),
            Call::AllGatherV { .. } => lists.part(i).map_or(JUNK, |(member, i)| self.given(member, i)),
            Call::ReduceScatter { counts } => self.folded(counts[..me].iter().sum::<usize>() + i),
            Call::AllToAll { .. } => self.given(i / count, me * count + i % count),
            _ => self.folded(i),
        }
    }

    fn check(&self) {
        let n = self.hosts.len();
        let lists: Vec<Lists> = (0..n).map(|me| self.lists(me)).collect();
        let call = |me: usize| self.call(&lists[me]);
        let packed = Packed::of(&call(0), n);
        let hosts = Hosts::of(self.hosts.iter().copied());
        let shape = |me| Shape {
            me,
            n,
            hosts: Some(&hosts),
            size: self.size,
            reorder: self.reorder,
            reproducible: false,
        };
        let Some(mut parts) = (0..n)
            .map(|me| TwoLevels::of(&call(me), &shape(me), &hosts, &packed))
            .collect::<Option<Vec<_>>>()
        else {
            assert!(!has_two_levels(&call(0), &shape(0), &hosts));
            return;
        };
        let buffers = |me: usize| {
            // The model slices buffers at places that have no elements, too.
            let (input, output) = call(me).reaches(me, n, true);
            let mut output = vec![JUNK; output];
            if matches!(call(me), Call::Broadcast { .. }) {
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
        for (parts, buffers) in parts.iter().zip(&mut whole) {
            for (from, into) in &parts.places {
                let [_, output, scratch] = buffers;
                let (from, into) = (from.start..from.start + from.len, into.start..into.start + into.len);
                output[into].copy_from_slice(&scratch[from]);
            }
        }
        for (me, [input, output, _]) in whole.iter().enumerate() {
            assert_eq!(*input, inputs[me], "{self:?}: member {me} has written to its input");
            for (i, got) in output.iter().enumerate() {
                assert_eq!(*got, self.expected(&lists[me], me, i), "{self:?}: member {me} element {i}");
            }
        }
    }
}

/// A part of a call within each host.
fn within_hosts<'a>(hosts: &Hosts, whole: &mut [Buffers], part: impl Fn(usize) -> Option<Within<'a>>) {
    for host in 0..hosts.len() {
        let members: Vec<usize> = hosts.ranks(host).iter().map(|rank| rank as usize).collect();
        let parts: Vec<Within<'_>> = members.iter().filter_map(|rank| part(*rank)).collect();
        let Some((first, _)) = parts.first() else { continue };
        assert_eq!(parts.len(), members.len(), "some have rounds that others have not");
        let calls: Vec<Call<'_>> = parts.iter().map(|(call, _)| *call).collect();
        assert!(calls.iter().all(|call| call.code() == first.code() && call.root() == first.root()));
        let places = || members.iter().zip(&parts).enumerate();
        let before = places().map(|(me, (rank, (call, view)))| {
            let (input, output) = call.reaches(me, members.len(), true);
            let buffer = |of: Buffer, len| cut(&whole[*rank], *view, of, len);
            [buffer(Buffer::Input, input), buffer(Buffer::Output, output), Vec::new()]
        });
        // Unequal parts need room for words, and for some data of each.
        let after = run_on(&calls, 24 * (members.len() + 1), before.collect());
        for ((me, (rank, (call, view))), [_, output, _]) in places().zip(after) {
            let len = call.reaches(me, members.len(), true).1;
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

/// Elements may be too long for rounds, at hosts that have any.
#[test]
fn all_members_take_rounds_of_long_elements_or_none_does() {
    let counts = [1; 4];
    let calls = [
        Call::Reduce { root: 0, count: 1 },
        Call::Reduce { root: 3, count: 1 },
        Call::AllReduce { count: 1 },
        Call::ReduceScatterBlock { count: 1 },
        Call::ReduceScatter { counts: &counts },
    ];
    for (sizes, size, call) in [[1, 3], [3, 1], [2, 2]]
        .into_iter()
        .flat_map(|sizes| [AREA, AREA + 1].map(|size| (sizes, size)))
        .flat_map(|(sizes, size)| calls.map(|call| (sizes, size, call)))
    {
        let hosts = Hosts::of((0..4).map(|rank| u64::from(rank >= sizes[0])));
        let packed = Packed::of(&call, 4);
        let has_rounds = |me: usize| {
            let shape = Shape { me, n: 4, hosts: Some(&hosts), size, reorder: true, reproducible: false };
            let parts = TwoLevels::of(&call, &shape, &hosts, &packed)?;
            let here = hosts.ranks(hosts.host_of(me));
            Rounds::of_levels(parts, here.rank(me as u32)?, here.len(), size).map(|_| ())
        };
        for me in 0..4 {
            assert_eq!(has_rounds(me).is_some(), size <= AREA, "{call:?} of {size} B on {sizes:?} at {me}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 1000 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_on_two_levels_do_what_they_say(trial in trials()) {
        trial.check();
    }
}
