//! The threads that run completion handlers.

use super::Context;
use super::adaptive_wait::AdaptiveWait;
use crate::handlers::{CompletionHandler, Job, Queued};
use crate::wire::{Header, Kind};
use std::time::{Duration, Instant};

/// How long a thread that has run a handler polls in place of a thread that gave it the core. Most
/// answers have come by then.
const POLL_FOR: Duration = Duration::from_micros(10);

/// Handlers that such a thread runs before it lets the other one go on.
const HANDLERS_IN_A_ROW: u32 = 64;

impl Context {
    /// Hands a completion handler to the handler threads.
    pub(crate) fn queue_completion(&self, job: Job) {
        match self.shared.completions.push(job) {
            Queued::Waits => {}
            // Whoever polls on its core lets it.
            Queued::BeginsSoon => self.shared.lock.announce_work(),
            Queued::WantsThread => {
                let context = self.internal();
                if let Err(e) = self.start_thread("lapis-handler", move || context.run_completions()) {
                    self.run_without_threads(&e);
                }
            }
        }
    }

    /// What a handler thread does until the queue is closed.
    fn run_completions(&self) {
        let mut in_a_row = 0;
        let mut poll = || {
            in_a_row += 1;
            if in_a_row < HANDLERS_IN_A_ROW {
                self.poll_for_next_handler();
            } else {
                in_a_row = 0;
            }
        };
        while let Some((job, announced)) = self.shared.completions.pop(&mut poll) {
            if announced {
                self.shared.lock.work_begins();
            }
            self.run_completion(job);
        }
    }

    /// Polls until there is a handler to run, for a moment and only if nobody else does: where a
    /// thread that waits has given its core to this one, going on saves two switches for each
    /// request that follows the answer to the one before it.
    fn poll_for_next_handler(&self) {
        let (lock, queue) = (&self.shared.lock, &self.shared.completions);
        // To ask costs nothing; to try would take a bias away.
        if lock.owner() != 0 || self.shared.crowding.is_crowded() {
            return;
        }
        let Some(_held) = lock.try_guard() else { return };
        let mut since = Instant::now();
        let mut idle = AdaptiveWait::new();
        while self.usable().is_ok() && !self.is_wanted() && since.elapsed() < POLL_FOR {
            // There are no errors but those of the check, which gives none.
            let found = self.watch_lanes(&mut |_| Ok(queue.has_jobs().then_some(())), &mut idle);
            if matches!(found, Ok(Some(()))) {
                break;
            }
            if self.progress_locked() > 0 {
                since = Instant::now();
            }
        }
        self.wake_sleepers();
    }

    /// Runs what is queued on this thread: a completion handler that never runs is one that somebody waits for.
    #[cold]
    fn run_without_threads(&self, why: &crate::Error) {
        let _held = self.guard();
        for job in self.shared.completions.without_thread() {
            tracing::warn!(
                "{}: a completion handler runs where its message arrived, and can't wait there",
                why.with_causes()
            );
            self.run_inline(job);
        }
    }

    fn run_completion(&self, job: Job) {
        self.call_completion_handler(job.handler);
        if job.target_counter != 0 {
            // SAFETY: the origin handed back an address that this task gave out.
            unsafe { self.count_at(job.target_counter, job.peer) };
        }
        if let Some((peer, operation)) = job.reply {
            let _held = self.guard();
            // SAFETY: the lock is held and the reference ends here.
            if unsafe { self.state() }.peers[peer as usize].life == job.life {
                self.reply_packet(peer, &Header::new(Kind::Complete, 0, operation), &[]);
            }
        }
        self.shared.completions.finished();
        self.wake_sleepers();
    }

    pub(crate) fn call_completion_handler(&self, handler: CompletionHandler) {
        match handler {
            CompletionHandler::Closure(f) => f(self),
            CompletionHandler::Raw { function, argument } => match self.shared.hooks.completion {
                // SAFETY: the interface that made the handler knows what its words are.
                Some(call) => unsafe { call(self, function, argument) },
                None => tracing::error!(function, "completion handler without an interface to call it"),
            },
        }
    }
}
