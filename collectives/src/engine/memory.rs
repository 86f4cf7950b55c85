//! Operations that use shared memory: their order, running their rounds, waiting for flags as well
//! as messages, and being woken when no call is in progress.
//!
//! The operations of a team that use memory form a queue and run their rounds one after the other:
//! the first one is the team's *head*.

use super::op::Op;
use super::search::Found;
use super::{Engine, Held, Members};
use crate::Signature;
use crate::board::{Board, Layouts, Reach, Rounds, Shown};
use crate::error::{Cause, CollectiveError, Result};
use lapis_core::Context;
use lapis_core::sync::spin_loop;
use lapis_schedules::Script;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// Polls of the flag alone, which take a few microseconds.
pub(crate) const LOOKS: u32 = 1500;

/// How long a wait polls and makes progress before it sleeps. If tasks outnumber cores, each poll
/// yields the core, and all others may have it first.
pub(crate) const AWAKE: Duration = Duration::from_micros(200);
pub(crate) const AWAKE_WHEN_CROWDED: Duration = Duration::from_millis(2);

/// The longest sleep without a poll.
pub(crate) const DOZE: Duration = Duration::from_millis(5);

impl Engine {
    /// Appends an operation to the queue of its team's operations that use memory.
    ///
    /// # Safety
    /// The lock is held; the operation has rounds and is about to start.
    pub(super) unsafe fn line_up(&self, team: NonNull<Members>, op: NonNull<Op>) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            (&mut (*team.as_ptr()).memory.queue).push_back(op);
            self.inner().in_memory += 1;
        }
    }

    /// Removes an operation that has ended, or uses no memory, from its team's queue.
    ///
    /// # Safety
    /// The lock is held; the team lives.
    pub(super) unsafe fn leave_line(&self, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let memory = &mut (*team.as_ptr()).memory;
            let before = memory.queue.len();
            memory.queue.retain(|one| one.as_ptr() != op);
            if memory.queue.len() == before {
                return;
            }
            self.inner().in_memory -= 1;
            if !memory.queue.is_empty() {
                self.inner().attention = true;
            } else if let Some(board) = &mut memory.board {
                board.disarm();
            }
        }
    }

    /// Numbers a blocking call that takes its rounds itself. Until its end no other call takes any.
    ///
    /// # Safety
    /// The lock is held; the team lives.
    #[inline(always)]
    pub(crate) unsafe fn begin_blocking(&self, team: NonNull<Members>) -> u32 {
        // SAFETY: the caller's promise.
        unsafe {
            let members = team.as_ptr();
            let number = (*members).next;
            (*members).next = (number + 1) & super::wire::NUMBERS;
            (*members).memory.busy = true;
            (*members).memory.blocking = Some(number);
            number
        }
    }

    /// # Safety
    /// As for [`begin_blocking`](Self::begin_blocking), which came before.
    pub(crate) unsafe fn end_blocking(&self, context: &Context, team: NonNull<Members>) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let members = team.as_ptr();
            (*members).memory.busy = false;
            let number = (*members).memory.blocking.take();
            if !(&(*members).early).is_empty()
                && let Some(number) = number
            {
                self.answer_for_memory(context, team, number);
                self.clear_early(context, team, number, None);
            }
            if !(&(*members).memory.queue).is_empty() {
                self.advance_all(context);
            }
        }
    }

    /// The error of a blocking call through memory, with this number, of which somebody has sent or
    /// wants a message: that one makes another call, or does not make it through memory.
    ///
    /// # Safety
    /// The lock is held; the team lives.
    pub(crate) unsafe fn other_call(
        &self,
        team: NonNull<Members>,
        number: u32,
        mine: Signature,
    ) -> Option<CollectiveError> {
        // SAFETY: the caller's promise; the reference ends here.
        let other = unsafe { (&(*team.as_ptr()).early).of(number).next() }?;
        let (from, theirs) = (other.source, Signature(other.header.signature));
        Some(if theirs == mine {
            CollectiveError::Unmatched { from, call: mine.name() }
        } else {
            CollectiveError::mismatch(from, theirs, mine)
        })
    }

    /// The error of an operation whose team is over: a mismatch, if its call differs from another
    /// member's. Each member reads the calls itself.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn over(&self, team: NonNull<Members>, op: *mut Op, cause: Cause) -> CollectiveError {
        // SAFETY: the caller's promise; nothing below calls out.
        let found = || unsafe {
            let memory = &(*team.as_ptr()).memory;
            memory.queue.front().filter(|head| head.as_ptr() == op)?;
            let (rounds, board) = ((&(*op).rounds).as_ref()?, memory.board.as_ref()?);
            rounds.other_call(board, (*op).signature)
        };
        matches!(cause, Cause::Broken(_)).then(found).flatten().unwrap_or_else(|| cause.error())
    }

    /// Takes an operation's rounds as far as possible. True if its messages can be sent.
    ///
    /// # Safety
    /// The lock is held; the operation has rounds and is one of the team's under way.
    pub(super) unsafe fn through_memory(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
    ) -> bool {
        // SAFETY: the caller's promise; fields are used one by one, as rounds send messages, and
        // these may come back.
        unsafe {
            let Some(rounds) = (&mut (*op).rounds).as_deref_mut().map(|rounds| rounds as *mut Rounds) else {
                return true;
            };
            let members = team.as_ptr();
            if !self.has_turn(team, op) {
                return false;
            }
            let board = (&mut (*members).memory.board).as_deref_mut().map(|board| board as *mut Board);
            let Some(board) = board else {
                let script = (*rounds).instead.take().unwrap_or_default();
                self.go_by_messages(team, op, &script);
                return true;
            };
            let wake = |task| self.nudge(context, team, task);
            (&mut *rounds).join(&*board);
            loop {
                let following = match (*rounds).reach {
                    Reach::Before => Reach::Messages,
                    Reach::After => Reach::End,
                    Reach::Messages if (*op).next < (&(*op).acts).len() => return true,
                    Reach::Messages => {
                        (&mut *rounds).enter(Reach::After);
                        continue;
                    }
                    Reach::End => return false,
                };
                (*members).memory.busy = true;
                let gone = Self::go_on(context, op, rounds, board, &wake);
                (*members).memory.busy = false;
                match gone {
                    Ok(true) => {
                        (&mut *rounds).enter(following);
                        if following == Reach::End {
                            (&mut *op).put_in_place();
                        }
                    }
                    Ok(false) => return false,
                    Err(e) => {
                        (*op).failure.get_or_insert(e);
                        return false;
                    }
                }
            }
        }
    }

    /// Takes the rounds of an operation's present part as far as possible: true if it is complete.
    ///
    /// # Safety
    /// As for [`through_memory`](Self::through_memory); rounds and board are the operation's.
    unsafe fn go_on(
        context: &Context,
        op: *mut Op,
        rounds: *mut Rounds,
        board: *mut Board,
        wake: &dyn Fn(u32),
    ) -> Result<bool> {
        // SAFETY: the caller's promise; fields are used one by one, as rounds send messages, and
        // these may come back.
        unsafe {
            let (fold, signature) = (&(*op).fold, (*op).signature);
            let packs = (&*op).packs();
            if let Some(layouts) = (&mut (*op).layouts).as_deref_mut().filter(|_| !packs) {
                let layouts: *mut dyn Layouts = layouts;
                return Rounds::go(rounds, board, wake, &mut *layouts, fold, signature);
            }
            let buffers = (&*rounds).buffers((*op).bases, (*op).size);
            if (&*rounds).shows() {
                let mut data = Shown { buffers, board, context, word: (*rounds).shown };
                let gone = Rounds::go(rounds, board, wake, &mut data, fold, signature);
                (*rounds).shown = data.word;
                return gone;
            }
            Rounds::go(rounds, board, wake, &mut { buffers }, fold, signature)
        }
    }

    /// There is no memory: an operation sends messages instead of taking rounds.
    ///
    /// # Safety
    /// As for [`through_memory`](Self::through_memory); nobody refers to the operation's rounds.
    unsafe fn go_by_messages(&self, team: NonNull<Members>, op: *mut Op, script: &Script) {
        // SAFETY: the caller's promise.
        unsafe {
            (*op).rounds = None;
            (&mut *op).load(script, &(*team.as_ptr()).group);
            if let Some((input, output)) = (&mut *op).pack() {
                ((*op).bases[0], (*op).bases[1]) = (input.cast_mut(), output);
            }
            self.leave_line(team, op);
        }
    }

    /// # Safety
    /// The lock is held; both live.
    unsafe fn has_turn(&self, team: NonNull<Members>, op: *mut Op) -> bool {
        // SAFETY: the caller's promise; the reference ends here.
        let memory = unsafe { &(*team.as_ptr()).memory };
        memory.is_known() && !memory.busy && memory.queue.front().is_some_and(|one| one.as_ptr() == op)
    }

    /// Whether a message or a flag has arrived that lets an operation go on.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn can_go_on(&self) -> bool {
        // SAFETY: the caller's promise; active operations live.
        unsafe {
            let inner = self.inner();
            inner.attention
                || inner.in_memory > 0 && inner.active.iter().any(|(op, team)| self.head_can_go(*team, *op))
        }
    }

    /// Lets operations go on if something has arrived for them.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn advance_if_possible(&self, context: &Context) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.can_go_on() {
                self.advance_all(context);
            }
        }
    }

    /// Whether an operation is its team's head and can go on in memory.
    ///
    /// # Safety
    /// The lock is held; both live.
    pub(super) unsafe fn head_can_go(&self, team: NonNull<Members>, op: NonNull<Op>) -> bool {
        // SAFETY: the caller's promise; references end here.
        unsafe {
            let Some(rounds) = (&(*op.as_ptr()).rounds).as_deref() else { return false };
            if (*op.as_ptr()).advancing || !self.has_turn(team, op.as_ptr()) {
                return false;
            }
            (&(*team.as_ptr()).memory.board).as_deref().is_none_or(|board| rounds.can_go(board))
        }
    }

    /// Calls `each` with every team's head and the team's board.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn each_head(&self, mut each: impl FnMut(NonNull<Members>, NonNull<Op>, &mut Board)) {
        // SAFETY: the caller's promise; nothing below calls out.
        unsafe {
            if self.inner().in_memory == 0 {
                return;
            }
            for (op, team) in &self.inner().active {
                if self.has_turn(*team, op.as_ptr())
                    && let Some(board) = &mut (*team.as_ptr()).memory.board
                {
                    each(*team, *op, board);
                }
            }
        }
    }

    /// Has operations without a call that waits woken when something is published for them. True if
    /// something is there already.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn arm_unattended(&self) -> bool {
        let mut there = false;
        // SAFETY: the caller's promise; operations in queues live.
        unsafe {
            self.each_head(|team, op, board| {
                let queue = &(*team.as_ptr()).memory.queue;
                if queue.iter().any(|op| (*op.as_ptr()).is_unattended()) {
                    board.arm();
                    let rounds = &(*op.as_ptr()).rounds;
                    there |= rounds.as_deref().is_some_and(|rounds| rounds.can_go(board));
                } else {
                    board.disarm();
                }
            });
        }
        there
    }

    /// Whether operations use memory, so that polling for messages is not enough.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn polls_memory(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.inner().in_memory > 0 }
    }

    /// Waits for `ready` for a while: polls flags alone, then makes progress, then sleeps.
    ///
    /// # Errors
    /// The context can't be used.
    pub(super) fn poll_memory(
        &self,
        context: &Context,
        mut ready: impl FnMut() -> bool,
    ) -> lapis_core::Result<()> {
        let crowded = context.is_crowded();
        for _ in 0..if crowded { 1 } else { LOOKS / 4 } {
            if ready() {
                return Ok(());
            }
            spin_loop();
        }
        let (since, awake) = (Instant::now(), if crowded { AWAKE_WHEN_CROWDED } else { AWAKE });
        while since.elapsed() < awake {
            if ready() {
                return Ok(());
            }
            context.progress()?;
        }
        self.doze(context, true);
        let waited = context.wait_quietly(ready, Some(Instant::now() + DOZE));
        self.doze(context, false);
        waited.map(|_| ())
    }

    fn doze(&self, context: &Context, on: bool) {
        let _held = Held::new(context);
        // SAFETY: the lock is held.
        unsafe { self.each_head(|_, _, board| board.set_dozing(on)) };
    }

    /// The task of the member that an operation waits for in memory. `None` if it waits for
    /// messages. If it `compares` calls, a mismatch becomes the operation's failure.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn awaited_in_memory(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
        compares: bool,
    ) -> Option<u32> {
        // SAFETY: the caller's promise; nothing below calls out.
        unsafe {
            (&(*op).rounds).as_ref()?;
            let memory = &(*team.as_ptr()).memory;
            if let Found::Looking(search) = &memory.found {
                return (&mut *search.op().as_ptr()).awaited();
            }
            let head = memory.queue.front()?.as_ptr();
            let (Some(rounds), Some(board)) = (&(*head).rounds, &memory.board) else { return None };
            if rounds.reach == Reach::Messages {
                return (&mut *head).awaited();
            }
            if compares && let Some(found) = rounds.other_call(board, (*head).signature) {
                (*op).failure.get_or_insert(found);
            }
            let is_gone = |member: usize| context.reachable(board.task(member)).is_err();
            Some(board.task(rounds.awaited(board, is_gone)))
        }
    }
}
