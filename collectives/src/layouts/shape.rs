//! The shape of a collective on layouts: lengths, and the equivalent call on bytes, as if all parts
//! were packed one behind the other.

use crate::Call;
use crate::error::{CollectiveError, Result};
use lapis_schedules::exchange::Edge;
use lapis_schedules::tree::Parts;
use lapis_schedules::{Buffer, Span};

/// Which collective.
pub(super) enum What {
    AllToAll,
    AllGather,
    Broadcast {
        root: usize,
    },
    Gather {
        root: usize,
    },
    Scatter {
        root: usize,
    },
    /// The members at the other ends of edges: of what goes, and of what comes.
    Neighbours {
        to: Vec<usize>,
        from: Vec<usize>,
    },
}

impl What {
    /// The call's name as people know it.
    fn name(&self) -> &'static str {
        match self {
            Self::AllToAll => "alltoallw",
            Self::AllGather => "allgatherw",
            Self::Broadcast { .. } => "bcastw",
            Self::Gather { .. } => "gatherw",
            Self::Scatter { .. } => "scatterw",
            Self::Neighbours { .. } => "neighboursw",
        }
    }
}

/// Parts one behind the other, as if they were packed.
struct Packed {
    counts: Vec<usize>,
    starts: Vec<usize>,
    len: usize,
}

impl Packed {
    /// Lengths that are too many for memory are no call.
    fn of(lens: impl Iterator<Item = usize>) -> Option<Self> {
        let counts: Vec<usize> = lens.collect();
        let mut len = 0usize;
        let mut starts = Vec::with_capacity(counts.len());
        for count in &counts {
            starts.push(len);
            len = len.checked_add(*count).filter(|len| isize::try_from(*len).is_ok())?;
        }
        Some(Self { counts, starts, len })
    }

    fn parts(&self) -> Parts<'_> {
        Parts { counts: &self.counts, starts: &self.starts }
    }

    /// The part that has a byte, and which of the part's it is. Parts of no bytes have none.
    fn part(&self, at: usize) -> (usize, usize) {
        let part = self.starts.partition_point(|start| *start <= at) - 1;
        (part, at - self.starts[part])
    }

    fn edges(&self, members: &[usize]) -> Vec<Edge> {
        let edge = |(member, (start, len)): (&usize, (&usize, &usize))| Edge {
            member: *member,
            start: *start,
            len: *len,
        };
        members.iter().zip(self.starts.iter().zip(&self.counts)).map(edge).collect()
    }
}

/// A call on layouts as the member at rank `me` makes it.
pub(super) struct Shape {
    what: What,
    me: usize,
    given: Packed,
    got: Packed,
    /// Of neighbours: what goes, and what comes.
    edges: [Vec<Edge>; 2],
}

impl Shape {
    /// Of the member at rank `me` of `n`, which gives and gets so many bytes in each part.
    pub(super) fn of(
        what: What,
        (me, n): (usize, usize),
        gives: impl Iterator<Item = usize> + Clone,
        gets: impl Iterator<Item = usize> + Clone,
    ) -> Result<Self> {
        let (Some(given), Some(got)) = (Packed::of(gives.clone()), Packed::of(gets.clone())) else {
            let count = gives.chain(gets).max().unwrap_or(0);
            return Err(CollectiveError::Overflow { call: what.name(), count, size: 1, members: n });
        };
        let edges = match &what {
            What::Neighbours { to, from } => [given.edges(to), got.edges(from)],
            _ => [Vec::new(), Vec::new()],
        };
        let shape = Self { what, me, given, got, edges };
        shape.call().check(me, n, 1)?;
        if let What::AllGather = shape.what
            && shape.given.len != shape.got.counts[me]
        {
            let (given, got) = (shape.given.len, shape.got.counts[me]);
            return Err(CollectiveError::OwnPart { call: shape.what.name(), given, got });
        }
        Ok(shape)
    }

    /// The call of bytes.
    pub(super) fn call(&self) -> Call<'_> {
        let (given, got) = (&self.given, &self.got);
        let at_root = |root: usize, packed| (root == self.me).then_some(packed);
        match self.what {
            What::AllToAll => Call::AllToAllV { give: given.parts(), get: got.parts() },
            What::AllGather => Call::AllGatherV { parts: got.parts() },
            What::Broadcast { root } => Call::Broadcast { root, count: given.len.max(got.len) },
            What::Gather { root } => {
                Call::GatherV { root, mine: given.len, parts: at_root(root, got.parts()) }
            }
            What::Scatter { root } => {
                Call::ScatterV { root, mine: got.len, parts: at_root(root, given.parts()) }
            }
            What::Neighbours { .. } => Call::Neighbours { from: &self.edges[1], to: &self.edges[0] },
        }
    }

    /// Whether what is given stands where the output begins, as a broadcast has it.
    pub(super) fn gives_output(&self) -> bool {
        matches!(self.what, What::Broadcast { .. })
    }

    /// Bytes of input and output, packed.
    pub(super) fn lens(&self) -> (usize, usize) {
        match self.gives_output() {
            true => (0, self.given.len.max(self.got.len)),
            false => (self.given.len, self.got.len),
        }
    }

    /// Where the parts that are given begin, packed.
    pub(super) fn given_at(&self) -> &[usize] {
        &self.given.starts
    }

    /// Where the parts that are got begin, packed.
    pub(super) fn got_at(&self) -> &[usize] {
        &self.got.starts
    }

    /// The given part in which a span is that is read, and where in it. Rounds read of the output
    /// what the caller itself has put there.
    pub(super) fn read_at(&self, span: Span) -> (usize, usize) {
        match (span.buffer, &self.what) {
            (Buffer::Output, What::AllGather) => (0, span.start - self.got.starts[self.me]),
            _ => self.given.part(span.start),
        }
    }

    /// The part that is got in which a span is that is written, and where in it.
    pub(super) fn write_at(&self, span: Span) -> (usize, usize) {
        debug_assert_eq!(span.buffer, Buffer::Output);
        self.got.part(span.start)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_found_in_its_part_though_others_have_none() {
        let packed = Packed::of([0, 3, 0, 0, 2, 0].into_iter()).expect("short");
        assert_eq!((packed.len, &packed.starts[..]), (5, &[0, 0, 3, 3, 3, 5][..]));
        assert_eq!([0, 2, 3, 4].map(|at| packed.part(at)), [(1, 0), (1, 2), (4, 0), (4, 1)]);
        assert!(Packed::of([usize::MAX, 1].into_iter()).is_none());
        assert!(Packed::of([isize::MAX as usize, 1].into_iter()).is_none());
    }

    #[test]
    fn what_rounds_read_of_the_output_is_what_the_caller_gives() {
        let lens = [5, 0, 7, 2];
        let shape = |what, gives: &[usize], gets: &[usize]| {
            Shape::of(what, (2, 4), gives.iter().copied(), gets.iter().copied()).unwrap()
        };
        let gathered = shape(What::AllGather, &[7], &lens);
        assert_eq!(gathered.read_at(Span::input(3, 1)), (0, 3));
        assert_eq!(gathered.read_at(Span::output(5 + 3, 1)), (0, 3));
        assert_eq!(gathered.write_at(Span::output(12, 2)), (3, 0));
        let cast = shape(What::Broadcast { root: 2 }, &[9], &[]);
        assert_eq!((cast.read_at(Span::output(4, 1)), cast.lens()), ((0, 4), (0, 9)));
    }

    #[test]
    fn lists_mean_something_at_the_root_alone() {
        let of = |root: usize, gets: &[usize]| {
            Shape::of(What::Gather { root }, (1, 3), [4].into_iter(), gets.iter().copied())
        };
        assert!(of(0, &[]).is_ok());
        assert!(matches!(of(1, &[]), Err(CollectiveError::Parts { given: 0, members: 3 })));
        assert!(matches!(of(1, &[4, 5, 4]), Err(CollectiveError::OwnPart { given: 4, got: 5, .. })));
        assert!(of(1, &[0, 4, 9]).is_ok());
    }
}
