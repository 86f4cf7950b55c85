//! The contract.

mod arrivals;
#[cfg(test)]
mod between;
mod connecting;
mod credits;
mod failover;
mod listening;
mod loss;
mod one_sided;
mod open;
mod report;
#[cfg(test)]
mod rig;
mod slots;
mod stripe;
#[cfg(test)]
mod tests;
mod vouch;
mod watch;

use crate::address::{Card, pairs};
use crate::endpoint::Access;
use crate::header::{End, Header, Kind, RailLife, cookie};
use crate::links::Links;
use crate::memory::Memory;
use crate::path::Path;
use crate::peers::{Peer, Peers};
use crate::rail::Rail;
use crate::rest::StreamRest;
use crate::send::{LONGEST, Refused, join};
use crate::stripes::Stripes;
use crate::touch::Touch;
use crate::transfer::Direction;
use crate::waiter::{Bell, RdmaWaiter};
use lapis_core::sync::Arc;
use lapis_core::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, OpenParams, PeerAccess, PeerId, RailReport, RawSlice,
    RegionInfo, RemoteAddr, Status, Transport, TransportError, Troubles,
};
use slots::SlotsOfPeers;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use vouch::Vouching;

/// How long closing waits for what is under way.
const LINGER: Duration = Duration::from_millis(200);

/// Jobs of so many tasks make all connections at the start, while everybody is there to answer.
/// In larger ones a connection is made when it is used first, to save memory.
const CONNECTED_AT_ONCE: usize = 64;

/// One task's endpoints, and the peers that they reach.
pub struct Rdma {
    // Registrations are closed before the domains, which the rails' endpoints hold.
    memory: Memory,
    slots: SlotsOfPeers,
    rails: Vec<Rail>,
    /// Puts and gets that go in pieces.
    stripes: Stripes,
    links: Links,
    host: Host,
    me: End,
    secret: [u8; 32],
    peers: Peers,
    /// Peers that should be told what we have consumed, by messages that had no room yet.
    to_tell: VecDeque<PeerId>,
    /// One of them has little credit left.
    tell_now: bool,
    /// Peers that are to be told that they were given up.
    news: Vec<PeerId>,
    /// Peers that were lost and that core does not know to be.
    lost: VecDeque<PeerId>,
    /// Messages that were found while somebody was about to sleep. Their buffers stay ours until
    /// these have been given out.
    early: VecDeque<Event>,
    /// The rail that the next put or get should take.
    preferred: Option<usize>,
    /// Whether an operation was answered `Again` since the last poll.
    refused: bool,
    /// Whether messages to one peer arrive in the order in which they were sent.
    ordered: bool,
    /// Whether gets are possible: not if closing one of several rails could end the process.
    gets: bool,
    /// Whether messages to some peer go again where one may be lost.
    fails_over: bool,
    /// Peers whose paths are looked after, and when that is done next.
    watched: Vec<PeerId>,
    next_look: Instant,
    /// Rails that peers have left and want to be closed, unless they have been since, and when they
    /// said so.
    to_renew: Vec<(RailLife, Instant)>,
    /// When rails that did not open are tried again.
    next_opening: Instant,
    /// What the user should know of failover.
    troubles: Troubles,
    /// The user knows that no path is left to somebody.
    cut_off: bool,
    bell: Arc<Bell>,
    /// Whether every poll must leave things such that whoever sleeps then is woken.
    watchful: bool,
    /// Whether arrivals end sleeps.
    listens: bool,
    /// The user knows that they can't.
    said_deaf: bool,
    napping: bool,
    /// Whether the provider tells by a descriptor that something came.
    sleeps: bool,
    library: (u32, u32),
    /// What is said of the machine, in a job of one task.
    about: String,
    /// Peers that may have to be told how many messages there were.
    vouching: Vouching,
    /// Where a look for messages costs their senders time.
    rest: StreamRest,
    /// Whether this poll has looked for messages: else it hands on what an earlier one has found.
    looked: bool,
    /// Whether core may still be reading messages that the last poll has found.
    unread: bool,
    /// When this task last polled, where that decides about puts and gets.
    touch: Option<Touch>,
}

// SAFETY: the pointers are to objects that libfabric lets any thread use, one at a time, and to
// buffers that belong to them; what is counted by `Rc` never leaves it.
unsafe impl Send for Rdma {}

impl Rdma {
    /// What precedes the next message to a peer, or why there can be none now. A header that is
    /// handed over in memory is read there in other pieces than it was written, for which the
    /// processor waits until all earlier stores are done, in a stream those to the peer's memory.
    #[inline(always)]
    fn next_header(&mut self, peer: PeerId, len: usize) -> Result<(Header, (usize, u64)), Status> {
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
        if p.fails_over() && p.is_behind() {
            self.refused = true;
            self.watch(peer);
            return Err(Status::Again);
        }
        if !p.path().greeted {
            self.connect_path(peer)?;
        }
        let Some(p) = self.peers.get_mut(peer) else { return Err(Status::Invalid) };
        Ok((p.header(source, Kind::Message, len as u32), p.way()))
    }

    /// Sends a message that is kept until it is known to have come. `try_it`: even if there is no
    /// buffer for it.
    fn send_kept_once(
        &mut self,
        peer: PeerId,
        header: Header,
        (rail, to): (usize, u64),
        try_it: bool,
        fill: impl FnOnce(&mut [u8]),
    ) -> Status {
        let Some(p) = self.peers.get_mut(peer) else { return Status::Invalid };
        let r = &mut self.rails[rail];
        if !try_it && !r.sender.has_room_for(peer) {
            // Nothing is packed for it.
            self.refused = true;
            return Status::Again;
        }
        let bytes = p.keep(header.length as usize, fill);
        let outcome = r.sender.send(&mut r.endpoint, (peer, to), &header, [bytes, &[]]);
        if outcome == Err(Refused::Busy) {
            p.drop_newest();
            self.refused = true;
            return Status::Again;
        }
        p.count_sent();
        self.watch(peer);
        if let Err(Refused::Failed(code)) = outcome {
            self.send_failed(peer, rail, code);
        }
        match self.peers.get_mut(peer) {
            Some(p) if !p.down => Status::Done,
            _ => Status::PeerDown,
        }
    }

    /// Whether messages to a peer go again where one may be lost.
    #[inline]
    fn keeps_messages(&mut self, peer: PeerId) -> bool {
        self.fails_over && self.peers.get_mut(peer).is_some_and(|p| p.fails_over())
    }
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
        .union(Caps::PREFER_RAIL)
        .union(Caps::PUT_SHORT)
        .union(ONE_SIDED);
    const DECLARATION: Declaration = crate::declaration::DECLARATION;
    type Waiter = RdmaWaiter;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, RdmaWaiter), TransportError> {
        open::open(host, params)
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits {
            max_short: LONGEST as u32,
            max_packed: LONGEST as u32,
            max_peers: u32::MAX,
            max_zcopy: self.longest_transfer(),
            // A put or get of a packet's length costs no more than the packet, and the target
            // nothing.
            zcopy_from: 1,
            ..Limits::default()
        };
        let (major, minor) = self.library;
        let devices: Vec<String> = self.rails.iter().map(|rail| rail.endpoint.domain_name()).collect();
        let provider = self.rails[0].endpoint.provider();
        let gets = if self.gets { "" } else { ", no gets" };
        let (devices, rails) = (devices.join(", "), self.rail_summary());
        let about = &self.about;
        let note = format!("{provider} on {devices} (libfabric {major}.{minor}){gets}{rails}{about}");
        let mut caps = Self::CAPS;
        caps.set(Caps::ORDERED, self.ordered);
        caps.set(Caps::WAIT, self.sleeps);
        if !self.rails.iter().all(|rail| rail.endpoint.is_one_sided()) {
            caps -= ONE_SIDED;
        }
        if self.rails.len() == 1 || !caps.contains(Caps::PUT_ZCOPY) {
            caps -= Caps::PREFER_RAIL;
        }
        if !caps.contains(Caps::PUT_ZCOPY) || !self.has_short_puts() {
            caps -= Caps::PUT_SHORT;
        }
        if !self.gets {
            caps -= Caps::GET_ZCOPY;
        }
        Attributes { caps, limits, note }
    }

    fn address(&self) -> Vec<u8> {
        self.card().encode()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        let card = Card::decode(address).ok_or_else(|| {
            TransportError::Invalid(format!("task {peer} published no address of this transport"))
        })?;
        // As peers see it: they pair with the rails that it has room for.
        let ours = self.card();
        let ours = Card::decode(&ours.encode()).unwrap_or(ours);
        if (&card.provider, card.format) != (&ours.provider, ours.format) {
            return Err(TransportError::Unreachable(format!(
                "task {peer} has {card}, this task has {ours}: LAPIS_RDMA_PROVIDER names one for all"
            )));
        }
        let (me, it) = (self.me, End { task: peer, nonce: card.nonce });
        let cookies = (cookie(&self.secret, me, it), cookie(&self.secret, it, me));
        if self.peers.slot(peer).is_none() {
            return Err(TransportError::Invalid(format!("task {peer} is not of this job")));
        }
        self.disconnect(peer);
        let now = Instant::now();
        let mut paths: Vec<Path> = Vec::new();
        for (here, there) in pairs(&ours.rails, &card.rails) {
            let rail = &mut self.rails[here];
            if rail.closed {
                continue;
            }
            let address = &card.rails[there].address;
            let to = rail.insert(address)?;
            // The others are used once they have answered.
            paths.push(Path::new((here, there), (to, address), paths.is_empty(), now));
        }
        if paths.is_empty() {
            return Err(TransportError::Io("the endpoint has failed and is closed".to_owned()));
        }
        if let Some(slot) = self.peers.slot(peer) {
            // Both tasks come to the same answer: whoever can't fail over has one rail.
            let fails_over = ours.rails.len() > 1 || card.rails.len() > 1;
            self.fails_over |= fails_over;
            *slot = Some(Peer::new(paths, fails_over, cookies));
            // In a large job, whoever speaks to nobody asks nobody.
            self.meet(peer, self.peers.len() <= CONNECTED_AT_ONCE);
        }
        Ok(())
    }

    fn progress_connect(&mut self) -> Result<bool, TransportError> {
        if self.peers.len() > CONNECTED_AT_ONCE {
            return Ok(true);
        }
        self.connect_all()
    }

    fn disconnect(&mut self, peer: PeerId) {
        self.forget(peer);
    }

    fn rails(&mut self, reports: &mut [RailReport]) -> usize {
        let count = self.rails.len().min(reports.len());
        reports.iter_mut().zip(0..count).for_each(|(report, rail)| *report = self.report(rail));
        count
    }

    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        let (header, (rail, to)) = match self.next_header(peer, head.len() + body.len()) {
            Ok(found) => found,
            Err(status) => return status,
        };
        if self.keeps_messages(peer) {
            // To join the parts in vain costs little.
            let injects = self.rails[rail].sender.may_inject(peer, header.length as usize);
            return self.send_kept_once(peer, header, (rail, to), injects, |out| join(out, [head, body]));
        }
        let outcome = match self.send_to_slot(peer, &header, (rail, to), [head, body]) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let r = &mut self.rails[rail];
                r.sender.send(&mut r.endpoint, (peer, to), &header, [head, body])
            }
            Err(code) => Err(Refused::Failed(code)),
        };
        self.sent(peer, outcome)
    }

    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        let (header, (rail, to)) = match self.next_header(peer, len) {
            Ok(found) => found,
            Err(status) => return status,
        };
        if self.keeps_messages(peer) {
            return self.send_kept_once(peer, header, (rail, to), false, pack);
        }
        let r = &mut self.rails[rail];
        let outcome = r.sender.write(&mut r.endpoint, (peer, to), &header, pack);
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

    unsafe fn put_short(&mut self, peer: PeerId, data: &[u8], remote: RemoteAddr) -> Status {
        // SAFETY: this is `put_short`.
        unsafe { self.put_at_once(peer, data, remote) }
    }

    fn prefer_rail(&mut self, rail: u32) {
        self.preferred = Some(rail as usize);
    }

    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        // Memory that can't be written can still be read by peers.
        // SAFETY: the caller keeps the range mapped until `mem_release`.
        unsafe { self.register(range, &[Access::All, Access::PeersRead]) }
    }

    unsafe fn mem_lend(&mut self, range: RawSlice, access: PeerAccess) -> Result<RegionInfo, TransportError> {
        let way = match access {
            PeerAccess::Read => Access::PeersRead,
            PeerAccess::Write => Access::PeersWrite,
        };
        // SAFETY: the caller keeps the range mapped until `mem_release`.
        unsafe { self.register(range, &[way]) }
    }

    fn mem_release(&mut self, id: u64) {
        self.memory.release(id);
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        if events.is_empty() {
            return 0;
        }
        (self.refused, self.looked, self.unread) = (false, false, false);
        if self.rails.iter().all(|rail| rail.batch.is_empty()) {
            self.rest.rest();
        }
        self.post_buffers();
        self.send_waiting();
        self.end_doomed();
        self.check_paths();
        self.vouch(false);
        let n = self.gather(events);
        self.rest.received(n);
        if self.looked || self.tell_now {
            self.send_credits();
        }
        self.spread_news();
        self.unread = n > 0;
        if let Some(touch) = &mut self.touch {
            touch.polled();
        }
        self.stay_watchful();
        n
    }

    fn arm(&mut self) -> Status {
        self.unread = false;
        if self.prepare_to_sleep() { Status::Done } else { Status::Again }
    }

    fn disarm(&mut self) {
        self.stop_listening();
    }

    fn set_interrupts(&mut self, on: bool) {
        self.watchful = on;
        self.stay_watchful();
    }
}

impl Drop for Rdma {
    fn drop(&mut self) {
        // What was accepted is on its way when the last byte has left.
        let end = Instant::now() + LINGER;
        let mut events = [Event::EMPTY; 16];
        let idle = |this: &Self| {
            this.rails.iter().all(Rail::is_idle)
                && this.stripes.is_idle()
                && this.to_tell.is_empty()
                && this.news.is_empty()
                && !this.owes_anybody()
        };
        while !idle(self) && Instant::now() < end {
            self.poll(&mut events);
        }
        // Where registrations are bound to the endpoint, it goes when they have gone.
        for rail in &mut self.rails {
            if !rail.endpoint.holds_registrations() {
                rail.stop();
            }
        }
    }
}
