//! Blocking calls take their rounds through memory at once, if no operation of their team comes
//! before them. Other forms of calls, and calls that can't do so, are operations of the engine.
//!
//! The plan of such a call is made once and kept. The next call of the same kind finds it by its
//! key, with its round already written.

mod run;
mod wait;
mod work;

use crate::board::{self, Board, Buffers, Data, Kept, Prepared, Shown};
use crate::call::Given;
use crate::combine::{By, Fold};
use crate::engine::Held;
use crate::error::Result;
use crate::key::Key;
use crate::team::Team;
use crate::{Call, Signature, Type};
use work::{Step, Team as At, Work};

impl Given {
    /// The buffers in the form that rounds use.
    ///
    /// # Safety
    /// The lock is held; the board is the call's.
    #[inline(always)]
    unsafe fn buffers(&self, board: *mut Board, prepared: &Prepared<'_>) -> Buffers {
        let (scratch, size) = (prepared.plan.scratch(), prepared.plan.element());
        let scratch = match scratch {
            0 => std::ptr::null_mut(),
            // SAFETY: the caller's promise; the reference ends here, and an address is taken.
            some => unsafe { (&mut *board).scratch(some * size) },
        };
        Buffers { bases: [self.input.cast_mut(), self.output, scratch], size }
    }
}

impl Team {
    /// Makes a call whose plan is kept. `None` if it is not, or if an operation comes before it.
    ///
    /// # Safety
    /// As for [`call_with`](Self::call_with).
    pub(crate) unsafe fn call_again(&self, key: &Key, given: &Given) -> Option<Step> {
        let _held = Held::new(self.context());
        // SAFETY: the lock is held; references end where they stand. Nobody else uses the board
        // before this call has ended.
        unsafe {
            let board = self.free_board()?;
            let kept = (&mut *board).take_kept(key, given.lens)?;
            Some(self.make_and_keep(board, kept, given))
        }
    }

    /// Makes a call, and keeps its plan for the next one.
    ///
    /// # Safety
    /// The lock is held; the board is [free](Self::free_board); the buffers are what the call
    /// needs, and nobody else's.
    #[inline(always)]
    unsafe fn make_and_keep(&self, board: *mut Board, mut kept: Box<Kept>, given: &Given) -> Step {
        // SAFETY: the board and the buffers are this call's, as the caller says; the reference ends
        // where it stands.
        unsafe {
            let mut data = given.buffers(board, &kept.prepared);
            let ended = match kept.prepared.plan.shows() {
                false => self.take_rounds(board, &mut kept.prepared, &mut data),
                true => self.read_inputs(board, &mut kept.prepared, data),
            };
            (&mut *board).keep(kept);
            ended
        }
    }

    /// Takes the rounds of a call whose members show their inputs.
    ///
    /// # Safety
    /// As for [`make_and_keep`](Self::make_and_keep).
    #[inline(never)]
    unsafe fn read_inputs(&self, board: *mut Board, prepared: &mut Prepared<'_>, buffers: Buffers) -> Step {
        let mut data = Shown { buffers, board, context: self.context(), word: None };
        // SAFETY: the caller's promise.
        let ended = unsafe { self.take_rounds(board, prepared, &mut data) };
        if let (Err(e), Some(word)) = (&ended, data.word) {
            word.withdraw(e.cause(self.context().task()));
        }
        ended
    }

    /// Calls through memory and waits, if no operation comes before; otherwise returns the
    /// operator.
    ///
    /// # Safety
    /// As for [`call_with`](Self::call_with); the call has been checked, and its [way](Self::way)
    /// is [`Way::Host`](crate::select::Way::Host).
    pub(crate) unsafe fn call_through_memory(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'static>,
        key: Option<Key>,
        given: &Given,
    ) -> Result<Result<()>, By<'static>> {
        if std::ptr::eq(given.input, given.output) && matches!(call, Call::AllToAllV { .. }) {
            // Data may arrive where input has not been read yet.
            return Err(by);
        }
        let Some((key, call)) = key.zip(call.plain()).filter(|_| board::keeps()) else {
            // SAFETY: the caller's promise.
            let run = |board: *mut Board, prepared: &mut Prepared<'_>| unsafe {
                let mut data = given.buffers(board, prepared);
                match prepared.plan.shows() {
                    false => self.take_rounds(board, prepared, &mut data),
                    true => self.read_inputs(board, prepared, data),
                }
            };
            // SAFETY: the caller's promise.
            return unsafe { self.in_rounds(call, of, by, run) };
        };
        let _held = Held::new(self.context());
        // SAFETY: the lock is held; references end where they stand. Nobody else uses the board
        // before this call has ended.
        unsafe {
            let Some(board) = self.free_board() else { return Err(by) };
            let parts = match self.parts(&*board, &call, of, by)? {
                Ok(parts) => parts,
                Err(e) => return Ok(Err(e)),
            };
            let kept = (&mut *board).prepare_kept(key, &call, parts);
            Ok(self.make_and_keep(board, kept, given).map_err(|e| *e))
        }
    }

    /// The same as [`call_through_memory`](Self::call_through_memory) with data in layouts.
    ///
    /// # Safety
    /// The layouts' memory is valid, and nobody else's; the call is theirs, and its way is
    /// [`Way::Host`](crate::select::Way::Host).
    pub(crate) unsafe fn lay_through_memory(
        &self,
        call: &Call<'_>,
        data: &mut impl Data,
    ) -> Result<Result<()>, By<'static>> {
        // SAFETY: the caller's promise.
        let run = |board: *mut Board, prepared: &mut Prepared<'_>| unsafe {
            self.take_rounds(board, prepared, data)
        };
        // SAFETY: the caller's promise.
        unsafe { self.in_rounds(call, Type::U8, By::Nothing, run) }
    }

    /// Makes a call whose plan is not kept.
    ///
    /// # Safety
    /// As for [`call_through_memory`](Self::call_through_memory), as far as `run` uses buffers. It
    /// is called with the lock held.
    unsafe fn in_rounds(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'static>,
        run: impl FnOnce(*mut Board, &mut Prepared<'_>) -> Step,
    ) -> Result<Result<()>, By<'static>> {
        let _held = Held::new(self.context());
        // SAFETY: the lock is held; references end where they stand.
        unsafe {
            let Some(board) = self.free_board() else { return Err(by) };
            let (plan, signature, fold) = match self.parts(&*board, call, of, by)? {
                Ok(parts) => parts,
                Err(e) => return Ok(Err(e)),
            };
            let mut prepared = Prepared::new(plan, signature, fold, (&mut *board).lend_round());
            let ended = run(board, &mut prepared);
            (&mut *board).give_back(prepared.into_room());
            Ok(ended.map_err(|e| *e))
        }
    }

    /// The plan, signature and operator of a call; returns the operator if it has no rounds.
    #[allow(clippy::type_complexity, reason = "each part has its name at the only two callers")]
    fn parts<'a>(
        &self,
        board: &Board,
        call: &Call<'a>,
        of: Type,
        by: By<'static>,
    ) -> Result<Result<(board::Plan<'a>, Signature, Fold)>, By<'static>> {
        let operator = if let By::Operator(operator) = by { Some(operator) } else { None };
        let Some(plan) = board::plan(call, self.rank(), self.len(), of.size()) else {
            return Err(by);
        };
        let plan = board.plan(plan);
        Ok(Fold::of(call, of, by).map(|fold| (plan, Signature::of(call, of, operator), fold)))
    }

    /// The board, unless an operation comes before.
    ///
    /// # Safety
    /// The lock is held.
    #[inline(always)]
    unsafe fn free_board(&self) -> Option<*mut Board> {
        // SAFETY: the team lives; the reference ends here, and an address is given.
        let memory = unsafe { &mut (*self.0.members.as_ptr()).memory };
        let board = memory.board.as_deref_mut().filter(|_| memory.queue.is_empty() && !memory.busy)?;
        Some(board)
    }

    /// Makes a call; if it fails, all members are notified.
    ///
    /// # Safety
    /// The lock is held; the board is [free](Self::free_board); the data is what the plan says, and
    /// nobody else's.
    #[inline(always)]
    unsafe fn take_rounds(
        &self,
        board: *mut Board,
        prepared: &mut Prepared<'_>,
        data: &mut impl Data,
    ) -> Step {
        let (context, engine, members) = (self.context(), &self.0.engine, self.0.members);
        // SAFETY: the caller's promise.
        unsafe {
            let number = engine.begin_blocking(members);
            let signature = prepared.signature;
            let work = Work { at: At { context, engine, members }, board, number, signature };
            let ended = work.run(prepared, data);
            if let Err(e) = &ended {
                engine.spread(context, members, e.cause(context.task()), (number, signature), None);
            }
            engine.end_blocking(context, members);
            ended
        }
    }
}
