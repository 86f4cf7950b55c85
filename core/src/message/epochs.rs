//! Epochs over links that deliver in order: how packets from before a purge are told from those
//! after it.
//!
//! A task counts, for each peer, how often it has purged it: its epoch towards that peer. Packets
//! don't carry it. In its place a packet of its own, `Epoch`, goes ahead of the first packet of
//! each pair of epochs and names both as its sender knows them. A task takes packets of a peer only
//! after one that names its own epoch, and sends packets only from then on: whatever was still on
//! its way when either side purged the other is dropped, on every way that a link's packets take.
//!
//! ```text
//!   both purge and resume              only the left one does
//!   (1, ?) →      ← (1, ?)             (1, ?) →
//!          ← (1, 1)  (1, 1) →                   ← (0, 1)      gives up what it has under way
//!   settled         settled            (1, 0) →
//! ```
//!
//! Over datagram links the packet engine tells epochs apart, in each datagram.

use crate::context::Locked;
use crate::state::{PeerState, State};
use crate::transport::PeerId;
use crate::wire::{Encoded, Header, Kind};
use std::collections::VecDeque;

/// Packets to one peer that wait here until its epoch is known; a call that sends more waits
/// itself.
const MOST_HELD: usize = 64;

/// Where a task and a peer stand with each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epochs {
    /// How often this task has purged the peer.
    own: u32,
    /// How often the peer has purged this task, as far as it has said since the last purge.
    theirs: Option<u32>,
    /// The peer knows `own`: what comes from it belongs to the present pair.
    settled: bool,
    /// An `Epoch` packet has found no room yet.
    due: bool,
}

/// What an `Epoch` packet means for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heard {
    /// The peer has purged this task, which has purged nobody: everything under way is lost.
    restarted: bool,
    /// The peer lacks something that this task's own `Epoch` packet says.
    answer: bool,
}

impl Epochs {
    /// Nobody has purged anybody.
    pub(crate) const FIRST: Self = Self { own: 0, theirs: Some(0), settled: true, due: false };

    /// Whether packets other than `Epoch` must wait.
    #[inline(always)]
    pub(crate) fn hold(&self) -> bool {
        !self.settled || self.due
    }

    /// This task purges the peer.
    fn end(&mut self) {
        *self = Self { own: self.own.wrapping_add(1), theirs: None, settled: false, due: false };
    }

    /// What this task's own `Epoch` packet says: its epoch, and one more than the peer's, 0 if that
    /// is not known.
    fn words(&self) -> (u32, u64) {
        (self.own, self.theirs.map_or(0, |epoch| u64::from(epoch) + 1))
    }

    /// An `Epoch` packet of the peer's; `up`: this task talks to it.
    fn hear(&mut self, theirs: u32, known: u64, up: bool) -> Heard {
        let new = self.theirs != Some(theirs);
        self.theirs = Some(theirs);
        if !up {
            // It is answered when it is resumed.
            return Heard { restarted: false, answer: false };
        }
        let restarted = new && self.settled;
        self.settled = known == u64::from(self.own) + 1;
        Heard { restarted, answer: new || !self.settled }
    }
}

/// Whether a packet is taken and sent whatever epochs are agreed.
pub(super) fn is_of_any_epoch(packet: &[u8]) -> bool {
    packet.first().is_some_and(|&kind| kind == Kind::Epoch as u8 || kind == Kind::Goodbye as u8)
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
        if p.epochs.hold() {
            p.lane = None;
        }
        self.peers.unsettled = self.peers.unsettled + u32::from(before) - u32::from(after);
        Some(result)
    }

    /// Nothing more is taken from a peer, or sent to it, until it has been purged and resumed.
    pub(super) fn unsettle(&mut self, peer: PeerId) {
        self.change_epochs(peer, |epochs| epochs.settled = false);
    }

    /// The peer is reached over another link from now on, which tells epochs apart by itself.
    pub(crate) fn forget_epochs(&mut self, peer: PeerId) {
        self.change_epochs(peer, |epochs| *epochs = Epochs::FIRST);
    }

    /// Whether a packet belongs to the present pair of epochs, or to none. Asked only if there is a
    /// pair that is not agreed.
    #[cold]
    #[inline(never)]
    pub(super) fn may_take(&self, source: PeerId, packet: &[u8]) -> bool {
        self.peers.get(source).is_none_or(|p| p.epochs.settled) || is_of_any_epoch(packet)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Peer;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// What travels: an `Epoch` packet's words, or a message with the lives of both sides in which
    /// it was sent.
    #[derive(Clone, Copy, Debug)]
    enum Packet {
        Epoch(u32, u64),
        Message(usize, u32),
    }

    struct Side {
        epochs: Epochs,
        up: bool,
        purges: u32,
        inbox: VecDeque<Packet>,
        taken: Vec<usize>,
    }

    /// Two sides with an orderly link between them.
    struct Pair {
        sides: [Side; 2],
        sent: usize,
        restarts: [u32; 2],
    }

    impl Pair {
        fn new() -> Self {
            let side = || Side {
                epochs: Epochs::FIRST,
                up: true,
                purges: 0,
                inbox: VecDeque::new(),
                taken: Vec::new(),
            };
            Self { sides: [side(), side()], sent: 0, restarts: [0; 2] }
        }

        fn tell(&mut self, from: usize) {
            let (own, known) = self.sides[from].epochs.words();
            self.sides[1 - from].inbox.push_back(Packet::Epoch(own, known));
        }

        fn purge(&mut self, side: usize) {
            self.sides[side].epochs.end();
            (self.sides[side].up, self.sides[side].purges) = (false, self.sides[side].purges + 1);
        }

        fn resume(&mut self, side: usize) {
            if !std::mem::replace(&mut self.sides[side].up, true) {
                self.tell(side);
            }
        }

        /// False: it has to wait.
        fn send(&mut self, from: usize) -> bool {
            let side = &self.sides[from];
            let may = side.up && !side.epochs.hold();
            if may {
                self.sent += 1;
                let packet = Packet::Message(self.sent, side.purges);
                self.sides[1 - from].inbox.push_back(packet);
            }
            may
        }

        fn take(&mut self, at: usize) {
            let (purges, from) = (self.sides[1 - at].purges, 1 - at);
            let side = &mut self.sides[at];
            match side.inbox.pop_front() {
                Some(Packet::Epoch(theirs, known)) => {
                    let heard = side.epochs.hear(theirs, known, side.up);
                    self.restarts[at] += u32::from(heard.restarted);
                    if heard.answer {
                        self.tell(at);
                    }
                }
                Some(Packet::Message(number, sent_in)) if side.epochs.settled => {
                    // What the other side has given up since, it told us of, or is still on its way
                    // to us behind this message.
                    let told =
                        side.inbox.iter().any(|p| matches!(p, Packet::Epoch(..))) || !self.sides[from].up;
                    assert!(sent_in == purges || told, "message {number} of a former life of its sender");
                    self.sides[at].taken.push(number);
                }
                _ => {}
            }
        }

        fn come_to_rest(&mut self) {
            for round in 0.. {
                assert!(round < 1000, "packets about epochs go to and fro for ever");
                if self.sides.iter().all(|side| side.inbox.is_empty()) {
                    return;
                }
                (0..2).for_each(|at| self.take(at));
            }
        }
    }

    proptest! {
        #[test]
        fn sides_agree_again_however_they_purge_and_nothing_from_before_is_taken(
            steps in proptest::collection::vec((0usize..2, 0u8..6), 0..60)
        ) {
            let mut pair = Pair::new();
            // Messages before a purge of their receiver: (receiver, number).
            let mut void = Vec::new();
            for (side, step) in steps {
                match step {
                    0 => {
                        let on_its_way = pair.sides[side].inbox.iter();
                        void.extend(on_its_way.filter_map(|p| match p {
                            Packet::Message(number, _) => Some((side, *number)),
                            Packet::Epoch(..) => None,
                        }));
                        pair.purge(side);
                    }
                    1 => pair.resume(side),
                    2 | 3 => drop(pair.send(side)),
                    _ => pair.take(side),
                }
            }
            (0..2).for_each(|side| pair.resume(side));
            pair.come_to_rest();
            for (receiver, number) in void {
                prop_assert!(!pair.sides[receiver].taken.contains(&number), "message {number} outlived a purge");
            }
            for from in 0..2 {
                prop_assert!(pair.send(from), "side {from} still waits: {:?}", pair.sides[from].epochs);
                let last = pair.sent;
                pair.come_to_rest();
                prop_assert_eq!(pair.sides[1 - from].taken.last(), Some(&last));
            }
        }
    }

    #[test]
    fn who_purges_alone_makes_the_other_side_begin_anew_once() {
        let mut pair = Pair::new();
        assert!(pair.send(1) && pair.send(0));
        pair.purge(0);
        pair.resume(0);
        assert!(!pair.send(0), "nothing goes out before the other side has answered");
        pair.come_to_rest();
        assert_eq!(pair.restarts, [0, 1]);
        assert_eq!((pair.sides[0].taken.len(), &pair.sides[1].taken[..]), (0, &[2][..]));
        assert!(pair.send(0) && pair.send(1));
    }

    #[test]
    fn a_peer_of_an_engine_is_never_held() {
        assert!(!Peer::new().epochs.hold());
    }
}
