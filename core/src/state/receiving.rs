//! Incoming messages and transfers.

use super::reassembly::{Arrival, Reassemblies};
use crate::buffers::TrustedDestination;
use crate::transport::PeerId;
use std::collections::VecDeque;

/// What is on its way in.
pub(crate) struct Receiving<C> {
    /// Messages of several packets.
    pub(crate) reassemblies: Reassemblies<C>,
    /// Rendezvous data that this task fetches.
    pub(crate) pulls: VecDeque<Pull<C>>,
    /// Those of which the transport is bringing a piece.
    pub(crate) fetches: Vec<Fetch<C>>,
    /// Packets that a header handler dropped; they come again.
    pub(crate) dropped: VecDeque<(PeerId, Box<[u8]>)>,
    /// Messages all of whose data is here and that were not accepted; the question comes again.
    pub(crate) unaccepted: VecDeque<(PeerId, Arrival<C>)>,
    /// Messages whose receiving has ended, for LAPI_Msgpoll.
    pub(crate) ended: u64,
}

/// Rendezvous data on its way in.
pub(crate) struct Pull<C> {
    pub(crate) peer: PeerId,
    /// Where the data is at the peer.
    pub(crate) remote: u64,
    /// The transport's key for it; 0 where there is none.
    pub(crate) key: u64,
    pub(crate) position: u64,
    /// The peer's operation, told by `Pulled`.
    pub(crate) operation: u64,
    /// The rail that it wishes for.
    pub(crate) rail: Option<u8>,
    pub(crate) arrival: Arrival<C>,
    pub(crate) destination: TrustedDestination,
    /// Where slices land first when the destination is a layout.
    pub(crate) bounce: Vec<u8>,
}

/// A piece of rendezvous data that the transport is bringing.
pub(crate) struct Fetch<C> {
    /// The operation that the transport names when it has.
    pub(crate) token: u64,
    /// Which life of the peer it belongs to.
    pub(crate) life: u32,
    /// Bytes of the piece.
    pub(crate) bytes: usize,
    pub(crate) pull: Pull<C>,
}

impl<C> Receiving<C> {
    pub(super) fn new() -> Self {
        Self {
            reassemblies: Reassemblies::new(),
            pulls: VecDeque::new(),
            fetches: Vec::new(),
            dropped: VecDeque::new(),
            unaccepted: VecDeque::new(),
            ended: 0,
        }
    }

    /// Not 0 if something advances with progress.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> usize {
        self.pulls.len() | self.dropped.len() | self.unaccepted.len()
    }

    /// Bytes that have come from a peer of messages under way.
    pub(crate) fn bytes_from(&self, peer: PeerId) -> u64 {
        let fetched = self.pulls.iter().chain(self.fetches.iter().map(|fetch| &fetch.pull));
        let fetched = fetched.filter(|pull| pull.peer == peer).map(|pull| pull.position);
        fetched.fold(self.reassemblies.bytes_from(peer), u64::wrapping_add)
    }

    /// Drops what has come of a peer's, but for what a transport may still write to. Returns how
    /// many messages had begun to be put together.
    pub(crate) fn forget_peer(&mut self, peer: PeerId) -> usize {
        self.pulls.retain(|pull| pull.peer != peer);
        self.dropped.retain(|(from, _)| *from != peer);
        self.unaccepted.retain(|(from, _)| *from != peer);
        self.reassemblies.forget_peer(peer, &[])
    }

    /// The same where the peer has ended in good order: messages that are here as a whole, and are
    /// put off, are still handled. Returns how many others had begun.
    pub(crate) fn end_peer(&mut self, peer: PeerId) -> usize {
        let Self { reassemblies, pulls, dropped, .. } = self;
        let begun = pulls.len() + dropped.len();
        pulls.retain(|pull| pull.peer != peer);
        let mut whole = Vec::new();
        dropped.retain(|(from, packet)| {
            if *from != peer {
                return true;
            }
            let number = reassemblies.whole_message(peer, packet);
            whole.extend(number);
            number.is_some()
        });
        begun - pulls.len() - dropped.len() + reassemblies.forget_peer(peer, &whole)
    }
}
