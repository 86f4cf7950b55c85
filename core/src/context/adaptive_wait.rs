//! The one way in which threads of the context wait, whatever for: an arrival, room, an answer.
//!
//! A wait spins while that keeps nobody from working. It gives the core away after each look where
//! tasks outnumber cores, or where giving it away has shown that others want it; a wait that lasts
//! longer than answers take tries that out now and then. It hands the context's lock to those who
//! wait for it, and lets a handler thread begin that has just been given something to do. When
//! nothing comes for as long as [`AdaptiveSpin`](super::adaptive_spin::AdaptiveSpin) allows, it
//! says that it is time to sleep.

use super::Locked;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Looks between two glances at the clock.
const LOOKS_PER_CLOCK: u32 = 1024;

/// What a look at everything counts for, and one that asks the system for datagrams.
const LOOKS_PER_ROUND: u32 = 4;
const LOOKS_PER_SYSTEM_CALL: u32 = 64;

/// What giving the core away counts for.
const LOOKS_PER_YIELD: u32 = 128;

/// Looks for room before the core is given away.
const SPINS_FOR_ROOM: u32 = 4;

/// Most answers have come by then: a peer that has not answered yet may need the core that this
/// thread is spinning on.
const ANSWERED: Duration = Duration::from_micros(20);

/// Looks at the lanes alone between two looks at everything, the latter taking as long as a message
/// needs to come: a microsecond or two later at most is noticed what lanes don't carry. Fewer where
/// others want the core.
const LANE_LOOKS: u32 = 512;
const LANE_LOOKS_WHEN_CROWDED: u32 = 16;

/// Times in a row that a core comes back at once before it counts as free.
const QUICK_RETURNS: u32 = 4;

/// Looks outside of a context before the first sleep; that sleep; how many are as long before they
/// double; how often they do.
const YIELDS: u32 = 8;
const NAP: Duration = Duration::from_micros(50);
const NAPS_OF_A_LENGTH: u32 = 16;
const LONGEST_NAP: u32 = 5;

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

/// Waits where there is no context to make progress in: before it is made, or for its lock. Looks,
/// gives the core away, and soon sleeps between looks, an eighth as long as it has waited at most.
/// `None`: nothing was found before the deadline.
pub(super) fn look_until<T>(deadline: Instant, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let mut naps = 0u32;
    for looks in 0u32.. {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            break;
        }
        if looks < YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP * (1 << (naps / NAPS_OF_A_LENGTH).min(LONGEST_NAP)));
            naps += 1;
        }
    }
    None
}

/// One wait.
#[derive(Debug)]
pub(crate) struct AdaptiveWait {
    /// Looks since the clock was last read.
    looks: u32,
    since: Option<Instant>,
    /// Packets that the context had sent when the wait began, or began anew.
    sent: u64,
}

impl AdaptiveWait {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { looks: 0, since: None, sent: 0 }
    }

    /// Something came.
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }

    /// So many looks found nothing.
    #[inline(always)]
    pub(crate) fn passed(&mut self, looks: u32) {
        self.looks += looks;
    }

    /// After a look at everything that found nothing: lets others have the lock or the core if they
    /// want it. Says whether spinning has lasted long enough. The lock may be let go meanwhile.
    #[inline(always)]
    pub(crate) fn pause(&mut self, locked: &mut Locked<'_>) -> bool {
        locked.yield_lock();
        self.looks += LOOKS_PER_ROUND;
        if locked.shared().crowding.is_crowded() {
            self.looks += LOOKS_PER_YIELD;
            locked.give_core_away();
        }
        self.looks >= LOOKS_PER_CLOCK && self.has_lasted(locked)
    }

    /// As [`pause`](Self::pause), after a look that asked the system if packets come as datagrams.
    #[inline(always)]
    pub(crate) fn pause_after(&mut self, locked: &mut Locked<'_>) -> bool {
        if locked.links.has_engines() {
            self.looks += LOOKS_PER_SYSTEM_CALL;
        }
        self.pause(locked)
    }

    /// As [`pause`](Self::pause), for room that a peer or the network makes without a word: after a
    /// few looks the core is given away each time, for what has filled up takes its reader longer
    /// to empty than the core stays away.
    pub(crate) fn pause_for_room(&mut self, locked: &mut Locked<'_>) -> bool {
        locked.yield_lock();
        let sent = locked.packets_sent();
        if self.sent != sent {
            *self = Self { sent, ..Self::new() };
        }
        self.looks += LOOKS_PER_YIELD;
        if self.since.is_some() || self.looks > SPINS_FOR_ROOM * LOOKS_PER_YIELD {
            locked.give_core_away();
        }
        self.looks >= LOOKS_PER_CLOCK && self.has_lasted(locked)
    }

    #[cold]
    #[inline(never)]
    fn has_lasted(&mut self, locked: &mut Locked<'_>) -> bool {
        self.looks = 0;
        let now = Instant::now();
        let sent = locked.packets_sent();
        if self.since.is_none() || self.sent != sent {
            // What is under way moves.
            (self.since, self.sent) = (Some(now), sent);
        }
        let lasted = self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        if lasted >= locked.shared().attributes.adaptive_spin.spin() {
            return true;
        }
        if lasted >= ANSWERED && !locked.shared().crowding.is_crowded() {
            locked.give_core_away();
        }
        false
    }
}

impl Locked<'_> {
    /// Lets others have the lock, or a thread of ours begin, between two rounds of a loop that
    /// polls.
    #[inline(always)]
    pub(crate) fn yield_lock(&mut self) {
        if self.shared().lock.is_wanted() {
            self.step_aside();
        }
    }

    /// The program may hold the lock itself, around the call that waits: it is let go all the same.
    /// Not while a packet is handled, which others' polling would take away.
    //= LAPI Guide, Lock sharing, Lock preemption
    #[cold]
    fn step_aside(&mut self) {
        if self.dispatching > 0 {
            return;
        }
        if self.shared().lock.has_waiters() {
            self.hand_over();
        } else {
            // Our own thread is no neighbour to learn about.
            self.unlocked(|_| std::thread::yield_now());
        }
    }

    /// Lets another thread have the core, and the lock unless a packet is being handled.
    #[cold]
    pub(super) fn give_core_away(&mut self) {
        if self.dispatching > 0 {
            return self.shared().crowding.give_core_away();
        }
        self.unlocked(|shared| shared.crowding.give_core_away());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_a_context_it_is_looked_until_something_is_found_or_the_time_is_over() {
        let mut looks = 0;
        let found = look_until(Instant::now() + Duration::from_secs(60), || {
            looks += 1;
            (looks == 100).then_some("it")
        });
        assert_eq!((found, looks), (Some("it"), 100));
        let mut looks = 0;
        let finds_nothing = || -> Option<()> {
            looks += 1;
            None
        };
        assert_eq!(look_until(Instant::now(), finds_nothing), None);
        assert_eq!(looks, 1, "one look in any case");
    }

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
