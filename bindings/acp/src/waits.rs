//! Detecting processes that fall silent: stopped, or behind a network that has failed.
//!
//! Core gives up a process that has not confirmed a message within LAPIS_TIMEOUT. But many waits
//! have no message outstanding: those for a channel's message, for an answer whose question has
//! been accepted, for a lock. So a long wait sends the processes that it depends on an empty
//! message, a probe. A live process confirms it, whatever its program does.

use crate::error::{Result, of_core};
use crate::messages::{on, send_words};
use crate::process::Process;
use lapis_core::{Delivery, HandlerId};
use std::time::{Duration, Instant};

const ASK: HandlerId = HandlerId(12);

/// A probe is sent after this fraction of LAPIS_TIMEOUT, as in core.
const PART: u32 = 4;

pub(crate) fn install(process: &'static Process) -> lapis_core::Result<()> {
    // Its arrival is its only content.
    on(process, ASK, |_, _| Some(Delivery::bury()))
}

impl Process {
    /// Time between two probes. `None`: no process is given up for its silence.
    fn probe_interval(&self) -> Option<Duration> {
        let ever = *self.context.config().notimeout.get();
        (!ever).then(|| self.context.timeout() / PART)
    }

    /// Waits for an event that handlers bring about, even if tasks die meanwhile. `needed` returns
    /// the tasks that the event depends on: one of them that is silent for too long counts as dead.
    pub(crate) fn wait(&self, needed: impl Fn() -> Vec<u32>, mut done: impl FnMut() -> bool) -> Result {
        let interval = self.probe_interval();
        loop {
            let until = interval.map(|interval| Instant::now() + interval);
            if self.context.wait_quietly(&mut done, until).map_err(of_core)? {
                return Ok(());
            }
            for task in needed() {
                self.probe(task);
            }
        }
    }

    fn probe(&self, task: u32) {
        if task != self.context.task() && !self.is_gone(task) {
            // A task that can't be sent to is known to be dead by then.
            let _ = send_words(self, task, ASK, [0]);
        }
    }

    /// The same for waits without a call: those of an executor's tasks, which do not run until the
    /// awaited operation has ended. A thread sends probes for them as long as there are any.
    pub(crate) fn probe_for_awaited(&'static self) {
        let Some(interval) = self.probe_interval().filter(|_| self.probe_schedule.claim_thread()) else {
            return;
        };
        let thread = std::thread::Builder::new().name("acp-probe".into());
        if let Err(e) = lapis_core::threads::spawn(thread, move || self.run_probe_thread(interval)) {
            self.probe_schedule.release_thread();
            tracing::warn!("a process that falls silent may be awaited for ever: no thread to ask it: {e}");
        }
    }

    fn run_probe_thread(&'static self, interval: Duration) {
        while self.context.is_usable() {
            std::thread::sleep(interval);
            if let Some(upto) = self.order.awaited() {
                self.order.needed(upto).into_iter().for_each(|task| self.probe(task));
                continue;
            }
            self.probe_schedule.release_thread();
            // Unless a wait has started meanwhile and found the thread still there.
            if self.order.awaited().is_none() || !self.probe_schedule.claim_thread() {
                return;
            }
        }
    }

    /// The same for non-blocking calls, which programs repeat until the answer is yes, and for
    /// attempts to take a lock, of which `needed` returns the holder.
    pub(crate) fn probe_needed(&self, needed: impl FnOnce() -> Vec<u32>) {
        if self.probe_interval().is_some_and(|interval| self.probe_schedule.is_due(interval)) {
            needed().into_iter().for_each(|task| self.probe(task));
        }
    }
}
