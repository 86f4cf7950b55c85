//! Waiting for a request of a channel: first by polling only the slot in which the message is
//! expected, then by the context's wait, which handles messages and yields the core; a long wait
//! sleeps, after it has notified the sender.

use crate::channel::sent_at_once;
use crate::channel_lane::{self, Watch};
use crate::error::{Error, Result, of_core};
use crate::process::Process;
use lapis_core::sync::{Ordering, spin_loop};
use std::time::{Duration, Instant};

/// Looks at the slot alone, which take a few microseconds. A pause follows each: whoever looks
/// without one takes the line away from its writer.
const LOOKS: u32 = 500;

/// Looks where cores are wanted, each of which gives the core away.
const TURNS: u32 = 2;

/// How long a wait goes on before it tells the sender that it may sleep: less than waits poll
/// (LAPIS_SPIN_US), for one that sleeps earlier sees what comes by the lane when this has passed.
const AWAKE: Duration = Duration::from_micros(30);

impl Process {
    /// As [`wait_request`](Self::wait_request), for what ends soon and well. It cannot panic.
    #[inline(always)]
    pub(crate) fn wait_soon(&self, request: u64) -> Option<u64> {
        if let Some(len) = sent_at_once(request) {
            return Some(len);
        }
        let watch = {
            let mut channels = self.channels();
            let taken = channels.take_at_once(request);
            if taken.is_some() {
                return taken;
            }
            channels.watch_alone(request)?
        };
        if self.context.is_crowded() {
            return None;
        }
        for _ in 0..LOOKS {
            if watch.sees() {
                return self.channels().take_at_once(request);
            }
            spin_loop();
        }
        None
    }

    /// Waits for a request; gives the bytes received.
    #[inline]
    pub(crate) fn wait_request(&'static self, request: u64) -> Result<u64> {
        if let Some(len) = self.wait_soon(request) {
            return Ok(len);
        }
        match self.poll_request(request) {
            Some(outcome) => outcome,
            None => self.wait_unended(request),
        }
    }

    /// How a request ended, once, if it has.
    fn poll_request(&'static self, request: u64) -> Option<Result<u64>> {
        let (outcome, actions) = self.channels().poll(request);
        if !actions.is_empty() {
            self.perform(actions);
        }
        outcome
    }

    fn wait_unended(&'static self, request: u64) -> Result<u64> {
        let early = match self.context.is_crowded() {
            true => self.poll_yielding(request),
            false => self.wait_until(request, Some(Instant::now() + AWAKE))?,
        };
        if let Some(outcome) = early {
            return outcome;
        }
        let told = self.channels().tell_sleeper(request, true);
        if told.is_some() {
            channel_lane::sleeps();
        }
        let outcome = self.wait_until(request, None);
        if let Some(handle) = told {
            self.channels().tell_sleeper_of(handle, false);
        }
        outcome?.unwrap_or(Err(Error::Internal))
    }

    /// Looks at the slot where the message of a receive is expected, where others want the core.
    fn poll_yielding(&'static self, request: u64) -> Option<Result<u64>> {
        let watch = self.channels().watch(request)?;
        for _ in 0..TURNS {
            self.context.give_core_away();
            if watch.sees() {
                return self.poll_request(request);
            }
        }
        None
    }

    /// Waits by the context's wait, until a time. Gives how the request ended, if it has.
    fn wait_until(&'static self, request: u64, until: Option<Instant>) -> Result<Option<Result<u64>>> {
        let ends = self.channels().ends();
        let (mut outcome, mut seen, mut watch): (_, _, Option<Watch>) = (None, None, None);
        let look = || {
            // SYNC: Acquire pairs with `Channels::count_end`.
            let now = Some(ends.load(Ordering::Acquire));
            // The first time, what has come meanwhile is looked for, too.
            if seen != now || watch.is_some_and(|watch| watch.sees()) {
                outcome = self.poll_request(request);
                seen = now;
                watch = self.channels().watch(request);
            }
            outcome.is_some()
        };
        match until {
            Some(_) => self.context.wait_quietly(look, until).map(drop).map_err(of_core)?,
            None => self.wait(|| self.channels().other_end(request).into_iter().collect(), look)?,
        }
        Ok(outcome)
    }
}
