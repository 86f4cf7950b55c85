//! How long a wait spins before it sleeps. It learns from how long the sleeps last.
//!
//! A sleep that ends soon was a mistake: it cost two context switches, and perhaps made the peer
//! sleep as well. A long one was right.
//!
//! Where waking up takes long, two tasks that answer each other could keep each other asleep for
//! ever: each sleep lasts as long as both wake-ups, and looks like a long one. (It takes long where
//! the host has given a virtual processor's core to somebody else, say.) So now and then a wait of
//! that length is spun for a little more than half of it. If something comes meanwhile, the rest
//! was the wake-ups' time, and spinning goes on.

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use lapis_ablation::{Optimization, without};
use std::time::Duration;

/// A sleep that ends sooner was not worth it.
const SHORT: Duration = Duration::from_micros(500);

/// No wake-up takes half as long: a sleep that lasts longer has waited for something else.
const LONG: Duration = Duration::from_millis(2);

/// One of so many sleeps in between is put to the test.
const TEST_EVERY: u32 = 16;

/// How many times the configured spin a wait may last after sleeps that were not worth it.
const MOST: u32 = 32;

/// Changed under the context's lock only.
pub(crate) struct AdaptiveSpin {
    configured: Duration,
    present_ns: AtomicU64,
    /// Sleeps neither short nor long.
    middling: AtomicU32,
    /// The present spin is a test.
    testing: AtomicBool,
}

impl AdaptiveSpin {
    pub(super) fn new(configured: Duration) -> Self {
        let present_ns = AtomicU64::new(configured.as_nanos() as u64);
        Self { configured, present_ns, middling: AtomicU32::new(0), testing: AtomicBool::new(false) }
    }

    /// How long to spin.
    pub(super) fn spin(&self) -> Duration {
        Duration::from_nanos(self.present_ns.load(Ordering::Relaxed))
    }

    /// A wait has slept for so long.
    pub(super) fn learn(&self, slept: Duration) {
        if without(Optimization::AdaptiveSpin) {
            return;
        }
        let most = self.configured * MOST;
        // Who had to sleep all the same has not passed.
        let failed = self.testing.swap(false, Ordering::Relaxed);
        let next = if failed || slept >= LONG {
            self.configured
        } else if slept < SHORT {
            (self.spin() * 2).min(most)
        } else if self.middling.fetch_add(1, Ordering::Relaxed) % TEST_EVERY == TEST_EVERY - 1 {
            self.testing.store(true, Ordering::Relaxed);
            (slept * 5 / 8).min(most)
        } else {
            self.configured
        };
        self.present_ns.store(next.as_nanos() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(50);

    /// Waits for something that comes after `after`; says how long that took, and for how much of
    /// it the task was awake.
    fn wait(adaptive: &AdaptiveSpin, after: Duration, wake_up: Duration) -> (Duration, Duration) {
        let spin = adaptive.spin();
        if after <= spin {
            return (after, after);
        }
        adaptive.learn(after + wake_up - spin);
        (after + wake_up, spin)
    }

    #[test]
    fn tasks_that_answer_each_other_do_not_keep_each_other_asleep() {
        let message = Duration::from_micros(4);
        for wake_up in [60, 200, 300, 463, 900].map(Duration::from_micros) {
            let tasks = [AdaptiveSpin::new(SPIN), AdaptiveSpin::new(SPIN)];
            // The first message comes so late that its receiver sleeps, and so late is its answer
            // that the sender does.
            let (mut sent, mut since) =
                (Duration::from_millis(20), [Duration::from_millis(20), Duration::ZERO]);
            let mut one_way = Duration::MAX;
            for round in 1..200 {
                let receiver = round % 2;
                let after = sent + message - since[receiver];
                let now = since[receiver] + wait(&tasks[receiver], after, wake_up).0;
                one_way = now - sent;
                (sent, since[receiver]) = (now, now);
            }
            assert_eq!(one_way, message, "with wake-ups of {wake_up:?}");
        }
    }

    #[test]
    fn who_waits_for_what_comes_seldom_sleeps() {
        for gap in [600, 1000, 1900, 5000].map(Duration::from_micros) {
            let adaptive = AdaptiveSpin::new(SPIN);
            let waits = (0..1000).map(|_| wait(&adaptive, gap, Duration::from_micros(30)));
            let (whole, awake) = waits.fold((Duration::ZERO, Duration::ZERO), |a, b| (a.0 + b.0, a.1 + b.1));
            assert!(awake * 6 < whole, "{gap:?}: awake for {awake:?} of {whole:?}");
        }
    }

    #[test]
    fn where_nobody_may_spin_nobody_does() {
        let adaptive = AdaptiveSpin::new(Duration::ZERO);
        for slept in [10, 100, 600, 900, 5000].repeat(20) {
            adaptive.learn(Duration::from_micros(slept));
            assert_eq!(adaptive.spin(), Duration::ZERO);
        }
    }
}
