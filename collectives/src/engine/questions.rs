//! Questions to members of whom nothing comes, while calls are checked (ERROR_CHK).
//!
//! Members whose calls differ may all wait for each other, and some may have ended their call
//! without a message. So a member that has waited asks each of those that it waits for, for the
//! first of the messages that have not come, and for the next one when that has come. The question
//! carries its call. Who makes another call fails and notifies all, as for
//! any mismatch. Who has ended its call answers with it, and so does one that makes the same call
//! without such a message: lists of receivers and edges are no part of a signature. A member that
//! is late keeps the question until it calls. A message that is only slow is not answered at all.

use super::op::{Op, State, find};
use super::run::post;
use super::wire::{self, Header, Kind};
use super::{Engine, Letter, Members};
use crate::Signature;
use crate::error::CollectiveError;
use lapis_core::{Context, Delivery, Incoming};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

/// Ended operations that a team remembers.
const REMEMBERED: usize = 64;

/// What the asker waits for, in a byte behind the header: data, or the receiver of its own.
const DATA: u8 = 0;
const READY: u8 = 1;

/// An operation that has ended: its call, and the messages whose lists only some members know, by
/// task and tag, with what a question for them says.
struct Ended {
    number: u32,
    signature: Signature,
    messages: Option<Vec<(u32, u32, u8)>>,
}

/// Which numbers of a team were given to operations. The others are those of blocking calls through
/// memory, which leave nothing behind.
pub(super) struct Started {
    last: u32,
    /// Whether these were, from the last one downwards.
    before: u64,
}

impl Default for Started {
    fn default() -> Self {
        Self { last: wire::NUMBERS, before: 0 }
    }
}

impl Started {
    /// An operation gets this number.
    #[inline]
    pub(super) fn note(&mut self, number: u32) {
        let since = number.wrapping_sub(self.last) & wire::NUMBERS;
        self.before = self.before.checked_shl(since).unwrap_or(0) | 1;
        self.last = number;
    }

    /// Whether a number that has been given was that of a call without an operation, as far as
    /// known.
    fn lacks(&self, number: u32) -> bool {
        let ago = self.last.wrapping_sub(number) & wire::NUMBERS;
        wire::before(self.last, number) || ago < u64::BITS && self.before >> ago & 1 == 0
    }
}

/// The last operations that have ended while calls were checked.
#[derive(Default)]
pub(crate) struct Memories(VecDeque<Ended>);

impl Op {
    /// Whether it is time to ask those that it waits for.
    pub(super) fn is_question_due(&mut self) -> bool {
        let stand = self.stand();
        self.asking.is_due(stand, Instant::now())
    }

    /// Whether it has no such message as a question asks for. Unknown until it is known whether it
    /// sends messages at all.
    fn lacks_message(&self, from: u32, tag: u32, what: Option<u8>) -> bool {
        let slots = if what == Some(READY) { &self.receives } else { &self.sends };
        self.rounds.is_none() && find(slots, from, tag).is_none()
    }

    /// Whether a letter asks for a message that the operation does not have.
    pub(super) fn is_asked_in_vain(&self, letter: &Letter) -> bool {
        letter.header.kind == Kind::Ask
            && self.lacks_message(letter.source, letter.header.tag, letter.data.first().copied())
    }
}

impl Engine {
    /// Asks those that operations in progress have waited for.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn ask_late(&self, context: &Context) {
        let checks = context.checks();
        // SAFETY: the caller's promise; active operations live; the list is read again after each.
        unsafe {
            if !std::mem::take(&mut self.inner().asks) && !checks {
                return;
            }
            let mut at = 0;
            while let Some(&(op, team)) = (&self.inner().active).get(at) {
                let op = op.as_ptr();
                if std::mem::take(&mut (*op).silence.asks) {
                    self.ask_for_stand(context, team, op);
                } else if checks
                    && (*op).failure.is_none()
                    && !(*op).advancing
                    && (&mut *op).is_question_due()
                {
                    self.ask(context, team, op);
                    // Something may have come for it meanwhile.
                    self.advance(context, team, op);
                }
                // One that has ended is not there any more.
                at += usize::from((&self.inner().active).get(at).is_some_and(|(now, _)| now.as_ptr() == op));
            }
        }
    }

    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn ask(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; slots are read again after each message.
        unsafe {
            let stand = (&*op).stand();
            (&mut *op).asking.has_asked(stand);
            // It must not end while its slots are looked at.
            (*op).advancing = true;
            for (what, count) in [(DATA, (&(*op).receives).len()), (READY, (&(*op).sends).len())] {
                let mut asked = None;
                for at in 0..count {
                    let slots = if what == DATA { &(*op).receives } else { &(*op).sends };
                    let slot = slots[at];
                    // Slots of a task follow each other. It is asked for the next message when this
                    // one has come.
                    if slot.state == State::Posted && asked != Some(slot.task) {
                        asked = Some(slot.task);
                        self.send_packed(context, team, op, slot.task, slot.tag, Kind::Ask, &[what]);
                    }
                }
            }
            (*op).advancing = false;
        }
    }

    /// A question has arrived, or an answer.
    ///
    /// # Safety
    /// The lock is held; `team` is registered.
    pub(super) unsafe fn asked(
        self: &Arc<Self>,
        context: &Context,
        team: NonNull<Members>,
        header: Header,
        message: &Incoming<'_>,
        data: Option<&[u8]>,
    ) -> Delivery {
        let (source, members) = (message.source, team.as_ptr());
        // SAFETY: the caller's promise; each reference ends where it stands.
        unsafe {
            let Some(op) = self.active(team, header.number) else {
                let blocking = (*members).memory.blocking == Some(header.number);
                let has_ended = wire::before(header.number, (*members).next) && !blocking;
                if header.kind == Kind::Ask && !has_ended {
                    return self.keep_early(members, message, header, data);
                }
                if header.kind == Kind::Ask {
                    let what = data.and_then(|data| data.first().copied());
                    if (&(*members).started).lacks(header.number) {
                        // No message belongs to it, whatever call it was.
                        answer(context, source, &header, Signature(header.signature));
                    }
                    (&(*members).memories).answer(context, source, &header, what);
                }
                return Delivery::bury();
            };
            if (*op).failure.is_some() {
                return Delivery::bury();
            }
            let mine = (*op).signature;
            let failure = if header.signature != mine.0 {
                (&*op).mismatch(source, &header, 0)
            } else if header.kind == Kind::Answer {
                CollectiveError::Unmatched { from: source, call: (*op).name }
            } else if (&*op).lacks_message(source, header.tag, data.and_then(|data| data.first().copied())) {
                answer(context, source, &header, mine);
                CollectiveError::Unmatched { from: source, call: (*op).name }
            } else if (&(*op).rounds).is_some() {
                return self.keep_early(members, message, header, data);
            } else {
                return Delivery::bury();
            };
            (*op).failure = Some(failure);
            self.inner().attention = true;
            self.go_on_later()
        }
    }

    /// Answers early questions for messages of a call through memory that has ended, and had none.
    ///
    /// # Safety
    /// The lock is held; the team lives.
    #[cold]
    pub(super) unsafe fn answer_for_memory(&self, context: &Context, team: NonNull<Members>, number: u32) {
        // SAFETY: the caller's promise; nothing refers to letters while anything is sent.
        unsafe {
            let asks = |l: &&Letter| l.header.kind == Kind::Ask;
            let early = (&(*team.as_ptr()).early).of(number).filter(asks);
            let askers: Vec<_> = early.map(|letter| (letter.source, letter.header)).collect();
            for (source, header) in askers {
                answer(context, source, &header, Signature(header.signature));
            }
        }
    }

    /// Answers early questions for messages that an operation does not have, which has failed
    /// because of them.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    #[cold]
    pub(super) unsafe fn answer_early(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; nothing refers to letters while anything is sent.
        unsafe {
            let (number, mine) = ((*op).number, (*op).signature);
            let early = (&(*team.as_ptr()).early).of(number);
            let in_vain = early.filter(|l| (&*op).is_asked_in_vain(l));
            let askers: Vec<_> = in_vain.map(|letter| (letter.source, letter.header)).collect();
            askers.iter().for_each(|(source, header)| answer(context, *source, header, mine));
        }
    }

    /// Remembers the call of an operation that has ended.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's.
    #[cold]
    pub(super) unsafe fn remember(&self, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; nothing below calls out.
        unsafe {
            let (number, signature) = ((*op).number, (*op).signature);
            let sent = (&(*op).sends).iter().map(|slot| (slot.task, slot.tag, DATA));
            let received = (&(*op).receives).iter().map(|slot| (slot.task, slot.tag, READY));
            let messages = signature.leaves_lists_out().then(|| sent.chain(received).collect());
            let memories = &mut (*team.as_ptr()).memories.0;
            if memories.len() == REMEMBERED {
                memories.pop_front();
            }
            memories.push_back(Ended { number, signature, messages });
        }
    }
}

impl Memories {
    /// The call of an operation that has ended, if it is remembered.
    pub(super) fn call(&self, number: u32) -> Option<Signature> {
        self.0.iter().find(|ended| ended.number == number).map(|ended| ended.signature)
    }

    /// Answers a question for a message of an operation that has ended, if it was of another call
    /// or had no such message. Otherwise the message is on its way.
    fn answer(&self, context: &Context, from: u32, header: &Header, what: Option<u8>) {
        let asked = (from, header.tag, what.unwrap_or(DATA));
        let Some(ended) = self.0.iter().find(|ended| ended.number == header.number) else { return };
        let is_there = ended.messages.as_ref().is_none_or(|messages| messages.contains(&asked));
        if ended.signature.0 != header.signature || !is_there {
            answer(context, from, header, ended.signature);
        }
    }
}

/// Says that this member's call is or was this one, without the message that was asked for. If it
/// can't be sent, the asker finds out about this member by itself.
fn answer(context: &Context, to: u32, question: &Header, mine: Signature) {
    let header = Header { kind: Kind::Answer, signature: mine.0, ..*question };
    let _ = post(context, to, &header.bytes());
}
