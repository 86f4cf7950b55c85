//! Models of the lock.

use super::*;
use crate::sync::{Arc, UnsafeCell, thread};

struct Guarded(ContextLock, UnsafeCell<u32>);
// SAFETY: the cell is touched under the lock only.
unsafe impl Sync for Guarded {}
// SAFETY: a counter and a lock belong to no thread.
unsafe impl Send for Guarded {}

impl Guarded {
    fn increment(&self, times: u32) {
        for _ in 0..times {
            let _held = self.0.guard();
            // SAFETY: under the lock; the model fails if two meet here.
            self.1.with_mut(|n| unsafe { *n += 1 });
            assert!(self.0.held_by_me());
        }
    }
}

/// Each thread increments so often: the first one before the second starts, the second, the first
/// meanwhile.
fn explore(preemptions: usize, before: u32, other: u32, meanwhile: u32) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let shared = Arc::new(Guarded(ContextLock::for_tests(), UnsafeCell::new(0)));
        shared.increment(before);
        assert!(shared.0.is_biased());
        let there = Arc::clone(&shared);
        let thread = thread::spawn(move || there.increment(other));
        shared.increment(meanwhile);
        thread.join().unwrap();
        let _held = shared.0.guard();
        // SAFETY: under the lock.
        assert_eq!(shared.1.with(|n| unsafe { *n }), before + other + meanwhile);
    });
}

/// The first thread has the bias, and another one comes in between.
#[test]
fn loom_the_thread_with_the_bias_and_another_exclude_each_other() {
    explore(3, 3, 1, 2);
}

/// The bias goes to another thread (twice to get it, once to use it) while the first one that had
/// it is on its way in.
#[test]
fn loom_a_thread_that_had_the_bias_does_not_disturb_the_next_one() {
    explore(2, 2, 3, 1);
}

/// A holder that polls sees a waiter and hands over: the waiter has had the lock before the holder
/// has it again, whether it spun or slept.
#[test]
fn loom_who_waits_has_the_lock_before_the_one_who_handed_it_over() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let shared = Arc::new(Guarded(ContextLock::for_tests(), UnsafeCell::new(0)));
        shared.0.acquire();
        let there = Arc::clone(&shared);
        let thread = thread::spawn(move || there.increment(1));
        let mut polls = 0;
        while !shared.0.has_waiters() && polls < 2 {
            polls += 1;
            thread::yield_now();
        }
        if shared.0.has_waiters() {
            shared.0.hand_over();
            // SAFETY: under the lock.
            assert_eq!(shared.1.with(|n| unsafe { *n }), 1);
        }
        shared.0.release();
        thread.join().unwrap();
        assert!(!shared.0.is_wanted());
    });
}
