//! The threads that run completion handlers.

use super::AdaptiveWait;
use super::Context;
use super::panics::MustReturn;
use super::{CompletionHandler, Job};
use crate::error::Result;
use crate::handlers::{Queued, Verdict};
use crate::sync::{Ordering, fence};
use crate::trace::EventKind;
use crate::wire::{Header, Kind};
use lapis_ablation::{Optimization, without};
use std::time::{Duration, Instant};

/// What the operating system shows them as.
pub(super) const HANDLER_THREAD: &str = "lapis-handler";

/// How long a thread that has run a handler polls in place of a thread that gave it the core. Most
/// answers have come by then.
const POLL_FOR: Duration = Duration::from_micros(10);

/// Handlers that such a thread runs before it lets the other one go on.
const HANDLERS_IN_A_ROW: u32 = 64;

impl Context {
    pub(super) fn start_thread(
        &self,
        name: &'static str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let mut builder = std::thread::Builder::new().name(name.into());
        if let Some(size) = self.shared.hooks.stack_size {
            builder = builder.stack_size(size);
        }
        let context = self.internal();
        let start = move || {
            // Without it, nobody would serve arrivals or run handlers any more.
            let all = MustReturn(name);
            if let Some(prepare) = &context.shared.hooks.thread_start {
                prepare();
            }
            drop(context);
            body();
            all.done();
        };
        let thread = crate::threads::spawn(builder, start)
            .map_err(|source| crate::Error::System { what: "starting a thread of the context", source })?;
        let mut threads = self.shared.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// Hands a completion handler to the handler threads.
    pub(crate) fn queue_completion(&self, job: Job) {
        match self.shared.completions.push(job) {
            Queued::Waits => {}
            // A thread that polls on its core yields to it.
            Queued::BeginsSoon => self.shared.lock.announce_work(),
            Queued::WantsThread => {
                let context = self.internal();
                if let Err(e) = self.start_thread(HANDLER_THREAD, move || context.run_completions()) {
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
            self.shared.lock.work_ends();
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
        let shared = &self.shared;
        // To ask costs nothing; to try would take a bias away.
        if shared.lock.owner() != 0 || shared.crowding.is_crowded() || without(Optimization::HandlerPolling) {
            return;
        }
        let Some(mut locked) = self.try_locked() else { return };
        let mut since = Instant::now();
        let mut idle = AdaptiveWait::new();
        while self.usable().is_ok() && !shared.lock_is_wanted() && since.elapsed() < POLL_FOR {
            // There are no errors but those of the check, which gives none.
            let found =
                locked.watch_lanes(&mut |_| Ok(shared.completions.has_jobs().then_some(())), &mut idle);
            if matches!(found, Ok(Some(()))) {
                break;
            }
            if locked.progress() > 0 {
                since = Instant::now();
            }
        }
        locked.leave_work();
        self.shared.wake_sleepers();
    }

    /// Runs what is queued on this thread: a completion handler that never runs is one that
    /// somebody waits for.
    #[cold]
    fn run_without_threads(&self, why: &crate::Error) {
        let mut locked = self.locked();
        for job in self.shared.completions.without_thread() {
            tracing::warn!(
                "{}: a completion handler runs where its message arrived, and can't wait there",
                why.with_causes()
            );
            locked.run_inline(job);
        }
    }

    fn run_completion(&self, job: Job) {
        if let Some(trace) = &self.shared.trace {
            trace.note(EventKind::HandlerBegins, 0, job.peer, [0; 2]);
        }
        self.run_completion_handler(job.handler, job.peer);
        if let Some(trace) = &self.shared.trace {
            trace.note(EventKind::HandlerEnds, 0, job.peer, [0; 2]);
        }
        if job.target_counter != 0 {
            // SAFETY: the origin handed back an address that this task gave out.
            unsafe { self.count_at(job.target_counter, job.peer) };
        }
        if let Some((peer, operation)) = job.reply {
            let mut locked = self.locked();
            if locked.peers[peer].life == job.life {
                locked.reply_packet(peer, &Header::new(Kind::Complete, 0, operation), &[]);
            }
        }
        self.shared.completions.finished();
        // SYNC: pairs with the fence of `sleep_unless`: who goes to sleep sees what the handler
        // stored, or is seen here. The handler may have taken no lock.
        fence(Ordering::SeqCst);
        self.shared.wake_sleepers();
    }

    pub(crate) fn call_completion_handler(&self, handler: CompletionHandler) {
        match handler {
            CompletionHandler::Closure(f) => f(self),
            // No message waits for the answer here.
            CompletionHandler::Ask(mut ask) => {
                if let Verdict::Received(Some(handler), _) = ask(self) {
                    self.call_completion_handler(handler);
                }
            }
            CompletionHandler::Raw { function, argument } => match self.shared.hooks.completion {
                // SAFETY: the interface that made the handler knows what its words are.
                Some(call) => unsafe { call(self, function, argument) },
                None => tracing::error!(function, "completion handler without an interface to call it"),
            },
        }
    }
}
