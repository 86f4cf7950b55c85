//! Plain types of the transport contract. Those marked `repr(C)` cross the plugin border as they
//! are.

use bitflags::bitflags;

/// A task of the job: its number, 0 … tasks − 1. Transports know their peers by it.
pub type PeerId = u32;

/// The most bytes of a short put.
pub const MAX_SHORT_PUT: usize = 64;

/// The longest address a transport may publish, in bytes.
pub const MAX_ADDRESS: usize = 512;

bitflags! {
    /// What a transport can do. Bit set ⇔ operation wired; the loader refuses a table where they
    /// differ. Bits 2, 3, 5 and 7 stood for operations until minor 6, and are ignored.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Caps: u64 {
        /// Active message copied from the caller's bytes.
        const AM_SHORT = 1 << 0;
        /// Active message packed by a callback into the transport's buffer.
        const AM_PACKED = 1 << 1;
        /// Put that reads the caller's memory in place.
        const PUT_ZCOPY = 1 << 4;
        /// Get into the caller's memory, finished at its completion event at the latest.
        const GET_ZCOPY = 1 << 6;
        /// Unreliable datagrams, for the packet engine.
        const DATAGRAM = 1 << 8;
        /// Registration of existing memory.
        const REGISTER = 1 << 9;
        /// Allocation of memory that peers reach directly.
        const ALLOCATE = 1 << 10;
        /// Direct pointers into peers' memory.
        const WINDOW = 1 << 11;
        /// Sleeping until something arrives.
        const WAIT = 1 << 12;
        /// Short messages in lanes that core itself writes and reads ([`lane`](super::lane)).
        const LANES = 1 << 13;
        /// Zero-copy operations accept a preferred rail.
        const PREFER_RAIL = 1 << 14;
        /// Put of a few bytes that is complete at once for its caller, and that no later message
        /// overtakes.
        const PUT_SHORT = 1 << 15;
        /// Promise: accepted messages are delivered exactly once unless the peer dies.
        const RELIABLE = 1 << 32;
        /// Promise: active messages to one peer arrive in the order they were accepted.
        const ORDERED = 1 << 33;
        /// Promise: one-sided operations reach any address of the peer, registered or not.
        const ANY_ADDRESS = 1 << 34;
        /// Promise: the death of a peer is reported as an event.
        const PEER_FAILURE = 1 << 35;
        /// Reaches only the task itself.
        const SELF_ONLY = 1 << 36;
        /// Reaches only tasks of this machine.
        const LOCAL_ONLY = 1 << 37;
        /// Can send datagrams whose bytes are not copied ([`DatagramBatch::LENT`]).
        const LENT_PAGES = 1 << 38;
        /// Carries a long active message faster in packets, which both sides copy at the same time,
        /// than by a zero-copy get of the target.
        const FAST_PACKETS = 1 << 39;
        /// Contacts a peer with the first operation that names it, or on the first arrival from it.
        /// Until then [`send_lane`](super::Transport::send_lane) returns null.
        const LATE_CONTACT = 1 << 40;
        /// Promise: a poll that finds nothing makes no system call, except for one in a thousand.
        const QUIET_POLLS = 1 << 41;
    }
}

impl Caps {
    /// The bits that stand for an entry of the operation table.
    pub const OPERATIONS: Self = Self::from_bits_truncate((1 << 16) - 1);
}

/// Limits of an instance. All lengths in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Longest short active message (head and body together); for datagram transports the longest
    /// that bypasses the datagrams.
    pub max_short: u32,
    /// Longest packed active message; for datagram transports the longest datagram.
    pub max_packed: u32,
    /// Not used any more: 0.
    pub max_head: u32,
    /// Datagram transports: bytes of arrivals that the kernel buffers (the size of the socket
    /// buffer as read back).
    pub receive_buffer: u32,
    /// Longest zero-copy operation; `u64::MAX` where there is no limit.
    pub max_zcopy: u64,
    /// From this length on a zero-copy put or get is faster than sending the bytes in packets. A
    /// hint, measured by the author.
    pub zcopy_from: u64,
    /// Datagram transports: number of independent paths (rails) of this instance.
    pub paths: u32,
    /// Tasks this instance can have as peers at once.
    pub max_peers: u32,
}

/// What an open instance can do on this machine.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// The subset of [`Transport::CAPS`](super::Transport::CAPS) that works here.
    pub caps: Caps,
    /// Its limits.
    pub limits: Limits,
    /// One readable line: what was probed and found missing, e.g. "cross-memory attach refused
    /// (EPERM)".
    pub note: String,
}

/// The arguments of [`Transport::open`](super::Transport::open).
#[derive(Clone, Copy, Debug)]
pub struct OpenParams<'a> {
    /// This task's number.
    pub task: u32,
    /// Tasks in the job.
    pub tasks: u32,
    /// Number of the context within the process; contexts of equal number communicate.
    pub context: u32,
    /// The incarnation of this task's context: grows when a context is terminated and initialised
    /// again.
    pub incarnation: u32,
    /// Unique name of this run of the job: letters, digits, `-`, `_`.
    pub job: &'a str,
    /// The job's secret, from the launcher. Never log it.
    pub secret: &'a [u8; 32],
    /// Whether the context starts in interrupt mode.
    pub interrupts: bool,
}

/// The result of a data-path operation.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Finished, as far as the caller is concerned.
    Done = 0,
    /// Accepted; an event with the token follows.
    InProgress = 1,
    /// No resource now: poll and try again. Back-pressure, not an error.
    Again = 2,
    /// Not wired.
    Unsupported = -1,
    /// An argument breaks a limit or names an unknown peer.
    Invalid = -2,
    /// The peer is gone.
    PeerDown = -4,
    /// The operating system refused; the transport has logged the details.
    Io = -6,
    /// A panic was caught at the plugin ABI; the instance returns only this from now on.
    Panicked = -7,
}

impl Status {
    /// The status of a number from the plugin ABI; unknown numbers become
    /// [`Status::Io`].
    pub fn from_raw(raw: i32) -> Self {
        match raw {
            0 => Self::Done,
            1 => Self::InProgress,
            2 => Self::Again,
            -1 => Self::Unsupported,
            -2 => Self::Invalid,
            -4 => Self::PeerDown,
            -7 => Self::Panicked,
            _ => Self::Io,
        }
    }
}

/// Why a set-up call failed. The text says what failed, where, the numbers, and the remedy.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TransportError {
    /// The operation is not wired.
    #[error("operation not supported by this transport")]
    Unsupported,
    /// An argument is out of range.
    #[error("{0}")]
    Invalid(String),
    /// This transport can't reach that peer; another may.
    #[error("{0}")]
    Unreachable(String),
    /// Memory, descriptors or another resource ran out.
    #[error("{0}")]
    Exhausted(String),
    /// The operating system refused.
    #[error("{0}")]
    Io(String),
    /// A panic was caught at the plugin ABI.
    #[error("the transport panicked: {0}")]
    Panicked(String),
}

/// A range of this process's memory, as pointer and length.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawSlice {
    /// First byte.
    pub ptr: *mut u8,
    /// Length in bytes.
    pub len: usize,
}

/// A place in a peer's memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteAddr {
    /// Address in the peer's address space.
    pub addr: u64,
    /// The region's key, as returned by its owner's transport; 0 with [`Caps::ANY_ADDRESS`].
    pub key: u64,
}

/// Atomic operations, as in the guide's `RMW_ops_t`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmwOp {
    /// Add, and return the old value.
    FetchAndAdd = 0,
    /// Bitwise or, and return the old value.
    FetchAndOr = 1,
    /// Exchange.
    Swap = 2,
    /// Store if equal; core turns the old value into the guide's TRUE or FALSE.
    CompareAndSwap = 3,
}

/// Memory that peers can reach.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RegionInfo {
    /// First byte, in this address space.
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
    /// For [`mem_release`](super::Transport::mem_release).
    pub id: u64,
    /// What peers put into [`RemoteAddr::key`].
    pub key: u64,
}

/// The traffic of one rail of an instance so far, and its state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RailReport {
    /// Its number among this task's.
    pub number: u32,
    /// 1 while it works; 0 while its link is down or it is closed.
    pub up: u32,
    /// Peers that it leads to.
    pub peers: u32,
    /// Those of them for which it is not used at present.
    pub left: u32,
    /// Messages sent, including the transport's own.
    pub messages_sent: u64,
    /// Messages received.
    pub messages_received: u64,
    /// Bytes of messages sent and of puts.
    pub bytes_sent: u64,
    /// Bytes of messages received and of gets.
    pub bytes_received: u64,
    /// Puts and gets of this task, or pieces of them, that have succeeded.
    pub transfers: u64,
    /// How often it has been closed in order to be reopened.
    pub renewals: u64,
}

/// A part of a peer's address space that is mapped here.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Where the part begins in the peer's address space.
    pub remote_base: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Where it begins in this address space.
    pub local_base: *mut u8,
}

/// Several datagrams of equal size (the last may be shorter) to one peer over one path, as a gather
/// list.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DatagramBatch {
    /// The destination.
    pub peer: PeerId,
    /// The rail; [`LENT`](Self::LENT) may be added.
    pub path: u32,
    /// The bytes, in order; segments need not coincide with slices.
    pub slices: *const RawSlice,
    /// Number of slices.
    pub count: u32,
    /// Bytes in each datagram but the last; equal to the total for a single one.
    pub segment: u32,
}

impl DatagramBatch {
    /// In `path`: slices of [`LENT_FROM`](Self::LENT_FROM) bytes and more stay unchanged until
    /// their datagram has been acknowledged, so that the transport may refer to them instead of
    /// copying them. If they do change, datagrams still in flight fail authentication at the
    /// receiver. Only a transport with [`Caps::LENT_PAGES`] gets it.
    pub const LENT: u32 = 1 << 31;
    /// Shorter slices are copied.
    pub const LENT_FROM: usize = 4096;
    /// No two batches of several datagrams begin with the same so many bytes, which are those of
    /// the first datagram's header ([`crate::reliable::wire`]).
    pub const NAMED_BY: usize = crate::reliable::wire::SIGNED_LEN;
}

/// The kind of an [`Event`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// An active message: `data`, `len` from `peer`.
    Message = 0,
    /// The operation of `token` ended with `status`.
    Complete = 1,
    /// `peer` is gone: nothing more will come from it or reach it.
    PeerDown = 2,
    /// A datagram of `len` bytes over path `token`; `peer` is meaningless before authentication.
    Datagram = 3,
    /// Path `token` to `peer` was found or changed: `status` 1 up, 0 down; `len` its present
    /// datagram size. A datagram transport names every path of a peer this way once the peer is
    /// connected.
    Path = 4,
    /// The kernel had no room for `len` datagrams, which are lost.
    Overflow = 5,
    /// Failover between paths is not available as requested: `status` is a [`FailoverTrouble`] as a
    /// number, `data` and `len` the details for the user in UTF-8, valid until the next poll.
    Failover = 6,
}

/// What peers do with memory that is lent to them.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerAccess {
    /// They read it.
    Read = 1,
    /// They write it.
    Write = 2,
}

impl PeerAccess {
    /// The access of a number from the plugin ABI.
    pub fn from_raw(raw: u32) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|access| *access as u32 == raw)
    }
}

/// What may be wrong with failover between the paths of a transport.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailoverTrouble {
    /// Setting it up failed.
    SetUp = 0,
    /// The state of the links is unknown: a failed path is noticed only by its silence.
    Unwatched = 1,
    /// It has stopped working, perhaps temporarily.
    Halted = 2,
}

impl FailoverTrouble {
    /// The trouble of a number from the plugin ABI.
    pub fn from_raw(raw: i32) -> Option<Self> {
        [Self::SetUp, Self::Unwatched, Self::Halted].into_iter().find(|trouble| *trouble as i32 == raw)
    }
}

/// Something [`Transport::poll`](super::Transport::poll) found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// An [`EventKind`] as a number, because it comes from the plugin.
    pub kind: u32,
    /// The peer that it concerns.
    pub peer: PeerId,
    /// The message's bytes; valid until the next poll.
    pub data: *mut u8,
    /// The number of bytes.
    pub len: u32,
    /// A [`Status`] as a number.
    pub status: i32,
    /// The operation, or the path.
    pub token: u64,
}

impl Event {
    /// An event with nothing in it, to fill arrays with.
    pub const EMPTY: Self =
        Self { kind: u32::MAX, peer: 0, data: std::ptr::null_mut(), len: 0, status: 0, token: 0 };

    /// In the token of [`EventKind::Path`]: the path is a standby one, whose number among these is
    /// in the token's second byte. Core's own links say so, and no plugin.
    pub(crate) const STANDBY: u64 = 1 << 32;

    /// An arrived active message.
    pub fn message(peer: PeerId, data: *mut u8, len: u32) -> Self {
        Self { kind: EventKind::Message as u32, peer, data, len, ..Self::EMPTY }
    }

    /// An ended operation.
    pub fn complete(peer: PeerId, token: u64, status: Status) -> Self {
        Self { kind: EventKind::Complete as u32, peer, token, status: status as i32, ..Self::EMPTY }
    }

    /// A lost peer.
    pub fn peer_down(peer: PeerId) -> Self {
        Self { kind: EventKind::PeerDown as u32, peer, ..Self::EMPTY }
    }
}

const _: () = assert!(size_of::<Event>() == 32);
