//! What an arriving datagram does: it is checked, its units are delivered, its acknowledgements are
//! taken.

use super::auth::Authenticator;
use super::config::{MS, Nanos};
use super::peer::{Peer, Standing};
use super::shared::Shared;
use super::split::Joined;
use super::window::Seen;
use super::wire::{ACK_NOW, Ack, Frame, Frames, HEADER_LEN, Header, SIGNED_LEN, TAG_LEN, WireError};
use super::{Channel, Engine};

/// A unit handed to the upper layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Who sent it.
    pub peer: u32,
    /// On which channel.
    pub channel: Channel,
    /// Head and body, one after the other.
    pub packet: &'a [u8],
}

/// What the upper layer says to a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken, once and for all.
    Accept,
    /// As if it never arrived: it is not acknowledged and will come again.
    Drop,
}

/// At most one answer to greetings that may have been heard before in this time.
const ANSWER_PAUSE: Nanos = MS;

/// Units under way that are few enough for their acknowledgement to wait.
const LITTLE: usize = 4;

impl<A: Authenticator> Engine<A> {
    /// Takes one datagram and hands the units in it that are new to `sink`. Any bytes may be
    /// passed; what is not from a peer of this job, not meant for this incarnation, or was there
    /// before, is counted and dropped.
    pub fn on_datagram(
        &mut self,
        now: Nanos,
        datagram: &[u8],
        mut sink: impl FnMut(Delivery<'_>) -> Verdict,
    ) {
        let shared = &mut self.shared;
        let (header, frames) = match Header::parse(datagram) {
            Ok(parsed) => parsed,
            Err(error) => return shared.malformed(&error),
        };
        if header.job != shared.job || header.destination != shared.local {
            shared.stats.strangers += 1;
            return;
        }
        // `parse` has seen that the header is there.
        let Some((signed, rest)) = datagram.split_first_chunk::<SIGNED_LEN>() else { return };
        let Some(tag) = rest.first_chunk::<TAG_LEN>() else { return };
        let Some(index) = self.index.get(header.source) else {
            return self.unknown_source(signed, frames, tag);
        };
        let Some(peer) = self.peers.get_mut(index as usize).filter(|peer| !peer.purged) else {
            return self.unknown_source(signed, frames, tag);
        };
        if !self.auth.verify(signed, frames, tag) {
            shared.stats.auth_failures += 1;
            return;
        }
        let Some(at) = peer.path_at(header.path) else {
            shared.stats.unknown_path += 1;
            return;
        };
        let known = peer.remote_epoch == header.source_epoch;
        match peer.judge(header.source_epoch, header.destination_epoch, shared) {
            Standing::Current => peer.receive(now, at, &header, frames, shared, &mut sink),
            Standing::Answer => {
                // Who repeats itself may be a recording.
                if !known || now >= peer.answer_from {
                    peer.answer = true;
                    peer.answer_from = now + ANSWER_PAUSE;
                }
                if header.destination_epoch != 0 {
                    peer.stats.stale_epoch += 1;
                }
            }
            Standing::Stale => peer.stats.stale_epoch += 1,
        }
        let peer = &mut self.peers[index as usize];
        if peer.late_ack.is_some() {
            self.behind.push(index);
        }
        if peer.wants_to_send() && !peer.ready {
            peer.ready = true;
            self.ready.push_back(index);
        }
        self.retime(index);
    }

    /// Counts a datagram of nobody who is known here. Upper layers may look for its sender, which
    /// costs more than reading it: so forged ones don't count as that.
    #[cold]
    fn unknown_source(&mut self, signed: &[u8; SIGNED_LEN], frames: &[u8], tag: &[u8; TAG_LEN]) {
        let stats = &mut self.shared.stats;
        if self.auth.verify(signed, frames, tag) {
            stats.unknown_peer += 1;
        } else {
            stats.auth_failures += 1;
        }
    }
}

impl Shared {
    #[cold]
    fn malformed(&mut self, error: &WireError) {
        tracing::trace!(%error, "malformed datagram");
        self.stats.malformed += 1;
    }
}

impl Peer {
    /// Whether [`transmit`](Self::transmit) is worth a call.
    pub(super) fn wants_to_send(&self) -> bool {
        self.answer
            || self.greet_now
            || self
                .paths
                .iter()
                .any(|path| path.arrivals.urgent() || path.probes > 0 || path.mtu.wanted().is_some())
            || self.has_unsent()
    }

    fn receive(
        &mut self,
        now: Nanos,
        at: usize,
        header: &Header,
        frames: &[u8],
        shared: &mut Shared,
        sink: &mut impl FnMut(Delivery<'_>) -> Verdict,
    ) {
        if !self.paths[at].arrivals.is_new(header.number, header.span) {
            self.stats.duplicate_datagrams += 1;
            return;
        }
        // Only now: it might have been a recording.
        self.last_heard = now;
        self.credit = header.credit.into();
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += (frames.len() + HEADER_LEN) as u64;
        match self.frames(now, frames, shared, sink) {
            Ok(Taken { asks, refused }) => {
                if asks {
                    shared.credits.heard(now, &mut self.active_in);
                }
                if !refused {
                    let at_once = header.flags & ACK_NOW != 0;
                    self.paths[at].arrivals.arrived(now, header.number, asks, at_once, &shared.config);
                }
            }
            Err(error) => shared.malformed(&error),
        }
    }

    fn frames(
        &mut self,
        now: Nanos,
        frames: &[u8],
        shared: &mut Shared,
        sink: &mut impl FnMut(Delivery<'_>) -> Verdict,
    ) -> Result<Taken, WireError> {
        let mut taken = Taken { asks: false, refused: false };
        for frame in Frames::new(frames) {
            match frame? {
                Frame::Data { channel, unit, payload } => {
                    taken.asks = true;
                    taken.refused |= !self.data(channel, unit, payload, sink);
                }
                Frame::Part { channel, unit, total, index, payload } => {
                    taken.asks = true;
                    taken.refused |= !self.part(channel, unit, total, index, payload, sink);
                }
                Frame::Ack(ack) => self.take_ack(now, &ack, shared),
                Frame::Probe => taken.asks = true,
            }
        }
        Ok(taken)
    }

    /// Acknowledgements may wait for a quiet moment while little is under way, so that nothing
    /// waits for them.
    fn take_ack(&mut self, now: Nanos, ack: &Ack<'_>, shared: &mut Shared) {
        if let Some(kept) = ack.kept()
            && shared.postpones_acks
            && self.late_ack.is_none()
            && self.outstanding() <= LITTLE
        {
            self.late_ack = Some((now, kept));
            return;
        }
        self.catch_up(shared);
        self.on_ack(now, ack, shared);
    }

    /// Takes the acknowledgement that was put off.
    pub(super) fn catch_up(&mut self, shared: &mut Shared) {
        if let Some((then, ack)) = self.late_ack.take() {
            self.on_ack(then, &ack, shared);
        }
    }

    /// The whole number of a unit that has not come yet; for another one, whether it was taken.
    #[inline(always)]
    fn number_of_new(&mut self, channel: u8, unit: u32) -> Result<u64, bool> {
        let units = &mut self.units[usize::from(channel)];
        let id = super::send_queue::expand(units.base(), unit);
        match units.check(id) {
            Seen::New => Ok(id),
            Seen::Old => {
                self.stats.duplicate_units += 1;
                Err(true)
            }
            Seen::Beyond => {
                self.stats.units_refused += 1;
                Err(false)
            }
        }
    }

    /// Returns false if the unit was not taken.
    #[inline]
    fn data(
        &mut self,
        channel: u8,
        unit: u32,
        payload: &[u8],
        sink: &mut impl FnMut(Delivery<'_>) -> Verdict,
    ) -> bool {
        let id = match self.number_of_new(channel, unit) {
            Ok(id) => id,
            Err(taken) => return taken,
        };
        let delivery = Delivery { peer: self.task, channel: Channel::of(channel), packet: payload };
        if sink(delivery) == Verdict::Drop {
            self.stats.units_refused += 1;
            return false;
        }
        self.units[usize::from(channel)].insert(id);
        if !self.joins.is_empty() {
            self.joins.finish(channel, id);
        }
        self.stats.units_delivered += 1;
        true
    }

    /// Returns false if the part was not taken.
    fn part(
        &mut self,
        channel: u8,
        unit: u32,
        total: u32,
        index: u8,
        payload: &[u8],
        sink: &mut impl FnMut(Delivery<'_>) -> Verdict,
    ) -> bool {
        let id = match self.number_of_new(channel, unit) {
            Ok(id) => id,
            Err(taken) => return taken,
        };
        let packet = match self.joins.part(channel, id, total, index, payload) {
            Joined::Kept => return true,
            Joined::Refused => {
                self.stats.units_refused += 1;
                return false;
            }
            Joined::Whole(packet) => packet,
        };
        if sink(Delivery { peer: self.task, channel: Channel::of(channel), packet }) == Verdict::Drop {
            self.stats.units_refused += 1;
            self.joins.unfinish(channel, id, index);
            return false;
        }
        self.units[usize::from(channel)].insert(id);
        self.joins.finish(channel, id);
        self.stats.units_delivered += 1;
        true
    }
}

/// What a datagram's frames came to.
struct Taken {
    /// Something in it is to be acknowledged.
    asks: bool,
    /// Something in it was refused, so that it is not acknowledged.
    refused: bool,
}
