//! The one lock of a context: recursive by ownership, cheap when uncontended, never held across a sleep.

use crate::sync::{AtomicU32, AtomicUsize, CachePadded, Ordering, spin_loop, thread};
use std::cell::Cell;
use std::time::Duration;

/// A recursive lock.
///
/// The owner is known by a word that differs between threads, so a nested acquisition costs one load. Unlocking is a
/// plain store: waiters that give up spinning sleep in short slices, so no wake-up can be lost for longer than a slice.
#[derive(Debug)]
pub(crate) struct ContextLock {
    owner: CachePadded<AtomicUsize>,
    /// Threads that want the lock; the holder of a polling loop looks here to be polite.
    wanted: CachePadded<AtomicU32>,
    depth: Cell<u32>,
}

// SAFETY: `depth` is touched by the owner only.
unsafe impl Sync for ContextLock {}
// SAFETY: nothing in it belongs to a thread unless the lock is held.
unsafe impl Send for ContextLock {}

impl ContextLock {
    pub(crate) fn new() -> Self {
        Self {
            owner: CachePadded::new(AtomicUsize::new(0)),
            wanted: CachePadded::new(AtomicU32::new(0)),
            depth: Cell::new(0),
        }
    }

    /// Takes the lock; returns the depth before (0: it was free).
    #[inline(always)]
    pub(crate) fn acquire(&self) {
        let me = thread_word();
        // SYNC: Acquire pairs with `release`'s Release.
        if self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.acquire_slow(me);
        }
        self.depth.set(self.depth.get() + 1);
    }

    /// Takes the lock if nobody else holds it.
    #[inline]
    pub(crate) fn try_acquire(&self) -> bool {
        let me = thread_word();
        // SYNC: as for `acquire`.
        let taken = self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
            || self.owner.load(Ordering::Relaxed) == me;
        if taken {
            self.depth.set(self.depth.get() + 1);
        }
        taken
    }

    #[cold]
    fn acquire_slow(&self, me: usize) {
        if self.owner.load(Ordering::Relaxed) == me {
            return;
        }
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let mut round = 0u32;
        loop {
            // SYNC: as for `acquire`.
            if self.owner.load(Ordering::Relaxed) == 0
                && self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                break;
            }
            round += 1;
            match round {
                0..64 => spin_loop(),
                64..72 => thread::yield_now(),
                _ => nap(Duration::from_micros(20)),
            }
        }
        self.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives the lock back (one level of it).
    #[inline(always)]
    pub(crate) fn release(&self) {
        let depth = self.depth.get() - 1;
        self.depth.set(depth);
        if depth == 0 {
            // SYNC: Release pairs with `acquire`.
            self.owner.store(0, Ordering::Release);
        }
    }

    /// Whether the calling thread holds the lock.
    #[inline]
    pub(crate) fn held_by_me(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == thread_word()
    }

    /// The word of the thread that holds the lock, 0 for none.
    pub(crate) fn owner(&self) -> usize {
        self.owner.load(Ordering::Relaxed)
    }

    /// Whether somebody waits for the lock.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    /// Holds the lock for a scope.
    #[inline(always)]
    pub(crate) fn guard(&self) -> LockGuard<'_> {
        self.acquire();
        LockGuard(self)
    }
}

/// Releases on drop.
pub(crate) struct LockGuard<'a>(&'a ContextLock);

impl Drop for LockGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A word that no other live thread has, and never 0.
#[inline(always)]
fn thread_word() -> usize {
    // The thread pointer is one instruction away; a thread-local of ours would be a function call in a shared library.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    {
        let word: usize;
        // SAFETY: on this ABI fs:0 holds the thread control block's own address; reading it has no effect.
        unsafe {
            std::arch::asm!("mov {}, fs:0", out(reg) word, options(nostack, preserves_flags, readonly))
        };
        word
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    {
        // SAFETY: has no preconditions. On x86-64 this is what fs:0 holds, too.
        unsafe { libc::pthread_self() as usize }
    }
}

#[cfg(not(loom))]
fn nap(d: Duration) {
    thread::sleep(d);
}

#[cfg(loom)]
fn nap(_: Duration) {
    thread::yield_now();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::Arc;

    #[test]
    fn nested_acquisition_by_the_owner_does_not_block() {
        let lock = ContextLock::new();
        let _a = lock.guard();
        let _b = lock.guard();
        assert!(lock.held_by_me());
    }

    #[test]
    fn another_thread_is_kept_out_until_the_last_release() {
        let lock = Arc::new(ContextLock::new());
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
        let lock = Arc::new(Guarded(ContextLock::new(), std::cell::UnsafeCell::new(0)));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || (0..10_000).for_each(|_| lock.increment()))
            })
            .collect();
        for t in threads {
            t.join().unwrap();
        }
        // SAFETY: all threads have ended.
        assert_eq!(unsafe { *lock.1.get() }, 40_000);
    }
}
