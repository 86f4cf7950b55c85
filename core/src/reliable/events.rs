//! The engine's events and statistics.

use super::config::Nanos;

/// Something that happened; see [`Engine::poll_event`](super::Engine::poll_event).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The unit submitted with `token` was accepted by the peer; its external memory is the
    /// caller's again.
    Acked {
        /// Whom it was for.
        peer: u32,
        /// What it was submitted with.
        token: u64,
    },
    /// The unit submitted with `token` will not be sent any more: the peer was purged or has
    /// restarted. Whether the peer's former incarnation took it is not known. Its external memory
    /// is the caller's again.
    Purged {
        /// Whom it was for.
        peer: u32,
        /// What it was submitted with.
        token: u64,
    },
    /// The peer owes an answer and has been silent for the configured time. Repeated after each
    /// such time; the engine goes on trying until the peer is purged.
    PeerTimeout {
        /// Who is silent.
        peer: u32,
        /// For how long.
        silence: Nanos,
    },
    /// A new incarnation of the peer has been heard; what was outstanding was purged.
    PeerRestarted {
        /// Who it is.
        peer: u32,
        /// Its epoch.
        epoch: u32,
        /// Units that it had not acknowledged.
        outstanding: usize,
    },
    /// A later incarnation of a peer has been heard than the one that was being looked for since it
    /// was added or resumed. Nothing was lost; but it may be another process, in another place.
    PeerRenewed {
        /// Who it is.
        peer: u32,
        /// Its epoch.
        epoch: u32,
    },
    /// A path stopped acknowledging; its units go over the other paths.
    PathSuspect {
        /// Where it leads.
        peer: u32,
        /// Which it is.
        path: u8,
    },
    /// A suspected path acknowledges again.
    PathUp {
        /// Where it leads.
        peer: u32,
        /// Which it is.
        path: u8,
    },
    /// No path to a peer is left but standby ones, which carry its data from now on; or others
    /// carry it again.
    Standby {
        /// Whom it is about.
        peer: u32,
        /// The standby paths carry the data.
        on: bool,
    },
    /// Datagrams larger than some size get lost on a path although the caller says that they pass.
    /// They are kept smaller now. Said once, until the caller says something else of the path.
    PathNarrow {
        /// Where it leads.
        peer: u32,
        /// Which it is.
        path: u8,
        /// What the caller says.
        told: usize,
        /// The largest datagram that is sent.
        bytes: usize,
    },
    /// Even datagrams of the smallest size that a path must carry get lost on it, while smaller
    /// ones arrive.
    PathTooNarrow {
        /// Where it leads.
        peer: u32,
        /// Which it is.
        path: u8,
    },
    /// The largest unit that the peer can be sent has changed.
    MaxPayload {
        /// Which peer.
        peer: u32,
        /// What [`Engine::max_payload`](super::Engine::max_payload) returns now.
        bytes: usize,
    },
}

/// Counts for one peer since it was added or resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeerStats {
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Bytes in them.
    pub bytes_sent: u64,
    /// Datagrams taken.
    pub datagrams_received: u64,
    /// Bytes in them.
    pub bytes_received: u64,
    /// Units submitted.
    pub units_submitted: u64,
    /// Units acknowledged.
    pub units_acked: u64,
    /// Units delivered to the upper layer.
    pub units_delivered: u64,
    /// Units (or parts) sent again.
    pub units_resent: u64,
    /// Units that arrived once more.
    pub duplicate_units: u64,
    /// Datagrams whose packet number had been seen: duplicates of the network, or replays.
    pub duplicate_datagrams: u64,
    /// Units that the upper layer refused, or for which there was no place.
    pub units_refused: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Datagrams given up.
    pub datagrams_lost: u64,
    /// Datagrams given up that arrived after all.
    pub losses_undone: u64,
    /// Probe timers that ran out.
    pub timeouts: u64,
    /// Datagrams of another incarnation, dropped.
    pub stale_epoch: u64,
}

/// One path, all peers together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RailStats {
    /// Its number.
    pub path: u8,
    /// It is a standby path.
    pub standby: bool,
    /// Its number among the paths of its kind.
    pub number: u8,
    /// Peers that it leads to.
    pub peers: u32,
    /// Those of them that don't acknowledge on it at present.
    pub suspects: u32,
    /// The first of these.
    pub suspect: Option<u32>,
    /// Datagrams that are not acknowledged.
    pub open: u64,
    /// Their bytes.
    pub in_flight: u64,
    /// Bytes that the congestion windows allow.
    pub window: u64,
    /// Bytes that the peers are ready to take beyond those that were sent, on whichever path.
    pub credit: u64,
    /// Probe timers that ran out since the last news.
    pub timeouts: u64,
}

/// Counts of datagrams that belong to no peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Could not be read.
    pub malformed: u64,
    /// Another job, or another destination.
    pub strangers: u64,
    /// Genuine, but from a task that is not a peer (yet), or is purged.
    pub unknown_peer: u64,
    /// Wrong authenticator.
    pub auth_failures: u64,
    /// On a path that the peer does not have.
    pub unknown_path: u64,
    /// Datagrams that the receive buffer had no room for, as reported by the caller.
    pub overflows: u64,
}
