//! The contract.

use crate::address::Card;
use crate::endpoint::Endpoint;
use crate::header::{self, End, Header, Kind, cookie};
use crate::library::Library;
use crate::peers::{Peer, Peers};
use crate::provider::{self, Wanted};
use crate::queue::Completion;
use crate::receive::Receiver;
use crate::send::{LONGEST, Refused, SIZE, Sender};
use crate::waiter::{Bell, RdmaWaiter};
use lapis_core::sync::Arc;
use lapis_core::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, OpenParams, PeerId, Status, Transport, TransportError,
};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long closing waits for what is under way.
const LINGER: Duration = Duration::from_millis(200);

/// Jobs of so many tasks make all connections at the start, while everybody is there to answer.
/// In larger ones a connection is made when it is used first, to save memory.
const CONNECTED_AT_ONCE: usize = 64;

/// How often [`Rdma::settle`] looks before it says that there is something: a connection that is
/// being made keeps a queue from resting, and takes a while.
const SETTLE: usize = 100;

/// Keys of the registrations for messages, where the provider lets us choose them.
const SEND_KEY: u64 = 1;
const RECEIVE_KEY: u64 = 2;

/// One task's endpoint, and the peers that it reaches.
pub struct Rdma {
    // Registrations are closed before the domain, which `endpoint` holds.
    sender: Sender,
    receiver: Receiver,
    endpoint: Endpoint,
    name: Vec<u8>,
    host: Host,
    me: End,
    secret: [u8; 32],
    peers: Peers,
    /// Peers that should be told what we have consumed, by messages that had no room yet.
    to_tell: VecDeque<PeerId>,
    /// Peers that were lost and that core does not know to be.
    lost: VecDeque<PeerId>,
    /// Messages that were found while somebody was about to sleep. Their buffers stay ours until
    /// these have been given out.
    early: VecDeque<Event>,
    /// Whether an operation was answered `Again` since the last poll.
    refused: bool,
    bell: Arc<Bell>,
    /// Whether every poll must leave things such that whoever sleeps then is woken.
    watchful: bool,
    napping: bool,
    /// Whether the provider tells by a descriptor that something came.
    sleeps: bool,
    library: (u32, u32),
}

// SAFETY: the pointers are to objects that libfabric lets any thread use, one at a time, and to
// buffers that belong to them.
unsafe impl Send for Rdma {}

impl Rdma {
    fn new(host: Host, params: &OpenParams<'_>) -> Result<(Self, RdmaWaiter), TransportError> {
        let library = Library::load()?;
        let info = provider::choose(&library, &Wanted::of(&host))?;
        let mut endpoint = Endpoint::open(library, info, params.tasks as usize, SIZE)?;
        let name = endpoint.name()?;
        let sender = Sender::new(&mut endpoint, SEND_KEY)?;
        let mut receiver = Receiver::new(&mut endpoint, RECEIVE_KEY)?;
        receiver.post(&mut endpoint).map_err(|code| {
            TransportError::Io(format!("posting receive buffers: {}", endpoint.text(code)))
        })?;
        let me = End { task: params.task, nonce: nonce()? };
        let sleeps = endpoint.queue().fd().is_some();
        let bell = Bell::new(endpoint.queue().fd())
            .map_err(|e| TransportError::Io(format!("preparing to sleep on the completion queue: {e}")))?;
        let bell = Arc::new(bell);
        host.debug(format_args!(
            "task {}: provider {}, domain {}",
            params.task,
            endpoint.provider(),
            endpoint.domain_name()
        ));
        let this = Self {
            sender,
            receiver,
            endpoint,
            name,
            host,
            me,
            secret: *params.secret,
            peers: Peers::new(params.tasks),
            to_tell: VecDeque::new(),
            lost: VecDeque::new(),
            early: VecDeque::new(),
            refused: false,
            bell: Arc::clone(&bell),
            watchful: params.interrupts,
            napping: false,
            sleeps,
            library: library.version(),
        };
        Ok((this, RdmaWaiter(bell)))
    }

    /// What precedes the next message to a peer, or why there can be none now.
    #[inline]
    fn next_header(&mut self, peer: PeerId, len: usize) -> Result<(Header, u64), Status> {
        let source = self.me.task;
        let Some(p) = self.peers.get_mut(peer) else { return Err(Status::Invalid) };
        if len > LONGEST {
            return Err(Status::Invalid);
        }
        if p.down {
            return Err(Status::PeerDown);
        }
        if !p.has_credit() {
            self.refused = true;
            return Err(Status::Again);
        }
        if !p.greeted {
            self.greet(peer)?;
        }
        let Some(p) = self.peers.get_mut(peer) else { return Err(Status::Invalid) };
        let (cookie, acked) = (p.our_cookie, p.consumed());
        let header = Header { cookie, source, acked, length: len as u32, kind: Kind::Message };
        Ok((header, p.to))
    }

    /// Has a connection made. While that is under way messages are refused, not kept: nobody need
    /// call us once more after a message was accepted.
    #[cold]
    fn greet(&mut self, peer: PeerId) -> Result<(), Status> {
        let source = self.me.task;
        let Some(p) = self.peers.get_mut(peer) else { return Err(Status::Invalid) };
        let (cookie, acked) = (p.our_cookie, p.consumed());
        let head = Header { cookie, source, acked, length: 0, kind: Kind::Ack };
        match self.sender.greet(&mut self.endpoint, p.to, head) {
            Ok(()) => {
                p.greeted = true;
                Ok(())
            }
            Err(Refused::Busy) => {
                self.refused = true;
                Err(Status::Again)
            }
            Err(Refused::Failed(code)) => {
                self.lose(peer, code);
                Err(Status::PeerDown)
            }
        }
    }

    #[inline]
    fn sent(&mut self, peer: PeerId, outcome: Result<(), Refused>) -> Status {
        match outcome {
            Ok(()) => {
                if let Some(p) = self.peers.get_mut(peer) {
                    p.count_sent();
                }
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

    /// A peer can't be reached any more.
    #[cold]
    fn lose(&mut self, peer: PeerId, code: i32) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        if !std::mem::replace(&mut p.down, true) {
            self.host.info(format_args!("task {peer} is lost: {}", self.endpoint.text(code)));
            self.lost.push_back(peer);
        }
    }

    /// Tells peers what was consumed of theirs, as far as there is room.
    #[inline]
    fn tell(&mut self) {
        while let Some(&peer) = self.to_tell.front() {
            let source = self.me.task;
            if let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) {
                let (cookie, acked, to) = (p.our_cookie, p.consumed(), p.to);
                let head = Header { cookie, source, acked, length: 0, kind: Kind::Ack };
                match self.sender.send(&mut self.endpoint, (peer, to), head, [&[], &[]]) {
                    Ok(()) => p.count_told(),
                    Err(Refused::Busy) => return,
                    Err(Refused::Failed(code)) => self.lose(peer, code),
                }
            }
            self.to_tell.pop_front();
        }
    }

    /// What arrived, if it is for core.
    #[inline]
    fn accept(&mut self, bytes: *mut u8, len: usize) -> Option<Event> {
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
        if head.kind == Kind::Ack {
            return None;
        }
        if peer.count_consumed() {
            self.to_tell.push_back(head.source);
        }
        Some(Event::message(head.source, bytes.wrapping_add(header::LEN), head.length))
    }

    fn take(&mut self, completion: Completion) -> Option<Event> {
        match completion {
            Completion::Sent { context } => {
                self.sender.ended(context);
            }
            Completion::Received { bytes, len } => return self.accept(bytes, len),
            Completion::Released { context } => self.receiver.release(context),
            Completion::Failed { context, sending: true, code, .. } => {
                if let Some(peer) = self.sender.ended(context) {
                    self.lose(peer, code);
                }
            }
            Completion::Failed { context, released, code, .. } => {
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
    fn send_waiting(&mut self) {
        if self.sender.has_waiting() {
            let mut failed = Vec::new();
            self.sender.send_waiting(&mut self.endpoint, |peer, code| failed.push((peer, code)));
            failed.into_iter().for_each(|(peer, code)| self.lose(peer, code));
        }
    }

    /// Deals with what has ended; messages wait for the next poll. Whether anything had.
    fn digest(&mut self) -> bool {
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
    fn settle(&mut self) -> bool {
        for _ in 0..SETTLE {
            self.send_waiting();
            self.tell();
            // What is no message would not let the queue rest.
            let found = self.digest();
            if !self.early.is_empty() || !self.lost.is_empty() || self.receiver.is_stopped() {
                return false;
            }
            if found && std::mem::take(&mut self.refused) {
                // There may be room now.
                return false;
            }
            if !found && self.endpoint.queue().may_sleep() {
                let nap = self.sender.has_waiting() || !self.to_tell.is_empty();
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
    fn collect(&mut self, events: &mut [Event]) -> (usize, bool) {
        let (mut n, mut ended) = (0, false);
        // At most one event comes of a completion.
        while n < events.len() {
            let mut found = [const { None }; 32];
            let mut count = 0;
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
    fn gather(&mut self, events: &mut [Event]) -> usize {
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

/// A number that no other life of this task has.
fn nonce() -> Result<u64, TransportError> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| TransportError::Io(format!("reading random bytes: {e}")))?;
    Ok(u64::from_le_bytes(bytes))
}

impl Transport for Rdma {
    const NAME: &'static str = "rdma";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const CAPS: Caps =
        Caps::AM_SHORT.union(Caps::AM_PACKED).union(Caps::WAIT).union(Caps::RELIABLE).union(Caps::ORDERED);
    const DECLARATION: Declaration = crate::declaration::DECLARATION;
    type Waiter = RdmaWaiter;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, RdmaWaiter), TransportError> {
        Self::new(host, params)
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits {
            max_short: LONGEST as u32,
            max_packed: LONGEST as u32,
            max_peers: u32::MAX,
            ..Limits::default()
        };
        let (major, minor) = self.library;
        let note = format!(
            "{} on {} (libfabric {major}.{minor})",
            self.endpoint.provider(),
            self.endpoint.domain_name()
        );
        let mut caps = Self::CAPS;
        caps.set(Caps::ORDERED, self.endpoint.keeps_order());
        caps.set(Caps::WAIT, self.sleeps);
        Attributes { caps, limits, note }
    }

    fn address(&self) -> Vec<u8> {
        Card {
            nonce: self.me.nonce,
            format: self.endpoint.address_format(),
            provider: self.endpoint.provider(),
            address: self.name.clone(),
        }
        .encode()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        let card = Card::decode(address).ok_or_else(|| {
            TransportError::Invalid(format!("task {peer} published no address of this transport"))
        })?;
        let ours = (self.endpoint.provider(), self.endpoint.address_format());
        if (&card.provider, card.format) != (&ours.0, ours.1) {
            return Err(TransportError::Unreachable(format!(
                "task {peer} has {card}, this task has provider {}, address format {}: \
                 LAPIS_RDMA_PROVIDER names one for all",
                ours.0, ours.1
            )));
        }
        let (me, it) = (self.me, End { task: peer, nonce: card.nonce });
        let cookies = (cookie(&self.secret, me, it), cookie(&self.secret, it, me));
        if self.peers.slot(peer).is_none() {
            return Err(TransportError::Invalid(format!("task {peer} is not of this job")));
        }
        self.disconnect(peer);
        let to = self.endpoint.insert(&card.address)?;
        if let Some(slot) = self.peers.slot(peer) {
            *slot = Some(Peer::new(to, cookies.0, cookies.1));
        }
        Ok(())
    }

    fn progress_connect(&mut self) -> Result<bool, TransportError> {
        if self.peers.len() > CONNECTED_AT_ONCE {
            return Ok(true);
        }
        let mut all = true;
        for peer in 0..self.peers.len() as u32 {
            let missing = self.peers.get_mut(peer).is_some_and(|p| !p.greeted && !p.down);
            // One that is lost already is told of by the next poll.
            all &= !missing || self.greet(peer) != Err(Status::Again);
        }
        self.digest();
        Ok(all)
    }

    fn disconnect(&mut self, peer: PeerId) {
        if let Some(old) = self.peers.slot(peer).and_then(Option::take) {
            self.endpoint.remove(old.to);
        }
    }

    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        let (header, to) = match self.next_header(peer, head.len() + body.len()) {
            Ok(found) => found,
            Err(status) => return status,
        };
        let outcome = self.sender.send(&mut self.endpoint, (peer, to), header, [head, body]);
        self.sent(peer, outcome)
    }

    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        let (header, to) = match self.next_header(peer, len) {
            Ok(found) => found,
            Err(status) => return status,
        };
        let outcome = self.sender.write(&mut self.endpoint, (peer, to), header, pack);
        self.sent(peer, outcome)
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        if events.is_empty() {
            return 0;
        }
        self.refused = false;
        // Bytes of messages that were not given out yet lie in released buffers, too.
        if self.early.is_empty()
            && let Err(code) = self.receiver.post(&mut self.endpoint)
            && self.receiver.is_stopped()
        {
            self.host.debug(format_args!("receive buffers: {}", self.endpoint.text(code)));
        }
        self.send_waiting();
        let n = self.gather(events);
        self.tell();
        if self.watchful && !self.settle() {
            self.bell.ring();
        }
        n
    }

    fn arm(&mut self) -> Status {
        if self.settle() { Status::Done } else { Status::Again }
    }

    fn set_interrupts(&mut self, on: bool) {
        self.watchful = on;
        if on && !self.settle() {
            self.bell.ring();
        }
    }
}

impl Drop for Rdma {
    fn drop(&mut self) {
        // What was accepted is on its way when the last byte has left.
        let end = Instant::now() + LINGER;
        let mut events = [Event::EMPTY; 16];
        while !(self.sender.is_idle() && self.to_tell.is_empty()) && Instant::now() < end {
            self.poll(&mut events);
        }
        // Nothing is read from the buffers or written to them from here on, so that they may go.
        self.endpoint.stop();
    }
}
