//! Reductions: which operands a member folds, and where it finds them.

use super::{KEEP_OWN_MEMBERS, Plan, Put, Round, Take, input, output};
use crate::call::Call;
use lapis_schedules::{Side, Span, piece};

impl Plan<'_> {
    /// Each member that gets the result folds everything.
    pub(super) fn folded(&self, out: &mut Round, at: (usize, usize), gets: bool) {
        let both = matches!(self.call, Call::AllReduce { .. });
        if both || !gets || !self.keeps_own() {
            out.puts.push(Put { from: input(at), at: 0 });
        }
        if gets {
            self.fold_all(out, input(at), 0, output(at));
        }
    }

    /// Each member folds the result of the one before it with its own operand, and puts that for
    /// the next one.
    pub(super) fn scanned(&self, out: &mut Round, at: (usize, usize)) {
        out.copies.push((input(at), output(at)));
        self.take_before(out, output(at), Some(Side::Before));
        self.put_for_next(out, output(at));
    }

    /// The same, but the member itself keeps the result of the one before it.
    pub(super) fn scanned_before(&self, out: &mut Round, at: (usize, usize)) {
        if self.me == 0 {
            return self.put_for_next(out, input(at));
        }
        let made = Span::scratch(0, at.1);
        // In place, the output overwrites the input.
        out.copies.push((input(at), made));
        self.take_before(out, output(at), None);
        self.take_before(out, made, Some(Side::Before));
        self.put_for_next(out, made);
    }

    fn take_before(&self, out: &mut Round, into: Span, fold: Option<Side>) {
        if self.me > 0 {
            out.takes.push(Take { fold, ..Take::of(self.me - 1, 0, into) });
        }
    }

    fn put_for_next(&self, out: &mut Round, from: Span) {
        if self.me + 1 < self.n {
            out.puts.push(Put { from, at: 0 });
        }
    }

    /// Each member folds a piece, then all members or the root take the pieces.
    pub(super) fn divided(&self, out: &mut Round, r: usize, at: (usize, usize), root: Option<usize>) {
        let whole = output(at);
        let of = |member: usize| piece(whole, self.n, member);
        let gets = root.is_none_or(|root| root == self.me);
        let here = of(self.me);
        let mine = if gets { here } else { Span::scratch(0, here.len) };
        if r.is_multiple_of(2) {
            out.puts.push(Put { from: input(at), at: 0 });
            self.fold_areas(out, 0..self.n, here.start - at.0, mine);
            return;
        }
        if root != Some(self.me) {
            out.puts.push(Put { from: mine, at: 0 });
        }
        if gets {
            self.take_all(out, |member| (0, of(member)));
        }
    }

    /// Each member folds its part.
    pub(super) fn folded_parts(&self, out: &mut Round, w: usize, count: impl Fn(usize) -> usize) {
        let (keeps_own, mut first, mut mine) = (self.keeps_own(), 0, Span::NONE);
        let at = |member: usize| if keeps_own { 0 } else { member * self.window };
        for member in 0..self.n {
            let (start, len) = self.span(w, count(member));
            let from = input((first + start, len));
            if member == self.me {
                mine = from;
            }
            if member != self.me || !keeps_own {
                out.puts.push(Put { from, at: at(member) });
            }
            first += count(member);
        }
        self.fold_all(out, mine, at(self.me), output(self.span(w, count(self.me))));
    }

    /// Folds the operands of all members. The caller's own is `mine`.
    fn fold_all(&self, out: &mut Round, mine: Span, at: usize, into: Span) {
        if !self.keeps_own() {
            return self.fold_areas(out, 0..self.n, at, into);
        }
        out.copies.push((mine, into));
        if let Some(other) = self.others().next() {
            let side = if other < self.me { Side::Before } else { Side::After };
            out.takes.push(Take { fold: Some(side), ..Take::of(other, at, into) });
        }
    }

    /// Whether the caller folds its own operand from where it is.
    fn keeps_own(&self) -> bool {
        self.n <= KEEP_OWN_MEMBERS
    }

    /// Folds the operands in the areas of these members.
    pub(super) fn fold_areas(&self, out: &mut Round, who: std::ops::Range<usize>, at: usize, into: Span) {
        if self.meets && who.len() > 1 {
            out.takes.push(Take::of(who.start, at, into));
            let (fold, many) = (Some(Side::After), (who.len() - 1, 0));
            out.takes.push(Take { fold, many, ..Take::of(who.start + 1, at, into) });
            return;
        }
        for member in who.clone() {
            let fold = (member > who.start).then_some(Side::After);
            out.takes.push(Take { fold, ..Take::of(member, at, into) });
        }
    }
}
