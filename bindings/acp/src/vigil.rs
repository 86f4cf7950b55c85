//! How often those are asked for a sign of life whom calls need that do not wait (`waits.rs`).

use lapis_core::sync::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When they are asked next.
pub(crate) struct Vigil {
    begun: Instant,
    next: AtomicU64,
    /// Whether a thread asks them for those who wait without calling anything.
    attended: AtomicBool,
}

impl Default for Vigil {
    fn default() -> Self {
        Self { begun: Instant::now(), next: AtomicU64::new(0), attended: AtomicBool::new(false) }
    }
}

impl Vigil {
    /// A thread is to ask from now on. False: there is one.
    pub(crate) fn attend(&self) -> bool {
        !self.attended.load(Ordering::Relaxed) && !self.attended.swap(true, Ordering::Relaxed)
    }

    /// The thread asks no more.
    pub(crate) fn desert(&self) {
        self.attended.store(false, Ordering::Relaxed);
    }

    /// Whether somebody is to be asked now: once in each interval.
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
        let vigil = Vigil::default();
        assert!(vigil.is_due(Duration::from_secs(3600)));
        assert!(!vigil.is_due(Duration::ZERO), "not before the hour is over");
        let vigil = Vigil::default();
        assert!(vigil.is_due(Duration::ZERO) && vigil.is_due(Duration::ZERO));
    }
}
