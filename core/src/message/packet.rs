//! One packet on its way: the right flavour, and what to do when there is no room.

use super::epochs::is_of_any_epoch;
use super::{Source, State, bytes};
use crate::context::Locked;
use crate::context::{AdaptiveWait, PeerState};
use crate::error::{Error, Result};
use crate::stats::Path;
use crate::transport::{Caps, Link, PeerId, Status};
use crate::wire::{Encoded, Header};
use std::time::Duration;

/// How long a wait for room sleeps, once nothing has moved for long: nobody wakes it when there is room.
const NAP: Duration = Duration::from_micros(100);

impl Locked<'_> {
    /// Tries to send one packet. `data` is copied before return.
    #[inline(always)]
    pub(crate) fn try_packet(&mut self, peer: PeerId, header: &Header, user: &[u8], data: &[u8]) -> Status {
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        let status = if user.len() <= Encoded::USER_ROOM {
            let n = head.append(n, user);
            self.submit(peer, head.bytes(n), data)
        } else {
            let fill = |out: &mut [u8]| out.copy_from_slice(data);
            return self.try_packet_with(peer, header, user, data.len(), fill);
        };
        if status == Status::Done {
            self.count_sent(peer, data.len());
        }
        status
    }

    /// Tries to hand over a packet that lies in two pieces, the first of which is short unless there is no other.
    #[inline(always)]
    fn submit(&mut self, peer: PeerId, head: &[u8], data: &[u8]) -> Status {
        let state = &mut **self;
        if let Some(status) = state.packet_in_lane(peer, head, data) {
            return status;
        }
        let p = &state.peers[peer as usize];
        if p.epochs.hold() && !is_of_any_epoch(head) {
            return Status::Again;
        }
        let index = p.route.index();
        let Some(link) = state.links.get_mut(index) else {
            return Status::PeerDown;
        };
        let total = head.len() + data.len();
        if total <= link.limits().max_short as usize {
            link.am_short(peer, head, data)
        } else if state.datagrams[index].is_some() {
            self.send_datagram(peer, head, data)
        } else {
            link.am_packed(peer, total, |out| {
                let (a, b) = out.split_at_mut(head.len());
                a.copy_from_slice(head);
                b.copy_from_slice(data);
            })
        }
    }

    /// Tries to send one packet whose `len` bytes of data `fill` writes in place.
    pub(crate) fn try_packet_with(
        &mut self,
        peer: PeerId,
        header: &Header,
        user: &[u8],
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Status {
        let state = &mut **self;
        let p = &state.peers[peer as usize];
        if p.epochs.hold() {
            return Status::Again;
        }
        let index = p.route.index();
        let Some(link) = state.links.get_mut(index) else {
            return Status::PeerDown;
        };
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        let total = n + user.len() + len;
        let write = |out: &mut [u8]| {
            let (a, rest) = out.split_at_mut(n);
            let (b, c) = rest.split_at_mut(user.len());
            a.copy_from_slice(head.bytes(n));
            b.copy_from_slice(user);
            fill(c);
        };
        let status = if state.datagrams[index].is_some() {
            let mut packet = std::mem::take(&mut state.scratch);
            packet.resize(total, 0);
            self.out(|_| write(&mut packet));
            let (head, data) = packet.split_at(total - len);
            let status = self.send_datagram(peer, head, data);
            self.scratch = packet;
            status
        } else {
            link.am_packed(peer, total, write)
        };
        if status == Status::Done {
            self.count_sent(peer, len);
        }
        status
    }

    /// Tries to send one packet that carries `len` bytes of a source, from `position` on.
    ///
    /// # Safety
    /// The source's memory is valid, and the bytes lie within its length.
    #[allow(clippy::too_many_arguments, reason = "the parts of one packet")]
    #[inline]
    pub(crate) unsafe fn try_packet_of(
        &mut self,
        peer: PeerId,
        header: &Header,
        user: &[u8],
        source: &mut Source,
        position: u64,
        len: u64,
    ) -> Status {
        match source {
            Source::Contiguous(from, _) => {
                // SAFETY: the caller's promise.
                let data = unsafe { bytes(from.wrapping_add(position as usize), len) };
                self.try_packet(peer, header, user, data)
            }
            Source::Gather(layout, _) => {
                self.try_packet_with(peer, header, user, len as usize, |out| {
                    // SAFETY: the caller's promise.
                    unsafe { layout.read(position, out) };
                })
            }
        }
    }

    /// Sends one packet, waiting for room if need be: inside a handler, where waiting is impossible, a copy is deferred.
    ///
    /// The lock is held; while there is no room it is let go now and then.
    #[inline(always)]
    pub(crate) fn send_packet(
        &mut self,
        peer: PeerId,
        header: &Header,
        user: &[u8],
        data: &[u8],
    ) -> Result<()> {
        match self.try_packet(peer, header, user, data) {
            Status::Done => Ok(()),
            status => self.send_packet_slow(status, peer, header, user, data),
        }
    }

    #[cold]
    fn send_packet_slow(
        &mut self,
        mut status: Status,
        peer: PeerId,
        header: &Header,
        user: &[u8],
        data: &[u8],
    ) -> Result<()> {
        loop {
            match status {
                Status::Done | Status::InProgress => return Ok(()),
                Status::Again => {}
                other => return Err(self.link_failed(peer, other)),
            }
            if self.dispatching > 0 || self.may_hold(peer) {
                self.defer(peer, header, user, data);
                return Ok(());
            }
            self.wait_for_room(peer)?;
            status = self.try_packet(peer, header, user, data);
        }
    }

    /// Makes progress so that a peer's ring, or our own tables, get room. Called with the lock held, outside handlers.
    pub(crate) fn wait_for_room(&mut self, peer: PeerId) -> Result<()> {
        let life = self.peers[peer as usize].life;
        self.wait_for_progress();
        let p = &self.peers[peer as usize];
        if p.state != PeerState::Up {
            return Err(p.refusal(peer));
        }
        if p.life != life {
            // What has no room yet carries numbers of the former life.
            return Err(Error::Purged { task: peer });
        }
        Ok(())
    }

    /// One round of a wait for something that no arrival need announce. The lock is held, outside handlers.
    fn wait_for_progress(&mut self) {
        let handled = self.progress();
        let mut wait = std::mem::replace(&mut self.for_room, AdaptiveWait::new());
        if handled > 0 {
            wait.reset();
            self.yield_lock();
        } else if wait.pause_for_room(self) {
            self.unlocked(|_| std::thread::sleep(NAP));
        }
        self.for_room = wait;
    }

    /// Answers a peer: never waits, never fails (a peer that can't be reached is a peer that needs no answer).
    #[inline(always)]
    pub(crate) fn reply_packet(&mut self, peer: PeerId, header: &Header, data: &[u8]) {
        let room = self.deferred.is_empty();
        let status = if room { self.try_packet(peer, header, &[], data) } else { Status::Again };
        match status {
            Status::Done | Status::InProgress => {}
            Status::Again => self.defer(peer, header, &[], data),
            other => self.packet_refused(peer, other),
        }
    }

    /// Sends what was deferred, as far as there is room.
    pub(crate) fn send_deferred(&mut self) {
        for _ in 0..self.deferred.len() {
            let state = &mut **self;
            let Some((peer, packet)) = state.deferred.pop_front() else { return };
            if state.peers[peer as usize].epochs.hold() && !is_of_any_epoch(&packet) {
                state.held.push_back((peer, packet));
                continue;
            }
            match self.submit(peer, &packet, &[]) {
                Status::Done | Status::InProgress => {
                    self.count_sent(peer, 0);
                    self.deferred_sent(peer, &packet);
                }
                Status::Again => self.deferred.push_back((peer, packet)),
                other => self.packet_refused(peer, other),
            }
        }
    }

    /// A link does not take a packet of which no call can tell the program. If the peer is gone, so is the wish for it. If not,
    /// what misses it would wait for ever: the peer counts as lost.
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
    /// Keeps a packet until there is room, or until its peer's epoch is known.
    pub(super) fn defer(&mut self, peer: PeerId, header: &Header, user: &[u8], data: &[u8]) {
        let mut head = Encoded::new();
        let n = header.encode(&mut head);
        let packet = [head.bytes(n), user, data].concat().into_boxed_slice();
        let hold = self.peers[peer as usize].epochs.hold() && !is_of_any_epoch(&packet);
        let later = if hold { &mut self.held } else { &mut self.deferred };
        later.push_back((peer, packet));
    }

    /// The link to a peer.
    #[inline(always)]
    pub(crate) fn link_to(&mut self, peer: PeerId) -> Option<&mut Link> {
        self.links.get_mut(self.peers[peer as usize].route.index())
    }

    #[inline(always)]
    pub(crate) fn count_sent(&mut self, peer: PeerId, data: usize) {
        let path = self.paths[self.peers[peer as usize].route.index()];
        if path == Path::Local {
            self.self_pending += 1;
        }
        let counts = self.statistics.path_mut(path);
        counts.packets_sent += 1;
        counts.data_sent += data as u64;
    }
}

/// The statistics path that a link counts for.
pub(crate) fn path_of(link: &Link) -> Path {
    let caps = link.caps();
    if caps.contains(Caps::SELF_ONLY) {
        Path::Local
    } else if caps.contains(Caps::LOCAL_ONLY) {
        Path::SharedMemory
    } else {
        Path::Network
    }
}
