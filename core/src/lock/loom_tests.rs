//! Models of the lock.

use super::*;
use crate::sync::{Arc, UnsafeCell};

/// The lock leans towards the first thread, and another one comes in between.
#[test]
fn loom_the_favourite_and_another_exclude_each_other() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        struct Guarded(ContextLock, UnsafeCell<u32>);
        // SAFETY: the cell is touched under the lock only.
        unsafe impl Sync for Guarded {}
        // SAFETY: as above.
        unsafe impl Send for Guarded {}
        let shared = Arc::new(Guarded(ContextLock::new(), UnsafeCell::new(0)));
        let increment = |g: &Guarded| {
            let _held = g.0.guard();
            // SAFETY: under the lock; the model fails if two meet here.
            g.1.with_mut(|n| unsafe { *n += 1 });
        };
        for _ in 0..3 {
            increment(&shared);
        }
        assert_ne!(shared.0.words.favourite.load(Ordering::Relaxed), 0, "it leans");
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || increment(&other));
        increment(&shared);
        increment(&shared);
        thread.join().unwrap();
        let _held = shared.0.guard();
        // SAFETY: under the lock.
        assert_eq!(shared.1.with(|n| unsafe { *n }), 6);
    });
}

/// The lean goes to another thread while the first favourite is on its way in.
#[test]
fn loom_a_former_favourite_does_not_disturb_the_next_one() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        struct Guarded(ContextLock, UnsafeCell<u32>);
        // SAFETY: the cell is touched under the lock only.
        unsafe impl Sync for Guarded {}
        // SAFETY: as above.
        unsafe impl Send for Guarded {}
        let shared = Arc::new(Guarded(ContextLock::new(), UnsafeCell::new(0)));
        let increment = |g: &Guarded| {
            let _held = g.0.guard();
            // SAFETY: under the lock; the model fails if two meet here.
            g.1.with_mut(|n| unsafe { *n += 1 });
            assert!(g.0.held_by_me());
        };
        for _ in 0..2 {
            increment(&shared);
        }
        assert_ne!(shared.0.words.favourite.load(Ordering::Relaxed), 0, "it leans");
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            // Twice to get the lean, once to use it.
            for _ in 0..3 {
                increment(&other);
            }
        });
        increment(&shared);
        thread.join().unwrap();
        let _held = shared.0.guard();
        // SAFETY: under the lock.
        assert_eq!(shared.1.with(|n| unsafe { *n }), 6);
    });
}
