//! Puts and gets to peers with several paths.

use super::Rdma;
use super::loss::{Sign, means_loss};
use crate::endpoint::{Remote, is_busy};
use crate::path::Path;
use crate::peers::Peer;
use crate::stripes::Piece;
use crate::transfer::{Ended, Wish};
use lapis_core::transport::{Event, PeerId, Status};
use std::time::Instant;

/// Bytes of transfers that are under way on a path at most, unless there is one alone.
const DEPTH: u64 = 4 << 20;

impl Rdma {
    /// Takes a put or get that goes in pieces.
    pub(super) fn stripe(&mut self, wish: Wish) -> Status {
        let Some(p) = self.peers.get_mut(wish.peer) else { return Status::Invalid };
        let carrying = self.memory.joint().rails(usize::MAX);
        let count = p.paths.iter().filter(|path| path.up && path.theirs < carrying).count();
        if count == 0 {
            // Messages may get through.
            return if p.path().up { Status::Io } else { Status::Again };
        }
        if !self.stripes.add(wish, count) {
            self.refused = true;
            return Status::Again;
        }
        self.watch(wish.peer);
        self.begin_pieces();
        Status::InProgress
    }

    /// Begins as many pieces as paths take.
    pub(super) fn begin_pieces(&mut self) {
        for _ in 0..self.stripes.ready() {
            let Some(place) = self.stripes.next_ready() else { break };
            while self.begin_piece(place) {}
            self.settle_stripe(place);
        }
    }

    fn settle_stripe(&mut self, place: usize) {
        if let Some((wish, outcome)) = self.stripes.settle(place) {
            let event = self.told(wish, outcome);
            self.early.push_back(event);
        }
    }

    /// Begins a piece of a transfer; false if none can be for now.
    fn begin_piece(&mut self, place: usize) -> bool {
        let Some(striped) = self.stripes.get_mut(place) else { return false };
        let peer = striped.wish.peer;
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else {
            striped.fail(libc::ECONNABORTED);
            return false;
        };
        let is_safe = |piece: &Piece| piece.after.is_none_or(|(path, life)| p.paths[path].life > life);
        let Some(piece) = striped.next(is_safe) else { return false };
        let joint = self.memory.joint();
        let Some(at) = best(p, piece.len as u64, joint.rails(usize::MAX)) else {
            if p.paths.iter().all(|path| !path.up || path.theirs >= joint.rails(usize::MAX)) && p.path().up {
                // The rest goes in packets.
                striped.fail(libc::EIO);
            }
            striped.put_back(piece);
            return false;
        };
        let Path { rail, to, theirs, .. } = p.paths[at];
        let remote = Remote { to, addr: 0, key: joint.on(theirs, striped.wish.remote.key) };
        let wish = striped.part(place, piece, remote, Instant::now());
        let r = &mut self.rails[rail];
        // SAFETY: the transfer's memory is as the operation demands until its last piece has ended.
        match unsafe { r.transfers.begin(&mut r.endpoint, &mut self.memory, wish) } {
            Ok(()) => {
                striped.begun();
                p.pieces += 1;
                p.paths[at].under_way += piece.len as u64;
                return true;
            }
            Err(code) if is_busy(code) => striped.put_back(piece),
            Err(code) if means_loss(code) => {
                striped.put_back(piece);
                let why = self.rails[rail].endpoint.text(code);
                self.leave(peer, rail, &why, Sign::Error);
                return true;
            }
            Err(code) => striped.fail(code),
        }
        false
    }

    /// A piece has ended. The transfer's end, if that was the last.
    pub(super) fn piece_ended(&mut self, rail: usize, Ended { wish, outcome }: Ended) -> Option<Event> {
        let peer = wish.peer;
        let mut after = None;
        let mut fails = outcome.err();
        if let Some(p) = self.peers.get_mut(peer) {
            p.pieces = p.pieces.saturating_sub(1);
            p.news = None;
            let number = p.round.number;
            let alive = !p.down;
            if let Some(at) = p.paths.iter().position(|path| path.rail == rail) {
                let path = &mut p.paths[at];
                path.under_way = path.under_way.saturating_sub(wish.local.len as u64);
                match (outcome, wish.piece) {
                    (Ok(()), Some(begun)) => {
                        path.measure(wish.local.len as u64, begun, Instant::now());
                        path.answered = number;
                    }
                    _ => after = Some((at, path.life)),
                }
            }
            if alive && fails.is_some_and(means_loss) {
                let path = after.and_then(|(at, _)| p.paths.get_mut(at));
                if let Some(path) = path.filter(|_| wish.direction == crate::transfer::Direction::Put) {
                    path.unsafe_puts = true;
                }
                fails = None;
            }
        }
        let again = outcome.is_err() && fails.is_none();
        self.stripes.ended(&wish, again, after);
        if let Some(striped) = self.stripes.get_mut(wish.token as usize)
            && let Some(code) = fails
        {
            striped.fail(code);
        }
        if again {
            let why = self.rails[rail].endpoint.text(outcome.err().unwrap_or(0));
            self.leave(peer, rail, &why, Sign::Error);
        }
        let (wish, outcome) = self.stripes.settle(wish.token as usize)?;
        Some(self.told(wish, outcome))
    }

    /// Transfers with a peer fail; what is under way of them still ends.
    pub(super) fn abandon_stripes(&mut self, peer: PeerId) {
        for place in self.stripes.abandon(peer, libc::ECONNABORTED) {
            self.settle_stripe(place);
        }
    }
}

/// The path on which so many bytes more are expected to have come first, if it takes any now.
fn best(p: &Peer, len: u64, carrying: usize) -> Option<usize> {
    let usable = (0..p.paths.len()).filter(|&at| p.paths[at].up && p.paths[at].theirs < carrying);
    let finish = |at: &usize| p.paths[*at].finish(len);
    let at = usable.min_by(|a, b| finish(a).total_cmp(&finish(b)))?;
    (p.paths[at].under_way == 0 || p.paths[at].under_way + len <= DEPTH).then_some(at)
}
