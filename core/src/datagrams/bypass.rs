//! Packets that bypass the datagrams: those of long messages, and lone short messages.
//!
//! A datagram transport may have active messages ([`Caps::AM_SHORT`]) beside its datagrams: between
//! tasks of one host, through memory that both have mapped. Nothing gets lost there, and both tasks
//! copy at the same time. So all packets of a message of several packets take this path, in order.
//! The answers that end a message stay with the engine. The bytes are not authenticated; only tasks
//! of the job can have written them.
//!
//! A short active message of one packet takes this path if it travels alone, as a question or an
//! answer does: it arrives sooner. In a stream the engine is better: it puts many messages into one
//! datagram, and here each would take as long as a cache line does from core to core. So a message
//! stays with the engine if more than a few are under way there, or if several have been sent past
//! it and the peer has sent nothing since.
//!
//! ```text
//!   0              4                   8
//!   | epoch, from  | epoch, to         | packet
//! ```
//!
//! The epochs are the engine's: packets sent in an earlier incarnation of either task are dropped.
//! They are used as soon as the engine knows that the peer knows them.

use super::departures::FAST_PATH_UNITS;
use super::{Datagrams, Fragments, Unit, more_follows};
use crate::transport::{Caps, Event, Link, PeerId, Status};
use crate::wire::{Header, Kind, MAX_HEADER};

/// Bytes before a packet.
const EPOCHS: usize = 8;

/// The longest message that is short: with what stands before it, it fits one cache line.
const SHORT: usize = 48;

/// A packet that is a whole active message.
const WHOLE: u8 = Kind::Am as u8;

impl Datagrams {
    /// Whether the packets of a long message may bypass the datagrams.
    #[inline]
    pub(crate) fn can_bypass(&self, link: &Link, peer: PeerId) -> bool {
        link.caps().contains(Caps::AM_SHORT) && self.engine.epochs(peer).is_some()
    }

    /// The most data in a packet there.
    pub(crate) fn bypass_room(link: &Link) -> usize {
        (link.limits().max_short as usize).saturating_sub(EPOCHS + MAX_HEADER)
    }

    /// Sends a packet by the bypass. [`Status::Unsupported`]: there is none to this peer.
    pub(crate) fn send_bypassing(
        &mut self,
        link: &mut Link,
        peer: PeerId,
        head: &[u8],
        body: &[u8],
    ) -> Status {
        let Some((own, theirs)) = self.engine.epochs(peer) else { return Status::Unsupported };
        if EPOCHS + head.len() + body.len() > link.limits().max_short as usize {
            return Status::Unsupported;
        }
        let with_epochs = &mut self.bypass_head;
        with_epochs.clear();
        with_epochs.extend_from_slice(&own.to_le_bytes());
        with_epochs.extend_from_slice(&theirs.to_le_bytes());
        with_epochs.extend_from_slice(head);
        link.am_short(peer, with_epochs, body)
    }

    /// Sends a packet by the bypass if it is a short message, and little else is under way to the
    /// peer, for which nothing [waits](Self::holds_back). False: nothing has happened.
    #[inline]
    pub(crate) fn send_alone(&mut self, link: &mut Link, peer: PeerId, head: &[u8], body: &[u8]) -> bool {
        link.caps().contains(Caps::AM_SHORT)
            && head.first() == Some(&WHOLE)
            && head.len() + body.len() <= SHORT
            && Header::rail_of(head).is_none()
            && self.engine.outstanding(peer).is_some_and(|n| n <= FAST_PATH_UNITS)
            && self.send_bypassing(link, peer, head, body) == Status::Done
    }

    /// Takes a packet that has arrived by the bypass, and its place if there is one: it can't be
    /// refused.
    ///
    /// # Safety
    /// The transport keeps the bytes valid until its next poll.
    pub(super) unsafe fn arrived_by_bypass(&mut self, event: &Event, fragments: &mut Fragments<'_>) {
        // SAFETY: the transport keeps the bytes valid, the caller says.
        let bytes = unsafe { std::slice::from_raw_parts(event.data.cast_const(), event.len as usize) };
        if let Some(packet) = self.bypassed_packet(event.peer, bytes) {
            fragments.take(event.peer, packet);
            self.units.push(Unit { peer: event.peer, ptr: packet.as_ptr(), len: packet.len() });
        }
    }

    /// Keeps what has come past the datagrams until the next poll of the engine's: while it was
    /// made.
    pub(super) fn store_bypassed(&mut self, peer: PeerId, bytes: Box<[u8]>) {
        self.early_past.push((peer, bytes));
    }

    /// Takes what was kept.
    #[cold]
    pub(super) fn take_stored_bypassed(&mut self, fragments: &mut Fragments<'_>) {
        for (peer, bytes) in std::mem::take(&mut self.early_past) {
            if let Some(packet) = self.bypassed_packet(peer, &bytes) {
                fragments.take(peer, packet);
                let (ptr, len) = (packet.as_ptr(), packet.len());
                self.joined.push(bytes);
                self.units.push(Unit { peer, ptr, len });
            }
        }
    }

    /// The packet of a message that has come from a peer, if both are in the life that it was sent
    /// in.
    fn bypassed_packet<'a>(&self, peer: PeerId, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (epochs, packet) = bytes.split_at_checked(EPOCHS)?;
        let (source, destination) = epochs.split_at(EPOCHS / 2);
        let [source, destination] =
            [source, destination].map(|epoch| epoch.try_into().map_or(0, u32::from_le_bytes));
        let kind = *packet.first()?;
        let is_ours =
            (kind == WHOLE || more_follows(kind)) && self.engine.is_current(peer, source, destination);
        if !is_ours {
            tracing::debug!(peer, len = bytes.len(), "a packet past the datagrams is not of this life");
        }
        is_ours.then_some(packet)
    }
}
