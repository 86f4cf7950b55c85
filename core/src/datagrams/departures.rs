//! Packets on their way out: to the engine, and in datagrams to the transport.

use super::Datagrams;
use crate::reliable::wire::{DATA_LEN, HEADER_LEN};
use crate::reliable::{
    Body, Channel, FastUnit, Memory, NO_TOKEN, Nanos, Place, Segment, SubmitError, Transmit, Via,
};
use crate::transport::{Caps, DatagramBatch, Link, PeerId, RawSlice, Status};
use crate::wire::{Header, Kind};
use lapis_ablation::{Optimization, without};
use std::collections::VecDeque;

/// A packet leaves at once if no more than this many are unacknowledged, itself included.
pub(super) const FAST_PATH_UNITS: usize = 4;

/// So many bytes of short packets leave even if their datagram is larger: beyond it nothing is
/// saved. With their headers these may be more.
const ENOUGH: usize = 8 << 10;
const MOST_SHORT: usize = ENOUGH / 3 * 4;

/// So many small datagrams of short packets leave together at most, with so many bytes: the system
/// is called once for them.
const MOST_TOGETHER: usize = 8;
const ENOUGH_TOGETHER: usize = 12 << 10;

/// So many batches that find no room are offered by one flush.
const MOST_REFUSED: usize = 8;

/// Datagrams that the transport had no room for.
#[derive(Default)]
pub(super) struct Held {
    /// At most one for each path of a peer.
    pub(super) batches: VecDeque<Transmit>,
    /// Memory of former ones.
    spare: Vec<Transmit>,
}

/// A packet leaves at once if the last datagrams left longer ago than this.
const CLOSE: Nanos = 20_000;

/// Of packets that find others waiting, one in so many looks at the clock, which takes as long as
/// an eighth of the rest of a short packet's way: fewer if they follow each other so closely that
/// the time from one look to the next is shorter than this.
const LOOKS: u32 = 4;
pub(super) const LOOKS_DENSE: u32 = 16;
const DENSE: Nanos = 2_000;

impl Datagrams {
    /// Takes a packet. `hold`: more is coming before the next [`flush`](Self::flush), which is
    /// certain.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        link: &mut Link,
        peer: PeerId,
        head: &[u8],
        body: &[u8],
        hold: bool,
    ) -> Status {
        self.submit(link, peer, head, Body::Copy(body), NO_TOKEN, hold)
    }

    /// Takes a packet whose body stays where it is until [`Event::Acked`] or [`Event::Purged`] has
    /// named `token` as often as it was given. More is coming before the next
    /// [`flush`](Self::flush), which is certain.
    ///
    /// [`Event::Acked`]: crate::reliable::Event::Acked
    /// [`Event::Purged`]: crate::reliable::Event::Purged
    ///
    /// # Safety
    /// The body is readable until then; once it has arrived it may change.
    pub(crate) unsafe fn send_lent(
        &mut self,
        link: &mut Link,
        peer: PeerId,
        head: &[u8],
        body: RawSlice,
        token: u64,
    ) -> Status {
        let buffer = body.ptr.expose_provenance() as u64;
        self.submit(link, peer, head, Body::External { buffer, offset: 0, len: body.len as u32 }, token, true)
    }

    #[inline(always)]
    fn submit(
        &mut self,
        link: &mut Link,
        peer: PeerId,
        head: &[u8],
        body: Body<'_>,
        token: u64,
        hold: bool,
    ) -> Status {
        let Some(place) = self.engine.place(peer) else { return Status::PeerDown };
        // One that finds others waiting follows closely, and can't leave alone.
        let follows = self.waiting > 0
            && self.unlooked < self.looks
            && self.engine.outstanding_at(place) >= FAST_PATH_UNITS;
        if follows {
            self.unlooked += 1;
            self.submit_behind(link, place, (head, body, token), hold, true)
        } else {
            self.submit_looking(link, (peer, place), (head, body, token), hold)
        }
    }

    /// The same with a look at the clock.
    #[inline(never)]
    fn submit_looking(
        &mut self,
        link: &mut Link,
        (peer, place): (PeerId, Place),
        (head, body, token): (&[u8], Body<'_>, u64),
        hold: bool,
    ) -> Status {
        let now = self.now();
        self.looks = if now.saturating_sub(self.looked) < DENSE { LOOKS_DENSE } else { LOOKS };
        (self.looked, self.unlooked) = (now, 1);
        let channel = channel_of(head.first().copied().unwrap_or(0));
        if let Body::Copy(body) = body
            && !hold
            && self.submit_alone(link, FastUnit { peer, channel, head, body, token, few: FAST_PATH_UNITS })
        {
            return Status::Done;
        }
        self.submit_behind(link, place, (head, body, token), hold, false)
    }

    /// Takes a packet that is to leave behind others.
    #[inline(always)]
    fn submit_behind(
        &mut self,
        link: &mut Link,
        place: Place,
        (head, body, token): (&[u8], Body<'_>, u64),
        hold: bool,
        follows: bool,
    ) -> Status {
        let body_len = match body {
            Body::Copy(bytes) => bytes.len(),
            Body::External { len, .. } => len as usize,
        };
        let via = Via::path(channel_of(head.first().copied().unwrap_or(0)), Header::rail_of(head));
        match self.engine.submit_at(self.looked, place, via, head, body, token) {
            Ok(()) => {}
            Err(SubmitError::Again) => {
                self.flush_from(link, follows);
                return Status::Again;
            }
            Err(SubmitError::PeerDown(_) | SubmitError::Unknown(_)) => return Status::PeerDown,
            Err(e @ SubmitError::TooLarge { .. }) => return refused(&e),
        }
        let len = head.len() + body_len;
        self.waiting += len + DATA_LEN;
        if self.waiting >= self.few || !(hold || follows) {
            self.leave_if_due(link, place, len, hold, follows);
        }
        Status::Done
    }

    /// Sends what waits if it is enough behind a packet of so many bytes, or if nothing may follow
    /// soon.
    #[inline(never)]
    fn leave_if_due(&mut self, link: &mut Link, place: Place, len: usize, hold: bool, follows: bool) {
        let full = if hold || len > longest_short(self.datagram) {
            self.enough
        } else {
            enough_short(self.together, self.datagram, len + DATA_LEN)
        };
        let single = || {
            self.engine.outstanding_at(place) <= FAST_PATH_UNITS
                || self.looked.saturating_sub(self.flushed) > CLOSE
        };
        if self.waiting >= full || (!hold && !follows && single()) {
            self.flush_from(link, follows);
        }
    }

    /// Datagrams of so many bytes can be sent from now on.
    pub(super) fn set_datagram(&mut self, datagram: usize) {
        self.datagram = datagram;
        self.together = together(datagram);
        let frame = longest_short(datagram) + DATA_LEN;
        self.few = self.enough.min(enough_short(self.together, datagram, frame));
    }

    /// Takes a packet that nothing waits in front of, and sends it. False: nothing has happened.
    #[inline]
    fn submit_alone(&mut self, link: &mut Link, unit: FastUnit<'_>) -> bool {
        if !self.held.batches.is_empty() || without(Optimization::FastPath) {
            return false;
        }
        let (slices, mut unsent) = (&mut self.slices, false);
        let send = |out: &mut Transmit| {
            unsent = !push(link, out, slices, Some(unit.body));
            if unsent {
                out.copy_in(&mut { unit });
            }
        };
        let taken = self.engine.submit_fast(self.looked, unit, &mut self.out, send);
        if taken {
            self.waiting = 0;
            self.flushed = self.looked;
            if unsent {
                self.hold();
            }
        }
        taken
    }

    /// Sends everything that may be sent, at the time that was looked at last unless that was for
    /// another packet.
    #[inline]
    fn flush_from(&mut self, link: &mut Link, follows: bool) {
        let now = if follows { self.now() } else { self.looked };
        self.flush(link, now);
    }

    /// Sends everything that may be sent.
    pub(crate) fn flush(&mut self, link: &mut Link, now: Nanos) {
        if !self.held.batches.is_empty() {
            self.offer_held(link);
        }
        self.waiting = 0;
        self.flushed = now;
        while self.engine.poll_transmit(now, &mut Bodies, &mut self.out) {
            if !push(link, &self.out, &mut self.slices, None) {
                self.hold();
            }
        }
    }

    /// The same if there may be something, which is found out without a look at the clock.
    #[inline]
    pub(crate) fn flush_what_is_ready(&mut self, link: &mut Link) {
        if !self.held.batches.is_empty() || self.engine.has_ready() {
            let now = self.now();
            self.flush(link, now);
        } else {
            self.waiting = 0;
        }
    }

    /// Whether something waits for a flush.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        !self.held.batches.is_empty() || self.waiting > 0
    }

    /// Whether a flush may have something to send.
    #[inline]
    pub(crate) fn has_to_send(&self) -> bool {
        self.holds_back() || self.engine.has_ready()
    }

    /// Keeps what is in `out`, for which the transport has no room. Its path gets nothing more
    /// until it has left, so that datagrams keep their order there; other paths and peers go on.
    #[cold]
    fn hold(&mut self) {
        let next = self.held.spare.pop().unwrap_or_default();
        let out = std::mem::replace(&mut self.out, next);
        self.engine.hold(out.peer, out.path);
        self.held.batches.push_back(out);
    }

    /// Offers what the transport had no room for again, some batches at a time: many may wait for
    /// one socket. Each has its turn.
    #[cold]
    fn offer_held(&mut self, link: &mut Link) {
        let mut refused = 0;
        for _ in 0..self.held.batches.len() {
            let Some(batch) = self.held.batches.pop_front() else { return };
            if push(link, &batch, &mut self.slices, None) {
                self.put_away(batch);
                continue;
            }
            self.held.batches.push_back(batch);
            refused += 1;
            if refused == MOST_REFUSED {
                return;
            }
        }
    }

    /// Copies what is kept for a peer and lies in memory that was lent.
    #[cold]
    pub(super) fn copy_held(&mut self, peer: PeerId) {
        for batch in self.held.batches.iter_mut().filter(|batch| batch.peer == peer) {
            batch.copy_in(&mut Bodies);
        }
    }

    /// Gives up what is kept for a peer.
    #[cold]
    pub(super) fn give_up_held(&mut self, peer: PeerId) {
        for _ in 0..self.held.batches.len() {
            match self.held.batches.pop_front() {
                Some(batch) if batch.peer == peer => self.put_away(batch),
                other => self.held.batches.extend(other),
            }
        }
    }

    /// A batch is kept no longer; its memory is.
    fn put_away(&mut self, batch: Transmit) {
        self.engine.release(batch.peer, batch.path);
        if self.held.spare.len() < MOST_REFUSED {
            self.held.spare.push(batch);
        }
    }
}

/// How many datagrams of at most so many bytes short packets fill before they leave.
fn together(datagram: usize) -> usize {
    (ENOUGH_TOGETHER / datagram.max(1)).clamp(1, MOST_TOGETHER)
}

/// The longest packet that counts as short in datagrams of at most so many bytes.
#[inline]
fn longest_short(datagram: usize) -> usize {
    datagram.min(ENOUGH) / 4
}

/// Bytes of short packets that leave together, in datagrams of which so many are filled before they
/// leave. The last packet has `frame` of them, as others are likely to.
#[inline(always)]
fn enough_short(together: usize, datagram: usize, frame: usize) -> usize {
    // What is left of each may be too short for one more.
    (together * datagram.saturating_sub(HEADER_LEN + frame)).min(MOST_SHORT)
}

/// Gives datagrams to a transport. `single`: what their external segment is, which is to be copied.
/// False: it has no room.
fn push(link: &mut Link, out: &Transmit, slices: &mut Vec<RawSlice>, single: Option<&[u8]>) -> bool {
    slices.clear();
    let mut lent = single.is_none() && link.caps().contains(Caps::LENT_PAGES);
    let mut copied = true;
    for segment in out.segments() {
        slices.push(match *segment {
            Segment::Owned { start, end } => {
                let bytes = &out.bytes[start as usize..end as usize];
                lent &= bytes.len() < DatagramBatch::LENT_FROM;
                RawSlice { ptr: bytes.as_ptr().cast_mut(), len: bytes.len() }
            }
            Segment::External { buffer, offset, len } => {
                copied &= (len as usize) < DatagramBatch::LENT_FROM;
                let ptr = match single {
                    Some(body) => body.as_ptr().cast_mut(),
                    None => std::ptr::with_exposed_provenance_mut::<u8>((buffer + offset) as usize),
                };
                RawSlice { ptr, len: len as usize }
            }
        });
    }
    let batch = DatagramBatch {
        peer: out.peer,
        path: u32::from(out.path) | if lent && !copied { DatagramBatch::LENT } else { 0 },
        slices: slices.as_ptr(),
        count: slices.len() as u32,
        segment: out.segment_size as u32,
    };
    // SAFETY: owned segments lie in `out`; external ones were vouched for by whoever submitted
    // them, until the engine gives their token back, or are the caller's.
    let sent = unsafe { link.send_datagrams(std::slice::from_ref(&batch)) };
    // A transport that fails altogether says so at the next poll, too.
    sent != Ok(0)
}

/// The channel of a packet by its kind: what ends a peer's waiting never waits behind what makes it
/// wait.
#[inline]
fn channel_of(kind: u8) -> Channel {
    const REPLIES: u32 = 1 << Kind::GetData as u32
        | 1 << Kind::RmwReply as u32
        | 1 << Kind::Complete as u32
        | 1 << Kind::Pulled as u32
        | 1 << Kind::Refused as u32
        | 1 << Kind::FenceReply as u32
        | 1 << Kind::Recall as u32
        | 1 << Kind::Goodbye as u32;
    if kind < 32 && REPLIES >> kind & 1 == 1 { Channel::Reply } else { Channel::Request }
}

#[cold]
fn refused(why: &SubmitError) -> Status {
    tracing::error!("packet refused: {why}");
    Status::Invalid
}

/// Memory of external bodies: their name is their address.
pub(super) struct Bodies;

impl Memory for Bodies {
    fn read(&mut self, buffer: u64, offset: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        let at = std::ptr::with_exposed_provenance::<u8>((buffer + offset) as usize);
        // SAFETY: whoever submitted the body vouched for it until the engine gives its token back.
        read(unsafe { std::slice::from_raw_parts(at, len as usize) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_packets_nearly_fill_the_datagrams_that_leave_together_and_begin_no_other() {
        for datagram in [548, 1232, 1460, 1472, 8972, 16_384, 65_507] {
            let together = together(datagram);
            for len in 16..=longest_short(datagram) {
                let frame = len + DATA_LEN;
                let packets = enough_short(together, datagram, frame).div_ceil(frame);
                let whole = (datagram - HEADER_LEN) / frame * together;
                let least = whole.min(MOST_SHORT / frame) - together;
                assert!((least..=whole).contains(&packets), "{packets} of {len} bytes in {datagram}");
            }
        }
    }
}
