//! Saying how many messages there were when no more follow. Providers do not report an injected
//! message that is lost with its connection: the next one shows that it is missing. So a peer that
//! has one path, and was sent messages that it has not confirmed, is sent their number once nothing
//! has followed for a moment. It answers with what it has consumed. Number, answer and credit may
//! be lost as well, so the number is sent until all messages are known to be consumed, at growing
//! intervals: a peer that computes answers late. Peers with several paths are asked (`watch.rs`).

use super::Rdma;
use crate::header::{Header, Kind};
use crate::peers::Peer;
use crate::send::Refused;
use lapis_core::transport::{PeerId, Status};
use std::time::{Duration, Instant};

/// So long nothing follows what was sent; at most twice as long.
pub(super) const QUIET: Duration = Duration::from_millis(100);
/// It is said again after so many times as long, at most.
const LONGEST_PAUSE: u32 = 16;
/// Polls between two looks at the clock.
const POLLS: u32 = 64;

/// A peer that may have to be told.
struct Unconfirmed {
    peer: PeerId,
    /// Looks until it is told, and how many there are before the next time.
    left: u32,
    pause: u32,
}

/// Peers that may have to be told.
#[derive(Default)]
pub(super) struct Vouching {
    peers: Vec<Unconfirmed>,
    polls: u32,
    /// When they are looked at next.
    next: Option<Instant>,
}

impl Vouching {
    /// Whether there are any.
    pub(super) fn is_due_some_time(&self) -> bool {
        !self.peers.is_empty()
    }

    /// A peer was sent its first message since it had confirmed all.
    #[cold]
    fn add(&mut self, peer: PeerId) {
        self.peers.push(Unconfirmed { peer, left: 0, pause: 1 });
    }

    /// A peer is forgotten.
    pub(super) fn forget(&mut self, peer: PeerId) {
        self.peers.retain(|known| known.peer != peer);
    }
}

impl Rdma {
    /// libfabric's answer to a message.
    #[inline]
    pub(super) fn sent(&mut self, peer: PeerId, outcome: Result<(), Refused>) -> Status {
        match outcome {
            Ok(()) => {
                self.note_sent(peer, Peer::count_sent);
                self.rest.sent();
                Status::Done
            }
            Err(Refused::Busy) => {
                self.refused = true;
                Status::Again
            }
            Err(Refused::Failed(code)) => {
                self.lose(peer, code);
                Status::PeerDown
            }
        }
    }

    /// Counts a message to a peer with one path, or what takes the place of one.
    #[inline]
    pub(super) fn note_sent(&mut self, peer: PeerId, count: impl FnOnce(&mut Peer)) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        count(p);
        if !std::mem::replace(&mut p.listed, true) {
            self.vouching.add(peer);
        }
    }

    /// Tells peers how many messages there were, as far as it is time. `now`: whether the caller is
    /// about to sleep.
    #[inline]
    pub(super) fn vouch(&mut self, now: bool) {
        let vouching = &mut self.vouching;
        if vouching.peers.is_empty() {
            return;
        }
        vouching.polls = vouching.polls.wrapping_add(1);
        if now || vouching.polls.is_multiple_of(POLLS) {
            self.vouch_if_due();
        }
    }

    #[cold]
    fn vouch_if_due(&mut self) {
        let now = Instant::now();
        if now < *self.vouching.next.get_or_insert(now + QUIET) {
            return;
        }
        self.vouching.next = Some(now + QUIET);
        let mut peers = std::mem::take(&mut self.vouching.peers);
        peers.retain_mut(|one| self.must_vouch_later(one));
        peers.append(&mut self.vouching.peers);
        self.vouching.peers = peers;
        if self.vouching.peers.is_empty() {
            self.vouching.next = None;
        }
    }

    /// Whether a peer is to be looked at again.
    fn must_vouch_later(&mut self, one: &mut Unconfirmed) -> bool {
        let (source, peer) = (self.me.task, one.peer);
        let Some(p) = self.peers.get_mut(peer) else { return false };
        if !p.down && p.has_grown() {
            (one.left, one.pause) = (0, 1);
            return true;
        }
        if p.down || !p.is_unconfirmed() {
            p.listed = false;
            return false;
        }
        if one.left > 0 {
            one.left -= 1;
            return true;
        }
        let (head, (rail, to)) = (p.header(source, Kind::Vouch, 0), p.way());
        let r = &mut self.rails[rail];
        match r.sender.send(&mut r.endpoint, (peer, to), &head, [&[], &[]]) {
            Ok(()) => {
                p.count_told();
                (one.left, one.pause) = (one.pause, (one.pause * 2).min(LONGEST_PAUSE));
            }
            Err(Refused::Busy) => {}
            Err(Refused::Failed(code)) => {
                p.listed = false;
                self.send_failed(peer, rail, code);
                return false;
            }
        }
        true
    }

    /// A peer with whose messages this task is up to date may want to hear that.
    pub(super) fn answer_vouch(&mut self, head: Header) {
        if head.kind == Kind::Vouch
            && let Some(p) = self.peers.get_mut(head.source)
        {
            p.forget_told();
            self.tell_later(head.source);
        }
    }
}
