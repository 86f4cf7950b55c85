//! Collectives as lists of steps: for a given operation, member and number of members, the ordered
//! list of what the member sends, receives and folds. Pure functions: no context, no time, no
//! memory but the lists.
//!
//! Data is counted in elements, whatever they are. A schedule speaks of three buffers: the caller's
//! [input](Buffer::Input), the caller's [output](Buffer::Output) and [scratch](Buffer::Scratch)
//! that the executor provides. Steps run in order. Sends and receives are started at their steps
//! and awaited by [`Step::Wait`] and [`Step::Drain`]: those between two waits are in progress at
//! the same time. A message is identified by its sender, its receiver and its tag; each pair uses a
//! tag once.
//!
//! The tests of this module check for every schedule that each send meets a receive of its length;
//! that all members end whatever is slow, even if a send ends only when its receiver is ready; that
//! no buffer is overwritten while it is in use; that the results are right; and that operands are
//! folded in the order of ranks where this is promised.

pub mod doubling;
pub mod exchange;
#[cfg(any(test, feature = "testing"))]
pub mod fuzz_entry;
pub mod group;
pub mod levels;
pub mod model;
pub mod ring;
pub mod tree;
#[cfg(any(test, feature = "testing"))]
pub mod trial;
pub mod two_trees;

/// Memory that steps speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// What the caller gives. Never written.
    Input,
    /// What the caller gets.
    Output,
    /// The executor's own.
    Scratch,
}

/// A range of elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which buffer.
    pub buffer: Buffer,
    /// First element.
    pub start: usize,
    /// How many.
    pub len: usize,
}

impl Span {
    /// Nothing.
    pub const NONE: Self = Self { buffer: Buffer::Scratch, start: 0, len: 0 };

    /// Elements of the input.
    pub fn input(start: usize, len: usize) -> Self {
        Self { buffer: Buffer::Input, start, len }
    }

    /// Elements of the output.
    pub fn output(start: usize, len: usize) -> Self {
        Self { buffer: Buffer::Output, start, len }
    }

    /// Elements of the scratch.
    pub fn scratch(start: usize, len: usize) -> Self {
        Self { buffer: Buffer::Scratch, start, len }
    }

    /// A part of it.
    #[must_use]
    pub fn part(self, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= self.len);
        Self { start: self.start + start, len, ..self }
    }

    /// Whether both have an element in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.buffer == other.buffer
            && self.len > 0
            && other.len > 0
            && self.start < other.start + other.len
            && other.start < self.start + self.len
    }
}

/// On which side of what is there an operand is folded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `into = from ∘ into`.
    Before,
    /// `into = into ∘ from`.
    After,
}

/// One thing that a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begins to send.
    Send {
        /// To whom.
        to: u32,
        /// The message's tag.
        tag: u32,
        /// What.
        data: Span,
    },
    /// Begins to receive.
    Receive {
        /// From whom.
        from: u32,
        /// The message's tag.
        tag: u32,
        /// Where it goes.
        into: Span,
    },
    /// Waits for all receives that were begun.
    Wait,
    /// Waits for all sends that were begun: their memory may be changed again.
    Drain,
    /// Looks at what has come, which is for whoever runs the steps to understand.
    Look,
    /// Copies.
    Copy {
        /// From where.
        from: Span,
        /// To where; of the same length.
        into: Span,
    },
    /// Combines element by element.
    Fold {
        /// The operand.
        from: Span,
        /// The other operand and the result; of the same length.
        into: Span,
        /// Where the operand stands.
        side: Side,
    },
}

/// A member's steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// In order.
    pub steps: Vec<Step>,
    /// Elements of scratch that they use.
    pub scratch: usize,
}

/// Where in a group a schedule runs: it may be a part of the group, in another order, and one of
/// several phases.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The member whose steps are wanted, among those that take part.
    pub me: usize,
    /// How many take part.
    pub n: usize,
    /// Their ranks in the group.
    pub rank: &'a dyn Fn(usize) -> usize,
    /// Keeps the tags of phases apart: below 16.
    pub phase: u32,
}

/// Bits of a tag below the phase.
const PHASE: u32 = 28;

/// The phase that a tag belongs to, and the tag within it.
pub fn phase_and_tag(tag: u32) -> (u32, u32) {
    (tag >> PHASE, tag & ((1 << PHASE) - 1))
}

impl<'a> Place<'a> {
    /// All members of a group of `n`.
    pub fn all(me: usize, n: usize) -> Place<'static> {
        Place { me, n, rank: &|rank| rank, phase: 0 }
    }

    /// The same in another phase.
    #[must_use]
    pub fn phase(self, phase: u32) -> Self {
        Place { phase, ..self }
    }

    /// The member `distance` further on, around the end.
    fn after(&self, distance: usize) -> usize {
        (self.me + distance % self.n) % self.n
    }

    /// The member `distance` before, around the beginning.
    fn before(&self, distance: usize) -> usize {
        (self.me + self.n - distance % self.n) % self.n
    }

    fn tag(&self, tag: usize) -> u32 {
        debug_assert!(tag < 1 << PHASE);
        self.phase << PHASE | tag as u32
    }
}

impl Script {
    fn send(&mut self, at: Place<'_>, to: usize, tag: usize, data: Span) {
        self.steps.push(Step::Send { to: (at.rank)(to) as u32, tag: at.tag(tag), data });
    }

    fn receive(&mut self, at: Place<'_>, from: usize, tag: usize, into: Span) {
        self.steps.push(Step::Receive { from: (at.rank)(from) as u32, tag: at.tag(tag), into });
    }

    fn wait(&mut self) {
        self.steps.push(Step::Wait);
    }

    fn drain(&mut self) {
        self.steps.push(Step::Drain);
    }

    fn copy(&mut self, from: Span, into: Span) {
        debug_assert_eq!(from.len, into.len);
        if from.len > 0 && from != into {
            self.steps.push(Step::Copy { from, into });
        }
    }

    fn fold(&mut self, from: Span, into: Span, side: Side) {
        debug_assert_eq!(from.len, into.len);
        if from.len > 0 {
            self.steps.push(Step::Fold { from, into, side });
        }
    }

    /// So many elements of scratch, after those that are in use.
    fn room(&mut self, len: usize) -> Span {
        self.scratch += len;
        Span::scratch(self.scratch - len, len)
    }

    /// Ends it: nothing is under way any more.
    fn end(&mut self) {
        self.drain();
    }
}

/// Cuts `count` elements into `parts` of nearly equal length: where part `i` begins. Part `parts`
/// begins at the end.
pub(crate) fn cut(count: usize, parts: usize, i: usize) -> usize {
    (count as u128 * i as u128 / parts as u128) as usize
}

/// Part `i` of `parts` of a span.
pub fn piece(whole: Span, parts: usize, i: usize) -> Span {
    let start = cut(whole.len, parts, i);
    whole.part(start, cut(whole.len, parts, i + 1) - start)
}

/// Parts `from` to `to` (not included).
pub(crate) fn pieces(whole: Span, parts: usize, from: usize, to: usize) -> Span {
    let start = cut(whole.len, parts, from);
    whole.part(start, cut(whole.len, parts, to) - start)
}

/// In how many parts of at most `most` elements a span is sent; at least one.
pub(crate) fn segments(count: usize, most: usize) -> usize {
    count.div_ceil(most.max(1)).max(1)
}

#[cfg(all(test, not(loom)))]
mod tests;
