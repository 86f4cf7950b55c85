//! What libfabric tells: messages, and what has ended.

use super::Rdma;
use crate::header::{self, Header, Kind};
use crate::queue::Completion;
use lapis_core::transport::Event;

/// How often [`Rdma::settle`] looks before it says that there is something: a connection that is
/// being made keeps a queue from resting, and takes a while.
const SETTLE: usize = 100;

impl Rdma {
    /// What arrived, if it is for core.
    #[inline]
    pub(super) fn accept(&mut self, bytes: *mut u8, len: usize) -> Option<Event> {
        // SAFETY: libfabric has finished writing these bytes, and the buffer is ours until it is
        // posted again, at the next poll at the earliest.
        let message = unsafe { std::slice::from_raw_parts(bytes, len) };
        let Some(head) = Header::decode(message) else {
            self.host.debug(format_args!("{len} bytes that are no message were dropped"));
            return None;
        };
        let peer = self.peers.get_mut(head.source)?;
        if peer.its_cookie != head.cookie || !peer.count_acked(head.acked) {
            self.host.debug(format_args!("a message with a wrong cookie was dropped"));
            return None;
        }
        if head.kind == Kind::GivenUp {
            self.give_up(head.source, "it can't reach this task any more", false);
            return None;
        }
        if peer.torn {
            return None;
        }
        if self.ordered && !peer.follows(head.number) {
            self.tear(head.source, head.number);
            return None;
        }
        if head.kind == Kind::Ack {
            return None;
        }
        if peer.count_consumed() {
            self.to_tell.push_back(head.source);
        }
        Some(Event::message(head.source, bytes.wrapping_add(header::LEN), head.length))
    }

    pub(super) fn take(&mut self, completion: Completion) -> Option<Event> {
        match completion {
            Completion::Sent { context } => {
                self.sender.ended(context);
            }
            Completion::Received { bytes, len } => return self.accept(bytes, len),
            Completion::Released { context } => self.receiver.release(context),
            Completion::Moved { context } => {
                let index = self.transfers.index_of(context)?;
                let ended = self.transfers.ended(&mut self.endpoint, index, Ok(()))?;
                return Some(self.moved(ended));
            }
            Completion::Broken { code } => self.fail("the completion queue", code),
            Completion::Failed { context, released, code } => {
                if let Some(index) = self.transfers.index_of(context) {
                    let ended = self.transfers.ended(&mut self.endpoint, index, Err(code))?;
                    return Some(self.moved(ended));
                }
                if let Some(peer) = self.sender.ended(context) {
                    self.lose(peer, code);
                    return None;
                }
                let text = self.endpoint.text(code);
                self.host.debug(format_args!("a receive buffer failed: {text}"));
                if released {
                    self.receiver.release(context);
                }
            }
        }
        None
    }

    /// Gives libfabric what it had no room for.
    #[inline]
    pub(super) fn send_waiting(&mut self) {
        while self.sender.has_waiting() {
            let Err((peer, code)) = self.sender.send_waiting(&mut self.endpoint) else { break };
            self.lose(peer, code);
        }
        while let Some(ended) = self.transfers.confirm(&mut self.endpoint) {
            let event = self.moved(ended);
            self.early.push_back(event);
        }
    }

    /// Deals with what has ended; messages wait for the next poll. Whether anything had.
    pub(super) fn digest(&mut self) -> bool {
        let mut found = false;
        while !self.receiver.is_stopped() {
            let mut events = [Event::EMPTY; 16];
            let (n, any) = self.collect(&mut events);
            self.early.extend(&events[..n]);
            found |= any;
            if !any {
                break;
            }
        }
        found
    }

    /// Leaves things such that whoever sleeps from now on is woken by what comes. False: something
    /// is there already.
    pub(super) fn settle(&mut self) -> bool {
        for _ in 0..SETTLE {
            self.send_waiting();
            self.end_doomed();
            self.tell();
            self.spread_news();
            // What is no message would not let the queue rest.
            let found = self.digest();
            if !self.early.is_empty() || !self.lost.is_empty() || self.receiver.is_stopped() {
                return false;
            }
            if found && std::mem::take(&mut self.refused) {
                // There may be room now.
                return false;
            }
            if self.broken || !found && self.endpoint.queue().may_sleep() {
                let nap = self.sender.has_waiting()
                    || self.transfers.has_waiting()
                    || !self.to_tell.is_empty()
                    || !self.news.is_empty();
                if nap || self.napping {
                    self.bell.nap(nap);
                    self.napping = nap;
                }
                return true;
            }
        }
        false
    }

    /// Collects completions into `events`: how many events, and whether anything had ended.
    pub(super) fn collect(&mut self, events: &mut [Event]) -> (usize, bool) {
        let (mut n, mut ended) = (0, false);
        // At most one event comes of a completion.
        while n < events.len() {
            let mut found = [const { None }; 32];
            let mut count = 0;
            if self.broken {
                break;
            }
            let any = self.endpoint.queue().completions(events.len() - n, |completion| {
                found[count] = Some(completion);
                count += 1;
            });
            ended |= any;
            for completion in found.into_iter().take(count).flatten() {
                if let Some(event) = self.take(completion) {
                    events[n] = event;
                    n += 1;
                }
            }
            if !any || self.receiver.is_stopped() {
                break;
            }
        }
        (n, ended)
    }

    /// Events that were found earlier, then new ones; how many.
    pub(super) fn gather(&mut self, events: &mut [Event]) -> usize {
        let early = self.early.len().min(events.len());
        for (place, event) in events.iter_mut().zip(self.early.drain(..early)) {
            *place = event;
        }
        let n = early + self.collect(&mut events[early..]).0;
        match self.lost.pop_front() {
            Some(peer) if n < events.len() => {
                events[n] = Event::peer_down(peer);
                n + 1
            }
            Some(peer) => {
                self.lost.push_front(peer);
                n
            }
            None => n,
        }
    }
}
