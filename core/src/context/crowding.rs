//! Whether tasks outnumber cores: counted at the start, and learnt from giving a core away.

use crate::sync::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Looks at the lanes alone between two looks at everything, the latter taking as long as a message
/// needs to come: a microsecond or two later at most is noticed what lanes don't carry. Fewer where
/// others want the core.
const LANE_LOOKS: u32 = 512;
const LANE_LOOKS_WHEN_CROWDED: u32 = 16;

/// Times in a row that a core comes back at once before it counts as free.
const QUICK_RETURNS: u32 = 4;

/// Whether others want the cores that this task's threads run on.
pub(crate) struct Crowding {
    /// The tasks of this machine outnumber the cores that they may run on.
    counted: bool,
    /// Somebody else ran when this task gave a core away.
    seen: AtomicBool,
    /// How often in a row nobody did.
    quick_returns: AtomicU32,
    /// The shortest time for which the core was away, in nanoseconds.
    shortest_ns: AtomicU32,
    lane_looks: AtomicU32,
    /// How often a core was given away.
    yields: AtomicU32,
}

impl Crowding {
    pub(super) fn new(counted: bool) -> Self {
        let looks = if counted { LANE_LOOKS_WHEN_CROWDED } else { LANE_LOOKS };
        Self {
            counted,
            seen: AtomicBool::new(false),
            quick_returns: AtomicU32::new(0),
            shortest_ns: AtomicU32::new(u32::MAX),
            lane_looks: AtomicU32::new(looks),
            yields: AtomicU32::new(0),
        }
    }

    /// Whether a wait gives its core away after each look.
    #[inline(always)]
    pub(super) fn is_crowded(&self) -> bool {
        self.counted || self.seen.load(Ordering::Relaxed)
    }

    /// How often to look at the lanes alone.
    #[inline(always)]
    pub(crate) fn lane_looks(&self) -> u32 {
        self.lane_looks.load(Ordering::Relaxed)
    }

    /// How often a core was given away so far.
    #[cfg(test)]
    pub(crate) fn yields(&self) -> u32 {
        self.yields.load(Ordering::Relaxed)
    }

    /// Gives the core away and sees whether anybody took it.
    #[cold]
    pub(super) fn give_core_away(&self) {
        self.yields.fetch_add(1, Ordering::Relaxed);
        if self.counted {
            return std::thread::yield_now();
        }
        let before = Instant::now();
        std::thread::yield_now();
        self.learn(before.elapsed());
    }

    /// The core was away for so long.
    fn learn(&self, away: Duration) {
        let ns = u32::try_from(away.as_nanos()).unwrap_or(u32::MAX);
        let shortest = self.shortest_ns.load(Ordering::Relaxed).min(ns);
        self.shortest_ns.store(shortest, Ordering::Relaxed);
        // A switch to another thread and back takes several times as long as a call that does not
        // switch.
        let taken = ns / 2 > shortest;
        let quick = if taken { 0 } else { self.quick_returns.load(Ordering::Relaxed).saturating_add(1) };
        self.quick_returns.store(quick, Ordering::Relaxed);
        let seen = taken || self.seen.load(Ordering::Relaxed) && quick < QUICK_RETURNS;
        self.seen.store(seen, Ordering::Relaxed);
        self.lane_looks.store(if seen { LANE_LOOKS_WHEN_CROWDED } else { LANE_LOOKS }, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_others_take_counts_as_crowded_until_it_comes_back_at_once() {
        let crowding = Crowding::new(false);
        let [quick, long] = [300, 2500].map(Duration::from_nanos);
        crowding.learn(quick);
        assert!(!crowding.is_crowded());
        assert_eq!(crowding.lane_looks(), LANE_LOOKS);
        crowding.learn(long);
        assert!(crowding.is_crowded());
        assert_eq!(crowding.lane_looks(), LANE_LOOKS_WHEN_CROWDED);
        for _ in 1..QUICK_RETURNS {
            crowding.learn(quick);
            assert!(crowding.is_crowded());
        }
        crowding.learn(quick);
        assert!(!crowding.is_crowded());
        assert_eq!(crowding.lane_looks(), LANE_LOOKS);
    }

    #[test]
    fn tasks_that_outnumber_cores_give_them_away_whatever_is_seen() {
        let crowding = Crowding::new(true);
        for _ in 0..2 * QUICK_RETURNS {
            crowding.give_core_away();
            assert!(crowding.is_crowded());
        }
        assert_eq!(crowding.yields(), 2 * QUICK_RETURNS);
    }
}
