//! A context: one task's membership in a job, with its transports, peers, operations and threads.

mod adaptive_spin;
mod adaptive_wait;
mod attributes;
mod builder;
mod connect;
mod datagrams;
mod fork_guard;
mod handler_threads;
mod host_topology;
mod init_errors;
mod interface;
mod locked;
mod memory;
mod one_reference;
mod poll;
mod progress;
mod region;
mod restart;
mod service;
mod silence;
mod sleep;
mod tally;
mod terminate;
mod wait;

pub use crate::lock::Call;
pub(crate) use adaptive_wait::AdaptiveWait;
pub use attributes::HandlerId;
pub use builder::{ContextBuilder, ErrorHandler, FailoverHandler, RawHooks};
pub(crate) use locked::{Locked, ShortSection};
pub use memory::{Memory, RemoteMemory};
pub use progress::Polled;
pub use region::{Attached, MemoryRegion};
pub use service::SERVICE;
pub(crate) use silence::{Silence, Vigil};
pub(crate) use sleep::Sleepers;
pub(crate) use wait::Checked;

use self::adaptive_spin::AdaptiveSpin;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::handlers::{CompletionQueue, HandlerTable};
use crate::lock::ContextLock;
use crate::state::State;
use crate::stats::{Path, Statistics};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::transport::{PeerId, Sleeper};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A communication context: what the guide calls a LAPI handle.
///
/// Clones share the context; it terminates when the last clone is dropped or when
/// [`terminate`](Self::terminate) is called. All methods may be called from any thread, except
/// where they say otherwise for handlers.
///
/// *LAPI Guide, "Initializing LAPI"; LAPI_Init.*
#[doc(alias = "lapi_handle_t")]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

/// Everything that the threads of a context share.
pub(crate) struct Shared {
    pub(crate) task: u32,
    pub(crate) tasks: u32,
    pub(crate) number: u32,
    /// 1 while this process owns the context; the kernel zeroes it in a forked child.
    pub(crate) alive: fork_guard::ForkGuard,
    pub(crate) terminated: AtomicBool,
    pub(crate) crowding: adaptive_wait::Crowding,
    /// By task: the first task of the same machine.
    hosts: Box<[u32]>,
    lock: ContextLock,
    state: UnsafeCell<State>,
    references: one_reference::Ledger,
    /// How threads sleep on each link, in the order of the links.
    pub(crate) link_sleepers: Box<[Sleeper]>,
    /// Peers' memory that is mapped here, by task; read without the lock.
    pub(crate) windows: Box<[restart::PeerWindow]>,
    /// Where tasks receive datagrams, by task and path, if the program told.
    listed: std::sync::Mutex<Vec<Vec<std::net::SocketAddr>>>,
    pub(crate) handlers: HandlerTable,
    /// What layers between core and the program keep.
    extensions: service::Extensions,
    pub(crate) completions: CompletionQueue,
    pub(crate) sleepers: Sleepers,
    pub(crate) attributes: Attributes,
    pub(crate) hooks: RawHooks,
    pub(crate) config: Config,
    pub(crate) candidates: Vec<crate::transport::Candidate>,
    threads: std::sync::Mutex<Vec<std::thread::JoinHandle<()>>>,
    /// Whether the progress thread was started.
    progress_thread: AtomicBool,
    /// Threads of the program that poll in a wait.
    polling: AtomicU32,
    /// Until when the progress thread sleeps if nothing arrives, in nanoseconds of `clock`; 0 while
    /// it does not sleep.
    sleeping_until: AtomicU64,
    clock: std::time::Instant,
    bootstrap: std::sync::Mutex<Box<dyn crate::bootstrap::Bootstrap>>,
    users: AtomicUsize,
    /// How often everything began anew with a peer, whichever.
    pub(crate) beginnings: AtomicU32,
    /// Bytes that went to and came from tasks without any packet.
    pub(crate) tallies: tally::Tallies,
}

/// Runtime attributes that change while the context lives.
pub(crate) struct Attributes {
    pub(crate) interrupts: AtomicBool,
    pub(crate) checks: AtomicBool,
    pub(crate) timeout_s: AtomicU32,
    pub(crate) adaptive_spin: AdaptiveSpin,
}

impl Shared {
    /// All tasks but this one.
    pub(crate) fn other_tasks(&self) -> impl Iterator<Item = PeerId> + use<> {
        let this = self.task;
        (0..self.tasks).filter(move |task| *task != this)
    }
}

// SAFETY: `state` is touched under `lock` only; everything else is Sync by itself. Raw pointers
// inside the state belong to operations whose starters promised validity on whatever thread.
unsafe impl Sync for Shared {}
// SAFETY: nothing in it belongs to the thread that made it.
unsafe impl Send for Shared {}

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

    /// Which of the process's contexts this is; contexts of equal number in different tasks talk to
    /// each other.
    pub fn number(&self) -> u32 {
        self.shared.number
    }

    /// The effective configuration.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Every transport that was considered, with the verdict.
    pub fn transports(&self) -> &[crate::transport::Candidate] {
        &self.shared.candidates
    }

    /// Name of the transport that carries messages to `target`.
    pub fn transport_to(&self, target: u32) -> Option<&'static str> {
        let mut state = self.locked();
        (target < self.shared.tasks).then(|| state.link_to(target).map(|l| l.name()))?
    }

    /// What this context has sent and received so far.
    #[doc(alias = "QUERY_STATISTICS")]
    pub fn statistics(&self) -> Statistics {
        let mut state = self.locked();
        let mut statistics = state.statistics;
        if !self.shared.terminated.load(Ordering::Relaxed) {
            self.shared.tallies.add_to(&mut statistics, self.shared.task);
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
    /// Every call takes the lock itself; whoever holds it already nests.
    pub fn lock(&self) {
        self.shared.lock.acquire_for_program();
    }

    /// Takes the lock if no other thread holds it.
    pub fn try_lock(&self) -> bool {
        self.shared.lock.try_acquire_for_program()
    }

    /// Begins a call of a program which shares the lock or has handlers, for interfaces whose
    /// programs may have signal handlers. Unless the answer is [`Call::Amid`], which makes any
    /// other method unsound to call now, [`end_call`](Self::end_call) follows.
    #[inline(always)]
    pub fn begin_call(&self) -> Call {
        self.shared.lock.begin_call()
    }

    /// Ends a call: if it nested, code of the program goes on with the lock.
    #[inline(always)]
    pub fn end_call(&self, call: Call) {
        if call == Call::Nested {
            self.shared.lock.lend();
        }
    }

    /// Runs code of the program, from within the library: calls that it makes nest.
    #[inline(always)]
    pub fn lending<T>(&self, run: impl FnOnce() -> T) -> T {
        self.shared.lock.lend();
        let outcome = run();
        self.shared.lock.unlend();
        outcome
    }

    /// The lock that the thread has taken is the program's: its calls nest until it gives the lock
    /// back.
    pub fn lend(&self) {
        self.shared.lock.lend();
    }

    /// Whether the calling thread holds the lock.
    pub fn holds_lock(&self) -> bool {
        self.shared.lock.held_by_me()
    }

    /// Gives back one level of [`lock`](Self::lock). The calling thread must have taken it so;
    /// otherwise nothing happens and the answer is false: handlers that run while the library holds
    /// the lock can't take it away.
    pub fn unlock(&self) -> bool {
        self.shared.lock.release_for_program()
    }

    /// Refuses the call in a forked child and after termination.
    #[inline(always)]
    pub(crate) fn usable(&self) -> Result<()> {
        if self.shared.alive.here() && !self.shared.terminated.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(self.why_unusable())
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

    /// The same context, not counted as a user: for the context's own threads.
    pub(crate) fn internal(&self) -> InternalContext {
        InternalContext(ManuallyDrop::new(Self { shared: Arc::clone(&self.shared) }))
    }
}

impl Clone for Context {
    fn clone(&self) -> Self {
        self.shared.users.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SYNC: AcqRel: the last user sees what all others did with the context.
        if self.shared.users.fetch_sub(1, Ordering::AcqRel) == 1 && self.shared.alive.here() {
            // Nobody is left to hear of a failure.
            let _ = self.terminate();
        }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("task", &self.shared.task)
            .field("tasks", &self.shared.tasks)
            .field("number", &self.shared.number)
            .finish_non_exhaustive()
    }
}

/// A context that does not keep itself alive.
pub(crate) struct InternalContext(ManuallyDrop<Context>);

impl std::ops::Deref for InternalContext {
    type Target = Context;
    fn deref(&self) -> &Context {
        &self.0
    }
}

impl Drop for InternalContext {
    fn drop(&mut self) {
        // SAFETY: dropped once, here; reading the field out skips `Context`'s own Drop, which
        // counts users.
        drop(unsafe { std::ptr::read(&raw const self.0.shared) });
    }
}
