//! Messages: how calls become packets and packets become calls.
//!
//! * `am`, `rma`, `rmw`: what a call sends, and which protocol it chooses;
//! * `copy_choice`: whether such a copy or packets carry a put or get, by their times;
//! * `bulk`: copies by the transport between two memories, bulk transfer among them;
//! * `send`: how a message is cut and numbered, and deferred where waiting is impossible;
//! * `packet`: putting one packet on its way, waiting for room;
//! * `fragment`: messages of several packets and rendezvous pulls that advance with progress;
//! * `self_send`: layouts that this task sends to itself;
//! * `zero_copy_send`: memory of the program that engines read from where it lies;
//! * `dispatch`: what an arriving packet does;
//! * `reassembly`: messages of several packets on the receiving side;
//! * `trusted`: memory of the program that somebody has vouched for;
//! * `fence`, `collective`: fences, the barrier and the allgather of addresses;
//! * `epochs`: telling packets from before a purge from those after it, over links without an engine;
//! * `failure`: what the loss of a peer does to everything above.

mod am;
mod bulk;
mod collective;
mod copy_choice;
mod dispatch;
mod epochs;
mod failure;
mod fence;
mod fragment;
mod lanes;
mod operation;
mod packet;
mod reassembly;
mod rma;
mod rmw;
mod self_send;
mod send;
mod sequence_window;
mod trusted;
mod zero_copy_send;

pub(crate) use am::Attempt;
pub use am::{AmSend, Short, bytes};
pub use bulk::{BULK_PIECE, Bulk};
pub(crate) use collective::{Barrier, Exchanges};
pub(crate) use copy_choice::CopyChoice;
pub(crate) use epochs::Epochs;
pub(crate) use fragment::{Outgoing, Pull};
pub use operation::{Destination, Gather, Scatter, Source};
pub(crate) use operation::{Operation, Operations, Waiting};
pub use rma::{Direction, GetArgs, PutArgs};
pub use rmw::RmwArgs;
pub(crate) use rmw::local_rmw;
pub(crate) use sequence_window::SequenceWindow;
pub(crate) use trusted::{TrustedDestination, TrustedSource};
use zero_copy_send::ZeroCopySends;

use crate::context::{AdaptiveWait, Peer, Vigil};
use crate::datagrams::Datagrams;
use crate::stats::{Path, Statistics};
use crate::transport::{Event, Link, PeerId};
use reassembly::Reassemblies;
use std::collections::VecDeque;

/// Longest user header, in bytes: it always fits the first packet.
#[doc(alias = "MAX_UHDR_SZ")]
pub const MAX_USER_HEADER: usize = 1024;

/// Longest message.
#[doc(alias = "LAPI_MAX_MSG_SZ")]
pub const MAX_MESSAGE: u64 = i64::MAX as u64;

/// Operations with answers that may be outstanding to all peers together; more wait inside the call. Bounds memory here
/// and, since each has at most one answer queued, at the targets.
pub(crate) const MAX_OPERATIONS: usize = 8192;

/// Events taken from a link at once.
const BATCH: usize = 16;

/// What the lock protects.
pub(crate) struct State {
    /// The transports, in order of preference.
    pub(crate) links: Vec<Link>,
    /// The packet engine of each link that needs one.
    pub(crate) datagrams: Vec<Option<Box<Datagrams>>>,
    /// Whether any does.
    pub(crate) with_engines: bool,
    /// What each link counts for in the statistics.
    pub(crate) paths: Vec<Path>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) operations: Operations,
    pub(crate) reassemblies: Reassemblies,
    /// Messages of several packets on their way out.
    pub(crate) outgoing: VecDeque<Outgoing>,
    /// How many of them go out from copies.
    pub(crate) copies: usize,
    /// How many of them wait to have their first packet sent.
    pub(crate) heads: usize,
    /// Memory that engines may still read.
    pub(crate) zero_copy_sends: ZeroCopySends,
    /// Rendezvous data on its way in.
    pub(crate) pulls: VecDeque<Pull>,
    /// Packets without data, complete with header, that met back-pressure where waiting was impossible.
    pub(crate) deferred: VecDeque<(PeerId, Box<[u8]>)>,
    /// The same for peers whose epoch is not known yet.
    pub(crate) held: VecDeque<(PeerId, Box<[u8]>)>,
    /// Packets that a header handler dropped; they come again.
    pub(crate) dropped: VecDeque<(PeerId, Box<[u8]>)>,
    pub(crate) barrier: Barrier,
    pub(crate) exchanges: Exchanges,
    /// Peers that died and that the program has not acknowledged.
    pub(crate) unacknowledged: Vec<PeerId>,
    /// Regions that peers of the safe interface may reach: (first address, length).
    pub(crate) regions: Vec<(u64, u64)>,
    /// Peers with which no pair of epochs is agreed: most of what comes from them is dropped.
    pub(crate) unsettled: u32,
    /// The lanes that this task reads.
    pub(crate) inbound: lanes::Inbound,
    /// What a link's last poll found.
    pub(crate) polled: [Event; BATCH],
    /// Packets to ourselves that have not come back yet: the self transport is polled only for them.
    pub(crate) self_pending: u32,
    /// Non-zero while a packet is being dispatched: no waiting, no polling.
    pub(crate) dispatching: u32,
    /// Room for a packet's head with a long user header.
    pub(crate) long_head: Vec<u8>,
    /// Room for the bytes that a layout gathers before an engine copies them.
    pub(crate) gathered: Vec<u8>,
    /// When silent peers are looked for next.
    pub(crate) vigil: Vigil,
    pub(crate) statistics: Statistics,
    /// Messages whose sending or receiving has ended, for LAPI_Msgpoll.
    pub(crate) ended_sends: u64,
    pub(crate) ended_receives: u64,
    /// Since when calls that poll once have found nothing.
    pub(crate) between_polls: AdaptiveWait,
    /// Since when there has been no room for what is to be sent.
    pub(crate) for_room: AdaptiveWait,
}

impl State {
    pub(crate) fn new(links: Vec<Link>, datagrams: Vec<Option<Box<Datagrams>>>, peers: Vec<Peer>) -> Self {
        let mut state = Self {
            with_engines: datagrams.iter().any(Option::is_some),
            datagrams,
            paths: links.iter().map(packet::path_of).collect(),
            links,
            peers,
            operations: Operations::default(),
            reassemblies: Reassemblies::default(),
            outgoing: VecDeque::new(),
            copies: 0,
            heads: 0,
            zero_copy_sends: ZeroCopySends::default(),
            pulls: VecDeque::new(),
            deferred: VecDeque::new(),
            held: VecDeque::new(),
            dropped: VecDeque::new(),
            barrier: Barrier::default(),
            exchanges: Exchanges::default(),
            unacknowledged: Vec::new(),
            regions: Vec::new(),
            unsettled: 0,
            inbound: lanes::Inbound::default(),
            polled: [Event::EMPTY; BATCH],
            self_pending: 0,
            dispatching: 0,
            long_head: Vec::new(),
            gathered: Vec::new(),
            vigil: Vigil::default(),
            statistics: Statistics::default(),
            ended_sends: 0,
            ended_receives: 0,
            between_polls: AdaptiveWait::new(),
            for_room: AdaptiveWait::new(),
        };
        state.find_lanes();
        state
    }

    /// Whether nothing waits that a handler sent.
    #[inline(always)]
    pub(crate) fn holds_nothing_back(&self) -> bool {
        self.deferred.is_empty() && self.heads == 0
    }

    /// Packets sent so far.
    pub(crate) fn packets_sent(&self) -> u64 {
        let paths = [Path::Local, Path::SharedMemory, Path::Network];
        paths.iter().map(|path| self.statistics.path(*path).packets_sent).sum()
    }

    /// Whether something advances only when progress is made, arrivals or not.
    #[inline(always)]
    pub(crate) fn has_work(&self) -> bool {
        !(self.outgoing.is_empty()
            && self.pulls.is_empty()
            && self.deferred.is_empty()
            && self.dropped.is_empty())
    }
}
