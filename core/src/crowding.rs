//! Whether tasks outnumber cores, and what yielding a core costs: counted at the start, and
//! measured each time.
//!
//! `sched_yield` gives the core to any other runnable thread. If that is a task or a thread of the
//! job, which waits as this one does, the core returns after a microsecond or two. If it is a
//! process that computes, the kernel gives it a whole time slice: since Linux 6.6 the thread that
//! yields forfeits its own slice. So where yields have cost time slices, waits stop yielding: the
//! kernel shares out the core by itself. A thread that must let another thread of its process run
//! then sleeps until that one has done its work, which forfeits nothing. From time to time a yield
//! tests whether the other process is still there.

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Looks at the lanes alone between two looks at everything, the latter taking as long as a message
/// needs to come: a microsecond or two later at most is noticed what lanes don't carry. Fewer where
/// others want the core.
const LANE_LOOKS: u32 = 512;
const LANE_LOOKS_WHEN_CROWDED: u32 = 16;

/// Times in a row that a core comes back at once before it counts as free.
const QUICK_RETURNS: u32 = 4;

/// A process that keeps a core for so long computes.
const TIME_SLICE: Duration = Duration::from_micros(500);

/// So many lost time slices are no accident, unless yields in between that cost little, so many in
/// a row, say that they were.
const LOST_SLICES: u32 = 2;
const CHEAP_RETURNS: u32 = 16;

/// How many times as long as a lost time slice the core is kept before a yield is tried again:
/// trying takes a thirtieth of the time.
const KEPT_FOR: u32 = 32;

/// Whether others want the cores that this task's threads run on, and whether to let them.
#[derive(Debug)]
pub(crate) struct Crowding {
    /// The tasks of this machine outnumber the cores that they may run on.
    counted: bool,
    /// Another process ran when this task yielded a core.
    seen: AtomicBool,
    /// The number of consecutive yields after which none did.
    quick_returns: AtomicU32,
    /// The shortest time for which the core was away, in nanoseconds.
    shortest_ns: AtomicU32,
    lane_looks: AtomicU32,
    /// Time slices that were lost, and cheaper yields in a row since.
    lost_slices: AtomicU32,
    cheap_returns: AtomicU32,
    /// Cores are kept, because yields cost time slices: until then, in nanoseconds since `began`.
    kept: AtomicBool,
    kept_until_ns: AtomicU64,
    began: Instant,
    /// How often a core was given away.
    yields: AtomicU32,
}

impl Crowding {
    pub(crate) fn new(counted: bool) -> Self {
        let looks = if counted { LANE_LOOKS_WHEN_CROWDED } else { LANE_LOOKS };
        Self {
            counted,
            seen: AtomicBool::new(false),
            quick_returns: AtomicU32::new(0),
            shortest_ns: AtomicU32::new(u32::MAX),
            lane_looks: AtomicU32::new(looks),
            lost_slices: AtomicU32::new(0),
            cheap_returns: AtomicU32::new(0),
            kept: AtomicBool::new(false),
            kept_until_ns: AtomicU64::new(0),
            began: Instant::now(),
            yields: AtomicU32::new(0),
        }
    }

    /// Whether a wait gives its core away after each poll.
    #[inline(always)]
    pub(crate) fn is_crowded(&self) -> bool {
        self.counted || self.seen.load(Ordering::Relaxed)
    }

    /// Whether giving a core away costs a time slice: who wants another thread to run sleeps.
    #[inline(always)]
    pub(crate) fn keeps_core(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// How often to look at the lanes alone.
    #[inline(always)]
    pub(crate) fn lane_looks(&self) -> u32 {
        self.lane_looks.load(Ordering::Relaxed)
    }

    /// How often a core was given away so far.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn yields(&self) -> u32 {
        self.yields.load(Ordering::Relaxed)
    }

    /// Gives the core away, and sees for how long it is taken. False: a time slice would go with
    /// it, so the core was kept. If it is away for as long as a time slice, `by_others` says
    /// whether no thread of this context can have had it.
    #[cold]
    pub(crate) fn give_core_away(&self, by_others: impl FnOnce() -> bool) -> bool {
        self.give_core_away_by(std::thread::yield_now, |away, now| {
            if away < TIME_SLICE {
                self.learn(away);
            } else if by_others() {
                self.slice_was_lost(away, now);
            }
        })
    }

    /// The same for a thread of this process that wants the core and is no neighbour to learn of.
    /// If it is still wanted after a time slice, others have had that.
    #[cold]
    pub(crate) fn give_core_to_own_thread(&self, still_wanted: impl FnOnce() -> bool) -> bool {
        self.give_core_away_by(std::thread::yield_now, |away, now| {
            if away >= TIME_SLICE && still_wanted() {
                self.slice_was_lost(away, now);
            }
        })
    }

    fn give_core_away_by(&self, yield_now: impl FnOnce(), learn: impl FnOnce(Duration, Instant)) -> bool {
        if self.counted {
            self.yields.fetch_add(1, Ordering::Relaxed);
            yield_now();
            return true;
        }
        let before = Instant::now();
        if self.keeps_core() && self.since_began(before) < self.kept_until_ns.load(Ordering::Relaxed) {
            return false;
        }
        self.yields.fetch_add(1, Ordering::Relaxed);
        yield_now();
        let after = Instant::now();
        learn(after.duration_since(before), after);
        true
    }

    fn since_began(&self, now: Instant) -> u64 {
        now.duration_since(self.began).as_nanos() as u64
    }

    /// The core was away for so long, which is less than a time slice.
    fn learn(&self, away: Duration) {
        let cheap = self.cheap_returns.load(Ordering::Relaxed).saturating_add(1);
        self.cheap_returns.store(cheap, Ordering::Relaxed);
        if cheap >= CHEAP_RETURNS {
            self.lost_slices.store(0, Ordering::Relaxed);
            self.kept.store(false, Ordering::Relaxed);
        }
        let ns = u32::try_from(away.as_nanos()).unwrap_or(u32::MAX);
        let shortest = self.shortest_ns.load(Ordering::Relaxed).min(ns);
        self.shortest_ns.store(shortest, Ordering::Relaxed);
        // A switch to another thread and back takes several times as long as a call that does not
        // switch.
        let taken = ns / 2 > shortest;
        let quick = if taken { 0 } else { self.quick_returns.load(Ordering::Relaxed).saturating_add(1) };
        self.quick_returns.store(quick, Ordering::Relaxed);
        let seen = taken || self.seen.load(Ordering::Relaxed) && quick < QUICK_RETURNS;
        self.set_seen(seen && !self.keeps_core());
    }

    /// Who has computed meanwhile is none who waits for this task: what it wants it gets without
    /// being given it.
    fn slice_was_lost(&self, away: Duration, now: Instant) {
        self.cheap_returns.store(0, Ordering::Relaxed);
        self.quick_returns.store(0, Ordering::Relaxed);
        self.set_seen(false);
        let lost = self.lost_slices.load(Ordering::Relaxed).saturating_add(1);
        self.lost_slices.store(lost, Ordering::Relaxed);
        if lost >= LOST_SLICES {
            let until = self.since_began(now).saturating_add((away * KEPT_FOR).as_nanos() as u64);
            self.kept_until_ns.store(until, Ordering::Relaxed);
            self.kept.store(true, Ordering::Relaxed);
        }
    }

    fn set_seen(&self, seen: bool) {
        self.seen.store(seen, Ordering::Relaxed);
        self.lane_looks.store(if seen { LANE_LOOKS_WHEN_CROWDED } else { LANE_LOOKS }, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    impl Crowding {
        fn learn_of(&self, away: Duration) {
            if away < TIME_SLICE { self.learn(away) } else { self.slice_was_lost(away, Instant::now()) }
        }
    }

    const QUICK: Duration = Duration::from_nanos(300);
    const SWITCH: Duration = Duration::from_nanos(2500);
    const SLICE: Duration = Duration::from_millis(4);

    #[test]
    fn a_core_that_others_take_counts_as_crowded_until_it_comes_back_at_once() {
        let crowding = Crowding::new(false);
        crowding.learn_of(QUICK);
        assert!(!crowding.is_crowded());
        assert_eq!(crowding.lane_looks(), LANE_LOOKS);
        crowding.learn_of(SWITCH);
        assert!(crowding.is_crowded());
        assert_eq!(crowding.lane_looks(), LANE_LOOKS_WHEN_CROWDED);
        for _ in 1..QUICK_RETURNS {
            crowding.learn_of(QUICK);
            assert!(crowding.is_crowded());
        }
        crowding.learn_of(QUICK);
        assert!(!crowding.is_crowded());
        assert_eq!(crowding.lane_looks(), LANE_LOOKS);
    }

    #[test]
    fn tasks_that_outnumber_cores_give_them_away_whatever_is_seen() {
        let crowding = Crowding::new(true);
        for _ in 0..2 * QUICK_RETURNS {
            assert!(crowding.give_core_away(|| true));
            assert!(crowding.is_crowded());
        }
        assert_eq!(crowding.yields(), 2 * QUICK_RETURNS);
    }

    #[test]
    fn a_core_is_kept_while_yields_cost_time_slices_and_tried_again_later() {
        let crowding = Crowding::new(false);
        // Two of three yields beside a process that computes cost little.
        for away in [SWITCH, SWITCH, SLICE, SWITCH, QUICK] {
            crowding.learn_of(away);
            assert!(!crowding.keeps_core(), "one lost slice may be an accident");
        }
        // So far back that the time for another try has come when it has been lost.
        let then = Instant::now();
        crowding.slice_was_lost(SLICE, then);
        assert!(crowding.keeps_core());
        assert!(!crowding.is_crowded(), "nobody of the job wants it");
        let until = crowding.since_began(then) + (SLICE * KEPT_FOR).as_nanos() as u64;
        assert_eq!(crowding.kept_until_ns.load(Ordering::Relaxed), until);
        crowding.kept_until_ns.store(u64::MAX, Ordering::Relaxed);
        let mut yields = 0;
        assert!(!crowding.give_core_away_by(|| yields += 1, |_, _| {}));
        crowding.kept_until_ns.store(0, Ordering::Relaxed);
        assert!(crowding.give_core_away_by(|| yields += 1, |_, _| {}));
        assert_eq!((yields, crowding.yields()), (1, 1));
    }

    #[test]
    fn a_core_is_given_away_again_when_that_costs_little_for_long() {
        let crowding = Crowding::new(false);
        crowding.learn_of(QUICK);
        (0..LOST_SLICES).for_each(|_| crowding.learn_of(SLICE));
        for _ in 1..CHEAP_RETURNS {
            crowding.learn_of(SWITCH);
            assert!(crowding.keeps_core() && !crowding.is_crowded());
        }
        crowding.learn_of(SWITCH);
        assert!(!crowding.keeps_core());
        assert!(crowding.is_crowded(), "a peer that waits took it");
        crowding.learn_of(SLICE);
        assert!(!crowding.keeps_core(), "what was lost before is forgotten");
    }
}
