//! The peers: where they are, what their messages must carry, and how many more they may be sent.

use crate::ffi::fi_addr_t;
use crate::header::{Header, Kind, LAST_NUMBER};
use lapis_core::transport::PeerId;
use std::time::Instant;

/// Messages that may be under way to one peer, sent but not known to be consumed.
pub(crate) const WINDOW: u32 = 128;
/// After so many consumed messages that nothing told the peer of, it is told by a message.
const TELL_AFTER: u32 = WINDOW / 4;

/// What is known of one peer.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) to: fi_addr_t,
    /// What our messages to it carry, and its messages to us.
    pub(crate) our_cookie: u64,
    pub(crate) its_cookie: u64,
    pub(crate) down: bool,
    /// Why it is down.
    pub(crate) why: Option<Box<str>>,
    /// Until when it is to be told that it was given up.
    pub(crate) to_be_told: Option<Instant>,
    /// Whether a message of its is missing, so that none after it may be taken.
    pub(crate) torn: bool,
    /// Whether libfabric has taken a message to it: connections, where the provider has such, are
    /// made by then.
    pub(crate) greeted: bool,
    /// Messages to it, and how many of them it has consumed.
    sent: u32,
    acked: u32,
    /// Its messages that we have consumed, and how many of them it knows to be.
    consumed: u32,
    told: u32,
}

impl Peer {
    pub(crate) fn new(to: fi_addr_t, our_cookie: u64, its_cookie: u64) -> Self {
        let (down, torn, greeted) = (false, false, false);
        let (sent, acked, consumed, told) = (0, 0, 0, 0);
        let (why, to_be_told) = (None, None);
        Self { to, our_cookie, its_cookie, down, why, to_be_told, torn, greeted, sent, acked, consumed, told }
    }

    /// Whether it may be sent one more message.
    #[inline]
    pub(crate) fn has_credit(&self) -> bool {
        self.sent.wrapping_sub(self.acked) < WINDOW
    }

    /// A message was sent that told it what we have consumed.
    #[inline]
    pub(crate) fn count_sent(&mut self) {
        self.sent = self.sent.wrapping_add(1);
        self.told = self.consumed;
    }

    /// It has been told what we have consumed.
    pub(crate) fn count_told(&mut self) {
        self.told = self.consumed;
    }

    /// It says how many of our messages it has consumed. Whether that can be true; what it said
    /// before, and overtook this, counts.
    #[inline]
    pub(crate) fn count_acked(&mut self, acked: u32) -> bool {
        let news = acked.wrapping_sub(self.acked);
        if news <= self.sent.wrapping_sub(self.acked) {
            self.acked = acked;
            return true;
        }
        news.wrapping_neg() <= WINDOW
    }

    /// A message of its was consumed. Whether it should be told now.
    #[inline]
    pub(crate) fn count_consumed(&mut self) -> bool {
        self.consumed = self.consumed.wrapping_add(1);
        self.consumed.wrapping_sub(self.told) == TELL_AFTER
    }

    /// What goes before the next message to it.
    #[inline]
    pub(crate) fn header(&self, source: PeerId, kind: Kind, length: u32) -> Header {
        let (cookie, acked, number) = (self.our_cookie, self.consumed, self.sent & LAST_NUMBER);
        Header { cookie, source, acked, length, kind, number }
    }

    /// Whether all its messages before the one with this number have come.
    #[inline]
    pub(crate) fn follows(&self, number: u32) -> bool {
        number == self.consumed & LAST_NUMBER
    }
}

/// Peers by number.
#[derive(Debug, Default)]
pub(crate) struct Peers(Vec<Option<Peer>>);

impl Peers {
    pub(crate) fn new(tasks: u32) -> Self {
        Self((0..tasks).map(|_| None).collect())
    }

    /// Tasks of the job.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, peer: PeerId) -> Option<&mut Peer> {
        self.0.get_mut(peer as usize)?.as_mut()
    }

    /// The place of a peer that may or may not be connected.
    pub(crate) fn slot(&mut self, peer: PeerId) -> Option<&mut Option<Peer>> {
        self.0.get_mut(peer as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_ends_with_the_window_and_comes_back_with_acknowledgements() {
        let mut peer = Peer::new(0, 1, 2);
        peer.sent = u32::MAX - 3;
        peer.acked = u32::MAX - 3;
        for _ in 0..WINDOW {
            assert!(peer.has_credit());
            peer.count_sent();
        }
        assert!(!peer.has_credit());
        assert!(peer.count_acked(peer.acked.wrapping_add(5)));
        assert!(peer.has_credit());
    }

    #[test]
    fn more_than_was_sent_cannot_be_acknowledged() {
        let mut peer = Peer::new(0, 1, 2);
        peer.count_sent();
        assert!(!peer.count_acked(2));
        assert!(peer.count_acked(1));
        assert!(peer.count_acked(0), "an older count is no lie");
        assert_eq!(peer.acked, 1);
    }

    #[test]
    fn a_message_follows_those_that_have_come_and_no_others() {
        let (mut one, mut other) = (Peer::new(0, 1, 2), Peer::new(1, 2, 1));
        (one.sent, other.consumed) = (LAST_NUMBER, LAST_NUMBER);
        for _ in 0..3 {
            assert!(other.follows(one.header(0, Kind::Message, 8).number));
            one.count_sent();
            assert!(!other.follows(one.header(0, Kind::Ack, 0).number), "one is missing");
            other.count_consumed();
        }
    }

    #[test]
    fn a_peer_is_told_once_in_a_quarter_of_its_window() {
        let mut peer = Peer::new(0, 1, 2);
        let told = (0..WINDOW).filter(|_| {
            let tell = peer.count_consumed();
            if tell {
                peer.count_told();
            }
            tell
        });
        assert_eq!(told.count(), 4);
    }
}
