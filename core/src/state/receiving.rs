//! What is on its way in.

use super::reassembly::Reassemblies;
use crate::buffers::TrustedDestination;
use crate::handlers::{CompletionHandler, Run};
use crate::transport::PeerId;
use std::collections::VecDeque;

/// What is on its way in.
pub(crate) struct Receiving<C> {
    /// Messages of several packets.
    pub(crate) reassemblies: Reassemblies<C>,
    /// Rendezvous data that this task fetches.
    pub(crate) pulls: VecDeque<Pull<C>>,
    /// Packets that a header handler dropped; they come again.
    pub(crate) dropped: VecDeque<(PeerId, Box<[u8]>)>,
    /// Messages whose receiving has ended, for LAPI_Msgpoll.
    pub(crate) ended: u64,
}

/// Rendezvous data on its way in.
pub(crate) struct Pull<C> {
    pub(crate) peer: PeerId,
    /// Where the data is at the peer.
    pub(crate) remote: u64,
    pub(crate) position: u64,
    /// The peer's operation, told by `Pulled`.
    pub(crate) operation: u64,
    pub(crate) arrival: Arrival<C>,
    pub(crate) destination: TrustedDestination,
    /// Where slices land first when the destination is a layout.
    pub(crate) bounce: Vec<u8>,
}

/// What happens when a message's data is all there.
pub(crate) struct Arrival<C> {
    pub(crate) message: u32,
    pub(crate) target_counter: u64,
    pub(crate) completion: Option<CompletionHandler<C>>,
    pub(crate) run: Run,
    /// The origin's operation that waits for `Complete`.
    pub(crate) reply: Option<u64>,
}

impl<C> Receiving<C> {
    pub(super) fn new() -> Self {
        Self { reassemblies: Reassemblies::new(), pulls: VecDeque::new(), dropped: VecDeque::new(), ended: 0 }
    }

    /// Whether nothing advances with progress.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.pulls.is_empty() && self.dropped.is_empty()
    }

    /// Drops what has come of a peer's, but for messages that are being put together.
    pub(crate) fn drop_peer(&mut self, peer: PeerId) {
        self.pulls.retain(|pull| pull.peer != peer);
        self.dropped.retain(|(from, _)| *from != peer);
    }
}
