//! What a context is: the handle, what its threads share, and the callbacks that get it.
//!
//! The types of the layers below leave open what their callbacks get; here it is filled in.

use super::adaptive_spin::AdaptiveSpin;
use super::extensions::Extensions;
use super::flags::Flags;
use super::fork_guard::ForkGuard;
use super::moderation::Moderation;
use super::one_reference::Ledger;
use super::sleepers::{LinkSleepers, Sleepers};
use super::tally::Tallies;
use super::window::PeerWindow;
use crate::bootstrap::Bootstrap;
use crate::config::Config;
use crate::counter::Counter;
use crate::crowding::Crowding;
use crate::error::Error;
use crate::handlers::Incoming;
use crate::lock::ContextLock;
use crate::status::StatusPage;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::trace::Trace;
use crate::transport::{Candidate, FailoverTrouble, PeerId};
use crate::{completion, handlers, state};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

/// A communication context: what the guide calls a LAPI handle.
///
/// Clones share the context; it terminates when the last clone is dropped or when
/// [`terminate`](Self::terminate) is called. All methods may be called from any thread, except
/// where they say otherwise for handlers.
///
/// It belongs to the process that made it. In a forked child, calls fail with
/// [`Error::ForkedChild`], and dropping the context, its memory or its registrations has no effect.
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
    pub(crate) alive: ForkGuard,
    pub(crate) terminated: AtomicBool,
    /// Its links are closed, too. Changed under the lock.
    pub(crate) closed: AtomicBool,
    pub(crate) crowding: Arc<Crowding>,
    /// By task: the first task of the same machine.
    pub(super) hosts: Box<[u32]>,
    pub(super) lock: ContextLock,
    pub(super) state: UnsafeCell<State>,
    pub(super) references: Ledger,
    pub(crate) link_sleepers: LinkSleepers,
    /// Peers' memory that is mapped here, by task; read without the lock.
    pub(crate) windows: Box<[PeerWindow]>,
    /// Where tasks receive datagrams, by task and path, if the program told.
    pub(super) listed: Mutex<Vec<Vec<SocketAddr>>>,
    pub(crate) handlers: HandlerTable,
    /// What layers between core and the program keep.
    pub(super) extensions: Extensions<Context>,
    pub(crate) completions: CompletionQueue,
    pub(crate) sleepers: Sleepers,
    pub(crate) attributes: Attributes,
    pub(crate) hooks: RawHooks,
    pub(crate) config: Config,
    pub(crate) candidates: Vec<Candidate>,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether the progress thread was started.
    pub(super) progress_thread: AtomicBool,
    /// What others may see; threads of the program that poll in a wait are counted there.
    pub(crate) status: StatusPage,
    /// Where events are noted, if LAPIS_TRACE says so.
    pub(crate) trace: Option<Arc<Trace>>,
    /// Until when the progress thread sleeps if nothing arrives, in nanoseconds of `clock`; 0 while
    /// it does not sleep.
    pub(super) sleeping_until: AtomicU64,
    pub(super) clock: Instant,
    pub(super) moderation: Moderation,
    pub(super) bootstrap: Mutex<Box<dyn Bootstrap>>,
    pub(super) users: AtomicUsize,
    /// How often everything started again with a peer, whichever.
    pub(crate) beginnings: AtomicU32,
    /// Bytes that went to and came from tasks without any packet.
    pub(crate) tallies: Tallies,
    /// Whether puts and gets have ended in their calls, without the lock, since the last call that
    /// says so; by direction.
    pub(crate) direct_ended: [AtomicBool; 2],
    /// How far this task and its peers have come in barriers.
    pub(crate) flags: Flags,
}

/// Runtime attributes that change while the context lives.
pub(crate) struct Attributes {
    pub(crate) interrupts: AtomicBool,
    pub(crate) checks: AtomicBool,
    pub(crate) timeout_s: AtomicU32,
    pub(crate) ack_threshold: AtomicU32,
    pub(crate) adaptive_spin: AdaptiveSpin,
}

impl Attributes {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            interrupts: AtomicBool::new(*config.interrupt.get()),
            checks: AtomicBool::new(*config.error_chk.get()),
            timeout_s: AtomicU32::new(config.timeout.get().as_secs() as u32),
            ack_threshold: AtomicU32::new(*config.ack_thresh.get()),
            adaptive_spin: AdaptiveSpin::new(*config.spin.get()),
        }
    }
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

/// Calls a header handler by its address.
pub type CallHeaderHandler = unsafe fn(&Context, handler: u64, &Incoming<'_>) -> Option<Delivery>;

/// What an interface above core plugs into a context: how to call the handlers whose addresses it
/// passes around, and whom to tell of errors that belong to no call.
#[derive(Default)]
pub struct RawHooks {
    /// Calls a header handler by an address that the interface gave out; `None` if the handler
    /// wants nothing to be stored or run. Runs in the dispatcher, under the lock.
    pub header: Option<CallHeaderHandler>,
    /// Calls a completion handler by function and argument.
    pub completion: Option<unsafe fn(&Context, function: usize, argument: *mut c_void)>,
    /// Told when an operation with a peer counts a counter that has a
    /// [tag](Counter::set_tag), just before it counts.
    pub counted: Option<fn(&Context, &Counter, PeerId)>,
    /// Called by each thread of the context when it starts.
    pub thread_start: Option<Box<dyn Fn() + Send + Sync>>,
    /// Called without the lock when the program, which has polled continuously, stops polling: from
    /// now on arrivals are left to interrupts, so the interface must check for its own once more.
    pub rests: Option<Box<RestHandler>>,
    /// Called under the lock when a thread is about to sleep until something arrives. True: there
    /// is work that arrived by a route that core does not know; the thread then checks its
    /// condition instead of sleeping.
    pub sleeps: Option<Box<SleepHandler>>,
    /// Stack size of the context's threads, in bytes.
    pub stack_size: Option<usize>,
    /// Called with errors that belong to no call and the peer they concern. True: handled, core
    /// goes on without the peer; false: waits that may need the peer fail.
    pub error: Option<Box<ErrorHandler>>,
    /// Called with what keeps one network path from taking another's place, and the details.
    /// Without it, that is logged.
    pub failover: Option<Box<FailoverHandler>>,
}

/// See [`RawHooks::error`].
pub type ErrorHandler = dyn Fn(&Context, &Error, PeerId) -> bool + Send + Sync;

/// See [`RawHooks::rests`].
pub type RestHandler = dyn Fn(&Context) + Send + Sync;

/// See [`RawHooks::sleeps`].
pub type SleepHandler = dyn Fn(&Context) -> bool + Send + Sync;

/// See [`RawHooks::failover`]. Runs under the lock.
pub type FailoverHandler = dyn Fn(&Context, FailoverTrouble, &str) + Send + Sync;

/// What is notified when an operation ends.
pub type Notify = completion::Notify<Context>;
/// What runs when a message has arrived completely.
pub type CompletionHandler = handlers::CompletionHandler<Context>;
/// What a header handler answers.
pub type Delivery = handlers::Delivery<Context>;

pub(crate) type Handler = handlers::Handler<Context>;
pub(crate) type HandlerTable = handlers::HandlerTable<Context>;
pub(crate) type Job = handlers::Job<Context>;
pub(crate) type CompletionQueue = handlers::CompletionQueue<Context>;

pub(crate) type State = state::State<Context>;
pub(crate) type Operation = state::Operation<Context>;
pub(crate) type Outgoing = state::Outgoing<Context>;
pub(crate) type Pull = state::Pull<Context>;
pub(crate) type Arrival = state::Arrival<Context>;
pub(crate) type Reassembly = state::Reassembly<Context>;
pub(crate) type ZeroCopySend = state::ZeroCopySend<Context>;

impl Context {
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
        if !self.is_of_this_process() {
            // What the last one would close goes on in the parent, and only there are the threads
            // that work with it. So there is no last one here.
            std::mem::forget(Arc::clone(&self.shared));
            return;
        }
        // SYNC: AcqRel: the last user sees what all others did with the context.
        if self.shared.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody is left who could give the lock back, or hear of a failure.
            while self.unlock() {}
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
