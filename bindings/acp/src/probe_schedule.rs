//! When to probe the processes that non-blocking calls depend on (`waits.rs`).

use lapis_core::sync::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of the next probe.
pub(crate) struct ProbeSchedule {
    begun: Instant,
    next: AtomicU64,
    /// Whether a thread sends probes on behalf of tasks that wait without a call.
    has_thread: AtomicBool,
}

impl Default for ProbeSchedule {
    fn default() -> Self {
        Self { begun: Instant::now(), next: AtomicU64::new(0), has_thread: AtomicBool::new(false) }
    }
}

impl ProbeSchedule {
    /// Claims the role of the thread that sends probes. False: there is one already.
    pub(crate) fn claim_thread(&self) -> bool {
        !self.has_thread.load(Ordering::Relaxed) && !self.has_thread.swap(true, Ordering::Relaxed)
    }

    /// The thread stops sending probes.
    pub(crate) fn release_thread(&self) {
        self.has_thread.store(false, Ordering::Relaxed);
    }

    /// Whether to send probes now: once in each interval.
    pub(crate) fn is_due(&self, interval: Duration) -> bool {
        let now = self.begun.elapsed().as_nanos() as u64;
        let next = self.next.load(Ordering::Relaxed);
        let then = now.saturating_add(interval.as_nanos() as u64);
        now >= next && self.next.compare_exchange(next, then, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_asked_twice_in_an_interval() {
        let probe_schedule = ProbeSchedule::default();
        assert!(probe_schedule.is_due(Duration::from_secs(3600)));
        assert!(!probe_schedule.is_due(Duration::ZERO), "not before the hour is over");
        let probe_schedule = ProbeSchedule::default();
        assert!(probe_schedule.is_due(Duration::ZERO) && probe_schedule.is_due(Duration::ZERO));
    }
}
