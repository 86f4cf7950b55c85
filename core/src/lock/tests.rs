//! The lock with real threads.

use super::*;
use crate::sync::{Arc, thread};
use std::time::Duration;

#[test]
fn nested_acquisition_by_the_owner_does_not_block() {
    let lock = ContextLock::for_tests();
    let _a = lock.guard();
    let _b = lock.guard();
    assert!(lock.held_by_me());
}

#[test]
fn another_thread_is_kept_out_until_the_last_release() {
    let lock = Arc::new(ContextLock::for_tests());
    lock.acquire();
    lock.acquire();
    lock.release();
    let other = Arc::clone(&lock);
    let refused = thread::spawn(move || !other.try_acquire()).join().unwrap();
    assert!(refused);
    lock.release();
    let other = Arc::clone(&lock);
    let taken = thread::spawn(move || {
        let taken = other.try_acquire();
        if taken {
            other.release();
        }
        taken
    })
    .join()
    .unwrap();
    assert!(taken);
}

#[test]
fn who_takes_it_often_has_the_bias_until_another_comes() {
    let lock = Arc::new(ContextLock::for_tests());
    for _ in 0..STREAK + 2 {
        let _once = lock.guard();
        let _twice = lock.guard();
        assert!(lock.held_by_me());
    }
    let biased = lock.is_biased();
    assert_eq!(biased, lock.words.can_bias);
    let held = lock.guard();
    assert!(lock.held_by_me() && lock.owner() != 0);
    let other = Arc::clone(&lock);
    assert!(thread::spawn(move || !other.try_acquire()).join().unwrap());
    // The bias is gone, the lock is not.
    assert!(!lock.is_biased());
    lock.acquire();
    lock.release();
    assert!(lock.held_by_me());
    drop(held);
    assert!(!lock.held_by_me());
}

#[test]
fn increments_under_the_lock_are_not_lost() {
    struct Guarded(ContextLock, std::cell::UnsafeCell<u64>);
    // SAFETY: the cell is touched under the lock only.
    unsafe impl Sync for Guarded {}
    impl Guarded {
        fn increment(&self) {
            let _held = self.0.guard();
            // SAFETY: under the lock.
            unsafe { *self.1.get() += 1 };
        }
    }
    let lock = Arc::new(Guarded(ContextLock::for_tests(), std::cell::UnsafeCell::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                for _ in 0..20 {
                    (0..500).for_each(|_| lock.increment());
                    thread::sleep(Duration::from_micros(50)); // Long enough for the lock to be biased now and then.
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    // SAFETY: all threads have ended.
    assert_eq!(unsafe { *lock.1.get() }, 40_000);
}

/// Whoever polls with the lock held, and takes it again at once, lets those who wait have it: each
/// turn of theirs takes one offer.
#[test]
fn a_holder_that_polls_hands_it_over_to_whoever_waits() {
    const TURNS: u32 = 1000;
    let lock = Arc::new(ContextLock::for_tests());
    lock.acquire();
    lock.acquire();
    let other = Arc::clone(&lock);
    let waiter = thread::spawn(move || {
        for _ in 0..TURNS {
            other.acquire();
            other.release();
        }
    });
    let mut offers = 0;
    while !waiter.is_finished() {
        // Between two of its turns the waiter wants nothing.
        if lock.has_waiters() {
            lock.hand_over();
            offers += 1;
            assert!(lock.held_by_me() && lock.words.depth.get() == 2);
        }
    }
    waiter.join().unwrap();
    // A waiter that is stopped for long while the lock is offered takes more than one offer.
    assert!(offers <= 2 * TURNS, "{offers} offers for {TURNS} turns");
}

#[test]
fn a_waiter_that_sleeps_is_woken_and_work_does_not_count_as_one() {
    let lock = Arc::new(ContextLock::for_tests());
    lock.announce_work();
    assert!(lock.is_wanted() && !lock.has_waiters());
    lock.work_begins();
    assert!(!lock.is_wanted());
    for _ in 0..20 {
        lock.acquire();
        let other = Arc::clone(&lock);
        let waiter = thread::spawn(move || drop(other.guard()));
        while !lock.has_waiters() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(2)); // Long enough for it to sleep.
        lock.release();
        waiter.join().unwrap();
        assert!(!lock.is_wanted());
    }
}

#[test]
fn a_short_section_that_calls_others_after_all_keeps_the_lock_when_they_nest() {
    let lock = ContextLock::for_tests();
    for _ in 0..STREAK + 2 {
        let _once = lock.guard();
    }
    let Some(section) = lock.enter_biased() else {
        assert!(!lock.words.can_bias);
        return;
    };
    lock.keep(section);
    drop(lock.guard());
    assert!(lock.held_by_me());
    // The program's levels are its own.
    assert!(!lock.release_for_program());
    lock.acquire_for_program();
    lock.without(|| assert!(!lock.held_by_me()));
    assert!(lock.release_for_program() && !lock.release_for_program());
    assert!(lock.held_by_me());
    lock.release();
    assert!(!lock.held_by_me());
}

#[test]
fn a_section_of_a_call_that_is_within_no_other_is_refused_to_who_holds_the_lock() {
    let lock = ContextLock::for_tests();
    for _ in 0..STREAK + 2 {
        let _once = lock.guard();
    }
    let Some(section) = lock.enter_easily() else {
        assert!(!lock.words.can_bias);
        return;
    };
    assert!(lock.held_by_me() && lock.enter_easily().is_none());
    assert!(lock.enter_biased().is_some(), "one that nests");
    lock.leave_biased(section);
    assert!(!lock.held_by_me());
    let _held = lock.guard();
    assert!(lock.enter_easily().is_none());
}

/// Whoever waits lets others in, and may hold the lock in another way afterwards.
#[test]
fn a_section_in_which_the_bias_was_lost_lets_go_of_the_lock_all_the_same() {
    let lock = ContextLock::for_tests();
    for _ in 0..STREAK + 2 {
        drop(lock.guard());
    }
    let outer = lock.acquire_section();
    let inner = lock.acquire_section();
    thread::scope(|scope| {
        let lock = &lock;
        lock.without(|| scope.spawn(|| drop(lock.guard())).join().unwrap());
    });
    lock.release_section(inner);
    assert!(lock.held_by_me());
    lock.release_section(outer);
    assert!(!lock.held_by_me());
    assert_eq!(lock.owner(), 0);
}

#[test]
fn a_brief_hold_keeps_others_out_and_survives_being_nested() {
    let lock = ContextLock::for_tests();
    for _ in 0..STREAK + 2 {
        drop(lock.guard());
    }
    for quick in [lock.words.can_bias, false] {
        let brief = lock.acquire_briefly();
        assert_eq!(brief.quick, quick);
        // Core takes the lock once more, and a nested hold is as good as the outer one.
        drop((lock.guard(), lock.acquire_briefly()));
        assert!(lock.held_by_me());
        let refused = thread::scope(|scope| scope.spawn(|| !lock.try_acquire()).join().unwrap());
        assert!(refused);
        drop(brief);
        assert!(!lock.held_by_me());
        // The other thread has taken the bias away.
        assert!(!lock.is_biased());
    }
}

#[test]
fn a_signal_handler_does_not_hand_the_lock_to_the_thread_that_it_interrupted() {
    let lock = Arc::new(ContextLock::for_tests());
    let me = thread_word();
    // As if a signal had come while this thread waits.
    lock.waiters.come(me);
    assert!(lock.waiters.are_only(me));
    let other = Arc::clone(&lock);
    thread::spawn(move || assert!(!other.waiters.are_only(thread_word()))).join().unwrap();
    lock.acquire();
    let turn = lock.waiters.turn();
    lock.hand_over();
    assert!(lock.held_by_me() && lock.waiters.turn() == turn);
    lock.release();
    lock.waiters.go(true);
    assert!(!lock.is_wanted() && !lock.waiters.are_only(me));
}

#[test]
fn who_waits_for_a_limited_time_gives_up_and_leaves_nothing_behind() {
    let lock = Arc::new(ContextLock::for_tests());
    // By compare-and-swap, and by the bias.
    for _ in 0..STREAK + 2 {
        lock.acquire();
        lock.release();
    }
    for _ in 0..2 {
        lock.acquire();
        let other = Arc::clone(&lock);
        let taken = thread::spawn(move || other.acquire_for_program_within(Duration::from_millis(2)));
        assert!(!taken.join().unwrap());
        assert!(lock.held_by_me() && !lock.is_held_by_program_here() && !lock.is_wanted());
        lock.release();
    }
    let other = Arc::clone(&lock);
    let holder = thread::spawn(move || {
        let taken = other.acquire_for_program_within(Duration::from_secs(3600));
        taken && other.is_held_by_program_here() && other.release_for_program()
    });
    assert!(holder.join().unwrap());
    assert!(lock.try_acquire());
    lock.release();
}

#[test]
fn who_waits_for_a_limited_time_gets_the_lock_from_whoever_gives_it_back() {
    let lock = Arc::new(ContextLock::for_tests());
    lock.acquire();
    let other = Arc::clone(&lock);
    let waiter = thread::spawn(move || {
        let taken = other.acquire_for_program_within(Duration::from_secs(3600));
        taken && other.release_for_program()
    });
    // A waiter that gets no core for long is not waited for.
    while !waiter.is_finished() {
        lock.hand_over();
    }
    assert!(waiter.join().unwrap());
    lock.release();
}
