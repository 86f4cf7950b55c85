//! Waiting for a condition, making progress.

use super::AdaptiveWait;
use super::sleep::SLEEP_IN_PIECES;
use super::status_page::{Awaited, PublishedWait};
use super::{Context, Locked, Shared};
use crate::counter::Counter;
use crate::error::{Error, Result};
use crate::status::Awaiting;
use crate::sync::Ordering;
use crate::transport::PeerId;
use std::cell::Cell;
use std::time::Instant;

/// Looks that find nothing before the links that can't be armed are left to the progress thread.
/// Acknowledgements count as nothing: a look takes one that was put off, and another one what came
/// meanwhile.
const LOOKS_IN_VAIN: u32 = 3;

/// Looks whether a wait is over for each look at the clock, if the wait has a deadline.
const CLOCK: u32 = 8;

/// What a check of a wait answers. The error is boxed so that the usual answers travel in
/// registers.
pub(crate) type Checked<R> = Result<Option<R>, Box<Error>>;

impl Context {
    /// Waits until `counter` has reached `value`, then subtracts `value` from it; returns the rest.
    ///
    /// Makes progress meanwhile, on all transports. Several threads may wait for one counter: each
    /// increment counts for one of them. *LAPI Guide, LAPI_Waitcntr.*
    ///
    /// # Errors
    /// A task died and the program has not [acknowledged](Self::acknowledge_failure) that; another
    /// thread has ended the context; the call was made from within a handler that runs inline.
    #[doc(alias = "LAPI_Waitcntr")]
    #[inline]
    pub fn wait_counter(&self, counter: &Counter, value: i32) -> Result<i32> {
        self.usable()?;
        if let Some(left) = counter.try_take(value) {
            return Ok(left);
        }
        self.may_wait("wait_counter")?;
        self.wait_for(Awaited::counter(counter, value), |_| Ok(counter.try_take(value)))
    }

    /// The counter's value, after making progress once.
    ///
    /// *LAPI Guide, LAPI_Getcntr.*
    #[doc(alias = "LAPI_Getcntr")]
    pub fn counter_value(&self, counter: &Counter) -> Result<i32> {
        self.progress()?;
        Ok(counter.value())
    }

    /// Waits until `done` returns true, making progress. For conditions that handlers or peers'
    /// direct stores change. If `done` panics, the wait ends, and the panic goes on to the caller.
    ///
    /// A store into this task's memory wakes no thread: one that has begun to sleep sees it up to
    /// 50 ms later. A message, a target counter or [`set_counter`](Self::set_counter) wakes it.
    ///
    /// # Errors
    /// As for [`wait_counter`](Self::wait_counter).
    pub fn wait_until(&self, mut done: impl FnMut() -> bool) -> Result<()> {
        self.usable()?;
        if done() {
            return Ok(());
        }
        let mut locked = self.locked();
        locked.may_wait("wait_until")?;
        locked.wait_until(false, done)
    }

    /// As [`wait_until`](Self::wait_until), for a condition that one task alone can bring about:
    /// observers of the job are told which one.
    ///
    /// # Errors
    /// As for [`wait_counter`](Self::wait_counter).
    pub fn wait_until_by(&self, peer: PeerId, mut done: impl FnMut() -> bool) -> Result<()> {
        self.usable()?;
        if done() {
            return Ok(());
        }
        self.may_wait("wait_until")?;
        let awaited = Awaited::of(Awaiting::Condition).from(peer);
        self.wait_for(awaited, |locked| Ok(locked.ask(|_| done()).then_some(())))
    }

    /// Refuses to wait where waiting could never end.
    #[inline(always)]
    pub(crate) fn may_wait(&self, call: &'static str) -> Result<()> {
        if !self.shared.lock.held_by_me() {
            return Ok(());
        }
        self.locked().may_wait(call)
    }

    /// Waits until `check` gives a result. It is called with the lock held.
    #[inline]
    pub(crate) fn wait_for<R>(
        &self,
        awaited: Awaited<'_>,
        check: impl FnMut(&mut Locked<'_>) -> Checked<R>,
    ) -> Result<R> {
        self.locked().wait(awaited, false, check)
    }
}

/// A wait that polls. It is dropped only if its condition panics.
struct Wait<'a> {
    shared: &'a Shared,
    published: PublishedWait,
}

impl Wait<'_> {
    #[inline(always)]
    fn has_ended(mut self) -> PublishedWait {
        let published = std::mem::take(&mut self.published);
        std::mem::forget(self);
        published
    }
}

impl Drop for Wait<'_> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // Not `end_polling`: it may run handlers, which are not to panic as well. The progress
        // thread arms the links.
        let polling = &self.shared.status.polling;
        polling.store(polling.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        self.shared.link_sleepers.wake();
        std::mem::take(&mut self.published).end_in(self.shared);
    }
}

impl Locked<'_> {
    /// As [`Context::may_wait`].
    #[inline(always)]
    pub(super) fn may_wait(&self, call: &'static str) -> Result<()> {
        if self.dispatching == 0 {
            return Ok(());
        }
        Err(Error::NotAllowed {
            call,
            place: "within a handler that runs inline",
            remedy: "let a completion handler on a handler thread do it",
        })
    }

    /// Waits until `done`; `asked`: it has just said no, under the lock.
    #[inline(always)]
    pub(super) fn wait_until(&mut self, asked: bool, mut done: impl FnMut() -> bool) -> Result<()> {
        let awaited = Awaited::of(Awaiting::Condition);
        self.wait(awaited, asked, |locked| Ok(locked.ask(|_| done()).then_some(())))
    }

    /// As [`Context::wait_for`]. `asked`: `check` has just given nothing.
    #[inline(always)]
    fn wait<R>(
        &mut self,
        awaited: Awaited<'_>,
        asked: bool,
        mut check: impl FnMut(&mut Self) -> Checked<R>,
    ) -> Result<R> {
        self.begin_polling();
        let mut wait = Wait { shared: self.shared(), published: PublishedWait::default() };
        let result = self.wait_locked(&awaited, asked, &mut wait.published, &mut check);
        let published = wait.has_ended();
        self.end_polling();
        published.end(self);
        result.map_err(|e| *e)
    }

    #[inline(always)]
    fn wait_locked<R>(
        &mut self,
        awaited: &Awaited<'_>,
        mut asked: bool,
        published: &mut PublishedWait,
        check: &mut impl FnMut(&mut Self) -> Checked<R>,
    ) -> Result<R, Box<Error>> {
        let mut idle = AdaptiveWait::new();
        loop {
            if !std::mem::take(&mut asked)
                && let Some(result) = check(self)?
            {
                return Ok(result);
            }
            if let Some(result) = self.watch_lanes(check, &mut idle)? {
                return Ok(result);
            }
            if self.progress() > 0 {
                idle.reset();
                self.yield_lock();
                continue;
            }
            self.fail_if_hopeless()?;
            published.note_idle_round(self, awaited);
            if idle.pause_after(self) {
                tracing::trace!("sleeping, waiting for: {}", awaited.name());
                published.publish(self, awaited);
                let flags = &self.shared().flags;
                let _asleep = awaited.must_wake().map(|peer| flags.sleep(peer));
                let asleep = Instant::now();
                if let Some(result) = self.sleep_or_find(check)? {
                    return Ok(result);
                }
                idle.slept(self);
                self.fail_if_ended()?;
                self.check_silence();
                self.shared().attributes.adaptive_spin.learn(asleep.elapsed());
            }
        }
    }

    /// Sleeps, unless `check` gives something now that the thread is counted as a sleeper: what
    /// progress found before woke nobody. A function of its own: the loop that waits keeps its
    /// registers.
    #[cold]
    #[inline(never)]
    fn sleep_or_find<R>(&mut self, check: &mut impl FnMut(&mut Self) -> Checked<R>) -> Checked<R> {
        let mut found = Ok(None);
        self.sleep_unless(SLEEP_IN_PIECES, |locked| {
            found = check(locked);
            !matches!(found, Ok(None))
        });
        found
    }

    /// Waits until `done` says so, or the deadline has passed (false). The lock is let go now and
    /// then.
    pub(crate) fn wait_before(
        &mut self,
        awaiting: Awaiting,
        deadline: Option<Instant>,
        mut done: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let mut published = PublishedWait::default();
        let (mut asked, late) = (0_u32, Cell::new(false));
        // Rounds that handle something don't look at the clock, and there may be no others.
        let mut over = |locked: &mut Self| {
            asked = asked.wrapping_add(1);
            let is_late = || deadline.is_some_and(|deadline| deadline <= Instant::now());
            late.set(asked.is_multiple_of(CLOCK) && is_late());
            late.get() || done(locked)
        };
        let ended = self.wait_published(&Awaited::of(awaiting), &mut published, deadline, &mut over);
        published.end(self);
        ended && (!late.get() || done(self))
    }

    fn wait_published(
        &mut self,
        awaited: &Awaited<'_>,
        published: &mut PublishedWait,
        deadline: Option<Instant>,
        done: &mut impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let mut idle = AdaptiveWait::new();
        loop {
            if done(self) {
                return true;
            }
            let watched = self.watch_lanes(&mut |locked| Ok(done(locked).then_some(())), &mut idle);
            if matches!(watched, Ok(Some(()))) {
                return true;
            }
            if self.progress() > 0 {
                idle.reset();
                self.yield_lock();
                continue;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            published.note_idle_round(self, awaited);
            if idle.pause_after(self) {
                published.publish(self, awaited);
                let limit = left.map_or(SLEEP_IN_PIECES, |left| left.min(SLEEP_IN_PIECES));
                let mut is_done = false;
                // What progress found before the thread was counted as a sleeper woke nobody.
                self.sleep_unless(limit, |locked| {
                    is_done = done(locked);
                    is_done
                });
                if is_done {
                    return true;
                }
                idle.slept(self);
                // No other thread does, as long as this one is marked as polling.
                self.check_silence();
            }
        }
    }

    /// While a thread polls, only threads that sleep already need to be woken.
    #[inline(always)]
    pub(super) fn begin_polling(&mut self) {
        // Changed under the lock only, so that a plain load and store do.
        let polling = &self.shared().status.polling;
        polling.store(polling.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if self.links.interrupts && self.shared().sleepers.count.load(Ordering::Relaxed) == 0 {
            self.links.disarm();
        }
    }

    #[inline(always)]
    pub(super) fn end_polling(&mut self) {
        let polling = &self.shared().status.polling;
        let left = polling.load(Ordering::Relaxed) - 1;
        polling.store(left, Ordering::Relaxed);
        if left == 0 {
            if self.shared().interrupts() && !self.count_poll() {
                self.rearm();
                self.wake_for_timer();
            }
        } else if self.links.unarmed {
            self.let_sleepers_arm();
        }
    }

    /// Wakes those who sleep on links that are not armed any more, which would wake nobody: they
    /// look once more, and arm the links if they sleep again.
    #[cold]
    pub(super) fn let_sleepers_arm(&mut self) {
        self.links.unarmed = false;
        self.shared().wake_sleepers();
    }

    /// From now on the progress thread must be woken again.
    pub(super) fn rearm(&mut self) {
        if self.dispatching > 0 {
            // What links have shown is still being read; the poll that goes on arms when it ends.
            return;
        }
        self.set_interrupts_of_links(true);
        let mut in_vain = 0;
        while !self.arm() {
            if in_vain == LOOKS_IN_VAIN {
                // Work that needs no arrival: the progress thread's business.
                self.shared().link_sleepers.wake();
                return;
            }
            in_vain = if self.progress() > 0 { 0 } else { in_vain + 1 };
        }
    }

    /// Another thread has ended the context: nothing comes any more.
    #[cold]
    fn fail_if_ended(&mut self) -> Result<(), Box<Error>> {
        Ok(self.out(|context| context.usable())?)
    }

    /// A wait that needs a dead task would never end: say so instead.
    #[inline]
    fn fail_if_hopeless(&mut self) -> Result<(), Box<Error>> {
        let state = &mut **self;
        match state.peers.unacknowledged.first() {
            None => Ok(()),
            Some(&dead) => Err(state.refusal(dead).into()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::bootstrap;
    use crate::config::Config;
    use crate::context::ContextBuilder;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_condition_that_panics_leaves_no_wait_behind() {
        let job = bootstrap::singleton(0).unwrap();
        let context = ContextBuilder::default().without_transports(job, Config::default()).unwrap();
        let shared = &context.shared;
        let published = || shared.status.waits.iter().filter(|w| w.since.load(Ordering::Relaxed) > 0).count();
        let sleepers = || shared.sleepers.count.load(Ordering::Relaxed);
        let left = || (shared.status.polling.load(Ordering::Relaxed), sleepers(), published());
        // When it is first asked by a wait, when that is on the status page, and just before it
        // sleeps.
        let when: [&dyn Fn() -> bool; 3] = [&|| left().0 > 0, &|| published() > 0, &|| sleepers() > 0];
        for is_time in when {
            let wait = || {
                context.wait_until(|| {
                    assert!(!is_time(), "on purpose");
                    false
                })
            };
            assert!(catch_unwind(AssertUnwindSafe(wait)).is_err());
            assert_eq!(left(), (0, 0, 0));
        }
    }
}
