//! Sleeping until something arrives, and waking sleeping threads.

use super::adaptive_wait::nap;
use super::sleepers::{Sleepers, Who};
use super::{Locked, Shared};
use crate::sync::{Ordering, fence};
use std::time::Duration;

/// Longest sleep in one piece: a bound for events that wake no thread.
pub(super) const SLEEP_IN_PIECES: Duration = Duration::from_millis(50);

/// A thread is counted as a sleeper, until this is dropped: with the lock held.
struct Counted<'a>(&'a Sleepers);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Locked<'_> {
    /// Sleeps until something may have changed, at most for `limit`, unless `done`. The lock is let
    /// go meanwhile.
    ///
    /// One thread sleeps in the transport; others wait for it to find something.
    pub(crate) fn sleep_unless(&mut self, limit: Duration, done: impl FnOnce(&mut Self) -> bool) {
        if self.dispatching > 0 {
            // Others' polling would take away the packet that is being handled.
            self.give_core_away();
            return;
        }
        self.look_after_the_rest();
        let shared = self.shared();
        if let Some(sleeps) = &shared.hooks.sleeps
            && self.out(|context| sleeps(context))
        {
            return;
        }
        if shared.moderation.is_active() {
            self.end_moderation();
        }
        let s = &shared.sleepers;
        // SYNC: SeqCst pairs with that of `wake_sleepers_of_counter`. Counted under the lock,
        // before `done` and `arm` look once more: whoever changes something afterwards sees us.
        s.count.fetch_add(1, Ordering::SeqCst);
        // SYNC: pairs with the fence after a completion handler, whose stores `done` may read.
        fence(Ordering::SeqCst);
        let counted = Counted(s);
        let heard = shared.link_sleepers.heard();
        if done(self) {
            return;
        }
        let armed = self.arm();
        // A link that has something is no longer armed, not for those either who sleep already.
        // The thread that finds it handles it, unless its wait has ended before.
        self.links.unarmed = !armed && s.count.load(Ordering::Relaxed) > 1;
        let limit = self.links.until_timers(limit);
        if let (true, Some(limit)) = (armed, limit) {
            self.unlocked(|shared| shared.sleep_unlocked(heard, limit));
        } else {
            // Something is to be done, but nothing comes of doing it: whoever could change that may
            // need the core.
            if !self.give_core_away() {
                self.unlocked(|_| nap());
            }
        }
        drop(counted);
        let last = s.count.load(Ordering::Relaxed) == 0;
        if last && !self.links.interrupts {
            self.links.disarm();
        }
    }

    /// This thread leaves work that needs no arrival, and perhaps no longer polls: who sleeps would
    /// not learn of it otherwise. While a packet is handled this does nothing, since whoever polls
    /// looks afterwards what is left.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_work(&mut self) {
        if self.dispatching > 0 || !self.has_work() {
            return;
        }
        let shared = self.shared();
        let polled = shared.status.polling.load(Ordering::Relaxed) > 0;
        if shared.sleepers.count.load(Ordering::Relaxed) > 0 {
            shared.wake_sleepers();
        } else if shared.interrupts() && !polled && !shared.moderation.is_active() {
            // The progress thread. With moderation it does not sleep on the links.
            shared.link_sleepers.wake();
        }
    }
}

impl Shared {
    /// Wakes all threads that sleep in the context, because their conditions may have changed.
    #[inline(always)]
    pub(crate) fn wake_sleepers(&self) {
        // SYNC: Relaxed is enough: whoever goes to sleep checks its condition under the lock after
        // counting itself.
        if self.sleepers.count.load(Ordering::Relaxed) > 0 {
            self.wake_sleepers_slow();
        }
    }

    /// The same after a call has counted a counter, perhaps without the lock.
    #[inline(always)]
    pub(crate) fn wake_sleepers_of_counter(&self) {
        if self.some_sleep_on_counters() {
            self.wake_sleepers_slow();
        }
    }

    /// Whether threads sleep that may not have seen what a counter was just changed to.
    #[inline(always)]
    pub(crate) fn some_sleep_on_counters(&self) -> bool {
        // SYNC: SeqCst, as the counter's increment: whoever goes to sleep counts itself before it
        // looks at the counter once more.
        self.sleepers.count.load(Ordering::SeqCst) > 0
    }

    #[cold]
    fn wake_sleepers_slow(&self) {
        self.sleepers.changed();
        self.link_sleepers.wake();
    }

    fn sleep_unlocked(&self, heard: u32, limit: Duration) {
        self.sleepers.one_at_a_time(limit, || self.sleep_in_transport(Who::Program, heard, limit));
    }

    /// Sleeps on the links unless this thread has been called since it had `heard`.
    pub(super) fn sleep_in_transport(&self, who: Who, heard: u32, limit: Duration) {
        self.link_sleepers.sleep_unless_called(who, heard, || self.link_sleepers.sleep(who, limit));
    }
}
