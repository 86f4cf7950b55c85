//! Sleeping until something arrives, and waking sleeping threads.

use super::adaptive_wait::nap;
use super::sleepers::{NAP, Who};
use super::{Locked, Shared};
use crate::sync::Ordering;
use std::time::Duration;

/// Longest sleep in one piece: a bound for events that wake no thread.
pub(super) const SLEEP_IN_PIECES: Duration = Duration::from_millis(50);

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
        let heard = shared.link_sleepers.heard();
        if done(self) {
            s.count.fetch_sub(1, Ordering::Relaxed);
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
        let last = s.count.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && !self.links.interrupts {
            self.links.disarm();
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
        // SYNC: SeqCst, as the counter's increment: whoever goes to sleep counts itself before it
        // looks at the counter once more.
        if self.sleepers.count.load(Ordering::SeqCst) > 0 {
            self.wake_sleepers_slow();
        }
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
        self.link_sleepers.sleep_unless_called(who, heard, || self.sleep_on_links(limit));
    }

    fn sleep_on_links(&self, limit: Duration) {
        let limit = self.link_sleepers.bound(limit);
        let mut used = self.link_sleepers.used();
        match (used.next(), used.next()) {
            (None, _) => std::thread::sleep(limit.min(NAP)),
            (Some(only), None) => only.wait(limit.as_nanos() as u64),
            (Some(_), Some(_)) => {
                let several = self.link_sleepers.used();
                let mut fds: Vec<libc::pollfd> = several
                    .clone()
                    .map(|s| libc::pollfd { fd: s.fd(), events: libc::POLLIN, revents: 0 })
                    .collect();
                // Nothing tells what arrives over a link without a descriptor.
                let blind = fds.iter().any(|fd| fd.fd < 0);
                let limit = if blind { limit.min(NAP) } else { limit };
                let time = libc::timespec {
                    tv_sec: limit.as_secs().min(1000) as libc::time_t,
                    tv_nsec: libc::c_long::from(limit.subsec_nanos()),
                };
                // SAFETY: the array and the time are valid for the call.
                unsafe {
                    libc::ppoll(
                        fds.as_mut_ptr(),
                        fds.len() as libc::nfds_t,
                        &raw const time,
                        std::ptr::null(),
                    );
                }
                // Wakes are taken notice of by whoever waits.
                for (s, _) in several.zip(&fds).filter(|(_, fd)| fd.revents != 0) {
                    s.wait(0);
                }
            }
        }
    }
}
