//! Channels: what each endpoint knows, without messages or memory of its own.
//!
//! The n-th channel that two processes make in one direction is the same one at both. Its messages
//! are numbered, and so are its receives: message and receive of equal number belong together, in
//! whatever order anything arrives. A short message goes at once, a longer one is offered and waits
//! for its receive. [`WINDOW`] messages may wait at the receiver; further ones wait at the sender.
//!
//! Whoever holds the lock of [`Channels`] calls nothing of core: what has to be sent is given as
//! [`Action`]s.

use crate::error::{Error, Result};
use lapis_core::sync::{AtomicU64, Ordering};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Messages of a channel that no receive has taken yet.
pub(crate) const WINDOW: u64 = 32;

/// Longer messages are offered first.
pub(crate) const EAGER: u64 = 4096;

/// The number of no message.
const NO_MESSAGE: u64 = u64::MAX;

/// Memory of the program: an address and a length.
pub(crate) type Span = (usize, u64);

/// Something to be sent to `task`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) task: u32,
    pub(crate) send: Send,
}

/// `channel` is the number of the channel among those of the two processes in its direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Send {
    /// The message of a request, which ends when its memory may be used again.
    Whole { channel: u64, number: u64, bytes: Span, request: u64 },
    /// A message waits.
    Offer { channel: u64, number: u64, len: u64, request: u64 },
    /// To the sender: the memory of a receive is there for so many bytes.
    Clear { request: u64, receive: u64, len: u64 },
    /// What was waited for.
    Data { receive: u64, bytes: Span, request: u64 },
    /// To the sender: so many messages have been taken.
    Credit { channel: u64, taken: u64 },
    /// The sender's end: so many messages were sent, or will be received.
    Close { channel: u64, from_sender: bool, messages: u64 },
}

/// What came before its receive.
#[derive(Debug)]
enum Arrival {
    Whole(Vec<u8>),
    Offered { request: u64, len: u64 },
}

/// Which endpoint: whether it sends, to or from which task, which of these channels.
type Wire = (bool, u32, u64);

#[derive(Debug)]
struct Endpoint {
    wire: Wire,
    /// Whether the program made it; a message may come before.
    made: bool,
    /// Messages sent, or receives posted.
    posted: u64,
    /// Sender: messages that the receiver has taken. Receiver: taken, and not told yet.
    taken: u64,
    /// Requests of the program by number of the message; their memory.
    open: FxHashMap<u64, (u64, Span)>,
    /// Sends that wait for the window.
    held: VecDeque<u64>,
    arrived: FxHashMap<u64, Arrival>,
    /// The request that frees this end, and whether the other end has been told.
    closing: Option<u64>,
    told: bool,
    /// The other end has been freed: so many messages there are.
    closed: Option<u64>,
    dead: bool,
}

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
    /// Of handles: endpoints and requests are counted together.
    last: u64,
    endpoints: FxHashMap<u64, Endpoint>,
    by_wire: FxHashMap<Wire, u64>,
    /// How many channels of a direction and a task have been made.
    made: FxHashMap<(bool, u32), u64>,
    requests: FxHashMap<u64, Request>,
    /// How many requests have ended: who waits for one looks at this number alone, without the
    /// lock, until it changes.
    ends: Arc<AtomicU64>,
}

impl Channels {
    pub(crate) fn ends(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.ends)
    }

    fn handle(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Makes one end of a channel.
    pub(crate) fn create(&mut self, sending: bool, task: u32) -> u64 {
        let made = self.made.entry((sending, task)).or_insert(0);
        let number = *made;
        *made += 1;
        let handle = self.endpoint((sending, task, number));
        if let Some(endpoint) = self.endpoints.get_mut(&handle) {
            endpoint.made = true;
        }
        handle
    }

    fn endpoint(&mut self, wire: Wire) -> u64 {
        if let Some(handle) = self.by_wire.get(&wire) {
            return *handle;
        }
        let handle = self.handle();
        let endpoint = Endpoint {
            wire,
            made: false,
            posted: 0,
            taken: 0,
            open: FxHashMap::default(),
            held: VecDeque::new(),
            arrived: FxHashMap::default(),
            closing: None,
            told: false,
            closed: None,
            dead: false,
        };
        self.endpoints.insert(handle, endpoint);
        self.by_wire.insert(wire, handle);
        handle
    }

    /// The endpoint that a message names; `None`: it has been freed.
    fn named(&mut self, wire: Wire) -> Option<&mut Endpoint> {
        let (sending, task, number) = wire;
        let over = !self.by_wire.contains_key(&wire)
            && number < self.made.get(&(sending, task)).copied().unwrap_or(0);
        if over {
            return None;
        }
        let handle = self.endpoint(wire);
        self.endpoints.get_mut(&handle)
    }

    fn usable(&mut self, handle: u64, sending: bool) -> Result<&mut Endpoint> {
        let endpoint = self.endpoints.get_mut(&handle).ok_or(Error::Channel)?;
        if !endpoint.made || endpoint.wire.0 != sending || endpoint.closing.is_some() {
            return Err(Error::Channel);
        }
        if endpoint.dead { Err(Error::Peer) } else { Ok(endpoint) }
    }

    /// Begins a send or a receive; gives its request and what has to be sent.
    pub(crate) fn post(&mut self, handle: u64, sending: bool, bytes: Span) -> Result<(u64, Vec<Action>)> {
        let number = self.usable(handle, sending)?.posted;
        let request = self.handle();
        self.requests.insert(request, Request { endpoint: handle, number, ended: None });
        let endpoint = self.usable(handle, sending)?;
        endpoint.posted += 1;
        endpoint.open.insert(number, (request, bytes));
        if endpoint.closed.is_some_and(|messages| number >= messages) {
            endpoint.open.remove(&number);
            self.end(request, Err(Error::Channel));
            return Ok((request, Vec::new()));
        }
        let mut actions = Vec::new();
        if sending {
            endpoint.held.push_back(number);
            endpoint.release(&mut actions);
        } else if let Some(arrival) = endpoint.arrived.remove(&number) {
            let ended = endpoint.meet(number, arrival, &mut actions);
            ended.into_iter().for_each(|(request, len)| self.end(request, Ok(len)));
        }
        Ok((request, actions))
    }

    /// Ends a request.
    fn end(&mut self, request: u64, outcome: Result<u64>) {
        if let Some(request) = self.requests.get_mut(&request) {
            request.ended.get_or_insert(outcome);
            // SYNC: Release pairs with `wait_request`: who sees the number sees what was received.
            self.ends.fetch_add(1, Ordering::Release);
        }
    }

    /// A request has ended: its memory is the program's again.
    pub(crate) fn ended(&mut self, request: u64, outcome: Result<u64>) -> Vec<Action> {
        self.end(request, outcome);
        let Some(known) = self.requests.get(&request) else { return Vec::new() };
        let (handle, number) = (known.endpoint, known.number);
        let Some(endpoint) = self.endpoints.get_mut(&handle) else { return Vec::new() };
        endpoint.open.remove(&number);
        self.close(handle)
    }

    /// Gives how a request ended, once; `None`: it has not yet.
    pub(crate) fn take(&mut self, request: u64) -> Option<Result<u64>> {
        let Some(known) = self.requests.get(&request) else { return Some(Err(Error::Request)) };
        let ended = known.ended?;
        self.requests.remove(&request);
        Some(ended)
    }

    /// A whole message.
    pub(crate) fn whole(&mut self, task: u32, channel: u64, number: u64, data: &[u8]) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(endpoint) = self.named((false, task, channel)) else { return actions };
        if let Some(&(request, bytes)) = endpoint.open.get(&number) {
            let len = fill(bytes, data);
            endpoint.open.remove(&number);
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
        if !endpoint.open.contains_key(&number) {
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
        let Request { endpoint, number, ended: None } = self.requests.get(&request)? else { return None };
        self.endpoints.get(endpoint)?.open.get(number).map(|(_, bytes)| *bytes)
    }

    /// The receiver has taken messages.
    pub(crate) fn credited(&mut self, task: u32, channel: u64, taken: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(endpoint) = self.named((true, task, channel)) {
            endpoint.taken += taken;
            endpoint.release(&mut actions);
        }
        actions
    }

    /// Begins to free an end.
    pub(crate) fn free(&mut self, handle: u64) -> Result<(u64, Vec<Action>)> {
        let sending = self.endpoints.get(&handle).ok_or(Error::Channel)?.wire.0;
        match self.usable(handle, sending) {
            // What is left of it goes without the other end.
            Ok(_) | Err(Error::Peer) => {}
            Err(error) => return Err(error),
        }
        let request = self.handle();
        let open = Request { endpoint: handle, number: NO_MESSAGE, ended: None };
        self.requests.insert(request, open);
        if let Some(endpoint) = self.endpoints.get_mut(&handle) {
            endpoint.closing = Some(request);
            endpoint.arrived.clear();
        }
        Ok((request, self.close(handle)))
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
        let vain: Vec<u64> =
            endpoint.open.iter().filter(|(number, _)| **number >= messages).map(|(_, open)| open.0).collect();
        let mut actions = Vec::new();
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
        let Some(endpoint) = self.endpoints.get_mut(&handle) else { return actions };
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
            let wire = endpoint.wire;
            self.endpoints.remove(&handle);
            self.by_wire.remove(&wire);
            self.end(request, Ok(0));
        }
        actions
    }

    /// A task is gone: what needs it has failed.
    pub(crate) fn gone(&mut self, task: u32) {
        let of_task = |(_, endpoint): &(&u64, &Endpoint)| endpoint.wire.1 == task;
        let handles: Vec<u64> = self.endpoints.iter().filter(of_task).map(|(handle, _)| *handle).collect();
        for handle in handles {
            let Some(endpoint) = self.endpoints.get_mut(&handle) else { continue };
            endpoint.dead = true;
            endpoint.held.clear();
            // Messages that came whole are there to be received.
            let open: Vec<u64> = endpoint.open.drain().map(|(_, (request, _))| request).collect();
            open.into_iter().for_each(|request| self.end(request, Err(Error::Peer)));
            self.close(handle);
        }
    }

    /// Forgets all channels and requests; their handles stay void.
    pub(crate) fn reset(&mut self) {
        let ends = self.ends();
        *self = Self { last: self.last, ends, ..Self::default() };
        // SYNC: Release as in `end`: those that wait find their requests gone.
        self.ends.fetch_add(1, Ordering::Release);
    }
}

impl Endpoint {
    /// Sends what the window has room for.
    fn release(&mut self, actions: &mut Vec<Action>) {
        let (_, task, channel) = self.wire;
        while let Some(&number) = self.held.front()
            && number < self.taken + WINDOW
        {
            self.held.pop_front();
            let Some(&(request, bytes)) = self.open.get(&number) else { continue };
            let send = if bytes.1 <= EAGER {
                Send::Whole { channel, number, bytes, request }
            } else {
                Send::Offer { channel, number, len: bytes.1, request }
            };
            actions.push(Action { task, send });
        }
    }

    /// A receive meets its message. Gives the receive's request and size if that ends it.
    fn meet(&mut self, number: u64, arrival: Arrival, actions: &mut Vec<Action>) -> Option<(u64, u64)> {
        let &(receive, bytes) = self.open.get(&number)?;
        self.took(actions);
        match arrival {
            Arrival::Whole(data) => {
                self.open.remove(&number);
                Some((receive, fill(bytes, &data)))
            }
            Arrival::Offered { request, len } => {
                let len = len.min(bytes.1);
                actions.push(Action { task: self.wire.1, send: Send::Clear { request, receive, len } });
                (len == 0).then_some((receive, 0))
            }
        }
    }

    /// A message has left the window.
    fn took(&mut self, actions: &mut Vec<Action>) {
        let (_, task, channel) = self.wire;
        self.taken += 1;
        if self.taken >= WINDOW / 2 {
            actions.push(Action { task, send: Send::Credit { channel, taken: self.taken } });
            self.taken = 0;
        }
    }
}

/// Copies as much of a message as a receive takes.
fn fill((address, len): Span, data: &[u8]) -> u64 {
    let len = data.len().min(len as usize);
    if len > 0 {
        // SAFETY: the program has lent the memory until the request ends.
        unsafe {
            std::ptr::with_exposed_provenance_mut::<u8>(address).copy_from_nonoverlapping(data.as_ptr(), len);
        }
    }
    len as u64
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
