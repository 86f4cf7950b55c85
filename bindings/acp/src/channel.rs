//! The state of channels in this process. Sends no messages itself.
//!
//! The n-th channel that two processes make in one direction is the same one at both. Its messages
//! are numbered, and so are its receives: message and receive of equal number belong together, in
//! whatever order anything arrives. A short message goes at once, a longer one is offered and waits
//! for its receive. [`WINDOW`](crate::channel_words::WINDOW) messages may wait at the receiver;
//! further ones wait at the sender.
//!
//! Between processes of one host short messages go into a lane ([`channel_lane`]), which the
//! receiver's end creates and announces to the sender. A thread that waits for a message polls the
//! lane itself. Others need to only when the sender has no room or an end is freed, which a message
//! announces.
//!
//! The context's lock guards all of it. Code that holds it makes no calls to core: messages to be
//! sent are returned as [`Action`]s.
//!
//! [`channel_lane`]: crate::channel_lane

pub(crate) use crate::channel_end::Arrival;
use crate::channel_end::{Ended, Endpoint, fill};
use crate::channel_lane::{Lanes, Writer};
use crate::channel_words::{Action, Send, Span, Wire};
use crate::error::{Error, Result};
use crate::handles::Handles;
pub(crate) use at_once::{request_of_sent, sent_at_once};
use lapis_core::sync::{AtomicU64, Ordering};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of no message.
const NO_MESSAGE: u64 = u64::MAX;

#[derive(Debug)]
struct Request {
    endpoint: u64,
    /// The message's, among those of its channel; none is that of a request which frees.
    number: u64,
    ended: Option<Result<u64>>,
}

/// All channels of this process.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    endpoints: Handles<Endpoint>,
    by_wire: FxHashMap<Wire, u64>,
    /// How many channels of a direction and a task have been made.
    made: FxHashMap<(bool, u32), u64>,
    requests: Handles<Request>,
    /// How many requests have ended: who waits for one looks at this number alone, without the
    /// lock, until it changes.
    ends: Arc<AtomicU64>,
    lanes: Lanes,
}

impl Channels {
    pub(crate) fn new(lanes: Lanes) -> Self {
        Self { lanes, ..Self::default() }
    }

    pub(crate) fn ends(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.ends)
    }

    /// Makes one end of a channel. `near`: the other end sees this process's memory for lanes.
    pub(crate) fn create(&mut self, sending: bool, task: u32, near: bool) -> Result<(u64, Vec<Action>)> {
        let number = self.made.get(&(sending, task)).copied().unwrap_or(0);
        let handle = self.endpoint((sending, task, number)).ok_or(Error::Memory)?;
        self.made.insert((sending, task), number + 1);
        let mut actions = Vec::new();
        let Some(endpoint) = self.endpoints.get_mut(handle) else { return Err(Error::Internal) };
        endpoint.made = true;
        if !sending
            && near
            && let Some((at, reader)) = self.lanes.make(task)
        {
            endpoint.reader = Some(reader);
            endpoint.lane_at = Some(at);
            actions.push(Action { task, send: Send::Lane { channel: number, at } });
        }
        Ok((handle, actions))
    }

    fn endpoint(&mut self, wire: Wire) -> Option<u64> {
        if let Some(handle) = self.by_wire.get(&wire) {
            return Some(*handle);
        }
        let handle = self.endpoints.insert(Endpoint::new(wire))?;
        self.by_wire.insert(wire, handle);
        Some(handle)
    }

    /// The endpoint that a message names; `None`: it has been freed.
    fn named(&mut self, wire: Wire) -> Option<&mut Endpoint> {
        let (sending, task, number) = wire;
        let over = !self.by_wire.contains_key(&wire)
            && number < self.made.get(&(sending, task)).copied().unwrap_or(0);
        if over {
            return None;
        }
        let handle = self.endpoint(wire)?;
        self.endpoints.get_mut(handle)
    }

    fn usable(endpoints: &mut Handles<Endpoint>, handle: u64, sending: bool) -> Result<&mut Endpoint> {
        let endpoint = endpoints.get_mut(handle).ok_or(Error::Channel)?;
        if !endpoint.made || endpoint.wire.0 != sending || endpoint.closing.is_some() {
            return Err(Error::Channel);
        }
        if endpoint.dead && !endpoint.has_next() { Err(Error::Peer) } else { Ok(endpoint) }
    }

    /// Begins a send or a receive; gives its request and what has to be sent.
    pub(crate) fn post(&mut self, handle: u64, sending: bool, bytes: Span) -> Result<(u64, Vec<Action>)> {
        let mut actions = Vec::new();
        if !self.requests.has_room() {
            return Err(Error::Memory);
        }
        let endpoint = Self::usable(&mut self.endpoints, handle, sending)?;
        let number = endpoint.posted;
        let vain = endpoint.closed.is_some_and(|messages| number >= messages);
        let ended = vain.then_some(Err(Error::Channel));
        endpoint.posted += 1;
        let request =
            self.requests.insert(Request { endpoint: handle, number, ended }).ok_or(Error::Memory)?;
        if !vain {
            endpoint.open.insert(number, request, bytes);
            let ended = endpoint.begin(number, sending, &mut actions);
            self.end_all(ended);
        }
        Ok((request, actions))
    }

    /// Ends a request.
    fn end(&mut self, request: u64, outcome: Result<u64>) {
        if let Some(request) = self.requests.get_mut(request) {
            request.ended.get_or_insert(outcome);
            self.count_end();
        }
    }

    #[inline(always)]
    fn count_end(&self) {
        // Changed with the lock held only, so that a plain load and store do.
        let ends = self.ends.load(Ordering::Relaxed) + 1;
        // SYNC: Release pairs with `wait_until`: who sees the number sees what was received.
        self.ends.store(ends, Ordering::Release);
    }

    fn end_all(&mut self, ended: Ended) {
        ended.into_iter().for_each(|(request, len)| self.end(request, Ok(len)));
    }

    /// A request has ended: its memory is the program's again.
    pub(crate) fn ended(&mut self, request: u64, outcome: Result<u64>) -> Vec<Action> {
        self.end(request, outcome);
        let Some(known) = self.requests.get(request) else { return Vec::new() };
        let (handle, number) = (known.endpoint, known.number);
        let Some(endpoint) = self.endpoints.get_mut(handle) else { return Vec::new() };
        endpoint.open.remove(number);
        self.close(handle)
    }

    /// Gives how a request ended, once; `None`: it has not yet.
    #[inline]
    pub(crate) fn take(&mut self, request: u64) -> Option<Result<u64>> {
        if let Some(len) = sent_at_once(request) {
            return Some(Ok(len));
        }
        let Some(known) = self.requests.get(request) else { return Some(Err(Error::Request)) };
        let ended = known.ended?;
        self.requests.remove(request);
        Some(ended)
    }

    /// Sees what its lane has for a request, then [takes](Self::take) it.
    pub(crate) fn poll(&mut self, request: u64) -> (Option<Result<u64>>, Vec<Action>) {
        let outcome = self.take(request);
        if outcome.is_some() {
            return (outcome, Vec::new());
        }
        let handle = self.requests.get(request).map_or(0, |request| request.endpoint);
        let actions = self.look_for(handle);
        (self.take(request), actions)
    }

    /// Receives from the lane, or sends into it, what is possible now.
    #[inline]
    fn look_for(&mut self, handle: u64) -> Vec<Action> {
        let (mut ended, mut actions) = (Ended::new(), Vec::new());
        let Some(endpoint) = self.endpoints.get_mut(handle) else { return actions };
        if endpoint.wire.0 {
            endpoint.release(&mut ended, &mut actions);
        } else {
            endpoint.receive(&mut ended, &mut actions);
        }
        self.settle(handle, ended, &mut actions);
        actions
    }

    /// Ends requests of an end, and goes on freeing it if that was what it waited for.
    #[inline]
    fn settle(&mut self, handle: u64, ended: Ended, actions: &mut Vec<Action>) {
        if !ended.is_empty() {
            self.end_all(ended);
            actions.extend(self.close(handle));
        }
    }

    /// The lane of a channel that this process sends.
    pub(crate) fn lane_made(&mut self, task: u32, channel: u64, writer: Writer) {
        if let Some(endpoint) = self.named((true, task, channel))
            && endpoint.writer.is_none()
        {
            endpoint.writer = Some(writer);
        }
    }

    /// The sender says that something is in the lane, or that it waits for room.
    pub(crate) fn look(&mut self, task: u32, channel: u64, full: bool, awaited: u64) -> Vec<Action> {
        let (mut ended, mut actions) = (Ended::new(), Vec::new());
        let wire = (false, task, channel);
        let Some(endpoint) = self.named(wire) else { return actions };
        endpoint.look(full, awaited, &mut ended, &mut actions);
        if let Some(&handle) = self.by_wire.get(&wire) {
            self.settle(handle, ended, &mut actions);
        }
        actions
    }

    /// A whole message.
    pub(crate) fn whole(&mut self, task: u32, channel: u64, number: u64, data: &[u8]) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(endpoint) = self.named((false, task, channel)) else { return actions };
        if let Some((request, bytes)) = endpoint.open.get(number) {
            // SAFETY: these are the slice's bytes.
            let len = unsafe { fill(bytes, data.as_ptr(), data.len()) };
            endpoint.open.remove(number);
            endpoint.took(&mut actions);
            actions.extend(self.ended(request, Ok(len)));
        } else if endpoint.closing.is_none() {
            endpoint.arrived.insert(number, Arrival::Whole(data.to_vec()));
        }
        actions
    }

    /// A message waits at its sender.
    pub(crate) fn offered(
        &mut self,
        task: u32,
        channel: u64,
        number: u64,
        len: u64,
        request: u64,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(endpoint) = self.named((false, task, channel)) else { return actions };
        let arrival = Arrival::Offered { request, len };
        if endpoint.open.get(number).is_none() {
            endpoint.arrived.insert(number, arrival);
            return actions;
        }
        if let Some((request, len)) = endpoint.meet(number, arrival, &mut actions) {
            actions.extend(self.ended(request, Ok(len)));
        }
        actions
    }

    /// A receive is ready for the message of a request.
    pub(crate) fn cleared(&mut self, task: u32, request: u64, receive: u64, len: u64) -> Vec<Action> {
        let Some((address, all)) = self.destination(request) else { return Vec::new() };
        if len == 0 {
            return self.ended(request, Ok(0));
        }
        vec![Action { task, send: Send::Data { receive, bytes: (address, len.min(all)), request } }]
    }

    /// Where the data of a request comes from or goes, until it ends.
    pub(crate) fn destination(&self, request: u64) -> Option<Span> {
        let Request { endpoint, number, ended: None } = self.requests.get(request)? else { return None };
        self.endpoints.get(*endpoint)?.open.get(*number).map(|(_, bytes)| bytes)
    }

    /// The receiver has taken messages.
    pub(crate) fn credited(&mut self, task: u32, channel: u64, taken: u64) -> Vec<Action> {
        let (mut ended, mut actions) = (Ended::new(), Vec::new());
        let wire = (true, task, channel);
        let Some(endpoint) = self.named(wire) else { return actions };
        endpoint.credited(taken, &mut ended, &mut actions);
        if let Some(&handle) = self.by_wire.get(&wire) {
            self.settle(handle, ended, &mut actions);
        }
        actions
    }

    /// Begins to free an end.
    pub(crate) fn free(&mut self, handle: u64) -> Result<(u64, Vec<Action>)> {
        let sending = self.endpoints.get(handle).ok_or(Error::Channel)?.wire.0;
        match Self::usable(&mut self.endpoints, handle, sending) {
            // What is left of it goes without the other end.
            Ok(_) | Err(Error::Peer) => {}
            Err(error) => return Err(error),
        }
        let request = Request { endpoint: handle, number: NO_MESSAGE, ended: None };
        let request = self.requests.insert(request).ok_or(Error::Memory)?;
        let mut actions = self.look_for(handle);
        if let Some(endpoint) = self.endpoints.get_mut(handle) {
            endpoint.closing = Some(request);
            endpoint.arrived.clear();
        }
        actions.extend(self.close(handle));
        Ok((request, actions))
    }

    /// The other end has been freed.
    pub(crate) fn closed(
        &mut self,
        task: u32,
        channel: u64,
        from_sender: bool,
        messages: u64,
    ) -> Vec<Action> {
        let wire = (!from_sender, task, channel);
        let Some(endpoint) = self.named(wire) else { return Vec::new() };
        endpoint.closed = Some(messages);
        endpoint.held.retain(|number| *number < messages);
        let vain = endpoint.open.from(messages);
        let mut actions = match self.by_wire.get(&wire) {
            // What the sender has sent is in the lane.
            Some(&handle) if from_sender => self.look_for(handle),
            _ => Vec::new(),
        };
        for request in vain {
            actions.extend(self.ended(request, Err(Error::Channel)));
        }
        if let Some(&handle) = self.by_wire.get(&wire) {
            actions.extend(self.close(handle));
        }
        actions
    }

    /// Goes on freeing an end, as far as that is possible now.
    fn close(&mut self, handle: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(endpoint) = self.endpoints.get_mut(handle) else { return actions };
        let Some(request) = endpoint.closing else { return actions };
        let (sending, task, channel) = endpoint.wire;
        let idle = endpoint.open.is_empty();
        // A sender tells when all is sent, a receiver at once how much more it takes.
        if !endpoint.told && !endpoint.dead && (idle || !sending) {
            endpoint.told = true;
            let send = Send::Close { channel, from_sender: sending, messages: endpoint.posted };
            actions.push(Action { task, send });
        }
        if endpoint.dead || idle && endpoint.told && endpoint.closed.is_some() {
            let (wire, lane, dead) = (endpoint.wire, endpoint.lane_at, endpoint.dead);
            self.endpoints.remove(handle);
            self.by_wire.remove(&wire);
            // Who is thought dead may live and write.
            if let Some(at) = lane.filter(|_| !dead) {
                self.lanes.give_back(at);
            }
            self.end(request, Ok(0));
        }
        actions
    }

    /// A task is gone: what needs it has failed.
    pub(crate) fn gone(&mut self, task: u32) {
        for handle in self.endpoints.handles() {
            if self.endpoints.get(handle).is_none_or(|endpoint| endpoint.wire.1 != task) {
                continue;
            }
            // Messages that came whole are received, now or later. Nobody is left to be told
            // anything.
            if self.endpoints.get(handle).is_some_and(|endpoint| !endpoint.wire.0) {
                self.look_for(handle);
            }
            let Some(endpoint) = self.endpoints.get_mut(handle) else { continue };
            endpoint.dead = true;
            endpoint.keep_what_came();
            endpoint.held.clear();
            let open = endpoint.open.from(0);
            endpoint.open.clear();
            open.into_iter().for_each(|request| self.end(request, Err(Error::Peer)));
            self.close(handle);
        }
    }

    /// Forgets all channels and requests; their handles stay void.
    pub(crate) fn reset(&mut self) {
        self.endpoints.clear();
        self.requests.clear();
        self.by_wire.clear();
        self.made.clear();
        self.lanes.clear();
        // Those that wait find their requests gone.
        self.count_end();
    }
}

#[path = "channel_at_once.rs"]
mod at_once;
#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
