//! Header handlers, completion handlers, and the threads that run the latter.

use crate::Context;
use crate::error::{Error, Result};
use crate::message::Destination;
use crate::sync::blocking::{Condvar, Mutex, MutexGuard};
use crate::sync::{AtomicPtr, AtomicU32, Ordering};
use crate::transport::PeerId;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Number of entries of the handler table; index 0 is never used.
#[doc(alias = "LOC_ADDRTBL_SZ")]
pub const HANDLER_TABLE_SIZE: usize = 256;

/// Entries behind the program's: for what stands between core and the program.
const SERVICES: usize = 1;

/// Indices below this one are entries of the table; others are addresses of the interface above.
pub(crate) const TABLE_END: u64 = (HANDLER_TABLE_SIZE + SERVICES) as u64;

/// An active message whose first packet has arrived, as its header handler sees it.
#[doc(alias = "lapi_return_info_t")]
#[derive(Debug)]
pub struct Incoming<'a> {
    /// Who sent it.
    pub source: PeerId,
    /// The user header, in place in the packet: valid during the handler only.
    pub user_header: &'a [u8],
    /// Bytes of data in the whole message.
    pub len: u64,
    /// The data, in place, if all of it is in this packet.
    #[doc(alias = "udata_one_pkt_ptr")]
    pub data: Option<&'a [u8]>,
    /// The beginning of the data, in place, as far as it came with this packet: perhaps nothing.
    pub first: &'a [u8],
}

/// Where and when a completion handler runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// On a handler thread: it may block and communicate.
    #[default]
    #[doc(alias = "LAPI_NORMAL")]
    Thread,
    /// At once, in the thread that received the message. It calls nothing of Lapis.
    #[doc(alias = "LAPI_LOCAL_STATE")]
    Inline,
    /// At once if a reply can be sent without waiting, otherwise on a handler thread.
    #[doc(alias = "LAPI_SEND_REPLY")]
    InlineReply,
}

/// What runs when a message has arrived completely.
pub enum CompletionHandler {
    /// A function and its argument, for the interface above to call
    /// ([`RawHooks::completion`](crate::context::RawHooks)).
    Raw {
        /// The function's address.
        function: usize,
        /// Its argument.
        argument: *mut c_void,
    },
    /// A closure.
    Closure(Box<dyn FnOnce(&Context) + Send>),
}

// SAFETY: `Raw` stands for a C function that LAPI's contract runs on a handler thread.
unsafe impl Send for CompletionHandler {}

/// What a header handler answers.
pub struct Delivery {
    /// Where the data goes. Ignored if there is none.
    pub into: Destination,
    /// Treat the packet as if it had not arrived; it comes again later.
    #[doc(alias = "LAPI_DROP_PKT")]
    pub drop: bool,
    /// What to run when all data is there.
    pub completion: Option<CompletionHandler>,
    /// Where to run it.
    pub run: Run,
}

impl Delivery {
    /// Nothing to store, nothing to run: the handler took what it wanted from the packet, or wants
    /// none of it.
    #[doc(alias = "LAPI_BURY_MSG")]
    #[inline(always)]
    pub const fn bury() -> Self {
        Self { into: Destination::Discard, drop: false, completion: None, run: Run::Thread }
    }

    /// Not now: the packet comes again.
    pub fn later() -> Self {
        Self { drop: true, ..Self::bury() }
    }

    /// Collects the whole message into a vector and hands it to `keep` when it is there, in the
    /// thread that received it: `keep` is short and calls nothing of Lapis.
    pub fn collect(message: &Incoming<'_>, keep: impl FnOnce(Vec<u8>) + Send + 'static) -> Self {
        if let Some(data) = message.data {
            keep(data.to_vec());
            return Self::bury();
        }
        let mut data = vec![0; message.len as usize];
        // The bytes of a vector stay where they are when the vector moves into the closure.
        let into = Destination::Contiguous(NonNull::from(data.as_mut_slice()).cast());
        let completion = Some(CompletionHandler::Closure(Box::new(move |_| keep(data))));
        Self { into, drop: false, completion, run: Run::Inline }
    }

    /// Adds a completion handler that runs on a handler thread.
    pub fn then(mut self, f: impl FnOnce(&Context) + Send + 'static) -> Self {
        self.completion = Some(CompletionHandler::Closure(Box::new(f)));
        self.run = Run::Thread;
        self
    }
}

pub(crate) type HeaderClosure = Box<dyn Fn(&Context, &Incoming<'_>) -> Delivery + Send + Sync>;

/// An entry of the handler table.
pub(crate) enum Handler {
    /// An address of the interface above.
    Address(u64),
    /// A closure.
    Closure(HeaderClosure),
}

/// How long messages wait for a handler to be registered.
const PATIENCE: Duration = Duration::from_secs(2);

/// Header handlers by index. *LAPI Guide, LAPI_Addr_set.*
pub(crate) struct HandlerTable {
    slots: Box<[AtomicPtr<Handler>; HANDLER_TABLE_SIZE + SERVICES]>,
    /// Replaced entries: a dispatcher may be inside one, so they live until the table goes.
    retired: Mutex<Vec<*mut Handler>>,
    /// Since when messages wait for a handler to be registered.
    awaited: Mutex<Option<Instant>>,
}

// SAFETY: entries are immutable once published and freed with the table.
unsafe impl Send for HandlerTable {}
// SAFETY: as above.
unsafe impl Sync for HandlerTable {}

impl HandlerTable {
    pub(crate) fn new() -> Self {
        Self {
            slots: Box::new(std::array::from_fn(|_| AtomicPtr::new(null_mut()))),
            retired: Mutex::default(),
            awaited: Mutex::default(),
        }
    }

    pub(crate) fn set(&self, index: usize, handler: Option<Handler>) -> Result<()> {
        if index == 0 || index >= HANDLER_TABLE_SIZE {
            return Err(Error::AddressIndex { index: index as i64, max: HANDLER_TABLE_SIZE - 1 });
        }
        self.publish(index, handler);
        Ok(())
    }

    /// Sets the entry of the layer that makes collectives.
    pub(crate) fn set_service(&self, handler: Handler) {
        self.publish(HANDLER_TABLE_SIZE, Some(handler));
    }

    fn publish(&self, index: usize, handler: Option<Handler>) {
        let new = handler.map_or(null_mut(), |h| Box::into_raw(Box::new(h)));
        // SYNC: Release publishes the entry to `get`'s Acquire.
        let old = self.slots[index].swap(new, Ordering::AcqRel);
        if !old.is_null() {
            self.retired.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(old);
        }
        *self.awaited.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    /// Whether something may still be registered at an index.
    #[cold]
    pub(crate) fn may_come(&self, index: u64) -> bool {
        if index == HANDLER_TABLE_SIZE as u64 {
            // A task may make its first team as late as it likes.
            return true;
        }
        let mut awaited = self.awaited.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (1..HANDLER_TABLE_SIZE as u64).contains(&index)
            && awaited.get_or_insert_with(Instant::now).elapsed() < PATIENCE
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u64) -> Option<&Handler> {
        // SYNC: Acquire pairs with `set`.
        let entry = self.slots.get(usize::try_from(index).ok()?)?.load(Ordering::Acquire);
        // SAFETY: entries live until the table is dropped.
        unsafe { entry.as_ref() }
    }
}

impl Drop for HandlerTable {
    fn drop(&mut self) {
        let retired =
            std::mem::take(self.retired.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        let present = self.slots.iter().map(|s| s.load(Ordering::Relaxed));
        for entry in present.chain(retired) {
            if !entry.is_null() {
                // SAFETY: each came from `Box::into_raw` and appears once.
                drop(unsafe { Box::from_raw(entry) });
            }
        }
    }
}

/// A completion handler that waits for its turn, and whom to answer afterwards.
pub(crate) struct Job {
    pub(crate) handler: CompletionHandler,
    /// The origin and its operation, if it asked to be told.
    pub(crate) reply: Option<(PeerId, u64)>,
    /// Who sent the message.
    pub(crate) peer: PeerId,
    /// Which of its lives: answers to an earlier one are not sent to the present one.
    pub(crate) life: u32,
    /// Address of a counter of this task to count when the handler has returned, 0 for none.
    pub(crate) target_counter: u64,
}

/// Jobs for the handler threads.
pub(crate) struct CompletionQueue {
    inner: Mutex<QueueState>,
    more: Condvar,
    /// Jobs that wait, for threads that look.
    waiting: AtomicU32,
    pub(crate) max_threads: usize,
}

/// How often a thread that has run a job gives its core away, looking for another one, before it
/// sleeps: whoever asks and waits for the answer asks again soon, and each time a sleeping thread
/// is woken costs more than the rest of a short handler.
const LOOKS: u32 = 64;

/// What became of a job that was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    /// All threads have something to do.
    Waits,
    /// A thread that is there begins it, as soon as it has a core.
    BeginsSoon,
    /// The caller starts one more thread.
    WantsThread,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Job>,
    threads: usize,
    /// Threads that sleep.
    idle: usize,
    /// Threads that look for jobs now and then.
    looking: usize,
    /// Jobs given to one of these that it has not taken yet.
    begun_soon: usize,
    /// Threads that run jobs.
    running: Vec<ThreadId>,
    closed: bool,
}

impl CompletionQueue {
    pub(crate) fn new(max_threads: usize) -> Self {
        Self {
            inner: Mutex::default(),
            more: Condvar::new(),
            waiting: AtomicU32::new(0),
            max_threads: max_threads.max(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        // A panicking handler ends its thread, not the queue.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds a job.
    pub(crate) fn push(&self, job: Job) -> Queued {
        let mut q = self.state();
        q.jobs.push_back(job);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if q.looking + q.idle > q.begun_soon {
            q.begun_soon += 1;
            if q.looking < q.begun_soon {
                self.more.notify_one();
            }
            return Queued::BeginsSoon;
        }
        if q.threads < self.max_threads {
            q.threads += 1;
            return Queued::WantsThread;
        }
        Queued::Waits
    }

    /// Whether jobs wait.
    pub(crate) fn has_jobs(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The next job, and whether it was to [begin soon](Queued::BeginsSoon); `None` when the queue
    /// is closed and empty. Where there is none, `poll` may bring one, before the thread looks a
    /// few more times and sleeps.
    pub(crate) fn pop(&self, poll: impl FnOnce()) -> Option<(Job, bool)> {
        let mut poll = Some(poll);
        let mut q = self.state();
        loop {
            if let Some(job) = q.jobs.pop_front() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                q.running.push(std::thread::current().id());
                let soon = q.begun_soon > 0;
                q.begun_soon -= usize::from(soon);
                return Some((job, soon));
            }
            if q.closed {
                q.threads -= 1;
                return None;
            }
            if let Some(poll) = poll.take() {
                q.looking += 1;
                drop(q);
                poll();
                self.look();
                q = self.state();
                q.looking -= 1;
            } else {
                q.idle += 1;
                q = self.more.wait(q).unwrap_or_else(std::sync::PoisonError::into_inner);
                q.idle -= 1;
            }
        }
    }

    /// Looks for a job, giving the core away in between.
    fn look(&self) {
        for _ in 0..LOOKS {
            if self.has_jobs() {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Says that the thread which [`push`](Self::push) asked for can't be had. The jobs, if no
    /// other thread is there to run them.
    pub(crate) fn without_thread(&self) -> VecDeque<Job> {
        let mut q = self.state();
        q.threads -= 1;
        if q.threads > 0 {
            return VecDeque::new();
        }
        let jobs = std::mem::take(&mut q.jobs);
        self.waiting.fetch_sub(jobs.len() as u32, Ordering::Relaxed);
        jobs
    }

    /// Says that the job which the calling thread took by [`pop`](Self::pop) has ended.
    pub(crate) fn finished(&self) {
        let me = std::thread::current().id();
        self.state().running.retain(|thread| *thread != me);
    }

    /// Whether nothing waits and no other thread runs anything: a handler that asks this does not
    /// wait for its own end.
    pub(crate) fn is_idle(&self) -> bool {
        let me = std::thread::current().id();
        let q = self.state();
        q.jobs.is_empty() && q.running.iter().all(|thread| *thread == me)
    }

    /// Lets the threads end once the queue is empty.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.more.notify_all();
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier};

    fn job() -> Job {
        let handler = CompletionHandler::Closure(Box::new(|_| {}));
        Job { handler, reply: None, peer: 0, life: 0, target_counter: 0 }
    }

    #[test]
    fn a_handler_that_ends_its_context_does_not_wait_for_itself() {
        let queue = Arc::new(CompletionQueue::new(1));
        assert_eq!(queue.push(job()), Queued::WantsThread);
        assert!(!queue.is_idle());
        let (there, steps) = (Arc::clone(&queue), Arc::new(Barrier::new(2)));
        let others = Arc::clone(&steps);
        let thread = std::thread::spawn(move || {
            assert!(there.pop(|| {}).is_some());
            assert!(there.is_idle(), "nobody but the handler itself is at work");
            others.wait();
            others.wait();
            there.finished();
            there.pop(|| {}).is_none()
        });
        steps.wait();
        assert!(!queue.is_idle(), "a handler is at work");
        queue.close();
        steps.wait();
        assert!(thread.join().unwrap());
        assert!(queue.is_idle());
    }

    #[test]
    fn a_thread_that_looks_or_sleeps_is_given_one_job_at_a_time() {
        let queue = Arc::new(CompletionQueue::new(2));
        assert_eq!(queue.push(job()), Queued::WantsThread);
        assert_eq!(queue.push(job()), Queued::WantsThread);
        assert_eq!(queue.push(job()), Queued::Waits);
        for _ in 0..3 {
            let (_, announced) = queue.pop(|| {}).unwrap();
            assert!(!announced);
            queue.finished();
        }
        let there = Arc::clone(&queue);
        let thread = std::thread::spawn(move || {
            let announced = there.pop(|| {}).unwrap().1;
            there.finished();
            announced
        });
        let is_free = || {
            let state = queue.state();
            state.looking + state.idle > 0
        };
        while !is_free() {
            std::thread::yield_now();
        }
        assert_eq!(queue.push(job()), Queued::BeginsSoon);
        assert!(thread.join().unwrap());
        assert!(queue.is_idle());
    }
}
