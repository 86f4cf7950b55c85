//! Sleeping and waking.

use lapis_core::sync::Arc;
use lapis_core::sync::blocking::{Condvar, Mutex};
use lapis_core::transport::Waiter;
use std::time::Duration;

/// A count of notifications under a lock, shared by the transport and core's sleepers.
#[derive(Clone, Default)]
pub struct Notifier(Arc<(Mutex<Counts>, Condvar)>);

#[derive(Default)]
struct Counts {
    given: u64,
    /// Up to which one somebody woke: one that found nobody asleep ends the next wait.
    heard: u64,
}

impl Waiter for Notifier {
    fn wait(&self, timeout_ns: u64) {
        let (counts, condvar) = &*self.0;
        let mut counts = counts.lock().unwrap_or_else(|poison| poison.into_inner());
        let begun = counts.given;
        if counts.heard == begun {
            // Compared with the count at the beginning, so that one notification ends the sleep of
            // all.
            let timeout = Duration::from_nanos(timeout_ns);
            let woken = condvar.wait_timeout_while(counts, timeout, |r| r.given == begun);
            counts = woken.unwrap_or_else(|poison| poison.into_inner()).0;
        }
        counts.heard = counts.given;
    }

    fn wake(&self) {
        self.0.0.lock().unwrap_or_else(|poison| poison.into_inner()).given += 1;
        self.0.1.notify_all();
    }
}
