//! Taking the rounds of a call that blocks.

use super::buffers::Data;
use super::rounds::{Plan, Round};
use super::work::{Whom, Work};
use super::{Board, Buffers, INLINE, LINE};
use crate::Signature;
use crate::error::{CollectiveError, Result};
use lapis_core::sync::membarrier;

impl Work<'_> {
    /// Runs it as it was planned.
    ///
    /// # Safety
    /// The lock is held; the buffers are as long as the call says, and nobody else's.
    pub(crate) unsafe fn run(&self, plan: &Plan<'_>) -> Result<()> {
        // SAFETY: the board is this operation's; the reference ends here, and an address is taken.
        let scratch = unsafe {
            let scratch = &mut (*self.board).scratch;
            let needed = (plan.scratch() * plan.element()).div_ceil(LINE / 2);
            scratch.resize(needed.max(scratch.len()), [0; 8]);
            scratch.as_mut_ptr().cast()
        };
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
            return Err(cause.error());
        }
        // SAFETY: the board is this operation's; references to it end before anybody waits.
        let mut round = unsafe {
            (*self.board).heard = 0;
            std::mem::take(&mut (*self.board).work)
        };
        // SAFETY: the caller's promise.
        let ended = unsafe { self.take_rounds(plan, &mut round, data) };
        // SAFETY: the board lives as long as the team, and the lock's holder alone uses its own
        // part.
        unsafe { (*self.board).work = round };
        ended
    }

    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn take_rounds(&self, plan: &Plan<'_>, round: &mut Round, data: &mut impl Data) -> Result<()> {
        let mut r = 0;
        // SAFETY: the caller's promise; a number of the board's is read.
        while r < plan.rounds(unsafe { (*self.board).heard }) {
            plan.round(r, round);
            // SAFETY: the caller's promise.
            unsafe { self.take_round(plan, r, round, data) }?;
            r += 1;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn take_round(
        &self,
        plan: &Plan<'_>,
        r: usize,
        work: &mut Round,
        data: &mut impl Data,
    ) -> Result<()> {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits.
        unsafe {
            let board = self.board;
            let meets = plan.meets();
            (&mut *board).begin_round(meets);
            let (round, me) = ((*board).round, (*board).me);
            let spot = plan.spot(INLINE);
            self.wait_for_room(round, spot.places())?;
            data.put(&work.puts, (*board).data(me, round, spot));
            (&*board).tell(&work.tells);
            if meets {
                self.meet(plan, r, work, data)?;
            } else {
                (*board).line(me, round).show(round, self.signature.0);
                (*board).begun(me).set(round);
                membarrier::light((*board).fences);
                self.wake_dozing();
            }
            data.copy(&work.copies);
            let mut seen = 1;
            for take in &work.takes {
                if take.member != me && !meets {
                    self.wait_for_data(take.member, round)?;
                    seen += 1;
                }
                if let Some(expected) = take.told {
                    (*board).heard = (&*board).hear(take.member, expected)?.max((*board).heard);
                }
                for one in take.each() {
                    data.take(&one, (*board).data(one.member, round, spot), self.fold);
                }
            }
            if meets || seen == (&*board).bases.len() {
                // Everybody has shown this round, and has begun it therefore.
                (*board).least = round;
            }
        }
        Ok(())
    }

    /// Comes to the meeting of a round, and waits until all have.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the data of round `r` is put.
    unsafe fn meet(&self, plan: &Plan<'_>, r: usize, work: &mut Round, data: &mut impl Data) -> Result<()> {
        // SAFETY: the board is this operation's and lives; nothing refers to its plain fields while
        // somebody waits.
        unsafe {
            let board: *const Board = self.board;
            if !(*board).come(self.signature.0) {
                return self.wait_for(Whom::All, || (*board).is_open());
            }
            if let Some((member, theirs)) = (*board).other_comer(self.signature.0) {
                return Err(self.mismatch(member, theirs));
            }
            (*board).end_meeting(plan, r, work, data, self.fold);
            // Nobody waits for a single one who comes.
            membarrier::light((*board).fences);
            self.wake_dozing();
        }
        Ok(())
    }

    /// Waits until nobody reads what lies where the data of `round` goes, of so many places that
    /// are used in turns.
    ///
    /// # Safety
    /// The lock is held.
    #[inline]
    unsafe fn wait_for_room(&self, round: u64, places: usize) -> Result<()> {
        // SAFETY: the board is this operation's and lives.
        unsafe {
            let board = self.board;
            let enough = (round + 1).saturating_sub(places as u64);
            if (*board).least >= enough {
                return Ok(());
            }
            (&mut (*board).begun)[(*board).me] = round;
            let members = {
                let bases = &(*board).bases;
                bases.len()
            };
            for member in 0..members {
                if (&(*board).begun)[member] < enough {
                    let board: *const Board = board;
                    let there = || (*board).begun(member).get() >= enough;
                    self.wait_for(Whom::Member(member), there)?;
                    let seen = (*board).begun(member).get();
                    (&mut (*self.board).begun)[member] = seen;
                }
            }
            (*board).least = (*board).begun.iter().copied().min().unwrap_or(round);
        }
        Ok(())
    }

    /// Waits for a member's data.
    ///
    /// # Safety
    /// The lock is held.
    #[inline]
    unsafe fn wait_for_data(&self, member: usize, round: u64) -> Result<()> {
        // SAFETY: the board is this operation's and lives; the line is shared memory made for this.
        let line = unsafe { (*self.board).line(member, round) };
        let mut theirs = line.shown(round);
        if theirs.is_none() {
            let there = || {
                theirs = line.shown(round);
                theirs.is_some()
            };
            // SAFETY: the caller's promise.
            unsafe { self.wait_for(Whom::Member(member), there) }?;
        }
        match theirs {
            Some(theirs) if theirs != self.signature.0 => Err(self.mismatch(member, theirs)),
            _ => Ok(()),
        }
    }

    #[cold]
    pub(super) fn mismatch(&self, member: usize, theirs: u64) -> CollectiveError {
        // SAFETY: the board is this operation's and lives; its tasks never change.
        let from = unsafe { (*self.board).task(member) };
        CollectiveError::Mismatch { from, theirs: Signature(theirs), mine: self.signature }
    }
}
