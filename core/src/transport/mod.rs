//! The transport contract: what a backend does, in Rust's terms.
//!
//! A transport moves bytes between the tasks of a job. It implements [`Transport`] and, with one
//! line ([`export_transport!`](crate::export_transport)), becomes a plugin that core loads at run
//! time or links statically; either way core sees it only through the C table of [`abi`].
//!
//! There are two kinds of transport, distinguished by [`Caps::RELIABLE`]:
//!
//! * **reliable** ones (loopback, shared memory, RDMA) deliver every active message exactly once;
//! * **datagram** ones (UDP, adapter windows) may lose, repeat and reorder; core's packet engine
//!   ([`crate::reliable`]) runs above them. Beside their datagrams they may have short active
//!   messages that arrive exactly once and in order, to peers with which they share memory: these
//!   then carry the packets of long messages.
//!
//! Active messages come in two flavours: *short* copies its arguments before it returns, *packed*
//! lets a callback write into the transport's own buffer. Puts and gets are *zero-copy*: they use
//! the caller's memory until the completion event. A capability bit is set exactly when the
//! operation is wired; core never calls an operation whose bit is clear. No operation blocks:
//! [`Status::Again`] is an ordinary answer which means *poll, then try again*. A transport does not
//! hold messages back to send them together with later ones: core batches datagrams itself, and a
//! message that is held back would wait for as long as the program computes.
//!
//! **Threads.** Core calls everything except the [`Waiter`] from one thread at a time, under the
//! context's lock. The waiter is shared: [`Waiter::wait`] runs without the lock while other threads
//! use the transport, and [`Waiter::wake`] may be called from any thread.

pub mod abi;
mod chaos;
pub mod copy;
mod declaration;
mod elf;
mod export;
mod export_macro;
mod forward;
mod host;
mod instance;
mod interrupted;
pub mod lane;
mod link;
mod loader;
mod registry;
pub(crate) mod rmw;
mod search;
mod segments;
mod selection;
mod services;
mod sleeper;
pub(crate) mod standby;
mod stubs;
mod text;
mod troubles;
mod trust;
mod types;
mod unusable;

pub use chaos::{Chaos, ChaosError, Faults};
pub use declaration::{Declaration, Known, Reach, Usage};
#[doc(hidden)]
pub use declaration::{raw_declaration, raw_variables};
pub use export::Exported;
#[doc(hidden)]
pub use forward::forward;
pub use host::Host;
pub use instance::Instance;
pub use interrupted::Interrupted;
pub use link::Link;
pub use loader::{Origin, Plugin, file_name, load_file, name_of_file};
pub use registry::{Candidate, NotFound, Registry, Request, SelectError, Verdict};
pub use search::search_dirs;
pub use segments::Segments;
pub use selection::{Policy, Selection};
pub use services::{host_table, with_options};
pub(crate) use sleeper::InUse;
pub use sleeper::Sleeper;
pub use troubles::Troubles;
pub use trust::{Distrust, Why};
pub use types::*;
pub use unusable::{MIN_TABLE_SIZE, Unusable};

/// A backend. See the [module](self) documentation for the contract and
/// `docs/writing-a-transport.md` for a tutorial.
///
/// Default methods return [`Status::Unsupported`]; implement those whose bit you set in
/// [`Transport::CAPS`].
#[allow(unused_variables, reason = "the default bodies ignore their arguments; the names are documentation")]
pub trait Transport: Sized + Send + 'static {
    /// The name users write in `LAPIS_TRANSPORT`: lower-case letters and digits, at most 15
    /// characters.
    const NAME: &'static str;
    /// The transport's own version, shown by `lapis-info`.
    const VERSION: &'static str;
    /// Every capability this transport's code has. An instance may have fewer (see
    /// [`Attributes::caps`]), never more.
    const CAPS: Caps;
    /// Its declaration, read before it is opened: its cost, when it is used, its variables. Without
    /// one it is used only if it is named, and has no variables.
    const DECLARATION: Declaration = Declaration::NONE;
    /// The part that other threads may use at any time: sleeping until something arrives, and
    /// ending the sleep.
    type Waiter: Waiter;

    /// Opens an instance for one context. Nothing is sent to peers before
    /// [`connect`](Self::connect).
    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, Self::Waiter), TransportError>;

    /// What this instance can do on this machine, after probing.
    fn attributes(&self) -> Attributes;

    /// The bytes a peer needs to [`connect`](Self::connect) to this instance (at most
    /// [`MAX_ADDRESS`]).
    fn address(&self) -> Vec<u8>;

    /// Makes `peer` reachable. `address` is what the peer's [`address`](Self::address) returned.
    ///
    /// [`TransportError::Unreachable`] means that this transport can't reach that peer, and gives
    /// the reason; core then tries the next transport. Connecting may need the peer's cooperation,
    /// which [`progress_connect`](Self::progress_connect) finishes.
    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError>;

    /// Advances connections in progress; `Ok(true)` when none is pending any more.
    ///
    /// Core calls it after all tasks have published their addresses, until it is true for all.
    fn progress_connect(&mut self) -> Result<bool, TransportError> {
        Ok(true)
    }

    /// Disconnects `peer`: nothing is sent to it any more and arrivals from it are dropped.
    /// Outstanding transfers with it still end, with an event each.
    ///
    /// For a transport without [`Caps::PEER_FAILURE`], core also calls this when the launcher has
    /// reported the end of the peer's process.
    fn disconnect(&mut self, peer: PeerId) {}

    /// Fills `into` with reports of this task's rails, as many as fit. Returns their number.
    ///
    /// For transports that carry messages over several adapters themselves. Core itself counts the
    /// traffic of datagram transports' paths.
    fn rails(&mut self, reports: &mut [RailReport]) -> usize {
        0
    }

    /// Sends an active message of `head` followed by `body`, copied before return.
    /// Length: `head.len() + body.len()` ≤ [`Limits::max_short`]. A datagram transport returns
    /// [`Status::Unsupported`] for a peer that only datagrams reach. ([`Caps::AM_SHORT`])
    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        Status::Unsupported
    }

    /// Sends an active message of `len` bytes which `pack` writes into the transport's buffer.
    /// `len` ≤ [`Limits::max_packed`]. `pack` is called at most once, and only if the result is
    /// [`Status::Done`]. ([`Caps::AM_PACKED`])
    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        Status::Unsupported
    }

    /// Writes `data` to the peer's memory. [`Status::Done`]: the data has arrived and no event
    /// follows; [`Status::InProgress`]: `data` is in use until the event for `token`, which follows
    /// when the bytes have arrived or have failed for good, even if the peer dies.
    /// ([`Caps::PUT_ZCOPY`])
    ///
    /// # Safety
    /// `remote` names memory that the peer has exposed for writing; `data` stays valid until then.
    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        Status::Unsupported
    }

    /// Reads the peer's memory into `into`; completion as for [`put_zcopy`](Self::put_zcopy).
    /// ([`Caps::GET_ZCOPY`])
    ///
    /// # Safety
    /// `remote` names memory that the peer has exposed for reading; `into` is writable until then.
    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        Status::Unsupported
    }

    /// Sets the preferred rail of the next [`put_zcopy`](Self::put_zcopy) or
    /// [`get_zcopy`](Self::get_zcopy), by this task's number, from 0. The operation waits for room
    /// there, and takes another rail only if that one does not work or does not exist. The
    /// preference ends with that operation, whatever its result. ([`Caps::PREFER_RAIL`])
    fn prefer_rail(&mut self, rail: u32) {}

    /// Writes up to [`MAX_SHORT_PUT`] bytes to the peer's memory, copied before return.
    /// [`Status::Done`]: no event follows. The bytes arrive before any active message that is
    /// accepted later is delivered at the peer; if they are lost, no such message is delivered.
    /// After any other status nothing has been sent. ([`Caps::PUT_SHORT`])
    ///
    /// # Safety
    /// `remote` names memory that the peer has exposed for writing, until it has confirmed the
    /// delivery of a later message.
    unsafe fn put_short(&mut self, peer: PeerId, data: &[u8], remote: RemoteAddr) -> Status {
        Status::Unsupported
    }

    /// Sends datagram batches; returns how many were accepted, in order. ([`Caps::DATAGRAM`])
    ///
    /// The memory a batch refers to is copied to the kernel before return, unless it is
    /// [lent](DatagramBatch::LENT). A batch that was not accepted is offered again, perhaps from
    /// another place in memory and behind batches for other paths or peers, or given up; a
    /// transport that has sent a part of it remembers that in an [`Interrupted`].
    ///
    /// # Safety
    /// Every slice of every batch is readable during the call.
    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        0
    }

    /// The writing end of the lane to `peer`; null if there is none. It stays in place until the
    /// instance is closed; the transport closes it in place when the peer is lost.
    /// ([`Caps::LANES`])
    fn send_lane(&mut self, peer: PeerId) -> *mut lane::SendLane {
        std::ptr::null_mut()
    }

    /// The lanes that core may read. The struct stays in place until the instance is closed; its
    /// contents change only within calls of this transport. Core still calls [`poll`](Self::poll)
    /// occasionally, for everything that lanes don't carry. ([`Caps::LANES`])
    fn receive_lanes(&mut self) -> *const lane::ReceiveLanes {
        std::ptr::null()
    }

    /// Does what the attention word of `peer` requests after a message in its lane, such as waking
    /// it. ([`Caps::LANES`])
    fn attend(&mut self, peer: PeerId, attention: u32) -> Status {
        Status::Unsupported
    }

    /// Collects events into `events`, at most its capacity, and returns how many.
    ///
    /// Bytes that an event points to stay valid until the next call of `poll` or `close`, so that
    /// core can run a header handler on the packet's own bytes. Never blocks, and makes no system
    /// call without need when nothing has happened.
    fn poll(&mut self, events: &mut [Event]) -> usize;

    /// Prepares for [`Waiter::wait`]: from now on an arrival ends the wait. [`Status::Again`]:
    /// something is there already, poll instead. ([`Caps::WAIT`])
    fn arm(&mut self) -> Status {
        Status::Unsupported
    }

    /// Ends the effect of [`arm`](Self::arm): senders need not wake this task any more.
    fn disarm(&mut self) {}

    /// Sets interrupt mode, in which a progress thread sleeps while the program computes: a thread
    /// may then sleep without a preceding call of [`arm`](Self::arm).
    fn set_interrupts(&mut self, on: bool) {}

    /// Makes local memory accessible to peers, to which core sends the returned key in its
    /// messages. Memory that can't be written may be made readable only. ([`Caps::REGISTER`])
    ///
    /// # Safety
    /// The range stays mapped until [`mem_release`](Self::mem_release).
    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        Err(TransportError::Unsupported)
    }

    /// The same for one transfer, in which peers have this `access` alone. ([`Caps::REGISTER`])
    ///
    /// # Safety
    /// The range stays mapped until [`mem_release`](Self::mem_release).
    unsafe fn mem_lend(&mut self, range: RawSlice, access: PeerAccess) -> Result<RegionInfo, TransportError> {
        // SAFETY: the caller keeps the range mapped until `mem_release`.
        unsafe { self.mem_register(range) }
    }

    /// Allocates zeroed memory, aligned to at least 64 bytes, that peers access as directly as this
    /// transport allows. ([`Caps::ALLOCATE`])
    fn mem_alloc(&mut self, len: usize) -> Result<RegionInfo, TransportError> {
        Err(TransportError::Unsupported)
    }

    /// Undoes [`mem_register`](Self::mem_register), [`mem_lend`](Self::mem_lend) or
    /// [`mem_alloc`](Self::mem_alloc).
    fn mem_release(&mut self, id: u64) {}

    /// The part of `peer`'s address space that this task can load from and store to directly.
    /// ([`Caps::WINDOW`])
    ///
    /// Fixed from connection to disconnection, so that core asks once. With [`Caps::LATE_CONTACT`]
    /// this call establishes contact with the peer.
    fn window(&mut self, peer: PeerId) -> Option<Window> {
        None
    }
}

/// How a thread sleeps until a transport has something to poll.
pub trait Waiter: Send + Sync + 'static {
    /// Sleeps until an arrival after [`Transport::arm`], a [`wake`](Self::wake), or the end of
    /// `timeout_ns` nanoseconds. Early returns are allowed. Runs without the context's lock.
    fn wait(&self, timeout_ns: u64);

    /// Ends a present [`wait`](Self::wait), or the next one if a thread is just about to wait. If
    /// several threads wait, it may end only one of them: core calls it again for the others.
    fn wake(&self);

    /// A descriptor that becomes readable when [`wait`](Self::wait) would return, for sleeping on
    /// several transports at once; −1 if there is none.
    fn fd(&self) -> i32 {
        -1
    }
}

/// A waiter for transports without arrivals from outside.
#[derive(Debug, Default)]
pub struct NoWaiter;

impl Waiter for NoWaiter {
    fn wait(&self, _timeout_ns: u64) {}
    fn wake(&self) {}
}
