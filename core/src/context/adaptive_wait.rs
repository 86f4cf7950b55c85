//! The wait loop of all threads of a context, whether for an arrival, for room or for an answer.
//!
//! A wait spins as long as that keeps nobody from working. It gives the core away after each poll
//! if tasks outnumber cores, or if giving it away has shown that others want it. A wait that lasts
//! longer than answers take tries that out now and then. It also hands the context's lock to those
//! who wait for it, and lets a handler thread begin that has just been given something to do. When
//! nothing comes for as long as [`AdaptiveSpin`](super::adaptive_spin::AdaptiveSpin) allows, it
//! says that it is time to sleep.

use super::{AdaptiveWait, Locked, Shared};
use std::time::{Duration, Instant};

/// Looks between two glances at the clock.
const LOOKS_PER_CLOCK: u32 = 1024;

/// What polling everything counts for, and one that asks the system for datagrams.
const LOOKS_PER_ROUND: u32 = 4;
const LOOKS_PER_SYSTEM_CALL: u32 = 64;

/// What giving the core away counts for.
const LOOKS_PER_YIELD: u32 = 128;

/// Looks for room before the core is given away.
const SPINS_FOR_ROOM: u32 = 4;

/// Most answers have come by then: a peer that has not answered yet may need the core that this
/// thread is spinning on.
const ANSWERED: Duration = Duration::from_micros(20);

/// Looks outside of a context before the first sleep; that sleep; how many are as long before they
/// double; how often they do.
const YIELDS: u32 = 8;
const NAP: Duration = Duration::from_micros(50);
const NAPS_OF_A_LENGTH: u32 = 16;
const LONGEST_NAP: u32 = 5;

/// The part of the time waited so far that a nap takes.
const NAP_OF_WAIT: u32 = 8;

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

/// Sleeps for a moment, for what nobody wakes this thread for. The lock is not held.
pub(super) fn nap() {
    std::thread::sleep(NAP);
}

impl AdaptiveWait {
    /// After polling everything without success: lets others have the lock or the core if they
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

    /// As [`pause`](Self::pause), after a look that asked the system if a transport's do.
    #[inline(always)]
    pub(crate) fn pause_after(&mut self, locked: &mut Locked<'_>) -> bool {
        if locked.links.ask_system() {
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

    /// As [`pause`](Self::pause), for a thread that the program does not wait in: it gives the core
    /// away each time.
    pub(super) fn pause_in_background(&mut self, locked: &mut Locked<'_>) -> bool {
        locked.yield_lock();
        self.looks += LOOKS_PER_YIELD;
        locked.give_core_away();
        self.looks >= LOOKS_PER_CLOCK && self.has_lasted(locked)
    }

    /// A sleep has ended. If the next look finds nothing either, it is time to sleep again: looks
    /// may be system calls of the transport's. Not where packets go as datagrams, whose timers may
    /// be due after a few looks more.
    #[inline]
    pub(super) fn slept(&mut self, locked: &Locked<'_>) {
        if !locked.links.has_engines() {
            self.looks = LOOKS_PER_CLOCK;
        }
    }

    /// Once a wait has lasted: sleeps for what nobody wakes this thread for, the longer the longer
    /// it waits already. The lock is let go.
    #[cold]
    pub(crate) fn nap(&self, locked: &mut Locked<'_>) {
        let waited = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        let nap = (waited / NAP_OF_WAIT).clamp(NAP, NAP * (1 << LONGEST_NAP));
        locked.unlocked(|_| std::thread::sleep(nap));
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
            let turn = self.shared().lock.turn();
            self.unlocked(|shared| shared.lock.let_work(turn));
        }
    }

    /// Lets another thread have the core, and the lock unless a packet is being handled. False: it
    /// has kept the core, which would have cost a time slice.
    #[cold]
    pub(super) fn give_core_away(&mut self) -> bool {
        let give = |shared: &Shared| shared.crowding.give_core_away(|| shared.completions.is_idle());
        if self.dispatching > 0 { give(self.shared()) } else { self.unlocked(give) }
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
}
