//! The choice of an algorithm by operation, bytes, members and hosts.
//!
//! The table is the default; [`Overrides`], written by a user or measured, take precedence.
//! [`table`] describes its rules for display.

mod overrides;

pub use overrides::Overrides;

use crate::call::Call;
use crate::lines::AREA;
use lapis_schedules::group::Group;
use lapis_schedules::levels::{self, Hosts};
use lapis_schedules::tree::{self, Parts};
use lapis_schedules::{Place, Script, doubling, exchange, ring, two_trees};

/// An algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Distances that grow by the radix: ⌈log_k n⌉ rounds.
    Dissemination,
    /// A k-nomial tree.
    Tree,
    /// Pieces down a tree, then round a ring.
    Pieces,
    /// Segments down a chain.
    Chain,
    /// Segments down two binary trees.
    TwoTrees,
    /// Within hosts, then between them.
    TwoLevels,
    /// Recursive doubling.
    Doubling,
    /// Recursive halving, then doubling.
    Halves,
    /// Pieces round a ring.
    Ring,
    /// Each member exchanges with each other one directly.
    Pairwise,
    /// Bruck's algorithm: blocks by the bits of their distance.
    Bruck,
    /// Through memory that the members of a host share.
    Memory,
}

/// Names, as in the variable.
const NAMES: [(&str, Algorithm); 12] = [
    ("dissemination", Dissemination),
    ("tree", Tree),
    ("pieces", Pieces),
    ("chain", Chain),
    ("two-trees", TwoTrees),
    ("two-levels", TwoLevels),
    ("doubling", Doubling),
    ("halves", Halves),
    ("ring", Ring),
    ("pairwise", Pairwise),
    ("bruck", Bruck),
    ("memory", Memory),
];

impl Algorithm {
    /// The name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, algorithm)| *algorithm == self).map_or("?", |(name, _)| name)
    }
}

/// Bytes of a segment of pipelines.
const SEGMENT: usize = 32 << 10;

/// An alltoall passes through leaders, which copy each part between the other steps, if it has at
/// most so many parts, and these at most so many bytes: [`LEAST_THROUGH_LEADERS`], and more as long
/// as all of them together are not too many for one member.
const PARTS_THROUGH_LEADERS: usize = 1 << 14;
const LEAST_THROUGH_LEADERS: usize = 1 << 10;
const MOST_THROUGH_LEADERS: usize = 8 << 10;
const BYTES_THROUGH_LEADERS: usize = 1 << 20;

/// Unequal parts of a reduce_scatter have at most so many bytes together if leaders scatter them.
const UNEQUAL_BY_LEADERS: usize = 512 << 10;

/// Bytes of the longest parts of an alltoall that pass through leaders. `None`: no parts do.
fn through_leaders(hosts: &Hosts, n: usize) -> Option<usize> {
    let parts = hosts.most() * n;
    let some = hosts.in_order() && parts <= PARTS_THROUGH_LEADERS;
    some.then(|| (BYTES_THROUGH_LEADERS / parts).clamp(LEAST_THROUGH_LEADERS, MOST_THROUGH_LEADERS))
}

/// The caller, its team, and restrictions on the order of operands.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// The caller's rank.
    pub me: usize,
    /// Members.
    pub n: usize,
    /// The hosts of the members; `None` if unknown, or if all share one.
    pub hosts: Option<&'a Hosts>,
    /// Bytes of an element.
    pub size: usize,
    /// Operands may be reordered.
    pub reorder: bool,
    /// The result must not depend on length or hosts.
    pub reproducible: bool,
}

/// The algorithms of an operation, and the rule for choosing among them.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The operation's name.
    pub operation: &'static str,
    /// Its algorithms.
    pub algorithms: &'static [Algorithm],
    /// The rule of choice, as text.
    pub rule: &'static str,
}

use Algorithm::{
    Bruck, Chain, Dissemination, Doubling, Halves, Memory, Pairwise, Pieces, Ring, Tree, TwoLevels, TwoTrees,
};

const TABLE: &[Row] = &[
    Row {
        operation: "barrier",
        algorithms: &[Memory, Dissemination, TwoLevels],
        rule: "two-levels where several hosts have several members each; otherwise dissemination",
    },
    Row {
        operation: "broadcast",
        algorithms: &[Memory, Tree, Pieces, Chain, TwoTrees, TwoLevels],
        rule: "up to 32 KiB two-levels on several hosts, otherwise tree; beyond that two-trees from 6 members on, else chain",
    },
    Row { operation: "reduce", algorithms: &[Memory, Tree, Chain], rule: "tree up to 64 KiB, then chain" },
    Row {
        operation: "allreduce",
        algorithms: &[Memory, Doubling, Halves, Ring, TwoLevels],
        rule: "up to 8 KiB two-levels on several hosts, otherwise doubling; halves up to 1 MiB, then ring; doubling if operands keep their order",
    },
    Row {
        operation: "reduce_scatter",
        algorithms: &[Memory, Doubling, Pairwise, Ring, Halves],
        rule: "doubling up to 512 B, then pairwise; ring from 64 KiB a part on if operands may change places",
    },
    Row {
        operation: "allgather",
        algorithms: &[Memory, Doubling, Bruck, Ring],
        rule: "up to 32 KiB in all doubling for powers of two, otherwise bruck; then ring",
    },
    Row {
        operation: "alltoall",
        algorithms: &[Memory, Pairwise, Bruck],
        rule: "bruck up to 128 B a part from 8 members on, otherwise pairwise",
    },
];

/// The rule that precedes the table.
pub const FIRST_RULE: &str = "memory for members of one host; on several hosts within each for \
     barrier, broadcast, reduce and allreduce, and if the ranks of each host follow each other for \
     gather, scatter, allgather, reduce_scatter and an alltoall of short parts; but not for \
     reductions that shall be reproducible, nor for exchanges along edges";

/// The table by which algorithms are chosen, after [`FIRST_RULE`].
pub fn table() -> &'static [Row] {
    TABLE
}

/// The algorithm for a call.
pub fn choose(call: &Call<'_>, shape: &Shape<'_>, overrides: &Overrides) -> Algorithm {
    call.with_list(shape.n, |call| choose_for(call, shape, overrides))
}

fn choose_for(call: &Call<'_>, shape: &Shape<'_>, overrides: &Overrides) -> Algorithm {
    let hosts = shape.hosts.filter(|hosts| hosts.len() > 1 && hosts.len() < shape.n);
    let reproduces = shape.reproducible && call.folds();
    let fits = |algorithm: Algorithm| match (call, algorithm) {
        // Whoever asks has no memory in common.
        (_, Memory) => false,
        (_, TwoLevels) => {
            hosts.is_some_and(|hosts| !call.folds() || shape.reorder || hosts.in_order()) && !reproduces
        }
        (Call::AllReduce { .. } | Call::ReduceScatter { .. }, Ring | Halves) if !shape.reorder => false,
        (Call::AllGather { .. }, Doubling) => shape.n.is_power_of_two(),
        (Call::ReduceScatter { counts }, Halves) => {
            shape.n.is_power_of_two() && counts.iter().all(|count| *count == counts[0])
        }
        _ => true,
    };
    // Reproducible is what does not depend on the job's settings either.
    let wish = overrides.for_call(call, shape).filter(|wish| fits(*wish) && !reproduces);
    if let Some(wish) = wish {
        return wish;
    }
    let bytes = call.count() as usize * shape.size;
    let two_levels = fits(TwoLevels);
    match call {
        Call::Barrier if two_levels => TwoLevels,
        Call::Barrier => Dissemination,
        Call::Broadcast { .. } if bytes <= 32 << 10 && two_levels => TwoLevels,
        Call::Broadcast { .. } if bytes <= 32 << 10 => Tree,
        Call::Broadcast { .. } if shape.n >= 6 => TwoTrees,
        Call::Broadcast { .. } => Chain,
        Call::Reduce { .. } if bytes <= 64 << 10 || shape.reproducible => Tree,
        Call::Reduce { .. } => Chain,
        Call::AllReduce { .. } if shape.reproducible || !shape.reorder => Doubling,
        Call::AllReduce { .. } if bytes <= 8 << 10 && two_levels => TwoLevels,
        Call::AllReduce { .. } if bytes <= 8 << 10 => Doubling,
        Call::AllReduce { .. } if bytes <= 1 << 20 => Halves,
        Call::AllReduce { .. } => Ring,
        Call::ReduceScatter { .. } if bytes <= 512 && !shape.reproducible => Doubling,
        Call::ReduceScatter { .. } if fits(Ring) && bytes / shape.n >= 64 << 10 && !shape.reproducible => {
            Ring
        }
        Call::ReduceScatter { .. } => Pairwise,
        Call::AllGather { .. } if bytes * shape.n > 32 << 10 => Ring,
        Call::AllGather { .. } if fits(Doubling) => Doubling,
        Call::AllGather { .. } => Bruck,
        Call::AllToAll { .. } if bytes <= 128 && shape.n >= 8 => Bruck,
        Call::AllToAll { .. } | Call::AllToAllV { .. } | Call::Neighbours { .. } => Pairwise,
        Call::AllGatherV { parts } if parts.counts.iter().sum::<usize>() * shape.size <= 32 << 10 => Bruck,
        Call::AllGatherV { .. } => Ring,
        Call::Scan { .. } | Call::ExScan { .. } => Doubling,
        _ => Tree,
    }
}

/// How a call uses shared memory; the same at all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// For all data.
    Host,
    /// Within each host; messages go between hosts.
    Levels,
}

/// Whether a call can be made on two levels, with memory within each host.
pub(crate) fn has_two_levels(call: &Call<'_>, shape: &Shape<'_>, hosts: &Hosts) -> bool {
    // All must decide alike: who is alone on its host would find that messages fold any element.
    if hosts.len() <= 1 || hosts.len() >= shape.n || (call.folds() && shape.size > AREA) {
        return false;
    }
    match call {
        Call::Barrier | Call::Broadcast { .. } => true,
        Call::Reduce { .. } | Call::AllReduce { .. } => shape.reorder || hosts.in_order(),
        Call::Gather { .. }
        | Call::Scatter { .. }
        | Call::AllGather { .. }
        | Call::AllGatherV { .. }
        | Call::ReduceScatterBlock { .. } => hosts.in_order(),
        Call::ReduceScatter { .. } => {
            hosts.in_order() && (call.count() as usize).saturating_mul(shape.size) <= UNEQUAL_BY_LEADERS
        }
        Call::AllToAll { count } => {
            through_leaders(hosts, shape.n).is_some_and(|most| count * shape.size <= most)
        }
        _ => false,
    }
}

/// How a call uses shared memory, if members of a host map each other's memory.
pub fn through_memory(call: &Call<'_>, shape: &Shape<'_>, overrides: &Overrides) -> Option<Way> {
    if matches!(call, Call::Neighbours { .. }) || shape.n == 1 || (call.folds() && shape.reproducible) {
        return None;
    }
    let wish = overrides.for_call(call, shape);
    let Some(hosts) = shape.hosts.filter(|hosts| hosts.len() > 1) else {
        return wish.is_none_or(|wish| wish == Memory).then_some(Way::Host);
    };
    (has_two_levels(call, shape, hosts) && wish.is_none_or(|wish| matches!(wish, Memory | TwoLevels)))
        .then_some(Way::Levels)
}

/// The caller's steps.
pub fn script(call: &Call<'_>, shape: &Shape<'_>, by: Algorithm) -> Script {
    script_at(Place::all(shape.me, shape.n), call, shape, by)
}

/// The steps of the member at a place.
pub(crate) fn script_at(at: Place<'_>, call: &Call<'_>, shape: &Shape<'_>, by: Algorithm) -> Script {
    let mut script = Script::default();
    call.with_list(at.n, |call| write_script(&mut script, at, call, shape, by));
    script
}

fn write_script(out: &mut Script, at: Place<'_>, call: &Call<'_>, shape: &Shape<'_>, by: Algorithm) {
    let hosts = || shape.hosts.cloned().unwrap_or_default();
    let segment = (SEGMENT / shape.size.max(1)).max(1);
    let ordered = !shape.reorder || shape.reproducible;
    match (*call, by) {
        (Call::Barrier, TwoLevels) => levels::barrier(out, at, &hosts(), 4),
        (Call::Barrier, _) => doubling::barrier(out, at, 2),
        (Call::Broadcast { root, count }, TwoLevels) => {
            levels::broadcast(out, at, &hosts(), root, count, 4);
        }
        (Call::Broadcast { root, count }, Pieces) => tree::broadcast_by_pieces(out, at, root, count),
        (Call::Broadcast { root, count }, Chain) => ring::broadcast(out, at, root, count, segment),
        (Call::Broadcast { root, count }, TwoTrees) => two_trees::broadcast(out, at, root, count, segment),
        (Call::Broadcast { root, count }, _) => tree::broadcast(out, at, root, count, 2),
        (Call::Multicast { root, to, count }, _) => multicast(out, shape.me, root, to, count),
        (Call::Reduce { root, count }, Chain) => ring::reduce(out, at, root, count, segment, ordered),
        (Call::Reduce { root, count }, _) => tree::reduce(out, at, root, count, 2, ordered),
        (Call::AllReduce { count }, TwoLevels) => levels::all_reduce(out, at, &hosts(), count, 4),
        (Call::AllReduce { count }, Halves) => doubling::all_reduce_by_halves(out, at, count),
        (Call::AllReduce { count }, Ring) => ring::all_reduce(out, at, count),
        (Call::AllReduce { count }, _) => doubling::all_reduce(out, at, count),
        (Call::ReduceScatter { counts }, Doubling) => doubling::reduce_scatter(out, at, counts),
        (Call::ReduceScatter { counts }, Ring) => ring::reduce_scatter(out, at, counts),
        (Call::ReduceScatter { counts }, Halves) => {
            doubling::reduce_scatter_by_halves(out, at, counts[0]);
        }
        (Call::ReduceScatter { counts }, _) => exchange::reduce_scatter(out, at, counts),
        (Call::Gather { root, count }, _) => tree::gather(out, at, root, count, 2),
        (Call::GatherV { root, mine, parts }, _) => tree::gather_v(out, at, root, mine, parts),
        (Call::Scatter { root, count }, _) => tree::scatter(out, at, root, count, 2),
        (Call::ScatterV { root, mine, parts }, _) => tree::scatter_v(out, at, root, mine, parts),
        (Call::AllGather { count }, Doubling) => doubling::all_gather(out, at, count),
        (Call::AllGather { count }, Bruck) => {
            doubling::all_gather_any(out, at, |rank| (rank * count, count));
        }
        (Call::AllGather { count }, _) => {
            let counts = vec![count; at.n];
            ring::all_gather(out, at, &counts, &ring::starts(&counts));
        }
        (Call::AllGatherV { parts }, Bruck) => doubling::all_gather_any(out, at, |rank| parts.of(rank)),
        (Call::AllGatherV { parts }, _) => ring::all_gather(out, at, parts.counts, parts.starts),
        (Call::AllToAll { count }, Bruck) => exchange::all_to_all_by_bits(out, at, count),
        (Call::AllToAll { count }, _) => {
            let counts = vec![count; at.n];
            let parts = Parts { counts: &counts, starts: &ring::starts(&counts) };
            exchange::all_to_all(out, at, parts, parts, 4);
        }
        (Call::AllToAllV { give, get }, _) => exchange::all_to_all(out, at, give, get, 4),
        (Call::Scan { count }, _) => doubling::scan(out, at, count),
        (Call::ExScan { count }, _) => doubling::exscan(out, at, count),
        (Call::Neighbours { from, to }, _) => exchange::neighbours(out, at, from, to),
        // With a list it is the other one.
        (Call::ReduceScatterBlock { .. }, _) => {}
    }
}

/// A tree over the root and those who are listed.
fn multicast(out: &mut Script, me: usize, root: usize, to: &Group, count: usize) {
    let only = Group::from_list(&[root as u32]).unwrap_or_else(|_| Group::empty());
    let all = only.union(to);
    if let Some(place) = all.rank(me as u32) {
        let rank = |v: usize| all.task(v).unwrap_or(0) as usize;
        tree::broadcast(out, Place { me: place, n: all.len(), rank: &rank, phase: 0 }, 0, count, 2);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
