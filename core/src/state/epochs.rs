//! Epochs over links that deliver in order: they distinguish packets sent before a purge from later
//! ones.
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
//! Over datagram links the packet engine distinguishes epochs, in each datagram.

/// Where a task and a peer stand with each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epochs {
    /// How often this task has purged the peer.
    own: u32,
    /// How often the peer has purged this task, as far as it has said since the last purge.
    theirs: Option<u32>,
    /// The peer knows `own`: what comes from it belongs to the present pair.
    pub(crate) settled: bool,
    /// An `Epoch` packet has found no room yet.
    pub(crate) due: bool,
}

/// What an `Epoch` packet means for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The peer has purged this task, which has purged nobody: everything under way is lost.
    pub(crate) restarted: bool,
    /// The peer lacks something that this task's own `Epoch` packet says.
    pub(crate) answer: bool,
}

impl Epochs {
    /// Neither side has purged the other.
    pub(crate) const FIRST: Self = Self { own: 0, theirs: Some(0), settled: true, due: false };

    /// Whether packets other than `Epoch` must wait.
    #[inline(always)]
    pub(crate) fn hold(&self) -> bool {
        !self.settled || self.due
    }

    /// This task purges the peer.
    pub(crate) fn end(&mut self) {
        *self = Self { own: self.own.wrapping_add(1), theirs: None, settled: false, due: false };
    }

    /// What this task's own `Epoch` packet says: its epoch, and one more than the peer's, 0 if that
    /// is not known.
    pub(crate) fn words(&self) -> (u32, u64) {
        (self.own, self.theirs.map_or(0, |epoch| u64::from(epoch) + 1))
    }

    /// An `Epoch` packet of the peer's; `up`: this task talks to it.
    pub(crate) fn hear(&mut self, theirs: u32, known: u64, up: bool) -> Heard {
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

#[cfg(test)]
mod tests {
    use super::super::Peer;
    use super::*;
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
