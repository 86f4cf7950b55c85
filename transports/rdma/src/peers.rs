//! The peers: their addresses, the cookies of their messages, and their credits.

use crate::ffi::fi_addr_t;
use crate::header::{Header, Kind, LAST_NUMBER, Mark, WINDOW};
use crate::path::{Path, Retained};
use crate::slots::Offer;
use crate::stripes::FAILURES;
use lapis_core::transport::PeerId;
use std::time::Instant;

/// After so many consumed messages that nothing told the peer of, it is told by a message, with the
/// next look for messages.
const TELL_AFTER: u32 = WINDOW / 4;
/// After so many, at once.
const TELL_NOW: u32 = WINDOW / 4 * 3;
/// Messages are written to slots as long as fewer than so many are under way.
const FEW: u32 = 8;
/// A peer that has sent so many messages is offered slots.
const OFFER_AFTER: u32 = 16;

/// What is known of one peer.
#[derive(Debug)]
pub(crate) struct Peer {
    /// How it is reached. Messages take one path, in their order; transfers take all.
    pub(crate) paths: Vec<Path>,
    /// Whether messages to it are kept until it has them, and go again where one may be lost: if
    /// either task has several rails. That with one may have to find the other's at a new address.
    fails_over: bool,
    /// The path that messages take.
    pub(crate) current: usize,
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
    /// Whether something was or is to be exchanged with it: paths to it are looked after only then.
    pub(crate) met: bool,
    /// Whether paths to it are looked after.
    pub(crate) watched: bool,
    /// Pieces of transfers under way.
    pub(crate) pieces: u32,
    /// Pieces in a row, of whatever transfers, that were the first to fail on a path.
    pub(crate) strikes: u32,
    /// When it was last heard of or something to it ended, as far as that was looked at.
    pub(crate) news: Option<Instant>,
    pub(crate) round: Round,
    /// Slots for short messages: those of its, where it has offered some, and the number of those
    /// that it has here.
    pub(crate) slots_there: Option<Offer>,
    pub(crate) slots_here: Option<usize>,
    /// Whether it may have to be told how many messages there were.
    pub(crate) listed: bool,
    /// Messages that had been sent when that was last looked at.
    seen: u32,
    /// Messages to it, and how many of them it has consumed.
    sent: u32,
    acked: u32,
    /// The next one to send again; `sent` if none is.
    again: u32,
    /// Where they may go again: those that are not known to be consumed.
    retained: Retained,
    /// Its messages that we have consumed, and how many of them it knows to be.
    consumed: u32,
    told: u32,
}

/// How many consumed messages a peer has just come to not know to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untold {
    /// Nothing is to be done about them, or has been done.
    Few,
    /// It should be told with the next look for messages.
    Many,
    /// It should be told at once.
    Most,
}

/// A question over all paths, whether they work.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) number: u32,
    /// When it was asked, as long as not all have answered.
    pub(crate) asked: Option<Instant>,
    /// When the first answer came.
    pub(crate) first: Option<Instant>,
    /// Messages that had been sent by then.
    pub(crate) sent: u32,
}

impl Peer {
    /// `cookies`: ours and its.
    pub(crate) fn new(paths: Vec<Path>, fails_over: bool, cookies: (u64, u64)) -> Self {
        let (our_cookie, its_cookie) = cookies;
        let (down, torn, met, watched) = (false, false, false, false);
        let (sent, acked, again, consumed, told) = (0, 0, 0, 0, 0);
        let (why, to_be_told, news) = (None, None, None);
        let (current, pieces, strikes) = (0, 0, 0);
        let (round, retained) = (Round::default(), Retained::default());
        Self {
            paths,
            fails_over,
            current,
            our_cookie,
            its_cookie,
            down,
            why,
            to_be_told,
            torn,
            met,
            watched,
            pieces,
            strikes,
            news,
            round,
            slots_there: None,
            slots_here: None,
            listed: false,
            seen: 0,
            sent,
            acked,
            again,
            retained,
            consumed,
            told,
        }
    }

    /// Whether there is more than one path.
    #[inline]
    pub(crate) fn has_several(&self) -> bool {
        self.paths.len() > 1
    }

    /// Whether messages to it go again where one may be lost.
    #[inline]
    pub(crate) fn fails_over(&self) -> bool {
        self.fails_over
    }

    /// The path that messages take.
    #[inline]
    pub(crate) fn path(&self) -> &Path {
        &self.paths[self.current]
    }

    /// Our rail and the peer's address on the path that messages take.
    #[inline]
    pub(crate) fn way(&self) -> (usize, fi_addr_t) {
        let path = self.path();
        (path.rail, path.to)
    }

    /// The path over a rail of ours.
    pub(crate) fn over(&mut self, rail: usize) -> Option<&mut Path> {
        self.paths.iter_mut().find(|path| path.rail == rail)
    }

    /// Messages go over another path from now on; those that may not have come go again.
    pub(crate) fn turn_to(&mut self, path: usize) {
        self.current = path;
        self.send_again();
    }

    /// Messages that are not known to be consumed go again.
    pub(crate) fn send_again(&mut self) {
        self.again = self.acked;
    }

    /// Whether new messages must wait for old ones, or for a path.
    pub(crate) fn is_behind(&self) -> bool {
        self.again != self.sent || !self.path().up
    }

    /// Whether anything is under way to it.
    pub(crate) fn is_owed(&self) -> bool {
        self.sent != self.acked || self.pieces > 0
    }

    /// A piece of a transfer was the first to fail on a path; whether what failed may go again.
    pub(crate) fn may_fail(&mut self) -> bool {
        self.strikes = self.strikes.saturating_add(1);
        self.strikes <= FAILURES
    }

    /// Whether messages were sent to it since this was last asked.
    pub(crate) fn has_grown(&mut self) -> bool {
        std::mem::replace(&mut self.seen, self.sent) != self.sent
    }

    /// Whether messages to it are not known to be consumed.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.sent != self.acked
    }

    /// Answers to questions of before count no more.
    pub(crate) fn end_round(&mut self) {
        let number = self.round.number % LAST_NUMBER + 1;
        self.round = Round { number, ..Round::default() };
    }

    /// Notes how much has been sent when a round of questions begins.
    pub(crate) fn ask(&mut self, now: Instant) {
        let number = self.round.number % LAST_NUMBER + 1;
        self.round = Round { number, asked: Some(now), first: None, sent: self.sent };
    }

    /// Whether messages that had been sent before the question are missing, though the answer came
    /// behind them.
    pub(crate) fn has_lost_some(&self) -> bool {
        self.round.sent.wrapping_sub(self.acked).cast_signed() > 0
    }

    /// Keeps the next message until it is consumed.
    pub(crate) fn keep(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> &[u8] {
        self.retained.keep(len, fill)
    }

    /// The message that was kept last was not sent.
    pub(crate) fn drop_newest(&mut self) {
        self.retained.drop_newest();
    }

    /// The next message to send again, with its header.
    pub(crate) fn next_again(&self, source: PeerId) -> Option<(Header, &[u8])> {
        let at = self.again.wrapping_sub(self.acked);
        let bytes = self.retained.get(at as usize).filter(|_| self.again != self.sent)?;
        let header = self.header(source, Kind::Message, bytes.len() as u32);
        Some((Header { number: self.again & LAST_NUMBER, ..header }, bytes))
    }

    /// That one was sent.
    pub(crate) fn count_again(&mut self) {
        self.again = self.again.wrapping_add(1);
        self.told = self.consumed;
    }

    /// Whether it may be sent one more message.
    #[inline]
    pub(crate) fn has_credit(&self) -> bool {
        self.sent.wrapping_sub(self.acked) < WINDOW
    }

    /// Its slots, if messages should go there: whoever has many under way gains nothing by
    /// each being seen sooner, and what is written ends with a completion, an injected message
    /// without.
    #[inline]
    pub(crate) fn slots_for_few(&self) -> Option<Offer> {
        self.slots_there.filter(|_| self.sent.wrapping_sub(self.acked) < FEW)
    }

    /// A message was sent that told it what we have consumed.
    #[inline]
    pub(crate) fn count_sent(&mut self) {
        if self.again == self.sent {
            self.again = self.again.wrapping_add(1);
        }
        self.sent = self.sent.wrapping_add(1);
        self.told = self.consumed;
    }

    /// A short put has taken a message's place; it told nothing.
    #[inline]
    pub(crate) fn count_put(&mut self) {
        let told = self.told;
        self.count_sent();
        self.told = told;
    }

    /// Whether it does not know all that we have consumed.
    pub(crate) fn has_untold(&self) -> bool {
        self.told != self.consumed
    }

    /// It asks what we have consumed: it may not know what it was told.
    pub(crate) fn forget_told(&mut self) {
        if self.told == self.consumed {
            self.told = self.consumed.wrapping_sub(1);
        }
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
            if news > 0 && self.fails_over() {
                self.let_go(acked);
            }
            self.acked = acked;
            return true;
        }
        news.wrapping_neg() <= WINDOW
    }

    /// Messages up to this number are known to be consumed.
    fn let_go(&mut self, acked: u32) {
        if self.again.wrapping_sub(acked).cast_signed() < 0 {
            self.again = acked;
        }
        self.retained.shorten(self.sent.wrapping_sub(acked) as usize);
        self.news = None;
    }

    /// A message of its was consumed.
    #[inline]
    pub(crate) fn count_consumed(&mut self) -> Untold {
        self.consumed = self.consumed.wrapping_add(1);
        match self.consumed.wrapping_sub(self.told) {
            TELL_AFTER => Untold::Many,
            TELL_NOW => Untold::Most,
            _ => Untold::Few,
        }
    }

    /// Whether it has just sent so many messages that it may be offered slots.
    #[inline]
    pub(crate) fn is_due_for_slots(&self) -> bool {
        self.consumed == OFFER_AFTER && self.slots_here.is_none()
    }

    /// The number of its next message.
    #[inline]
    pub(crate) fn next_number(&self) -> u32 {
        self.consumed & LAST_NUMBER
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
        number == self.next_number()
    }

    /// Whether messages from this number on have come already, in slots: what takes no number of
    /// its own can be read behind what was sent after it.
    #[inline]
    pub(crate) fn is_behind_slots(&self, number: u32) -> bool {
        let ahead = self.consumed.wrapping_sub(number) & LAST_NUMBER;
        self.slots_here.is_some() && ahead <= 2 * WINDOW
    }

    /// Whether a mark is of the put that follows what has come, as its header would say.
    #[inline]
    pub(crate) fn is_followed_by(&self, mark: Mark) -> bool {
        let (source, number, cookie) = (mark.source, self.next_number(), self.its_cookie);
        mark == Mark::of(&Header { cookie, source, acked: 0, length: 0, kind: Kind::Message, number })
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

    #[inline]
    pub(crate) fn get(&self, peer: PeerId) -> Option<&Peer> {
        self.0.get(peer as usize)?.as_ref()
    }

    /// The place of a peer that may or may not be connected.
    pub(crate) fn slot(&mut self, peer: PeerId) -> Option<&mut Option<Peer>> {
        self.0.get_mut(peer as usize)
    }
}

#[cfg(test)]
#[path = "peers_tests.rs"]
mod tests;
