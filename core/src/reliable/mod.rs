//! Reliable packets over unreliable datagrams.
//!
//! The engine carries *units*, packets of at most [`Engine::max_payload`] bytes, between tasks:
//! every unit is delivered exactly once, in no particular order, over datagrams that may be lost,
//! doubled, reordered, delayed or forged. It is used like a ring in shared memory:
//! [`Engine::submit`] takes a unit or says [`SubmitError::Again`], and the message layer above cuts
//! and joins messages.
//!
//! It does no input or output: no socket, clock, thread or `unsafe` code. Time is an argument,
//! datagrams come and go as bytes:
//!
//! ```text
//!   submit ──►┌────────────┐──► poll_transmit ──► sendmsg
//!             │   Engine   │
//!   sink  ◄───│            │◄── on_datagram  ◄── recvmsg
//! poll_event◄─└────────────┘◄── on_timeout   ◄── clock, next_timeout
//! ```
//!
//! | file | concern |
//! |---|---|
//! | `wire.rs` | the format of a datagram (drawn there), parser |
//! | `auth.rs` | authentication of datagrams, and why this one |
//! | `engine.rs` | the interface |
//! | `shared.rs` | what all peers have in common |
//! | `peer.rs`, `peers.rs` | a peer's state, epochs; finding it |
//! | `send_queue.rs`, `bytes.rs` | units waiting and in flight, their bytes |
//! | `split.rs` | units larger than a datagram after the path MTU shrank |
//! | `path.rs`, `sent.rs` | a rail and its open datagrams |
//! | `path_mtu.rs`, `narrowing.rs` | how large a rail's datagrams may be, and what follows from it |
//! | `transmit.rs`, `datagram_builder.rs` | what goes into the next datagrams |
//! | `fast_path.rs` | a unit that finds nothing in its way |
//! | `held.rs` | paths that the system has no room for |
//! | `deferred_work.rs` | timers, and acknowledgements that were put off |
//! | `receive.rs`, `window.rs` | what arrives, removal of duplicates |
//! | `ack.rs` | when and what to acknowledge |
//! | `loss_detection.rs` | round-trip times, the probe timeout, when a datagram counts as lost |
//! | `loss_recovery.rs` | acknowledgements, retransmission, probes, failover |
//! | `link_reports.rs` | links that go down and come back |
//! | `standby.rs` | paths that carry data only while no other one does |
//! | `congestion.rs`, `credit.rs` | how much may be in flight |
//! | `timers.rs` | which peer is due when |
//! | `fuzz_entry.rs` | bodies of fuzz targets |
//! | `sim/` | many engines in virtual time over bad networks |
//!
//! `docs/reliable.md` tells how the protocol works.
#![forbid(unsafe_code)]

mod ack;
mod auth;
mod bytes;
mod config;
mod congestion;
mod credit;
mod datagram_builder;
mod deferred_work;
mod engine;
mod events;
mod fast_path;
#[cfg(any(test, fuzzing, feature = "sim"))]
pub mod fuzz_entry;
mod held;
mod link_reports;
mod loss_detection;
mod loss_recovery;
mod narrowing;
mod path;
mod path_mtu;
mod peer;
mod peers;
mod receive;
mod send_queue;
mod sent;
mod shared;
mod split;
mod standby;
mod submission;
mod timers;
mod transmit;
mod window;
pub mod wire;

pub use auth::{Authenticator, JobAuth, JobState, NoAuth, Tag};
pub use config::{ConfigError, EngineConfig, Nanos};
pub use datagram_builder::{Memory, NoMemory, Segment, Transmit};
pub use engine::{Engine, Place};
pub use events::{EngineStats, Event, PeerStats, RailStats};
pub use fast_path::FastUnit;
pub use path::{PathInfo, PathState};
pub use peers::Index;
pub use receive::{Delivery, Verdict};
pub use send_queue::NO_TOKEN;
pub use submission::{Body, Channel, PeerError, SubmitError, Via};

/// Units beyond the oldest missing one that a receiver remembers, and so the most that a channel
/// can have open.
pub const UNIT_WINDOW: u64 = 4096;

#[cfg(any(test, feature = "sim"))]
pub mod sim;
#[cfg(test)]
mod tests;
