//! Waiting for the lock, and handing it over by a holder that polls.
//!
//! A waiter spins for the time of a short section, then yields its core, and sleeps if the lock is
//! held for long, or if a yield costs a time slice. Before it sleeps it makes that visible to all
//! other threads with a `membarrier(2)`, so unlocking needs no fence to check for sleepers.

use super::barrier;
use crate::crowding::Crowding;
#[cfg(not(loom))]
use crate::sync::futex::{wait_on, wake_all};
use crate::sync::{AtomicU32, AtomicUsize, Ordering, spin_loop};
use std::sync::Arc;
#[cfg(not(loom))]
use std::time::Duration;

/// Looks before a waiter gives its core away.
const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };

/// How often it does so before it sleeps.
const YIELDS: u32 = if cfg!(loom) { 0 } else { 64 };

/// Longest sleep in one piece: a bound where there is no membarrier, or where the holder wakes
/// nobody.
#[cfg(not(loom))]
const SLEEP: Duration = Duration::from_millis(1);

/// Looks of a holder that lets others pass: who waits on another core takes the lock meanwhile.
const PASSING_SPINS: u32 = if cfg!(loom) { 0 } else { 32 };

/// Looks, spins included, of which each gives the core away.
const PASSING_YIELDS: u32 = if cfg!(loom) { u32::MAX } else { 512 };

/// After so many sleeps the holder goes on: the waiter has no core, and others may wait for what
/// the holder does.
const PASSING_NAPS: u32 = if cfg!(loom) { 0 } else { 16 };

/// The longest of these sleeps.
#[cfg(not(loom))]
const NAP: Duration = Duration::from_micros(125);

/// One piece of work for a thread of the context; what is below counts threads that wait for the
/// lock.
const WORK: u32 = 1 << 16;

/// Who wants the lock or a core.
#[derive(Debug)]
pub(super) struct Waiters {
    /// Threads that wait for the lock, and pieces of [`WORK`] that wait for a core.
    wanted: AtomicU32,
    /// Times that a thread which had to wait has got the lock, or that one of the context has done
    /// its work.
    turns: AtomicU32,
    /// Threads that sleep until there is one more turn.
    resting: AtomicU32,
    /// The word of the thread that began last to wait for the lock.
    last: AtomicUsize,
    sleep: Sleep,
    #[cfg_attr(loom, allow(dead_code, reason = "the model's threads have no cores"))]
    crowding: Arc<Crowding>,
}

impl Waiters {
    pub(super) fn new(crowding: Arc<Crowding>) -> Self {
        let [wanted, turns, resting] = [(); 3].map(|()| AtomicU32::new(0));
        Self { wanted, turns, resting, last: AtomicUsize::new(0), sleep: Sleep::new(), crowding }
    }

    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    pub(super) fn for_lock(&self) -> bool {
        !self.wanted.load(Ordering::Relaxed).is_multiple_of(WORK)
    }

    pub(super) fn turn(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }

    pub(super) fn announce_work(&self) {
        self.wanted.fetch_add(WORK, Ordering::Relaxed);
    }

    pub(super) fn work_begins(&self) {
        self.wanted.fetch_sub(WORK, Ordering::Relaxed);
    }

    /// A thread begins to wait for the lock: the calling one, whose word is `me`.
    pub(super) fn come(&self, me: usize) {
        self.last.store(me, Ordering::Relaxed);
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether nobody waits for the lock but the calling thread, which therefore is in a signal
    /// handler: letting itself pass would keep it from going on.
    pub(super) fn are_only(&self, me: usize) -> bool {
        self.wanted.load(Ordering::Relaxed) % WORK == 1 && self.last.load(Ordering::Relaxed) == me
    }

    /// The calling thread waits no more: it has got the lock, or has given up.
    pub(super) fn go(&self, has_it: bool) {
        self.wanted.fetch_sub(1, Ordering::Relaxed);
        if has_it {
            self.turn_is_over();
        }
    }

    /// There was one more turn. Whoever rests until then, and is missed here, looks again soon.
    pub(super) fn turn_is_over(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        if self.resting.load(Ordering::Relaxed) > 0 {
            self.end_rests();
        }
    }

    /// Waits; once `busy` says no it is not asked again.
    #[cold]
    pub(super) fn wait_while(&self, mut busy: impl FnMut() -> bool) {
        let mut round = 0;
        while busy() {
            round += 1;
            if round <= SPINS {
                spin_loop();
            } else if round <= SPINS + YIELDS && self.give_core_away(|| true) {
                // Somebody else has had it.
            } else {
                self.sleep.announce();
                if !busy() {
                    return;
                }
                self.sleep.sleep();
                round = 0;
            }
        }
    }

    /// Wakes those who sleep. The lock has just been released.
    #[inline(always)]
    pub(super) fn wake(&self) {
        // Pairs with the heavy barrier of whoever goes to sleep: either it sees the lock free, or
        // this thread sees the sleeper.
        barrier::light();
        if self.sleep.is_announced() {
            self.sleep.wake();
        }
    }

    /// Waits until somebody who waits has had the lock after `turn`. The calling thread does not
    /// hold it.
    pub(super) fn let_pass(&self, turn: u32) {
        let (mut round, mut naps) = (0u32, 0);
        while self.for_lock() && self.turn() == turn {
            round = round.saturating_add(1);
            if round <= PASSING_SPINS {
                spin_loop();
            } else if round <= PASSING_YIELDS && self.give_core_away(|| self.turn() == turn) {
                // Perhaps the one who waits has had it.
            } else if naps < PASSING_NAPS {
                naps += 1;
                self.rest(turn);
            } else {
                return;
            }
        }
    }

    /// Lets a thread of the context that has work to do have the core. If that costs a time slice
    /// of others, by sleeping until the work is done: the core then goes to whoever has a right to
    /// it, and comes back the sooner.
    pub(super) fn let_work(&self, turn: u32) {
        if !self.give_core_away(|| self.any()) {
            self.rest(turn);
        }
    }

    #[cfg(not(loom))]
    fn give_core_away(&self, still_wanted: impl FnOnce() -> bool) -> bool {
        self.crowding.give_core_to_own_thread(still_wanted)
    }

    #[cfg(loom)]
    fn give_core_away(&self, _still_wanted: impl FnOnce() -> bool) -> bool {
        crate::sync::thread::yield_now();
        true
    }

    /// Sleeps until there has been another turn than this one, not for long.
    #[cfg(not(loom))]
    fn rest(&self, turn: u32) {
        self.resting.fetch_add(1, Ordering::Relaxed);
        wait_on(&self.turns, turn, NAP);
        self.resting.fetch_sub(1, Ordering::Relaxed);
    }

    #[cfg(not(loom))]
    #[cold]
    fn end_rests(&self) {
        wake_all(&self.turns);
    }

    #[cfg(loom)]
    fn rest(&self, _turn: u32) {}

    #[cfg(loom)]
    fn end_rests(&self) {}
}

/// Where waiters sleep.
#[derive(Debug)]
struct Sleep {
    /// 1 if somebody sleeps or is about to.
    sleepers: AtomicU32,
    #[cfg(loom)]
    bed: (crate::sync::Mutex<()>, crate::sync::Condvar),
}

impl Sleep {
    fn new() -> Self {
        Self {
            sleepers: AtomicU32::new(0),
            #[cfg(loom)]
            bed: (crate::sync::Mutex::new(()), crate::sync::Condvar::new()),
        }
    }

    /// The calling thread is going to sleep unless the lock is free.
    fn announce(&self) {
        self.sleepers.store(1, Ordering::Relaxed);
        barrier::heavy();
    }

    #[inline(always)]
    fn is_announced(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    /// Sleeps unless somebody has been woken since [`announce`](Self::announce).
    #[cfg(not(loom))]
    fn sleep(&self) {
        wait_on(&self.sleepers, 1, SLEEP);
    }

    /// Wakes all: they are few, and who finds the lock taken again says anew that it sleeps.
    #[cfg(not(loom))]
    #[cold]
    fn wake(&self) {
        if self.sleepers.swap(0, Ordering::Relaxed) != 0 {
            wake_all(&self.sleepers);
        }
    }

    /// The model's sleep never ends by itself: a wake-up that is lost is a deadlock. Like a futex's
    /// it ends when it is woken, even if another thread has announced its own sleep since.
    #[cfg(loom)]
    fn sleep(&self) {
        let held = self.bed.0.lock().unwrap();
        if self.is_announced() {
            drop(self.bed.1.wait(held).unwrap());
        }
    }

    #[cfg(loom)]
    fn wake(&self) {
        let _held = self.bed.0.lock().unwrap();
        self.sleepers.store(0, Ordering::Relaxed);
        self.bed.1.notify_all();
    }
}
