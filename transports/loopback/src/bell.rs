//! Sleeping and waking.

use lapis_core::sync::Arc;
use lapis_core::sync::blocking::{Condvar, Mutex};
use lapis_core::transport::Waiter;
use std::time::Duration;

/// A count of rings under a lock, shared by the transport and core's sleepers.
#[derive(Clone, Default)]
pub struct Bell(Arc<(Mutex<Rings>, Condvar)>);

#[derive(Default)]
struct Rings {
    rung: u64,
    /// Up to which ring somebody woke: one that found nobody asleep ends the next wait.
    heard: u64,
}

impl Waiter for Bell {
    fn wait(&self, timeout_ns: u64) {
        let (rings, condvar) = &*self.0;
        let mut rings = rings.lock().unwrap_or_else(|poison| poison.into_inner());
        let begun = rings.rung;
        if rings.heard == begun {
            // Compared with the count at the beginning, so that one ring ends the sleep of all.
            let timeout = Duration::from_nanos(timeout_ns);
            let woken = condvar.wait_timeout_while(rings, timeout, |r| r.rung == begun);
            rings = woken.unwrap_or_else(|poison| poison.into_inner()).0;
        }
        rings.heard = rings.rung;
    }

    fn wake(&self) {
        self.0.0.lock().unwrap_or_else(|poison| poison.into_inner()).rung += 1;
        self.0.1.notify_all();
    }
}
