//! The description of a collective call, the same for blocking, nonblocking and persistent forms,
//! from Rust and from C.

use crate::element::{Operator, Type};
use crate::error::{CollectiveError, Result};
use crate::signature::{NAMES, Signature, digest};
use lapis_schedules::exchange::Edge;
use lapis_schedules::group::Group;
use lapis_schedules::tree::Parts;

/// A collective operation. Counts are in elements.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// Barrier: no member continues before all have called.
    Barrier,
    /// Broadcast: all outputs become the root's.
    Broadcast {
        /// The root.
        root: usize,
        /// Elements.
        count: usize,
    },
    /// Multicast: the outputs of some ranks become the root's, which may be one of them. All
    /// members call; the others do nothing.
    Multicast {
        /// The root.
        root: usize,
        /// The receivers, as ranks of the team.
        to: &'a Group,
        /// Elements.
        count: usize,
    },
    /// Reduce: the root's output becomes all inputs, folded.
    Reduce {
        /// The root.
        root: usize,
        /// Elements.
        count: usize,
    },
    /// Allreduce: all outputs become all inputs, folded.
    AllReduce {
        /// Elements.
        count: usize,
    },
    /// Reduce_scatter: each output becomes its member's part of all inputs, folded.
    ReduceScatter {
        /// Elements of each part, by rank.
        counts: &'a [usize],
    },
    /// Reduce_scatter with parts of equal lengths.
    ReduceScatterBlock {
        /// Elements of each part.
        count: usize,
    },
    /// Gather: the root's output becomes all inputs, by rank.
    Gather {
        /// The root.
        root: usize,
        /// Elements of each input.
        count: usize,
    },
    /// The same with inputs of any lengths.
    GatherV {
        /// The root.
        root: usize,
        /// Elements of the caller's input.
        mine: usize,
        /// At the root: the places of the parts in the output.
        parts: Option<Parts<'a>>,
    },
    /// Scatter: each output becomes its member's part of the root's input.
    Scatter {
        /// The root.
        root: usize,
        /// Elements of each part.
        count: usize,
    },
    /// The same with parts of any lengths.
    ScatterV {
        /// The root.
        root: usize,
        /// Elements of the caller's output.
        mine: usize,
        /// At the root: the places of the parts in the input.
        parts: Option<Parts<'a>>,
    },
    /// Allgather: all outputs become all inputs, by rank.
    AllGather {
        /// Elements of each input.
        count: usize,
    },
    /// The same with inputs of any lengths.
    AllGatherV {
        /// The places of the parts in the output.
        parts: Parts<'a>,
    },
    /// Alltoall: part i of the output becomes the caller's part of member i's input.
    AllToAll {
        /// Elements of each part.
        count: usize,
    },
    /// The same with parts of any lengths.
    AllToAllV {
        /// Parts of the input.
        give: Parts<'a>,
        /// Parts of the output.
        get: Parts<'a>,
    },
    /// Inclusive scan: the output becomes the inputs up to the caller's, folded in order.
    Scan {
        /// Elements.
        count: usize,
    },
    /// Exclusive scan: the output becomes the inputs before the caller's, folded in order. That of
    /// rank 0 is unchanged.
    ExScan {
        /// Elements.
        count: usize,
    },
    /// Neighbour exchange along the edges of a graph.
    Neighbours {
        /// Incoming edges.
        from: &'a [Edge],
        /// Outgoing edges.
        to: &'a [Edge],
    },
}

/// A call's buffers. They are equal for calls in place.
pub(crate) struct Given {
    pub(crate) input: *const u8,
    pub(crate) output: *mut u8,
    /// Elements of each, as far as known: more than needed if a layer above vouches for the
    /// lengths.
    pub(crate) lens: (usize, usize),
}

impl Call<'_> {
    /// A small number for messages.
    #[inline(always)]
    pub(crate) fn code(&self) -> u64 {
        match self {
            Self::Barrier => 0,
            Self::Broadcast { .. } => 1,
            Self::Multicast { .. } => 2,
            Self::Reduce { .. } => 3,
            Self::AllReduce { .. } => 4,
            Self::ReduceScatter { .. } => 5,
            Self::Gather { .. } => 6,
            Self::GatherV { .. } => 7,
            Self::Scatter { .. } => 8,
            Self::ScatterV { .. } => 9,
            Self::AllGather { .. } => 10,
            Self::AllGatherV { .. } => 11,
            Self::AllToAll { .. } => 12,
            Self::AllToAllV { .. } => 13,
            Self::Scan { .. } => 14,
            Self::ExScan { .. } => 15,
            Self::Neighbours { .. } => 16,
            Self::ReduceScatterBlock { .. } => 17,
        }
    }

    /// The operation's name.
    #[inline(always)]
    pub fn name(&self) -> &'static str {
        NAMES[self.code() as usize]
    }

    /// Whether it folds.
    pub fn folds(&self) -> bool {
        matches!(
            self,
            Self::Reduce { .. }
                | Self::AllReduce { .. }
                | Self::ReduceScatter { .. }
                | Self::ReduceScatterBlock { .. }
                | Self::Scan { .. }
                | Self::ExScan { .. }
        )
    }

    /// The root, for those that have one.
    #[inline(always)]
    pub fn root(&self) -> Option<usize> {
        match self {
            Self::Broadcast { root, .. }
            | Self::Multicast { root, .. }
            | Self::Reduce { root, .. }
            | Self::Gather { root, .. }
            | Self::GatherV { root, .. }
            | Self::Scatter { root, .. }
            | Self::ScatterV { root, .. } => Some(*root),
            _ => None,
        }
    }

    /// The list of lengths by rank that all members must give alike.
    pub(crate) fn lengths(&self) -> Option<&[usize]> {
        match self {
            Self::ReduceScatter { counts } | Self::AllGatherV { parts: Parts { counts, .. } } => Some(counts),
            _ => None,
        }
    }

    /// The count that must be equal at all members, if there is one.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Broadcast { count, .. }
            | Self::Multicast { count, .. }
            | Self::Reduce { count, .. }
            | Self::AllReduce { count }
            | Self::ReduceScatterBlock { count }
            | Self::Gather { count, .. }
            | Self::Scatter { count, .. }
            | Self::AllGather { count }
            | Self::AllToAll { count }
            | Self::Scan { count }
            | Self::ExScan { count } => *count as u64,
            Self::ReduceScatter { counts } => counts.iter().sum::<usize>() as u64,
            _ => 0,
        }
    }
}

impl Signature {
    pub(crate) fn of(call: &Call<'_>, of: Type, by: Option<Operator>) -> Self {
        let (bytes, root) = match call.lengths() {
            Some(counts) => digest(counts.iter().map(|count| count.wrapping_mul(of.size()) as u64)),
            None => (call.count().wrapping_mul(of.size() as u64), call.root().unwrap_or(0) as u64),
        };
        // Moving data, members may count in other elements as long as the bytes agree.
        Self::new(call.code(), call.folds().then_some(of), by, root, bytes)
    }
}

/// How far places reach, of a start and a length each; those `without` a length, too, or not.
fn extent(places: impl Iterator<Item = (usize, usize)>, without: bool) -> usize {
    let counts = places.filter(|(_, len)| without || *len > 0);
    counts.map(|(start, len)| start.saturating_add(len)).max().unwrap_or(0)
}

/// The lengths of edges between a member and itself.
fn own_edges(edges: &[Edge], me: usize) -> impl Iterator<Item = usize> {
    edges.iter().filter(move |edge| edge.member == me).map(|edge| edge.len)
}

/// The lengths at both ends of edges; where one end is missing, no data is.
fn pairs(
    mut given: impl Iterator<Item = usize>,
    mut got: impl Iterator<Item = usize>,
) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || match (given.next(), got.next()) {
        (None, None) => None,
        (given, got) => Some((given.unwrap_or(0), got.unwrap_or(0))),
    })
}

impl Call<'_> {
    /// The same, if it is described by its root and count alone.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<Call<'static>> {
        Some(match *self {
            Self::Barrier => Call::Barrier,
            Self::Broadcast { root, count } => Call::Broadcast { root, count },
            Self::Reduce { root, count } => Call::Reduce { root, count },
            Self::AllReduce { count } => Call::AllReduce { count },
            Self::ReduceScatterBlock { count } => Call::ReduceScatterBlock { count },
            Self::Gather { root, count } => Call::Gather { root, count },
            Self::Scatter { root, count } => Call::Scatter { root, count },
            Self::AllGather { count } => Call::AllGather { count },
            Self::AllToAll { count } => Call::AllToAll { count },
            Self::Scan { count } => Call::Scan { count },
            Self::ExScan { count } => Call::ExScan { count },
            _ => return None,
        })
    }

    /// Calls `f` with the same, among `n` members, with a list of the parts' lengths.
    pub(crate) fn with_list<R>(&self, n: usize, f: impl FnOnce(&Call<'_>) -> R) -> R {
        match *self {
            Self::ReduceScatterBlock { count } => f(&Call::ReduceScatter { counts: &vec![count; n] }),
            _ => f(self),
        }
    }

    /// The same of elements that are a `scale`th as long; those of lists stay.
    pub(crate) fn scaled(self, scale: usize) -> Self {
        match self {
            Self::Broadcast { root, count } => Self::Broadcast { root, count: count * scale },
            Self::Multicast { root, to, count } => Self::Multicast { root, to, count: count * scale },
            Self::Gather { root, count } => Self::Gather { root, count: count * scale },
            Self::Scatter { root, count } => Self::Scatter { root, count: count * scale },
            Self::AllGather { count } => Self::AllGather { count: count * scale },
            Self::AllToAll { count } => Self::AllToAll { count: count * scale },
            other => other,
        }
    }

    /// Whether parts of the input are read when parts of the output have been written.
    pub(crate) fn reads_while_writing(&self) -> bool {
        matches!(self, Self::AllToAll { .. } | Self::AllToAllV { .. } | Self::Neighbours { .. })
    }

    /// The elements of input and output that the member at rank `me` of `n` needs. The call has
    /// been checked.
    pub fn needs(&self, me: usize, n: usize) -> (usize, usize) {
        self.reaches(me, n, false)
    }

    /// The same; the places of parts and edges that have no elements count, or not.
    pub(crate) fn reaches(&self, me: usize, n: usize, without: bool) -> (usize, usize) {
        let at = |root: usize, len: usize| if me == root { len } else { 0 };
        let end = |edges: &[Edge]| extent(edges.iter().map(|edge| (edge.start, edge.len)), without);
        let extent = |parts: &Parts<'_>| {
            extent(parts.starts.iter().copied().zip(parts.counts.iter().copied()), without)
        };
        let known = |parts: &Option<Parts<'_>>| parts.as_ref().map_or(0, extent);
        match *self {
            Self::Barrier => (0, 0),
            Self::Broadcast { count, .. } => (0, count),
            Self::Multicast { root, to, count } => {
                let takes_part = me == root || to.rank(me as u32).is_some();
                (0, if takes_part { count } else { 0 })
            }
            Self::Reduce { root, count } => (count, at(root, count)),
            Self::AllReduce { count } | Self::Scan { count } | Self::ExScan { count } => (count, count),
            Self::ReduceScatter { counts } => (counts.iter().sum(), counts[me]),
            Self::ReduceScatterBlock { count } => (n.saturating_mul(count), count),
            Self::Gather { root, count } => (count, at(root, n.saturating_mul(count))),
            Self::GatherV { root, mine, ref parts } => (mine, at(root, known(parts))),
            Self::Scatter { root, count } => (at(root, n.saturating_mul(count)), count),
            Self::ScatterV { root, mine, ref parts } => (at(root, known(parts)), mine),
            Self::AllGather { count } => (count, n.saturating_mul(count)),
            Self::AllGatherV { ref parts } => (parts.counts[me], extent(parts)),
            Self::AllToAll { count } => (n.saturating_mul(count), n.saturating_mul(count)),
            Self::AllToAllV { ref give, ref get } => (extent(give), extent(get)),
            Self::Neighbours { from, to } => (end(to), end(from)),
        }
    }

    /// Checks the call for the member at rank `me` of `n`, with elements of `size` bytes.
    pub(crate) fn check(&self, me: usize, n: usize, size: usize) -> Result<()> {
        if let Some(root) = self.root().filter(|root| *root >= n) {
            return Err(CollectiveError::Root { root, members: n });
        }
        let call = self.name();
        let own = |given: usize, got: usize| match given == got {
            true => Ok(()),
            false => Err(CollectiveError::OwnPart { call, given, got }),
        };
        let lists = |lists: &[&[usize]]| match lists.iter().find(|list| list.len() != n) {
            Some(list) => Err(CollectiveError::Parts { given: list.len(), members: n }),
            None => Ok(()),
        };
        let both = |parts: &Parts<'_>| lists(&[parts.counts, parts.starts]);
        match self {
            Self::ReduceScatter { counts } => lists(&[counts])?,
            Self::GatherV { root, parts, .. } | Self::ScatterV { root, parts, .. } if *root == me => {
                let parts = parts.as_ref().unwrap_or(&Parts { counts: &[], starts: &[] });
                both(parts)?;
                match self {
                    Self::GatherV { mine, .. } => own(*mine, parts.counts[me])?,
                    Self::ScatterV { mine, .. } => own(parts.counts[me], *mine)?,
                    _ => {}
                }
            }
            Self::AllGatherV { parts } => both(parts)?,
            Self::AllToAllV { give, get } => {
                both(give)?;
                both(get)?;
                own(give.counts[me], get.counts[me])?;
            }
            Self::Neighbours { from, to } => {
                if let Some(edge) = from.iter().chain(*to).find(|edge| edge.member >= n) {
                    return Err(CollectiveError::Edge { rank: edge.member, members: n });
                }
                pairs(own_edges(to, me), own_edges(from, me)).try_for_each(|(given, got)| own(given, got))?;
            }
            Self::Multicast { to, .. } => {
                if let Some(rank) = to.iter().find(|rank| *rank as usize >= n) {
                    return Err(CollectiveError::Root { root: rank as usize, members: n });
                }
            }
            _ => {}
        }
        let sum = |list: &[usize]| list.iter().try_fold(0usize, |sum, count| sum.checked_add(*count));
        let total =
            |count: usize| count.checked_mul(size)?.checked_mul(n).filter(|b| *b <= isize::MAX as usize);
        let count = match self.lengths().map_or(Some(0), sum) {
            Some(sum) => {
                // Places without elements are computed, too.
                let (input, output) = self.reaches(me, n, true);
                (self.count() as usize).max(sum / n).max(input / n).max(output / n)
            }
            None => usize::MAX / n,
        };
        if total(count).is_none() {
            return Err(CollectiveError::Overflow { call: self.name(), count, size, members: n });
        }
        Ok(())
    }

    /// Checks that buffers of these lengths, in elements, suffice.
    pub(crate) fn check_buffers(
        &self,
        me: usize,
        n: usize,
        size: usize,
        input: usize,
        output: usize,
    ) -> Result<()> {
        self.check(me, n, size)?;
        let (needs_input, needs_output) = self.needs(me, n);
        for (what, needed, given) in [("input", needs_input, input), ("output", needs_output, output)] {
            if given < needed {
                return Err(CollectiveError::Buffer { call: self.name(), what, needed, given });
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use lapis_schedules::tree::Parts;

    fn gathered(counts: &[usize], of: Type) -> Signature {
        Signature::of(&Call::AllGatherV { parts: Parts { counts, starts: &[] } }, of, None)
    }

    #[test]
    fn lists_of_lengths_are_told_from_each_other_and_compared_in_bytes() {
        let lists: [&[usize]; 7] = [&[], &[0], &[8, 8, 8], &[9, 6, 9], &[8, 8, 9], &[9, 8, 8], &[24, 0, 0]];
        for (at, one) in lists.iter().enumerate() {
            for other in &lists[at + 1..] {
                let (one, other) = (gathered(one, Type::U8), gathered(other, Type::U8));
                assert!(one.differs_in_lengths(other), "{one}, {other}");
            }
        }
        assert_eq!(gathered(&[1, 0, 3], Type::U64), gathered(&[8, 0, 24], Type::U8));
        let told = gathered(&[1, 0, 3], Type::U64);
        assert!(told.is_of([8, 0, 24].into_iter()) && !told.is_of([8, 24, 0].into_iter()));
        assert!(format!("{told}").starts_with("allgatherv of 32 bytes in all, lengths #"), "{told}");
    }

    #[test]
    fn edges_between_a_member_and_itself_have_two_ends_of_equal_lengths() {
        let edges = |lens: &[usize]| -> Vec<Edge> {
            let own = lens.iter().map(|len| Edge { member: 1, start: 0, len: *len });
            own.chain([Edge { member: 0, start: 0, len: 7 + lens.len() }]).collect()
        };
        let check = |to: &[usize], from: &[usize]| {
            let (to, from) = (edges(to), edges(from));
            let call = Call::Neighbours { to: &to, from: &from };
            match call.check(1, 2, 1) {
                Err(CollectiveError::OwnPart { given, got, .. }) => Some((given, got)),
                checked => checked.map(|()| None).expect("nothing else is wrong"),
            }
        };
        assert_eq!(check(&[8, 3], &[8, 3]), None);
        assert_eq!(check(&[2000], &[8]), Some((2000, 8)));
        assert_eq!(check(&[8, 3], &[3, 8]), Some((8, 3)));
        assert_eq!((check(&[8, 3], &[8]), check(&[], &[5])), (Some((3, 0)), Some((0, 5))));
        assert_eq!(check(&[8, 0], &[8]), None, "an edge that has nothing to carry");
    }

    #[test]
    fn who_takes_no_part_in_a_multicast_and_parts_without_elements_need_no_memory() {
        let to = Group::from_list(&[1, 3]).expect("two members");
        let call = Call::Multicast { root: 2, to: &to, count: 5 };
        assert_eq!([0, 1, 2, 3].map(|me| call.needs(me, 4).1), [0, 5, 5, 5]);
        let parts = Parts { counts: &[0, 2, 0], starts: &[90, 3, 7] };
        let edge = |start, len| Edge { member: 0, start, len };
        let edges = [edge(40, 0), edge(1, 2)];
        assert_eq!(Call::AllGatherV { parts }.needs(1, 3), (2, 5));
        assert_eq!(Call::AllToAllV { give: parts, get: parts }.needs(1, 3), (5, 5));
        assert_eq!(Call::GatherV { root: 1, mine: 2, parts: Some(parts) }.needs(1, 3), (2, 5));
        assert_eq!(Call::Neighbours { from: &edges, to: &[edge(9, 0)] }.needs(0, 1), (0, 3));
        // Their places are computed all the same.
        let wild = Parts { counts: &[0, 2, 0], starts: &[usize::MAX / 2, 3, 7] };
        let refused = Call::AllToAllV { give: wild, get: parts }.check(1, 3, 4);
        assert!(matches!(refused, Err(CollectiveError::Overflow { .. })), "{refused:?}");
    }

    #[test]
    fn calls_without_such_lists_differ_in_more_than_lengths() {
        let barrier = Signature::of(&Call::Barrier, Type::U8, None);
        let counts = [1, 2];
        let sum = |of| Signature::of(&Call::ReduceScatter { counts: &counts }, of, Some(Operator::Sum));
        assert!(!barrier.differs_in_lengths(gathered(&[], Type::U8)));
        assert!(!gathered(&[3], Type::U8).differs_in_lengths(barrier));
        assert!(!sum(Type::U32).differs_in_lengths(sum(Type::I32)), "their types differ");
        assert!(!barrier.is_of(std::iter::empty()));
    }
}
