//! The contract.

mod rails_down;

use crate::address::{self, Card, Entry};
use crate::inbox::Inbox;
use crate::interfaces;
use crate::links::Links;
use crate::options::{MAX_DATAGRAM, MIN_DATAGRAM, NARROWEST, Options};
use crate::pairing::{Pair, pairs};
use crate::rail::{Rail, Sent, WORTH_LENDING};
use crate::sys::{self, RawAddr};
use crate::waiter::{Notifier, UdpWaiter};
use lapis_core::sync::Arc;
use lapis_core::transport::{
    Attributes, Caps, DatagramBatch, Declaration, Event, EventKind, FailoverTrouble, Host, Limits,
    OpenParams, PeerId, RawSlice, Status, Transport, TransportError, Troubles,
};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Datagram size on the loopback interface if the user asks for none: with 14 pages of data, which
/// lie in at most 15, and the headers in one more, it is what the kernel takes by reference in one
/// piece.
const ON_LOOPBACK: usize = 14 * 4096 + 136;

/// The same on networks, whose MTU is rarely larger.
const ON_NETWORK: usize = 8972;

/// A path to a peer.
struct Way {
    rail: usize,
    to: RawAddr,
    addr: SocketAddr,
    /// Largest datagram.
    room: usize,
    /// The kernel knew no way at the last attempt.
    down: bool,
}

/// Datagrams over UDP.
pub struct Udp {
    host: Host,
    task: PeerId,
    tasks: u32,
    options: Options,
    card: Card,
    rails: Vec<Rail>,
    /// Rails that lead to somebody.
    used: Vec<usize>,
    /// A peer was left: whoever comes back may come from elsewhere, so that the kernel must not
    /// keep others out.
    moving: bool,
    /// Ways to each task, by path.
    ways: Vec<Option<Box<[Way]>>>,
    /// How many paths to each task core may know of.
    told: Vec<u8>,
    /// News of paths that core has not fetched.
    news: VecDeque<Event>,
    troubles: Troubles,
    /// The user knows that no path is left to somebody.
    cut_off: bool,
    /// The rail whose arrivals come first at the next poll.
    turn: usize,
    dropped: u32,
    armed: bool,
    /// Somebody is to be woken by arrivals. While nobody is, the sockets may stay armed until one
    /// of them has something: a task whose messages go another way pays no system call for turns of
    /// waiting and computing.
    awaited: bool,
    /// The user knows that arrivals can't end a sleep.
    said_deaf: bool,
    links: Links,
    notifier: Arc<Notifier>,
}

// SAFETY: news carry no pointers, and those of `troubles` are shown to whoever polls only.
unsafe impl Send for Udp {}

impl Udp {
    fn room(&self, rail: &Rail, to: SocketAddr) -> std::io::Result<usize> {
        let usual = if rail.entry.loopback { ON_LOOPBACK } else { ON_NETWORK };
        let wanted = self.options.datagram.unwrap_or(usual);
        Ok(rail.path_room(to)?.min(wanted).clamp(NARROWEST, MAX_DATAGRAM))
    }

    fn path_event(peer: PeerId, path: usize, way: &Way) -> Event {
        Event {
            kind: EventKind::Path as u32,
            peer,
            token: path as u64,
            status: i32::from(!way.down),
            len: way.room as u32,
            ..Event::EMPTY
        }
    }

    fn unreachable(&self, peer: PeerId, theirs: &Card) -> TransportError {
        let many = self.rails.len() > 1 || theirs.entries.len() > 1;
        TransportError::Unreachable(format!(
            "no interface of this task ({}) leads to one of task {peer} ({}): {}",
            self.card,
            theirs,
            if many {
                "are they on one network? MP_LAPI_INET_ADDR names the interfaces to use"
            } else {
                "is a network up?"
            },
        ))
    }

    /// The rails and the addresses that they lead to, for a peer whose program told where it is.
    fn listed(&mut self, addresses: Vec<SocketAddr>) -> Vec<(usize, SocketAddr)> {
        // Any of these programs may be restarted elsewhere.
        self.moving = true;
        addresses.into_iter().enumerate().take(self.rails.len()).collect()
    }

    /// The same for a peer that published its sockets.
    fn paired(&self, peer: PeerId, address: &[u8]) -> Result<Vec<(usize, SocketAddr)>, TransportError> {
        let theirs = Card::parse(address).ok_or_else(|| {
            TransportError::Unreachable(format!("the UDP address of task {peer} is of another release"))
        })?;
        let rails = &self.rails;
        let routed = |here: &Entry, there: &Entry| {
            rails
                .iter()
                .find(|rail| rail.entry == *here)
                .is_some_and(|rail| rail.path_room(there.socket_addr()).is_ok())
        };
        let found = pairs(self.task, &self.card, peer, &theirs, routed);
        if found.is_empty() {
            return Err(self.unreachable(peer, &theirs));
        }
        let end = |pair: &Pair| {
            let mut remote = theirs.entries[pair.there].clone();
            if remote.scope != 0 {
                // Scopes are numbers of this machine's interfaces.
                remote.scope = self.rails[pair.here].entry.scope;
            }
            (pair.here, remote.socket_addr())
        };
        Ok(found.iter().map(end).collect())
    }

    fn lead(&mut self, rail: usize) -> Result<(), TransportError> {
        if self.rails[rail].inbox.is_none() {
            self.rails[rail].inbox = Some(Inbox::new());
            self.used.push(rail);
            self.notifier
                .watch(self.rails[rail].socket.fd())
                .map_err(|e| TransportError::Io(format!("{}: epoll: {e}", self.rails[rail].entry)))?;
        }
        Ok(())
    }

    /// Interfaces that can't be used may be those that another one's place should be taken by.
    fn missing(&mut self, refused: &[String]) {
        let mut names: Vec<_> =
            self.rails.iter().filter(|r| !r.entry.loopback).map(|r| &r.entry.name).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() < 2 && !refused.is_empty() {
            self.trouble_with_failover(FailoverTrouble::SetUp, || refused.join("; "));
        }
    }

    /// Has the user told if failover is wanted at all.
    #[cold]
    fn trouble_with_failover(&mut self, trouble: FailoverTrouble, text: impl FnOnce() -> String) {
        if self.options.rails > 1 {
            self.troubles.push(trouble, text());
        }
    }

    /// A datagram was too large, or there was no way: tell core what is known now.
    #[cold]
    fn trouble(&mut self, peer: PeerId, path: usize, outcome: Sent) {
        let Some(ways) = self.ways[peer as usize].as_ref() else { return };
        let Way { rail, addr, .. } = ways[path];
        let room = self.room(&self.rails[rail], addr).ok();
        let Some(way) = self.ways[peer as usize].as_mut().and_then(|ways| ways.get_mut(path)) else { return };
        let before = (way.room, way.down);
        match (outcome, room) {
            (Sent::TooLarge, Some(room)) => way.room = way.room.min(room),
            _ => way.down = true,
        }
        if (way.room, way.down) != before {
            self.host.debug(format_args!(
                "path {path} to task {peer}: datagrams of {} bytes, {}",
                way.room,
                if way.down { "down" } else { "up" }
            ));
            self.news.push_back(Self::path_event(peer, path, way));
        }
    }

    /// Tells the user once why threads that should sleep keep a core busy.
    #[cold]
    fn say_deaf(&mut self, why: &std::io::Error) {
        if !std::mem::replace(&mut self.said_deaf, true) {
            self.host.warn(format_args!(
                "threads that wait can't sleep until something arrives, and poll instead: the sockets can't be watched by \
                 epoll: {why}; is fs.epoll.max_user_watches too low?"
            ));
        }
    }

    #[cold]
    fn back(&mut self, peer: PeerId, path: usize) {
        let Some(way) = self.ways[peer as usize].as_mut().and_then(|ways| ways.get_mut(path)) else { return };
        way.down = false;
        self.news.push_back(Self::path_event(peer, path, way));
    }
}

impl Transport for Udp {
    const NAME: &'static str = "udp";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const CAPS: Caps = Caps::DATAGRAM.union(Caps::WAIT).union(Caps::LENT_PAGES);
    const DECLARATION: Declaration = crate::declaration::DECLARATION;
    type Waiter = UdpWaiter;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, UdpWaiter), TransportError> {
        let options = Options::of(&host)?;
        let mut rails = Vec::new();
        let mut refused = Vec::new();
        for entry in interfaces::candidates(&options)? {
            match Rail::open(entry, &options, &host) {
                Ok(rail) => rails.push(rail),
                Err(e) if options.addresses.is_some() || !options.bind.is_empty() => return Err(e),
                Err(e) => refused.push(e.to_string()),
            }
        }
        if rails.is_empty() {
            refused.push("no network interface is up".to_owned());
            return Err(TransportError::Unreachable(refused.join("; ")));
        }
        for text in &refused {
            host.debug(format_args!("interface left out: {text}"));
        }
        let notifier = Notifier::new()
            .map_err(|e| TransportError::Exhausted(format!("no descriptors to sleep on: {e}")))?;
        let notifier = Arc::new(notifier);
        let card = Card {
            identity: sys::network_identity(),
            rails: options.rails as u8,
            explicit: options.addresses.is_some(),
            entries: rails.iter().map(|r| r.entry.clone()).collect(),
        };
        let mut transport = Self {
            host,
            task: params.task,
            tasks: params.tasks,
            options,
            card,
            rails,
            used: Vec::new(),
            moving: false,
            ways: (0..params.tasks).map(|_| None).collect(),
            told: vec![0; params.tasks as usize],
            news: VecDeque::new(),
            troubles: Troubles::default(),
            cut_off: false,
            turn: 0,
            dropped: 0,
            armed: false,
            awaited: false,
            said_deaf: false,
            links: Links::default(),
            notifier: Arc::clone(&notifier),
        };
        transport.missing(&refused);
        Ok((transport, UdpWaiter(notifier)))
    }

    fn attributes(&self) -> Attributes {
        let ways = || self.ways.iter().flatten().flat_map(|ways| ways.iter());
        let largest = ways().map(|w| w.room).max().unwrap_or(MIN_DATAGRAM);
        let paths = self.ways.iter().flatten().map(|ways| ways.len()).max().unwrap_or(0);
        let buffers: u64 = self.used.iter().map(|&i| u64::from(self.rails[i].receive_buffer)).sum();
        let limits = Limits {
            max_packed: largest as u32,
            receive_buffer: u32::try_from(buffers).unwrap_or(u32::MAX),
            paths: paths as u32,
            max_peers: self.tasks.saturating_sub(1),
            ..Limits::default()
        };
        let names: Vec<String> = self
            .rails
            .iter()
            .map(|r| {
                let (gso, gro) =
                    (if r.gso.works() { "" } else { " no GSO" }, if r.gro { "" } else { " no GRO" });
                let used = if r.inbox.is_some() { "*" } else { "" };
                format!("{used}{}{gso}{gro} buffer {}", r.entry, r.receive_buffer)
            })
            .collect();
        let lends = ways().any(|w| w.room > WORTH_LENDING && self.rails[w.rail].can_lend());
        let caps = if lends { Self::CAPS } else { Self::CAPS - Caps::LENT_PAGES };
        Attributes { caps, limits, note: names.join(", ") }
    }

    fn address(&self) -> Vec<u8> {
        self.card.encode()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        if peer >= self.tasks || peer == self.task {
            return Err(TransportError::Invalid(format!("task {peer} is nobody to talk to over UDP")));
        }
        let ends = match address::plain(address) {
            Some(list) => self.listed(list.map_err(TransportError::Invalid)?),
            None => self.paired(peer, address)?,
        };
        let mut ways = Vec::with_capacity(ends.len());
        for (here, addr) in ends {
            self.lead(here)?;
            // With a single peer the kernel may as well remember the way, and keep strangers out.
            if self.tasks == 2 && !self.moving && self.rails[here].socket.connect(addr).is_ok() {
                self.rails[here].connected = true;
            }
            let room = self.room(&self.rails[here], addr);
            let (down, room) = (room.is_err(), room.unwrap_or(NARROWEST));
            ways.push(Way { rail: here, to: RawAddr::new(addr), addr, room, down });
        }
        for (path, way) in ways.iter().enumerate() {
            self.news.push_back(Self::path_event(peer, path, way));
        }
        // Whoever comes back with fewer rails has no use for the other paths.
        let told = &mut self.told[peer as usize];
        for path in ways.len()..usize::from(*told) {
            self.news.push_back(Event {
                kind: EventKind::Path as u32,
                peer,
                token: path as u64,
                ..Event::EMPTY
            });
        }
        *told = (*told).max(ways.len() as u8);
        self.ways[peer as usize] = Some(ways.into());
        self.watch_links();
        Ok(())
    }

    fn disconnect(&mut self, peer: PeerId) {
        let Some(ways) = self.ways.get_mut(peer as usize).and_then(Option::take) else { return };
        self.moving = true;
        for way in &ways {
            self.rails[way.rail].release();
        }
        self.news.retain(|event| event.peer != peer);
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        for (done, batch) in batches.iter().enumerate() {
            let Some(ways) = self.ways.get(batch.peer as usize).and_then(Option::as_ref) else { continue };
            let path = (batch.path & !DatagramBatch::LENT) as usize;
            let Some(way) = ways.get(path) else { continue };
            let (rail, was_down, lent) = (way.rail, way.down, batch.path & DatagramBatch::LENT != 0);
            // SAFETY: the caller's promise.
            let outcome = unsafe {
                let slices: &[RawSlice] = std::slice::from_raw_parts(batch.slices, batch.count as usize);
                self.rails[rail].send(&way.to, slices, batch.segment as usize, lent)
            };
            match outcome {
                Sent::Yes if was_down && self.links.is_up(rail) => self.back(batch.peer, path),
                Sent::Yes => {}
                Sent::Again => return done,
                Sent::TooLarge | Sent::NoWay => self.trouble(batch.peer, path, outcome),
            }
        }
        batches.len()
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        if self.links.due() {
            self.link_news();
        }
        let mut n = 0;
        while n < events.len()
            && let Some(event) = self.news.pop_front()
        {
            events[n] = event;
            n += 1;
        }
        if !self.troubles.is_empty() {
            n += self.troubles.show(&mut events[n..]);
        }
        let count = self.used.len();
        for i in 0..count {
            if n == events.len() {
                break;
            }
            // Whose turn it is goes round without a division.
            let at = self.turn + i;
            let rail = &mut self.rails[self.used[if at < count { at } else { at - count }]];
            if let Some(inbox) = &mut rail.inbox {
                n += inbox.poll(&rail.socket, &mut events[n..], &mut self.dropped);
                if std::mem::take(&mut inbox.refused) {
                    rail.release();
                }
            }
        }
        if n > 0 && self.armed && !self.awaited {
            self.armed = self.notifier.arm(false).is_err();
        }
        self.turn = if self.turn + 1 < count { self.turn + 1 } else { 0 };
        if self.dropped > 0 && self.news.is_empty() {
            self.news.push_back(Event {
                kind: EventKind::Overflow as u32,
                len: std::mem::take(&mut self.dropped),
                ..Event::EMPTY
            });
        }
        n
    }

    fn arm(&mut self) -> Status {
        // A sleeper would be woken by what is there already, again and again.
        if self.notifier.take_stirred() {
            self.link_news();
        }
        let rails = self.used.iter().map(|&i| &self.rails[i]);
        if !self.news.is_empty()
            || !self.troubles.is_empty()
            || rails.flat_map(|r| &r.inbox).any(|inbox| !inbox.is_empty())
        {
            return Status::Again;
        }
        if !self.armed
            && let Err(e) = self.notifier.arm(true)
        {
            self.say_deaf(&e);
            return Status::Again;
        }
        self.armed = true;
        self.awaited = true;
        Status::Done
    }

    fn disarm(&mut self) {
        self.awaited = false;
    }
}

#[cfg(test)]
mod tests;
