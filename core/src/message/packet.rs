//! Sending one packet: by a lane, by the transport's table or by the packet engine, and what to do
//! when there is no room.

use super::TrustedSource;
use super::epochs::is_of_any_epoch;
use crate::context::AdaptiveWait;
use crate::context::Locked;
use crate::context::State;
use crate::error::{Error, Result};
use crate::state::PeerState;
use crate::stats::Path;
use crate::transport::{PeerId, Status};
use crate::wire::{Encoded, Header};
use zerocopy::IntoBytes;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submitted {
    /// It is on its way.
    Sent,
    /// Not now; nothing has happened.
    NoRoom,
    /// Never: what the link said.
    Refused(Status),
}

impl From<Status> for Submitted {
    #[inline(always)]
    fn from(status: Status) -> Self {
        match status {
            Status::Done | Status::InProgress => Self::Sent,
            Status::Again => Self::NoRoom,
            other => Self::Refused(other),
        }
    }
}

/// What stands behind a packet's head.
pub(crate) trait Body {
    fn len(&self) -> usize;

    /// How many of them are not the program's.
    fn control(&self) -> usize {
        0
    }

    /// The bytes, if they lie somewhere already.
    fn bytes(&self) -> Option<&[u8]>;

    /// Writes them.
    fn write(self, out: &mut [u8]);
}

impl Body for &[u8] {
    #[inline(always)]
    fn len(&self) -> usize {
        (**self).len()
    }

    #[inline(always)]
    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }

    #[inline(always)]
    fn write(self, out: &mut [u8]) {
        out.copy_from_slice(self);
    }
}

/// Part of a message's source.
struct Part<'a> {
    source: &'a mut TrustedSource,
    position: u64,
    len: usize,
    control: usize,
}

impl<'a> Part<'a> {
    /// What the packet with this header carries.
    fn new(header: &Header, source: &'a mut TrustedSource, position: u64, len: u64) -> Self {
        Self { source, position, len: len as usize, control: header.control() }
    }
}

impl Body for Part<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn control(&self) -> usize {
        self.control
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.source.bytes(self.position, self.len as u64)
    }

    fn write(self, out: &mut [u8]) {
        self.source.read(self.position, out);
    }
}

impl Locked<'_> {
    /// Tries to send one packet. The body is copied before return.
    #[inline(always)]
    pub(crate) fn try_packet(
        &mut self,
        peer: PeerId,
        header: &Header,
        user: &[u8],
        body: impl Body,
    ) -> Submitted {
        self.with_head(header, user, |locked, head| locked.submit(peer, head, body))
    }

    /// Hands on a packet's head: its header and the user header.
    #[inline(always)]
    fn with_head<R>(
        &mut self,
        header: &Header,
        user: &[u8],
        hand_on: impl FnOnce(&mut Self, &[u8]) -> R,
    ) -> R {
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        let mut long_head = None;
        let bytes = if user.len() <= Encoded::USER_ROOM {
            let n = head.append(n, user);
            head.bytes(n)
        } else {
            long_head.insert(self.long_head(head.bytes(n), user))
        };
        let result = hand_on(self, bytes);
        if let Some(long_head) = long_head {
            self.sending.long_head = long_head;
        }
        result
    }

    /// A packet's head with a long user header, in memory that is to be given back.
    #[inline(never)]
    fn long_head(&mut self, head: &[u8], user: &[u8]) -> Vec<u8> {
        let mut long_head = std::mem::take(&mut self.sending.long_head);
        long_head.clear();
        long_head.extend_from_slice(head);
        long_head.extend_from_slice(user);
        long_head
    }

    /// Tries to send one packet that carries `len` bytes of a source, from `position` on.
    #[inline(always)]
    pub(crate) fn try_packet_of(
        &mut self,
        peer: PeerId,
        (header, user): (&Header, &[u8]),
        source: &mut TrustedSource,
        position: u64,
        len: u64,
    ) -> Submitted {
        match source.bytes(position, len) {
            Some(data) => self.try_packet(peer, header, user, data),
            None => self.try_packet_of_layout(peer, (header, user), Part::new(header, source, position, len)),
        }
    }

    #[inline(never)]
    fn try_packet_of_layout(
        &mut self,
        peer: PeerId,
        (header, user): (&Header, &[u8]),
        part: Part<'_>,
    ) -> Submitted {
        self.try_packet(peer, header, user, part)
    }

    /// The one way of a packet: in the peer's lane if that has room, else through the transport's
    /// table.
    #[inline(never)]
    fn submit(&mut self, peer: PeerId, head: &[u8], body: impl Body) -> Submitted {
        let data = body.len() - body.control();
        if let Some(data) = body.bytes()
            && let Some(status) = self.packet_in_lane(peer, head, data)
        {
            return status.into();
        }
        let submitted = self.submit_past_lane(peer, head, body);
        if submitted == Submitted::Sent {
            self.count_sent(peer, data);
        }
        submitted
    }

    /// The same where no lane takes the packet. It is not counted yet.
    #[inline(never)]
    fn submit_past_lane(&mut self, peer: PeerId, head: &[u8], body: impl Body) -> Submitted {
        self.submit_by_table(peer, head, body)
    }

    /// The same, in line.
    #[inline(always)]
    pub(super) fn submit_by_table(&mut self, peer: PeerId, head: &[u8], body: impl Body) -> Submitted {
        if !self.peers[peer].met {
            self.meet(peer);
        }
        let state = &mut **self;
        let p = &state.peers[peer];
        if p.epochs.hold() && !is_of_any_epoch(head) {
            return Submitted::NoRoom;
        }
        let index = p.route.index();
        let Some(link) = state.links.open.get_mut(index) else {
            return Submitted::Refused(Status::PeerDown);
        };
        let total = head.len() + body.len();
        if state.links.datagrams[index].is_some() {
            return self.submit_datagram(peer, head, body);
        }
        let status = match body.bytes() {
            Some(data) if total <= link.limits().max_short as usize => link.am_short(peer, head, data),
            _ => link.am_packed(peer, total, |out| {
                let (front, back) = out.split_at_mut(head.len());
                front.copy_from_slice(head);
                body.write(back);
            }),
        };
        status.into()
    }

    /// The same with a head of two words, in registers if the peer's link has an engine.
    #[inline(always)]
    pub(super) fn submit_words_by_table(&mut self, peer: PeerId, head: [u64; 2], body: &[u8]) -> Submitted {
        let p = &self.peers[peer];
        let (ready, index) = (p.met && !p.epochs.hold(), p.route.index());
        if ready && matches!(self.links.datagrams.get(index), Some(Some(_))) {
            return self.send_datagram_of(peer, head[0], head[1], body).into();
        }
        self.submit_by_table(peer, head.as_bytes(), body)
    }

    /// The same over a link with an engine, which takes bytes that lie somewhere.
    #[inline(always)]
    fn submit_datagram(&mut self, peer: PeerId, head: &[u8], body: impl Body) -> Submitted {
        self.with_bytes(body, |locked, data| locked.send_datagram(peer, head, data)).into()
    }

    /// Hands on the bytes of a body, gathered if they don't lie somewhere.
    #[inline(always)]
    fn with_bytes<R>(&mut self, body: impl Body, hand_on: impl FnOnce(&mut Self, &[u8]) -> R) -> R {
        if let Some(data) = body.bytes() {
            return hand_on(self, data);
        }
        let mut gathered = std::mem::take(&mut self.sending.gathered);
        gathered.resize(body.len(), 0);
        self.out(|_| body.write(&mut gathered));
        let result = hand_on(self, &gathered);
        self.sending.gathered = gathered;
        result
    }

    /// Tries to send a packet of a long message past the datagrams of the peer's link. `None`: it
    /// can't go that way.
    #[inline(never)]
    pub(super) fn try_packet_past(
        &mut self,
        peer: PeerId,
        (header, user): (&Header, &[u8]),
        source: &mut TrustedSource,
        position: u64,
        len: u64,
    ) -> Option<Submitted> {
        self.room_past(peer)?;
        let part = Part::new(header, source, position, len);
        let data = part.len - part.control;
        let status = self.with_head(header, user, |locked, head| {
            locked.with_bytes(part, |locked, data| locked.send_past(peer, head, data))
        });
        if status == Status::Unsupported {
            return None;
        }
        if status == Status::Done {
            self.count_sent(peer, data);
        }
        Some(status.into())
    }

    /// Sends one packet, waiting for room if need be: inside a handler, where waiting is
    /// impossible, a copy is deferred.
    ///
    /// While there is no room the lock is let go now and then.
    #[inline(always)]
    pub(crate) fn send_packet(
        &mut self,
        peer: PeerId,
        header: &Header,
        user: &[u8],
        data: &[u8],
    ) -> Result<()> {
        match self.try_packet(peer, header, user, data) {
            Submitted::Sent => Ok(()),
            first => self.send_packet_slow(first, peer, header, user, data),
        }
    }

    #[cold]
    fn send_packet_slow(
        &mut self,
        mut submitted: Submitted,
        peer: PeerId,
        header: &Header,
        user: &[u8],
        data: &[u8],
    ) -> Result<()> {
        loop {
            match submitted {
                Submitted::Sent => return Ok(()),
                Submitted::NoRoom => {}
                Submitted::Refused(status) => return Err(self.link_failed(peer, status)),
            }
            if self.may_not_wait(peer) {
                self.defer(peer, header, user, data);
                return Ok(());
            }
            self.wait_for_room(peer)?;
            submitted = self.try_packet(peer, header, user, data);
        }
    }

    /// Makes progress so that a peer's ring, or our own tables, get room. Called with the lock
    /// held, outside handlers.
    pub(crate) fn wait_for_room(&mut self, peer: PeerId) -> Result<()> {
        let life = self.peers[peer].life;
        self.wait_for_progress(peer);
        let p = &self.peers[peer];
        if p.state != PeerState::Up {
            return Err(p.refusal(peer));
        }
        if p.life != life {
            // Another thread may have ended the context.
            self.out(|context| context.usable())?;
            // What has no room yet carries numbers of the former life.
            return Err(Error::Purged { task: peer });
        }
        Ok(())
    }

    /// One round of a wait for something that no arrival need announce. Not in handlers.
    fn wait_for_progress(&mut self, peer: PeerId) {
        let had_work = self.has_work();
        let handled = self.progress();
        if !had_work {
            // Whoever waits here need not come back for it.
            self.leave_work();
        }
        let mut wait = std::mem::replace(&mut self.sending.for_room, AdaptiveWait::new());
        if handled > 0 {
            wait.reset();
            self.yield_lock();
        } else if wait.pause_for_room(self) {
            self.shared().status.no_room(peer);
            wait.nap(self);
        }
        self.sending.for_room = wait;
    }

    /// Answers a peer: never waits, never fails (a peer that can't be reached is a peer that needs
    /// no answer).
    #[inline(always)]
    pub(crate) fn reply_packet(&mut self, peer: PeerId, header: &Header, data: &[u8]) {
        let room = self.sending.deferred.is_empty();
        let submitted = if room { self.try_packet(peer, header, &[], data) } else { Submitted::NoRoom };
        match submitted {
            Submitted::Sent => {}
            Submitted::NoRoom => {
                self.defer(peer, header, &[], data);
                self.leave_work();
            }
            Submitted::Refused(status) => self.packet_refused(peer, status),
        }
    }

    /// Sends what was deferred, as far as there is room. What is for one peer stays in its order:
    /// behind a packet without room no other is tried.
    pub(crate) fn send_deferred(&mut self) {
        let mut full = std::mem::take(&mut self.sending.full);
        // What a refusal entails may run the program's code, which has to find all in order.
        let mut refused = Vec::new();
        for _ in 0..self.sending.deferred.len() {
            let state = &mut **self;
            let Some((peer, packet)) = state.sending.deferred.pop_front() else { break };
            if state.peers[peer].epochs.hold() && !is_of_any_epoch(&packet) {
                state.sending.held.push_back((peer, packet));
                continue;
            }
            if full.contains(&peer) {
                state.sending.deferred.push_back((peer, packet));
                continue;
            }
            match self.submit(peer, &packet, &[][..]) {
                Submitted::Sent => self.deferred_sent(peer, &packet),
                Submitted::NoRoom => {
                    full.push(peer);
                    self.sending.deferred.push_back((peer, packet));
                }
                Submitted::Refused(status) => refused.push((peer, status)),
            }
        }
        full.clear();
        self.sending.full = full;
        for (peer, status) in refused {
            self.packet_refused(peer, status);
        }
    }

    /// A link has refused a packet for good, and no call is under way that could tell the program.
    /// A peer that is gone does not want the packet. One that is there would wait for it for ever:
    /// it counts as lost.
    #[cold]
    pub(super) fn packet_refused(&mut self, peer: PeerId, status: Status) {
        if status != Status::PeerDown {
            let error = self.link_failed(peer, status);
            self.peer_down(peer, &format!("a packet for it could not be sent: {error}"));
        }
    }

    /// Turns a link's refusal into an error, noting the peer's death.
    #[cold]
    pub(crate) fn link_failed(&mut self, peer: PeerId, status: Status) -> Error {
        let name = self.link_to(peer).map_or("none", |l| l.name()).to_owned();
        match status {
            Status::PeerDown => self.refusal(peer),
            Status::Panicked => Error::Transport {
                transport: name,
                what: "it panicked in an earlier operation and can't be used any more".into(),
                source: None,
            },
            other => Error::Transport {
                transport: name,
                what: format!("operation refused ({other:?})"),
                source: None,
            },
        }
    }
}

impl State {
    /// Whether a packet that finds no room must be kept, because its sender may not wait: inside a
    /// handler, and for a peer whose epoch is not known yet.
    pub(super) fn may_not_wait(&self, peer: PeerId) -> bool {
        self.dispatching > 0 || self.may_hold(peer)
    }

    /// Keeps a packet until there is room, or until its peer's epoch is known.
    pub(super) fn defer(&mut self, peer: PeerId, header: &Header, user: &[u8], data: &[u8]) {
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        let packet = [head.bytes(n), user, data].concat().into_boxed_slice();
        let hold = self.peers[peer].epochs.hold() && !is_of_any_epoch(&packet);
        let later = if hold { &mut self.sending.held } else { &mut self.sending.deferred };
        later.push_back((peer, packet));
    }

    #[inline(always)]
    pub(crate) fn count_sent(&mut self, peer: PeerId, data: usize) {
        let path = self.path_to(peer);
        if path == Path::Local {
            self.links.self_pending += 1;
        }
        let counts = self.statistics.path_mut(path);
        counts.packets_sent += 1;
        counts.data_sent += data as u64;
    }
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "packet_tests.rs"]
pub(super) mod tests;
