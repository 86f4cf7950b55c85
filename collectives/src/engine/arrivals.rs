//! Arriving messages of collectives: finding the operation that each belongs to, and storing early
//! ones.

use super::op::{Op, State, find};
use super::wire::{self, HEADER, Header, Kind};
use super::{Engine, Letter, Members};
use crate::Signature;
use crate::error::{Cause, CollectiveError};
use lapis_core::{CompletionHandler, Context, Delivery, Destination, Incoming, Run};
use std::ptr::NonNull;
use std::sync::Arc;

impl Engine {
    /// A message of a collective has arrived.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn arrived(self: &Arc<Self>, context: &Context, message: &Incoming<'_>) -> Delivery {
        let packed = message.user_header.is_empty();
        let Some(header) = Header::parse(if packed { message.first } else { message.user_header }) else {
            return Delivery::bury();
        };
        let data = if packed { message.data().and_then(|data| data.get(HEADER..)) } else { message.data() };
        // SAFETY: the lock is held; the reference ends with the block.
        let team = unsafe { self.inner() }.find(header.team);
        let Some(team) = team else {
            // SAFETY: the lock is held; the reference ends here.
            let is_freed = || unsafe { self.inner() }.was_made(header.team);
            if matches!(header.kind, Kind::Nudge | Kind::Answer | Kind::Stand) || is_freed() {
                return Delivery::bury();
            }
            let letter = Letter { source: message.source, header, data: Vec::new() };
            // SAFETY: the lock is held, and nothing is called.
            return self.keep(message, letter, data, |engine, letter, _| unsafe {
                let inner = engine.inner();
                match inner.find(letter.header.team) {
                    // It was created while the data arrived.
                    Some(team) => engine.late(team, letter),
                    None if inner.was_made(letter.header.team) => {}
                    None => inner.strays.push(letter),
                }
            });
        };
        // SAFETY: registered teams live, the lock is held.
        unsafe { self.for_team(context, team, header, message, data) }
    }

    /// # Safety
    /// The lock is held; `team` is registered.
    unsafe fn for_team(
        self: &Arc<Self>,
        context: &Context,
        team: NonNull<Members>,
        header: Header,
        message: &Incoming<'_>,
        data: Option<&[u8]>,
    ) -> Delivery {
        let source = message.source;
        let members = team.as_ptr();
        // SAFETY: the caller's promise; each reference ends where it stands.
        unsafe {
            if header.kind == Kind::Nudge {
                // Its arrival is all that matters, except for operations without a call that waits.
                self.inner().attention |= !(&(*members).memory.queue).is_empty();
                return self.go_on_later();
            }
            if header.kind == Kind::Over {
                (*members).over.get_or_insert(Cause::from_code(header.number, header.tag));
                self.note_other_call(team, source, header, data);
                self.inner().attention = true;
                return self.go_on_later();
            }
            if header.kind == Kind::Stand {
                self.stand_told(context, team, source, header, data);
                return Delivery::bury();
            }
            if matches!(header.kind, Kind::Ask | Kind::Answer) {
                return self.asked(context, team, header, message, data);
            }
            let Some(op) = self.active(team, header.number) else {
                let blocking = (*members).memory.blocking == Some(header.number);
                if wire::before(header.number, (*members).next) && !blocking {
                    // It belongs to an operation that failed here, or ended without it: of another
                    // call. Announcements may come after what they announce.
                    if header.kind == Kind::Long {
                        return Delivery::bury();
                    }
                    let mine = (&(*members).memories).call(header.number);
                    self.belated(context, team, (source, header), mine);
                    return self.go_on_later();
                }
                return self.keep_early(members, message, header, data);
            };
            if (*op).failure.is_some() {
                return Delivery::bury();
            }
            if header.signature != (*op).signature.0 {
                let packed = if message.user_header.is_empty() { HEADER } else { 0 };
                let got = length(header.kind, data, message.len as usize - packed);
                (*op).failure = Some((&*op).mismatch(source, &header, got));
                self.inner().attention = true;
                return self.go_on_later();
            }
            self.for_operation(team, op, header, message, data)
        }
    }

    /// A message has come for an operation that has ended without it: of another call. Its sender,
    /// which may still be in that call, compares it with `mine`, if it is known.
    ///
    /// # Safety
    /// The lock is held; `team` is registered.
    #[cold]
    unsafe fn belated(
        &self,
        context: &Context,
        team: NonNull<Members>,
        (source, header): (u32, Header),
        mine: Option<Signature>,
    ) {
        let cause = Cause::Broken(source);
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(mine) = mine.filter(|mine| mine.0 != header.signature) {
                let theirs = (source, Signature(header.signature));
                self.spread(context, team, cause, (header.number, mine), Some(theirs));
            }
            (*team.as_ptr()).over.get_or_insert(cause);
            self.inner().attention = true;
        }
    }

    /// The operation of a team with this number, if it is in progress.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn active(&self, team: NonNull<Members>, number: u32) -> Option<*mut Op> {
        // SAFETY: the caller's promise; active operations live.
        unsafe {
            let mut active = (&self.inner().active).iter();
            let found = active.find(|(op, of)| *of == team && (*op.as_ptr()).number == number);
            found.map(|(op, _)| op.as_ptr())
        }
    }

    /// A member has found calls that don't match. If this member's own call differs from one of
    /// those, this is its failure. In memory it reads the others' calls itself, with what
    /// signatures leave out.
    ///
    /// # Safety
    /// The lock is held; `team` is registered.
    unsafe fn note_other_call(
        &self,
        team: NonNull<Members>,
        source: u32,
        header: Header,
        data: Option<&[u8]>,
    ) {
        let Some((number, other)) = data.and_then(|data| data.split_first_chunk()) else { return };
        let other = other.split_first_chunk().and_then(|(task, call)| {
            let signature = u64::from_le_bytes(*call.first_chunk()?);
            Some((u32::from_le_bytes(*task), Header { signature, ..header }))
        });
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let Some(op) = self.active(team, u32::from_le_bytes(*number)) else { return };
            let reads = (*team.as_ptr()).memory.board.is_some() && !Self::waits_for_messages(op);
            if (*op).failure.is_some() || reads {
                return;
            }
            let mine = (*op).signature.0;
            let differs = |(_, header): &(u32, Header)| header.signature != mine;
            let found = [Some((source, header)), other].into_iter().flatten().find(differs);
            (*op).failure = found.map(|(task, header)| (&*op).mismatch(task, &header, 0));
        }
    }

    /// A message of an operation that is in progress here.
    ///
    /// # Safety
    /// The lock is held; `op` is an operation of `team` under way.
    unsafe fn for_operation(
        self: &Arc<Self>,
        team: NonNull<Members>,
        op: *mut Op,
        header: Header,
        message: &Incoming<'_>,
        data: Option<&[u8]>,
    ) -> Delivery {
        let (source, members) = (message.source, team.as_ptr());
        // SAFETY: team and operation live while the lock is held; each reference ends where it
        // stands.
        unsafe {
            match header.kind {
                Kind::Ready => match find(&(*op).sends, source, header.tag) {
                    Some(slot) if (*op).sends[slot].state == State::Posted => {
                        (&mut (*op).sends)[slot].state = State::Granted;
                        (&mut (*op).granted).push(slot as u32);
                        self.inner().attention = true;
                        self.go_on_later()
                    }
                    _ => self.keep_early(members, message, header, data),
                },
                _ => match find(&(*op).receives, source, header.tag) {
                    // Behind a header that narrow paths have cut off its data, these have no place.
                    Some(slot)
                        if (*op).receives[slot].state == State::Posted
                            && (data.is_some() || !message.user_header.is_empty()) =>
                    {
                        self.place(team, op, slot, header.kind, message, data)
                    }
                    _ => self.keep_early(members, message, header, data),
                },
            }
        }
    }

    /// Data whose destination is known.
    ///
    /// # Safety
    /// The lock is held; `op` is an operation of `team` under way that waits for a message in this
    /// slot.
    #[allow(clippy::too_many_arguments, reason = "a part of `for_team`, which has looked all of it up")]
    unsafe fn place(
        self: &Arc<Self>,
        team: NonNull<Members>,
        op: *mut Op,
        slot: usize,
        kind: Kind,
        message: &Incoming<'_>,
        data: Option<&[u8]>,
    ) -> Delivery {
        let packed = if message.user_header.is_empty() { HEADER } else { 0 };
        let got = length(kind, data, message.len as usize - packed);
        // SAFETY: the caller's promise; each reference ends where it stands.
        unsafe {
            let span = (*op).receives[slot].span;
            let (_, expected) = (*op).bytes(span);
            if got != expected {
                (*op).failure = Some(CollectiveError::Length { from: message.source, got, expected });
                self.inner().attention = true;
                return self.go_on_later();
            }
            if kind == Kind::Long {
                return Delivery::bury();
            }
            if let Some(data) = data {
                (&mut *op).place(span, data);
                self.received(op, slot);
                return self.go_on_later();
            }
            (&mut (*op).receives)[slot].state = State::Moving;
            let (engine, id, number) = (Arc::clone(self), (*team.as_ptr()).id, (*op).number);
            let done = CompletionHandler::Closure(Box::new(move |context: &Context| {
                // Inline completion handlers run under the lock. The operation is waited for until
                // its data has come, so what is found is the one that the message belongs to.
                engine.moved(context, id, number, slot);
            }));
            let into = Op::destination(op, span);
            Delivery { into, drop: false, completion: Some(done), run: Run::Inline }
        }
    }

    /// The data of a long message has arrived.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn moved(self: &Arc<Self>, context: &Context, id: u64, number: u32, slot: usize) {
        // SAFETY: the caller's promise; registered teams and active operations live.
        unsafe {
            let Some(team) = self.inner().find(id) else { return };
            let Some(op) = self.active(team, number) else { return };
            if (*op).receives[slot].state != State::Moving {
                // Its sender was purged meanwhile.
                return;
            }
            self.received(op, slot);
            if self.unattended() {
                self.advance_all(context);
            }
        }
    }

    /// # Safety
    /// The lock is held; the operation is under way.
    unsafe fn received(&self, op: *mut Op, slot: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            (&mut (*op).receives)[slot].state = State::Done;
            (*op).open_receives -= 1;
            // A failed operation ends when no more data can arrive in its memory.
            if (*op).open_receives == 0 || (*op).failure.is_some() {
                self.inner().attention = true;
                if let Some(waker) = (*op).waker.take() {
                    waker.wake();
                }
            }
        }
    }

    /// # Safety
    /// The lock is held; `members` are registered.
    pub(super) unsafe fn keep_early(
        self: &Arc<Self>,
        members: *mut Members,
        message: &Incoming<'_>,
        header: Header,
        data: Option<&[u8]>,
    ) -> Delivery {
        // SAFETY: the caller's promise.
        let spare = unsafe { (&mut (*members).spare).pop() };
        let letter = Letter { source: message.source, header, data: spare.unwrap_or_default() };
        self.keep(message, letter, data, |engine, letter, late| {
            // SAFETY: handlers and inline completion handlers run under the lock; registered teams
            // live.
            unsafe {
                match engine.inner().find(letter.header.team) {
                    Some(team) if late => engine.late(team, letter),
                    Some(team) => (&mut (*team.as_ptr()).early).insert(letter),
                    None => {}
                }
            }
        })
    }

    /// The last piece of a message has come. Its operation may have reached its receiver meanwhile.
    ///
    /// # Safety
    /// The lock is held; `team` is registered.
    unsafe fn late(&self, team: NonNull<Members>, letter: Letter) {
        let (source, header) = (letter.source, letter.header);
        // SAFETY: the caller's promise; active operations live; references end where they stand.
        unsafe {
            self.inner().attention = true;
            let members = team.as_ptr();
            let Some(op) = self.active(team, header.number).filter(|op| (**op).failure.is_none()) else {
                let blocking = (*members).memory.blocking == Some(header.number);
                if blocking || !wire::before(header.number, (*members).next) {
                    (&mut (*members).early).insert(letter);
                }
                return;
            };
            let slot = find(&(*op).receives, source, header.tag)
                .filter(|slot| header.kind == Kind::Data && (*op).receives[*slot].state == State::Posted);
            match slot {
                _ if header.signature != (*op).signature.0 => {
                    let got = length(header.kind, Some(&letter.data), letter.data.len());
                    (*op).failure = Some((&*op).mismatch(source, &header, got));
                }
                Some(slot) => {
                    self.deliver(team, op, slot, letter);
                    self.received(op, slot);
                }
                None => {
                    (*op).compared = false;
                    (&mut (*members).early).insert(letter);
                }
            }
        }
    }

    /// Drops what has come for an operation that has ended without it. Unless it only announces
    /// data, or is a question with the signature of this one, it belongs to another call.
    ///
    /// # Safety
    /// The lock is held; the team lives.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn clear_early(
        &self,
        context: &Context,
        team: NonNull<Members>,
        number: u32,
        mine: Option<Signature>,
    ) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let members = team.as_ptr();
            let asks = |header: &Header| {
                header.kind == Kind::Ask && mine.is_some_and(|mine| mine.0 == header.signature)
            };
            let other = |letter: &&Letter| letter.header.kind != Kind::Long && !asks(&letter.header);
            let found = (&(*members).early).of(number).find(other);
            let found = found.map(|letter| (letter.source, letter.header));
            if let Some(letter) = found {
                self.belated(context, team, letter, mine);
            }
            (&mut (*members).early).clear(number);
        }
    }

    /// Stores a message until an operation waits for it. `keep` is told whether it came in pieces.
    fn keep(
        self: &Arc<Self>,
        message: &Incoming<'_>,
        mut letter: Letter,
        data: Option<&[u8]>,
        keep: impl FnOnce(&Self, Letter, bool) + Send + 'static,
    ) -> Delivery {
        if let Some(data) = data {
            letter.data.clear();
            letter.data.extend_from_slice(data);
            keep(self, letter, false);
            return Delivery::bury();
        }
        let engine = Arc::clone(self);
        let header = if message.user_header.is_empty() { HEADER } else { 0 };
        let mut bytes = vec![0; message.len as usize];
        // The bytes of a vector stay where they are when the vector moves into the closure.
        let into = Destination::Contiguous(NonNull::from(bytes.as_mut_slice()).cast());
        let done = CompletionHandler::Closure(Box::new(move |context: &Context| {
            bytes.drain(..header);
            keep(&engine, Letter { data: bytes, ..letter }, true);
            // SAFETY: inline completion handlers run under the lock.
            unsafe {
                if engine.unattended() {
                    engine.advance_all(context);
                }
            }
        }));
        Delivery { into, drop: false, completion: Some(done), run: Run::Inline }
    }
}

/// Bytes of the data that a message brings or announces.
pub(super) fn length(kind: Kind, data: Option<&[u8]>, brought: usize) -> usize {
    match (kind, data) {
        (Kind::Long, Some(data)) => long_length(data),
        _ => brought,
    }
}

/// The length in an announcement of long data.
pub(super) fn long_length(data: &[u8]) -> usize {
    data.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize)
}
