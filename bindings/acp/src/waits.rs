//! Processes that fall silent: stopped, or behind a network that has failed.
//!
//! Core gives a process up that has not confirmed a message for as long as LAPIS_TIMEOUT says. But
//! many waits have no message under way: for what a channel will bring, for an answer whose
//! question has been taken, for a lock. So whoever waits for long sends those that he needs a
//! message that says nothing. Who lives confirms it, whatever his program does.

use crate::error::{Result, of_core};
use crate::messages::{on, send_words};
use crate::process::Process;
use lapis_core::{Delivery, HandlerId};
use std::time::{Duration, Instant};

const ASK: HandlerId = HandlerId(12);

/// A sign of life is asked for after this part of LAPIS_TIMEOUT, as core does it.
const PART: u32 = 4;

pub(crate) fn install(process: &'static Process) -> lapis_core::Result<()> {
    // That it has come is all that it says.
    on(process, ASK, |_, _| Some(Delivery::bury()))
}

impl Process {
    /// From one question to the next. `None`: nobody is given up for his silence.
    fn probe_interval(&self) -> Option<Duration> {
        let ever = *self.context.config().notimeout.get();
        (!ever).then(|| self.context.timeout() / PART)
    }

    /// Waits for what handlers bring about, whoever dies meanwhile. `needed` says without which
    /// tasks it can't come: one of them that is silent for too long counts as dead.
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
            // Who can't be told is known to be dead by then.
            let _ = send_words(self, task, ASK, [0]);
        }
    }

    /// The same for those who wait without a call: tasks of an executor, which nobody runs until
    /// what they await has ended. A thread asks for them as long as there are any.
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
            // Unless somebody has begun to wait meanwhile, and found the thread still there.
            if self.order.awaited().is_none() || !self.probe_schedule.claim_thread() {
                return;
            }
        }
    }

    /// The same for calls that do not wait, which programs repeat until they like the answer, and
    /// for whoever wants a lock, of which `needed` gives the holder.
    pub(crate) fn probe_needed(&self, needed: impl FnOnce() -> Vec<u32>) {
        if self.probe_interval().is_some_and(|interval| self.probe_schedule.is_due(interval)) {
            needed().into_iter().for_each(|task| self.probe(task));
        }
    }
}
