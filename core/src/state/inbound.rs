//! The lanes of short messages: their peers, and when to poll them.

use super::answer_rest::AnswerRest;
use super::peer_lane::can_be_read;
use super::{PeerLane, PeerState, State};
use crate::transport::lane::ReceiveLanes;
use crate::transport::{Caps, Link, PeerId};
use lapis_ablation::{Optimization, without};
use std::ptr::NonNull;
use std::time::Instant;

/// Calls that poll once, and look for an answer several times: with all of them it is late, and
/// they have something else to do.
const EAGER_CALLS: u8 = 16;
/// How many times each of them looks.
const EAGER_LOOKS: u32 = 4;

/// Messages between two looks at everything: so long may what lanes don't carry have to wait.
const MESSAGES: u32 = 256;

/// From so many messages on to which nothing was sent back, they are a stream.
const STREAM: u16 = 4;
/// Messages of a stream that are handled before whoever waits is asked: the longest that its answer
/// can be late.
const STREAM_TURN: u32 = 16;

/// How long the reader of a stream rests that has caught up with its writer, in steps of
/// [`AnswerRest::rest_for`]: some messages are written meanwhile, and few lanes get full.
const BEHIND_WRITER: u16 = 512;

/// What has happened since something was sent. In one word, because each message writes all of it.
#[derive(Clone, Copy, Default)]
#[repr(C, align(4))]
struct SinceSent {
    /// Nothing has come since: for how many calls that poll once an answer is expected at once.
    answer_due: u8,
    /// Nothing has been looked for since.
    rest_due: bool,
    /// Messages that have come since, as far as they count.
    messages: u16,
}

/// The lanes that this task reads.
#[derive(Default)]
pub(crate) struct Inbound {
    lanes: Option<NonNull<ReceiveLanes>>,
    /// Messages since the link was last polled.
    pub(crate) since: u32,
    sent: SinceSent,
    rest: AnswerRest,
    /// All of a stream that was there has been handled, and nothing has been looked for since.
    caught_up: bool,
}

impl Inbound {
    #[inline(always)]
    pub(crate) fn expect_answer(&mut self) {
        let rest_due = !without(Optimization::AnswerPauses);
        self.sent = SinceSent { answer_due: EAGER_CALLS, rest_due, messages: 0 };
    }

    /// Whether something was sent to which an answer is expected at once.
    #[inline(always)]
    pub(crate) fn is_answer_due(&self) -> bool {
        self.sent.answer_due > 0
    }

    /// Whether something has come since anything was sent: what is sent next is none of a stream.
    #[inline(always)]
    pub(crate) fn was_answered(&self) -> bool {
        self.sent.messages != 0 && !without(Optimization::RingGaps)
    }

    /// Whether so many messages have come in lanes that everything is to be looked at.
    #[inline(always)]
    pub(crate) fn has_had_its_turn(&self) -> bool {
        self.since >= MESSAGES
    }

    /// Messages are about to be handled, one after the other as long as they are there; gives how
    /// many may be. What was sent before them has been answered.
    ///
    /// Behind an answer nothing is looked for: that would take the line from whoever is about to
    /// write there. In a stream the next message is there already, mostly.
    #[inline(always)]
    pub(crate) fn begin_turn(&mut self) -> u32 {
        debug_assert!(!self.has_had_its_turn());
        self.sent.answer_due = 0;
        if self.sent.messages < STREAM || without(Optimization::StreamTurns) {
            self.sent.messages += 1;
            return 1;
        }
        STREAM_TURN.min(MESSAGES - self.since)
    }

    /// Whether so many messages that were handled in a row are all that a stream is allowed: others
    /// are there, mostly.
    pub(crate) fn is_whole_turn(handled: u64) -> bool {
        handled >= STREAM_TURN.into()
    }

    /// So many have been handled. `caught_up`: more were allowed, and they were of those that take
    /// their writer longer than a look.
    #[inline(always)]
    pub(crate) fn end_turn(&mut self, handled: u32, caught_up: bool) {
        self.since += handled;
        self.caught_up = caught_up;
    }

    /// Rests before a look, if it is the first one after the reader of a stream has caught up with
    /// its writer. Each look takes a line away from the writer, who is about to write there: a
    /// reader that looks for one message after the other slows the stream down for both.
    #[inline(always)]
    pub(crate) fn rest_behind_writer(&mut self) {
        if std::mem::take(&mut self.caught_up) && !without(Optimization::StreamRests) {
            AnswerRest::rest_for(BEHIND_WRITER);
        }
    }

    /// Rests before a look, if it is the first one after something was sent. The core is not
    /// wanted by others.
    ///
    /// Once: a program that polls by calls looks with each of them.
    #[inline(always)]
    pub(crate) fn rest(&mut self) {
        if std::mem::take(&mut self.sent.rest_due) {
            self.rest.rest();
        }
    }

    /// This message of the mailbox line has come and was handled.
    #[inline(always)]
    pub(crate) fn answered(&mut self, number: u64) {
        self.rest.answered(number, Instant::now);
    }

    /// How many times a call that polls once looks at the lanes.
    #[inline(always)]
    pub(crate) fn looks_of_a_call(&mut self) -> u32 {
        if self.sent.answer_due == 0 || without(Optimization::EagerLooks) {
            return 1;
        }
        self.sent.answer_due -= 1;
        EAGER_LOOKS
    }
}

/// Whether a link has lanes, which core writes and reads itself.
fn has_lanes(link: &Link) -> bool {
    link.caps().contains(Caps::LANES) && !without(Optimization::CoreLanes)
}

impl<C> State<C> {
    /// Asks the transports for their lanes. To be called when the peers are connected.
    pub(crate) fn find_lanes(&mut self) {
        (0..self.peers.len()).for_each(|peer| self.find_lane(peer));
        let found = |link: &mut Link| {
            let lanes = has_lanes(link).then(|| link.receive_lanes()).flatten();
            lanes.filter(|lanes| can_be_read(*lanes))
        };
        self.links.inbound =
            Inbound { lanes: self.links.open.iter_mut().find_map(found), ..Inbound::default() };
    }

    /// Asks for the lane to one peer. None leads to a peer that can't be talked to, or for which
    /// packets are held.
    pub(crate) fn find_lane(&mut self, peer: PeerId) {
        let p = &self.peers[peer];
        let up = p.state == PeerState::Up && !p.epochs.hold();
        let link = self.link_to(peer).filter(|link| up && has_lanes(link));
        self.peers[peer].lane = link.and_then(|link| link.send_lane(peer)).into();
    }

    /// Forgets the lanes: the links are about to be closed.
    pub(crate) fn forget_lanes(&mut self) {
        self.links.inbound = Inbound::default();
        self.peers.iter_mut().for_each(|peer| peer.lane = PeerLane::none());
    }

    /// The lanes, if nothing but what arrives in them is to be expected for a moment.
    #[inline(always)]
    pub(crate) fn lanes_alone(&self) -> Option<*mut ReceiveLanes> {
        let idle = self.dispatching == 0 && !self.has_work();
        if idle { self.lanes_of_idle() } else { None }
    }

    /// The same where nothing is being dispatched, and no work waits.
    #[inline(always)]
    pub(crate) fn lanes_of_idle(&self) -> Option<*mut ReceiveLanes> {
        let lanes = self.links.inbound.lanes?;
        let alone = !self.links.with_engines
            && !self.links.inbound.has_had_its_turn()
            && self.links.self_pending == 0;
        alone.then_some(lanes.as_ptr())
    }

    /// Everything has been looked at.
    #[inline(always)]
    pub(crate) fn looked_at_everything(&mut self) {
        self.links.inbound.since = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles messages as long as a turn allows; gives how many.
    fn turn(inbound: &mut Inbound) -> u32 {
        let most = inbound.begin_turn();
        inbound.end_turn(most, false);
        most
    }

    #[test]
    fn who_has_caught_up_with_a_stream_rests_once_and_others_never() {
        let mut inbound = Inbound::default();
        turn(&mut inbound);
        assert!(!inbound.caught_up, "more is there, mostly");
        inbound.begin_turn();
        inbound.end_turn(1, true);
        assert!(inbound.caught_up);
        inbound.rest_behind_writer();
        assert!(!inbound.caught_up, "the next look is made at once");
        inbound.end_turn(1, true);
        turn(&mut inbound);
        assert!(!inbound.caught_up, "more came before the rest");
    }

    #[test]
    fn an_answer_is_handled_alone_and_a_stream_in_longer_turns() {
        let mut inbound = Inbound::default();
        for _ in 0..2 {
            inbound.expect_answer();
            assert!(inbound.is_answer_due() && !inbound.was_answered());
            let turns: Vec<u32> = (0..STREAM + 2).map(|_| turn(&mut inbound)).collect();
            assert!(!inbound.is_answer_due(), "it has come");
            let (alone, stream) = turns.split_at(STREAM.into());
            assert!(alone.iter().all(|&messages| messages == 1), "{turns:?}");
            assert!(stream.iter().all(|&messages| messages == STREAM_TURN), "{turns:?}");
        }
    }

    #[test]
    fn a_stream_never_keeps_everything_else_waiting_for_longer_than_agreed() {
        let mut inbound = Inbound::default();
        let mut handled = 0;
        while !inbound.has_had_its_turn() {
            handled += turn(&mut inbound);
        }
        assert_eq!(handled, MESSAGES);
    }
}
