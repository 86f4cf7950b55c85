//! Rounds of operations whose caller does other work meanwhile: they go as far as they can, and
//! continue later from there.

use super::dozing::{is_any_dozing, wake_dozing};
use super::rounds::{Plan, Round, Spot};
use super::{AREA, Board, Buffers, Data, INLINE, Word};
use crate::combine::Fold;
use crate::error::{CollectiveError, Result};
use crate::two_levels::{TwoLevels, View, Within};
use crate::{Call, Signature};
use lapis_schedules::group::Group;
use lapis_schedules::tree::Parts;
use lapis_schedules::{Script, Span};

/// The part of an operation that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The rounds before the messages.
    Before,
    /// The messages.
    Messages,
    /// The rounds after the messages.
    After,
    /// None: the operation is complete.
    End,
}

/// The stage of a round.
#[derive(Clone, Copy)]
enum Stage {
    /// No round is in progress.
    Between,
    /// The data to be put waits for room.
    Room,
    /// The caller has arrived at the meeting, others have not.
    Meeting,
    /// So many takes are done.
    Takes(usize),
}

/// The rounds of an operation: all of it, or those before and after its messages. Its fields are
/// accessed one by one: publishing a round may wake others by messages, which may re-enter.
pub(crate) struct Rounds {
    before: Option<Part>,
    after: Option<Part>,
    /// What is copied after all of them.
    places: Vec<(Span, Span)>,
    /// Bytes of scratch that are in use from part to part.
    held: usize,
    /// Messages to be sent instead, kept until it is known whether there is memory.
    pub(crate) instead: Option<Script>,
    // Of the present run:
    pub(crate) reach: Reach,
    stage: Stage,
    next: usize,
    spot: Spot,
    awaited: usize,
    /// Where the caller's input is shown, if it is.
    pub(crate) shown: Option<Word>,
    /// The number of rounds that others need, as far as known.
    heard: usize,
    work: Round,
}

/// Numbers on the heap, whose address does not change.
type Numbers = Box<[usize]>;

/// The lists of a call, whose addresses do not change.
struct Lists {
    /// Counts and starts: of one list of parts, or of those given and those received.
    parts: [(Numbers, Numbers); 2],
    to: Box<Group>,
}

impl Lists {
    fn of(call: &Call<'_>) -> Option<Self> {
        let none = Parts { counts: &[], starts: &[] };
        let (mut first, mut second, mut group) = (none, none, None);
        match *call {
            Call::ReduceScatter { counts } => first = Parts { counts, starts: &[] },
            Call::AllGatherV { parts } => first = parts,
            Call::GatherV { parts, .. } | Call::ScatterV { parts, .. } => first = parts.unwrap_or(none),
            Call::AllToAllV { give, get } => (first, second) = (give, get),
            Call::Multicast { to, .. } => group = Some(to.clone()),
            _ => return None,
        }
        let to = Box::new(group.unwrap_or_else(Group::empty));
        let parts = [first, second].map(|parts| (parts.counts.into(), parts.starts.into()));
        Some(Self { parts, to })
    }

    /// The call with these lists.
    fn put_into<'a>(&'a self, call: &Call<'a>) -> Call<'a> {
        let [first, second] = self.parts.each_ref().map(|(counts, starts)| Parts { counts, starts });
        match *call {
            Call::ReduceScatter { .. } => Call::ReduceScatter { counts: first.counts },
            Call::AllGatherV { .. } => Call::AllGatherV { parts: first },
            Call::GatherV { root, mine, parts } => Call::GatherV { root, mine, parts: parts.map(|_| first) },
            Call::ScatterV { root, mine, parts } => {
                Call::ScatterV { root, mine, parts: parts.map(|_| first) }
            }
            Call::AllToAllV { .. } => Call::AllToAllV { give: first, get: second },
            Call::Multicast { root, count, .. } => Call::Multicast { root, to: &self.to, count },
            other => other,
        }
    }
}

/// Rounds of one call, on some of an operation's buffers.
struct Part {
    plan: Plan<'static>,
    view: View,
    /// The lists that the plan refers to.
    _lists: Option<Lists>,
}

impl Part {
    /// Those of member `me` of `n`.
    fn of((call, view): &Within<'_>, me: usize, n: usize, size: usize) -> Option<Self> {
        let lists = Lists::of(call);
        let plan = match &lists {
            Some(lists) => plan(&lists.put_into(call), me, n, size),
            None => plan(call, me, n, size),
        };
        // SAFETY: what the plan refers to are the lists, which are kept beside it and stay where
        // they are; a call without lists refers to nothing.
        let plan = unsafe { std::mem::transmute::<Option<Plan<'_>>, Option<Plan<'static>>>(plan) };
        plan.map(|plan| Self { plan, view: *view, _lists: lists })
    }

    fn scratch(&self) -> usize {
        self.plan.scratch() * self.plan.element()
    }
}

/// The rounds of a call. `None` at all members if it can't go through memory.
pub(crate) fn plan<'a>(call: &Call<'a>, me: usize, n: usize, size: usize) -> Option<Plan<'a>> {
    Plan::new(call, me, n, AREA, size)
}

impl Rounds {
    /// A call that consists of rounds only.
    pub(crate) fn all(call: &Call<'_>, me: usize, n: usize, size: usize) -> Option<Self> {
        Self::of_levels(TwoLevels { before: Some((*call, View::WHOLE)), ..TwoLevels::default() }, me, n, size)
    }

    /// The rounds before and after the messages of a call on two levels, for member `me` of the `n`
    /// members of a host.
    pub(crate) fn of_levels(parts: TwoLevels<'_>, me: usize, n: usize, size: usize) -> Option<Self> {
        let part = |within: Option<Within<'_>>| match within {
            Some(within) => Some(Some(Part::of(&within, me, n, size)?)),
            None => Some(None),
        };
        Some(Self {
            before: part(parts.before)?,
            after: part(parts.after)?,
            places: parts.places,
            held: parts.held * size,
            instead: None,
            reach: Reach::Before,
            stage: Stage::Between,
            next: 0,
            spot: Spot::Line(0),
            awaited: 0,
            shown: None,
            heard: 0,
            work: Round::default(),
        })
    }

    /// Takes on the plan as the members of the board make it.
    pub(crate) fn join(&mut self, board: &Board) {
        if let Some(part) = &mut self.before {
            part.plan = board.plan(part.plan);
        }
        if let Some(part) = &mut self.after {
            part.plan = board.compared(part.plan);
        }
    }

    /// See [`Plan::shows`].
    pub(crate) fn shows(&self) -> bool {
        self.plan().is_some_and(|plan| plan.shows())
    }

    /// Bytes of scratch.
    pub(crate) fn scratch(&self) -> usize {
        let of = |part: &Option<Part>| part.as_ref().map_or(0, Part::scratch);
        self.held + of(&self.before).max(of(&self.after))
    }

    /// Enters another part of the operation.
    pub(crate) fn enter(&mut self, reach: Reach) {
        (self.reach, self.stage, self.next, self.heard) = (reach, Stage::Between, 0, 0);
        self.shown = None;
    }

    /// An error that names a member with another call in the present or next round.
    pub(crate) fn other_call(&self, board: &Board, mine: Signature) -> Option<CollectiveError> {
        match self.stage {
            Stage::Between => board.other_call_before(&self.plan()?, mine),
            _ => board.other_call(mine),
        }
    }

    /// The member that is waited for: of several one that `is_gone`, otherwise the first one.
    pub(crate) fn awaited(&self, board: &Board, is_gone: impl Fn(usize) -> bool) -> usize {
        match self.stage {
            Stage::Meeting => {
                let gone = board.absent().find(|member| is_gone(*member));
                gone.or_else(|| board.absent().next()).unwrap_or(self.awaited)
            }
            _ => self.awaited,
        }
    }

    /// Whether the operation can go on. The board is the team's.
    pub(crate) fn can_go(&self, board: &Board) -> bool {
        if matches!(self.reach, Reach::Messages | Reach::End) {
            return false;
        }
        match self.stage {
            Stage::Between => true,
            Stage::Room => board.has_room(self.awaited, self.spot),
            Stage::Meeting => board.is_open(),
            Stage::Takes(at) => self.work.takes.get(at).is_none_or(|take| {
                take.member == board.me
                    || self.plan().is_some_and(|plan| plan.meets())
                    || board.shown(take.member).is_some()
            }),
        }
    }

    /// How far they have come.
    pub(crate) fn stand(&self) -> (Reach, usize, usize) {
        let stage = match self.stage {
            Stage::Between => 0,
            Stage::Room => 1,
            Stage::Meeting => 2,
            Stage::Takes(at) => 3 + at,
        };
        (self.reach, self.next, stage)
    }

    /// See [`Plan::passes_on`].
    fn passes_on(&self) -> bool {
        self.plan().is_some_and(|plan| plan.passes_on())
    }

    fn part(&self) -> Option<&Part> {
        match self.reach {
            Reach::Before => self.before.as_ref(),
            Reach::After => self.after.as_ref(),
            Reach::Messages | Reach::End => None,
        }
    }

    fn plan(&self) -> Option<Plan<'static>> {
        self.part().map(|part| part.plan)
    }

    /// What is copied at the end.
    pub(crate) fn places(&self) -> &[(Span, Span)] {
        &self.places
    }

    /// The buffers of the present part, in those of a whole call with elements of `size` bytes.
    pub(crate) fn buffers(&self, whole: [*mut u8; 3], size: usize) -> Buffers {
        let (element, view) = self.part().map_or((1, View::WHOLE), |part| (part.plan.element(), part.view));
        Buffers { bases: view.bases(whole, size), size: element }
    }

    /// Takes rounds as far as possible. True if this part of the operation is complete. `wake`
    /// sends a message that wakes a task.
    ///
    /// # Safety
    /// The lock is held; rounds and board are this operation's and live; the data is what the call
    /// says, as [`buffers`](Self::buffers) has it, and nobody else's.
    pub(crate) unsafe fn go(
        this: *mut Self,
        board: *mut Board,
        wake: &dyn Fn(u32),
        data: &mut (impl Data + ?Sized),
        fold: &Fold,
        signature: Signature,
    ) -> Result<bool> {
        // SAFETY: the caller's promise; references end before anything is sent.
        unsafe {
            loop {
                match (*this).stage {
                    Stage::Between => {
                        let (next, heard) = ((*this).next, (*this).heard);
                        let Some(plan) = (&*this).plan().filter(|plan| next < plan.rounds(heard)) else {
                            return Ok(true);
                        };
                        plan.round(next, &mut (*this).work);
                        (&mut *board).begin_round(&plan, next);
                        (*this).spot = plan.spot(INLINE);
                        if plan.passes_on() {
                            data.copy(&(*this).work.copies);
                            (*this).stage = Stage::Takes(0);
                        } else {
                            (*this).stage = Stage::Room;
                        }
                    }
                    Stage::Room => {
                        if let Some(member) = (&mut *board).lacks_room((*this).spot) {
                            (*this).awaited = member;
                            return Ok(false);
                        }
                        Self::put(this, board, wake, data, fold, signature)?;
                    }
                    Stage::Meeting => {
                        if !(&*board).is_open() {
                            return Ok(false);
                        }
                        (*this).stage = Stage::Takes(0);
                    }
                    Stage::Takes(at) => {
                        if !Self::take(this, board, at, data, fold, signature)? {
                            return Ok(false);
                        }
                    }
                }
            }
        }
    }

    /// Puts the data of a round and publishes it, or arrives at its meeting.
    ///
    /// # Safety
    /// As for [`go`](Self::go); there is room.
    unsafe fn put(
        this: *mut Self,
        board: *mut Board,
        wake: &dyn Fn(u32),
        data: &mut (impl Data + ?Sized),
        fold: &Fold,
        signature: Signature,
    ) -> Result<()> {
        // SAFETY: the caller's promise; references end before anything is sent, and a function of
        // the program's that folds knows neither.
        unsafe {
            (&mut *board).put(&(*this).work, (*this).spot, data);
            (*this).stage = Stage::Takes(0);
            match (&*this).plan().filter(|plan| plan.meets()) {
                None => (&*board).show(signature),
                Some(_) if !(&*board).come(signature) => (*this).stage = Stage::Meeting,
                Some(plan) => {
                    let at = (&plan, (*this).next);
                    (&*board).end_meeting(at, &mut (*this).work, data, fold, signature)?;
                }
            }
            (&*board).order_showing();
            if is_any_dozing(board) {
                wake_dozing(board, wake);
            }
            if (&*this).passes_on() {
                Self::end_round(this, board, false);
            } else {
                data.copy(&(*this).work.copies);
            }
        }
        Ok(())
    }

    /// Ends the present round.
    ///
    /// # Safety
    /// As for [`go`](Self::go).
    unsafe fn end_round(this: *mut Self, board: *mut Board, all_have_begun: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            (&mut *board).end_round(all_have_begun);
            (*this).next += 1;
            (*this).stage = Stage::Between;
        }
    }

    /// Does a take, or goes on after the last one. False if the data has not been published.
    ///
    /// # Safety
    /// As for [`go`](Self::go).
    unsafe fn take(
        this: *mut Self,
        board: *mut Board,
        at: usize,
        data: &mut (impl Data + ?Sized),
        fold: &Fold,
        signature: Signature,
    ) -> Result<bool> {
        // SAFETY: the caller's promise; a function of the program's that folds knows neither.
        unsafe {
            let me = (&*board).me();
            let meets = (&*this).plan().is_some_and(|plan| plan.meets());
            let Some(take) = (&(*this).work.takes).get(at).copied() else {
                if (&*this).passes_on() {
                    (*this).stage = Stage::Room;
                } else {
                    let seen = (&(*this).work.takes).iter().filter(|take| take.member != me).count();
                    Self::end_round(this, board, meets || seen + 1 == (&*board).tasks().len());
                }
                return Ok(true);
            };
            if take.member != me && !meets {
                let Some(theirs) = (&*board).shown(take.member) else {
                    (*this).awaited = take.member;
                    return Ok(false);
                };
                (&*board).same(take.member, theirs, signature)?;
            }
            (&*board).take(&take, (*this).spot, data, fold, &mut (*this).heard)?;
            (*this).stage = Stage::Takes(at + 1);
            Ok(true)
        }
    }
}
