//! Memory of the program that the packet engine reads from where it lies, until it has been
//! acknowledged.
//!
//! Long messages to peers behind a datagram transport are not copied: their packets are gathered
//! from the program's own memory, and gathered again if they get lost. So the origin is told that
//! its memory is free only when all of it has been acknowledged. The end of a message is copied, so
//! that this time has mostly passed when the last packet leaves.
//!
//! What the message layer learns before the acknowledgements come (an answered fence, the end of
//! the target's completion handler) says as much as they do: the send ends before the program is
//! told.

use super::TrustedSource;
use crate::completion::Notify;
use crate::context::Locked;
use crate::state::State;
use crate::transport::{Caps, PeerId};

/// Messages from this length on are sent from where they lie.
pub(crate) const ZERO_COPY_FROM: u64 = 512 << 10;

/// The same where the kernel does not copy them either.
const PAGES_FROM: u64 = 128 << 10;

/// Bytes at the end of a message that are copied: about what is under way at a time.
pub(crate) const COPIED_END: u64 = 256 << 10;

/// Bytes in the first packet of a message whose others are not even copied by the kernel.
const FIRST: u64 = 1024;

/// One message whose memory the engine may still read.
pub(crate) struct ZeroCopySend {
    pub(crate) peer: PeerId,
    pub(crate) message: u32,
    /// The operation that waits for the target's completion handler, 0 for none.
    pub(crate) completion: u64,
    token: u64,
    /// Packets that are not acknowledged.
    open: u32,
    /// All packets are out; this is told when the last is acknowledged.
    origin: Option<Notify>,
}

/// All of them, oldest first: few at a time, for each is half a megabyte at least.
#[derive(Default)]
pub(crate) struct ZeroCopySends {
    list: Vec<ZeroCopySend>,
    next: u64,
}

impl ZeroCopySends {
    /// The token of a message's packets, and one more of them under way.
    pub(crate) fn begin_packet(&mut self, peer: PeerId, message: u32, completion: u64) -> u64 {
        let known = self.list.iter_mut().rev().find(|l| l.peer == peer && l.message == message);
        if let Some(send) = known {
            send.open += 1;
            return send.token;
        }
        let token = self.next;
        self.next += 1;
        self.list.push(ZeroCopySend { peer, message, completion, token, open: 1, origin: None });
        token
    }

    /// A packet was not taken after all.
    pub(crate) fn cancel_packet(&mut self, token: u64) {
        if let Some(send) = self.list.iter_mut().find(|l| l.token == token) {
            send.open -= 1;
        }
    }

    /// A message's packets are all out. Gives back whom to tell now, if none of them is waited for.
    pub(crate) fn all_out(&mut self, peer: PeerId, message: u32, origin: Notify) -> Option<Notify> {
        let Some(at) = self.list.iter().position(|l| l.peer == peer && l.message == message) else {
            return Some(origin);
        };
        if self.list[at].open == 0 {
            self.list.remove(at);
            return Some(origin);
        }
        self.list[at].origin = Some(origin);
        None
    }

    /// Forgets a peer; answers whom to tell that its memory is free, though not why.
    pub(crate) fn forget_peer(&mut self, peer: PeerId) -> Vec<Notify> {
        let ended = self.list.extract_if(.., |l| l.peer == peer);
        ended.filter_map(|l| l.origin).collect()
    }
}

impl Locked<'_> {
    /// A packet whose bytes were not copied was acknowledged.
    pub(crate) fn zero_copy_packet_acknowledged(&mut self, token: u64) {
        let state = &mut **self;
        let list = &mut state.sending.zero_copy.list;
        let Some(at) = list.iter().position(|l| l.token == token) else { return };
        list[at].open -= 1;
        if list[at].open > 0 || list[at].origin.is_none() {
            return;
        }
        let ZeroCopySend { peer, origin, .. } = list.remove(at);
        state.sending.ended += 1;
        origin.unwrap_or_default().notify(self, peer, Ok(()));
    }

    /// Messages of which `which` is true have arrived: their memory is not read any more.
    #[inline]
    pub(crate) fn end_zero_copy_sends(&mut self, peer: PeerId, which: impl Fn(&ZeroCopySend) -> bool) {
        if !self.sending.zero_copy.list.is_empty() {
            self.end_zero_copy_sends_slow(peer, which);
        }
    }

    #[cold]
    fn end_zero_copy_sends_slow(&mut self, peer: PeerId, which: impl Fn(&ZeroCopySend) -> bool) {
        let state = &mut **self;
        let ended: Vec<ZeroCopySend> =
            state.sending.zero_copy.list.extract_if(.., |l| l.peer == peer && which(l)).collect();
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
