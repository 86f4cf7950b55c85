//! What is known of peers, and of those who call: what the other files read and change.

use crate::address::Address;
use crate::handshake::{Caller, Credentials, Hello};
use crate::segment::Segment;
use lapis_core::transport::lane::Mailbox;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// How far a peer's connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing is mapped before it or we need it.
    Known,
    /// Our greeting is still to be sent.
    Greeting,
    /// It has ours, we don't have its.
    Greeted,
    /// Messages flow.
    Open,
    /// It died or closed its end.
    Down,
    /// Disconnected.
    Gone,
}

/// The cold half of what we know of a peer; the hot half is [`Out`](crate::outbox::Out).
pub(crate) struct Peer {
    pub(crate) state: State,
    pub(crate) address: Address,
    pub(crate) segment: Option<Segment>,
    /// Where its segment begins in its address space.
    pub(crate) base: u64,
    pub(crate) pid: i32,
    /// Readable when the process has ended; in the watch set.
    pub(crate) pidfd: Option<OwnedFd>,
    /// When its process was last seen to be there before a copy.
    pub(crate) seen: Option<Instant>,
    /// The number under which we send to it.
    pub(crate) member: usize,
    /// The line that is written alternately with it; null while there is none.
    pub(crate) mailbox: *mut Mailbox,
    /// Position of the shared ring up to which this peer may still have messages, once it is down.
    pub(crate) last_shared: u64,
}

// SAFETY: mailboxes are used under the context's lock.
unsafe impl Send for Peer {}

/// Connections on the way in.
#[derive(Default)]
pub(crate) struct Waiting {
    /// In the order in which they came.
    pub(crate) callers: VecDeque<Caller>,
    /// Those who were sent away.
    pub(crate) strangers: u32,
    /// Greetings from tasks that core has not told us of yet.
    pub(crate) early: Vec<(Hello, Segment, Credentials)>,
}
