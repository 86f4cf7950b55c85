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
//! * `epochs`: telling packets from before a purge from those after it, over links without an
//!   engine;
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
pub(crate) use collective::Collectives;
pub(crate) use copy_choice::CopyChoice;
pub(crate) use epochs::Epochs;
pub(crate) use fragment::{Outgoing, Pull};
pub(crate) use lanes::Inbound;
pub use operation::{Destination, Gather, Scatter, Source};
pub(crate) use operation::{Operation, Operations, Waiting};
pub(crate) use reassembly::Reassemblies;
pub use rma::{Direction, GetArgs, PutArgs};
pub use rmw::RmwArgs;
pub(crate) use rmw::local_rmw;
pub(crate) use sequence_window::SequenceWindow;
pub(crate) use trusted::{TrustedDestination, TrustedSource};
pub(crate) use zero_copy_send::ZeroCopySends;

/// Longest user header, in bytes: it always fits the first packet.
#[doc(alias = "MAX_UHDR_SZ")]
pub const MAX_USER_HEADER: usize = 1024;

/// Longest message.
#[doc(alias = "LAPI_MAX_MSG_SZ")]
pub const MAX_MESSAGE: u64 = i64::MAX as u64;

/// Operations with answers that may be outstanding to all peers together; more wait inside the
/// call. Bounds memory here and, since each has at most one answer queued, at the targets.
pub(crate) const MAX_OPERATIONS: usize = 8192;
