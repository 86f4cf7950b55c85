//! When interrupts are disabled, and when they are enabled again.

use super::Moderation;
use crate::context::{Context, Locked};
use crate::sync::Ordering;
use lapis_ablation::{Optimization, without};
use std::time::Duration;

/// Calls that poll after which the clock is looked at, and how long so many may take to count as
/// polling all the time.
const POLLS: u32 = 32;
const POLLS_TAKE: Duration = Duration::from_micros(20 * POLLS as u64);

/// How long the progress thread sleeps before it looks whether the program still polls: a hundredth
/// of the time for which it has, within these bounds. Each look takes the core from the program.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

impl Locked<'_> {
    /// A call has polled, in interrupt mode. Says whether interrupts are left out.
    #[inline(always)]
    pub(in crate::context) fn count_poll(&mut self) -> bool {
        let moderation = &self.shared().moderation;
        let polls = moderation.polls.load(Ordering::Relaxed).wrapping_add(1);
        moderation.polls.store(polls, Ordering::Relaxed);
        self.links.polls += 1;
        if self.links.polls >= POLLS {
            self.moderate();
        }
        self.shared().moderation.is_active()
    }

    /// Leaves interrupts out from now on if the last polls came quickly.
    #[cold]
    fn moderate(&mut self) {
        let shared = self.shared();
        self.links.polls = 0;
        let now = shared.clock.elapsed();
        let took = now.saturating_sub(std::mem::replace(&mut self.links.polls_since, now));
        let watched = shared.progress_thread.load(Ordering::Relaxed);
        let sleeps = shared.sleepers.count.load(Ordering::Relaxed) > 0;
        let may = watched
            && !sleeps
            && !shared.crowding.is_crowded()
            && !without(Optimization::InterruptModeration);
        if took > POLLS_TAKE || !may || shared.moderation.is_active() {
            return;
        }
        self.set_interrupts_of_links(false);
        shared.moderation.since.store(now.as_micros() as u64, Ordering::Relaxed);
        shared.moderation.active.store(true, Ordering::Relaxed);
        // The progress thread sleeps until something arrives.
        shared.link_sleepers.wake();
    }

    /// Arrivals interrupt again, once the links are armed.
    #[cold]
    pub(in crate::context) fn end_moderation(&mut self) {
        self.shared().moderation.active.store(false, Ordering::Relaxed);
        let interrupts = self.shared().interrupts();
        self.set_interrupts_of_links(interrupts);
    }

    /// Tells the links, unless they know. Without interrupts nobody need be woken.
    pub(in crate::context) fn set_interrupts_of_links(&mut self, on: bool) {
        if std::mem::replace(&mut self.links.interrupts, on) == on {
            return;
        }
        for link in &mut self.links.open {
            link.set_interrupts(on);
        }
        if !on {
            self.links.disarm();
            self.let_sleepers_arm();
        }
    }
}

impl Context {
    /// Whether arrivals are served at once, whatever the program does: in interrupt mode, but for
    /// times in which the program polls so often that nothing is lost without.
    #[inline(always)]
    pub fn arrivals_interrupt(&self) -> bool {
        self.interrupts() && !self.shared.moderation.is_active()
    }

    /// To be called by who is going to sleep until an arrival has woken it, such as a future that
    /// is not ready: arrivals interrupt from now on, if they do at all.
    pub fn await_interrupts(&self) {
        if !self.interrupts() {
            return;
        }
        let mut locked = self.locked();
        locked.links.polls = 0;
        if self.shared.moderation.is_active() {
            locked.end_moderation();
            if self.shared.status.polling.load(Ordering::Relaxed) == 0 {
                locked.rearm();
            }
        }
    }

    /// The progress thread's turn while interrupts are left out.
    pub(in crate::context) fn watch_polls(&self) {
        let Moderation { polls, looks, since, .. } = &self.shared.moderation;
        let since = Duration::from_micros(since.load(Ordering::Relaxed));
        let polled_for = self.shared.clock.elapsed().saturating_sub(since);
        let before = (polls.load(Ordering::Relaxed), looks.load(Ordering::Relaxed));
        // A thread that waits ends moderation itself when it goes to sleep.
        let go_on = || {
            let polls = polls.load(Ordering::Relaxed) != before.0;
            polls || self.shared.status.polling.load(Ordering::Relaxed) > 0
        };
        std::thread::sleep((polled_for / 100).clamp(SHORTEST_SLEEP, LONGEST_SLEEP));
        if go_on() && looks.load(Ordering::Relaxed) != before.1 {
            return;
        }
        let mut locked = self.locked();
        // Again, now that nobody can change it.
        if !self.shared.moderation.is_active() {
            return;
        }
        if go_on() {
            locked.progress();
            return;
        }
        locked.end_moderation();
        drop(locked);
        // Afterwards: who ends a wait meanwhile finds that arrivals interrupt, and does it itself.
        if let Some(rests) = &self.shared.hooks.rests {
            rests(self);
        }
    }
}
