//! A mutex, a condition variable and a cell written once, for runs under ThreadSanitizer (`--cfg
//! lapis_tsan`).
//!
//! The standard library comes compiled without the sanitizer: what its own synchronise out of line,
//! such as a condition variable that lets go of its mutex, is invisible, and everything that they
//! guard looks like a race. These are slow and simple, and compiled with the rest.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::{Duration, Instant};

/// Between two looks of a thread that waits.
const NAP: Duration = Duration::from_micros(50);

/// As `std::sync::Mutex`; never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    locked: AtomicBool,
    data: UnsafeCell<T>,
}

// SAFETY: whoever has the lock has the data to itself.
unsafe impl<T: Send> Sync for Mutex<T> {}

/// As `std::sync::MutexGuard`.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(&'a Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(data: T) -> Self {
        Self { locked: AtomicBool::new(false), data: UnsafeCell::new(data) }
    }

    /// The data, of which the caller is the only user.
    ///
    /// # Errors
    /// Never.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.data.get_mut())
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// Never; the type is that of the standard library.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        // SYNC: Acquire pairs with the Release of the guard's drop.
        while self.locked.swap(true, Ordering::Acquire) {
            std::thread::sleep(NAP);
        }
        Ok(MutexGuard(self))
    }

    /// The lock, if nobody has it.
    ///
    /// # Errors
    /// Somebody has it.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        // SYNC: Acquire pairs with the Release of the guard's drop.
        match self.locked.swap(true, Ordering::Acquire) {
            true => Err(TryLockError::WouldBlock),
            false => Ok(MutexGuard(self)),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.data.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.data.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // SYNC: Release pairs with `lock`.
        self.0.locked.store(false, Ordering::Release);
    }
}

/// As `std::sync::Condvar`. A notification wakes all that wait, which is allowed.
#[derive(Debug, Default)]
pub struct Condvar {
    notified: AtomicU32,
}

impl Condvar {
    /// A condition variable that nobody waits for.
    pub const fn new() -> Self {
        Self { notified: AtomicU32::new(0) }
    }

    /// Lets go of the lock until a notification.
    ///
    /// # Errors
    /// Never.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_timeout(guard, Duration::MAX)
            .map(|(guard, _)| guard)
            .map_err(|e| PoisonError::new(e.into_inner().0))
    }

    /// The same for so long at most. True: that long.
    ///
    /// # Errors
    /// Never.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let mutex = guard.0;
        let before = self.notified.load(Ordering::Relaxed);
        drop(guard);
        let start = Instant::now();
        let late = loop {
            if self.notified.load(Ordering::Relaxed) != before {
                break false;
            }
            if start.elapsed() >= limit {
                break true;
            }
            std::thread::sleep(NAP);
        };
        mutex.lock().map(|guard| (guard, late)).map_err(|e| PoisonError::new((e.into_inner(), late)))
    }

    /// The same as long as `condition` holds.
    ///
    /// # Errors
    /// Never.
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let start = Instant::now();
        while condition(&mut guard) {
            let Some(left) = limit.checked_sub(start.elapsed()) else { return Ok((guard, true)) };
            guard = self.wait_timeout(guard, left)?.0;
        }
        Ok((guard, false))
    }

    /// Wakes who waits.
    pub fn notify_one(&self) {
        self.notify_all();
    }

    /// Wakes who waits.
    pub fn notify_all(&self) {
        self.notified.fetch_add(1, Ordering::Relaxed);
    }
}

/// As `std::sync::OnceLock`.
#[derive(Debug, Default)]
pub struct OnceLock<T> {
    ready: AtomicBool,
    filling: Mutex<()>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written by one thread under the lock, and shared from then on.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// An empty cell.
    pub const fn new() -> Self {
        Self { ready: AtomicBool::new(false), filling: Mutex::new(()), value: UnsafeCell::new(None) }
    }

    /// What it was given, if it was.
    pub fn get(&self) -> Option<&T> {
        // SYNC: Acquire pairs with the Release of `get_or_init`.
        let ready = self.ready.load(Ordering::Acquire);
        // SAFETY: nobody writes the value any more.
        ready.then(|| unsafe { &*self.value.get() }.as_ref())?
    }

    /// What it holds, which `init` gives it if it is empty.
    ///
    /// # Panics
    /// Never.
    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        let filling = self.filling.lock();
        if self.get().is_none() {
            let value = init();
            // SAFETY: the lock is held, and nobody reads before `ready` says so.
            unsafe { *self.value.get() = Some(value) };
            // SYNC: Release pairs with the Acquire of `get`.
            self.ready.store(true, Ordering::Release);
        }
        drop(filling);
        self.get().expect("just filled")
    }
}
