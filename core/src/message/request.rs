//! Short operations with an answer, by the shortest path: messages and puts whose completion
//! increments a counter, and gets of a few bytes. Like [`Short`] messages, they are written into
//! the lane to their target at once.
//!
//! On this path only the [`Operation`] itself is described in memory. A description written field
//! by field would be moved by wider loads, which wait until all earlier stores are done, also those
//! to the lane, whose cache lines must first come from their reader.

use super::lanes::write_packet;
use super::{Destination, MAX_OPERATIONS, Operation, Short, TrustedDestination, Waiting};
use crate::Context;
use crate::completion::Plain;
use crate::context::{Locked, Notify, State};
use crate::counter::Counter;
use crate::transport::PeerId;
use crate::wire::{CHECKED, COMPLETION, Encoded, Header, Kind, short_head};
use std::ptr::NonNull;
use zerocopy::IntoBytes;

/// Longest user header of a message whose completion counts: with all that can stand before it, it
/// fits one cache line.
const USER_HEADER: usize = 64 - 32;

/// A get of consecutive bytes, whose completion concerns a counter at most.
pub(super) struct ShortGet {
    pub(super) target: PeerId,
    pub(super) remote: u64,
    pub(super) to: NonNull<u8>,
    pub(super) len: u64,
    /// Address of a counter at the target, 0 for none.
    pub(super) target_counter: u64,
    pub(super) origin: Plain,
    pub(super) checked: bool,
}

impl Context {
    /// Sends a short message or put whose completion counts `completion`. False: it can't go this
    /// way, nothing has happened.
    #[inline(always)]
    pub(super) fn send_counted_at_once(&self, message: &Short<'_>, completion: NonNull<Counter>) -> bool {
        self.at_once(message.target, |state| state.send_counted_in_lane(message, completion))
    }

    /// Asks for a few bytes. False: that can't go this way, nothing has happened.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes until `origin` is notified, which lives as long.
    #[inline(always)]
    pub(super) unsafe fn get_at_once(&self, get: &ShortGet) -> bool {
        // SAFETY: this function demands what `get_in_lane` does.
        self.at_once(get.target, |state| unsafe { state.get_in_lane(get) })
    }

    /// Lets `send` write into the lane to a target.
    #[inline(always)]
    fn at_once(&self, target: PeerId, send: impl FnOnce(&mut State) -> Option<u32>) -> bool {
        if !self.shared.alive.here() {
            return false;
        }
        let Some(mut section) = self.short_section() else { return false };
        let Some(news) = send(&mut section) else { return false };
        if news != 0 {
            // A peer that turns out to be gone: the link's event will end the operation.
            section.keep().attend_to(target, news);
        }
        true
    }
}

impl Locked<'_> {
    /// As [`Context::send_counted_at_once`], with the lock held.
    #[inline]
    pub(super) fn send_counted(&mut self, message: &Short<'_>, completion: NonNull<Counter>) -> bool {
        let Some(news) = self.send_counted_in_lane(message, completion) else { return false };
        if news != 0 {
            // A peer that turns out to be gone: the link's event will end the operation.
            self.attend_to(message.target, news);
        }
        true
    }
}

impl State {
    /// Sends a short message or put whose completion counts `completion` in the lane to its target;
    /// gives what the target's attention word says. `None`: it can't go this way, nothing has
    /// happened.
    #[inline(always)]
    pub(super) fn send_counted_in_lane(
        &mut self,
        message: &Short<'_>,
        completion: NonNull<Counter>,
    ) -> Option<u32> {
        let &Short { kind, target, handler, user_header, data, target_counter } = message;
        let peer = self.peers.get(target)?;
        let (lane, number) = (peer.lane.get()?.as_ptr(), peer.next_number());
        let fits = user_header.len() <= USER_HEADER && user_header.len().is_multiple_of(4);
        if !fits || data.len() as u64 > Short::LONGEST || self.operations.len() >= MAX_OPERATIONS {
            return None;
        }
        let operation = self.operations.insert(Operation {
            peer: target,
            waiting: Waiting::Completion,
            origin: Notify::None,
            completion: Notify::Counter(completion),
            target_counter: 0,
            sequence: 0,
        });
        let head = short_head(kind, number, user_header.len(), target_counter != 0);
        let head = head | u64::from(COMPLETION) << 8;
        let (words, third, fourth) =
            if target_counter == 0 { (3, operation, 0) } else { (4, target_counter, operation) };
        let mut line = [head, handler, third, fourth, 0, 0, 0, 0].map(u64::to_le);
        let before = 8 * words + user_header.len();
        if !user_header.is_empty() {
            line.as_mut_bytes()[8 * words..before].copy_from_slice(user_header);
        }
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user.
        let Some(news) = (unsafe { write_packet(lane, &line.as_bytes()[..before], data) }) else {
            self.operations.remove(operation);
            return None;
        };
        self.next_message(target);
        self.sent_in_lane(data.len());
        Some(news)
    }

    /// Asks for a few bytes in the lane to whoever has them; gives what the target's attention word
    /// says. `None`: it can't go this way, nothing has happened.
    ///
    /// # Safety
    /// As for [`Context::get_at_once`].
    #[inline(always)]
    unsafe fn get_in_lane(&mut self, get: &ShortGet) -> Option<u32> {
        let &ShortGet { target, remote, to, len, target_counter, origin, checked } = get;
        let peer = self.peers.get(target)?;
        let (lane, number) = (peer.lane.get()?.as_ptr(), peer.next_number());
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user.
        let room = unsafe { (*lane).has_room() || (*lane).refresh() };
        if !room || self.operations.len() >= MAX_OPERATIONS {
            return None;
        }
        // SAFETY: the memory is vouched for until `origin` is notified.
        let destination = unsafe { TrustedDestination::new(Destination::Contiguous(to), len) };
        let sequence = self.next_operation(target);
        let operation = self.operations.insert(Operation {
            peer: target,
            waiting: Waiting::Get { destination, remaining: len },
            origin: origin.into(),
            completion: Notify::None,
            target_counter: 0,
            sequence,
        });
        let mut header = Header::new(Kind::Get, number, remote).with_target_counter(target_counter);
        header.flags |= if checked { CHECKED } else { 0 };
        (header.total, header.extra[0]) = (len, operation);
        let mut head = Encoded::new();
        let words = header.encode(&mut head);
        // SAFETY: lanes live as long as the link; nothing else has used this one since it had room.
        let news = unsafe { write_packet(lane, head.bytes(words), &[]) };
        self.next_message(target);
        self.asked_in_lane();
        news
    }
}
