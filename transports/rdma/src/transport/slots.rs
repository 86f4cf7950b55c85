//! Short messages that are written straight into memory: offering slots, filling and emptying them.

use super::Rdma;
use super::arrivals::Sink;
use crate::endpoint::{Remote, is_busy};
use crate::ffi::fi_addr_t;
use crate::header::{Header, Kind};
use crate::peers::Peer;
use crate::send::Refused;
use crate::slots::{self, LONGEST, Offer, Outgoing, Slots};
use lapis_core::transport::{Event, PeerId, RawSlice};
use std::collections::VecDeque;

/// Peers that have slots, which are looked at with every poll.
const MOST: usize = 16;

/// Payload of a message that waits for the next poll.
type Kept = Box<[u8; LONGEST]>;

/// What this task has of slots.
#[derive(Default)]
pub(super) struct SlotsOfPeers {
    /// By number. None is closed before the context is: a peer that does not know yet that it was
    /// forgotten may write there, and a key that is refused costs the connection.
    all: Vec<Slots>,
    /// Whose they are, as far as the peers have not been forgotten.
    users: Vec<PeerId>,
    /// Peers that are to be told of theirs.
    to_offer: VecDeque<PeerId>,
    /// Payloads of messages among those that were found early.
    kept: Vec<Kept>,
}

impl SlotsOfPeers {
    /// Whether somebody is to be told of something.
    pub(super) fn has_offers(&self) -> bool {
        !self.to_offer.is_empty()
    }

    /// A peer is forgotten.
    pub(super) fn forget(&mut self, peer: PeerId) {
        self.users.retain(|user| *user != peer);
        self.to_offer.retain(|user| *user != peer);
    }

    /// All that was found early has been given out, and is void.
    pub(super) fn let_go(&mut self) {
        self.kept.clear();
    }
}

impl Rdma {
    /// A peer has sent a few messages: gives it slots, if any are left.
    #[cold]
    pub(super) fn give_slots(&mut self, peer: PeerId) {
        if !self.has_short_puts() || self.slots.all.len() >= MOST {
            return;
        }
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.fails_over()) else { return };
        match Slots::new(&mut self.rails[0].endpoint, &mut self.memory) {
            Ok(slots) => {
                p.slots_here = Some(self.slots.all.len());
                self.slots.all.push(slots);
                self.slots.users.push(peer);
                self.slots.to_offer.push_back(peer);
            }
            Err(code) => {
                let text = self.text(code);
                self.host.debug(format_args!("task {peer} gets no slots for short messages: {text}"));
            }
        }
    }

    /// Tells peers of their slots, as far as there is room.
    #[cold]
    pub(super) fn offer_slots(&mut self) {
        // Each has one try: who takes nothing at present keeps no other one waiting.
        for _ in 0..self.slots.to_offer.len() {
            let Some(peer) = self.slots.to_offer.pop_front() else { return };
            if !self.offer_slots_to(peer) {
                self.slots.to_offer.push_back(peer);
            }
        }
    }

    /// Tells one peer of its slots. False: it is to be tried again.
    fn offer_slots_to(&mut self, peer: PeerId) -> bool {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return true };
        let Some(slots) = p.slots_here.and_then(|at| self.slots.all.get(at)) else { return true };
        let offer = slots.offer().encode();
        let (head, (rail, to)) = (p.header(self.me.task, Kind::Slots, offer.len() as u32), p.way());
        let r = &mut self.rails[rail];
        match r.sender.slip(&mut r.endpoint, to, head, &offer) {
            Ok(()) => true,
            Err(Refused::Busy) => false,
            Err(Refused::Failed(code)) => {
                self.send_failed(peer, rail, code);
                true
            }
        }
    }

    /// A peer has slots for our messages.
    #[cold]
    pub(super) fn slots_offered(&mut self, peer: PeerId, payload: &[u8]) {
        if !self.has_short_puts() {
            return;
        }
        if let Some(p) = self.peers.get_mut(peer) {
            p.slots_there = Offer::decode(payload);
        }
    }

    /// Writes a message to a slot of the peer's. False: it must go another way. The error is
    /// libfabric's number.
    #[inline]
    pub(super) fn send_to_slot(
        &mut self,
        peer: PeerId,
        header: &Header,
        way: (usize, fi_addr_t),
        parts: [&[u8]; 2],
    ) -> Result<bool, i32> {
        let Some(offer) = self.peers.get(peer).and_then(Peer::slots_for_few) else { return Ok(false) };
        if header.length as usize > LONGEST {
            return Ok(false);
        }
        let outgoing = Outgoing::message(header, parts);
        let done = self.write_to_slot(peer, offer, way, &outgoing)?;
        if done {
            self.rails[way.0].sender.sent.count(outgoing.bytes().len());
        }
        Ok(done)
    }

    /// Puts a few bytes to a peer's memory, with a word in its slot behind them. `None`: it must go
    /// another way.
    ///
    /// # Safety
    /// As `put_short` of the contract demands.
    #[inline]
    pub(super) unsafe fn put_with_slot(
        &mut self,
        peer: PeerId,
        header: &Header,
        data: &[u8],
        (rail, remote): (usize, Remote),
    ) -> Option<Result<(), i32>> {
        let offer = self.peers.get(peer)?.slots_there?;
        let outgoing = Outgoing::behind_put(header);
        let endpoint = &mut self.rails[rail].endpoint;
        if !endpoint.writes_two() || data.len() + outgoing.bytes().len() > endpoint.inject_size() {
            return None;
        }
        let slot = Remote { to: remote.to, addr: offer.place(&outgoing), key: offer.key };
        // SAFETY: the caller's promise; the slot is as in `write_to_slot`.
        Some(unsafe { endpoint.write_both_at_once([(data, remote), (outgoing.bytes(), slot)]) })
    }

    #[inline]
    fn write_to_slot(
        &mut self,
        peer: PeerId,
        offer: Offer,
        (rail, to): (usize, fi_addr_t),
        outgoing: &Outgoing,
    ) -> Result<bool, i32> {
        let r = &mut self.rails[rail];
        if r.sender.waits_for(peer) {
            return Ok(false);
        }
        let remote = Remote { to, addr: offer.place(outgoing), key: offer.key };
        // SAFETY: the peer's slots are there until its context ends, and credits say that this one
        // is free.
        match unsafe { r.endpoint.write_at_once(outgoing.bytes(), None, remote) } {
            Ok(()) => Ok(true),
            // The other way waits for room.
            Err(code) if is_busy(code) => Ok(false),
            Err(code) => Err(code),
        }
    }

    /// Takes what has come to slots. `quiet`: the queue was empty, so that what is missing is lost
    /// if it stays away.
    #[inline]
    pub(super) fn empty_slots(&mut self, sink: &mut Sink<'_>, quiet: bool) -> bool {
        let mut any = false;
        for at in 0..self.slots.users.len() {
            let peer = self.slots.users[at];
            any |= self.empty_slots_of(peer, sink);
            let Some(p) = self.peers.get(peer) else { continue };
            let Some(slots) = p.slots_here.and_then(|at| self.slots.all.get_mut(at)) else { continue };
            if !quiet {
                // Messages may still lie in one of libfabric's queues.
                slots.may_still_come();
            } else if !p.torn && slots.misses(p.its_cookie, p.next_number()) {
                // It names the one behind those that are missing, as a message does.
                let number = p.next_number().wrapping_add(1);
                self.tear(peer, number);
            }
        }
        any
    }

    /// Takes what has come to a peer's slots and follows what was taken. Whether there was any.
    #[inline]
    pub(super) fn empty_slots_of(&mut self, peer: PeerId, sink: &mut Sink<'_>) -> bool {
        let mut any = false;
        while let Some(p) = self.peers.get_mut(peer)
            && let Some(slots) = p.slots_here.and_then(|at| self.slots.all.get_mut(at))
            && !p.torn
            && let Some(found) = slots.take(p.its_cookie, p.next_number())
        {
            any = true;
            if !p.count_acked(found.acked) {
                self.host.debug(format_args!("a message with a wrong count was dropped"));
            }
            self.count_consumed(peer);
            let Some(RawSlice { ptr, len }) = found.payload else { continue };
            self.rails[0].received.count(slots::written(len));
            self.give_from_slot(Event::message(peer, ptr, len as u32), sink);
        }
        any
    }

    /// Hands a message on. One that waits for the next poll is copied: its slot may be written
    /// before.
    #[inline]
    fn give_from_slot(&mut self, mut event: Event, sink: &mut Sink<'_>) {
        if sink.has_room() {
            return self.give(event, sink);
        }
        let mut copy = Kept::new([0; LONGEST]);
        // SAFETY: payloads of slots have at most so many bytes, which nobody writes now.
        unsafe { copy.as_mut_ptr().copy_from_nonoverlapping(event.data, event.len as usize) };
        event.data = copy.as_mut_ptr();
        self.slots.kept.push(copy);
        self.give(event, sink);
    }

    /// Whether anything is in slots.
    pub(super) fn has_filled_slots(&self) -> bool {
        self.slots.users.iter().any(|&peer| {
            let p = self.peers.get(peer).filter(|p| !p.torn);
            p.is_some_and(|p| {
                let slots = p.slots_here.and_then(|at| self.slots.all.get(at));
                slots.is_some_and(|slots| slots.has_any(p.its_cookie, p.next_number()))
            })
        })
    }
}
