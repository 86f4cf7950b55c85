//! Waiting for the end of operations, and the effect of a lost member on them.

use super::op::{Act, State};
use super::run::post;
use super::search::Found;
use super::silence::{Look, Progress, Silence};
use super::wire::{Header, Kind};
use super::{Care, Engine, Held, Members, Op};
use crate::Signature;
use crate::board::Reach;
use crate::error::{Cause, CollectiveError, Result};
use lapis_core::{Context, Error};
use std::ptr::NonNull;
use std::time::Instant;

/// Polls between two reads of the clock, and between two comparisons of calls in memory.
const LOOKS: u32 = 16;
const COMPARES: u32 = 64;

impl Engine {
    /// Waits for an operation's end.
    ///
    /// # Safety
    /// `op` and `team` live; the operation was started and notifies nobody else.
    pub(crate) unsafe fn wait(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: NonNull<Op>,
    ) -> Result<()> {
        let op = op.as_ptr();
        let mut patience = Patience::new();
        let mut begins = true;
        loop {
            let held = Held::new(context);
            // SAFETY: the lock is held; the caller's promise.
            let looks = unsafe {
                if (*op).running {
                    if std::mem::take(&mut begins) {
                        // Others have TIMEOUT from now on, however long ago the operation began.
                        (*op).silence = Silence::default();
                    }
                    (*op).care = Care::Wait;
                    self.advance_all(context);
                    self.ask_late(context);
                }
                if !(*op).running {
                    return (*op).failure.take().map_or(Ok(()), Err);
                }
                self.polls_memory()
            };
            drop(held);
            // SAFETY: the caller's promise.
            let mut ready = || unsafe { self.ready(context, team, op, &mut patience) };
            let waited = match looks {
                true => self.poll_memory(context, &mut ready),
                false => context.wait_until(&mut ready),
            };
            match waited {
                Ok(()) => {}
                // SAFETY: the caller's promise.
                Err(e) => unsafe { self.disturbed(context, team, op, e, &mut patience) },
            }
        }
    }

    /// A wait has failed. It continues if the failure does not concern the team.
    ///
    /// # Safety
    /// As for [`wait`](Self::wait).
    unsafe fn disturbed(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
        error: Error,
        patience: &mut Patience,
    ) {
        // SAFETY: the caller's promise; the lock is held while anything is changed.
        unsafe {
            let other = match &error {
                Error::TargetDown { task, .. } | Error::Purged { task } => {
                    (*team.as_ptr()).group.rank(*task).is_none()
                }
                _ => false,
            };
            if !other && (*op).failure.is_none() {
                let _held = Held::new(context);
                let task = match &error {
                    Error::TargetDown { task, .. } | Error::Purged { task } => *task,
                    _ => context.task(),
                };
                return self.failed(op, task, error);
            }
            // Another team's member is gone, or memory is still being written: the program's waits
            // fail, this one must not.
            let quiet = context.wait_quietly(|| self.ready(context, team, op, patience), None);
            if let Err(e) = quiet {
                let held = Held::new(context);
                self.failed(op, context.task(), e);
                drop(held);
                // Another thread is about to close the context: no wait sleeps any more.
                std::thread::yield_now();
            }
        }
    }

    /// Whether this operation or another one can go on.
    ///
    /// # Safety
    /// As for [`wait`](Self::wait).
    unsafe fn ready(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
        patience: &mut Patience,
    ) -> bool {
        // A wait asks once before it takes the lock.
        let _held = Held::new(context);
        // SAFETY: the caller's promise; the lock is held.
        unsafe {
            if self.can_go_on() || !(*op).running {
                return true;
            }
            let in_memory = self.awaited_in_memory(context, team, op, patience.compares());
            let goes_on = match (&(*op).acts).get((*op).next) {
                _ if in_memory.is_some() => false,
                Some(Act::Wait) => (*op).open_receives == 0,
                Some(Act::Drain) => (*op).open_sends == 0,
                _ => true,
            };
            if context.beginnings() != self.inner().beginnings {
                self.note_beginnings(context);
                return true;
            }
            if (*op).failure.is_some() {
                return !(*op).advancing && self.settled(context, op);
            }
            if goes_on || !(&(*op).granted).is_empty() || (*team.as_ptr()).over.is_some() {
                return true;
            }
            if context.checks() && (&mut *op).is_question_due() {
                return true;
            }
            let Some(task) = in_memory.or_else(|| (&mut *op).awaited()) else { return false };
            if let Err(e) = context.reachable(task) {
                self.failed(op, task, e);
                return true;
            }
            patience.reads_clock() && self.note_silence(context, team, op, task, true)
        }
    }

    /// An operation without a call that waits has gone as far as it can. It fails if the member
    /// that it waits for is gone, or makes another call.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way, and nobody takes its steps.
    pub(super) unsafe fn find_lost(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            if (*op).failure.is_some() || (*team.as_ptr()).over.is_some() || (*op).is_done() {
                return;
            }
            let Some(task) = self.lacks(context, team, op) else { return };
            let lost = context.reachable(task);
            // Its last publication may have been seen since.
            let head = (&(*team.as_ptr()).memory.queue).front().copied();
            if !Self::waits_for_messages(op) && head.is_some_and(|head| self.head_can_go(team, head)) {
                return;
            }
            match lost {
                Err(e) => self.failed(op, task, e),
                // A program that has not asked for it yet may have begun it long before its time.
                Ok(()) if (*op).ending.is_none() && (*op).waker.is_none() => {}
                Ok(()) => self.note_silence_of_others(context, team, op, task),
            }
        }
    }

    /// As [`note_silence`](Self::note_silence), for an operation that no call waits for.
    ///
    /// # Safety
    /// As there.
    unsafe fn note_silence_of_others(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
        task: u32,
    ) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            // A search has a call that it is for, which is looked at.
            if let Found::Looking(search) = &(*team.as_ptr()).memory.found
                && std::ptr::eq(search.op().as_ptr(), op)
            {
                return;
            }
            self.note_silence(context, team, op, task, false);
        }
    }

    /// An operation waits for a member, which can be reached. If nothing has come for a while, it
    /// asks how far the others are; it fails if nothing has come for as long as TIMEOUT allows.
    /// True if one of these is the case. `waits`: a call does nothing but wait for it.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    unsafe fn note_silence(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
        task: u32,
        waits: bool,
    ) -> bool {
        let (limit, now) = (context.timeout(), Instant::now());
        // SAFETY: the caller's promise; nothing below calls out.
        unsafe {
            if *context.config().notimeout.get() || !(*op).silence.is_due(limit, now) {
                return false;
            }
            let awaited = self.awaited_op(team, op);
            // Core gives up a member that does not take what is on its way to it.
            if Self::waits_for_messages(awaited) && (&mut *awaited).lacks().is_none() {
                return false;
            }
            let progress = self.progress_of(context, awaited);
            match (&mut (*op).silence).look(limit, waits, progress, now) {
                Look::Wait => return false,
                Look::Ask => {
                    (*op).silence.asks = true;
                    self.inner().asks = true;
                }
                Look::Over => {
                    let task = (*op).silence.suspect().unwrap_or(task);
                    let (call, seconds) = ((*op).name, limit.as_secs());
                    (*op).failure.get_or_insert(CollectiveError::Silent { task, call, seconds });
                }
            }
            true
        }
    }

    /// The operation that must go on before this one can: in memory the head of the queue, which
    /// may wait for the search.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn awaited_op(&self, team: NonNull<Members>, op: *mut Op) -> *mut Op {
        // SAFETY: the caller's promise; operations in queues live; references end here.
        unsafe {
            let memory = &(*team.as_ptr()).memory;
            match &memory.found {
                _ if (&(*op).rounds).is_none() => op,
                Found::Looking(search) => search.op().as_ptr(),
                _ => memory.queue.front().map_or(op, |head| head.as_ptr()),
            }
        }
    }

    /// How far an operation has come.
    ///
    /// # Safety
    /// The lock is held; the operation is under way.
    pub(super) unsafe fn progress_of(&self, context: &Context, op: *mut Op) -> Progress {
        // SAFETY: the caller's promise; references end here.
        unsafe {
            let moving = (&(*op).receives).iter().filter(|slot| slot.state == State::Moving);
            let bytes = moving.fold(0u64, |bytes, slot| bytes.wrapping_add(context.coming_from(slot.task)));
            ((&*op).stand(), bytes)
        }
    }

    /// # Safety
    /// The lock is held; the operation lives.
    pub(super) unsafe fn waits_for_messages(op: *mut Op) -> bool {
        // SAFETY: the caller's promise; the reference ends here.
        unsafe { (&(*op).rounds).as_ref().is_none_or(|rounds| rounds.reach == Reach::Messages) }
    }

    /// The task that must do something before an operation can go on.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    unsafe fn lacks(&self, context: &Context, team: NonNull<Members>, op: *mut Op) -> Option<u32> {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            match Self::waits_for_messages(op) {
                true => (&mut *op).lacks(),
                false => self.awaited_in_memory(context, team, op, true),
            }
        }
    }

    /// Checks once whether an operation can go on, and whether it has ended.
    ///
    /// # Safety
    /// As for [`wait`](Self::wait).
    pub(crate) unsafe fn test(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: NonNull<Op>,
    ) -> Option<Result<()>> {
        let op = op.as_ptr();
        for again in [true, false] {
            let held = Held::new(context);
            // SAFETY: the caller's promise; the lock is held.
            unsafe {
                if (*op).running {
                    let awaited = (*op).waker.is_some();
                    (*op).care = if awaited { Care::Arrivals } else { Care::Program };
                    let goes_on = self.ready(context, team, op, &mut Patience::new());
                    if !again
                        && !goes_on
                        && let Some(task) = self.lacks(context, team, op)
                    {
                        self.note_silence_of_others(context, team, op, task);
                    }
                    self.advance_all(context);
                    self.ask_late(context);
                }
                if !(*op).running {
                    return Some((*op).failure.take().map_or(Ok(()), Err));
                }
            }
            drop(held);
            if again && let Err(e) = context.progress() {
                let _held = Held::new(context);
                // SAFETY: the lock is held again; the operation lives until its caller takes it
                // away.
                unsafe { self.failed(op, context.task(), e) };
            }
        }
        None
    }

    /// Teams with tasks that were restarted or purged are over, and what was on its way from them
    /// does not come any more.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn note_beginnings(&self, context: &Context) {
        // SAFETY: the caller's promise; nothing below calls out.
        let inner = unsafe { self.inner() };
        let now = context.beginnings();
        if now == inner.beginnings {
            return;
        }
        inner.beginnings = now;
        for task in 0..context.tasks() {
            let lives = context.beginnings_with(task);
            if std::mem::replace(&mut inner.by_task[task as usize], lives) == lives {
                continue;
            }
            for team in inner.teams.iter().flatten() {
                // SAFETY: registered teams live, and nobody else refers to them.
                unsafe {
                    if (*team.as_ptr()).group.rank(task).is_some() {
                        (*team.as_ptr()).over.get_or_insert(Cause::Renewed(task));
                    }
                }
            }
            for (op, _) in &inner.active {
                // SAFETY: active operations live, and nobody else refers to them.
                unsafe { (*op.as_ptr()).let_go_of(task) };
            }
        }
    }

    /// A call has failed: the team is over, and the others, which may wait for messages that won't
    /// arrive, are notified. They compare it, by its number, with their own; and then the call of
    /// another member, which differs from it, if there is one.
    ///
    /// # Safety
    /// The lock is held; the team lives.
    pub(crate) unsafe fn spread(
        &self,
        context: &Context,
        team: NonNull<Members>,
        cause: Cause,
        (number, call): (u32, Signature),
        other: Option<(u32, Signature)>,
    ) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let members = team.as_ptr();
            (*members).over.get_or_insert(cause);
            if std::mem::replace(&mut (*members).told, true) {
                return;
            }
            let header = Header {
                team: (*members).id,
                number: cause.code(),
                kind: Kind::Over,
                tag: cause.task(),
                signature: call.0,
            };
            let mut packet = header.bytes().to_vec();
            if matches!(cause, Cause::Broken(_)) {
                packet.extend(number.to_le_bytes());
                if let Some((task, call)) = other {
                    packet.extend(task.to_le_bytes());
                    packet.extend(call.0.to_le_bytes());
                }
            }
            let n = (*members).group.len();
            for rank in 0..n {
                let Some(task) = (*members).group.task(rank) else { continue };
                if task != context.task() {
                    // A member that this does not reach has noticed by itself, or is gone. One that
                    // was only silent must not go on alone.
                    let _ = post(context, task, &packet);
                }
            }
        }
    }

    /// Wakes a member that sleeps until something is published in memory. If that fails, it polls
    /// by itself after a while.
    ///
    /// # Safety
    /// The lock is held; the team lives.
    pub(crate) unsafe fn nudge(&self, context: &Context, team: NonNull<Members>, task: u32) {
        // SAFETY: the caller's promise.
        let id = unsafe { (*team.as_ptr()).id };
        let header = Header { team: id, number: 0, kind: Kind::Nudge, tag: 0, signature: 0 };
        let _ = post(context, task, &header.bytes());
    }
}

/// How often a wait has looked.
struct Patience {
    looks: u32,
}

impl Patience {
    fn new() -> Self {
        Self { looks: 0 }
    }

    /// Whether calls in memory are to be compared.
    fn compares(&self) -> bool {
        self.looks.is_multiple_of(COMPARES)
    }

    /// Whether the clock is to be read.
    fn reads_clock(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        self.looks.is_multiple_of(LOOKS)
    }
}
