//! Puts and gets, in core's terms.

use super::Rdma;
use super::loss::means_loss;
use crate::endpoint::{Remote, is_busy};
use crate::transfer::{Direction, Ended, Wish};
use lapis_core::transport::{Event, PeerId, RawSlice, RemoteAddr, Status};

impl Rdma {
    /// A put or get has ended: what core is told.
    pub(super) fn moved(&mut self, Ended { peer, token, outcome }: Ended) -> Event {
        let status = match outcome {
            Ok(()) => Status::Done,
            Err(code) if means_loss(code) => {
                self.lose(peer, code);
                Status::PeerDown
            }
            Err(code) => {
                let text = self.endpoint.text(code);
                self.host.debug(format_args!("a transfer with task {peer} failed: {text}"));
                Status::Io
            }
        };
        Event::complete(peer, token, status)
    }

    /// Begins a put or get.
    ///
    /// # Safety
    /// As `put_zcopy` and `get_zcopy` of the contract demand.
    pub(super) unsafe fn transfer(
        &mut self,
        peer: PeerId,
        local: RawSlice,
        remote: RemoteAddr,
        (direction, token): (Direction, u64),
    ) -> Status {
        let Some(p) = self.peers.get_mut(peer) else { return Status::Invalid };
        if local.len as u64 > self.endpoint.longest_transfer() {
            return Status::Invalid;
        }
        if p.down {
            return Status::PeerDown;
        }
        if local.len == 0 {
            return Status::Done;
        }
        if !p.greeted
            && let Err(status) = self.greet(peer)
        {
            return status;
        }
        let Some(p) = self.peers.get_mut(peer) else { return Status::Invalid };
        let remote = Remote { to: p.to, addr: remote.addr, key: remote.key };
        let wish = Wish { direction, peer, local, remote, token };
        // SAFETY: the caller's promise.
        match unsafe { self.transfers.begin(&mut self.endpoint, &mut self.memory, wish) } {
            Ok(()) => Status::InProgress,
            Err(code) if is_busy(code) => {
                self.refused = true;
                Status::Again
            }
            Err(code) if means_loss(code) => {
                self.lose(peer, code);
                Status::PeerDown
            }
            Err(code) => {
                let text = self.endpoint.text(code);
                self.host.debug(format_args!("a transfer with task {peer} was refused: {text}"));
                Status::Io
            }
        }
    }
}
