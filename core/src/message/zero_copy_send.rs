//! Memory of the program that the packet engine reads in place until it has been acknowledged.
//!
//! Long messages to peers behind a datagram transport are not copied: their packets are gathered
//! from the program's own memory, and gathered again if they get lost. So the origin's memory is
//! reported free only when all of it has been acknowledged. The end of a message is copied, so that
//! most of that time has passed when the last packet leaves. A packet that was gathered again may
//! wait for room in the kernel when its first copy is acknowledged: what waits is copied then.
//!
//! An answer may imply the acknowledgements before they arrive: that of a fence, or of the target's
//! completion handler. Then the send ends at once, before the program is notified of the answer.

use super::TrustedSource;
use crate::context::Locked;
use crate::context::{Outgoing, State, ZeroCopySend};
use crate::state::Left;
use crate::transport::{Caps, PeerId};

/// Messages from this length on are sent from where they lie.
pub(crate) const ZERO_COPY_FROM: u64 = 512 << 10;

/// The same where the kernel does not copy them either.
const PAGES_FROM: u64 = 128 << 10;

/// Bytes at the end of a message that are copied: about what is under way at a time.
pub(crate) const COPIED_END: u64 = 256 << 10;

/// Bytes in the first packet of a message whose others are not even copied by the kernel.
const FIRST: u64 = 1024;

impl Locked<'_> {
    /// A packet whose bytes were not copied was acknowledged.
    pub(crate) fn zero_copy_packet_acknowledged(&mut self, token: u64) {
        let state = &mut **self;
        let Some(send) = state.sending.zero_copy.acknowledged(token) else { return };
        state.sending.ended += 1;
        state.keep_unsent(send.peer);
        send.origin.unwrap_or_default().notify(self, send.peer, Ok(()));
    }

    /// A message's packets are all out. False: its memory is not read any more, and nobody has been
    /// told.
    #[inline]
    pub(super) fn awaits_acknowledgements(&mut self, out: &mut Outgoing) -> bool {
        let Some(message) = out.own_number() else { return false };
        match self.sending.zero_copy.all_out(out.peer, message, &mut out.origin) {
            Left::Nothing => false,
            Left::Open => true,
            Left::Acknowledged => {
                self.keep_unsent(out.peer);
                false
            }
        }
    }

    /// Messages of which `which` is true have arrived: their memory is not read any more.
    #[inline]
    pub(crate) fn end_zero_copy_sends(&mut self, peer: PeerId, which: impl Fn(&ZeroCopySend) -> bool) {
        if !self.sending.zero_copy.is_empty() {
            self.end_zero_copy_sends_slow(peer, which);
        }
    }

    #[cold]
    fn end_zero_copy_sends_slow(&mut self, peer: PeerId, which: impl Fn(&ZeroCopySend) -> bool) {
        let state = &mut **self;
        let ended = state.sending.zero_copy.take(peer, which);
        state.sending.ended += ended.iter().filter(|l| l.origin.is_some()).count() as u64;
        if let Some((_, datagrams)) = state.engine_to(peer) {
            ended.iter().for_each(|l| datagrams.settle(peer, l.token));
        }
        for send in ended {
            send.origin.unwrap_or_default().notify(self, peer, Ok(()));
        }
    }
}

impl State {
    /// A message's memory is about to be given back, though copies of its packets that have arrived
    /// may wait for room in the kernel.
    fn keep_unsent(&mut self, peer: PeerId) {
        if let Some((_, datagrams)) = self.engine_to(peer) {
            datagrams.keep_unsent(peer);
        }
    }

    /// Whether a message's packet that ends at `end` of `total` may stay where it is.
    #[inline]
    pub(crate) fn may_send_zero_copy(&self, peer: PeerId, total: u64, end: u64) -> bool {
        total >= ZERO_COPY_FROM && end + COPIED_END <= total
            || total >= PAGES_FROM && self.refers_to_pages(peer)
    }

    /// Bytes in the first packet of a message that needs several; `room` is there. They are copied,
    /// so they are few if the rest need not be.
    pub(crate) fn first_part(&self, peer: PeerId, source: &TrustedSource, room: u64) -> u64 {
        let most = source.packet_bytes(room, source.len());
        let stays = source.contiguous().is_some() && source.len() >= PAGES_FROM && self.refers_to_pages(peer);
        if stays { most.min(FIRST) } else { most }
    }

    /// Whether the way to a peer leaves out the kernel's copy of what is sent from where it lies,
    /// so that doing so pays to the end.
    fn refers_to_pages(&self, peer: PeerId) -> bool {
        let link = self.links.open.get(self.peers[peer].route.index());
        link.is_some_and(|link| link.caps().contains(Caps::LENT_PAGES))
    }
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "zero_copy_tests.rs"]
mod tests;
