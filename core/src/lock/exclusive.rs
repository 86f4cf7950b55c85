//! Data that one thread at a time may use, behind the lock of contexts.

use super::{ContextLock, Section};
use crate::crowding::Crowding;
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Data behind a lock which costs a thread that alone uses it two plain stores. The first use by
/// another thread costs a system call.
pub struct Exclusive<T> {
    lock: ContextLock,
    /// The lock lets a thread in twice, this one does not.
    taken: Cell<bool>,
    data: UnsafeCell<T>,
}

// SAFETY: the flag and the data are touched by the lock's holder only, and the data may go from
// thread to thread.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// Puts data behind a lock of its own.
    pub fn new(data: T) -> Self {
        let lock = ContextLock::new(Arc::new(Crowding::new(false)));
        Self { lock, taken: Cell::new(false), data: UnsafeCell::new(data) }
    }

    /// Waits until no other thread has the data.
    ///
    /// # Panics
    /// If the calling thread has it already.
    // A guard that stays in registers is a fair part cheaper than one that a call writes to memory.
    #[inline(always)]
    pub fn lock(&self) -> ExclusiveGuard<'_, T> {
        let section = self.lock.enter_biased();
        if section.is_none() {
            self.acquire();
        }
        self.guard(section)
    }

    #[cold]
    fn release(&self) {
        self.lock.release();
    }

    #[cold]
    fn acquire(&self) {
        self.lock.acquire();
    }

    /// The data, if nobody has it: not the calling thread either, which a signal handler may have
    /// interrupted.
    pub fn try_lock(&self) -> Option<ExclusiveGuard<'_, T>> {
        if self.lock.held_by_me() {
            return None;
        }
        self.lock.try_acquire().then(|| self.guard(None))
    }

    /// The data.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }

    #[inline(always)]
    fn guard<'a>(&'a self, section: Option<Section<'a>>) -> ExclusiveGuard<'a, T> {
        if self.taken.replace(true) {
            self.is_taken(section.is_none());
        }
        ExclusiveGuard { of: self, section, of_this_thread: PhantomData }
    }

    /// The calling thread has it already. `acquired`: and once more by now.
    #[cold]
    fn is_taken(&self, acquired: bool) -> ! {
        if acquired {
            self.lock.release();
        }
        panic!("a thread takes a lock that it holds");
    }
}

impl<T> std::fmt::Debug for Exclusive<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exclusive").finish_non_exhaustive()
    }
}

/// The data, until this is dropped.
///
/// It stays with its thread:
/// ```compile_fail
/// # use lapis_core::lock::{Exclusive, ExclusiveGuard};
/// fn goes<T: Send>(_: T) {}
/// fn guard(guard: ExclusiveGuard<'_, u8>) {
///     goes(guard);
/// }
/// ```
#[must_use = "it gives the lock back when it is dropped"]
pub struct ExclusiveGuard<'a, T> {
    of: &'a Exclusive<T>,
    /// How the lock was taken, if by the bias.
    section: Option<Section<'a>>,
    /// A lock belongs to the thread that took it.
    of_this_thread: PhantomData<*const ()>,
}

impl<T> std::fmt::Debug for ExclusiveGuard<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExclusiveGuard").finish_non_exhaustive()
    }
}

impl<T> Deref for ExclusiveGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock, and there is one guard at a time.
        unsafe { &*self.of.data.get() }
    }
}

impl<T> DerefMut for ExclusiveGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock, and there is one guard at a time.
        unsafe { &mut *self.of.data.get() }
    }
}

impl<T> Drop for ExclusiveGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.of.taken.set(false);
        match self.section.take() {
            Some(section) => {
                self.of.lock.leave_biased(section);
                // Unlike a context's short sections, this may have been long.
                self.of.lock.waiters.wake();
            }
            None => self.of.release(),
        }
    }
}

// ThreadSanitizer knows nothing of the lock's `membarrier(2)`.
#[cfg(all(test, not(loom), not(lapis_tsan)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn threads_take_turns() {
        let count = Exclusive::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let mut count = count.lock();
                        let seen = *count;
                        *count = seen + 1;
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 6000);
    }

    #[test]
    fn who_has_it_is_not_given_it_once_more_and_keeps_it() {
        let data = Exclusive::new(1);
        // Often enough for the lock's bias.
        for _ in 0..300 {
            let guard = data.lock();
            assert!(data.try_lock().is_none());
            assert_eq!(*guard, 1);
        }
        assert!(data.try_lock().is_some());
    }

    #[test]
    fn what_somebody_has_is_not_there_for_others() {
        let data = Exclusive::new(1);
        let (say, hear) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        std::thread::scope(|scope| {
            let data = &data;
            scope.spawn(move || {
                let _guard = data.lock();
                say.send(()).expect("somebody listens");
                ended.recv().expect("somebody says so");
            });
            hear.recv().expect("the thread has it");
            assert!(data.try_lock().is_none());
            end.send(()).expect("the thread waits");
        });
        assert!(data.try_lock().is_some());
    }

    #[test]
    #[should_panic(expected = "a lock that it holds")]
    fn nobody_takes_it_twice() {
        let data = Exclusive::new(1);
        let _first = data.lock();
        let _second = data.lock();
    }
}
