//! Puts, gets and atomics that a target refuses: its answer, and their end at the origin.
//!
//! A target refuses for one of four reasons: the safe interface requested a check, and the memory
//! is not shared; there is no variable for an atomic; the atomic's operation is unknown; or its
//! transport can't put the data of a get into the origin's memory. The answer ends the operation.
//! The owner of its memory, or the caller that waits, gets the [`Refusal`]. Counters count
//! successes only, so if only a counter would be notified, the origin's error handler is called.
//! The target increments no counter. For fences the operation is done, like any that has failed.

use super::{Operation, TrustedDestination, Waiting};
use crate::Context;
use crate::context::{Arrival, CompletionHandler, Locked};
use crate::error::{Access, Error, Reason, Refusal};
use crate::handlers::Run;
use crate::state::{PeerState, Transfer};
use crate::transport::PeerId;
use crate::wire::{CHECKED, COMPLETION, Header, Kind};

impl Locked<'_> {
    /// Whether a one-sided operation may touch this range: always for interfaces that pass raw
    /// addresses, only registered regions for the safe one.
    pub(super) fn may_touch(&self, header: &Header, addr: u64, len: u64) -> bool {
        header.flags & CHECKED == 0 || self.holds_region(addr, len)
    }

    /// Answers a message that is refused, and ends it: the origin gets the answer before its fence
    /// ends.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        source: PeerId,
        header: &Header,
        operation: u64,
        (access, len, reason): (Access, u64, Reason),
    ) {
        let refusal = self.refusal_of(access, header.subject, len, reason);
        tracing::debug!(source, "{refusal}");
        self.reply_packet(source, &packet_of(&refusal, operation), &[]);
        self.done_here(source, header.message);
    }

    fn refusal_of(&self, access: Access, addr: u64, len: u64, reason: Reason) -> Refusal {
        Refusal { task: self.shared().task, access, addr, len, reason }
    }

    /// A put in one packet is refused.
    #[cold]
    pub(super) fn refuse_put(&mut self, source: PeerId, header: &Header, len: u64) {
        self.refuse(source, header, waits_for(header), (Access::Put, len, Reason::Outside));
    }

    /// The first packet of a put that is refused: the others come all the same. Until they have,
    /// its origin reads from the memory that the operation owns.
    #[cold]
    pub(super) fn refuse_long_put(&mut self, source: PeerId, header: &Header, data: &[u8]) {
        let refusal = self.refusal_of(Access::Put, header.subject, header.total, Reason::Outside);
        tracing::debug!(source, "{refusal}");
        let packet = packet_of(&refusal, waits_for(header));
        let mut completion = None;
        if packet.subject == 0 {
            self.reply_packet(source, &packet, &[]);
        } else {
            let answer = move |context: &Context| context.locked().reply_packet(source, &packet, &[]);
            completion = Some(CompletionHandler::Closure(Box::new(answer)));
        }
        let (message, run) = (header.message, Run::Inline);
        let arrival = Arrival { message, target_counter: 0, completion, run, reply: None };
        let destination = TrustedDestination::discard(header.total);
        self.begin_reassembly(source, destination, arrival, data);
    }

    /// What a get asked this task to put into its origin's memory will not come there, unless there
    /// is nobody to be told any more.
    #[cold]
    pub(super) fn refuse_pushed(&mut self, origin: PeerId, transfer: &Transfer) {
        let p = &self.peers[origin];
        let Some(operation) = transfer.answer_to else { return };
        if p.state == PeerState::Up && p.life == transfer.life {
            let addr = transfer.local.addr() as u64;
            let refusal = self.refusal_of(Access::Get, addr, transfer.len, Reason::NotCarried);
            self.reply_packet(origin, &packet_of(&refusal, operation), &[]);
        }
    }

    /// A target has refused an operation of this task's, which ends.
    #[cold]
    pub(super) fn refused(&mut self, source: PeerId, header: &Header) {
        let (access, reason) = Refusal::of_word(header.user_header);
        let (addr, len) = (header.extra[0], header.total);
        let refusal = Refusal { task: source, access, addr, len, reason };
        let id = header.subject;
        if id == 0 {
            // A put whose completion is not reported.
            return self.report(refusal.into(), source);
        }
        let asked = self.operations.get_mut(id).filter(|op| op.peer == source && may_be_refused(op));
        if asked.is_none() {
            return;
        }
        let Some(operation) = self.operations.remove(id) else { return };
        match &operation.waiting {
            Waiting::Completion => self.end_zero_copy_sends(source, |send| send.completion == id),
            waiting => {
                self.sending.ended += u64::from(matches!(waiting, Waiting::Pull { .. }));
                self.peers[source].answered.done(operation.sequence);
            }
        }
        self.take_back(&operation);
        self.tell_refused(operation, refusal);
    }

    /// Reports a refused operation to whoever is notified of failures.
    #[cold]
    pub(super) fn tell_refused(&mut self, operation: Operation, refusal: Refusal) {
        let Operation { peer, origin, completion, .. } = operation;
        let heard = origin.hears_why() || completion.hears_why();
        origin.notify(self, peer, Err(refusal.into()));
        completion.notify(self, peer, Err(refusal.into()));
        if !heard {
            self.report(refusal.into(), peer);
        }
    }

    /// What a peer has announced can't be had from it in any way, so that the message will never be
    /// there: the peer counts as lost.
    #[cold]
    pub(super) fn announced_in_vain(&mut self, peer: PeerId, error: &Error) {
        if let Error::Refused(refusal) = error {
            self.peer_down(peer, &format!("a message that it has announced can't be had: {refusal}"));
        }
    }
}

/// The operation that waits for a put's end; 0 for none.
fn waits_for(header: &Header) -> u64 {
    if header.flags & COMPLETION == 0 { 0 } else { header.completion }
}

/// Whether an operation is one that waits for a peer's answer alone.
fn may_be_refused(operation: &Operation) -> bool {
    use Waiting::{Completion, Get, Pull, Push, Rmw};
    matches!(operation.waiting, Completion | Pull { .. } | Push { .. } | Get { .. } | Rmw { .. })
}

fn packet_of(refusal: &Refusal, operation: u64) -> Header {
    let mut packet = Header::new(Kind::Refused, 0, operation);
    (packet.user_header, packet.total, packet.extra[0]) = (refusal.word(), refusal.len, refusal.addr);
    packet
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "self_tests.rs"]
mod tests;
