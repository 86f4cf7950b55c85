//! What ends a sleep of this task: the bells of its windows, their sockets, its inbox, and a clock
//! for what none of these tells.
//!
//! | word | set by | cleared by | means |
//! |---|---|---|---|
//! | `armed` | `arm` | the poll that finds something after `disarm` | senders ring the bells |
//! | `awaited` | `arm` | `disarm` | a thread sleeps, or is about to |
//! | `watched` | `arm` | with `armed` | for each rail: its sockets end sleeps |
//! | `blind` | `arm`, at the first failure | never | some socket can't: a clock does |
//! | `stirred` | the waiter | `arm`, which looks | something else than arrivals ended a sleep |
//!
//! `armed` outlives `awaited`, so that a thread that finds nothing and sleeps again arms nothing
//! anew.

use super::{Hps, OFTEN, POLLS};
use crate::services::PAUSE;
use crate::windows::Rails;
use lapis_adapters::protocol::Place;
use std::io;
use std::time::Duration;

/// A task that sleeps looks so often at what can't wake it.
const BLIND: Duration = Duration::from_millis(1);

impl Hps {
    /// Looks at the daemon more often while it is to be asked again.
    pub(super) fn pace(&mut self) {
        self.looks = if self.services.owes_answers() { OFTEN } else { POLLS } - 1;
        self.stir();
    }

    /// Ends sleeps now and then while something is to be looked for that ends none: a new daemon,
    /// answers of one that is silent, its consent to take windows over, frames at sockets that
    /// can't be watched.
    pub(super) fn stir(&self) {
        let pause = if self.blind {
            Some(BLIND)
        } else if self.services.is_gone() || self.services.owes_answers() {
            Some(2 * PAUSE)
        } else {
            self.shows_after()
        };
        if let Err(e) = self.notifier.stir_every(pause) {
            self.host.debug(format_args!("a task that sleeps does not look for a daemon: timerfd: {e}"));
        }
    }

    /// The pause before the daemon is shown windows again that it has not taken over.
    pub(super) fn shows_after(&self) -> Option<Duration> {
        match &self.rails {
            Rails::Own(_) => self.services.shows_after(),
            Rails::Shared(share) => share.all.shows_after(),
        }
    }

    /// Has arrivals end sleeps from now on, or no more. False: something has arrived.
    pub(super) fn ring_bells(&mut self, on: bool) -> bool {
        let mut quiet = true;
        let shared = self.rails.suffix().is_some();
        let mut unwatched = None;
        for (rail, watched) in self.rails.work().iter_mut().zip(&mut self.watched) {
            let blind = |place: &Place, e| unwatched = Some((place.clone(), e));
            quiet &= rail.watch(on, &self.notifier, (watched, shared), blind);
        }
        if let Some((place, why)) = unwatched {
            self.cannot_watch(&place, &why);
        }
        if let (Rails::Shared(share), true) = (&self.rails, on) {
            quiet &= share.inbox.arm();
        }
        self.armed = on;
        quiet
    }

    /// A socket ends no sleep: from now on a clock does, and the user hears of it once.
    #[cold]
    fn cannot_watch(&mut self, place: &Place, why: &io::Error) {
        if std::mem::replace(&mut self.blind, true) {
            return;
        }
        self.host.warn(format_args!(
            "{place}: what arrives there can't wake this task (epoll: {why}): while it sleeps it looks every {BLIND:?}; \
             is /proc/sys/fs/epoll/max_user_watches too small?"
        ));
        self.stir();
    }
}
