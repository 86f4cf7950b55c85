//! Which calls of a team go through memory, and calls that block and do.

use super::rounds::Plan;
use super::work::{Team as At, Work};
use super::{Board, Rounds};
use crate::combine::{By, Fold};
use crate::engine::{self, Found, Held, Here};
use crate::error::Result;
use crate::select::{self, Way};
use crate::team::Team;
use crate::{Call, Signature, Type};
use lapis_schedules::levels;

impl Team {
    /// How memory serves a call where there is some; operands may change places if `reorder`.
    pub(crate) fn way(&self, call: &Call<'_>, of: Type, reorder: bool) -> Option<Way> {
        select::through_memory(call, &self.shape(of, reorder), &self.0.wishes)
    }

    /// The rounds of a call, if it has any.
    pub(crate) fn rounds(&self, call: &Call<'_>, of: Type, reorder: bool) -> Option<Rounds> {
        match self.way(call, of, reorder)? {
            Way::Host => Rounds::all(call, self.rank(), self.len(), of.size()),
            Way::Levels => {
                let hosts = self.hosts()?;
                let here = self.here();
                let leader = levels::leader(hosts, hosts.host_of(self.rank()), call.root());
                let leader = here.ranks.rank(leader as u32)?;
                Rounds::of_levels(call, here.me, here.ranks.len(), leader, of.size())
            }
        }
    }

    /// Who shares the caller's host.
    fn here(&self) -> Here {
        match self.hosts() {
            Some(hosts) => {
                let ranks = hosts.ranks(hosts.host_of(self.rank())).clone();
                let me = ranks.rank(self.rank() as u32).unwrap_or(0);
                Here { ranks, me }
            }
            None => Here { ranks: crate::Group::all(self.len() as u32), me: self.rank() },
        }
    }

    /// Begins to look for memory, if nobody has.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn look_for_memory(&self) {
        let members = self.0.members;
        // SAFETY: the team lives; references end here.
        let unknown = unsafe {
            matches!((*members.as_ptr()).memory.found, Found::Unknown) && (*members.as_ptr()).over.is_none()
        };
        if unknown {
            // SAFETY: the lock is held, and nobody has looked.
            unsafe {
                engine::look_for_memory(self.context(), &self.0.engine, members, self.rank(), self.here())
            };
        }
    }

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
            let Some(plan) = super::steps::plan(call, self.rank(), self.len(), of.size()) else {
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
