//! What is on its way in.

use crate::message::{Pull, Reassemblies};
use crate::transport::PeerId;
use std::collections::VecDeque;

/// What is on its way in.
#[derive(Default)]
pub(crate) struct Receiving {
    /// Messages of several packets.
    pub(crate) reassemblies: Reassemblies,
    /// Rendezvous data that this task fetches.
    pub(crate) pulls: VecDeque<Pull>,
    /// Packets that a header handler dropped; they come again.
    pub(crate) dropped: VecDeque<(PeerId, Box<[u8]>)>,
    /// Messages whose receiving has ended, for LAPI_Msgpoll.
    pub(crate) ended: u64,
}

impl Receiving {
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
