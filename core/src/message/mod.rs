//! Messages: how calls become packets and packets become calls.
//!
//! * `am`, `rma`, `rmw`: what a call sends, and which protocol it chooses;
//! * `short`: messages and puts that are copied at once;
//! * `mapped`: puts and gets by this task's own loads and stores;
//! * `request`, `lanes`: short requests and messages that this task writes into a lane itself, and
//!   reads from one;
//! * `bulk`: copies by the transport between two memories, bulk transfer among them;
//! * `keyed`: transfers to and from registered memory;
//! * `short_put`: such transfers of a few bytes, whose completion is not reported;
//! * `lent`: memory that this task registers for one transfer, which its peer carries out;
//! * `recall`: such memory, if the peer is purged while it may still use it;
//! * `send`: cutting and numbering a message, and deferring it if waiting is impossible;
//! * `packet`: sending one packet, waiting for room;
//! * `fragment`: messages of several packets, and rendezvous pulls, which advance with progress;
//! * `self_send`: layouts that this task sends to itself;
//! * `zero_copy_send`: memory of the program that packet engines read in place;
//! * `dispatch`: handling an arriving packet;
//! * `header_handler`: calling a message's header handler;
//! * `refusal`: puts, gets and atomics that a target refuses;
//! * `reassembly`: messages of several packets on the receiving side;
//! * `fence`, `barrier`, `exchange`: fences, and operations of all tasks;
//! * `epochs`: distinguishing packets sent before a purge from later ones, over links without an
//!   engine;
//! * `failure`: the effects of the loss of a peer.

mod am;
mod barrier;
mod bulk;
mod dispatch;
mod epochs;
mod exchange;
mod failure;
mod fence;
mod fragment;
mod get;
mod header_handler;
mod keyed;
mod lane_receive;
mod lanes;
mod lent;
mod mapped;
mod packet;
mod reassembly;
mod recall;
mod refusal;
mod request;
mod rma;
mod rmw;
mod self_send;
mod send;
mod sender;
mod short;
mod short_put;
mod zero_copy_send;

#[cfg(all(test, not(loom), not(miri)))]
mod played;
#[cfg(all(test, not(loom), not(miri)))]
mod two_tasks;

pub use crate::buffers::{Destination, Direction, Gather, Scatter, Share, Source};
use crate::buffers::{TrustedDestination, TrustedSource};
use crate::context::{Operation, Outgoing, Pull, Reassembly};
use crate::state::Waiting;
pub use am::{AmSend, bytes};
pub use bulk::{BULK_PIECE, Bulk};
pub use lanes::{InSlot, Wanted};
pub use rma::{GetArgs, PutArgs};
pub use rmw::RmwArgs;
pub use short::Short;
pub(crate) use short::{Aside, Attempt};

/// Longest user header, in bytes: it always fits the first packet.
#[doc(alias = "MAX_UHDR_SZ")]
pub const MAX_USER_HEADER: usize = 1024;

/// Longest message.
#[doc(alias = "LAPI_MAX_MSG_SZ")]
pub const MAX_MESSAGE: u64 = i64::MAX as u64;

/// Operations with answers that may be outstanding to all peers together; more wait inside the
/// call. Bounds memory here and, since each has at most one answer queued, at the targets.
pub(crate) const MAX_OPERATIONS: usize = 8192;

/// Bytes that a pull or a one-sided copy moves before the lock is offered to others and arrivals
/// are looked at.
pub(crate) const SLICE: usize = 1 << 20;
