//! What calls that block are made of, and keeping that for the next call like it.

use super::rounds::{Order, Plan, Round, Spot};
use super::{Board, INLINE};
use crate::combine::Fold;
use crate::key::Key;
use crate::{Call, Signature};
use lapis_ablation::{Optimization, without};

/// All of a call that depends on neither buffers nor other members.
pub(crate) struct Prepared<'a> {
    pub(crate) plan: Plan<'a>,
    pub(crate) signature: Signature,
    fold: Fold,
    /// Where data stands in every round.
    pub(crate) spot: Spot,
    pub(crate) order: Order,
    round: Round,
    /// Which round of the plan that is.
    written: Option<usize>,
}

impl<'a> Prepared<'a> {
    /// `room` is overwritten.
    pub(crate) fn new(plan: Plan<'a>, signature: Signature, fold: Fold, room: Round) -> Self {
        let spot = plan.spot(INLINE);
        let order = plan.order();
        Self { plan, signature, fold, spot, order, round: room, written: None }
    }

    /// What the caller does in round `r`.
    #[inline(always)]
    pub(crate) fn round(&mut self, r: usize) -> &Round {
        if self.written != Some(r) {
            self.plan.round(r, &mut self.round);
            self.written = Some(r);
        }
        &self.round
    }

    /// The round that was asked for last, and how it folds.
    #[inline(always)]
    pub(crate) fn written(&self) -> (&Round, &Fold) {
        (&self.round, &self.fold)
    }

    /// The parts of it for the last one to come to a meeting, who writes what it makes for all in
    /// place of what was its own.
    pub(crate) fn last(&mut self) -> (&Plan<'a>, &mut Round, &Fold) {
        self.written = None;
        (&self.plan, &mut self.round, &self.fold)
    }

    /// The room, to be used again.
    pub(crate) fn into_room(self) -> Round {
        self.round
    }
}

/// A call that is kept.
pub(crate) struct Kept {
    key: Key,
    /// Elements of input and output that the caller needs.
    needs: (usize, usize),
    pub(crate) prepared: Prepared<'static>,
}

/// Calls that are kept: a power of two, which divides faster.
pub(super) const KEPT: usize = 16;

impl Board {
    /// A call that was made before, of buffers with at least so many elements. It is
    /// [kept](Self::keep) again at its end.
    #[inline(always)]
    pub(crate) fn take_kept(&mut self, key: &Key, (input, output): (usize, usize)) -> Option<Box<Kept>> {
        let place = &mut self.kept[key.place(KEPT)];
        let fits = |kept: &Kept| kept.key == *key && kept.needs.0 <= input && kept.needs.1 <= output;
        if place.as_deref().is_some_and(fits) { place.take() } else { None }
    }

    /// Keeps a call for the next one like it.
    #[inline(always)]
    pub(crate) fn keep(&mut self, kept: Box<Kept>) {
        let place = kept.key.place(KEPT);
        self.kept[place] = Some(kept);
    }

    /// A call to be kept, in place of another one and with its memory.
    pub(crate) fn prepare_kept(
        &mut self,
        key: Key,
        call: &Call<'static>,
        (plan, signature, fold): (Plan<'static>, Signature, Fold),
    ) -> Box<Kept> {
        let needs = call.needs(self.me, self.bases.len());
        let old = self.kept[key.place(KEPT)].take();
        let made = |room| Kept { key, needs, prepared: Prepared::new(plan, signature, fold, room) };
        match old {
            None => Box::new(made(Round::default())),
            Some(mut kept) => {
                *kept = made(std::mem::take(&mut kept.prepared.round));
                kept
            }
        }
    }
}

/// Whether calls are kept.
#[inline(always)]
pub(crate) fn keeps() -> bool {
    !without(Optimization::KeptCalls)
}
