//! Collectives through memory that all members map: rounds instead of messages. Pure functions, as
//! the other schedules.
//!
//! In each round every member puts some of its data where all can read it (its *area*), publishes
//! it, and takes what it needs from the areas of others. Each member uses several areas in rotation
//! ([`areas`]), and [`lines`] for data that fits beside the flag. With s places in rotation,
//! this rule keeps data intact: a member begins round k only when its [`Readers`] have begun round
//! k − s + 1, because then they have ended the round that used the same place. So the members of a
//! chain may each be s − 1 rounds ahead of the next one, and the first one that much more of the
//! last. All members have the same number of rounds, even if they have nothing to put or to take.
//!
//! If all members of a large team take from all, they *meet*: a member goes on when a single word
//! says that all have put their data, and checks no flags. Short data then lies side by side in one
//! *row*. Two rows are used alternately: a member that puts data for a meeting has seen the
//! previous meeting open, so all members have ended the one before that. The last member to arrive
//! computes the result of an allreduce for all, and puts it behind the row.
//!
//! Operands are always folded in the order of ranks.

mod compared;
mod places;
mod reductions;
mod shown;
mod unequal;
mod wide;
mod windows;

pub(crate) use places::{Spot, area, areas, lines, needed, share};

use crate::call::Call;
use lapis_schedules::tree::Parts;
use lapis_schedules::{Side, Span};
use windows::parts;

/// Reductions of at least so many bytes are divided among [`DIVIDE_MEMBERS`] members and more.
const DIVIDE_FROM: usize = 4 << 10;

/// With fewer members it is fastest if all fold everything.
const DIVIDE_MEMBERS: usize = 4;

/// In teams of so many members at most, a member folds its own operand from where it is. With more
/// it takes it from its area: the first operand is copied to the result, which in place overwrites
/// the member's own.
const KEEP_OWN_MEMBERS: usize = 2;

/// Teams of at least so many members meet: checking all flags at each member takes longer.
pub(crate) const MEET_MEMBERS: usize = 8;

/// Data that a member puts on its board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// The data.
    pub from: Span,
    /// The offset in its area, in elements.
    pub at: usize,
}

/// Data that a member takes from an area, which may be its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Take {
    /// The member.
    pub member: usize,
    /// The offset in its area, in elements.
    pub at: usize,
    /// The destination. If it has no length, the member is only waited for.
    pub into: Span,
    /// Whether the data replaces what is there or is folded with it, and on which side.
    pub fold: Option<Side>,
    /// In the first round of unequal parts: the bytes that the member must announce for this one.
    pub told: Option<u64>,
    /// The number of members to take from, beginning with that one, if no flags are checked; and
    /// the distance of their data in the destination, in elements.
    pub many: (usize, usize),
    /// The stores bypass the caches.
    pub past: bool,
}

impl Take {
    /// From one member, replacing what is there.
    pub(crate) fn of(member: usize, at: usize, into: Span) -> Self {
        Self { member, at, into, fold: None, told: None, many: (1, 0), past: false }
    }

    /// From each member.
    #[inline(always)]
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        let (many, step) = self.many;
        (0..many).map(move |i| {
            let into = Span { start: self.into.start + i * step, ..self.into };
            Self { member: self.member + i, into, many: (1, 0), ..self }
        })
    }
}

/// What a member does in a round: it puts, publishes, copies within its own memory, and takes, in
/// this order. If it [passes on](Plan::passes_on) what it has taken, it copies, takes, puts and
/// publishes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Data for its area.
    pub puts: Vec<Put>,
    /// Words behind the data, at the end of the area (see [`Plan::told_at`]).
    pub tells: Vec<u64>,
    /// Copies within its own memory: source and destination.
    pub copies: Vec<(Span, Span)>,
    /// Data from areas.
    pub takes: Vec<Take>,
}

/// Which members wait for which in the rounds of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All wait for all.
    All,
    /// Some members wait for others, which may run ahead.
    OneWay,
    /// Each member waits for the one before it, and in the same round puts the result for the next.
    Chain,
}

/// Which members read what a member puts on its board, in all rounds of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Readers {
    #[default]
    All,
    One(usize),
    Nobody,
}

impl Readers {
    /// Those of member `me` of `n`. `divided`: members fold pieces for each other.
    fn of(call: &Call<'_>, me: usize, n: usize, divided: bool) -> Self {
        match *call {
            _ if divided => Self::All,
            Call::Scan { .. } | Call::ExScan { .. } if me + 1 == n => Self::Nobody,
            Call::Scan { .. } | Call::ExScan { .. } => Self::One(me + 1),
            Call::Broadcast { root, .. }
            | Call::Multicast { root, .. }
            | Call::Scatter { root, .. }
            | Call::ScatterV { root, .. }
                if root != me =>
            {
                Self::Nobody
            }
            Call::Reduce { root, .. } | Call::Gather { root, .. } if root == me => Self::Nobody,
            Call::Reduce { root, .. } | Call::Gather { root, .. } => Self::One(root),
            // The others read the root's words, too.
            Call::GatherV { root, .. } if root != me => Self::One(root),
            _ => Self::All,
        }
    }
}

/// All rounds of a member in an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<'a> {
    call: Call<'a>,
    me: usize,
    n: usize,
    /// Bytes of an element in rounds. It is one byte for operations that only move data, because
    /// members may count the same bytes in different elements.
    element: usize,
    /// Elements in rounds per element of the call's lists.
    scale: usize,
    /// Elements of each part that one round carries.
    window: usize,
    /// Elements of an area that one round uses.
    width: usize,
    /// Number of windows.
    windows: usize,
    /// Each window takes two rounds: each member folds a piece of it, then all take the pieces.
    divided: bool,
    /// The members meet.
    meets: bool,
    /// The members show their inputs.
    shows: bool,
    /// The members compare their calls, though not all need data of all.
    compares: bool,
    /// Rounds are wide.
    wide: bool,
    /// What members take bypasses the caches.
    past: bool,
    /// Who reads the member's board.
    readers: Readers,
}

/// Whether each member needs data of all.
fn takes_from_all(call: &Call<'_>) -> bool {
    matches!(
        call,
        Call::Barrier
            | Call::AllReduce { .. }
            | Call::ReduceScatter { .. }
            | Call::ReduceScatterBlock { .. }
            | Call::AllGather { .. }
            | Call::AllGatherV { .. }
            | Call::AllToAll { .. }
            | Call::AllToAllV { .. }
    )
}

impl<'a> Plan<'a> {
    /// The rounds of member `me` of `n`, with areas of `room` bytes and elements of `size` bytes.
    /// `None` if the operation can't be done this way.
    pub(crate) fn new(call: &Call<'a>, me: usize, n: usize, room: usize, size: usize) -> Option<Self> {
        let (element, scale) = if call.folds() { (size.max(1), 1) } else { (1, size) };
        let call = &call.scaled(scale);
        if let Some(longest) = unequal::longest(call, me) {
            return Self::of_unequal(call, me, n, room, scale, longest);
        }
        let (count, parts) = parts(call, n, scale)?;
        let most = room / element / parts;
        if most == 0 {
            return None;
        }
        let window = count.min(most);
        let reduces = matches!(call, Call::Reduce { .. } | Call::AllReduce { .. });
        let divided = reduces && n >= DIVIDE_MEMBERS && count * element >= DIVIDE_FROM;
        let windows = count.div_ceil(window.max(1)).max(1);
        let meets = n >= MEET_MEMBERS && takes_from_all(call);
        let width = window * parts;
        let readers = Readers::of(call, me, n, divided);
        Some(Self {
            call: *call,
            me,
            n,
            element,
            scale,
            window,
            width,
            windows,
            divided,
            meets,
            shows: false,
            compares: false,
            wide: false,
            past: false,
            readers,
        })
    }

    /// The number of rounds: the same at all members, once each knows how many the others need
    /// (`heard`, 0 before the first round).
    #[inline]
    pub(crate) fn rounds(&self, heard: usize) -> usize {
        self.windows.max(heard) * (1 + usize::from(self.divided))
    }

    /// Bytes of an element of spans.
    pub(crate) fn element(&self) -> usize {
        self.element
    }

    /// Elements of an area that one round uses, the same at all members.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether all members give the same list of lengths.
    #[inline]
    pub(crate) fn has_lengths(&self) -> bool {
        self.call.lengths().is_some()
    }

    /// Bytes of each member's part, if all members give the same list of them.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        let of_one = self.element * self.scale;
        self.call.lengths().unwrap_or_default().iter().map(move |count| (count * of_one) as u64)
    }

    /// Whether the members meet.
    pub(crate) fn meets(&self) -> bool {
        self.meets
    }

    /// Who reads the member's board.
    #[inline(always)]
    pub(crate) fn readers(&self) -> Readers {
        self.readers
    }

    /// Which members wait for which.
    pub(crate) fn order(&self) -> Order {
        match self.call {
            Call::Scan { .. } | Call::ExScan { .. } => Order::Chain,
            _ if takes_from_all(&self.call) => Order::All,
            _ => Order::OneWay,
        }
    }

    /// Whether members put, in the same round, the result of what they took.
    pub(crate) fn passes_on(&self) -> bool {
        self.order() == Order::Chain
    }

    /// Where data is, if a line has room for `inline` bytes: the same in all rounds, at all
    /// members.
    #[inline]
    pub(crate) fn spot(&self, inline: usize) -> Spot {
        if self.wide {
            return Spot::Wide;
        }
        let bytes = self.width * self.element;
        match self.meets {
            true if bytes <= share(self.n) => Spot::Row(bytes),
            false if bytes <= inline => Spot::Line(bytes),
            _ => Spot::Area(bytes),
        }
    }

    /// Elements of scratch.
    pub(crate) fn scratch(&self) -> usize {
        match self.call {
            Call::ExScan { .. } => self.window,
            _ if self.divided => self.window / self.n + 1,
            _ => 0,
        }
    }

    /// Writes round `r`, counted from 0, into `out`. Allocates nothing if `out` has been used for
    /// an operation of the same kind.
    pub(crate) fn round(&self, r: usize, out: &mut Round) {
        out.puts.clear();
        out.copies.clear();
        out.takes.clear();
        out.tells.clear();
        if self.shows {
            self.show_or_wait(out, r);
        } else {
            self.put_and_take(out, r);
        }
        if self.compares && r == 0 {
            self.wait_for_all(out);
        }
    }

    fn put_and_take(&self, out: &mut Round, r: usize) {
        let w = if self.divided { r / 2 } else { r };
        match self.call {
            Call::Barrier if self.meets => {}
            Call::Barrier => self.take_all(out, |_| (0, Span::NONE)),
            Call::Broadcast { root, count } => self.broadcast(out, root, self.span(w, count), true),
            Call::Multicast { root, to, count } => {
                self.broadcast(out, root, self.span(w, count), to.rank(self.me as u32).is_some());
            }
            Call::AllReduce { count } if self.divided => self.divided(out, r, self.span(w, count), None),
            Call::AllReduce { count } if self.meets => {
                let at = self.span(w, count);
                out.puts.push(Put { from: input(at), at: 0 });
                out.takes.push(Take::of(self.n, 0, output(at)));
            }
            Call::AllReduce { count } => self.folded(out, self.span(w, count), true),
            Call::Reduce { root, count } if self.divided => {
                self.divided(out, r, self.span(w, count), Some(root));
            }
            Call::Reduce { root, count } => self.folded(out, self.span(w, count), self.me == root),
            Call::Gather { root, count } => self.gathered(out, self.span(w, count), count, self.me == root),
            Call::AllGather { count } => self.gathered(out, self.span(w, count), count, true),
            Call::AllGatherV { parts } => self.gathered_parts(out, w, parts),
            Call::Scatter { root, count } => self.scattered(out, root, w, count),
            Call::AllToAll { count } => self.exchanged(out, w, count),
            Call::GatherV { .. } | Call::ScatterV { .. } | Call::AllToAllV { .. } => self.unequal(out, w),
            Call::ReduceScatter { counts } => self.folded_parts(out, w, |member| counts[member]),
            Call::ReduceScatterBlock { count } => self.folded_parts(out, w, |_| count),
            Call::Scan { count } => self.scanned(out, self.span(w, count)),
            Call::ExScan { count } => self.scanned_before(out, self.span(w, count)),
            _ => {}
        }
    }

    /// Writes what the last member to arrive at the meeting of round `r` computes for all: it
    /// takes, and puts the result behind the row. True if it then has what it needs of this round.
    pub(crate) fn last(&self, r: usize, out: &mut Round) -> bool {
        let Call::AllReduce { count } = self.call else { return false };
        if self.divided {
            return false;
        }
        let into = output(self.span(r, count));
        out.takes.clear();
        out.puts.clear();
        if count == 0 {
            return true;
        }
        self.fold_areas(out, 0..self.n, 0, into);
        out.puts.push(Put { from: into, at: 0 });
        true
    }

    /// First element and length of window `w` of `count` elements.
    fn span(&self, w: usize, count: usize) -> (usize, usize) {
        let start = (w * self.window).min(count);
        (start, self.window.min(count - start))
    }

    /// The other members, beginning with the next one, so that not all read from the same one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (me, n) = (self.me, self.n);
        (me + 1..n).chain(0..me)
    }

    fn take_all(&self, out: &mut Round, from: impl Fn(usize) -> (usize, Span)) {
        for member in self.others() {
            let (at, into) = from(member);
            out.takes.push(Take { past: self.past, ..Take::of(member, at, into) });
        }
    }

    fn broadcast(&self, out: &mut Round, root: usize, at: (usize, usize), gets: bool) {
        if self.me == root {
            out.puts.push(Put { from: output(at), at: 0 });
        } else if gets {
            out.takes.push(Take::of(root, 0, output(at)));
        }
    }

    fn gathered(&self, out: &mut Round, at: (usize, usize), count: usize, gets: bool) {
        let of = |member: usize| output((member * count + at.0, at.1));
        if !gets || matches!(self.call, Call::AllGather { .. }) {
            out.puts.push(Put { from: input(at), at: 0 });
        }
        if matches!(self.spot(0), Spot::Row(_)) && at.1 == count {
            // It stands there as it is wanted.
            let all = output((0, self.n * count));
            out.takes.push(Take { past: self.past, ..Take::of(0, 0, all) });
        } else if gets {
            out.copies.push((input(at), of(self.me)));
            self.take_all(out, |member| (0, of(member)));
        }
    }

    /// Parts of any lengths. In place, data of others may arrive where the input was. So the whole
    /// input is copied to its destination in the first round.
    fn gathered_parts(&self, out: &mut Round, w: usize, parts: Parts<'_>) {
        let at = |member: usize| {
            let (start, len) = self.span(w, parts.counts[member] * self.scale);
            output((parts.starts[member] * self.scale + start, len))
        };
        let whole = (0, parts.counts[self.me] * self.scale);
        if w == 0 {
            out.puts.push(Put { from: input(self.span(0, whole.1)), at: 0 });
            out.copies.push((input(whole), output((parts.starts[self.me] * self.scale, whole.1))));
        } else {
            out.puts.push(Put { from: at(self.me), at: 0 });
        }
        self.take_all(out, |member| (0, at(member)));
    }

    fn scattered(&self, out: &mut Round, root: usize, w: usize, count: usize) {
        let (start, len) = self.span(w, count);
        if self.me != root {
            let into = output((start, len));
            out.takes.push(Take::of(root, self.place(root, self.me), into));
            return;
        }
        for member in self.others() {
            let from = input((member * count + start, len));
            out.puts.push(Put { from, at: self.place(root, member) });
        }
        out.copies.push((input((root * count + start, len)), output((start, len))));
    }

    fn exchanged(&self, out: &mut Round, w: usize, count: usize) {
        let (start, len) = self.span(w, count);
        let of = |member: usize| (member * count + start, len);
        if matches!(self.spot(0), Spot::Row(_)) && len == count {
            out.puts.push(Put { from: input((0, self.n * count)), at: 0 });
            let (mine, many) = (self.me * count, (self.n, count));
            out.takes.push(Take { many, ..Take::of(0, mine, output(of(0))) });
            return;
        }
        for member in self.others() {
            out.puts.push(Put { from: input(of(member)), at: self.place(self.me, member) });
        }
        out.copies.push((input(of(self.me)), output(of(self.me))));
        self.take_all(out, |member| (self.place(member, self.me), output(of(member))));
    }

    /// The offset in its area at which a member puts what another one gets. Parts lie one behind
    /// the other, without one for the member itself.
    fn place(&self, from: usize, to: usize) -> usize {
        (to - usize::from(to > from)) * self.window
    }
}

fn input((start, len): (usize, usize)) -> Span {
    Span::input(start, len)
}

fn output((start, len): (usize, usize)) -> Span {
    Span::output(start, len)
}

#[cfg(all(test, not(loom)))]
pub(crate) mod model;
#[cfg(all(test, not(loom)))]
mod tests;
