//! Calls that block and take their rounds through memory themselves, at once, if nothing of their
//! team stands before. Those of other forms, and calls that can't, are operations of the engine's.

mod run;
mod wait;
mod work;

use crate::board::{self, Board, Plan};
use crate::combine::{By, Fold};
use crate::engine::Held;
use crate::error::Result;
use crate::team::Team;
use crate::{Call, Signature, Type};
use work::{Team as At, Work};

impl Team {
    /// Calls through memory and waits, if nothing stands before; else gives the operator back.
    ///
    /// # Safety
    /// As for [`call_raw`](Self::call_raw); the call has been checked, and its [way](Self::way) is
    /// [`Way::Host`].
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
        // SAFETY: the caller's promise.
        let run = |work: &Work<'_>, plan: &Plan<'_>| unsafe { work.run(plan) };
        // SAFETY: the caller's promise.
        unsafe { self.in_rounds(call, of, by, (input, output), run) }
    }

    /// The same with rounds that `run` takes.
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
        let members = self.0.members.as_ptr();
        // SAFETY: the lock is held; references end where they stand.
        unsafe {
            let memory = &mut (*members).memory;
            let Some(board) = memory.board.as_deref_mut().filter(|_| memory.queue.is_empty() && !memory.busy)
            else {
                return Err(by);
            };
            let board: *mut Board = board;
            let operator = if let By::Operator(operator) = by { Some(operator) } else { None };
            let Some(plan) = board::plan(call, self.rank(), self.len(), of.size()) else {
                return Err(by);
            };
            let fold = match Fold::of(call, of, by) {
                Ok(fold) => fold,
                Err(e) => return Ok(Err(e)),
            };
            let number = self.0.engine.begin_blocking(self.0.members);
            let work = Work {
                at: At { context, engine: &self.0.engine, members: self.0.members },
                board,
                call,
                number,
                signature: Signature::of(call, of, operator),
                fold: &fold,
                input,
                output,
            };
            let ended = run(&work, &plan);
            if let Err(e) = &ended {
                self.0.engine.spread(context, self.0.members, e.cause(context.task()));
            }
            self.0.engine.end_blocking(context, self.0.members);
            Ok(ended)
        }
    }
}
