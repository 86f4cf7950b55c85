//! The rounds of a blocking call.

use super::work::{Step, Whom, Work};
use crate::board::{Board, Data, Order, Plan, Prepared, Spot};
use crate::error::{Cause, CollectiveError};

impl Work<'_> {
    /// Takes the rounds of a prepared call.
    ///
    /// # Safety
    /// The lock is held; the data is what the plan says, and nobody else's.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, prepared: &mut Prepared<'_>, data: &mut impl Data) -> Step {
        // SAFETY: the team lives.
        if let Some(cause) = unsafe { (*self.at.members.as_ptr()).over } {
            return Err(Box::new(self.over(&prepared.plan, cause)));
        }
        let (mut r, mut heard) = (0, 0);
        while r < prepared.plan.rounds(heard) {
            // SAFETY: the caller's promise.
            unsafe { self.take_round(prepared, r, data, &mut heard) }?;
            r += 1;
        }
        Ok(())
    }

    /// The error of a team that was over before this call; it may be over because of this call, if
    /// others have made another one.
    #[cold]
    fn over(&self, plan: &Plan<'_>, cause: Cause) -> CollectiveError {
        // SAFETY: the board is this operation's and lives; the reference ends here.
        let found = || unsafe { (&*self.board).other_call_before(plan, self.signature) };
        matches!(cause, Cause::Broken(_)).then(found).flatten().unwrap_or_else(|| cause.error())
    }

    /// # Safety
    /// As for [`run`](Self::run).
    #[inline(always)]
    unsafe fn take_round(
        &self,
        prepared: &mut Prepared<'_>,
        r: usize,
        data: &mut impl Data,
        heard: &mut usize,
    ) -> Step {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits.
        unsafe {
            let board = self.board;
            let (meets, spot) = (prepared.plan.meets(), prepared.spot);
            (&mut *board).begin_round(&prepared.plan, r);
            if prepared.order == Order::Chain {
                return self.pass_on(prepared, r, data);
            }
            self.wait_for_room(spot)?;
            (&mut *board).put(prepared.round(r), spot, data);
            if meets {
                self.meet(prepared, r, data)?;
            } else {
                (&*board).show(self.signature);
                (&*board).order_showing();
                self.wake_dozing();
            }
            let (one_way, (round, fold)) = (prepared.order == Order::OneWay, prepared.written());
            data.copy(&round.copies);
            let (me, mut seen) = ((&*board).me(), 1);
            for take in &round.takes {
                if take.member != me && !meets {
                    self.wait_for_data(take.member, spot)?;
                    seen += 1;
                }
                (&*board).take(take, spot, data, fold, heard)?;
            }
            if one_way {
                (&mut *board).look_ahead(&round.takes, spot);
            }
            (&mut *board).end_round(meets || seen == (&*board).tasks().len());
        }
        Ok(())
    }

    /// A round in which members put the result of what they take.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the round is begun.
    #[inline(never)]
    unsafe fn pass_on(&self, prepared: &mut Prepared<'_>, r: usize, data: &mut impl Data) -> Step {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits.
        unsafe {
            let (board, spot) = (self.board, prepared.spot);
            data.copy(&prepared.round(r).copies);
            let (round, fold) = prepared.written();
            for take in &round.takes {
                self.wait_for_data(take.member, spot)?;
                (&*board).take(take, spot, data, fold, &mut 0)?;
            }
            (&mut *board).look_ahead(&round.takes, spot);
            self.wait_for_room(spot)?;
            (&mut *board).put(round, spot, data);
            (&*board).show(self.signature);
            (&*board).order_showing();
            self.wake_dozing();
            (&mut *board).end_round(false);
        }
        Ok(())
    }

    /// Arrives at the meeting of a round, and waits until all have.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the data of the round is put.
    unsafe fn meet(&self, prepared: &mut Prepared<'_>, r: usize, data: &mut impl Data) -> Step {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits.
        unsafe {
            let board: *const Board = self.board;
            if !(&*board).come(self.signature) {
                return self.wait_for(Whom::All, || (&*board).is_open());
            }
            let (plan, round, fold) = prepared.last();
            (&*board).end_meeting((plan, r), round, data, fold, self.signature)?;
            // No member waits for the arrival of a single other one.
            (&*board).order_showing();
            self.wake_dozing();
        }
        Ok(())
    }

    /// Waits until there is room for the data of the round: nobody reads its place any more.
    ///
    /// # Safety
    /// The lock is held.
    #[inline(always)]
    unsafe fn wait_for_room(&self, spot: Spot) -> Step {
        // SAFETY: the board is this operation's and lives; references end before somebody waits.
        unsafe {
            match (&mut *self.board).lacks_room(spot) {
                None => Ok(()),
                Some(member) => self.wait_for_room_of(member, spot),
            }
        }
    }

    /// # Safety
    /// The lock is held.
    #[inline(never)]
    unsafe fn wait_for_room_of(&self, first: usize, spot: Spot) -> Step {
        let (board, mut member): (*mut Board, _) = (self.board, first);
        // SAFETY: the board is this operation's and lives; references end before somebody waits.
        unsafe {
            loop {
                self.wait_for(Whom::Member(member), || (&*board).has_room(member, spot))?;
                match (&mut *board).lacks_room(spot) {
                    None => return Ok(()),
                    Some(next) => member = next,
                }
            }
        }
    }

    /// Waits for a member's data.
    ///
    /// # Safety
    /// The lock is held.
    #[inline(always)]
    unsafe fn wait_for_data(&self, member: usize, spot: Spot) -> Step {
        // SAFETY: the board is this operation's and lives; references end here.
        unsafe {
            match (&*self.board).shown(member) {
                Some(theirs) => Ok((&*self.board).same(member, theirs, self.signature)?),
                None => self.wait_for_call_of(member, spot),
            }
        }
    }

    /// # Safety
    /// The lock is held.
    #[inline(never)]
    unsafe fn wait_for_call_of(&self, member: usize, spot: Spot) -> Step {
        let (board, mut theirs): (*mut Board, _) = (self.board, None);
        // SAFETY: the board is this operation's and lives; references end where they stand.
        unsafe {
            (&mut *board).is_in_step();
            let there = || {
                theirs = (&*board).shown(member);
                if theirs.is_none() {
                    (&*board).expect(member, spot);
                }
                theirs.is_some()
            };
            self.wait_for(Whom::Member(member), there)?;
            theirs.map_or(Ok(()), |theirs| Ok((&*board).same(member, theirs, self.signature)?))
        }
    }
}
