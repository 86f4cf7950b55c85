//! A context: one task's membership in a job, with its transports, peers, operations and threads.
//!
//! * `shared`, `locked`, `one_reference`: what a context is, and the guard of its lock, through
//!   which all others reach the state;
//! * `builder`, `connect`, `card`, `init_errors`, `host_topology`: initialisation;
//! * `progress`, `poll`, `moderation`, `datagrams`: polling the links, and handling arrivals;
//! * `wait`, `adaptive_wait`, `adaptive_spin`, `sleep`, `sleepers`: waiting;
//! * `handler_threads`, `notify`: running completion handlers and other notifications;
//! * `contact`: first contact with peers;
//! * `memory`, `region`, `window`, `tally`: memory that peers reach, and what moves through it;
//! * `steps`, `flags`: the steps of a barrier, and the flags in memory that signal them;
//! * `silence`, `restart`: peers that fall silent, and peers that are restarted;
//! * `status_page`: what the context publishes about itself;
//! * `attributes`, `interface`, `service`, `extensions`, `guarded`: for the interfaces and layers
//!   above;
//! * `terminate`, `fork_guard`: the end.

mod adaptive_spin;
mod adaptive_wait;
mod alarm;
mod attributes;
mod builder;
mod card;
mod connect;
mod contact;
mod datagrams;
mod extensions;
mod flags;
mod fork_guard;
mod guarded;
mod handler_threads;
mod host_topology;
mod init_errors;
mod interface;
mod locked;
mod memory;
mod moderation;
mod notify;
mod one_reference;
mod panics;
mod poll;
mod progress;
mod region;
mod restart;
mod service;
mod shared;
mod silence;
mod sleep;
mod sleepers;
mod status_page;
mod steps;
mod tally;
mod terminate;
mod wait;
mod window;

pub use crate::lock::Call;
pub(crate) use crate::state::AdaptiveWait;
pub use attributes::HandlerId;
pub use builder::ContextBuilder;
pub(crate) use flags::{Flags, ROWS_AT};
pub use guarded::{Access, BriefAccess, Guarded, Held};
pub(crate) use locked::{Locked, ShortSection};
pub use memory::{Memory, RegisteredMemory, RemoteMemory};
pub use panics::MustReturn;
pub use progress::Polled;
pub use region::{Attached, MemoryRegion};
pub use service::SERVICE;
pub(crate) use shared::{
    Arrival, CompletionQueue, Handler, HandlerTable, InternalContext, Job, Operation, Outgoing, Pull,
    Reassembly, Shared, State, ZeroCopySend,
};
pub use shared::{
    CallHeaderHandler, CompletionHandler, Context, Delivery, ErrorHandler, FailoverHandler, Notify, RawHooks,
    RestHandler, SleepHandler,
};
pub(crate) use status_page::Awaited;
pub(crate) use wait::Checked;

use self::tally::Fetch;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::stats::{Path, Statistics};
use crate::sync::Ordering;
use crate::transport::PeerId;

impl Context {
    /// Begins to set up a context. See [`ContextBuilder`].
    #[doc(alias = "LAPI_Init")]
    pub fn builder() -> ContextBuilder {
        ContextBuilder::new()
    }

    /// This task's number.
    #[doc(alias = "TASK_ID")]
    #[inline]
    pub fn task(&self) -> u32 {
        self.shared.task
    }

    /// Number of tasks in the job.
    #[doc(alias = "NUM_TASKS")]
    #[inline]
    pub fn tasks(&self) -> u32 {
        self.shared.tasks
    }

    /// The number of this context within its process; contexts of equal number in different tasks
    /// communicate with each other.
    pub fn number(&self) -> u32 {
        self.shared.number
    }

    /// The effective configuration.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Every transport that was considered, and whether it is used.
    pub fn transports(&self) -> &[crate::transport::Candidate] {
        &self.shared.candidates
    }

    /// Name of the transport that carries messages to `target`.
    pub fn transport_to(&self, target: u32) -> Option<&'static str> {
        let mut state = self.locked();
        (target < self.shared.tasks).then(|| state.name_of_transport_to(target))?
    }

    /// The name of each open transport, and a readable description of its present state.
    pub fn transport_notes(&self) -> Vec<(&'static str, String)> {
        self.locked().links.open.iter_mut().map(|link| (link.name(), link.present_note())).collect()
    }

    /// What this context has sent and received so far.
    #[doc(alias = "QUERY_STATISTICS")]
    pub fn statistics(&self) -> Statistics {
        let mut state = self.locked();
        let mut statistics = *state.statistics;
        if !self.shared.terminated.load(Ordering::Relaxed) {
            self.shared.tallies.add_to(&mut statistics, &mut state, self.shared.task, Fetch::All);
        }
        for (_, datagrams) in state.links.engines() {
            let (duplicates, retransmissions) = datagrams.repetitions(self.shared.tasks);
            let network = statistics.path_mut(Path::Network);
            network.duplicates += duplicates;
            network.retransmissions += retransmissions;
            statistics.refused += datagrams.refused(self.shared.tasks);
        }
        statistics
    }

    /// The lock of the context, for interfaces that share it with their users (LAPI Guide, "Lock
    /// sharing").
    ///
    /// Every call takes the lock itself; it is recursive.
    pub fn lock(&self) {
        self.shared.lock.acquire_for_program();
    }

    /// Takes the lock if no other thread holds it.
    pub fn try_lock(&self) -> bool {
        self.shared.lock.try_acquire_for_program()
    }

    /// Begins a call of a program that shares the lock or has handlers, for interfaces whose
    /// programs may have signal handlers. After [`Call::Amid`] no other method may be called;
    /// otherwise [`end_call`](Self::end_call) must follow.
    #[inline(always)]
    pub fn begin_call(&self) -> Call {
        self.shared.lock.begin_call()
    }

    /// Ends a call. If it was nested, the program's code continues with the lock held.
    #[inline(always)]
    pub fn end_call(&self, call: Call) {
        if call == Call::Nested {
            self.shared.lock.lend();
        }
    }

    /// Runs code of the program from within the library; calls that it makes are nested.
    #[inline(always)]
    pub fn lending<T>(&self, run: impl FnOnce() -> T) -> T {
        self.shared.lock.lend();
        let outcome = run();
        self.shared.lock.unlend();
        outcome
    }

    /// As [`lending`](Self::lending), for code that the library calls only with the lock held:
    /// header handlers.
    #[inline(always)]
    pub fn lending_held<T>(&self, run: impl FnOnce() -> T) -> T {
        self.lend_held();
        let outcome = run();
        self.unlend_held();
        outcome
    }

    /// Begins what [`lending_held`](Self::lending_held) does.
    #[inline(always)]
    pub fn lend_held(&self) {
        self.shared.lock.lend_held();
    }

    /// Ends it.
    #[inline(always)]
    pub fn unlend_held(&self) {
        self.shared.lock.unlend_held();
    }

    /// Marks the lock that this thread has taken as the program's: its calls are nested until it
    /// releases the lock.
    pub fn lend(&self) {
        self.shared.lock.lend();
    }

    /// Whether the calling thread holds the lock.
    pub fn holds_lock(&self) -> bool {
        self.shared.lock.held_by_me()
    }

    /// Releases one level of [`lock`](Self::lock). Returns false, and does nothing, if the calling
    /// thread has not taken the lock that way: handlers that run while the library holds the lock
    /// can't release it.
    pub fn unlock(&self) -> bool {
        self.shared.lock.release_for_program()
    }

    /// Refuses the call in a forked child and after termination.
    #[inline(always)]
    pub(crate) fn usable(&self) -> Result<()> {
        if self.is_usable() { Ok(()) } else { Err(self.why_unusable()) }
    }

    #[cold]
    fn why_unusable(&self) -> Error {
        if self.shared.alive.here() {
            Error::HandleInvalid { handle: self.shared.number }
        } else {
            Error::ForkedChild { parent: self.shared.alive.owner(), child: std::process::id() }
        }
    }

    #[inline(always)]
    pub(crate) fn check_target(&self, target: PeerId) -> Result<()> {
        if target < self.shared.tasks {
            Ok(())
        } else {
            Err(Error::InvalidTarget { task: target, tasks: self.shared.tasks })
        }
    }
}
