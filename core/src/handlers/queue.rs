//! Completion handlers that wait for a handler thread.

use super::CompletionHandler;
use crate::crowding::Crowding;
use crate::sync::blocking::{Condvar, Mutex, MutexGuard};
use crate::sync::{AtomicU32, Ordering};
use crate::transport::PeerId;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::ThreadId;

/// A completion handler that waits for its turn, and whom to answer afterwards.
pub(crate) struct Job<C> {
    pub(crate) handler: CompletionHandler<C>,
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
pub(crate) struct CompletionQueue<C> {
    inner: Mutex<QueueState<C>>,
    more: Condvar,
    /// Jobs that wait, for threads that look.
    waiting: AtomicU32,
    pub(crate) max_threads: usize,
    crowding: Arc<Crowding>,
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

struct QueueState<C> {
    jobs: VecDeque<Job<C>>,
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

impl<C> QueueState<C> {
    fn new() -> Self {
        Self {
            jobs: VecDeque::new(),
            threads: 0,
            idle: 0,
            looking: 0,
            begun_soon: 0,
            running: Vec::new(),
            closed: false,
        }
    }
}

impl<C> CompletionQueue<C> {
    pub(crate) fn new(max_threads: usize, crowding: Arc<Crowding>) -> Self {
        Self {
            inner: Mutex::new(QueueState::new()),
            more: Condvar::new(),
            waiting: AtomicU32::new(0),
            max_threads: max_threads.max(1),
            crowding,
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<C>> {
        // Nothing of the program's runs while it is held.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds a job.
    pub(crate) fn push(&self, job: Job<C>) -> Queued {
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
        // Nobody would wait for a thread that begins when the others have been told to end.
        if q.threads < self.max_threads && !q.closed {
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
    pub(crate) fn pop(&self, poll: impl FnOnce()) -> Option<(Job<C>, bool)> {
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

    /// Looks for a job, giving the core away in between, as long as that costs little.
    fn look(&self) {
        for _ in 0..LOOKS {
            if self.has_jobs() || !self.crowding.give_core_to_own_thread(|| false) {
                return;
            }
        }
    }

    /// Says that the thread which [`push`](Self::push) asked for can't be had. The jobs, if no
    /// other thread is there to run them.
    pub(crate) fn without_thread(&self) -> VecDeque<Job<C>> {
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
    use std::sync::Barrier;

    fn job() -> Job<()> {
        let handler = CompletionHandler::Closure(Box::new(|_| {}));
        Job { handler, reply: None, peer: 0, life: 0, target_counter: 0 }
    }

    #[test]
    fn a_handler_that_ends_its_context_does_not_wait_for_itself() {
        let queue = Arc::new(CompletionQueue::new(1, Arc::new(Crowding::new(false))));
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
    fn no_thread_begins_once_the_queue_is_closed() {
        let queue = CompletionQueue::new(1, Arc::new(Crowding::new(false)));
        queue.close();
        assert_eq!(queue.push(job()), Queued::Waits);
    }

    #[test]
    fn a_thread_that_looks_or_sleeps_is_given_one_job_at_a_time() {
        let queue = Arc::new(CompletionQueue::new(2, Arc::new(Crowding::new(false))));
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
