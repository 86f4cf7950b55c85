//! Collectives through memory that all members map: rounds instead of messages. Pure, as the other
//! schedules.
//!
//! In each round every member puts some of its data where all can read it (its *area*), shows that
//! it has, and takes what it needs from the areas of others. Each member has several areas, used in
//! turns ([`areas`]), and for data that stands beside the flag [`LINES`]. The rule that keeps data
//! whole, with s of them: a member begins round k only when all members have begun round k − s + 1,
//! for then all have ended the round whose area is used again. Every member has as many rounds as
//! the others, even with nothing to put or to take.
//!
//! Members of a large team *meet* where all take from all: a member goes on when a single word says
//! that everybody has put, and looks at no flags. Short data stands in one *row* then, side by
//! side, of which there are two in turns: who puts for a meeting has seen the one before it open,
//! so that all have ended the last one but one. What an allreduce makes of it the last to come
//! makes for all, and puts behind the row.
//!
//! Operands are always folded in the order of ranks.

mod places;
mod reductions;
mod unequal;

pub(crate) use places::{LINES, Spot, areas, share};

use crate::call::Call;
use lapis_schedules::tree::Parts;
use lapis_schedules::{Side, Span};

/// Reductions of so many bytes are divided among the members, from [`DIVIDE_MEMBERS`] on.
const DIVIDE_FROM: usize = 4 << 10;

/// With fewer members it costs least if everybody folds everything.
const DIVIDE_MEMBERS: usize = 4;

/// From so many members on they meet: looks at everybody's flags, at every member, take longer.
pub(crate) const MEET_MEMBERS: usize = 8;

/// Data that a member shows to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// What.
    pub from: Span,
    /// Where in its area, in elements.
    pub at: usize,
}

/// Data that a member takes from an area, which may be its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Take {
    /// Whose.
    pub member: usize,
    /// Where in it, in elements.
    pub at: usize,
    /// Where to. Of no length: the member is waited for, no more.
    pub into: Span,
    /// Whether it replaces what is there, or is folded with it, and from which side.
    pub fold: Option<Side>,
    /// Bytes that the member must tell to have for this one, in the first round of unequal parts.
    pub told: Option<u64>,
    /// From so many members, beginning with that one: where nobody's flag is looked at. What the
    /// next one has goes so many elements behind.
    pub many: (usize, usize),
}

impl Take {
    /// From one member, in the place of what is there.
    pub(crate) fn of(member: usize, at: usize, into: Span) -> Self {
        Self { member, at, into, fold: None, told: None, many: (1, 0) }
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

/// What a member does in a round: it puts, shows, copies within its own memory, and takes, in this
/// order; or, where it [passes on](Plan::passes_on) what it has taken, it copies, takes, puts and
/// shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Into its area.
    pub puts: Vec<Put>,
    /// Behind that, at the end of the area: what [`Plan::told_at`] says.
    pub tells: Vec<u64>,
    /// From where to where.
    pub copies: Vec<(Span, Span)>,
    /// From areas.
    pub takes: Vec<Take>,
}

/// Who waits for whom in the rounds of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All for all.
    All,
    /// Some members for others, who may run ahead.
    OneWay,
    /// Each for the one before it, and puts what it has made of what it took in the same round.
    Chain,
}

/// All rounds of a member in an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<'a> {
    call: Call<'a>,
    me: usize,
    n: usize,
    /// Bytes of an element of rounds: what moves data counts bytes, since members may count the
    /// same bytes in other elements.
    element: usize,
    /// Elements of rounds in one of the call's lists.
    scale: usize,
    /// Elements of each part that one round carries.
    window: usize,
    /// Elements of an area that are used.
    width: usize,
    /// Windows.
    windows: usize,
    /// Each window takes two rounds: everybody folds a piece of it, then all take the pieces.
    divided: bool,
    /// All go on when all have put.
    meets: bool,
}

/// How many elements at a time: each member's whole data, or a part for each member.
fn parts(call: &Call<'_>, n: usize) -> Option<(usize, usize)> {
    match *call {
        Call::Barrier => Some((0, 1)),
        Call::Broadcast { count, .. }
        | Call::Multicast { count, .. }
        | Call::Reduce { count, .. }
        | Call::AllReduce { count }
        | Call::Gather { count, .. }
        | Call::AllGather { count }
        | Call::Scan { count }
        | Call::ExScan { count } => Some((count, 1)),
        // What a member gives itself needs room in a row alone.
        Call::Scatter { count, .. } => Some((count, (n - 1).max(1))),
        Call::AllToAll { count } if n < MEET_MEMBERS => Some((count, (n - 1).max(1))),
        Call::AllToAll { count } => Some((count, n)),
        // Of two members, each takes the other's operand alone.
        Call::ReduceScatter { counts } => {
            Some((counts.iter().copied().max().unwrap_or(0), if n == 2 { 1 } else { n }))
        }
        Call::ReduceScatterBlock { count } => Some((count, if n == 2 { 1 } else { n })),
        Call::AllGatherV { parts } => Some((parts.counts.iter().copied().max().unwrap_or(0), 1)),
        _ => None,
    }
}

/// Whether members need what all have put.
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
    /// The rounds of member `me` of `n`, with areas of `room` bytes and elements of `size`. `None`
    /// for what is not done this way.
    pub(crate) fn new(call: &Call<'a>, me: usize, n: usize, room: usize, size: usize) -> Option<Self> {
        let (element, scale) = if call.folds() { (size.max(1), 1) } else { (1, size) };
        let call = &call.scaled(scale);
        if let Some(longest) = unequal::longest(call, me) {
            return Self::of_unequal(call, me, n, room, scale, longest);
        }
        let (count, parts) = parts(call, n)?;
        let count = if matches!(call, Call::AllGatherV { .. }) { count * scale } else { count };
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
        Some(Self { call: *call, me, n, element, scale, window, width, windows, divided, meets })
    }

    /// How many rounds there are: as many at every member, once each has heard how many the others
    /// need at least; nothing is heard before the first round.
    #[inline]
    pub(crate) fn rounds(&self, heard: usize) -> usize {
        self.windows.max(heard) * (1 + usize::from(self.divided))
    }

    /// Bytes of an element of spans.
    pub(crate) fn element(&self) -> usize {
        self.element
    }

    /// Elements of each area that are used: as many at every member.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether all members give the same list of lengths.
    #[inline]
    pub(crate) fn has_lengths(&self) -> bool {
        self.call.lengths().is_some()
    }

    /// Bytes of each member's part, if all members give the same list of them; else nothing.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        let of_one = self.element * self.scale;
        self.call.lengths().unwrap_or_default().iter().map(move |count| (count * of_one) as u64)
    }

    /// Whether all go on when all have put.
    pub(crate) fn meets(&self) -> bool {
        self.meets
    }

    /// Who waits for whom.
    pub(crate) fn order(&self) -> Order {
        match self.call {
            Call::Scan { .. } | Call::ExScan { .. } => Order::Chain,
            _ if takes_from_all(&self.call) => Order::All,
            _ => Order::OneWay,
        }
    }

    /// Whether members put what they have made of what they took in the same round.
    pub(crate) fn passes_on(&self) -> bool {
        self.order() == Order::Chain
    }

    /// Where data stands, if up to `inline` bytes fit in a line: in every round, at every member.
    #[inline]
    pub(crate) fn spot(&self, inline: usize) -> Spot {
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

    /// Writes round `r`, from 0 on. Allocates nothing when `out` has been used for an operation of
    /// its kind.
    pub(crate) fn round(&self, r: usize, out: &mut Round) {
        out.puts.clear();
        out.copies.clear();
        out.takes.clear();
        out.tells.clear();
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

    /// Writes what the last member to come to the meeting of round `r` makes for all: it takes, and
    /// puts what has come of it behind the row. True: then it has what it needs of this round.
    pub(crate) fn last(&self, r: usize, out: &mut Round) -> bool {
        let Call::AllReduce { count } = self.call else { return false };
        if self.divided {
            return false;
        }
        let into = output(self.span(r, count));
        out.takes.clear();
        self.fold_areas(out, 0..self.n, 0, into);
        out.puts.clear();
        out.puts.push(Put { from: into, at: 0 });
        true
    }

    /// First element and length of window `w` of so many elements.
    fn span(&self, w: usize, count: usize) -> (usize, usize) {
        let start = (w * self.window).min(count);
        (start, self.window.min(count - start))
    }

    /// The other members, the next one first, so that not everybody reads from one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (me, n) = (self.me, self.n);
        (me + 1..n).chain(0..me)
    }

    fn take_all(&self, out: &mut Round, from: impl Fn(usize) -> (usize, Span)) {
        for member in self.others() {
            let (at, into) = from(member);
            out.takes.push(Take::of(member, at, into));
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
            out.takes.push(Take::of(0, 0, all));
        } else if gets {
            out.copies.push((input(at), of(self.me)));
            self.take_all(out, |member| (0, of(member)));
        }
    }

    /// Parts of any lengths. Where input and output are the same, what comes may lie where the
    /// input was: so all of it is where it belongs after the first round.
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

    /// Where in its area a member puts what another one gets: parts stand one behind the other,
    /// without one for itself.
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
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
