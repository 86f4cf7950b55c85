//! Taking the rounds of a call that blocks.

use super::work::{Whom, Work};
use crate::board::{self, Board, Buffers, Data, INLINE, LINES, Plan, Round};
use crate::error::{Cause, CollectiveError, Result};

impl Work<'_> {
    /// Runs it as it was planned.
    ///
    /// # Safety
    /// The lock is held; the buffers are as long as the call says, and nobody else's.
    pub(crate) unsafe fn run(&self, plan: &Plan<'_>) -> Result<()> {
        // SAFETY: the board is this operation's; the reference ends here, and an address is taken.
        let scratch = unsafe { (&mut *self.board).scratch(plan.scratch() * plan.element()) };
        let mut data = Buffers { bases: [self.input.cast_mut(), self.output, scratch], size: plan.element() };
        // SAFETY: the caller's promise.
        unsafe { self.run_on(plan, &mut data) }
    }

    /// The same with data of another kind.
    ///
    /// # Safety
    /// The lock is held; the data is what the plan says, and nobody else's.
    pub(crate) unsafe fn run_on(&self, plan: &Plan<'_>, data: &mut impl Data) -> Result<()> {
        // SAFETY: the team lives.
        if let Some(cause) = unsafe { (*self.at.members.as_ptr()).over } {
            return Err(self.over(plan, cause));
        }
        // SAFETY: the board is this operation's; references to it end before anybody waits.
        let mut round = unsafe { (&mut *self.board).lend_round() };
        // SAFETY: the caller's promise.
        let ended = unsafe { self.take_rounds(plan, &mut round, data) };
        // SAFETY: the board lives as long as the team, and the lock's holder alone uses its own
        // part.
        unsafe { (&mut *self.board).give_back(round) };
        ended
    }

    /// The only round of a call that carries nothing.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn show_and_see_all(&self) -> Result<()> {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits. So does the team.
        unsafe {
            let board = self.board;
            let (me, n) = ((&*board).me(), (&*board).tasks().len());
            if let Some(cause) = (*self.at.members.as_ptr()).over {
                let plan = board::plan(self.call, me, n, 1);
                return Err(plan.map_or_else(|| cause.error(), |plan| self.over(&plan, cause)));
            }
            (&mut *board).begin_bare_round();
            self.wait_for_room(LINES)?;
            (&*board).show(self.signature);
            (&*board).order_showing();
            self.wake_dozing();
            for member in (0..n).filter(|member| *member != me) {
                self.wait_for_data(member)?;
            }
            (&mut *board).all_have_begun();
        }
        Ok(())
    }

    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn take_rounds(&self, plan: &Plan<'_>, round: &mut Round, data: &mut impl Data) -> Result<()> {
        let (mut r, mut heard) = (0, 0);
        while r < plan.rounds(heard) {
            plan.round(r, round);
            // SAFETY: the caller's promise.
            unsafe { self.take_round((plan, r), round, data, &mut heard) }?;
            r += 1;
        }
        Ok(())
    }

    /// The team was over before this call: because of it, if others have called something else.
    #[cold]
    fn over(&self, plan: &Plan<'_>, cause: Cause) -> CollectiveError {
        // SAFETY: the board is this operation's and lives; the reference ends here.
        let found = || unsafe { (&*self.board).other_call_before(plan, self.signature) };
        matches!(cause, Cause::Broken(_)).then(found).flatten().unwrap_or_else(|| cause.error())
    }

    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn take_round(
        &self,
        (plan, r): (&Plan<'_>, usize),
        work: &mut Round,
        data: &mut impl Data,
        heard: &mut usize,
    ) -> Result<()> {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits.
        unsafe {
            let board = self.board;
            let meets = plan.meets();
            (&mut *board).begin_round(plan, r);
            let (me, spot) = ((&*board).me(), plan.spot(INLINE));
            self.wait_for_room(spot.places())?;
            (&*board).put(work, spot, data);
            if meets {
                self.meet((plan, r), work, data)?;
            } else {
                (&*board).show(self.signature);
                (&*board).order_showing();
                self.wake_dozing();
            }
            data.copy(&work.copies);
            let mut seen = 1;
            for take in &work.takes {
                if take.member != me && !meets {
                    self.wait_for_data(take.member)?;
                    seen += 1;
                }
                (&*board).take(take, spot, data, self.fold, heard)?;
            }
            if meets || seen == (&*board).tasks().len() {
                (&mut *board).all_have_begun();
            }
        }
        Ok(())
    }

    /// Comes to the meeting of a round, and waits until all have.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the data of the round is put.
    unsafe fn meet(&self, at: (&Plan<'_>, usize), work: &mut Round, data: &mut impl Data) -> Result<()> {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits.
        unsafe {
            let board: *const Board = self.board;
            if !(&*board).come(self.signature) {
                return self.wait_for(Whom::All, || (&*board).is_open());
            }
            (&*board).end_meeting(at, work, data, self.fold, self.signature)?;
            // Nobody waits for a single one who comes.
            (&*board).order_showing();
            self.wake_dozing();
        }
        Ok(())
    }

    /// Waits until nobody reads what lies where the data of the round goes, of so many places that
    /// are used in turns.
    ///
    /// # Safety
    /// The lock is held.
    #[inline]
    unsafe fn wait_for_room(&self, places: usize) -> Result<()> {
        // SAFETY: the board is this operation's and lives; references end before somebody waits.
        unsafe {
            while let Some(member) = (&mut *self.board).lacks_room(places) {
                let board: *const Board = self.board;
                self.wait_for(Whom::Member(member), || (&*board).has_room(member, places))?;
            }
        }
        Ok(())
    }

    /// Waits for a member's data.
    ///
    /// # Safety
    /// The lock is held.
    #[inline]
    unsafe fn wait_for_data(&self, member: usize) -> Result<()> {
        let board: *const Board = self.board;
        // SAFETY: the board is this operation's and lives; the reference ends here.
        let look = || unsafe { (&*board).shown(member) };
        let mut theirs = look();
        if theirs.is_none() {
            let there = || {
                theirs = look();
                theirs.is_some()
            };
            // SAFETY: the caller's promise.
            unsafe { self.wait_for(Whom::Member(member), there) }?;
        }
        // SAFETY: the board is this operation's and lives; the reference ends here.
        theirs.map_or(Ok(()), |theirs| unsafe { (&*board).same(member, theirs, self.signature) })
    }
}
