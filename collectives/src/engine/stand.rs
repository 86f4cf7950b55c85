//! Asking others how far they are, before they are given up (TIMEOUT).
//!
//! A member that is waited for may only wait for another one itself, or for data that comes slowly.
//! So an operation for which nothing has come for a part of TIMEOUT asks the member that it waits
//! for. A member that has made the call answers for how long nothing has come there, and for whom
//! it waits: that one is asked next. Who has not made the call does not answer, and is named when
//! TIMEOUT is over. If something has come to one of those that answer, TIMEOUT begins anew.
//!
//! A member that waits in an earlier call of the team answers for that call. Calls of other teams
//! are not answered for.

use super::run::post;
use super::silence::{Look, Silence};
use super::wire::{self, Header, Kind};
use super::{Care, Engine, Members, Op};
use crate::Signature;
use lapis_core::Context;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// An answer: for how long nothing has come, and the task that is waited for, with the number of
/// the operation that waits. It is `NOBODY` if none is known.
struct Answer {
    age: Duration,
    next: Option<(u32, u32)>,
}

const NOBODY: u32 = u32::MAX;

impl Answer {
    const LEN: usize = 16;

    fn bytes(&self) -> [u8; Self::LEN] {
        let (task, number) = self.next.unwrap_or((NOBODY, 0));
        let millis = u64::try_from(self.age.as_millis()).unwrap_or(u64::MAX);
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&millis.to_le_bytes());
        out[8..12].copy_from_slice(&task.to_le_bytes());
        out[12..].copy_from_slice(&number.to_le_bytes());
        out
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (millis, bytes) = bytes.split_first_chunk()?;
        let (task, bytes) = bytes.split_first_chunk()?;
        let number = bytes.first_chunk()?;
        let (task, number) = (u32::from_le_bytes(*task), u32::from_le_bytes(*number));
        let next = (task != NOBODY).then_some((task, number & wire::NUMBERS));
        Some(Self { age: Duration::from_millis(u64::from_le_bytes(*millis)), next })
    }
}

impl Engine {
    /// Asks the member for which an operation waits how far it is.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn ask_for_stand(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; nothing refers to team or operation while anything is sent.
        unsafe {
            let Some(first) = self.next_of(context, team, op) else { return };
            (&mut (*op).silence).begin_asking(first.0, (*team.as_ptr()).group.len());
            let (asker, signature) = ((*op).number, (*op).signature.0);
            question(context, (*team.as_ptr()).id, first, asker, signature);
        }
    }

    /// A blocking call through memory begins to wait, or has waited.
    ///
    /// # Safety
    /// The lock is held; the team lives, and such a call is under way.
    pub(crate) unsafe fn begin_silence(&self, team: NonNull<Members>) {
        // SAFETY: the team lives, and with the lock held nothing else refers to it.
        unsafe {
            (*team.as_ptr()).memory.awaited = None;
            (*team.as_ptr()).memory.silence = Silence::default();
        }
    }

    /// A blocking call through memory waits for a task, of `absent` ones. If nothing has come for a
    /// while, it asks how far the others are. The one to be named if nothing has come for as long
    /// as TIMEOUT allows.
    ///
    /// # Safety
    /// As for [`begin_silence`](Self::begin_silence), which came before.
    pub(crate) unsafe fn silent_in_memory(
        &self,
        context: &Context,
        team: NonNull<Members>,
        (number, call): (u32, Signature),
        (task, absent): (u32, usize),
    ) -> Option<u32> {
        let (limit, now) = (context.timeout(), Instant::now());
        // SAFETY: the caller's promise; nothing refers to the team while anything is sent.
        unsafe {
            let memory = &mut (*team.as_ptr()).memory;
            memory.awaited = Some(task);
            if *context.config().notimeout.get() {
                return None;
            }
            let progress = ((number, absent, 0, 0, None), 0);
            match memory.silence.look(limit, true, progress, now) {
                Look::Wait => None,
                Look::Over => Some(memory.silence.suspect().unwrap_or(task)),
                Look::Ask => {
                    memory.silence.begin_asking(task, (&(*team.as_ptr()).group).len());
                    question(context, (*team.as_ptr()).id, (task, number), number, call.0);
                    None
                }
            }
        }
    }

    /// A question has arrived, or an answer.
    ///
    /// # Safety
    /// The lock is held; `team` is registered.
    #[cold]
    pub(super) unsafe fn stand_told(
        &self,
        context: &Context,
        team: NonNull<Members>,
        source: u32,
        header: Header,
        data: Option<&[u8]>,
    ) {
        // SAFETY: the caller's promise; nothing refers to team or operation while anything is sent.
        unsafe {
            let Some(data) = data.filter(|data| !data.is_empty()) else {
                if let Some(answer) = self.stand_in(context, team, header.number) {
                    let header = Header { number: header.tag & wire::NUMBERS, tag: 0, ..header };
                    let packet = [&header.bytes()[..], &answer.bytes()].concat();
                    // If it can't be sent, the asker finds out about this member by itself.
                    let _ = post(context, source, &packet);
                }
                return;
            };
            let Some(answer) = Answer::parse(data) else { return };
            let silence = match self.active(team, header.number) {
                Some(op) => &mut (*op).silence,
                None if (*team.as_ptr()).memory.blocking == Some(header.number) => {
                    &mut (*team.as_ptr()).memory.silence
                }
                None => return,
            };
            let next = answer.next.filter(|(task, _)| *task != context.task());
            let (task, now) = (next.map(|(task, _)| task), Instant::now());
            if silence.answered(source, answer.age, task, now)
                && let Some(next) = next
            {
                question(context, header.team, next, header.number, header.signature);
            }
        }
    }

    /// What is answered to a question about an operation with this number. `None`: it has ended
    /// here, or not begun.
    ///
    /// # Safety
    /// The lock is held; `team` is registered.
    unsafe fn stand_in(&self, context: &Context, team: NonNull<Members>, number: u32) -> Option<Answer> {
        // SAFETY: the caller's promise; active operations live; references end where they stand.
        unsafe {
            let memory = &(*team.as_ptr()).memory;
            let blocking = memory.blocking.filter(|at| !wire::before(number, *at));
            let op = match self.active(team, number) {
                Some(op) => op,
                None if blocking.is_some() => {
                    let next = memory.awaited.zip(blocking);
                    return Some(Answer { age: memory.silence.age_found(Instant::now()), next });
                }
                None if wire::before(number, (*team.as_ptr()).next) => return None,
                None => {
                    let waits = |op: &NonNull<Op>| (*op.as_ptr()).care == Care::Wait;
                    let mut active = (&self.inner().active).iter();
                    active.find(|(op, of)| *of == team && waits(op)).map(|(op, _)| op.as_ptr())?
                }
            };
            let progress = self.progress_of(context, self.awaited_op(team, op));
            let age = (&mut (*op).silence).age(progress, Instant::now());
            Some(Answer { age, next: self.next_of(context, team, op) })
        }
    }

    /// The task for which an operation waits, and the number of the operation that waits for it.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    unsafe fn next_of(&self, context: &Context, team: NonNull<Members>, op: *mut Op) -> Option<(u32, u32)> {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let in_memory = self.awaited_in_memory(context, team, op, false);
            let task = in_memory.or_else(|| (&mut *op).awaited())?;
            Some((task, (*self.awaited_op(team, op)).number))
        }
    }
}

/// Asks a task about its operation with this number, for the operation `asker` of this task's. If
/// it can't be sent, that task is found to be lost.
fn question(context: &Context, team: u64, (task, number): (u32, u32), asker: u32, signature: u64) {
    let header = Header { team, number, kind: Kind::Stand, tag: asker, signature };
    let _ = post(context, task, &header.bytes());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn answers_survive_their_bytes() {
        for next in [None, Some((7, 9))] {
            let answer = Answer { age: Duration::from_millis(1234), next };
            let again = Answer::parse(&answer.bytes()).unwrap();
            assert_eq!((again.age, again.next), (answer.age, next));
        }
        assert!((0..Answer::LEN).all(|len| Answer::parse(&[0; Answer::LEN][..len]).is_none()));
    }
}
