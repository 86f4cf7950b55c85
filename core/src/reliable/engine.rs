//! The packet engine's interface. The other files of this folder do the work.

use std::collections::VecDeque;

use super::auth::Authenticator;
use super::config::{ConfigError, EngineConfig, Nanos};
use super::credit::Credits;
use super::datagram_builder::External;
use super::events::{EngineStats, Event, PeerStats, RailStats};
use super::path::{PathInfo, PathState};
use super::path_mtu::PathMtu;
use super::peer::Peer;
use super::peers::Index;
use super::sent::Span;
use super::shared::Shared;
use super::submission::{Body, Channel, PeerError, SubmitError, Via};
use super::timers::Timers;
use super::wire::{DATA_LEN, HEADER_LEN, MAX_DATAGRAM, MAX_PATHS, MIN_DATAGRAM};

/// Where an engine has a peer, which never moves.
#[derive(Debug, Clone, Copy)]
pub struct Place(u32);

/// The packet engine of one task. See the [module's documentation](super).
#[derive(Debug)]
pub struct Engine<A> {
    pub(super) shared: Shared,
    pub(super) auth: A,
    pub(super) peers: Vec<Peer>,
    pub(super) index: Index,
    /// Peers that may have something to send.
    pub(super) ready: VecDeque<u32>,
    pub(super) timers: Timers,
    /// Peers whose deadlines have changed: whoever asks for the next one is in less of a hurry than
    /// who sends or receives.
    pub(super) untimed: Vec<u32>,
    /// Peers with an acknowledgement that was put off.
    pub(super) behind: Vec<u32>,
}

impl<A: Authenticator> Engine<A> {
    /// An engine of task `local` of job `job`.
    pub fn new(config: EngineConfig, local: u32, job: u32, auth: A) -> Result<Self, ConfigError> {
        config.check()?;
        let credits = Credits::new(config.receive_buffer);
        let shared = Shared {
            config,
            job,
            local,
            events: VecDeque::new(),
            units: 0,
            credits,
            stats: EngineStats::default(),
            postpones_acks: false,
        };
        let timers = Timers::default();
        let (peers, ready) = (Vec::new(), VecDeque::new());
        Ok(Self {
            shared,
            auth,
            peers,
            index: Index::default(),
            ready,
            timers,
            untimed: Vec::new(),
            behind: Vec::new(),
        })
    }

    /// Makes a task a peer. `local_epoch` is this task's incarnation towards it and must be greater
    /// (modulo 2^32) than any that it used towards this peer before in this job; `remote_epoch` is
    /// the peer's towards us, if the bootstrap told. Without it the first units wait for a greeting
    /// to be answered.
    pub fn add_peer(
        &mut self,
        now: Nanos,
        task: u32,
        local_epoch: u32,
        remote_epoch: Option<u32>,
        paths: &[PathInfo],
    ) -> Result<(), PeerError> {
        if self.index.get(task).is_some() {
            return Err(PeerError::Exists(task));
        }
        if local_epoch == 0 || remote_epoch == Some(0) {
            return Err(PeerError::Epoch(task));
        }
        let distinct =
            |path: &PathInfo| paths.iter().filter(|other| other.path_id == path.path_id).count() == 1;
        let numbered =
            |path: &PathInfo| path.path_id.max(path.standby.unwrap_or(0)) < MAX_PATHS as u8 && distinct(path);
        if paths.is_empty() || !paths.iter().all(numbered) {
            return Err(PeerError::Paths { peer: task, count: paths.len() });
        }
        for path in paths {
            check_datagram(task, path.path_id, path.max_datagram)?;
        }
        let mut peer = Peer::new(task, local_epoch, remote_epoch, paths, &self.shared.config);
        peer.last_heard = now;
        self.index.insert(task, self.peers.len() as u32);
        self.peers.push(peer);
        Ok(())
    }

    /// The largest unit (head and body) that goes to a peer in one piece at present. Larger ones
    /// travel in parts, at more cost.
    #[must_use]
    pub fn max_payload(&self, peer: u32) -> Option<usize> {
        self.peer(peer).map(Peer::max_payload)
    }

    /// The epochs, this task's and the peer's, by which what goes to a peer beside the engine is
    /// told from what went to another life of it. `None`: nothing may be sent yet, or any more.
    #[must_use]
    #[inline]
    pub fn epochs(&self, peer: u32) -> Option<(u32, u32)> {
        let peer = self.peer(peer).filter(|peer| peer.confirmed && !peer.purged)?;
        Some((peer.local_epoch, peer.remote_epoch))
    }

    /// Whether what comes from a peer beside the engine with these epochs, the peer's and this
    /// task's, is of the present lives of both.
    #[must_use]
    #[inline]
    pub fn is_current(&self, peer: u32, source: u32, destination: u32) -> bool {
        let now = |peer: &Peer| (peer.purged, peer.remote_epoch, peer.local_epoch);
        self.peer(peer).is_some_and(|peer| now(peer) == (false, source, destination))
    }

    /// Takes a unit for delivery. `via` is a [`Channel`], or names a path, too. `token` comes back
    /// in [`Event::Acked`] or [`Event::Purged`]; [`NO_TOKEN`](super::NO_TOKEN) asks for no event.
    #[inline]
    pub fn submit(
        &mut self,
        now: Nanos,
        peer: u32,
        via: impl Into<Via>,
        head: &[u8],
        body: Body<'_>,
        token: u64,
    ) -> Result<(), SubmitError> {
        let place = self.place(peer).ok_or(SubmitError::Unknown(peer))?;
        self.submit_at(now, place, via, head, body, token)
    }

    /// Where a peer is, for who asks more than one thing about it.
    #[inline]
    #[must_use]
    pub fn place(&self, peer: u32) -> Option<Place> {
        self.index.get(peer).map(Place)
    }

    /// As [`submit`](Self::submit), for a peer that was looked up.
    #[inline(always)]
    pub fn submit_at(
        &mut self,
        now: Nanos,
        Place(index): Place,
        via: impl Into<Via>,
        head: &[u8],
        body: Body<'_>,
        token: u64,
    ) -> Result<(), SubmitError> {
        let Via { channel, preferred } = via.into();
        let state = &mut self.peers[index as usize];
        let peer = state.task;
        if state.purged {
            return Err(SubmitError::PeerDown(peer));
        }
        let (copied, external) = match body {
            Body::Copy(bytes) => (bytes, External::default()),
            Body::External { buffer, offset, len } => (&[][..], External { buffer, offset, len }),
        };
        let len = head.len() + copied.len() + external.len as usize;
        if len > MAX_UNIT {
            return Err(SubmitError::TooLarge { peer, len, max: MAX_UNIT });
        }
        let config = &self.shared.config;
        // Events that nobody has fetched hold memory like the units that they tell of.
        let held = self.shared.units + self.shared.events.len();
        let bound = match channel {
            Channel::Request => config.total_units,
            Channel::Reply => config.total_units + config.total_units / 4,
        };
        if held >= bound {
            return Err(SubmitError::Again);
        }
        if state.outstanding() == 0 {
            state.owing_since = now;
        }
        let limits = (config.channel_units, config.channel_bytes);
        if !state.queues[channel as usize].submit(limits, (head, copied), external, token, preferred) {
            return Err(SubmitError::Again);
        }
        self.shared.units += 1;
        state.stats.units_submitted += 1;
        if !state.confirmed && state.greet_at.is_none() {
            state.greet_now = true;
        }
        if !state.ready {
            state.ready = true;
            self.ready.push_back(index);
        }
        Ok(())
    }

    /// The upper layer knows by other means that units with this token have arrived: they count as
    /// acknowledged, and the caller's memory behind them is left alone from now on.
    pub fn settle(&mut self, peer: u32, token: u64) {
        let Some(index) = self.index.get(peer) else { return };
        let state = &mut self.peers[index as usize];
        for channel in [Channel::Request, Channel::Reply] {
            for unit in state.queues[channel as usize].sent_with(token) {
                state.units_acked(Span::whole(channel as u8, unit), &mut self.shared);
            }
        }
    }

    /// Nobody wants the units with this token any more, of which some may be on their way or not
    /// sent yet. The caller's memory behind them is left alone from now on: what is still sent of
    /// them, or sent again, names buffer 0, for which the upper layer gives any bytes. Those that
    /// were sent are reported as acknowledged now. All of them arrive, since none may be missing
    /// among the units' numbers; the receiver must know that it is to drop them.
    pub fn withdraw(&mut self, peer: u32, token: u64) {
        let Some(index) = self.index.get(peer) else { return };
        for queue in &mut self.peers[index as usize].queues {
            let sent = queue.void(token);
            self.shared.events.extend(std::iter::repeat_n(Event::Acked { peer, token }, sent));
        }
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) is worth a call.
    #[must_use]
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether [`poll_event`](Self::poll_event) has one.
    #[must_use]
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.shared.events.is_empty()
    }

    /// What happened since the last call, one event at a time.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.shared.events.pop_front()
    }

    /// Gives a peer up: what is outstanding comes back as [`Event::Purged`], and what arrives from
    /// it is dropped.
    pub fn purge(&mut self, peer: u32) -> Result<(), PeerError> {
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let peer = &mut self.peers[index as usize];
        if !peer.purged {
            peer.reset(&mut self.shared);
            peer.confirmed = false;
            peer.purged = true;
        }
        Ok(())
    }

    /// Takes a purged peer up again, with a new epoch.
    pub fn resume(&mut self, now: Nanos, peer: u32) -> Result<(), PeerError> {
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let peer = &mut self.peers[index as usize];
        if peer.purged {
            peer.purged = false;
            peer.local_epoch = peer.local_epoch.wrapping_add(1).max(1);
            peer.last_heard = now;
            // If the peer is there it shall learn at once that what it has outstanding is void.
            peer.greet_now = true;
            if !peer.ready {
                peer.ready = true;
                self.ready.push_back(index);
            }
        }
        Ok(())
    }

    /// Shows a peer whose epoch is unknown our own, even without anything to send: it may be
    /// looking for us elsewhere.
    pub fn greet(&mut self, peer: u32) -> Result<(), PeerError> {
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let state = &mut self.peers[index as usize];
        if !state.confirmed && !state.purged {
            state.greet_now = true;
            if !state.ready {
                state.ready = true;
                self.ready.push_back(index);
            }
        }
        Ok(())
    }

    /// Adds a path to a peer that was resumed in a place with more of them.
    pub fn add_path(&mut self, peer: u32, path: PathInfo) -> Result<(), PeerError> {
        check_datagram(peer, path.path_id, path.max_datagram)?;
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let state = &mut self.peers[index as usize];
        if path.path_id.max(path.standby.unwrap_or(0)) >= MAX_PATHS as u8
            || state.path_at(path.path_id).is_some()
        {
            return Err(PeerError::Paths { peer, count: state.paths.len() + 1 });
        }
        let before = (state.max_payload(), state.is_on_standby());
        state.insert_path(path, &self.shared.config);
        state.tell_carriers(before, &mut self.shared);
        if !state.ready {
            state.ready = true;
            self.ready.push_back(index);
        }
        Ok(())
    }

    /// The path MTU has changed: datagrams of at most `max_datagram` bytes are said to pass from
    /// now on. Units already submitted get through whatever their size. If less passes, the engine
    /// finds out.
    pub fn set_max_datagram(&mut self, peer: u32, path: u8, max_datagram: usize) -> Result<(), PeerError> {
        check_datagram(peer, path, max_datagram)?;
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let state = &mut self.peers[index as usize];
        let at = state.path_at(path).ok_or(PeerError::Paths { peer, count: state.paths.len() })?;
        let before = state.max_payload();
        if max_datagram == state.paths[at].mtu.told {
            // What has been found out since counts for more.
            return Ok(());
        }
        let smaller = max_datagram < state.paths[at].max_datagram;
        state.paths[at].mtu = PathMtu::new(max_datagram);
        state.paths[at].set_max_datagram(max_datagram);
        if smaller {
            // What is on its way in larger datagrams is dropped by whoever told.
            state.give_up_larger(at, max_datagram, &self.shared);
        }
        state.tell_room(before, &mut self.shared);
        if !state.ready {
            state.ready = true;
            self.ready.push_back(index);
        }
        Ok(())
    }

    /// Whether a path is trusted with data.
    #[must_use]
    pub fn path_state(&self, peer: u32, path: u8) -> Option<PathState> {
        let peer = self.peer(peer)?;
        peer.path_at(path).map(|at| peer.paths[at].state)
    }

    /// The receive buffer in bytes, as `SO_RCVBUF` reads back.
    pub fn set_receive_buffer(&mut self, bytes: u32) {
        self.shared.credits.set_buffer(bytes);
    }

    /// The receive buffer had no room for `dropped` datagrams (`SO_RXQ_OVFL`): credits shrink for a
    /// while.
    pub fn note_overflow(&mut self, now: Nanos, dropped: u32) {
        self.shared.stats.overflows += u64::from(dropped);
        if dropped > 0 {
            self.shared.credits.overflowed(now);
        }
    }

    /// Sets after how many datagrams an acknowledgement is sent (LAPI's `ACK_THRESHOLD`); clamped
    /// to 1..=31.
    pub fn set_ack_threshold(&mut self, datagrams: u8) {
        self.shared.config.ack_threshold = datagrams.clamp(1, 31);
    }

    /// Sets after how long a silent peer is reported (LAPI's `TIMEOUT`).
    pub fn set_peer_timeout(&mut self, timeout: Option<Nanos>) {
        self.shared.config.peer_timeout = timeout;
        for (index, peer) in (0..).zip(&mut self.peers) {
            let deadline = peer.deadline(&self.shared.config);
            self.timers.set(deadline, index, &mut peer.scheduled);
        }
    }

    /// Nobody has looked for long at what arrives, so that what peers have said may not have been
    /// read yet: their silence counts from now on.
    pub fn was_away(&mut self, now: Nanos) {
        for peer in &mut self.peers {
            peer.owing_since = now;
        }
    }

    /// What the engine was told.
    #[must_use]
    pub fn config(&self) -> &EngineConfig {
        &self.shared.config
    }

    /// Units submitted to a peer and not acknowledged.
    #[must_use]
    pub fn outstanding(&self, peer: u32) -> Option<usize> {
        self.peer(peer).map(Peer::outstanding)
    }

    /// As [`outstanding`](Self::outstanding), for a peer that was looked up.
    #[must_use]
    #[inline]
    pub fn outstanding_at(&self, Place(index): Place) -> usize {
        self.peers[index as usize].outstanding()
    }

    /// Whether an acknowledgement is still to be sent to some peer: a task that ends should wait
    /// for it.
    #[must_use]
    pub fn owes_acks(&self) -> bool {
        self.peers.iter().any(|peer| peer.paths.iter().any(|path| path.arrivals.waiting()))
    }

    /// Counts for one peer.
    #[must_use]
    pub fn stats(&self, peer: u32) -> Option<PeerStats> {
        self.peer(peer).map(|peer| peer.stats)
    }

    /// Counts of what belongs to no peer.
    #[must_use]
    pub fn engine_stats(&self) -> EngineStats {
        self.shared.stats
    }

    /// Each path, all peers together.
    #[must_use]
    pub fn rails(&self) -> Vec<RailStats> {
        let mut rails: Vec<RailStats> = Vec::new();
        for (peer, path) in self.peers.iter().flat_map(|peer| peer.paths.iter().map(move |path| (peer, path)))
        {
            let at = rails
                .iter()
                .position(|rail| (rail.path, rail.standby) == (path.id, path.standby))
                .unwrap_or_else(|| {
                    let (path, standby, number) = (path.id, path.standby, path.rail);
                    rails.push(RailStats { path, standby, number, ..RailStats::default() });
                    rails.len() - 1
                });
            peer.add_to(&mut rails[at], path);
        }
        rails
    }

    /// Bytes of memory that the engine holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        let peers: usize = self.peers.iter().map(Peer::heap).sum();
        let events = self.shared.events.capacity() * size_of::<Event>();
        size_of::<Self>()
            + peers
            + self.index.heap()
            + self.timers.heap()
            + (self.untimed.capacity() + self.behind.capacity()) * 4
            + events
            + self.ready.capacity() * 4
    }

    fn peer(&self, task: u32) -> Option<&Peer> {
        self.index.get(task).map(|index| &self.peers[index as usize])
    }
}

/// The largest unit there can be.
const MAX_UNIT: usize = MAX_DATAGRAM - HEADER_LEN - DATA_LEN;

fn check_datagram(peer: u32, path: u8, max_datagram: usize) -> Result<(), PeerError> {
    if (MIN_DATAGRAM..=MAX_DATAGRAM).contains(&max_datagram) {
        Ok(())
    } else {
        Err(PeerError::Datagram { peer, path, max_datagram })
    }
}
