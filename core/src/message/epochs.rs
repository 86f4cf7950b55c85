//! Epochs over links that deliver in order: the part that needs the lock.
//! `core/src/state/epochs.rs` explains how they work.

use crate::context::Locked;
use crate::context::State;
use crate::state::{Epochs, PeerLane, PeerState};
use crate::transport::PeerId;
use crate::wire::{Encoded, Header, Kind};
use std::collections::VecDeque;

/// Packets to one peer that wait here until its epoch is known; a call that sends more waits
/// itself.
const MOST_HELD: usize = 64;

/// Whether a packet is taken and sent whatever epochs are agreed.
pub(super) fn is_of_any_epoch(packet: &[u8]) -> bool {
    const ANY: [u8; 3] = [Kind::Epoch as u8, Kind::Goodbye as u8, Kind::Recall as u8];
    packet.first().is_some_and(|kind| ANY.contains(kind))
}

impl State {
    /// Changes where a task stands with a peer that no engine looks after.
    fn change_epochs<R>(&mut self, peer: PeerId, change: impl FnOnce(&mut Epochs) -> R) -> Option<R> {
        if self.engine_to(peer).is_some() {
            return None;
        }
        let p = &mut self.peers[peer];
        let before = p.epochs.settled;
        let result = change(&mut p.epochs);
        let after = p.epochs.settled;
        if after && !before {
            // Nothing of the new life has come yet; but a message whose handler purged its sender
            // has counted as done since.
            p.arrived.restart(0);
        }
        if p.epochs.hold() {
            p.lane = PeerLane::none();
        }
        self.peers.unsettled = self.peers.unsettled + u32::from(before) - u32::from(after);
        Some(result)
    }

    /// Nothing more is taken from a peer, or sent to it, until it has been purged and resumed.
    pub(super) fn unsettle(&mut self, peer: PeerId) {
        self.change_epochs(peer, |epochs| epochs.settled = false);
    }

    /// The peer's new process is reached over a link whose engine tells epochs apart by itself. To
    /// be called while the peer's route is still the former one.
    pub(crate) fn leave_epochs(&mut self, peer: PeerId) {
        if self.change_epochs(peer, |epochs| *epochs = Epochs::FIRST).is_some() {
            // The former link may still hold packets, and the news of the former process's end.
            self.peers[peer].moved = true;
            self.peers.unsettled += 1;
        }
    }

    /// Whether a packet of a link without an engine belongs to the present pair of epochs, or to
    /// none. Asked only if there is a pair that is not agreed, or a peer that has moved.
    #[cold]
    #[inline(never)]
    pub(super) fn may_take(&self, source: PeerId, packet: &[u8]) -> bool {
        let Some(p) = self.peers.get(source) else { return true };
        !p.moved && (p.epochs.settled || is_of_any_epoch(packet))
    }

    /// Whether a message that is being handled belongs to a former life of its sender: its handler
    /// has purged that.
    #[inline]
    pub(super) fn is_of_former_life(&self, source: PeerId) -> bool {
        let p = &self.peers[source];
        // Without an engine nothing but what has been put off by those who have left is handled
        // while no pair of epochs is agreed.
        let purged = !p.epochs.settled && matches!(p.state, PeerState::Up | PeerState::Purged);
        let in_turn = &self.peers.purged_in_turn;
        purged || (!in_turn.is_empty() && in_turn.contains(&source))
    }

    /// Whether one packet or message more may be kept for a peer whose epoch is not known yet.
    pub(super) fn may_hold(&self, peer: PeerId) -> bool {
        self.peers[peer].epochs.hold() && self.sending.held_for(peer) < MOST_HELD
    }

    /// An `Epoch` packet goes out with the next progress, before everything else for the peer.
    fn send_epoch(&mut self, peer: PeerId) {
        let Some((own, known)) = self.change_epochs(peer, |epochs| {
            epochs.due = true;
            epochs.words()
        }) else {
            return;
        };
        let mut head = Encoded::new();
        let n = Header::new(Kind::Epoch, own, known).encode(&mut head);
        self.sending
            .deferred
            .retain(|(p, packet)| *p != peer || packet.first() != Some(&(Kind::Epoch as u8)));
        self.sending.deferred.push_front((peer, head.bytes(n).into()));
    }

    /// A packet that was deferred has left.
    #[inline]
    pub(super) fn deferred_sent(&mut self, peer: PeerId, packet: &[u8]) {
        if packet.first() == Some(&(Kind::Epoch as u8)) {
            self.peers[peer].epochs.due = false;
            self.let_go(peer);
        }
    }

    /// If nothing stands against it any more: what was held for a peer goes out.
    fn let_go(&mut self, peer: PeerId) {
        let p = &self.peers[peer];
        if p.epochs.hold() || p.state != PeerState::Up {
            return;
        }
        self.find_lane(peer);
        let (ours, rest): (VecDeque<_>, _) = self.sending.held.drain(..).partition(|(p, _)| *p == peer);
        self.sending.held = rest;
        self.sending.deferred.extend(ours);
    }

    /// A peer is purged: what comes from it until it knows the new epoch belongs to a former one.
    pub(super) fn end_epoch(&mut self, peer: PeerId) {
        self.change_epochs(peer, Epochs::end);
    }

    /// A purged peer is talked to again.
    pub(super) fn begin_epoch(&mut self, peer: PeerId) {
        self.send_epoch(peer);
    }
}

impl Locked<'_> {
    /// A peer says which epochs its next packets belong to.
    #[cold]
    pub(super) fn epoch_arrived(&mut self, source: PeerId, theirs: u32, known: u64) {
        let state = &mut **self;
        let up = state.peers[source].state == PeerState::Up;
        let Some(heard) = state.change_epochs(source, |epochs| epochs.hear(theirs, known, up)) else {
            return;
        };
        tracing::debug!(peer = source, theirs, known, ?heard, "the peer tells its epoch");
        if heard.restarted {
            self.peer_restarted(source, 0);
        }
        let state = &mut **self;
        if heard.answer {
            state.send_epoch(source);
        } else {
            state.let_go(source);
        }
    }
}
