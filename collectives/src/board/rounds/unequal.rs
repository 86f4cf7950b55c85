//! Unequal parts: gatherv, scatterv, alltoallv.
//!
//! Only the two members that share a part know its length, so no member alone knows how many rounds
//! the others need. In the first round every member writes, behind its data, the total bytes of the
//! part for each member, and the number of rounds that it needs itself. Receivers compare the
//! lengths and go on for the largest number of rounds.

use super::{Plan, Put, Readers, Round, Take, input, output};
use crate::call::Call;
use lapis_schedules::Span;
use lapis_schedules::tree::Parts;

/// Windows begin at multiples of so many bytes.
const UNIT: usize = 16;

/// The longest part that member `me` knows, for calls with unequal parts. Lists of members other
/// than the root are ignored.
pub(super) fn longest(call: &Call<'_>, me: usize) -> Option<usize> {
    let most = |counts: &[usize]| counts.iter().copied().max().unwrap_or(0);
    match *call {
        Call::GatherV { root, mine, parts } | Call::ScatterV { root, mine, parts } => {
            Some(parts.filter(|_| root == me).map_or(mine, |parts| most(parts.counts)).max(mine))
        }
        Call::AllToAllV { give, get } => Some(most(give.counts).max(most(get.counts))),
        _ => None,
    }
}

/// The parts of a member. Without a list it has one, which it shares with the root.
#[derive(Clone, Copy)]
enum Apart<'a> {
    All(Parts<'a>),
    WithRoot(usize, usize),
    Nothing,
}

impl Apart<'_> {
    /// First byte and length of the part shared with `member`; elements have `size` bytes.
    fn of(&self, member: usize, size: usize) -> (usize, usize) {
        match self {
            Self::All(parts) => (parts.starts[member] * size, parts.counts[member] * size),
            Self::WithRoot(root, mine) if *root == member => (0, *mine * size),
            _ => (0, 0),
        }
    }
}

impl<'a> Plan<'a> {
    /// The offset, in an area of `room` bytes, of the words that members of a team of `n` write for
    /// each other: one for each member, then the number of rounds.
    pub(crate) fn told_at(room: usize, n: usize) -> usize {
        room.saturating_sub((n + 1) * size_of::<u64>())
    }

    pub(super) fn of_unequal(
        call: &Call<'a>,
        me: usize,
        n: usize,
        room: usize,
        scale: usize,
        longest: usize,
    ) -> Option<Self> {
        let parts = if matches!(call, Call::GatherV { .. }) { 1 } else { n };
        let window = Self::told_at(room, n) / parts / UNIT * UNIT;
        if window == 0 {
            return None;
        }
        let windows = longest.checked_mul(scale)?.div_ceil(window).max(1);
        Some(Self {
            call: *call,
            me,
            n,
            element: 1,
            scale,
            window,
            // Never so little that a line has room for it: the words need an area.
            width: room,
            windows,
            divided: false,
            meets: false,
            shows: false,
            compares: false,
            wide: false,
            past: false,
            readers: Readers::of(call, me, n, false),
        })
    }

    /// The parts that the caller gives, and those that it gets.
    fn both(&self) -> (Apart<'a>, Apart<'a>) {
        match self.call {
            Call::GatherV { root, mine, parts } => {
                let get = parts.filter(|_| root == self.me).map_or(Apart::Nothing, Apart::All);
                (Apart::WithRoot(root, mine), get)
            }
            Call::ScatterV { root, mine, parts } => {
                let give = parts.filter(|_| root == self.me).map_or(Apart::Nothing, Apart::All);
                (give, Apart::WithRoot(root, mine))
            }
            Call::AllToAllV { give, get } => (Apart::All(give), Apart::All(get)),
            _ => (Apart::Nothing, Apart::Nothing),
        }
    }

    /// The offset of a member's window in an area.
    fn slot(&self, member: usize) -> usize {
        if matches!(self.call, Call::GatherV { .. }) { 0 } else { member * self.window }
    }

    /// The part of window `w`.
    fn window_of(&self, w: usize, (start, len): (usize, usize)) -> (usize, usize) {
        let (at, len) = self.span(w, len);
        (start + at, len)
    }

    /// Writes round `w` of unequal parts.
    pub(super) fn unequal(&self, out: &mut Round, w: usize) {
        let (give, get) = self.both();
        let size = self.scale;
        for member in self.others() {
            let from = input(self.window_of(w, give.of(member, size)));
            if from.len > 0 {
                out.puts.push(Put { from, at: self.slot(member) });
            }
        }
        let (mine, into) = (give.of(self.me, size), get.of(self.me, size));
        // In place, the caller's own part may overlap the parts of others.
        let now = if matches!(self.call, Call::ScatterV { .. }) { self.windows - 1 } else { 0 };
        if w == now && into.1 > 0 {
            out.copies.push((input(mine), output(into)));
        }
        let first = w == 0;
        if first {
            out.tells.extend((0..self.n).map(|member| give.of(member, size).1 as u64));
            out.tells.push(self.windows as u64);
        }
        for member in self.others() {
            let part = get.of(member, size);
            let into = output(self.window_of(w, part));
            // Only the root knows all parts; members that give it nothing need not be read.
            let hears = first && self.hears(member);
            if into.len > 0 || hears {
                let told = hears.then_some(part.1 as u64);
                let into = if into.len > 0 { into } else { Span::NONE };
                out.takes.push(Take { told, ..Take::of(member, self.slot(self.me), into) });
            }
        }
    }

    /// Whether the caller must read from a member how many rounds it needs.
    fn hears(&self, member: usize) -> bool {
        match self.call {
            Call::GatherV { root, .. } => root == self.me || root == member,
            Call::ScatterV { root, .. } => root == member,
            _ => true,
        }
    }
}
