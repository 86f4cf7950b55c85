//! Puts and gets over several paths: cut into pieces, each of which takes the path on which it is
//! expected to end first. Pieces left undone by a failed path are repeated over others.
//!
//! A failed put is not repeated at once: its bytes may still be in the network, and must not arrive
//! when the memory has other contents. So its pieces wait until the peer has reopened the rail at
//! which they would arrive. So does the end of a put that failed for good, whose bytes then go in
//! packets.

use crate::endpoint::Remote;
use crate::transfer::{Begun, Direction, TransferRequest};
use lapis_core::transport::{PeerId, RawSlice};
use std::collections::VecDeque;

/// Striped transfers that may be under way at a time.
const COUNT: usize = 1024;
/// Bytes of pieces: so many of them for each path, within these bounds.
const PIECES: usize = 4;
const SHORTEST: usize = 64 << 10;
const LONGEST: usize = 1 << 20;
/// So often a transfer costs a path whose failure nothing but its own errors shows.
pub(crate) const FAILURES: u32 = 3;

/// Part of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) at: usize,
    pub(crate) len: usize,
    /// What must have ended before it may go again.
    pub(crate) waits_for: Option<RemoteLife>,
}

/// One life of a peer's rail: the path to it, and how often the peer had closed it before.
pub(crate) type RemoteLife = (usize, u32);

/// A transfer.
pub(crate) struct Striped {
    pub(crate) request: TransferRequest,
    /// Bytes of which pieces have been made.
    next: usize,
    piece: usize,
    again: Vec<Piece>,
    /// Where bytes of pieces that failed for good may still arrive.
    may_still_arrive: Vec<RemoteLife>,
    under_way: u32,
    /// How often it was the first to fail on a path.
    failures: u32,
    /// libfabric's error number: no more of it is begun.
    failed: Option<i32>,
}

impl Striped {
    /// The next piece to begin, if `may` lets it.
    pub(crate) fn next(&mut self, may: impl Fn(&Piece) -> bool) -> Option<Piece> {
        if self.failed.is_some() {
            return None;
        }
        if let Some(at) = self.again.iter().position(&may) {
            return Some(self.again.swap_remove(at));
        }
        let (at, len) = (self.next, self.piece.min(self.request.local.len - self.next));
        self.next += len;
        (len > 0).then_some(Piece { at, len, waits_for: None })
    }

    /// A piece is to begin later.
    pub(crate) fn put_back(&mut self, piece: Piece) {
        self.again.push(piece);
    }

    /// What a piece of it demands of the provider, on a path whose address and key are given.
    pub(crate) fn part(&self, place: usize, piece: Piece, remote: Remote, begun: Begun) -> TransferRequest {
        let ptr = self.request.local.ptr.wrapping_add(piece.at);
        TransferRequest {
            local: RawSlice { ptr, len: piece.len },
            remote: Remote { addr: self.request.remote.addr + piece.at as u64, ..remote },
            token: place as u64,
            piece: Some(begun),
            ..self.request
        }
    }

    /// A piece has begun.
    pub(crate) fn begun(&mut self) {
        self.under_way += 1;
    }

    /// A piece of it was the first to fail on a path; whether what failed may go again.
    pub(crate) fn may_fail(&mut self) -> bool {
        self.failures += 1;
        self.failures <= FAILURES
    }

    /// No more of it is to be begun.
    pub(crate) fn fail(&mut self, code: i32) {
        self.failed.get_or_insert(code);
    }

    /// Whether nothing is left to begin.
    fn is_begun(&self) -> bool {
        self.failed.is_some() || self.next == self.request.local.len && self.again.is_empty()
    }

    /// Whether bytes of it may still arrive though it has failed. `has_ended` tells whether a life
    /// has ended.
    fn may_arrive(&self, has_ended: impl Fn(RemoteLife) -> bool) -> bool {
        let waiting = self.again.iter().filter_map(|piece| piece.waits_for);
        self.failed.is_some()
            && waiting.chain(self.may_still_arrive.iter().copied()).any(|life| !has_ended(life))
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Stripes {
    all: Vec<Option<Striped>>,
    free: Vec<usize>,
    /// Those of which more is to be begun.
    ready: VecDeque<usize>,
}

impl Stripes {
    /// Takes a transfer over so many paths; false where there is no room.
    pub(crate) fn add(&mut self, request: TransferRequest, paths: usize) -> bool {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.all.len() < COUNT => {
                self.all.push(None);
                self.all.len() - 1
            }
            None => return false,
        };
        let piece = (request.local.len / (PIECES * paths)).next_multiple_of(4096).clamp(SHORTEST, LONGEST);
        let (again, may_still_arrive, failed) = (Vec::new(), Vec::new(), None);
        self.all[place] = Some(Striped {
            request,
            next: 0,
            piece,
            again,
            may_still_arrive,
            under_way: 0,
            failures: 0,
            failed,
        });
        self.ready.push_back(place);
        true
    }

    /// Whether anything is to be begun.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.free.len() == self.all.len()
    }

    /// Takes one out of those of which more is to be begun; [`settle`](Self::settle) it afterwards.
    pub(crate) fn next_ready(&mut self) -> Option<usize> {
        self.ready.pop_front()
    }

    /// Whether one with a peer has pieces that no path has taken yet.
    pub(crate) fn wait_for(&self, peer: PeerId) -> bool {
        let with = |&place: &usize| self.all[place].as_ref().is_some_and(|s| s.request.peer == peer);
        self.ready.iter().any(with)
    }

    /// How many there are.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Striped> {
        self.all.get_mut(place)?.as_mut()
    }

    /// After changes: it has ended, or waits to be begun, or is under way. The answer is the
    /// transfer that has ended, and how. `has_ended`: whether a life of its peer's rail has.
    pub(crate) fn settle(
        &mut self,
        place: usize,
        has_ended: impl Fn(&TransferRequest, RemoteLife) -> bool,
    ) -> Option<(TransferRequest, Result<(), i32>)> {
        let striped = self.all.get(place)?.as_ref()?;
        if !striped.is_begun() || striped.may_arrive(|life| has_ended(&striped.request, life)) {
            if !self.ready.contains(&place) {
                self.ready.push_back(place);
            }
            return None;
        }
        if striped.under_way > 0 {
            return None;
        }
        let Striped { request, failed, .. } = self.all[place].take()?;
        self.ready.retain(|ready| *ready != place);
        self.free.push(place);
        Some((request, failed.map_or(Ok(()), Err)))
    }

    /// A piece has ended. With `again` it goes again. `waits_for`: where bytes of it may still
    /// arrive.
    pub(crate) fn ended(&mut self, part: &TransferRequest, again: bool, waits_for: Option<RemoteLife>) {
        let Some(striped) = self.get_mut(part.token as usize) else { return };
        striped.under_way -= 1;
        let waits_for = waits_for.filter(|_| part.direction == Direction::Put);
        if again {
            let at = part.local.ptr.addr() - striped.request.local.ptr.addr();
            striped.again.push(Piece { at, len: part.local.len, waits_for });
        } else {
            striped.may_still_arrive.extend(waits_for);
        }
    }

    /// All with a peer fail.
    pub(crate) fn abandon(&mut self, peer: PeerId, code: i32) -> Vec<usize> {
        let of = |striped: &&mut Option<Striped>| striped.as_ref().is_some_and(|s| s.request.peer == peer);
        for striped in self.all.iter_mut().filter(of).flatten() {
            striped.fail(code);
        }
        let with = |at: &usize| self.all[*at].as_ref().is_some_and(|s| s.request.peer == peer);
        (0..self.all.len()).filter(with).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn striped(direction: Direction, len: usize) -> Stripes {
        let local = RawSlice { ptr: std::ptr::without_provenance_mut(4096), len };
        let remote = Remote { to: 0, addr: 1 << 20, key: 7 };
        let mut stripes = Stripes::default();
        assert!(stripes.add(
            TransferRequest {
                direction,
                peer: 1,
                cookie: 3,
                local,
                remote,
                token: 9,
                rail: None,
                piece: None
            },
            2
        ));
        stripes
    }

    /// No bytes arrive late.
    fn has_ended(_: &TransferRequest, _: RemoteLife) -> bool {
        true
    }

    /// Begins all that may be, and gives the parts.
    fn begin(stripes: &mut Stripes, may: impl Fn(&Piece) -> bool) -> Vec<TransferRequest> {
        let mut parts = Vec::new();
        let Some(place) = stripes.next_ready() else { return parts };
        let striped = stripes.get_mut(place).expect("it is there");
        while let Some(piece) = striped.next(&may) {
            parts.push(striped.part(
                place,
                piece,
                striped.request.remote,
                Begun { at: std::time::Instant::now(), life: 0 },
            ));
            striped.begun();
        }
        assert!(stripes.settle(place, has_ended).is_none());
        parts
    }

    #[test]
    fn pieces_cover_a_transfer_and_its_end_is_that_of_the_last() {
        for len in [1, SHORTEST, SHORTEST + 1, 1 << 20, (32 << 20) - 3] {
            let mut stripes = striped(Direction::Get, len);
            let parts = begin(&mut stripes, |_| true);
            assert_eq!(parts.iter().map(|part| part.local.len).sum::<usize>(), len);
            assert!(
                parts
                    .windows(2)
                    .all(|two| two[1].remote.addr == two[0].remote.addr + two[0].local.len as u64)
            );
            for (left, part) in (0..parts.len()).rev().zip(&parts) {
                stripes.ended(part, false, None);
                assert_eq!(stripes.settle(0, has_ended).is_some(), left == 0);
            }
            assert!(stripes.is_idle());
        }
    }

    #[test]
    fn pieces_of_puts_wait_for_the_end_of_what_may_still_carry_them_out() {
        for direction in [Direction::Put, Direction::Get] {
            let mut stripes = striped(direction, 1 << 20);
            let parts = begin(&mut stripes, |_| true);
            for part in &parts {
                stripes.ended(part, part.remote.addr == parts[1].remote.addr, Some((0, 3)));
                assert!(stripes.settle(0, has_ended).is_none());
            }
            let closed = |life: u32| move |piece: &Piece| piece.waits_for.is_none_or(|(_, old)| life > old);
            let early = begin(&mut stripes, closed(3));
            assert_eq!(early.len(), usize::from(direction == Direction::Get));
            let late = begin(&mut stripes, closed(4));
            let again = early.first().or(late.first()).expect("it goes again");
            assert_eq!((again.remote.addr, again.local.len), (parts[1].remote.addr, parts[1].local.len));
            stripes.ended(again, false, None);
            assert!(matches!(stripes.settle(0, has_ended), Some((TransferRequest { token: 9, .. }, Ok(())))));
        }
    }

    #[test]
    fn pieces_that_no_path_takes_are_waited_for() {
        let mut stripes = striped(Direction::Get, SHORTEST);
        assert!(stripes.wait_for(1) && !stripes.wait_for(0));
        let place = stripes.next_ready().expect("it is to begin");
        let striped = stripes.get_mut(place).expect("it is there");
        let piece = striped.next(|_| true).expect("it has one");
        striped.put_back(piece);
        assert!(stripes.settle(place, has_ended).is_none() && stripes.wait_for(1), "a path refused it");
        assert_eq!(begin(&mut stripes, |_| true).len(), 1);
        assert!(!stripes.wait_for(1), "it is under way");
    }

    #[test]
    fn a_transfer_whose_memory_no_path_reaches_costs_few_paths() {
        let mut stripes = striped(Direction::Put, 1 << 20);
        let striped = stripes.get_mut(0).expect("it is there");
        let borne = (0..10).take_while(|_| striped.may_fail()).count();
        assert_eq!(borne as u32, FAILURES);
    }

    #[test]
    fn a_transfer_with_a_peer_that_is_lost_ends_when_nothing_of_it_is_under_way() {
        let mut stripes = striped(Direction::Put, 1 << 20);
        let parts = begin(&mut stripes, |_| true);
        assert_eq!(stripes.abandon(2, 5), []);
        assert_eq!(stripes.abandon(1, 5), [0]);
        for (left, part) in (0..parts.len()).rev().zip(&parts) {
            assert!(stripes.settle(0, has_ended).is_none());
            stripes.ended(part, left > 1, None);
        }
        assert_eq!(stripes.settle(0, has_ended).map(|(_, outcome)| outcome), Some(Err(5)));
    }

    #[test]
    fn a_put_that_failed_for_good_ends_when_nothing_of_it_can_arrive_any_more() {
        for direction in [Direction::Put, Direction::Get] {
            let mut stripes = striped(direction, 3 * SHORTEST);
            let parts = begin(&mut stripes, |_| true);
            // One waits to go again, one failed for good, one was refused where it would arrive.
            stripes.ended(&parts[0], true, Some((0, 4)));
            stripes.ended(&parts[1], false, Some((1, 7)));
            stripes.get_mut(0).expect("it is there").fail(5);
            stripes.ended(&parts[2], false, None);
            let lives = |first: u32, second: u32| {
                move |request: &TransferRequest, (path, life): RemoteLife| {
                    assert_eq!((request.peer, request.cookie), (1, 3));
                    [first, second][path] > life
                }
            };
            if direction == Direction::Put {
                assert!(stripes.settle(0, lives(4, 8)).is_none());
                assert!(stripes.settle(0, lives(5, 7)).is_none());
                assert!(stripes.has_ready(), "it is looked at again");
            }
            assert_eq!(stripes.settle(0, lives(5, 8)).map(|(_, outcome)| outcome), Some(Err(5)));
            assert!(!stripes.has_ready() && stripes.is_idle());
        }
    }
}
