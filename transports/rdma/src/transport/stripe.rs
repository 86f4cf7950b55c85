//! Puts and gets to peers with several paths.

use super::Rdma;
use super::loss::{Sign, is_refusal, means_loss};
use crate::endpoint::{Remote, is_busy};
use crate::path::Path;
use crate::peers::Peer;
use crate::stripes::{Piece, RemoteLife};
use crate::transfer::{Begun, Direction, Ended, TransferRequest};
use lapis_core::transport::{Event, PeerId, Status};
use std::time::Instant;

/// Bytes of transfers that are under way on a path at most, unless there is one alone.
const DEPTH: u64 = 4 << 20;

impl Rdma {
    /// Takes a put or get that goes in pieces.
    pub(super) fn stripe(&mut self, request: TransferRequest) -> Status {
        let Some(p) = self.peers.get_mut(request.peer) else { return Status::Invalid };
        let carrying = self.memory.joint().rails(usize::MAX);
        let count = p.paths.iter().filter(|path| path.up && path.theirs < carrying).count();
        if count == 0 {
            // Messages may get through.
            return if p.path().up { Status::Io } else { Status::Again };
        }
        if !self.stripes.add(request, count) {
            self.refused = true;
            return Status::Again;
        }
        self.watch(request.peer);
        self.begin_pieces();
        Status::InProgress
    }

    /// Begins as many pieces as paths take.
    pub(super) fn begin_pieces(&mut self) {
        for _ in 0..self.stripes.ready() {
            let Some(place) = self.stripes.next_ready() else { break };
            let mut refusing = Refusing::default();
            while self.begin_piece(place, &mut refusing) {}
            self.settle_stripe(place);
        }
    }

    fn settle_stripe(&mut self, place: usize) {
        let event = self.end_of_stripe(place);
        self.early.extend(event);
    }

    /// What core is told if a transfer has ended. A put that failed has not while the peer may
    /// still take bytes of it, unless the peer is gone.
    fn end_of_stripe(&mut self, place: usize) -> Option<Event> {
        let Self { stripes, peers, .. } = self;
        let (request, outcome) = stripes.settle(place, |request, (path, life)| {
            let p = peers.get(request.peer).filter(|p| !p.down && p.our_cookie == request.cookie);
            p.and_then(|p| p.paths.get(path)).is_none_or(|path| path.life > life)
        })?;
        Some(self.completion_event(request, outcome))
    }

    /// Begins a piece of a transfer; false if none can be for now.
    fn begin_piece(&mut self, place: usize, refusing: &mut Refusing) -> bool {
        let Some(striped) = self.stripes.get_mut(place) else { return false };
        let (peer, preferred) = (striped.request.peer, striped.request.rail);
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else {
            striped.fail(libc::ECONNABORTED);
            return false;
        };
        let is_safe = |piece: &Piece| piece.waits_for.is_none_or(|(path, life)| p.paths[path].life > life);
        let Some(piece) = striped.next(is_safe) else { return false };
        let joint = self.memory.joint();
        let carrying = joint.rails(usize::MAX);
        let Some(at) = best(p, piece.len as u64, preferred, carrying, *refusing) else {
            if p.paths.iter().all(|path| !path.up || path.theirs >= carrying) && p.path().up {
                // The rest goes in packets.
                striped.fail(libc::EIO);
            }
            striped.put_back(piece);
            return false;
        };
        let Path { rail, to, theirs, life, .. } = p.paths[at];
        let remote = Remote { to, addr: 0, key: joint.on(theirs, striped.request.remote.key) };
        let request = striped.part(place, piece, remote, Begun { at: Instant::now(), life });
        let r = &mut self.rails[rail];
        // SAFETY: the transfer's memory is as the operation demands until its last piece has ended.
        match unsafe { r.transfers.begin(&mut r.endpoint, &mut self.memory, request) } {
            Ok(()) => {
                striped.begun();
                p.pieces += 1;
                p.paths[at].under_way += piece.len as u64;
                return true;
            }
            Err(code) if is_busy(code) => {
                striped.put_back(piece);
                // Nothing that ends on an idle path will make room there: a connection may be gone.
                return p.paths[at].under_way == 0 && refusing.add(at);
            }
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
    pub(super) fn piece_ended(&mut self, rail: usize, Ended { request, outcome }: Ended) -> Option<Event> {
        let place = request.token as usize;
        let ended = self.note_end(rail, &request, outcome);
        let again = match outcome {
            Err(code) => !is_refusal(code) && self.goes_again(place, code, ended),
            Ok(()) => false,
        };
        self.stripes.ended(&request, again, ended.and_then(|ended| ended.waits_for));
        match outcome {
            Err(code) if again => {
                if ended.is_some_and(|ended| ended.of_now) {
                    let why = self.rails[rail].endpoint.text(code);
                    self.leave(request.peer, rail, &why, Sign::Error);
                }
            }
            Err(code) => {
                if let Some(striped) = self.stripes.get_mut(place) {
                    striped.fail(code);
                }
            }
            Ok(()) => {}
        }
        self.end_of_stripe(place)
    }

    /// Notes at a path that a piece has ended. `None`: the peer is gone, or has no such path.
    fn note_end(
        &mut self,
        rail: usize,
        request: &TransferRequest,
        outcome: Result<(), i32>,
    ) -> Option<PieceEnd> {
        let p = self.peers.get_mut(request.peer).filter(|p| p.our_cookie == request.cookie)?;
        p.pieces = p.pieces.saturating_sub(1);
        p.news = None;
        let (number, alive) = (p.round.number, !p.down);
        let at = p.paths.iter().position(|path| path.rail == rail)?;
        let path = &mut p.paths[at];
        path.under_way = path.under_way.saturating_sub(request.local.len as u64);
        let Begun { at: begun, life } = request.piece?;
        // What began before the peer closed its rail has failed by that.
        let of_now = life == path.life;
        let mut may_arrive = false;
        match outcome {
            Ok(()) => {
                p.strikes = 0;
                path.measure(request.local.len as u64, begun, Instant::now());
                path.answered = number;
            }
            Err(code) => {
                may_arrive = of_now && !is_refusal(code) && request.direction == Direction::Put;
                path.unsafe_puts |= alive && may_arrive;
            }
        }
        let (first, waits_for) = (path.up && of_now, may_arrive.then_some((at, life)));
        alive.then_some(PieceEnd { of_now, first, waits_for })
    }

    /// Whether a piece that failed goes again. Providers flush what was under way on a path that
    /// fails with errors of many kinds, and memory that can't be reached may have the same: so only
    /// the errors that tell of a path alone are borne any number of times. Others cost one transfer
    /// few paths, and a peer as few in a row without a success in between.
    fn goes_again(&mut self, place: usize, code: i32, ended: Option<PieceEnd>) -> bool {
        let (Some(striped), Some(ended)) = (self.stripes.get_mut(place), ended) else { return false };
        if means_loss(code) || !ended.first {
            return true;
        }
        let peer = striped.request.peer;
        striped.may_fail() && self.peers.get_mut(peer).is_some_and(Peer::may_fail)
    }

    /// Transfers with a peer fail; what is under way of them still ends.
    pub(super) fn abandon_stripes(&mut self, peer: PeerId) {
        for place in self.stripes.abandon(peer, libc::ECONNABORTED) {
            self.settle_stripe(place);
        }
    }
}

/// A failed piece and its path.
#[derive(Clone, Copy)]
struct PieceEnd {
    /// The peer has not closed its rail since the piece began.
    of_now: bool,
    /// Nothing had shown before that the path has failed.
    first: bool,
    /// Where bytes of a put may still arrive: what must have ended before it goes again.
    waits_for: Option<RemoteLife>,
}

/// Paths, by number, that take nothing though nothing is under way there.
#[derive(Clone, Copy, Default)]
struct Refusing(u64);

impl Refusing {
    fn has(self, path: usize) -> bool {
        self.0 >> path & 1 == 1
    }

    /// Whether it was not known of this one.
    fn add(&mut self, path: usize) -> bool {
        let before = *self;
        self.0 |= 1 << path;
        self.0 != before.0
    }
}

/// The path on which so many bytes more are expected to have come first, if it takes any now. One
/// whose speed is not known counts as fast as the fastest. One over the preferred rail is the only
/// one as long as it works.
fn best(p: &Peer, len: u64, preferred: Option<usize>, carrying: usize, refusing: Refusing) -> Option<usize> {
    let works = |at: usize| p.paths[at].up && p.paths[at].theirs < carrying && !refusing.has(at);
    let only =
        preferred.and_then(|rail| (0..p.paths.len()).find(|at| p.paths[*at].rail == rail && works(*at)));
    let usable = (0..p.paths.len()).filter(|at| works(*at) && only.is_none_or(|only| only == *at));
    let now = Instant::now();
    let speed = |at: usize| p.paths[at].speed(now);
    let fastest = usable.clone().filter_map(speed).fold(1.0, f64::max);
    let finish = |at: &usize| p.paths[*at].finish(len, speed(*at).unwrap_or(fastest));
    let at = usable.min_by(|a, b| finish(a).total_cmp(&finish(b)))?;
    (p.paths[at].under_way == 0 || p.paths[at].under_way + len <= DEPTH).then_some(at)
}
