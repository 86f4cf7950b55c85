//! A team's way through memory: made at its first call that blocks, if all members share a host.

use super::Board;
use super::run::Work;
use crate::combine::By;
use crate::element::Operator;
use crate::engine::{Fold, Held};
use crate::error::Result;
use crate::team::Team;
use crate::{Call, Signature, Type};
use lapis_core::Context;

/// A team's way through memory.
#[derive(Default)]
pub(crate) struct Memory {
    /// Members have looked for one.
    known: bool,
    /// A thread is in a call.
    busy: bool,
    pub(crate) board: Option<Box<Board>>,
}

/// The turn of a thread to use a team's memory.
struct Turn<'a>(&'a Team);

impl<'a> Turn<'a> {
    /// Waits until no other thread is in a call. The lock is held.
    fn take(team: &'a Team) -> Result<Self> {
        let memory = team.0.memory.get();
        // SAFETY: the lock is held, in waits too when they ask; references end where they stand.
        unsafe {
            if (*memory).busy {
                team.context().wait_quietly(|| !(*memory).busy, None)?;
            }
            (*memory).busy = true;
        }
        Ok(Self(team))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // SAFETY: the lock is held as long as a turn lasts.
        unsafe { (*self.0.0.memory.get()).busy = false };
    }
}

impl Team {
    /// Whether a call that blocks goes through memory where there is some. All members say the
    /// same.
    pub(crate) fn may_use_memory(&self, call: &Call<'_>) -> bool {
        let ways = matches!(
            call,
            Call::Barrier
                | Call::Broadcast { .. }
                | Call::Reduce { .. }
                | Call::AllReduce { .. }
                | Call::ReduceScatter { .. }
                | Call::Gather { .. }
                | Call::Scatter { .. }
                | Call::AllGather { .. }
                | Call::AllToAll { .. }
                | Call::Scan { .. }
                | Call::ExScan { .. }
        );
        ways && self.len() > 1
            && self.hosts().is_none()
            && !(call.folds() && self.is_reproducible())
            && !self.0.wishes.want_messages(call)
    }

    /// Calls through memory; gives the operator back if there is no way.
    ///
    /// # Safety
    /// As for [`call_raw`](Self::call_raw); the call has been checked.
    pub(crate) unsafe fn call_through_memory(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'static>,
        input: *const u8,
        output: *mut u8,
    ) -> Result<Result<()>, By<'static>> {
        let context = self.context();
        let _held = Held::new(context);
        let turn = match Turn::take(self) {
            Ok(turn) => turn,
            Err(e) => return Ok(Err(e)),
        };
        let memory = self.0.memory.get();
        // SAFETY: the lock is held; references end where they stand.
        unsafe {
            if !(*memory).known {
                if let Err(e) = self.find_memory() {
                    return Ok(Err(e));
                }
                (*memory).known = true;
            }
            let Some(board) = (*memory).board.as_deref_mut() else { return Err(by) };
            let board: *mut Board = board;
            let operator = if let By::Operator(operator) = by { Some(operator) } else { None };
            let Some(plan) = super::run::plan(call, self.rank(), self.len(), of.size()) else {
                return Err(by);
            };
            let fold = match Fold::of(call, of, by) {
                Ok(fold) => fold,
                Err(e) => return Ok(Err(e)),
            };
            let work = Work {
                context,
                engine: &self.0.engine,
                members: self.0.members,
                board,
                call,
                signature: Signature::of(call, of, operator),
                fold: &fold,
                size: of.size(),
                input,
                output,
            };
            let ended = work.run(&plan);
            if let Err(e) = &ended {
                self.0.engine.spread(context, self.0.members, e.cause(context.task()));
            }
            drop(turn);
            Ok(ended)
        }
    }

    /// Members show each other where their boards are, by messages, and agree whether all see all.
    fn find_memory(&self) -> Result<()> {
        let (context, n) = (self.context(), self.len());
        let memory = Board::memory(context, n);
        let give_back = |context: &Context| {
            if let Some(memory) = memory {
                // SAFETY: it came from this context; nobody has used it, as not all have reached
                // all.
                unsafe { context.free_raw(memory) };
            }
        };
        let agree = || -> Result<Option<Board>> {
            let mine = [memory.map_or(0, |memory| memory.addr)];
            let mut all = vec![0u64; n];
            let count = 1;
            // SAFETY: the buffers are as long as the calls say.
            unsafe {
                let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
                self.call_by_messages(&Call::AllGather { count }, Type::U64, By::Nothing, from, to)?;
                let tasks = all
                    .iter()
                    .enumerate()
                    .map(|(rank, address)| (self.group().task(rank).unwrap_or(u32::MAX), *address));
                let board = memory.and_then(|memory| Board::new(context, memory, self.rank(), tasks));
                let mut sees = [u8::from(board.is_some())];
                let to = sees.as_mut_ptr();
                let least = By::Operator(Operator::Min);
                self.call_by_messages(&Call::AllReduce { count }, Type::U8, least, to, to)?;
                Ok(board.filter(|_| sees == [1]))
            }
        };
        match agree() {
            // SAFETY: the lock is held, and no call uses the memory yet.
            Ok(Some(board)) => unsafe { (*self.0.memory.get()).board = Some(Box::new(board)) },
            Ok(None) => give_back(context),
            Err(e) => {
                // Some may have agreed: the memory stays until the context ends.
                return Err(e);
            }
        }
        Ok(())
    }
}
