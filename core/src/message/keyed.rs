//! Transfers to and from registered memory, which a transport carries out alone: the target's
//! program takes no part.
//!
//! A peer announces the keys of its regions to tasks that have asked for them (`state/regions.rs`),
//! and takes a key back when they have answered that no transfer uses it any more.
//! A put or get outside of these regions goes in packets. So does one that the transport refuses,
//! from the first piece on that is not known to have arrived. If this task copies by address
//! itself, the puts and gets of the safe interface use the same regions, with key 0.
//!
//! If the local memory is not registered, the transport copies or registers it. Long transfers to
//! or from a target that has registered nothing are carried out by the target (`lent`).

use super::bulk::Way;
use super::{
    Destination, Direction, Operation, Outgoing, Source, TrustedDestination, TrustedSource, Waiting,
};
use crate::Context;
use crate::context::{Locked, Notify, RegisteredMemory, State};
use crate::error::{Error, Result};
use crate::state::{News, PeerState, Registration, Transfer, Withdrawn};
use crate::status::Awaiting;
use crate::sync::Ordering;
use crate::transport::{Link, PeerId, RawSlice, RemoteAddr, Status};
use crate::wire::{CHECKED, Header, Kind};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// In the header's small number: whether a region has come or gone, or the answer to that.
const GONE: u16 = 0;
const COME: u16 = 1;
const DROPPED: u16 = 2;
const KNOWN: u16 = 3;

/// What a program sees of a transfer, beside its memory.
pub(super) struct Parties {
    pub(super) target: PeerId,
    pub(super) target_counter: u64,
    pub(super) origin: Notify,
    pub(super) completion: Notify,
}

impl Locked<'_> {
    /// Makes memory of this task known to peers and to transports, which register it where they
    /// work by keys. One that can't is said once: peers reach the memory by messages then.
    ///
    /// # Safety
    /// The range stays mapped until [`remove_region`](Self::remove_region).
    pub(crate) unsafe fn add_region(&mut self, base: *mut u8, len: usize) {
        let mut registrations = Vec::new();
        let state = &mut **self;
        for (index, link) in state.links.open.iter_mut().enumerate() {
            if !link.needs_keys() {
                continue;
            }
            // SAFETY: our caller keeps the range mapped until the region is removed.
            match unsafe { link.mem_register(RawSlice { ptr: base, len }) } {
                Ok(info) => registrations.push(Registration { link: index, id: info.id, key: info.key }),
                Err(e) if !std::mem::replace(&mut state.regions.warned, true) => {
                    tracing::warn!(transport = link.name(), "peers reach memory by messages only: {e}");
                }
                Err(e) => tracing::debug!(transport = link.name(), "memory not registered: {e}"),
            }
        }
        self.regions.add(base.addr() as u64, len as u64, registrations);
        self.tell_all_regions();
    }

    /// Undoes [`add_region`](Self::add_region): when this returns no peer's transfer by key reaches
    /// the memory. Until then it is waited, for up to the TIMEOUT, for the peers that know the key,
    /// and for those that it was lent to: a key that is refused may cost a connection. In a handler
    /// nothing is waited for.
    pub(crate) fn remove_region(&mut self, base: *mut u8, len: usize) {
        let Some(number) = self.regions.take(base.addr() as u64, len as u64) else { return };
        self.tell_all_regions();
        self.await_users(number);
        for registration in self.regions.release(number) {
            self.operations.forget_loans_of(&registration);
            self.release(registration);
        }
    }

    /// Waits until no peer uses a region that was taken back.
    fn await_users(&mut self, number: u64) {
        let is_used = |locked: &mut Self| {
            let state = &**locked;
            let lent = || state.regions.of_leaving(number).iter().any(|r| state.operations.lends(r));
            let is_over = || locked.shared().terminated.load(Ordering::Relaxed);
            (state.regions.is_known(number) || lent()) && !is_over()
        };
        if !is_used(self) {
            return;
        }
        let may_wait = self.dispatching == 0 && !std::thread::panicking();
        let patience = if may_wait { self.shared().timeout() } else { Duration::ZERO };
        let end = Some(Instant::now() + patience);
        let is_over = may_wait && self.wait_before(Awaiting::End, end, |locked| !is_used(locked));
        if !is_over && !std::mem::replace(&mut self.regions.said_early, true) {
            tracing::warn!(
                patience_s = patience.as_secs(),
                "memory that peers may still use is taken back: their transfers are refused from now on; this is said once"
            );
        }
    }

    fn tell_all_regions(&mut self) {
        for peer in self.regions.listeners() {
            self.tell_regions(peer);
        }
    }

    /// Tells a listener what it does not know, as far as it answers.
    pub(super) fn tell_regions(&mut self, peer: PeerId) {
        while self.peers[peer].state == PeerState::Up
            && let Some(news) = self.regions.next_news(peer)
        {
            let what = if news.come { COME } else { GONE };
            self.say_of_region(peer, what, news);
        }
    }

    fn say_of_region(&mut self, peer: PeerId, what: u16, news: News) {
        let mut header = Header::new(Kind::Region, 0, news.base);
        (header.user_header, header.total) = (what, news.len);
        (header.extra[0], header.extra[1]) = (news.key, news.number);
        self.reply_packet(peer, &header, &[]);
    }

    /// A peer wants to hear of regions.
    pub(super) fn regions_asked(&mut self, source: PeerId) {
        let route = self.peers[source].route.index();
        // Without keys the peer copies by address, from what it knows to be given.
        let by_key = self.links.open.get(route).is_some_and(|link| link.needs_keys());
        self.regions.listen(source, by_key.then_some(route));
        self.tell_regions(source);
    }

    /// A peer has registered memory, or has it no more; or it answers what it was told of ours.
    pub(super) fn region_told(&mut self, source: PeerId, header: &Header) {
        let [key, number, _] = header.extra;
        let what = header.user_header;
        let news = News { number, base: header.subject, len: header.total, key, come: what == COME };
        if let DROPPED | KNOWN = what {
            self.regions.answered(source, number, what == KNOWN);
            return self.tell_regions(source);
        }
        if let Some(regions) = &mut self.peers[source].regions {
            regions.note(news);
        }
        if news.come {
            return self.say_of_region(source, KNOWN, news);
        }
        self.regions.withdrawn.push(Withdrawn { peer: source, news });
        self.drop_withdrawn();
    }

    /// Tells peers that their regions are used no more, of those that were withdrawn, or left with
    /// a purge, and that no transfer uses.
    pub(super) fn drop_withdrawn(&mut self) {
        if !self.regions.left.is_empty() {
            self.tell_left();
        }
        if self.regions.withdrawn.is_empty() {
            return;
        }
        let State { regions, operations, .. } = &mut **self;
        let is_used = |w: &mut Withdrawn| operations.reaches(w.peer, w.news.key, (w.news.base, w.news.len));
        let dropped: Vec<Withdrawn> = regions.withdrawn.extract_if(.., |w| !is_used(w)).collect();
        for Withdrawn { peer, news } in dropped {
            self.say_of_region(peer, DROPPED, news);
        }
    }

    /// Whether this task may copy to and from a range of a task's memory itself, by what that task
    /// has told. If not, packets do, which the target looks at; and so does what carries transfers
    /// by key.
    pub(super) fn may_reach(&mut self, target: PeerId, remote: u64, len: u64) -> bool {
        if target == self.shared().task {
            return self.regions.hold(remote, len);
        }
        self.keys_lead_to(target) || self.key_for(target, remote, len).is_some()
    }

    /// The key for a range of a peer's memory, as far as it has told. Whoever has not been asked is
    /// asked.
    pub(super) fn key_for(&mut self, target: PeerId, remote: u64, len: u64) -> Option<u64> {
        if let Some(regions) = &self.peers[target].regions {
            return regions.key(remote, len);
        }
        self.peers[target].regions = Some(Box::default());
        self.reply_packet(target, &Header::new(Kind::Regions, 0, 0), &[]);
        None
    }

    /// Begins a transfer by key.
    pub(super) fn begin_transfer(&mut self, parties: Parties, transfer: Transfer, way: Way) {
        if way == Way::Bulk {
            self.statistics.bulk.count(transfer.len);
        }
        let id = self.add_transfer(parties, transfer);
        let is_first = self.sending.transfers.is_empty();
        self.advance_transfer(id);
        if !self.sending.transfers.is_empty() {
            if is_first {
                // The program may not call again for long.
                self.progress();
            }
            self.leave_work();
        }
    }

    /// The same when all that has come is handled.
    pub(super) fn begin_transfer_later(&mut self, parties: Parties, transfer: Transfer) {
        let id = self.add_transfer(parties, transfer);
        self.sending.transfers.push_back(id);
    }

    fn add_transfer(&mut self, parties: Parties, transfer: Transfer) -> u64 {
        let Parties { target, target_counter, origin, completion } = parties;
        let sequence = self.next_operation(target);
        let waiting = Waiting::Transfer(transfer);
        self.operations.insert(Operation {
            peer: target,
            waiting,
            origin,
            completion,
            target_counter,
            sequence,
        })
    }

    /// Goes on with transfers that had no room.
    pub(super) fn advance_transfers(&mut self) {
        for _ in 0..self.sending.transfers.len() {
            let Some(id) = self.sending.transfers.pop_front() else { return };
            if self.has_lost_its_key(id) {
                self.transfer_refused(id, Status::Io);
            } else {
                self.advance_transfer(id);
            }
        }
    }

    /// Whether the target has taken the key back since a transfer was to begin.
    fn has_lost_its_key(&mut self, id: u64) -> bool {
        let Some((peer, transfer)) = self.transfer_of(id) else { return false };
        let Transfer { remote, len, key, answer_to, .. } = transfer;
        let told = self.peers[peer].regions.as_ref();
        // What a peer lends for one transfer it does not announce.
        answer_to.is_none() && told.is_some_and(|regions| !regions.have(remote, len, key))
    }

    /// Hands pieces of a transfer to the transport until it has one under way.
    fn advance_transfer(&mut self, id: u64) {
        while let Some((peer, transfer)) = self.transfer_of(id) {
            if transfer.done == transfer.len {
                return self.end_transfer(id, peer, &transfer);
            }
            let (n, status) = match self.link_to(peer) {
                // SAFETY: the caller that began the transfer vouched for both sides until it is
                // notified; the table keeps the operation until then.
                Some(link) => unsafe { begin_piece(link, peer, &transfer, id) },
                None => (0, Status::PeerDown),
            };
            match (status, self.operations.waiting_mut(id)) {
                (Status::Done, Some(Waiting::Transfer(t))) => t.done += n,
                (Status::InProgress, Some(Waiting::Transfer(t))) => return t.under_way = true,
                (Status::Again, _) => return self.sending.transfers.push_back(id),
                _ => return self.transfer_refused(id, status),
            }
        }
    }

    fn transfer_of(&mut self, id: u64) -> Option<(PeerId, Transfer)> {
        let operation = self.operations.get_mut(id)?;
        match &operation.waiting {
            Waiting::Transfer(transfer) => Some((operation.peer, *transfer)),
            _ => None,
        }
    }

    /// The transport says how a piece ended.
    pub(super) fn transfer_event(&mut self, id: u64, status: Status) {
        let Some((peer, transfer)) = self.transfer_of(id) else { return };
        let most = self.link_to(peer).map_or(u64::MAX, |link| link.limits().max_zcopy);
        if let Some(Waiting::Transfer(t)) = self.operations.waiting_mut(id) {
            t.under_way = false;
            if status == Status::Done {
                t.done += transfer.piece(most);
            }
        }
        let p = &self.peers[peer];
        let same = p.life == transfer.life;
        match status {
            Status::Done if same && p.state != PeerState::Purged => self.advance_transfer(id),
            _ if same && p.state == PeerState::Up => self.transfer_refused(id, status),
            _ => {
                self.give_operation_up(id);
                if let Some(asked_by) = transfer.answer_to {
                    self.loan_left_alone(peer, asked_by);
                }
            }
        }
    }

    fn end_transfer(&mut self, id: u64, peer: PeerId, transfer: &Transfer) {
        self.shared().count_direct(peer, transfer.direction, transfer.len);
        match transfer.direction {
            Direction::Out => self.sending.ended += 1,
            Direction::In => self.receiving.ended += 1,
        }
        self.finish_operation(id, Status::Done);
        self.answer_pushed(peer, transfer.answer_to, transfer.len);
        self.drop_withdrawn();
    }

    /// The transport does not carry a transfer to its end.
    #[cold]
    fn transfer_refused(&mut self, id: u64, status: Status) {
        let Some((peer, transfer)) = self.transfer_of(id) else { return };
        match status {
            Status::PeerDown => {
                self.peer_down(peer, "its memory could not be reached");
                // Unless it went with the peer.
                self.give_operation_up(id);
            }
            Status::Panicked => {
                self.finish_operation(id, status);
                self.refuse_pushed(peer, &transfer);
                self.drop_withdrawn();
            }
            _ => {
                tracing::debug!(peer, ?status, "direct transfer refused; the data goes in packets");
                self.statistics.bulk.refused += 1;
                // A call that makes progress can't wait for it.
                self.dispatching += 1;
                let carried = self.carry_by_packets(id, peer, &transfer);
                self.dispatching -= 1;
                if let Err(e) = carried {
                    tracing::debug!(peer, "nor in packets: {e}");
                    self.fail_operation(id, &e);
                }
            }
        }
    }

    /// Sends, or asks for, what a transfer still lacks. The operation ends when that is there.
    fn carry_by_packets(&mut self, id: u64, peer: PeerId, transfer: &Transfer) -> Result<()> {
        let context = self.internal();
        let (answer_to, done) = (transfer.answer_to, transfer.done);
        let then = Notify::Dyn(Box::new(move |peer: PeerId, outcome: Result<()>| {
            let mut locked = context.locked();
            match outcome {
                Ok(()) => {
                    locked.finish_operation(id, Status::Done);
                    locked.answer_pushed(peer, answer_to, done);
                    locked.drop_withdrawn();
                }
                Err(error) => locked.fail_operation(id, &error),
            }
        }));
        let (local, remote) = (transfer.local_at(), transfer.remote + transfer.done);
        let left = transfer.len - transfer.done;
        if transfer.direction == Direction::In {
            let Some(to) = NonNull::new(local) else { return Ok(()) };
            // SAFETY: the caller that began the transfer vouched for its memory until it is
            // notified.
            let to = unsafe { TrustedDestination::new(Destination::Contiguous(to), left) };
            let mut header = self.ask_for(peer, remote, to, then);
            header.message = self.next_message(peer);
            header.flags |= if transfer.checked { CHECKED } else { 0 };
            self.reply_packet(peer, &header, &[]);
            return Ok(());
        }
        let mut header = Header::new(Kind::Put, 0, remote);
        header.flags |= if transfer.checked { CHECKED } else { 0 };
        // SAFETY: the caller that began the transfer vouched for its memory until it is notified.
        let source = unsafe { TrustedSource::new(Source::Contiguous(local.cast_const(), left)) };
        let (origin, completion) = (Notify::None, then);
        self.send_message(header, &[], Outgoing::new(peer, source, origin), completion)
    }

    /// Ends a transfer badly, for the state that its peer is in.
    #[cold]
    fn give_operation_up(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(id) else { return };
        let peer = operation.peer;
        let error = self.refusal(peer);
        self.fail_operation(id, &error);
    }

    /// Fails a transfer, and notifies the peer if it has requested it.
    #[cold]
    fn fail_operation(&mut self, id: u64, error: &Error) {
        let state = &mut **self;
        let Some(operation) = state.operations.remove(id) else { return };
        let peer = operation.peer;
        state.peers[peer].answered.done(operation.sequence);
        if let Waiting::Transfer(transfer) = &operation.waiting {
            self.refuse_pushed(peer, transfer);
        }
        self.drop_withdrawn();
        if let Error::Refused(refusal) = error {
            return self.tell_refused(operation, *refusal);
        }
        let (first, second): (Error, Error) = (self.refusal(peer), self.refusal(peer));
        operation.origin.notify(self, peer, Err(first));
        operation.completion.notify(self, peer, Err(second));
    }
}

/// # Safety
/// Both sides of the transfer are valid until the transport has said that the piece is over.
unsafe fn begin_piece(link: &mut Link, peer: PeerId, transfer: &Transfer, token: u64) -> (u64, Status) {
    let n = transfer.piece(link.limits().max_zcopy);
    let here = RawSlice { ptr: transfer.local_at(), len: n as usize };
    let there = RemoteAddr { addr: transfer.remote + transfer.done, key: transfer.key };
    link.prefer_rail(transfer.rail);
    // SAFETY: our caller vouches for both sides until the piece is over.
    let status = unsafe {
        match transfer.direction {
            Direction::Out => link.put_zcopy(peer, here, there, token),
            Direction::In => link.get_zcopy(peer, here, there, token),
        }
    };
    (n, status)
}

impl State {
    /// No peer reaches the memory of a registration any more, unless it is a region's.
    pub(super) fn release(&mut self, registration: Registration) {
        if self.regions.has(&registration) {
            return;
        }
        if let Some(link) = self.links.open.get_mut(registration.link) {
            // SAFETY: whoever keeps a registration releases it once, when nobody is to use it.
            unsafe { link.mem_release(registration.id) };
        }
    }

    /// Forgets what a peer told of its regions, and that it wants to hear of ours.
    pub(super) fn forget_regions(&mut self, peer: PeerId) {
        self.peers[peer].regions = None;
        self.regions.forget(peer);
    }
}

impl Context {
    /// Lets peers reach memory of the program's own as directly as the transports allow. Puts and
    /// gets reach any memory; what is registered they reach without the target's processor where
    /// the transport can.
    ///
    /// The value is what keeps it registered. To drop it waits, for up to the TIMEOUT, until other
    /// tasks that may use the memory have answered that they do not, for which they have to call
    /// the library; within a handler nothing is waited for.
    ///
    /// # Errors
    /// The context can't be used.
    ///
    /// # Safety
    /// The range stays mapped, and peers may change it at any time, until the value is dropped.
    #[doc(alias = "lapis_register")]
    pub unsafe fn register(&self, base: NonNull<u8>, len: usize) -> Result<RegisteredMemory> {
        self.usable()?;
        // SAFETY: our caller keeps the range mapped until the value removes the region.
        unsafe { self.locked().add_region(base.as_ptr(), len) };
        Ok(RegisteredMemory::new(self, base, len))
    }
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "keyed_tests.rs"]
mod tests;
