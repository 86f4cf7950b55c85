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
            Some(Untold::Most) => self.tell_now = true,
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
        while let Some(&peer) = self.to_tell.front() {
            let source = self.me.task;
            if let Some(p) = self.peers.get_mut(peer).filter(|p| p.has_untold() && !p.down && p.path().up) {
                let (head, (rail, to)) = (p.header(source, Kind::Ack, 0), p.way());
                let r = &mut self.rails[rail];
                match r.sender.send(&mut r.endpoint, (peer, to), &head, [&[], &[]]) {
                    Ok(()) => p.count_told(),
                    Err(Refused::Busy) => return,
                    Err(Refused::Failed(code)) => self.send_failed(peer, rail, code),
                }
            }
            self.to_tell.pop_front();
        }
    }
}
