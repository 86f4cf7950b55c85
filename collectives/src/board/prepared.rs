//! The plans of blocking calls, which are kept for the next call of the same kind.

use super::rounds::{Order, Plan, Round, Spot};
use super::{Board, INLINE};
use crate::combine::Fold;
use crate::key::Key;
use crate::{Call, Signature};
use lapis_ablation::{Optimization, without};

/// The parts of a call that depend on neither its buffers nor other members.
pub(crate) struct Prepared<'a> {
    pub(crate) plan: Plan<'a>,
    pub(crate) signature: Signature,
    fold: Fold,
    /// Where data is, in every round.
    pub(crate) spot: Spot,
    pub(crate) order: Order,
    round: Round,
    /// The round of the plan that `round` holds.
    written: Option<usize>,
}

impl<'a> Prepared<'a> {
    /// `room` is memory for the round, and is overwritten.
    pub(crate) fn new(plan: Plan<'a>, signature: Signature, fold: Fold, room: Round) -> Self {
        let spot = plan.spot(INLINE);
        let order = plan.order();
        Self { plan, signature, fold, spot, order, round: room, written: None }
    }

    /// The caller's steps of round `r`.
    #[inline(always)]
    pub(crate) fn round(&mut self, r: usize) -> &Round {
        if self.written != Some(r) {
            self.plan.round(r, &mut self.round);
            self.written = Some(r);
        }
        &self.round
    }

    /// The round that was requested last, and the operator.
    #[inline(always)]
    pub(crate) fn written(&self) -> (&Round, &Fold) {
        (&self.round, &self.fold)
    }

    /// The same for the last member to arrive at a meeting, which replaces its own steps by those
    /// that compute the result for all.
    pub(crate) fn last(&mut self) -> (&Plan<'a>, &mut Round, &Fold) {
        self.written = None;
        (&self.plan, &mut self.round, &self.fold)
    }

    /// The memory of the round, to be reused.
    pub(crate) fn into_room(self) -> Round {
        self.round
    }
}

/// A kept plan.
pub(crate) struct Kept {
    key: Key,
    /// Elements that the caller's input and output must have.
    needs: (usize, usize),
    pub(crate) prepared: Prepared<'static>,
}

/// The number of kept plans: a power of two, because that divides faster.
pub(super) const KEPT: usize = 16;

impl Board {
    /// The plan of an earlier call, if the buffers have enough elements for it. It is
    /// [kept](Self::keep) again when the call ends.
    #[inline(always)]
    pub(crate) fn take_kept(&mut self, key: &Key, (input, output): (usize, usize)) -> Option<Box<Kept>> {
        let place = &mut self.kept[key.place(KEPT)];
        let fits = |kept: &Kept| kept.key == *key && kept.needs.0 <= input && kept.needs.1 <= output;
        if place.as_deref().is_some_and(fits) { place.take() } else { None }
    }

    /// Keeps a plan for the next call of its kind.
    #[inline(always)]
    pub(crate) fn keep(&mut self, kept: Box<Kept>) {
        let place = kept.key.place(KEPT);
        self.kept[place] = Some(kept);
    }

    /// A new plan to be kept, which replaces another one and reuses its memory.
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

/// Whether plans are kept.
#[inline(always)]
pub(crate) fn keeps() -> bool {
    !without(Optimization::KeptCalls)
}
