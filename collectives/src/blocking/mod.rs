//! Calls that block and take their rounds through memory themselves, at once, if nothing of their
//! team stands before. Those of other forms, and calls that can't, are operations of the engine's.

mod run;
mod wait;
mod work;

use crate::board::{self, Board, MEET_MEMBERS, Plan};
use crate::combine::{By, Fold};
use crate::engine::Held;
use crate::error::Result;
use crate::team::Team;
use crate::{Call, Signature, Type};
use lapis_ablation::{Optimization, without};
use work::{Team as At, Work};

impl Team {
    /// Calls through memory and waits, if nothing stands before; else gives the operator back.
    ///
    /// # Safety
    /// As for [`call_raw`](Self::call_raw); the call has been checked, and its [way](Self::way) is
    /// [`Way::Host`](crate::select::Way::Host).
    pub(crate) unsafe fn call_through_memory(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'static>,
        input: *const u8,
        output: *mut u8,
    ) -> Result<Result<()>, By<'static>> {
        if std::ptr::eq(input, output) && matches!(call, Call::AllToAllV { .. }) {
            // What comes may lie where what goes has not been read.
            return Err(by);
        }
        if matches!(call, Call::Barrier) && self.len() < MEET_MEMBERS && !without(Optimization::BareBarrier) {
            // SAFETY: the caller's promise.
            return unsafe { self.barrier_through_memory() }.ok_or(by);
        }
        // SAFETY: the caller's promise.
        let run = |work: &Work<'_>, plan: &Plan<'_>| unsafe { work.run(plan) };
        // SAFETY: the caller's promise.
        unsafe { self.in_rounds(call, of, by, (input, output), run) }
    }

    /// A barrier of few members, who look at each other's flags. Nothing is put or taken, so that
    /// no plan is needed: that takes a third off its time. `None`: something stands before.
    ///
    /// # Safety
    /// As for [`call_through_memory`](Self::call_through_memory).
    unsafe fn barrier_through_memory(&self) -> Option<Result<()>> {
        let (call, context) = (&Call::Barrier, self.context());
        let _held = Held::new(context);
        // SAFETY: the lock is held; references end where they stand.
        unsafe {
            let work = Work {
                board: self.free_board()?,
                at: At { context, engine: &self.0.engine, members: self.0.members },
                call,
                number: self.0.engine.begin_blocking(self.0.members),
                signature: Signature::of(call, Type::U8, None),
                fold: &Fold::None,
                input: std::ptr::null(),
                output: std::ptr::null_mut(),
            };
            Some(self.end(work.show_and_see_all()))
        }
    }

    /// The same as [`call_through_memory`](Self::call_through_memory) with rounds that `run` takes.
    ///
    /// # Safety
    /// As for [`call_through_memory`](Self::call_through_memory), as far as `run` uses the buffers.
    pub(crate) unsafe fn in_rounds(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'static>,
        (input, output): (*const u8, *mut u8),
        run: impl FnOnce(&Work<'_>, &Plan<'_>) -> Result<()>,
    ) -> Result<Result<()>, By<'static>> {
        let context = self.context();
        let _held = Held::new(context);
        // SAFETY: the lock is held; references end where they stand.
        unsafe {
            let Some(board) = self.free_board() else { return Err(by) };
            let operator = if let By::Operator(operator) = by { Some(operator) } else { None };
            let Some(plan) = board::plan(call, self.rank(), self.len(), of.size()) else {
                return Err(by);
            };
            let fold = match Fold::of(call, of, by) {
                Ok(fold) => fold,
                Err(e) => return Ok(Err(e)),
            };
            let work = Work {
                at: At { context, engine: &self.0.engine, members: self.0.members },
                board,
                call,
                number: self.0.engine.begin_blocking(self.0.members),
                signature: Signature::of(call, of, operator),
                fold: &fold,
                input,
                output,
            };
            Ok(self.end(run(&work, &plan)))
        }
    }

    /// The board, unless something stands before.
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

    /// Ends a call that has come so far; all members hear of its failure.
    ///
    /// # Safety
    /// The lock is held; the call has begun.
    #[inline(always)]
    unsafe fn end(&self, ended: Result<()>) -> Result<()> {
        let (context, engine, members) = (self.context(), &self.0.engine, self.0.members);
        // SAFETY: the caller's promise.
        unsafe {
            if let Err(e) = &ended {
                engine.spread(context, members, e.cause(context.task()));
            }
            engine.end_blocking(context, members);
        }
        ended
    }
}
