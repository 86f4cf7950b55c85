//! Connections: how they are made, at the start or with the first message, and what happens where
//! nothing answers.

use super::Rdma;
use crate::header::Kind;
use crate::path::Path;
use crate::send::Refused;
use lapis_core::transport::{PeerId, Status, TransportError};
use std::time::Instant;

impl Rdma {
    /// Has a connection made. While that is under way messages are refused, not kept: nobody need
    /// call us once more after a message was accepted.
    #[cold]
    pub(super) fn connect_path(&mut self, peer: PeerId) -> Result<(), Status> {
        let source = self.me.task;
        self.meet(peer, true);
        let Some(p) = self.peers.get_mut(peer) else { return Err(Status::Invalid) };
        if !p.path().up {
            // The others are being tried.
            self.refused = true;
            return Err(Status::Again);
        }
        let head = p.header(source, Kind::Ack, 0);
        let (rail, to) = p.way();
        let r = &mut self.rails[rail];
        match r.sender.slip_header(&mut r.endpoint, to, head) {
            Ok(()) => {
                let at = p.current;
                (p.paths[at].greeted, p.paths[at].connecting) = (true, None);
                Ok(())
            }
            Err(Refused::Busy) => {
                let at = p.current;
                p.paths[at].connecting.get_or_insert_with(Instant::now);
                self.refused = true;
                Err(Status::Again)
            }
            Err(Refused::Failed(code)) => {
                self.send_failed(peer, rail, code);
                let is_down = self.peers.get(peer).is_none_or(|p| p.down);
                Err(if is_down { Status::PeerDown } else { Status::Again })
            }
        }
    }

    /// The path to a peer fails before anything has come over it: whether another one takes its
    /// place.
    #[cold]
    fn connect_on_another_rail(&mut self, peer: PeerId) -> bool {
        let source = self.me.task;
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down && !p.path().up) else { return false };
        let head = p.header(source, Kind::Ack, 0);
        let rails = &mut self.rails;
        let mut takes = |path: &Path| {
            let r = &mut rails[path.rail];
            !r.closed && path.left.is_none() && r.sender.slip_header(&mut r.endpoint, path.to, head) == Ok(())
        };
        let Some(rail) = p.paths.iter().find(|path| takes(path)).map(|path| path.rail) else { return false };
        self.take_back(peer, rail);
        true
    }

    /// Makes all connections. Whether there are all now.
    pub(super) fn connect_all(&mut self) -> Result<bool, TransportError> {
        let mut all = true;
        for peer in 0..self.peers.len() as u32 {
            let missing = self.peers.get_mut(peer).is_some_and(|p| !p.path().greeted && !p.down);
            all &= !missing
                || self.connect_path(peer) != Err(Status::Again)
                || self.connect_on_another_rail(peer);
        }
        self.check_paths();
        self.digest();
        self.spread_news();
        let tasks = self.peers.len() as u32;
        match (0..tasks).find_map(|peer| Some((peer, self.peers.get_mut(peer)?.why.take()?))) {
            Some((peer, why)) => Err(TransportError::Unreachable(format!("task {peer} is lost: {why}"))),
            None => Ok(all),
        }
    }

    /// The user is told, once for a rail, that a path carries nothing because no connection comes
    /// about over it.
    #[cold]
    pub(super) fn say_silent(&mut self, peer: PeerId, rail: usize) {
        let r = &mut self.rails[rail];
        if !std::mem::replace(&mut r.said_silent, true) {
            self.host.warn(format_args!(
                "task {peer} does not answer over {} (rail {rail}), but does over another rail: that one is used \
                 until this one answers, too; said once for a rail",
                r.endpoint.domain_name()
            ));
        }
    }
}
