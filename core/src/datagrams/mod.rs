//! The packet engine between a datagram transport and the message layer.
//!
//! To the message layer a peer behind a datagram transport looks like one behind a reliable
//! transport: a packet is taken ([`Status::Done`]) or there is no room at present
//! ([`Status::Again`]), and what arrives has arrived once. In between:
//!
//! ```text
//!   try_packet ──► send ──► Engine::submit            wait, probe ──► poll
//!                    │                                                 │
//!                    └──► flush ──► Engine::poll_transmit              ├── Link::poll ──► Engine::on_datagram ──► units
//!                                     └──► Link::send_datagrams        └── clock ──► Engine::on_timeout
//! ```
//!
//! Between tasks of one host packets of long messages may bypass all this (`bypass.rs`).
//!
//! `context/datagrams.rs` passes the units to the dispatcher and handles the engine's events for
//! the context; `setup.rs` makes engines from the configuration.
//!
//! **When datagrams leave.** A packet that finds little in flight leaves within the call that
//! submitted it. One that follows others closely waits until a few datagrams are full, for the next
//! call that makes progress, or, in interrupt mode, for the progress thread, which is woken by the
//! acknowledgements of packets in flight. Packets that handlers send leave when the present
//! arrivals have been handled; the packets of a long message leave in batches.
//!
//! **Units stay in place** until the dispatcher has handled them: the transport keeps the bytes
//! until its next poll. The engine counts a unit as taken before its handler runs; that is not
//! visible outside, because its acknowledgement leaves later.
//!
//! [`Status::Done`]: crate::transport::Status::Done
//! [`Status::Again`]: crate::transport::Status::Again

mod arrivals;
mod bypass;
mod departures;
mod setup;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use arrivals::trouble;
pub(crate) use setup::{Parties, Timing, epoch};

use crate::clock::Clock;
use crate::reliable::RailStats;
use crate::reliable::wire::{DATA_LEN, HEADER_LEN, MIN_DATAGRAM};
use crate::reliable::{Engine, Event as EngineEvent, JobAuth, Nanos, PathInfo, PathState, Transmit};
use crate::transport::{Event, FailoverTrouble, PeerId, RawSlice};
use crate::wire::{FragmentPacket, Kind};
use std::collections::VecDeque;
use std::time::Duration;

/// Events taken from the transport at once.
const BATCH: usize = 64;

/// A datagram that every path carries, as IPv6 demands.
const SURE: usize = 1232;

/// Bytes of a packet that every path carries.
const SMALLEST_ROOM: usize = MIN_DATAGRAM - HEADER_LEN - DATA_LEN;

/// A unit that has arrived, or the news that its peer has restarted: what came before belongs to
/// its earlier incarnation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) peer: PeerId,
    ptr: *const u8,
    len: usize,
}

impl Unit {
    fn new_life(peer: PeerId, lost: usize) -> Self {
        Self { peer, ptr: std::ptr::null(), len: lost }
    }

    /// If it is the news of a new life: how many packets for the former one are lost.
    pub(crate) fn new_life_after(self) -> Option<usize> {
        self.ptr.is_null().then_some(self.len)
    }

    /// # Safety
    /// It is no new life, and the transport has not been polled since it arrived.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: a datagram that is no new life points to what was received, which the transport
        // keeps until it is polled again; the caller promises that it has not been.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
}

// SAFETY: the pointer is read by whoever holds the context's lock only.
unsafe impl Send for Unit {}

/// The engine of one datagram link, and what it needs to run.
pub(crate) struct Datagrams {
    engine: Engine<JobAuth>,
    clock: Clock,
    out: Transmit,
    slices: Vec<RawSlice>,
    held: departures::Held,
    /// Bytes submitted since the last flush, with the packets' headers in datagrams.
    waiting: usize,
    /// When datagrams left last.
    flushed: Nanos,
    /// When the clock was looked at for a packet, and those submitted since.
    looked: Nanos,
    unlooked: u32,
    /// How many are submitted before it is looked at again.
    looks: u32,
    events: Box<[Event; BATCH]>,
    units: Vec<Unit>,
    /// Units that were joined from parts: their bytes lie in no datagram.
    joined: Vec<Box<[u8]>>,
    /// The head of a packet that goes past the datagrams, and what came there before the first
    /// poll.
    bypass_head: Vec<u8>,
    early_past: Vec<(PeerId, Box<[u8]>)>,
    /// What the engine said while datagrams were taken.
    said: VecDeque<EngineEvent>,
    /// What the transport said about failover.
    troubles: Vec<(FailoverTrouble, String)>,
    /// Peers that were taken up, of whose paths the link has said nothing yet.
    adopted: Vec<PeerId>,
    /// Largest datagram of any path; of standby ones only where there are no others.
    datagram: usize,
    /// Datagrams in a full batch, and bytes that fill one: so many wait for more at most.
    batch: usize,
    enough: usize,
    /// As long as fewer bytes wait, they are not enough, whatever packets they are.
    few: usize,
    /// Datagrams that short packets fill before they leave.
    together: usize,
    /// All other tasks are behind this link.
    alone: bool,
    /// Polls since something was found.
    idle: u32,
    /// When datagrams were last looked for although nothing had come for long, and the context has
    /// other links.
    looked_beside: Nanos,
    /// Polls since the timers were looked at, and when that was.
    untimed: u32,
    timers_seen: Nanos,
    /// MP_RETRANSMIT_INTERVAL.
    checks: setup::Checks,
}

// SAFETY: the pointers in `events` and `slices` are scratch: nothing in them is used after the call
// that filled them.
unsafe impl Send for Datagrams {}

impl Datagrams {
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// The largest packet that a peer can be sent now.
    #[inline]
    pub(crate) fn room(&self, peer: PeerId) -> usize {
        self.engine.max_payload(peer).unwrap_or(0)
    }

    /// Whether a packet of so many bytes is none too large.
    #[inline]
    pub(crate) fn has_room(&self, peer: PeerId, len: usize) -> bool {
        len <= SMALLEST_ROOM || len <= self.room(peer)
    }

    /// Packets that fill a batch of datagrams each.
    #[inline]
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    /// The units of the last poll.
    pub(crate) fn take_units(&mut self) -> Vec<Unit> {
        std::mem::take(&mut self.units)
    }

    /// Gives the vector back, so that the next poll need not allocate; the units are dealt with.
    pub(crate) fn give_back(&mut self, mut units: Vec<Unit>) {
        units.clear();
        self.units = units;
        self.joined.clear();
    }

    /// The bodies lent under this token have arrived: they are not read any more.
    pub(crate) fn settle(&mut self, peer: PeerId, token: u64) {
        self.engine.settle(peer, token);
        self.keep_unsent(peer);
    }

    /// Bodies that were lent for packets to a peer are about to be given back: what the kernel has
    /// not taken of these packets, which may have arrived before, is copied.
    #[inline]
    pub(crate) fn keep_unsent(&mut self, peer: PeerId) {
        if !self.held.batches.is_empty() {
            self.copy_held(peer);
        }
    }

    /// The same where the peer's present life is over: nobody wants these packets.
    pub(crate) fn drop_unsent(&mut self, peer: PeerId) {
        if !self.held.batches.is_empty() {
            self.give_up_held(peer);
        }
    }

    /// Whether [`event`](Self::event) or [`troubles`](Self::troubles) has something to tell.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.said.is_empty() || self.engine.has_events() || !self.troubles.is_empty()
    }

    /// What the engine has to say.
    pub(crate) fn event(&mut self) -> Option<EngineEvent> {
        self.said.pop_front().or_else(|| self.engine.poll_event())
    }

    /// What the transport has to say about failover.
    #[inline]
    pub(crate) fn troubles(&mut self) -> Option<Vec<(FailoverTrouble, String)>> {
        (!self.troubles.is_empty()).then(|| std::mem::take(&mut self.troubles))
    }

    /// When the engine wants to be polled if nothing arrives, as a span from now.
    pub(crate) fn until_timer(&mut self) -> Option<Duration> {
        if self.engine.is_behind() {
            return Some(Duration::ZERO);
        }
        self.engine.next_timeout().map(|at| Duration::from_nanos(at.saturating_sub(self.now())))
    }

    /// Makes a task a peer that was reached by another link before, and whose incarnation is still
    /// to be learnt. Its paths are told by the link.
    pub(crate) fn adopt(&mut self, peer: PeerId, epoch: u32) {
        self.alone = false;
        let first = PathInfo::new(0, SURE);
        match self.engine.add_peer(self.now(), peer, epoch, None, &[first]) {
            Ok(()) => self.adopted.push(peer),
            Err(e) => tracing::debug!("{e}"),
        }
    }

    /// Whether each path to a peer is up. Standby paths are not among them, unless there are no
    /// others.
    pub(crate) fn paths(&self, peer: PeerId) -> Vec<bool> {
        let state = |rail| self.engine.rail_state(peer, rail);
        (0..8).map_while(state).map(|state| state == PathState::Up).collect()
    }

    /// Whether a path to a peer stands in for others.
    pub(crate) fn stands_in(&self, peer: PeerId, path: u8) -> bool {
        self.engine.stands_in(peer, path)
    }

    /// Whether a peer is reached over standby paths only.
    pub(crate) fn has_only_standby(&self, peer: PeerId) -> bool {
        self.engine.has_only_standby(peer)
    }

    /// Stops talking to a peer.
    pub(crate) fn purge(&mut self, peer: PeerId) {
        self.drop_unsent(peer);
        if let Err(e) = self.engine.purge(peer) {
            tracing::debug!("{e}");
        }
    }

    /// Talks to it again.
    pub(crate) fn resume(&mut self, peer: PeerId) {
        if let Err(e) = self.engine.resume(self.now(), peer) {
            tracing::debug!("{e}");
        }
    }

    /// Sets after how long a silent peer is reported.
    pub(crate) fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.engine.set_peer_timeout(timeout.map(|t| t.as_nanos() as Nanos));
    }

    /// Sets after how many datagrams an acknowledgement is sent.
    pub(crate) fn set_ack_threshold(&mut self, datagrams: u32) {
        self.engine.set_ack_threshold(datagrams.min(31) as u8);
    }

    /// Whether a peer has not acknowledged all that it was sent.
    pub(crate) fn owes(&self, peer: PeerId) -> bool {
        self.engine.outstanding(peer).is_some_and(|n| n > 0)
    }

    /// Whether an acknowledgement is still to be sent.
    pub(crate) fn owes_acks(&self) -> bool {
        self.engine.owes_acks()
    }

    /// Duplicates and retransmissions of all peers together.
    pub(crate) fn repetitions(&self, peers: PeerId) -> (u64, u64) {
        (0..peers).filter_map(|peer| self.engine.stats(peer)).fold((0, 0), |(duplicates, resent), s| {
            (duplicates + s.duplicate_units + s.duplicate_datagrams, resent + s.units_resent)
        })
    }

    /// Each path, all peers together.
    pub(crate) fn rails(&self) -> Vec<RailStats> {
        self.engine.rails()
    }

    /// Datagrams that were not taken.
    pub(crate) fn refused(&self, peers: PeerId) -> u64 {
        let s = self.engine.engine_stats();
        let stale: u64 = (0..peers).filter_map(|p| self.engine.stats(p)).map(|s| s.stale_epoch).sum();
        s.malformed + s.strangers + s.unknown_peer + s.auth_failures + s.unknown_path + stale
    }

    /// Notes what came to nothing, for whoever looks for the reason why a link is slow.
    pub(crate) fn log_refusals(&self, name: &str) {
        let s = self.engine.engine_stats();
        if s != crate::reliable::EngineStats::default() {
            tracing::debug!(transport = name, "datagrams that were not taken: {s:?}");
        }
    }
}

/// What an event says of a path.
fn path_in(event: &Event) -> PathInfo {
    let (number, room) = (|token| u8::try_from(token).unwrap_or(u8::MAX), event.len as usize);
    if event.token & Event::STANDBY == 0 {
        return PathInfo::new(number(event.token), room);
    }
    PathInfo::new(number(event.token & 0xff), room).standby(number(event.token >> 8 & 0xff))
}

/// Whether a packet's kind says that others of its message follow at once.
#[inline]
pub(crate) fn more_follows(kind: u8) -> bool {
    const FIRST: u32 = 1 << Kind::AmFirst as u32
        | 1 << Kind::PutFirst as u32
        | 1 << Kind::Fragment as u32
        | 1 << Kind::GetData as u32;
    kind < 32 && FIRST >> kind & 1 == 1
}

/// Which fragments a poll takes: the packets of a message of several behind its first one, which
/// may not have come.
pub(crate) struct Fragments<'a> {
    /// How many are taken of messages of which nothing is known.
    pub(crate) early_room: usize,
    /// Whether a peer's message of this number is known: its fragments are taken in any case.
    pub(crate) is_known: &'a dyn Fn(PeerId, u32) -> bool,
}

impl Fragments<'_> {
    /// Takes a packet, and a place if it needs one. False: there is none.
    #[inline]
    fn take(&mut self, peer: PeerId, packet: &[u8]) -> bool {
        let Some(message) = FragmentPacket::message_of(packet) else { return true };
        if (self.is_known)(peer, message) {
            return true;
        }
        let left = self.early_room.checked_sub(1);
        self.early_room = left.unwrap_or(0);
        left.is_some()
    }
}
