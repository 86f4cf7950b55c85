//! What the lock of a context guards, in parts that know nothing of each other.
//!
//! Whatever needs several of them is a method of [`State`]; whatever may call the program, or let
//! another thread have the lock, is one of `Locked` (`core/src/context/locked.rs`).
//!
//! The state keeps callbacks that get the context, and the context keeps the state. So that neither
//! file needs the other, the parts leave open what the context is (`C`).

mod adaptive_wait;
mod answer_rest;
mod collectives;
mod copy_choice;
mod epochs;
mod inbound;
mod links;
mod operations;
mod peer_lane;
mod peers;
mod reassembly;
mod receiving;
mod regions;
mod sending;
mod sequence_window;
mod zero_copy;

pub(crate) use adaptive_wait::AdaptiveWait;
pub(crate) use collectives::{Act, Barrier, Blocks, Collectives, Exchanges, Levels, STEPS};
pub(crate) use copy_choice::{Copier, Timed};
pub(crate) use epochs::Epochs;
pub(crate) use inbound::Inbound;
pub(crate) use links::Links;
pub(crate) use operations::{Ended, Operation, Operations, Transfer, Waiting};
pub(crate) use peer_lane::PeerLane;
pub(crate) use peers::{Begun, Peer, PeerState, Peers, Route, Silence};
pub(crate) use reassembly::{Arrival, Key, Reassembly};
pub(crate) use receiving::{Fetch, Pull, Receiving};
pub(crate) use regions::{News, Regions, Registration, Withdrawn};
pub(crate) use sending::{Head, Outgoing, Sending};
pub(crate) use zero_copy::{Left, ZeroCopySend};

use crate::datagrams::Datagrams;
use crate::error::Error;
use crate::stats::Path;
use crate::status::Counts;
use crate::trace::Trace;
use crate::transport::{Link, PeerId};
use std::sync::Arc;

/// What the lock guards.
pub(crate) struct State<C> {
    pub(crate) links: Links,
    pub(crate) peers: Peers,
    pub(crate) sending: Sending<C>,
    pub(crate) receiving: Receiving<C>,
    /// What waits for an answer.
    pub(crate) operations: Operations<C>,
    pub(crate) collectives: Collectives,
    /// Memory that peers of the safe interface, and transports by their keys, may reach.
    pub(crate) regions: Regions,
    /// Non-zero while a packet is being dispatched: no waiting, no polling.
    pub(crate) dispatching: u32,
    pub(crate) statistics: Counts,
    /// Since when calls that poll once have found nothing.
    pub(crate) between_polls: AdaptiveWait,
    /// How many messages had been sent and received when a call that polls last said so.
    pub(crate) polled: (u64, u64),
}

/// What others get to see of the state.
pub(crate) struct Told {
    pub(crate) counts: Counts,
    pub(crate) trace: Option<Arc<Trace>>,
}

impl<C> State<C> {
    pub(crate) fn new(
        links: Vec<Link>,
        datagrams: Vec<Option<Box<Datagrams>>>,
        peers: Vec<Peer>,
        collectives: Collectives,
        told: Told,
    ) -> Self {
        let mut state = Self {
            links: Links::new(links, datagrams),
            peers: Peers::new(peers),
            sending: Sending::new(),
            receiving: Receiving::new(),
            operations: Operations::new(told.trace),
            collectives,
            regions: Regions::default(),
            dispatching: 0,
            statistics: told.counts,
            between_polls: AdaptiveWait::new(),
            polled: (0, 0),
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
        // One question, not five: it is asked after each message.
        self.sending.waiting() | self.receiving.waiting() != 0
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

    /// Whether a peer was ever talked to, or has talked to this task.
    pub(crate) fn has_contact(&mut self, peer: PeerId) -> bool {
        self.peers[peer].met || self.link_to(peer).is_some_and(|link| link.send_lane(peer).is_some())
    }

    /// What the way to a peer counts for in the statistics.
    #[inline(always)]
    pub(crate) fn path_to(&self, peer: PeerId) -> Path {
        self.links.paths[self.peers[peer].route.index()]
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
