//! Ways to peers: how they are found, and what becomes of them.

use crate::abi::Status;
use crate::net::name_of;
use crate::outlets::{Far, Link as Way};
use crate::port::{Port, refused};
use crate::stream::{InStream, Link, OutStream, Unanswered};
use lapis_adapters::client::{DaemonError, PortWay};
use lapis_adapters::protocol::Why;
use lapis_adapters::soft::Sender;
use lapis_core::reliable::Nanos;

/// Between two looks whether a port has been opened.
const LOOK_AGAIN: Nanos = 2_000_000;

/// Between two times of asking for next hops.
const HOPS_AGAIN: Nanos = 50_000_000;

/// Of a peer of another host that owes something nothing is heard for so long: its daemon is asked
/// whether it is still there, and again so often.
const SILENCE: Nanos = 50_000_000;

/// Why there is no way to a port.
enum NoWay {
    /// The daemon says so.
    Daemon(DaemonError),
    /// The next hop to its host is looked for.
    NoHop,
    /// This process or its system does not manage it.
    Here(Status),
}

impl NoWay {
    fn is(&self, wanted: Why) -> bool {
        matches!(self, Self::Daemon(DaemonError::Refused { why, .. }) if *why == wanted)
    }

    /// It may be known in a moment.
    fn is_soon(&self) -> bool {
        matches!(self, Self::NoHop) || self.is(Why::Soon)
    }
}

impl Port {
    /// Makes a way to a peer for what is to be sent, or says that there is none.
    #[inline]
    pub(crate) fn approach(&mut self, peer: usize) {
        if self.peers[peer].link == Link::Down && self.peers[peer].is_owed() {
            self.seek(peer, true);
        }
    }

    /// The way to a peer, as the daemon knows it.
    fn find_way(&mut self, peer: usize) -> Result<Way, NoWay> {
        let (node, number) = (self.peers[peer].node, self.peers[peer].port);
        let way = self.daemon.attach_port(self.node, node, number, self.key).map_err(NoWay::Daemon)?;
        match way {
            PortWay::Here { life, board, parts } => {
                let sender = Sender::open(parts, self.settings.limits).map_err(|e| {
                    tracing::error!(target: "lapis::gm", "port {number} of node {node}: {e}");
                    NoWay::Here(Status::OutOfMemory)
                })?;
                self.peers[peer].board = board;
                self.learn_life(peer, life);
                Ok(Way::Memory(sender))
            }
            PortWay::Away { life, address, port, room } => {
                let hop = self
                    .daemon
                    .hop(&self.registration.opened.place.adapter, address)
                    .map_err(NoWay::Daemon)?;
                let hop = hop.ok_or(NoWay::NoHop)?;
                let wire = self.net.wire.as_ref().ok_or(NoWay::Here(Status::InternalError))?;
                let present = self.daemon.matrix().room(self.board as usize);
                let own = if present == 0 { wire.wire().room } else { present };
                let (template, room) = (wire.template(hop, address, port), room.min(own) as usize);
                self.peers[peer].board = self.board;
                self.learn_life(peer, life);
                Ok(Way::Frames(Far { template, address, port, room }))
            }
        }
    }

    /// The daemon has told in which life a peer is. What is in lanes of the one before is still
    /// read; then they are for others.
    fn learn_life(&mut self, peer: usize, life: u32) {
        let state = &mut self.peers[peer];
        let known = state.life.replace(life);
        let before = state.former.take().or(known).filter(|before| *before != life);
        if let Some(before) = before {
            self.free_lanes_of(peer, before);
        }
    }

    fn free_lanes_of(&mut self, peer: usize, life: u32) {
        let name = name_of(self.peers[peer].task(), life);
        self.net.window.lanes().sender_ended(name);
    }

    /// Asks the daemon for the way to a peer. `patient`: a port that is not open is waited for.
    pub(crate) fn seek(&mut self, peer: usize, patient: bool) {
        let connected = match self.find_way(peer) {
            Ok(way) => self.net.connect(self.peers[peer].task(), way, self.life).map_err(|e| {
                let (node, number) = (self.peers[peer].node, self.peers[peer].port);
                tracing::error!(target: "lapis::gm", "port {number} of node {node}: {e}");
                Status::InternalError
            }),
            // Nobody asked for it: what is under way to it is another matter.
            Err(why) if !patient && !why.is_soon() => return,
            Err(why) => match self.wait_for(peer, &why) {
                true => return,
                false => Err(self.no_way(why)),
            },
        };
        match connected {
            Ok(()) => {
                let heard = self.net.heard(self.peers[peer].task());
                let now = self.net.now();
                let state = &mut self.peers[peer];
                state.is_heard(heard, now);
                (state.link, state.met, state.closing) = (Link::Up, true, false);
                self.stir(peer);
            }
            Err(status) => {
                self.peers[peer].link = Link::Down;
                self.fail_front(peer, status);
            }
        }
    }

    /// Whether a way that is not there is worth another look later, which is then noted.
    fn wait_for(&mut self, peer: usize, why: &NoWay) -> bool {
        let now = self.net.now();
        let met = self.peers[peer].met || self.nack_down;
        let closed = why.is(Why::NoPort) && !met;
        // A daemon that has gone may be back soon.
        let gone = matches!(why, NoWay::Daemon(DaemonError::Silent(..)));
        let wait = self.settings.open_wait.as_nanos() as Nanos;
        let since = match self.peers[peer].link {
            Link::Seeking { since, .. } => since,
            _ => now,
        };
        let worth = (gone || closed || why.is_soon()) && now - since < wait;
        if worth {
            // Who has been asked answers at once, or never.
            let longest = if why.is_soon() { LOOK_AGAIN } else { 50 * LOOK_AGAIN };
            let again = now + LOOK_AGAIN.max((now - since) / 8).min(longest);
            self.peers[peer].link = Link::Seeking { since, again };
        }
        worth
    }

    /// The status for a way that is not there.
    fn no_way(&self, why: NoWay) -> Status {
        match why {
            NoWay::Here(status) => status,
            NoWay::NoHop => {
                tracing::error!(
                    target: "lapis::gm",
                    "gm_send: the node's host does not answer at its address: is it up, and is there a way to it?"
                );
                Status::SendTargetNodeUnreachable
            }
            NoWay::Daemon(error) if matches!(&error, DaemonError::Refused { why: Why::NoPort, .. }) => {
                tracing::info!(target: "lapis::gm", "{error}: nothing can be sent there");
                Status::SendTargetPortClosed
            }
            NoWay::Daemon(error) => {
                refused("gm_send", &error);
                Status::SendTargetNodeUnreachable
            }
        }
    }

    /// A peer that is cut off for too long can't be reached.
    pub(crate) fn look_at_adapters(&mut self, peer: usize, now: Nanos) {
        let matrix = self.daemon.matrix();
        let up = matrix.is_up(self.board as usize) && matrix.is_up(self.peers[peer].board as usize);
        let own = self.peers[peer].node == self.node && self.peers[peer].port == self.number;
        self.net.outlets.set_up(self.peers[peer].task(), up);
        if up || own || !self.peers[peer].is_owed() {
            self.peers[peer].cut_off = None;
            return;
        }
        let since = *self.peers[peer].cut_off.get_or_insert(now);
        if now - since >= self.settings.timeout.as_nanos() as Nanos {
            self.peers[peer].cut_off = None;
            self.give_up(peer, Status::SendTargetNodeUnreachable);
        }
    }

    /// Asks after a peer of another host that owes something and is silent: nobody else tells of
    /// its end.
    pub(crate) fn look_at_other_host(&mut self, peer: usize, now: Nanos) {
        let task = self.peers[peer].task();
        if !self.net.outlets.is_far(task) {
            return;
        }
        let heard = self.net.heard(task);
        let state = &mut self.peers[peer];
        let awaits = |stream: &InStream| stream.current.is_some();
        if heard != state.heard || !(state.is_owed() || state.ins.iter().any(awaits)) {
            state.is_heard(heard, now);
            return;
        }
        if now - state.alive < SILENCE || now < state.ask_again {
            return;
        }
        let (node, number) = (state.node, state.port);
        let answer = self.daemon.attach_port(self.node, node, number, self.key);
        let state = &mut self.peers[peer];
        match answer {
            Ok(PortWay::Away { life, .. }) if state.life.is_none_or(|known| known == life) => {
                state.life = Some(life);
                state.is_heard(heard, now);
            }
            Ok(_) | Err(DaemonError::Refused { why: Why::NoPort, .. }) => self.peer_closed(peer),
            Err(error) => {
                // Who has been asked answers in a moment.
                let is_soon = matches!(error, DaemonError::Refused { why: Why::Soon, .. });
                state.ask_again = now + if is_soon { LOOK_AGAIN } else { SILENCE };
                let unanswered = Unanswered::more(state.unanswered, now);
                state.unanswered = Some(unanswered);
                if unanswered.is_enough(now, self.settings.timeout.as_nanos() as Nanos) {
                    tracing::info!(target: "lapis::gm", "port {number} of node {node} is silent, and {error}");
                    self.give_up(peer, Status::SendTargetNodeUnreachable);
                }
            }
        }
    }

    /// Asks for next hops again where they may have changed.
    pub(crate) fn look_at_hops(&mut self, now: Nanos) {
        let Some(wire) = &self.net.wire else { return };
        let hops = self.daemon.matrix().hops(self.board as usize);
        if self.hops == hops || now - self.hops_asked < HOPS_AGAIN {
            return;
        }
        self.hops_asked = now;
        let mut all = true;
        for far in self.net.outlets.far() {
            match self.daemon.hop(&self.registration.opened.place.adapter, far.address) {
                Ok(Some(hop)) => far.template = wire.template(hop, far.address, far.port),
                Ok(None) | Err(_) => all = false,
            }
        }
        // Those that are not known yet are asked for again.
        if all {
            self.hops = hops;
        }
    }

    /// A peer's port is closed. What it had sent is read first. If another program has it
    /// open by now, what the first one has not been told of goes there.
    pub(crate) fn peer_closed(&mut self, peer: usize) {
        self.peers[peer].closing = false;
        self.empty_lanes();
        // What is closed is the window of a former life as long as the next one is not known.
        if let Some(life) = self.peers[peer].life.or(self.peers[peer].former) {
            self.free_lanes_of(peer, life);
        }
        self.part_from(peer);
        self.fail_told(peer, Status::SendTargetPortClosed);
        self.approach(peer);
    }

    /// A peer can't be reached any more.
    fn give_up(&mut self, peer: usize, status: Status) {
        self.part_from(peer);
        self.fail_front(peer, status);
    }

    /// Nothing that is under way to or from a peer arrives any more.
    pub(crate) fn part_from(&mut self, peer: usize) {
        let lends = self.peers[peer].out.iter().any(OutStream::lends);
        if lends && !self.net.outlets.is_far(self.peers[peer].task()) {
            // It may be copying from memory that the program has back in a moment.
            self.own.renew();
        }
        self.net.disconnect(self.peers[peer].task());
        self.peers[peer].link = Link::Down;
        self.forget_incoming(peer);
    }

    /// A peer's port has been opened anew, and the engine has heard of it first.
    pub(crate) fn peer_restarted(&mut self, task: u32, lost: bool) {
        let peer = self.peer_of(task);
        // Which life it is now, its daemon knows.
        let state = &mut self.peers[peer];
        state.former = state.life.take().or(state.former);
        if lost {
            self.forget_incoming(peer);
            self.fail_told(peer, Status::SendTargetPortClosed);
            self.stir(peer);
        }
        if !self.net.outlets.is_closed(task) {
            return;
        }
        match self.find_way(peer) {
            Ok(way) => {
                self.net.replace(task, way);
                self.peers[peer].closing = false;
            }
            Err(_) => self.peer_closed(peer),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::port::Port;
    use crate::rubbish_tests::{daemon, open, young_daemon};
    use crate::stream::{Link, Op, Teller};
    use crate::wish::Wish;
    use lapis_testing::Patience;
    use std::time::Duration;

    /// Has a port find the daemon that listens now.
    fn find_daemon(port: &mut Port) {
        // The thread that watches may be at it, too: this one passes by then.
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while port.is_alone {
            assert!(!patience.is_over(), "the new daemon is not found");
            port.look_at_daemon();
        }
    }

    #[test]
    fn a_new_daemon_is_asked_for_all_next_hops() {
        let (mut port, first) = open("hops");
        drop(first);
        port.look_at_daemon();
        assert!(port.is_alone);
        let (_, _next) = daemon("hops");
        let known = port.daemon.matrix().hops(port.board as usize);
        port.hops = known;
        find_daemon(&mut port);
        assert_ne!(port.hops, port.daemon.matrix().hops(port.board as usize));
    }

    /// The port that is sent to was open when the daemon died, and has not shown itself since.
    #[test]
    fn a_port_that_a_young_daemon_does_not_know_is_waited_for() {
        let (mut port, first) = open("young");
        drop(first);
        port.look_at_daemon();
        assert!(port.is_alone);
        let (_, young) = young_daemon("young", Duration::from_secs(3600));
        find_daemon(&mut port);
        let peer = port.peer(port.node, 4);
        port.peers[peer].met = true;
        let message = [7u8; 8];
        let local = message.as_ptr().expose_provenance() as u64;
        let (op, node, teller) = (Op::Message { size: 8 }, port.node, Teller::Event);
        port.send(Wish { op, local, len: 8, priority: 0, node, port: 4, teller });
        let is_sought = |port: &Port| matches!(port.peers[peer].link, Link::Seeking { .. });
        assert!(is_sought(&port) && port.events.is_empty());
        drop(young);
        port.look_at_daemon();
        assert!(port.is_alone);
        let (_, _grown_up) = daemon("young");
        find_daemon(&mut port);
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while port.events.is_empty() {
            assert!(!patience.is_over(), "nobody says that the port is not open");
            port.poll();
        }
        assert!(!is_sought(&port));
    }
}
