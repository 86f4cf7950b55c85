//! Making progress: polling the links, and the thread that does it in interrupt mode.

use super::sleep::SLEEP_IN_PIECES;
use super::sleepers::Who;
use super::{AdaptiveWait, Context, Locked, Shared, adaptive_wait};
use crate::error::Result;
use crate::sync::Ordering;
use crate::transport::Status;
use std::time::Duration;

/// Longest sleep of the progress thread in one piece while a thread of the program polls.
const BESIDE_POLLS: Duration = Duration::from_millis(20);

/// How often the progress thread looks in polling mode whether it is to serve again. The program is
/// not to pay for waking it with each change of the mode.
const LOOKS_EACH: Duration = Duration::from_millis(1);

/// How many times it does so before it ends.
const RETIRES_AFTER: u32 = 20;

/// What one poll of the links found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// Packets and completions handled.
    pub events: usize,
}

impl Context {
    /// Whether arrivals are served while the program computes.
    #[doc(alias = "INTERRUPT_SET")]
    #[inline(always)]
    pub fn interrupts(&self) -> bool {
        self.shared.interrupts()
    }

    /// Turns serving arrivals while the program computes on or off. Costs nanoseconds, except when
    /// it is turned on for the first time or after some hundredths of a second, which starts the
    /// progress thread. A thread that has been off for less than that serves arrivals again after a
    /// millisecond at most.
    ///
    /// *LAPI Guide, LAPI_Senv, INTERRUPT_SET; "Running in interrupt mode".*
    ///
    /// # Errors
    /// The context can't be used; the thread can't be started, and all is as before.
    pub fn set_interrupts(&self, on: bool) -> Result<()> {
        self.usable()?;
        let mut locked = self.locked();
        if self.shared.attributes.interrupts.swap(on, Ordering::Relaxed) == on {
            return Ok(());
        }
        locked.end_moderation();
        if on {
            if let Err(e) = self.ensure_progress_thread() {
                // Nobody would serve arrivals.
                self.shared.attributes.interrupts.store(false, Ordering::Relaxed);
                locked.end_moderation();
                return Err(e);
            }
            // Within a handler, the poll that has called it goes on, and whoever polls arms when it
            // ends.
            if locked.dispatching == 0 && !locked.arm() {
                locked.progress();
                locked.arm();
            }
        }
        Ok(())
    }

    /// Starts the progress thread unless it runs. The lock is held.
    pub(crate) fn ensure_progress_thread(&self) -> Result<()> {
        if self.shared.progress_thread.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        if self.shared.link_sleepers.with_timers {
            self.shared.link_sleepers.provide_alarm();
        }
        let context = self.internal();
        let started = self.start_thread("lapis-progress", move || context.serve());
        if started.is_err() {
            // The next call that needs it tries again.
            self.shared.progress_thread.store(false, Ordering::Relaxed);
        }
        started
    }

    /// The progress thread: sleeps until something arrives while no thread polls.
    fn serve(&self) {
        let mut idle = AdaptiveWait::new();
        let mut looks = 0;
        // SYNC: pairs with the Release in `terminate`.
        while !self.shared.terminated.load(Ordering::Acquire) {
            if !self.interrupts() {
                // Polling mode: this thread is not woken; it stays in case it is needed again soon.
                std::thread::park_timeout(LOOKS_EACH);
                looks += 1;
                if looks >= RETIRES_AFTER && self.retires() {
                    return;
                }
                continue;
            }
            looks = 0;
            if self.shared.moderation.is_active() {
                self.watch_polls();
                continue;
            }
            let heard = self.shared.link_sleepers.heard();
            if self.shared.status.polling.load(Ordering::Relaxed) > 0 {
                // It arms the links again when it stops.
                let until = self.announce_sleep(BESIDE_POLLS);
                self.doze(heard, BESIDE_POLLS, until);
                continue;
            }
            let mut locked = self.locked();
            // Again, now that nobody can change it: in polling mode nothing is served behind the
            // program's back.
            if !self.interrupts() || self.shared.moderation.is_active() {
                continue;
            }
            locked.set_interrupts_of_links(true);
            if locked.progress() > 0 || self.shared.status.polling.load(Ordering::Relaxed) > 0 {
                idle.reset();
                continue;
            }
            // The core is the program's, which computes: nothing is spun for.
            locked.check_silence();
            if locked.arm()
                && let Some(limit) = locked.links.until_timers(SLEEP_IN_PIECES)
            {
                // Before the lock is let go: whoever sends meanwhile looks whether its timer is due
                // before the sleep ends.
                let until = self.announce_sleep(limit);
                drop(locked);
                self.doze(heard, limit, until);
                idle.reset();
            } else if idle.pause_in_background(&mut locked) {
                // Something advances that needs no arrival, but has not for long.
                idle.nap(&mut locked);
            }
        }
    }

    /// Whether the progress thread shall end, because the program polls. With a second thread in
    /// the process each system call has to count who uses its descriptor, which lengthens a message
    /// over sockets by a fiftieth.
    fn retires(&self) -> bool {
        let Some(_locked) = self.try_locked() else { return false };
        // Again, now that nobody can change it.
        let polls = !self.interrupts();
        if polls {
            self.shared.progress_thread.store(false, Ordering::Relaxed);
        }
        polls
    }

    /// Tells senders when the progress thread's sleep will end.
    pub(super) fn announce_sleep(&self, limit: Duration) -> Duration {
        let until = self.shared.clock.elapsed() + limit;
        self.shared.sleeping_until.store(until.as_nanos() as u64, Ordering::Relaxed);
        until
    }

    /// The progress thread's sleep, announced until then.
    fn doze(&self, heard: u32, limit: Duration, until: Duration) {
        self.shared.sleep_in_transport(Who::Progress, heard, limit);
        self.shared.sleeping_until.store(0, Ordering::Relaxed);
        let is_early = self.shared.clock.elapsed() < until;
        if is_early && self.shared.status.polling.load(Ordering::Relaxed) > 0 {
            self.leave_it_to_polls();
        }
    }

    /// What has ended this thread's sleep is for a thread of the program that polls. If that one
    /// sleeps, too, most links have woken it as well, but not all do.
    fn leave_it_to_polls(&self) {
        if self.shared.link_sleepers.sleeps(Who::Program) {
            self.shared.wake_sleepers();
        }
        // Before this thread sleeps on the links again: what it has just rung is not for itself,
        // and what came is there until the other thread has looked.
        adaptive_wait::nap();
    }
}

impl Locked<'_> {
    /// A look at everything, with the lock held.
    #[inline(never)]
    pub(crate) fn progress(&mut self) -> usize {
        if self.dispatching > 0 {
            return 0;
        }
        self.shared().moderation.count_look();
        let state = &mut **self;
        state.looked_at_everything();
        let (links, engines) = (state.links.open.len(), state.links.with_engines);
        let mut handled = 0;
        for index in 0..links {
            if engines && self.links.datagrams[index].is_some() {
                handled += self.poll_datagrams(index);
            } else {
                handled += self.poll_link(index);
            }
        }
        if self.has_work() {
            self.advance();
        }
        if engines {
            self.links.flush_datagrams();
        }
        if handled > 0 {
            self.shared().wake_sleepers();
        }
        self.check_silence_periodically();
        handled
    }

    #[inline(always)]
    fn poll_link(&mut self, index: usize) -> usize {
        let state = &mut **self;
        let path = state.links.paths[index];
        let local = path == crate::stats::Path::Local;
        if local && state.links.self_pending == 0 {
            return 0;
        }
        let n = match state.links.open[index].poll(&mut state.links.polled) {
            Ok(0) => return 0,
            Ok(n) => n,
            Err(status) => return self.link_broken(index, status),
        };
        if local {
            state.links.self_pending = state.links.self_pending.saturating_sub(n as u32);
        }
        state.dispatching += 1;
        for at in 0..n {
            // While packets are dispatched no thread polls: the array stays unchanged.
            let event = self.links.polled[at];
            self.dispatch(path, &event);
        }
        self.dispatching -= 1;
        n
    }

    /// A link that returned an error instead of events: all peers behind it are lost.
    #[cold]
    pub(super) fn link_broken(&mut self, index: usize, status: Status) -> usize {
        for peer in 0..self.shared().tasks {
            if self.peers[peer].route.index() == index {
                self.peer_down(peer, &format!("the transport to it failed ({status:?})"));
            }
        }
        0
    }
}

impl Shared {
    /// Whether arrivals are served while the program computes.
    #[inline(always)]
    pub(crate) fn interrupts(&self) -> bool {
        self.attributes.interrupts.load(Ordering::Relaxed)
    }
}
