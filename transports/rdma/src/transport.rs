//! The contract.

mod arrivals;
mod loss;
mod one_sided;

use crate::address::Card;
use crate::endpoint::Endpoint;
use crate::header::{End, Header, Kind, cookie};
use crate::library::Library;
use crate::memory::Memory;
use crate::peers::{Peer, Peers};
use crate::provider::{self, Wanted};
use crate::receive::Receiver;
use crate::send::{LONGEST, Refused, SIZE, Sender};
use crate::transfer::{Direction, Transfers};
use crate::waiter::{Bell, RdmaWaiter};
use lapis_core::sync::Arc;
use lapis_core::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, OpenParams, PeerId, RawSlice, RegionInfo, RemoteAddr,
    Status, Transport, TransportError,
};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long closing waits for what is under way.
const LINGER: Duration = Duration::from_millis(200);

/// Jobs of so many tasks make all connections at the start, while everybody is there to answer.
/// In larger ones a connection is made when it is used first, to save memory.
const CONNECTED_AT_ONCE: usize = 64;

/// Keys of the registrations for messages, where the provider lets us choose them.
const SEND_KEY: u64 = 1;
const RECEIVE_KEY: u64 = 2;
const BOUNCE_KEY: u64 = 3;

/// One task's endpoint, and the peers that it reaches.
pub struct Rdma {
    // Registrations are closed before the domain, which `endpoint` holds.
    sender: Sender,
    receiver: Receiver,
    transfers: Transfers,
    memory: Memory,
    endpoint: Endpoint,
    name: Vec<u8>,
    host: Host,
    me: End,
    secret: [u8; 32],
    peers: Peers,
    /// Peers that should be told what we have consumed, by messages that had no room yet.
    to_tell: VecDeque<PeerId>,
    /// Peers that are to be told that they were given up.
    news: Vec<PeerId>,
    /// Peers that were lost and that core does not know to be.
    lost: VecDeque<PeerId>,
    /// Messages that were found while somebody was about to sleep. Their buffers stay ours until
    /// these have been given out.
    early: VecDeque<Event>,
    /// Whether an operation was answered `Again` since the last poll.
    refused: bool,
    /// Whether messages to one peer arrive in the order in which they were sent.
    ordered: bool,
    /// How often in a row no receive buffer could be posted where none was.
    refusals: u32,
    /// Whether the endpoint has failed and is closed.
    broken: bool,
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
        if let Err(code) = receiver.post(&mut endpoint) {
            endpoint.check("posting receive buffers", -code)?;
        }
        let me = End { task: params.task, nonce: nonce()? };
        let memory = Memory::new(endpoint.keys(nonce()?));
        let (sleeps, ordered) = (endpoint.queue().fd().is_some(), endpoint.keeps_order());
        let bell = Bell::new(endpoint.queue().fd())
            .map_err(|e| TransportError::Io(format!("preparing to sleep on the completion queue: {e}")))?;
        let bell = Arc::new(bell);
        if endpoint.is_fragile() {
            host.warn(format_args!(
                "{} without FI_OFI_RXM_USE_SRX=1: libfabric 1.17 may end the process when a context is closed \
                 while messages arrive",
                endpoint.provider()
            ));
        }
        host.debug(format_args!(
            "task {}: provider {}, domain {}",
            params.task,
            endpoint.provider(),
            endpoint.domain_name()
        ));
        let this = Self {
            sender,
            receiver,
            transfers: Transfers::new(BOUNCE_KEY),
            memory,
            endpoint,
            name,
            host,
            me,
            secret: *params.secret,
            peers: Peers::new(params.tasks),
            to_tell: VecDeque::new(),
            news: Vec::new(),
            lost: VecDeque::new(),
            early: VecDeque::new(),
            refused: false,
            ordered,
            refusals: 0,
            broken: false,
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
        Ok((p.header(source, Kind::Message, len as u32), p.to))
    }

    /// Has a connection made. While that is under way messages are refused, not kept: nobody need
    /// call us once more after a message was accepted.
    #[cold]
    fn greet(&mut self, peer: PeerId) -> Result<(), Status> {
        let source = self.me.task;
        let Some(p) = self.peers.get_mut(peer) else { return Err(Status::Invalid) };
        let head = p.header(source, Kind::Ack, 0);
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

    /// Tells peers what was consumed of theirs, as far as there is room.
    #[inline]
    fn tell(&mut self) {
        while let Some(&peer) = self.to_tell.front() {
            let source = self.me.task;
            if let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) {
                let (head, to) = (p.header(source, Kind::Ack, 0), p.to);
                match self.sender.send(&mut self.endpoint, (peer, to), head, [&[], &[]]) {
                    Ok(()) => p.count_told(),
                    Err(Refused::Busy) => return,
                    Err(Refused::Failed(code)) => self.lose(peer, code),
                }
            }
            self.to_tell.pop_front();
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

/// What a provider with one-sided operations adds.
const ONE_SIDED: Caps = Caps::PUT_ZCOPY.union(Caps::GET_ZCOPY).union(Caps::REGISTER);

impl Transport for Rdma {
    const NAME: &'static str = "rdma";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const CAPS: Caps = Caps::AM_SHORT
        .union(Caps::AM_PACKED)
        .union(Caps::WAIT)
        .union(Caps::RELIABLE)
        .union(Caps::ORDERED)
        .union(ONE_SIDED);
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
            max_zcopy: self.endpoint.longest_transfer(),
            // A put or get of a packet's length costs no more than the packet, and the target
            // nothing.
            zcopy_from: 1,
            ..Limits::default()
        };
        let (major, minor) = self.library;
        let note = format!(
            "{} on {} (libfabric {major}.{minor})",
            self.endpoint.provider(),
            self.endpoint.domain_name()
        );
        let mut caps = Self::CAPS;
        caps.set(Caps::ORDERED, self.ordered);
        caps.set(Caps::WAIT, self.sleeps);
        if !self.endpoint.is_one_sided() {
            caps -= ONE_SIDED;
        }
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
        if self.broken {
            return Err(TransportError::Io("the endpoint has failed and is closed".to_owned()));
        }
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
            all &= !missing || self.greet(peer) != Err(Status::Again);
        }
        self.digest();
        self.spread_news();
        let tasks = self.peers.len() as u32;
        match (0..tasks).find_map(|peer| Some((peer, self.peers.get_mut(peer)?.why.take()?))) {
            Some((peer, why)) => Err(TransportError::Unreachable(format!("task {peer} is lost: {why}"))),
            None => Ok(all),
        }
    }

    fn disconnect(&mut self, peer: PeerId) {
        self.forget(peer);
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

    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        // SAFETY: this is `put_zcopy`.
        unsafe { self.transfer(peer, data, remote, (Direction::Put, token)) }
    }

    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        // SAFETY: this is `get_zcopy`.
        unsafe { self.transfer(peer, into, remote, (Direction::Get, token)) }
    }

    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        if self.broken {
            return Err(TransportError::Io("the endpoint has failed and is closed".to_owned()));
        }
        // SAFETY: this is `mem_register`.
        unsafe { self.memory.register(&mut self.endpoint, range) }
    }

    fn mem_release(&mut self, id: u64) {
        self.memory.release(id);
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        if events.is_empty() {
            return 0;
        }
        self.refused = false;
        self.post_buffers();
        self.send_waiting();
        self.end_doomed();
        let n = self.gather(events);
        self.tell();
        self.spread_news();
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
        let idle = |this: &Self| {
            this.sender.is_idle()
                && this.transfers.is_idle()
                && this.to_tell.is_empty()
                && this.news.is_empty()
        };
        while !idle(self) && !self.broken && Instant::now() < end {
            self.poll(&mut events);
        }
        // Nothing is read from the buffers or written to them from here on, so that they may go.
        self.endpoint.stop();
    }
}
