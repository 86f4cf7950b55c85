//! What the lock of a context guards, in parts that know nothing of each other.
//!
//! Whatever needs several of them is a method of [`State`]; whatever may call the program, or let
//! another thread have the lock, is one of [`Locked`](crate::context::Locked).

mod links;
mod peers;
mod receiving;
mod sending;

pub(crate) use links::Links;
pub(crate) use peers::{Peer, PeerState, Peers, Route};
pub(crate) use receiving::Receiving;
pub(crate) use sending::Sending;

use crate::context::AdaptiveWait;
use crate::datagrams::Datagrams;
use crate::error::Error;
use crate::message::{Collectives, Operations};
use crate::stats::{Path, Statistics};
use crate::transport::{Link, PeerId};

/// What the lock guards.
pub(crate) struct State {
    pub(crate) links: Links,
    pub(crate) peers: Peers,
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,
    /// What waits for an answer.
    pub(crate) operations: Operations,
    pub(crate) collectives: Collectives,
    /// Regions that peers of the safe interface may reach: (first address, length).
    pub(crate) regions: Vec<(u64, u64)>,
    /// Non-zero while a packet is being dispatched: no waiting, no polling.
    pub(crate) dispatching: u32,
    pub(crate) statistics: Statistics,
    /// Since when calls that poll once have found nothing.
    pub(crate) between_polls: AdaptiveWait,
}

impl State {
    pub(crate) fn new(links: Vec<Link>, datagrams: Vec<Option<Box<Datagrams>>>, peers: Vec<Peer>) -> Self {
        let mut state = Self {
            links: Links::new(links, datagrams),
            peers: Peers::new(peers),
            sending: Sending::new(),
            receiving: Receiving::default(),
            operations: Operations::default(),
            collectives: Collectives::default(),
            regions: Vec::new(),
            dispatching: 0,
            statistics: Statistics::default(),
            between_polls: AdaptiveWait::new(),
        };
        state.find_lanes();
        state
    }

    /// Packets sent so far.
    pub(crate) fn packets_sent(&self) -> u64 {
        let paths = [Path::Local, Path::SharedMemory, Path::Network];
        paths.iter().map(|path| self.statistics.path(*path).packets_sent).sum()
    }

    /// Whether something advances only when progress is made, arrivals or not.
    #[inline(always)]
    pub(crate) fn has_work(&self) -> bool {
        !(self.sending.is_idle() && self.receiving.is_idle())
    }

    /// Prepares every link to wake whoever sleeps. False when there is something to do already.
    pub(crate) fn arm(&mut self) -> bool {
        !self.has_work() && self.links.arm()
    }

    /// The link to a peer.
    #[inline(always)]
    pub(crate) fn link_to(&mut self, peer: PeerId) -> Option<&mut Link> {
        self.links.open.get_mut(self.peers[peer].route.index())
    }

    /// The link to a peer and its engine, if it has one.
    #[inline(always)]
    pub(crate) fn engine_to(&mut self, peer: PeerId) -> Option<(&mut Link, &mut Datagrams)> {
        self.links.engine_at(self.peers[peer].route.index())
    }

    /// Why nothing can be sent to a peer.
    #[cold]
    pub(crate) fn refusal(&self, peer: PeerId) -> Error {
        self.peers.refusal(peer)
    }
}
