//! Running the steps of operations, as far as possible.

use super::arrivals::long_length;
use super::op::{Act, State};
use super::wire::{HEADER, Header, Kind};
use super::{Care, EAGER, Engine, HANDLER, Letter, Members, Op, PACKED, SPARE};
use crate::error::{Cause, CollectiveError, lost};
use lapis_core::message::{AmSend, Short};
use lapis_core::{Context, Error, Notify, Source};
use std::ffi::c_void;
use std::ptr::NonNull;

impl Engine {
    /// Begins an operation and takes its first steps.
    ///
    /// # Safety
    /// The lock is held; `op` and `team` live until the operation has ended, and `op` is not in
    /// progress; the buffers are as long as the operation's spans say, and used by nobody else
    /// until it has ended.
    pub(crate) unsafe fn start(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: NonNull<Op>,
        input: *const u8,
        output: *mut u8,
    ) {
        // SAFETY: the caller's promise; references end before anything is sent.
        unsafe {
            self.note_beginnings(context);
            let members = team.as_ptr();
            (*op.as_ptr()).begin((*members).next, input, output);
            (&mut (*members).started).note((*members).next);
            (*members).next = ((*members).next + 1) & super::wire::NUMBERS;
            (&mut self.inner().active).push((op, team));
            if (&(*op.as_ptr()).rounds).is_some() {
                self.line_up(team, op);
            }
            self.advance(context, team, op.as_ptr());
        }
    }

    /// Lets every operation go on.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn advance_all(&self, context: &Context) {
        // SAFETY: the caller's promise.
        unsafe {
            self.advance_once(context);
            while self.arm_unattended() {
                self.advance_once(context);
            }
        }
    }

    /// # Safety
    /// As for [`advance_all`](Self::advance_all).
    unsafe fn advance_once(&self, context: &Context) {
        // SAFETY: the caller's promise; active operations live; the list is read again after each
        // call.
        unsafe {
            // Data of a task that was purged meanwhile comes no more: nothing waits for it.
            self.note_beginnings(context);
            self.inner().attention = false;
            let mut at = 0;
            while let Some(&(op, team)) = (&self.inner().active).get(at) {
                self.advance(context, team, op.as_ptr());
                // One that has ended is not there any more.
                at += usize::from((&self.inner().active).get(at).is_some_and(|(now, _)| *now == op));
            }
        }
    }

    /// Takes an operation's steps until it must wait or has ended.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn advance(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise. Fields are used one by one: what is sent may come back here
        // and change them.
        unsafe {
            if (*op).advancing || !(*op).running {
                return;
            }
            (*op).advancing = true;
            self.take_steps(context, team, op);
            (*op).advancing = false;
            self.find_failure(context, team, op);
            self.tell_failure(context, team, op);
            self.end_if_settled(context, team, op);
        }
    }

    /// Takes steps until one must wait, or the operation or its team has failed.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn take_steps(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; fields are used one by one, as what is sent may come back.
        unsafe {
            while (*op).failure.is_none() && (*team.as_ptr()).over.is_none() {
                if !self.through_memory(context, team, op) {
                    break;
                }
                if !(&(*op).granted).is_empty() {
                    self.send_granted(context, team, op);
                }
                let Some(act) = (&(*op).acts).get((*op).next).copied() else { break };
                match act {
                    Act::Send { slot } => self.send(context, team, op, slot as usize),
                    Act::Receive { slot } => self.receive(context, team, op, slot as usize),
                    Act::Wait if (*op).open_receives > 0 => break,
                    Act::Drain if (*op).open_sends > 0 => break,
                    Act::Wait | Act::Drain => {}
                    Act::Look => super::search::look(context, team),
                    Act::Copy { from, into } => (&mut *op).copy(from, into),
                    Act::Fold { from, into, side } => (*op).fold(from, into, side),
                }
                (*op).next += 1;
            }
        }
    }

    /// Finds out whether an operation fails that has gone as far as it can. What it has met itself
    /// comes first, as it says most: messages of another call, even if none of its own are missing.
    /// Then the loss of a member, which calls that wait look for themselves. The end of the team
    /// comes last, and does not concern an operation that is complete.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn find_failure(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; fields are used one by one.
        unsafe {
            if (*op).is_done() && (*op).failure.is_none() {
                self.meets_other_call(team, op);
            }
            if (*op).is_unattended() {
                self.find_lost(context, team, op);
            }
            if (*op).failure.is_none()
                && let Some(cause) = (*team.as_ptr()).over
                && !(*op).is_done()
            {
                (*op).failure = Some(self.over(team, op, cause));
            }
        }
    }

    /// Tells the others of a failure.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn tell_failure(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; fields are used one by one.
        unsafe {
            if let Some(cause) = (*op).failure.as_ref().map(|failure| failure.cause(context.task())) {
                // Messages may wait for room, and what arrives meanwhile, or another thread, must
                // not end it: whoever has it would free it.
                (*op).advancing = true;
                self.answer_early(context, team, op);
                self.spread(context, team, cause, self.call_of(team, op), None);
                (*op).advancing = false;
            }
        }
    }

    /// Ends an operation that is complete or has failed, once nobody uses its memory any more.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn end_if_settled(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; fields are used one by one.
        unsafe {
            let ended = (*op).is_done() || (*op).failure.is_some();
            if ended && self.settled(context, op) {
                self.finish(context, team, op);
            }
        }
    }

    /// Whether nobody reads or writes the memory of an operation any more that is complete or has
    /// failed. Scripts end with a drain, so that nothing of a complete one is on its way.
    ///
    /// # Safety
    /// The lock is held; the operation is under way.
    pub(super) unsafe fn settled(&self, context: &Context, op: *mut Op) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            if (*op).failure.is_none() {
                debug_assert!((*op).open_sends == 0 && (*op).open_receives == 0);
                return true;
            }
            // The end of a context tells nothing of the sends that it drops.
            if context.is_closed() {
                return true;
            }
            let moving = |slot: &&super::op::Slot| slot.state == State::Moving;
            // Senders that are gone write no more, those with which everything has started again
            // have been let go of, and sends are completed in any case before the context ends.
            (&(*op).sends).iter().filter(moving).count() == 0
                && (*op).receives.iter().filter(moving).all(|slot| context.reachable(slot.task).is_err())
        }
    }

    /// # Safety
    /// As for [`advance`](Self::advance); nothing of the operation is under way.
    unsafe fn finish(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; nothing refers to the list.
        unsafe {
            if (*op).failure.is_none() {
                (&mut *op).unpack();
                if context.checks() {
                    self.remember(team, op);
                }
            } else {
                (&mut *op).take_input_back(context.task());
            }
            (&mut self.inner().active).retain(|(one, _)| one.as_ptr() != op);
            if (&(*op).rounds).is_some() {
                self.leave_line(team, op);
            }
            if !(&(*team.as_ptr()).early).is_empty() {
                self.clear_early(context, team, (*op).number, Some((*op).signature));
            }
            let (waker, ending) = ((*op).waker.take(), (*op).ending.take());
            let failure = if ending.is_some() { (*op).failure.take() } else { None };
            if (*op).failure.is_some() && (*op).care == Care::Wait {
                // Who waits for it has slept while another thread told the members.
                context.wake();
            }
            // The last use of it here: whoever has it may free it. Before, messages may have waited
            // for room.
            (*op).running = false;
            if let Some(waker) = waker {
                waker.wake();
            }
            if let Some(ending) = ending {
                ending(context, failure.map_or(Ok(()), Err));
            }
        }
    }

    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn send(&self, context: &Context, team: NonNull<Members>, op: *mut Op, slot: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let (task, tag) = ((*op).sends[slot].task, (*op).sends[slot].tag);
            let span = (*op).sends[slot].span;
            let (data, len) = (*op).bytes(span);
            if len > EAGER || (*op).waits_for_receivers {
                (*op).open_sends += 1;
                if self.take(team, op, task, tag, Kind::Ready).is_some() {
                    return self.send_long(context, team, op, slot);
                }
                (&mut (*op).sends)[slot].state = State::Posted;
                if context.checks() || len <= EAGER {
                    let length = (len as u64).to_le_bytes();
                    self.send_packed(context, team, op, task, tag, Kind::Long, &length);
                }
                return;
            }
            if len <= PACKED {
                (&mut (*op).sends)[slot].state = State::Done;
                if (*op).is_straight() {
                    let mut part = [0; PACKED];
                    (&mut *op).fetch(span, &mut part[..len]);
                    return self.send_packed(context, team, op, task, tag, Kind::Data, &part[..len]);
                }
                let data = lapis_core::message::bytes(data, len as u64);
                return self.send_packed(context, team, op, task, tag, Kind::Data, data);
            }
            (*op).open_sends += 1;
            self.send_long(context, team, op, slot);
        }
    }

    /// Sends a message that has a header and at most [`PACKED`] bytes.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance).
    #[allow(clippy::too_many_arguments, reason = "the parts of a message")]
    #[inline]
    pub(super) unsafe fn send_packed(
        &self,
        context: &Context,
        team: NonNull<Members>,
        op: *mut Op,
        task: u32,
        tag: u32,
        kind: Kind,
        data: &[u8],
    ) {
        // SAFETY: the caller's promise.
        let header = unsafe { header(team, op, tag, kind) };
        let mut packet = [std::mem::MaybeUninit::<u8>::uninit(); HEADER + PACKED];
        let len = HEADER + data.len();
        debug_assert!(len <= packet.len());
        // SAFETY: both parts fit, and are written before they are read.
        let packet = unsafe {
            let at = packet.as_mut_ptr().cast::<u8>();
            std::ptr::copy_nonoverlapping(header.bytes().as_ptr(), at, HEADER);
            std::ptr::copy_nonoverlapping(data.as_ptr(), at.add(HEADER), data.len());
            std::slice::from_raw_parts(at, len)
        };
        if let Err(e) = post(context, task, packet) {
            // SAFETY: the caller's promise.
            unsafe { self.failed(op, task, e) };
        }
    }

    /// Sends data in place.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance); the message is counted among the open ones.
    unsafe fn send_long(&self, context: &Context, team: NonNull<Members>, op: *mut Op, slot: usize) {
        // SAFETY: the caller's promise; the operation lives, and its memory with it, until
        // everything that was begun has been told.
        unsafe {
            let (task, tag) = ((*op).sends[slot].task, (*op).sends[slot].tag);
            let source = Op::source(op, (*op).sends[slot].span);
            let header = header(team, op, tag, Kind::Data).bytes();
            (&mut (*op).sends)[slot].state = State::Moving;
            (*op).attention = &raw mut self.inner().attention;
            let sent = context.am_send(AmSend {
                target: task,
                handler: HANDLER,
                user_header: &header,
                source,
                target_counter: 0,
                origin: Notify::Call {
                    call: told,
                    function: op.expose_provenance(),
                    argument: std::ptr::without_provenance_mut(slot),
                },
                completion: Notify::None,
            });
            if let Err(e) = sent {
                (&mut (*op).sends)[slot].state = State::Done;
                (*op).open_sends -= 1;
                self.failed(op, task, e);
            }
        }
    }

    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn send_granted(&self, context: &Context, team: NonNull<Members>, op: *mut Op) {
        // SAFETY: the caller's promise; the list is read again after each message, and may grow.
        unsafe {
            let mut at = 0;
            while let Some(slot) = (&(*op).granted).get(at).copied() {
                self.send_long(context, team, op, slot as usize);
                at += 1;
            }
            (&mut (*op).granted).clear();
        }
    }

    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn receive(&self, context: &Context, team: NonNull<Members>, op: *mut Op, slot: usize) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let (task, tag) = ((*op).receives[slot].task, (*op).receives[slot].tag);
            let (_, len) = (*op).bytes((*op).receives[slot].span);
            if self.take_data(team, op, slot) {
                return;
            }
            if (*op).failure.is_some() {
                return;
            }
            if let Some(letter) = self.take(team, op, task, tag, Kind::Long)
                && long_length(&letter.data) != len
            {
                let got = long_length(&letter.data);
                (*op).failure = Some(CollectiveError::Length { from: task, got, expected: len });
                return;
            }
            (&mut (*op).receives)[slot].state = State::Posted;
            (*op).open_receives += 1;
            if len > EAGER || (*op).waits_for_receivers {
                self.send_packed(context, team, op, task, tag, Kind::Ready, &[]);
            }
        }
    }

    /// Takes the data of a slot from the early messages. False if it is not there.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance).
    unsafe fn take_data(&self, team: NonNull<Members>, op: *mut Op, slot: usize) -> bool {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let (task, tag) = ((*op).receives[slot].task, (*op).receives[slot].tag);
            let Some(letter) = self.take(team, op, task, tag, Kind::Data) else { return false };
            self.deliver(team, op, slot, letter);
            true
        }
    }

    /// Puts the data of a letter where a slot wants it.
    ///
    /// # Safety
    /// As for [`advance`](Self::advance).
    pub(super) unsafe fn deliver(&self, team: NonNull<Members>, op: *mut Op, slot: usize, letter: Letter) {
        // SAFETY: the caller's promise; references end where they stand.
        unsafe {
            let span = (*op).receives[slot].span;
            let (got, (_, expected)) = (letter.data.len(), (*op).bytes(span));
            if got == expected {
                (&mut *op).place(span, &letter.data);
                let spare = &mut (*team.as_ptr()).spare;
                if spare.len() < SPARE {
                    spare.push(letter.data);
                }
            } else {
                (*op).failure = Some(CollectiveError::Length { from: letter.source, got, expected });
            }
            (&mut (*op).receives)[slot].state = State::Done;
        }
    }

    /// # Safety
    /// As for [`advance`](Self::advance).
    pub(super) unsafe fn failed(&self, op: *mut Op, task: u32, error: Error) {
        let failure = lost(task, error);
        // SAFETY: the caller's promise.
        unsafe { (*op).failure.get_or_insert(failure) };
    }
}

/// # Safety
/// The lock is held; both live.
unsafe fn header(team: NonNull<Members>, op: *mut Op, tag: u32, kind: Kind) -> Header {
    // SAFETY: the caller's promise.
    unsafe {
        Header { team: (*team.as_ptr()).id, number: (*op).number, kind, tag, signature: (*op).signature.0 }
    }
}

/// Sends a packet that is copied at once, also from within handlers.
pub(super) fn post(context: &Context, task: u32, packet: &[u8]) -> Result<(), Error> {
    // SAFETY: the data is copied before the call returns: it is short.
    unsafe {
        if context.try_send_short(&Short::plain(task, HANDLER, packet)) {
            return Ok(());
        }
        context.am_send(AmSend {
            target: task,
            handler: HANDLER,
            user_header: &[],
            source: Source::Contiguous(packet.as_ptr(), packet.len() as u64),
            target_counter: 0,
            origin: Notify::None,
            completion: Notify::None,
        })
    }
}

/// A message's memory is free again.
///
/// # Safety
/// `op` is the address of an operation that lives: it waits for this.
unsafe fn told(context: &Context, peer: u32, op: usize, slot: *mut c_void, ok: bool) {
    let op = std::ptr::with_exposed_provenance_mut::<Op>(op);
    // SAFETY: the caller's promise; the lock is held, as handlers are promised.
    unsafe {
        (&mut (*op).sends)[slot.addr()].state = State::Done;
        (*op).open_sends -= 1;
        if !ok {
            (*op).failure.get_or_insert(Cause::Gone(peer).error());
        }
        let waker = (*op).waker.take();
        let is_woken = waker.map(std::task::Waker::wake).is_some();
        let ready = (*op).open_sends == 0 || (*op).failure.is_some();
        if !ready || (*op).advancing {
            return;
        }
        // The thread that has begun it may wait for something else. The engine lives as long as
        // the context.
        *(*op).attention = true;
        if (*op).is_unattended() && !is_woken {
            // No call waits for it: it goes on where it may send.
            super::go_on_soon(context);
        }
    }
}
