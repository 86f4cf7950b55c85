//! Calls for the interfaces above core, which programs do not need.

use super::adaptive_wait::look_until;
use super::{Call, CompletionHandler, Job};
use super::{Context, Locked, Shared};
use crate::buffers::Direction;
use crate::counter::Counter;
use crate::error::Result;
use crate::state::PeerState;
use crate::status::Awaiting;
use crate::sync::Ordering;
use crate::transport::PeerId;
use crate::wire::{Header, Kind};
use std::sync::TryLockError;
use std::time::{Duration, Instant};

/// How long [`Context::leave`] tries to take the lock, and then to send what is still queued.
const PARTING: Duration = Duration::from_millis(500);

/// How long [`Context::abort`] waits for a thread in the job's store: longer than the answer to a
/// question may take there (`core/src/context/restart.rs`).
const IN_STORE: Duration = Duration::from_secs(3);

impl Context {
    /// Wakes the threads that sleep in this context, so that they check their conditions again.
    ///
    /// Change a condition with the [lock](Self::lock) held; otherwise a thread that is about to
    /// sleep may notice the change late.
    pub fn wake(&self) {
        self.shared.wake_sleepers();
    }

    /// Gives a counter a value. A thread that sleeps until the counter has reached it wakes up.
    ///
    /// *LAPI Guide, LAPI_Setcntr.* A signal handler may call this whatever it interrupts. If that
    /// is another call, it wakes no thread, and sleeping threads notice the value a moment later.
    #[doc(alias = "LAPI_Setcntr")]
    #[inline]
    pub fn set_counter(&self, counter: &Counter, value: i32) {
        counter.set(value);
        if self.shared.some_sleep_on_counters() {
            self.wake_unless_amid();
        }
    }

    #[cold]
    fn wake_unless_amid(&self) {
        let call = self.begin_call();
        if call != Call::Amid {
            self.shared.wake_sleepers();
            self.end_call(call);
        }
    }

    /// The thread that holds the lock, as `pthread_self` names it; 0 if none does.
    pub fn lock_owner(&self) -> usize {
        self.shared.lock.owner()
    }

    /// Runs a completion handler on a handler thread.
    pub fn run_on_handler_thread(&self, handler: CompletionHandler) {
        self.queue_completion(Job { handler, reply: None, peer: self.task(), life: 0, target_counter: 0 });
    }

    /// Waits until `done` returns true (the result is true) or the deadline passes (false). Makes
    /// progress and sleeps in between. Unlike the other waits it continues when tasks die: the
    /// caller checks for that itself.
    ///
    /// # Errors
    /// The call was made from a handler that runs inline.
    pub fn wait_quietly(&self, mut done: impl FnMut() -> bool, deadline: Option<Instant>) -> Result<bool> {
        self.usable()?;
        self.may_wait("wait")?;
        let mut ended = Ok(());
        let mut locked = self.locked();
        locked.begin_polling();
        let done = locked.wait_before(Awaiting::Condition, deadline, |locked| {
            locked.out(|context| {
                ended = context.usable();
                ended.is_err() || done()
            })
        });
        locked.end_polling();
        drop(locked);
        ended.map(|()| done)
    }

    /// Passes an error that belongs to no call to the registered error handlers.
    pub fn raise(&self, error: crate::Error, peer: PeerId) {
        self.locked().report(error, peer);
    }

    /// Ends the whole job: asks the launcher to end the other tasks with this exit code. The caller
    /// ends its own process. If another thread uses the job's store, this waits for it, but not for
    /// one that is leaving the job.
    pub fn abort(&self, code: i32, message: &str) {
        let handle = || match self.shared.bootstrap.try_lock() {
            Ok(handle) => Some(handle),
            Err(TryLockError::Poisoned(handle)) => Some(handle.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        // A thread that leaves the job in order has the handle for longer: that is as good.
        let told =
            look_until(Instant::now() + IN_STORE, handle).map(|mut handle| handle.abort(code, message));
        match told {
            Some(Ok(())) => {}
            Some(Err(e)) => tracing::debug!("the launcher was not told: {e}"),
            None => tracing::debug!("the launcher was not told: another thread uses the job's store"),
        }
    }

    /// Tells the other tasks that the process is about to exit, without terminating the context.
    /// Waits for no task and joins no thread; can be called at exit at any time.
    pub fn leave(&self) {
        if self.usable().is_err() || !self.shared.lock.acquire_for_program_within(PARTING) {
            return;
        }
        let deadline = Instant::now() + PARTING;
        let mut locked = self.locked();
        locked.wait_before(Awaiting::End, Some(deadline), |locked| {
            !locked.has_work() || locked.dispatching > 0
        });
        locked.linger(deadline.saturating_duration_since(Instant::now()));
        locked.say_goodbye();
        locked.linger(PARTING / 4);
        locked.forget_lanes();
        self.shared.terminated.store(true, Ordering::Relaxed);
        drop(locked);
        self.unlock();
    }
}

impl Locked<'_> {
    /// Tells all tasks that this task's coming silence is not a failure.
    pub(super) fn say_goodbye(&mut self) {
        // Tasks that have contacted this one are known from here on.
        self.progress();
        for peer in 0..self.shared().tasks {
            let up = self.peers[peer].state == PeerState::Up;
            // Tasks without contact with this one won't miss it.
            if up && peer != self.shared().task && self.has_contact(peer) {
                let done = self.peers[peer].arrived.next();
                self.reply_packet(peer, &Header::new(Kind::Goodbye, done, 0), &[]);
            }
        }
        self.peers.parted = true;
        self.flush_deferred();
    }
}

impl Context {
    /// Adds bytes that no packet carried to the statistics.
    #[inline(always)]
    pub fn count_direct(&self, target: PeerId, direction: Direction, len: u64) {
        self.shared.count_direct(target, direction, len);
        let ended = &self.shared.direct_ended[direction as usize];
        // Written once between two polls: threads that copy at the same time share the line.
        if !ended.load(Ordering::Relaxed) {
            ended.store(true, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// [`Context::count_direct`].
    #[inline(always)]
    pub(crate) fn count_direct(&self, target: PeerId, direction: Direction, len: u64) {
        if let Some(line) = self.tallies.of(target) {
            line.add(direction, len);
        }
    }
}
