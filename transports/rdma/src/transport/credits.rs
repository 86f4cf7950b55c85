//! Telling peers what was consumed, which is their credit for more.

use super::Rdma;
use crate::header::Kind;
use crate::peers::{Peer, Untold};
use crate::send::Refused;
use lapis_core::transport::PeerId;

impl Rdma {
    /// A message of a peer's was consumed, and the peer may have to be told.
    #[inline]
    pub(super) fn count_consumed(&mut self, peer: PeerId) {
        match self.peers.get_mut(peer).map(Peer::count_consumed) {
            Some(Untold::Many) => self.to_tell.push_back(peer),
            Some(Untold::Most) => {
                self.tell_now = true;
                self.tell_later(peer);
            }
            Some(Untold::Few) | None => {}
        }
    }

    /// Sends peers their credits for consumed messages, as far as there is room. Who gets credit
    /// sends, and over shm a look is dearer while somebody sends. So credit follows a look, while
    /// what the look has found is handled.
    #[inline]
    pub(super) fn send_credits(&mut self) {
        self.tell_now = false;
        if self.slots.has_offers() {
            self.offer_slots();
        }
        // Each has one try: who takes nothing at present keeps no other one waiting.
        for _ in 0..self.to_tell.len() {
            let Some(peer) = self.to_tell.pop_front() else { return };
            if !self.send_credit(peer) {
                self.to_tell.push_back(peer);
            }
        }
    }

    /// Sends one peer its credit. False: it is to be tried again.
    fn send_credit(&mut self, peer: PeerId) -> bool {
        let source = self.me.task;
        // Over a path that is taken back it is told, too.
        let up = |p: &&mut Peer| p.has_untold() && !p.down && p.path().up;
        let Some(p) = self.peers.get_mut(peer).filter(up) else { return true };
        let (head, (rail, to)) = (p.header(source, Kind::Ack, 0), p.way());
        let r = &mut self.rails[rail];
        match r.sender.send(&mut r.endpoint, (peer, to), &head, [&[], &[]]) {
            Ok(()) => {
                p.count_told();
                true
            }
            Err(Refused::Busy) => false,
            Err(Refused::Failed(code)) => {
                self.send_failed(peer, rail, code);
                false
            }
        }
    }

    /// Has a peer be told with the next credits, if there is anything to tell.
    pub(super) fn tell_later(&mut self, peer: PeerId) {
        let untold = self.peers.get(peer).is_some_and(|p| p.has_untold() && !p.down);
        if untold && !self.to_tell.contains(&peer) {
            self.to_tell.push_back(peer);
        }
    }
}
