//! Handling libfabric's completions: messages, and transfers that have ended.

use super::Rdma;
use super::vouch::QUIET;
use crate::header::{self, Header, Kind, Mark};
use crate::peers::Peer;
use crate::queue::{Completion, Read};
use crate::rail::Rail;
use lapis_core::transport::Event;
use std::time::Duration;

/// How often [`Rdma::settle`] looks before it says that there is something: a connection that is
/// being made keeps a queue from resting, and takes a while.
const SETTLE: usize = 100;

/// How long a sleep lasts at most while something waits for libfabric to take it: what makes room
/// for that, such as a connection, need not end a sleep.
const NAP: Duration = Duration::from_millis(1);
/// And while paths are looked after: what fails need not end a sleep either.
const NAP_OF_THE_WATCHFUL: Duration = Duration::from_millis(5);

/// Where events go: to core, as far as it has room; what finds none waits for its next poll.
pub(super) struct Sink<'a> {
    events: &'a mut [Event],
    n: usize,
}

impl<'a> Sink<'a> {
    fn new(events: &'a mut [Event]) -> Self {
        Self { events, n: 0 }
    }

    /// Whether core takes one more now.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.n < self.events.len()
    }
}

impl Rdma {
    /// Hands an event on.
    #[inline]
    pub(super) fn give(&mut self, event: Event, sink: &mut Sink<'_>) {
        match sink.events.get_mut(sink.n) {
            Some(place) => {
                *place = event;
                sink.n += 1;
            }
            None => self.early.push_back(event),
        }
    }

    /// The header of a message, and how many bytes precede the payload.
    #[inline]
    fn header_of(&self, message: &[u8], mark: Option<u64>) -> Option<(Header, usize)> {
        let Some(mark) = mark.map(Mark::decode) else {
            return Some((Header::decode(message)?, header::LEN));
        };
        let peer = self.peers.get(mark.source)?;
        let expected = (peer.its_cookie, peer.next_number());
        Some((Header::decode_short(mark, message, expected)?, header::SHORT_LEN))
    }

    /// What arrived, if it is for core. What was written before it goes before it.
    #[inline]
    fn accept(
        &mut self,
        rail: usize,
        (bytes, len): (*mut u8, usize),
        mark: Option<u64>,
        sink: &mut Sink<'_>,
    ) -> Option<Event> {
        // SAFETY: libfabric has finished writing these bytes, and the buffer is ours until it is
        // posted again, at the next poll at the earliest.
        let message = unsafe { std::slice::from_raw_parts(bytes, len) };
        let Some((head, before)) = self.header_of(message, mark) else {
            self.host.debug(format_args!("{len} bytes that are no message were dropped"));
            return None;
        };
        let peer = self.peers.get_mut(head.source)?;
        if let Some(wrong) = wrong_part(peer, &head) {
            self.host.debug(format_args!("a message with a wrong {wrong} was dropped"));
            return None;
        }
        if head.kind == Kind::GivenUp {
            self.give_up(head.source, "it can't reach this task any more", false);
            return None;
        }
        if peer.torn {
            return None;
        }
        if !matches!(head.kind, Kind::Message | Kind::Ack | Kind::Vouch) {
            let payload = message.get(header::LEN..header::LEN + head.length as usize)?;
            if head.kind == Kind::Slots {
                self.slots_offered(head.source, payload);
                return None;
            }
            self.path_message_arrived(head.source, rail, head.kind, head.number, payload);
            return None;
        }
        if peer.slots_here.is_some() && !peer.follows(head.number) {
            self.empty_slots_of(head.source, sink);
        }
        let peer = self.peers.get_mut(head.source)?;
        if head.kind != Kind::Message && peer.is_behind_slots(head.number) {
            self.answer_vouch(head);
            return None;
        }
        if self.ordered && !peer.follows(head.number) {
            // With several paths it came before, or what is missing comes again, and this too.
            if !peer.fails_over() {
                self.tear(head.source, head.number);
            }
            return None;
        }
        if head.kind != Kind::Message {
            self.answer_vouch(head);
            return None;
        }
        self.count_consumed(head.source);
        if self.peers.get(head.source).is_some_and(Peer::is_due_for_slots) {
            self.give_slots(head.source);
        }
        Some(Event::message(head.source, bytes.wrapping_add(before), head.length))
    }

    /// A peer's short put is in memory here. It has the place of a message, so that one that is
    /// lost is missed.
    fn landed(&mut self, mark: u64, sink: &mut Sink<'_>) {
        let mark = Mark::decode(mark);
        self.empty_slots_of(mark.source, sink);
        let Some(peer) = self.peers.get_mut(mark.source) else { return };
        if mark.cookie != (peer.its_cookie >> 32) as u32 {
            self.host.debug(format_args!("a put with a wrong cookie was not counted"));
        } else if peer.torn {
            // What was lost before it is known.
        } else if !peer.is_followed_by(mark) {
            self.tear(mark.source, mark.number);
        } else {
            self.count_consumed(mark.source);
        }
        if self.peers.get(mark.source).is_some_and(Peer::is_due_for_slots) {
            self.give_slots(mark.source);
        }
    }

    fn take(&mut self, rail: usize, completion: Completion, sink: &mut Sink<'_>) -> Option<Event> {
        let r = &mut self.rails[rail];
        match completion {
            Completion::Sent { context } => {
                r.sender.ended(context);
            }
            Completion::Received { bytes, len, mark } => {
                r.received.count(len);
                return self.accept(rail, (bytes, len), mark, sink);
            }
            Completion::Landed { mark } => self.landed(mark, sink),
            Completion::Released { context } => r.receiver.release(context),
            Completion::Moved { context } => {
                let index = r.transfers.index_of(context)?;
                let ended = r.transfers.ended(&mut r.endpoint, index, Ok(()))?;
                return self.moved(rail, ended);
            }
            Completion::Broken { code } => self.fail(rail, "the completion queue", code),
            Completion::Failed { context, released, code } => {
                if let Some(index) = r.transfers.index_of(context) {
                    let ended = r.transfers.ended(&mut r.endpoint, index, Err(code))?;
                    return self.moved(rail, ended);
                }
                if let Some((peer, cookie)) = r.sender.ended(context) {
                    if !self.was_replaced(peer, cookie) {
                        self.send_failed(peer, rail, code);
                    }
                    return None;
                }
                // What is written into slots, and short puts, have no name.
                let what = if released || !context.is_null() { "receive buffer" } else { "short write" };
                if released {
                    r.receiver.release(context);
                }
                let text = self.text(code);
                self.host.debug(format_args!("a {what} failed: {text}"));
            }
        }
        None
    }

    /// Gives libfabric what it had no room for.
    #[inline]
    pub(super) fn send_waiting(&mut self) {
        for rail in 0..self.rails.len() {
            while self.rails[rail].sender.has_waiting() {
                let r = &mut self.rails[rail];
                let Err((peer, code)) = r.sender.send_waiting(&mut r.endpoint) else { break };
                self.send_failed(peer, rail, code);
            }
            loop {
                let r = &mut self.rails[rail];
                let Some(ended) = r.transfers.confirm(&mut r.endpoint) else { break };
                let event = self.moved(rail, ended);
                self.early.extend(event);
            }
        }
    }

    /// Deals with what has ended; messages wait for the next poll. Whether anything had.
    pub(super) fn digest(&mut self) -> bool {
        let mut found = false;
        while !self.has_stopped() && self.collect(&mut Sink::new(&mut []), 16) {
            found = true;
        }
        found
    }

    /// Leaves things such that whoever sleeps from now on is woken by what comes. False: something
    /// is there already.
    pub(super) fn prepare_to_sleep(&mut self) -> bool {
        self.settle() && self.listen()
    }

    /// In interrupt mode: wakes whoever sleeps if that has to look.
    #[inline]
    pub(super) fn stay_watchful(&mut self) {
        if self.watchful && !self.prepare_to_sleep() {
            self.bell.ring();
        }
    }

    /// Brings libfabric to rest. False: something is there already. As long as core has messages to
    /// read nobody gets credit, which would let peers write to the slots that they lie in.
    fn settle(&mut self) -> bool {
        let unread = self.unread;
        for _ in 0..SETTLE {
            self.send_waiting();
            self.end_doomed();
            self.check_paths();
            if !unread {
                self.vouch(true);
                self.send_credits();
            }
            self.spread_news();
            #[cfg(test)]
            super::between::between_looks();
            // What is no message would not let the queue rest.
            let mut found = self.digest();
            let rests = !found && self.may_sleep();
            // To ask whether it rests may have brought something.
            found |= rests && self.digest();
            if !self.early.is_empty()
                || !self.lost.is_empty()
                || !self.troubles.is_empty()
                || self.has_stopped()
            {
                return false;
            }
            if found && (unread || std::mem::take(&mut self.refused)) {
                // There may be room now.
                return false;
            }
            if rests && !found {
                // One that is missing may be lost, which no sleep would tell.
                if self.has_filled_slots() {
                    return false;
                }
                let nap = self.nap();
                if nap.is_some() || self.napping {
                    self.bell.nap(nap);
                    self.napping = nap.is_some();
                }
                return true;
            }
        }
        false
    }

    /// Whether nothing is there, on any rail.
    fn may_sleep(&mut self) -> bool {
        self.rails.iter_mut().all(|rail| rail.closed || rail.endpoint.queue().may_sleep())
    }

    /// How long a sleep may last.
    fn nap(&self) -> Option<Duration> {
        let waits = |rail: &Rail| rail.sender.has_waiting() || rail.transfers.has_waiting();
        let to_say = !self.to_tell.is_empty() || !self.news.is_empty() || self.slots.has_offers();
        if self.rails.iter().any(waits) || to_say {
            return Some(NAP);
        }
        if !self.watched.is_empty() {
            return Some(NAP_OF_THE_WATCHFUL);
        }
        self.vouching.is_due_some_time().then_some(QUIET)
    }

    /// Whether no message can arrive on some rail until events have been fetched.
    fn has_stopped(&self) -> bool {
        self.rails.iter().any(|rail| !rail.closed && rail.receiver.is_stopped())
    }

    /// Looks at completions, up to `most` at a time of which events come, and hands on what comes
    /// of them. Whether anything had ended.
    pub(super) fn collect(&mut self, sink: &mut Sink<'_>, most: usize) -> bool {
        let mut ended = false;
        for rail in 0..self.rails.len() {
            ended |= self.collect_of(rail, sink, most);
        }
        // Where nothing is received, what is missing may wait for a buffer.
        let quiet = !ended && !self.has_stopped();
        ended | self.empty_slots(sink, quiet)
    }

    /// The same of one rail. What an earlier look has found comes first, and then no other look
    /// follows at once.
    #[inline]
    fn collect_of(&mut self, rail: usize, sink: &mut Sink<'_>, most: usize) -> bool {
        let (mut left, mut ended) = (most, false);
        let mut may_look = self.rails[rail].batch.is_empty();
        self.rails[rail].quiet = false;
        while left > 0 {
            let r = &mut self.rails[rail];
            if r.closed {
                break;
            }
            if let Some(completion) = r.batch.next() {
                ended = true;
                if let Some(event) = self.take(rail, completion, sink) {
                    self.give(event, sink);
                    left -= 1;
                }
                continue;
            }
            if !may_look || r.receiver.is_stopped() {
                break;
            }
            let read = r.endpoint.queue().read(&mut r.batch);
            self.looked = true;
            self.rest.looked(read, r.batch.len());
            ended |= read != Read::Nothing;
            r.quiet = read != Read::Some;
            may_look = read == Read::Some;
        }
        ended
    }

    /// Events that were found earlier, then new ones; how many.
    pub(super) fn gather(&mut self, events: &mut [Event]) -> usize {
        let early = self.early.len().min(events.len());
        for (place, event) in events.iter_mut().zip(self.early.drain(..early)) {
            *place = event;
        }
        let mut sink = Sink::new(&mut events[early..]);
        if let most @ 1.. = sink.events.len() {
            self.collect(&mut sink, most);
        }
        let mut n = early + sink.n;
        if !self.troubles.is_empty() {
            n += self.troubles.show(&mut events[n..]);
        }
        if n < events.len()
            && self.may_tell_losses()
            && let Some(peer) = self.lost.pop_front()
        {
            events[n] = Event::peer_down(peer);
            n += 1;
        }
        n
    }

    /// Whether all that peers have sent before they were lost has been handed on, their farewells
    /// among it.
    fn may_tell_losses(&self) -> bool {
        self.rails.iter().all(|rail| rail.closed || rail.quiet)
    }
}

/// What does not fit in the header of a peer's message, if anything. Counts what the peer has
/// consumed.
#[inline]
fn wrong_part(peer: &mut Peer, head: &Header) -> Option<&'static str> {
    if peer.its_cookie != head.cookie {
        return Some("cookie");
    }
    (!peer.count_acked(head.acked)).then_some("count of consumed messages")
}
