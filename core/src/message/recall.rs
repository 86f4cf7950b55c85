//! Memory that is still lent to a peer when that peer is purged.
//!
//! A peer that is purged, or has purged this task, may still hold an announcement of memory, or be
//! in the middle of the transfer: it learns of the purge only when it calls the library. Revoking
//! the key would break the connection over some providers, and would not stop data on the wire. So
//! the loan continues, and so does the operation, until the peer confirms that it no longer uses
//! the memory:
//!
//! ```text
//!   origin                                 target
//!     | purge: Recall {operation} ─────────►| begins nothing more there; when
//!     |◄─────────────── Recall {confirmed}  | nothing is in flight any more
//!     | the memory is free, those who wait are notified
//! ```
//!
//! Over links without keys the peer copies directly from memory that it is told of. Nothing can be
//! revoked there, but the peer is asked in the same way. Only over links with a packet engine
//! nothing is asked, because engines send nothing to purged peers.
//!
//! Both packets are sent and accepted in any epoch, because they name one operation of one
//! incarnation. A third one says that a task that has purged its receiver uses none of its keys any
//! more (`core/src/state/regions.rs`). The loan also ends with the peer's process, with the loss of
//! the peer, or with the context.
//!
//! A C program learns that the memory is free only when its purge returns. So the purge waits for
//! the answer, but not for long: a peer that computes answers when it next calls the library. If no
//! answer arrives, the purge revokes the registrations of memory that the peer was to write, so
//! that it can't begin to. Memory that the peer was to read it may still read: revoking that would
//! break the connection.

use super::{Operation, Waiting};
use crate::context::{Locked, State};
use crate::error::Error;
use crate::state::PeerState;
use crate::status::Awaiting;
use crate::transport::{Caps, PeerId};
use crate::wire::{Header, Kind};
use std::time::{Duration, Instant};

/// How long a purge waits for the peer to leave alone what was lent to it: longer than the second
/// that transports give transfers with a dead one to end.
const PATIENCE: Duration = Duration::from_millis(1500);

/// In the header's small number: a question, or its answer; or that the sender uses no key of the
/// receiver's regions any more.
const ASKED: u16 = 0;
const LEFT_ALONE: u16 = 1;
const USES_NO_KEY: u16 = 2;

impl Locked<'_> {
    /// Whether a peer that is given up lives, and might use what was lent to it: by key, or by a
    /// direct copy. An engine sends nothing to a purged peer, which could not be asked.
    pub(super) fn may_use_loans(&mut self, peer: PeerId) -> bool {
        let p = &self.peers[peer];
        let lives = matches!(p.state, PeerState::Up | PeerState::Purged) && !p.dead && !p.farewell;
        if !lives || peer == self.shared().task {
            return false;
        }
        let has_engine = self.engine_to(peer).is_some();
        self.link_to(peer)
            .is_some_and(|link| link.needs_keys() || !has_engine && link.caps().contains(Caps::GET_ZCOPY))
    }

    /// Asks a peer to leave alone what was lent to it for these operations.
    pub(super) fn ask_back(&mut self, peer: PeerId, operations: &[u64]) {
        for &operation in operations {
            self.say_of_loan(peer, operation, ASKED);
        }
    }

    fn say_of_loan(&mut self, peer: PeerId, operation: u64, what: u16) {
        if matches!(self.peers[peer].state, PeerState::Up | PeerState::Purged) {
            let header = Header { user_header: what, ..Header::new(Kind::Recall, 0, operation) };
            self.reply_packet(peer, &header, &[]);
        }
    }

    /// This task leaves alone what a peer lent to it for an operation.
    pub(super) fn loan_left_alone(&mut self, peer: PeerId, operation: u64) {
        self.say_of_loan(peer, operation, LEFT_ALONE);
    }

    /// A peer asks for what it has lent, or answers.
    pub(super) fn recall_arrived(&mut self, source: PeerId, header: &Header) {
        let operation = header.subject;
        match header.user_header {
            ASKED if self.leave_alone(source, operation) => {
                self.loan_left_alone(source, operation);
                self.drop_withdrawn();
            }
            ASKED => {}
            // Until it asks for regions again, which takes that it resumes this task.
            USES_NO_KEY => self.regions.forget(source),
            _ => self.loan_ended(source, operation),
        }
    }

    /// A purged peer whose regions this task knows is told when no transfer uses them any more.
    pub(super) fn leave_regions(&mut self, peer: PeerId) {
        if self.peers[peer].regions.is_some()
            && self.may_use_loans(peer)
            && !self.regions.left.contains(&peer)
        {
            self.regions.left.push(peer);
        }
    }

    /// Tells the purged peers whose regions no transfer uses any more.
    pub(super) fn tell_left(&mut self) {
        let State { regions, operations, .. } = &mut **self;
        let over: Vec<PeerId> =
            regions.left.extract_if(.., |peer| !operations.transfers_with(*peer)).collect();
        for peer in over {
            // One that was resumed learns of the purge by itself.
            if self.peers[peer].state == PeerState::Purged {
                self.say_of_loan(peer, 0, USES_NO_KEY);
            }
        }
    }

    /// A peer leaves alone what this task has lent to it for an operation.
    fn loan_ended(&mut self, source: PeerId, id: u64) {
        let recalled = |op: &mut Operation| op.peer == source && op.waiting.awaits_word();
        if self.operations.get_mut(id).is_some_and(recalled)
            && let Some(operation) = self.operations.remove(id)
        {
            self.end_recalled(operation);
        }
    }

    fn end_recalled(&mut self, operation: Operation) {
        self.close_loan(&operation);
        self.tell_loan_ended(operation);
    }

    fn close_loan(&mut self, operation: &Operation) {
        self.take_back(operation);
        self.peers[operation.peer].answered.done(operation.sequence);
    }

    /// Those who wait for a closed loan are told.
    pub(super) fn tell_loan_ended(&mut self, operation: Operation) {
        let peer = operation.peer;
        operation.origin.notify(self, peer, Err(Error::Purged { task: peer }));
        operation.completion.notify(self, peer, Err(Error::Purged { task: peer }));
    }

    /// A peer that loans were recalled from is gone: they have ended. Nobody has been told yet.
    pub(super) fn take_loans(&mut self, peer: PeerId) -> Vec<Operation> {
        let loans = self.operations.take_recalled(peer);
        loans.iter().for_each(|operation| self.close_loan(operation));
        loans
    }

    /// The same, and those who wait are told.
    pub(crate) fn end_loans(&mut self, peer: PeerId) {
        for operation in self.take_loans(peer) {
            self.tell_loan_ended(operation);
        }
    }

    /// Gives a purged peer a moment to end what still uses memory. After that, or at once where
    /// nobody may wait, it can't begin to write to what was lent to it any more. What it was to
    /// read, it may still read.
    pub(super) fn await_loans(&mut self, peer: PeerId) {
        let mut held = self.operations.held_with(peer);
        if held == 0 {
            return;
        }
        let patience = if self.dispatching == 0 { PATIENCE } else { Duration::ZERO };
        if !patience.is_zero() {
            self.wait_before(Awaiting::End, Some(Instant::now() + patience), |locked| {
                locked.operations.held_with(peer) == 0
            });
            held = self.operations.held_with(peer);
        }
        if held == 0 {
            return;
        }
        let written = self.operations.close_to_writers(peer);
        tracing::warn!(
            peer,
            "the purged task has not answered within {} ms: memory of {held} operation(s) with it may still be \
             in use until it does or ends; it begins no more to write to that of {} get(s)",
            patience.as_millis(),
            written.len()
        );
        written.into_iter().for_each(|registration| self.release(registration));
    }
}

impl State {
    /// Begins nothing more with what a peer lent for an operation. False: something is under way
    /// there, whose end will tell.
    fn leave_alone(&mut self, source: PeerId, operation: u64) -> bool {
        let receiving = &mut self.receiving;
        receiving.pulls.retain(|pull| pull.peer != source || pull.operation != operation);
        receiving.dropped.retain(|(from, packet)| *from != source || !announces(packet, operation));
        let mut idle = true;
        let fetches = receiving.fetches.iter_mut();
        for fetch in fetches.filter(|f| f.pull.peer == source && f.pull.operation == operation) {
            // What it brings belongs to a former life.
            fetch.life = fetch.life.wrapping_sub(1);
            idle = false;
        }
        let Some(id) = self.operations.put_for(source, operation) else { return idle };
        if let Some(Waiting::Transfer(transfer)) = self.operations.waiting_mut(id)
            && transfer.under_way
        {
            transfer.life = transfer.life.wrapping_sub(1);
            return false;
        }
        if let Some(put) = self.operations.remove(id) {
            self.peers[source].answered.done(put.sequence);
        }
        idle
    }
}

/// Whether a packet announces memory for an operation of its sender's.
fn announces(packet: &[u8], operation: u64) -> bool {
    let of_loans = |kind| matches!(kind, Kind::AmPull | Kind::PutPull | Kind::GetPush);
    Header::parse(packet).is_ok_and(|(header, _)| of_loans(header.kind) && header.extra[1] == operation)
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "recall_tests.rs"]
mod tests;
