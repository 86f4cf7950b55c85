//! What a context does for its datagram links: it hands arrived units to the dispatcher, and acts
//! on what the packet engine reports.

use super::{Context, Locked};
use crate::context::State;
use crate::datagrams::{Datagrams, Fragments, more_follows};
use crate::error::{Error, Result};
use crate::reliable::Event;
use crate::reliable::wire::MIN_DATAGRAM;
use crate::state::PeerState;
use crate::sync::Ordering;
use crate::transport::{Caps, FailoverTrouble, PeerId, RailReport, RawSlice, Status};
use crate::wire::{Encoded, Header, LAST_RAIL};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// So many messages are sent past the engine to a peer that sends nothing: with more, they are a
/// stream.
const UNHEARD: u8 = 4;

/// A sleep that ends so little after a timer is due is not cut short for it: it was announced a
/// moment after the timers were looked at, and the system ends sleeps as late as this anyway.
const LATE: Duration = Duration::from_micros(50);

impl Context {
    /// The number of packets after which an acknowledgement is sent.
    pub fn ack_threshold(&self) -> u32 {
        self.shared.attributes.ack_threshold.load(Ordering::Relaxed)
    }

    /// Sets the number of packets after which an acknowledgement is sent.
    #[doc(alias = "ACK_THRESHOLD")]
    pub fn set_ack_threshold(&self, packets: u32) {
        self.shared.attributes.ack_threshold.store(packets, Ordering::Relaxed);
        for (_, datagrams) in self.locked().links.engines() {
            datagrams.set_ack_threshold(packets);
        }
    }

    /// The number of rails that a message may prefer ([`am_send_over`](Self::am_send_over)),
    /// whichever task is the target: the fewest that lead to any task over a transport between
    /// hosts. `None` if no task is reached over such a transport.
    ///
    /// # Errors
    /// The context can't be used.
    pub fn rails(&self) -> Result<Option<usize>> {
        self.usable()?;
        let mut locked = self.locked();
        Ok((0..self.tasks()).filter_map(|task| locked.rails_to(task)).min())
    }
}

impl Locked<'_> {
    /// Polls a link that has an engine once.
    #[inline(never)]
    pub(super) fn poll_datagrams(&mut self, index: usize) -> usize {
        // Changed under the lock only.
        let spinning = self.shared().status.polling.load(Ordering::Relaxed) > 0;
        let State { links, receiving, .. } = &mut **self;
        let Some((link, datagrams)) = links.engine_at(index) else { return 0 };
        let early_room = receiving.reassemblies.early_room();
        let fragments = Fragments { early_room, is_known: &|peer, message| receiving.knows((peer, message)) };
        match datagrams.poll(link, fragments, spinning) {
            Ok(0) => return 0,
            Ok(_) => {}
            Err(status) => return self.link_broken(index, status),
        }
        let units = datagrams.take_units();
        let state = &mut **self;
        if let [unit] = &units[..] {
            state.peers[unit.peer].unheard = 0;
        }
        let path = state.links.paths[index];
        state.peers.purged_in_turn.clear();
        state.dispatching += 1;
        for unit in &units {
            if self.peers.purged_in_turn.contains(&unit.peer) {
                continue; // It was sent in the former life.
            }
            if let Some(lost) = unit.new_life_after() {
                self.peer_restarted(unit.peer, lost);
                continue;
            }
            // SAFETY: `dispatching` keeps the link from being polled until the units are dealt
            // with.
            self.packet_of_present(path, unit.peer, unsafe { unit.bytes() });
        }
        let state = &mut **self;
        state.dispatching -= 1;
        state.peers.forget_messages_of_purged();
        let handled = units.len();
        let Some((link, datagrams)) = state.links.engine_at(index) else { return handled };
        datagrams.give_back(units);
        datagrams.flush_what_is_ready(link);
        if datagrams.has_news() { handled + self.engine_news(index) } else { handled }
    }

    /// Passes on the events of an engine and its link. Returns their number.
    #[inline(never)]
    fn engine_news(&mut self, index: usize) -> usize {
        let mut handled = 0;
        while let Some(event) = self.links.engine_at(index).and_then(|(_, d)| d.event()) {
            match event {
                Event::Acked { token, .. } => self.zero_copy_packet_acknowledged(token),
                event => self.engine_says(event),
            }
            handled += 1;
        }
        if let Some(troubles) = self.links.engine_at(index).and_then(|(_, d)| d.troubles()) {
            self.failover_troubled(&troubles);
        }
        handled
    }

    /// Reports what the transports noted about failover while they were set up.
    pub(super) fn report_failover(&mut self) {
        let troubles: Vec<_> = self.links.engines().filter_map(|(_, d)| d.troubles()).collect();
        self.failover_troubled(&troubles.concat());
    }

    #[cold]
    pub(crate) fn failover_troubled(&mut self, troubles: &[(FailoverTrouble, String)]) {
        for (trouble, text) in troubles {
            match &self.shared().hooks.failover {
                Some(hook) => self.out(|context| hook(context, *trouble, text)),
                None => tracing::warn!("failover between network paths: {text}"),
            }
        }
    }

    /// Tries to pass a packet in two pieces to the engine of a peer's link. It should fit a
    /// datagram, but need not: the engine splits it.
    #[inline(never)]
    pub(crate) fn send_datagram(&mut self, peer: PeerId, head: &[u8], data: &[u8]) -> Status {
        self.send_datagram_here(peer, head, data)
    }

    /// The same with a head of two words, which stay in registers: stored and copied at once, by a
    /// wider load, they would wait until the stores have left the processor's queue.
    #[inline(never)]
    pub(crate) fn send_datagram_of(&mut self, peer: PeerId, first: u64, second: u64, data: &[u8]) -> Status {
        self.send_datagram_here(peer, [first, second].as_bytes(), data)
    }

    #[inline(always)]
    fn send_datagram_here(&mut self, peer: PeerId, head: &[u8], data: &[u8]) -> Status {
        let hold = head.first().is_some_and(|kind| more_follows(*kind)) || self.dispatching > 0;
        let unheard = self.peers[peer].unheard;
        let Some((link, datagrams)) = self.engine_to(peer) else { return Status::PeerDown };
        if unheard < UNHEARD && !datagrams.holds_back() && datagrams.send_alone(link, peer, head, data) {
            self.peers[peer].unheard += 1;
            return Status::Done;
        }
        let status = datagrams.send(link, peer, head, data, hold);
        self.wake_for_timer();
        status
    }

    /// Tries to send a packet of a long message by the datagram bypass of a peer's link.
    /// [`Status::Unsupported`]: there is none for this packet.
    pub(crate) fn send_past(&mut self, peer: PeerId, head: &[u8], data: &[u8]) -> Status {
        let Some((link, datagrams)) = self.engine_to(peer) else { return Status::Unsupported };
        let status = datagrams.send_bypassing(link, peer, head, data);
        self.peers[peer].silence.held_up = status == Status::Again;
        status
    }

    /// The largest data of a packet that bypasses the datagrams of a peer's link; `None` if packets
    /// of long messages can't.
    pub(crate) fn room_past(&mut self, peer: PeerId) -> Option<u64> {
        let (link, datagrams) = self.engine_to(peer)?;
        datagrams.can_bypass(link, peer).then(|| Datagrams::bypass_room(link) as u64)
    }

    /// The same with data that stay in place until the engine has returned `token`.
    ///
    /// # Safety
    /// The body is readable until then.
    pub(crate) unsafe fn send_zero_copy_datagram(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: RawSlice,
        token: u64,
    ) -> Status {
        let Some((link, datagrams)) = self.engine_to(peer) else { return Status::PeerDown };
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        // SAFETY: the body is readable until the token is given back, by the contract above.
        let status = unsafe { datagrams.send_lent(link, peer, head.bytes(n), body, token) };
        if status == Status::Done {
            self.count_sent(peer, body.len);
        }
        self.wake_for_timer();
        status
    }

    #[cold]
    fn engine_says(&mut self, event: Event) {
        match event {
            Event::PeerTimeout { peer, silence } => {
                let seconds = silence / 1_000_000_000;
                self.fell_silent(peer, seconds, "waiting for acknowledgements");
            }
            Event::PeerRestarted { peer, epoch, .. } => {
                tracing::debug!(peer, epoch, "a new life of the peer is heard");
            }
            Event::PeerRenewed { peer, .. } => {
                self.look_for(peer);
            }
            Event::PathSuspect { peer, path } => {
                // A peer with a single path that does not answer is most likely busy: nothing
                // changes for anybody.
                let stands_in = self.engine_to(peer).is_some_and(|(_, d)| d.stands_in(peer, path));
                if self.paths_to(peer).len() > 1 && !stands_in {
                    tracing::warn!(peer, path, "a path does not answer; its packets take others");
                } else {
                    tracing::debug!(peer, path, "the path does not answer; it is asked again and again");
                }
            }
            Event::PathUp { peer, path } => {
                if self.paths_to(peer).len() > 1 {
                    tracing::info!(peer, path, "a path answers again");
                } else {
                    tracing::debug!(peer, path, "the path answers again");
                }
            }
            Event::Standby { peer, on } => self.standby_turned(peer, on),
            Event::PathNarrow { peer, path, told, bytes } => tracing::warn!(
                peer,
                path,
                "path {path} to task {peer} loses datagrams of more than {bytes} bytes without a word, though it is said to \
                 carry {told}: they are kept that small. Do all interfaces on the way have one MTU, and do \
                 routers' messages come through?"
            ),
            Event::PathTooNarrow { peer, path } => self.path_too_narrow(peer, path),
            Event::MaxPayload { peer, bytes } => tracing::debug!(peer, bytes, "largest packet changed"),
            // Whoever purges ends all zero-copy sends.
            Event::Acked { .. } | Event::Purged { .. } => {}
        }
    }

    /// The standby of a peer's transport has taken over, or is not needed any more.
    #[cold]
    fn standby_turned(&mut self, peer: PeerId, on: bool) {
        let Some(link) = self.link_to(peer) else { return };
        let (name, standby) = (link.name(), link.standby().unwrap_or("nothing"));
        if on {
            tracing::warn!(peer, "no path of {name} to task {peer} is left: its packets take {standby}");
        } else {
            tracing::info!(
                peer,
                "a path of {name} to task {peer} answers again: its packets leave {standby}"
            );
        }
    }

    /// Handles a path that carries no data. If it is the only one, the program's error handler
    /// decides whether to go on trying.
    #[cold]
    fn path_too_narrow(&mut self, peer: PeerId, path: u8) {
        let what = format!(
            "path {path} to task {peer} loses datagrams of {MIN_DATAGRAM} bytes, the least that a path must carry, while \
             smaller ones arrive: its MTU must be 576 at least"
        );
        if self.paths_to(peer).len() > 1 {
            return tracing::warn!(peer, path, "{what}");
        }
        let link = self.link_to(peer);
        let (name, note) = link.map_or(("none", ""), |link| (link.name(), link.note()));
        let what = format!("{what} (this side: {note})");
        let error = Error::Transport { transport: name.to_owned(), what: what.clone(), source: None };
        if !self.call_error_handler(&error, peer) {
            self.peer_down(peer, &what);
        }
    }

    /// Waits until all traffic with peers that are still there has been acknowledged, in both
    /// directions.
    pub(super) fn linger(&mut self, limit: Duration) {
        if !self.links.has_engines() || self.dispatching > 0 {
            return;
        }
        let deadline = Instant::now() + limit;
        let all = self.wait_before(crate::status::Awaiting::End, Some(deadline), |locked| {
            locked.owing().is_empty() && !locked.links.engines().any(|(_, d)| d.owes_acks())
        });
        if !all {
            tracing::debug!(waiting = ?self.owing(), "leaving although not all is acknowledged");
        }
        for (link, datagrams) in self.links.engines() {
            datagrams.log_refusals(link.name());
        }
    }

    /// Live peers with unacknowledged packets.
    fn owing(&mut self) -> Vec<PeerId> {
        let tasks = self.shared().tasks;
        let state = &mut **self;
        let owes = |peer: &PeerId| {
            let up = state.peers[*peer].state == PeerState::Up;
            up && state.engine_to(*peer).is_some_and(|(_, datagrams)| datagrams.owes(*peer))
        };
        (0..tasks).filter(owes).collect()
    }

    /// In interrupt mode: ends the progress thread's sleep when an engine's timer is due, if it
    /// would last longer.
    #[inline]
    pub(crate) fn wake_for_timer(&mut self) {
        if self.shared().interrupts() && self.shared().status.polling.load(Ordering::Relaxed) == 0 {
            self.wake_for_timer_slow();
        }
    }

    /// An alarm, and no call: the thread would want the lock and the core that this one uses. The
    /// system gives a thread that has just run no core beside one that computes, until its next
    /// tick.
    #[cold]
    fn wake_for_timer_slow(&mut self) {
        let Some(due) = self.links.engines().filter_map(|(_, d)| d.until_timer()).min() else { return };
        let shared = self.shared();
        let until = Duration::from_nanos(shared.sleeping_until.load(Ordering::Relaxed));
        let due_at = shared.clock.elapsed() + due;
        if due_at + LATE >= until {
            return;
        }
        let is_set = shared.link_sleepers.set_alarm(due);
        let sleeps_until = if is_set { due_at.as_nanos() as u64 } else { 0 };
        shared.sleeping_until.store(sleeps_until, Ordering::Relaxed);
        if !is_set {
            shared.link_sleepers.wake();
        }
    }
}

impl State {
    /// The transport that leads to a peer: the one that stands by, if the other does not.
    pub(crate) fn name_of_transport_to(&mut self, peer: PeerId) -> Option<&'static str> {
        let only_standby =
            self.engine_to(peer).is_some_and(|(_, datagrams)| datagrams.has_only_standby(peer));
        let link = self.link_to(peer)?;
        link.standby().filter(|_| only_standby).or(Some(link.name()))
    }

    /// Whether packets to a peer can prefer a rail.
    pub(crate) fn has_rails(&self, peer: PeerId) -> bool {
        let index = self.peers[peer].route.index();
        matches!(self.links.datagrams.get(index), Some(Some(_)))
            || self.links.open.get(index).is_some_and(|link| link.caps().contains(Caps::PREFER_RAIL))
    }

    /// The number of rails to a peer that can be preferred; `None` for a peer of this host that no
    /// network leads to.
    fn rails_to(&mut self, peer: PeerId) -> Option<usize> {
        if let Some((_, datagrams)) = self.engine_to(peer) {
            return Some(datagrams.paths(peer).len());
        }
        let has_rails = self.has_rails(peer);
        let link = self.link_to(peer)?;
        if has_rails {
            let mut reports = [RailReport::default(); LAST_RAIL as usize + 1];
            return Some(link.rails(&mut reports));
        }
        (!link.caps().intersects(Caps::SELF_ONLY | Caps::LOCAL_ONLY)).then_some(1)
    }

    /// Whether a peer can be sent a packet of this many bytes, header included.
    #[inline(always)]
    pub(crate) fn takes(&self, peer: PeerId, len: usize) -> bool {
        let index = self.peers[peer].route.index();
        match self.links.datagrams.get(index) {
            Some(Some(datagrams)) => datagrams.has_room(peer, len),
            _ => self.links.open.get(index).is_some_and(|l| len <= l.limits().max_packed as usize),
        }
    }

    /// The largest packet that a peer can be sent now, in bytes, header included.
    #[inline(always)]
    pub(crate) fn room_to(&self, peer: PeerId) -> usize {
        let index = self.peers[peer].route.index();
        match self.links.datagrams.get(index) {
            Some(Some(datagrams)) => datagrams.room(peer),
            _ => self.links.open.get(index).map_or(0, |l| l.limits().max_packed as usize),
        }
    }
}
