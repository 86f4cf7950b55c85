//! Packets of long messages that bypass the datagrams.
//!
//! A datagram transport may have active messages ([`Caps::AM_SHORT`]) beside its datagrams: between
//! tasks of one host, through memory that both have mapped. Nothing gets lost there, and both tasks
//! copy at the same time. So all packets of a message of several packets take this path, in order.
//! Messages of one packet stay with the engine, as do the answers that end a message. The bytes are
//! not authenticated; only tasks of the job can have written them.
//!
//! ```text
//!   0              4                   8
//!   | epoch, from  | epoch, to         | packet
//! ```
//!
//! The epochs are the engine's: packets sent in an earlier incarnation of either task are dropped.
//! They are used as soon as the engine knows that the peer knows them.

use super::{Datagrams, Unit, more_follows};
use crate::transport::{Caps, Event, Link, PeerId, Status};
use crate::wire::MAX_HEADER;

/// Bytes before a packet.
const EPOCHS: usize = 8;

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

    /// Takes a packet that has arrived by the bypass.
    ///
    /// # Safety
    /// The transport keeps the bytes valid until its next poll.
    pub(super) unsafe fn arrived_by_bypass(&mut self, event: &Event) {
        // SAFETY: the transport keeps the bytes valid, the caller says.
        let bytes = unsafe { std::slice::from_raw_parts(event.data.cast_const(), event.len as usize) };
        if let Some(packet) = self.bypassed_packet(event.peer, bytes) {
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
    pub(super) fn take_stored_bypassed(&mut self) {
        for (peer, bytes) in std::mem::take(&mut self.early_past) {
            if let Some(packet) = self.bypassed_packet(peer, &bytes) {
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
        let is_ours = more_follows(*packet.first()?) && self.engine.is_current(peer, source, destination);
        if !is_ours {
            tracing::debug!(peer, len = bytes.len(), "a packet past the datagrams is not of this life");
        }
        is_ours.then_some(packet)
    }
}
