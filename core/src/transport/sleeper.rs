//! What keeps an instance open, and how threads sleep in it.

use super::abi::TransportOps;
use crate::sync::{Arc, AtomicBool, AtomicU32, Ordering};
use std::ffi::c_void;
use std::time::{Duration, Instant};

/// What closes the instance.
pub(super) struct Opened {
    pub(super) instance: *mut c_void,
    pub(super) table: TransportOps,
    closed: AtomicBool,
}

// SAFETY: the pointer is used by `close`, which runs once, and by the waiter's entries, made for
// any thread.
unsafe impl Send for Opened {}
// SAFETY: shared, it gives access to the waiter's entries alone, made for any thread.
unsafe impl Sync for Opened {}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.closed.load(Ordering::Relaxed) {
            // SAFETY: nobody has the instance any more.
            unsafe { self.close() }
        }
    }
}

impl Opened {
    pub(super) fn new(instance: *mut c_void, table: TransportOps) -> Self {
        Self { instance, table, closed: AtomicBool::new(false) }
    }

    /// # Safety
    /// The instance is open, and this is its last use.
    unsafe fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        if let Some(close) = self.table.close {
            // SAFETY: whoever calls this has promised that the instance is open and used no more.
            unsafe { close(self.instance) };
        }
    }
}

/// How any thread sleeps until a link has something to poll, and ends others' sleep. Keeps the
/// instance open unless it is [released](Self::release).
pub struct Sleeper {
    ops: Box<TransportOps>,
    opened: Arc<Opened>,
    /// Threads that use the instance, and [`RELEASED`].
    users: AtomicU32,
}

/// Nobody begins to use the instance any more.
const RELEASED: u32 = 1 << 31;

/// Between two looks whether the last user has gone.
const LOOK: Duration = Duration::from_micros(100);

/// An instance that stays open as long as a thread uses it.
pub(crate) struct InUse<'a>(&'a Sleeper);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        // SYNC: Release pairs with the Acquire in `release`: the use has ended.
        self.0.users.fetch_sub(1, Ordering::Release);
    }
}

impl InUse<'_> {
    /// See [`Waiter::wait`](super::Waiter::wait).
    pub(crate) fn wait(&self, timeout_ns: u64) {
        // SAFETY: the instance is open; the resolved table has every entry.
        unsafe { (self.0.ops.wait.unwrap_unchecked())(self.0.opened.instance, timeout_ns) }
    }

    /// See [`Waiter::fd`](super::Waiter::fd).
    pub(crate) fn fd(&self) -> i32 {
        // SAFETY: the instance is open; the resolved table has every entry.
        unsafe { (self.0.ops.wait_fd.unwrap_unchecked())(self.0.opened.instance) }
    }
}

impl Sleeper {
    pub(super) fn new(ops: &TransportOps, opened: &Arc<Opened>) -> Self {
        Self { ops: Box::new(*ops), opened: Arc::clone(opened), users: AtomicU32::new(0) }
    }

    /// Begins to use the instance. `None`: it has been released.
    pub(crate) fn enter(&self) -> Option<InUse<'_>> {
        // SYNC: Acquire: what follows is not begun before this thread is counted.
        let before = self.users.fetch_add(1, Ordering::Acquire);
        let used = InUse(self);
        (before & RELEASED == 0).then_some(used)
    }

    /// See [`Waiter::wait`](super::Waiter::wait). Does not sleep once it is released.
    pub fn wait(&self, timeout_ns: u64) {
        if let Some(used) = self.enter() {
            used.wait(timeout_ns);
        }
    }

    /// See [`Waiter::wake`](super::Waiter::wake).
    pub fn wake(&self) {
        if let Some(_used) = self.enter() {
            self.ring();
        }
    }

    /// Ends the sleep of a thread that uses the instance, which is open.
    fn ring(&self) {
        // SAFETY: the instance is open; the resolved table has every entry.
        unsafe { (self.ops.wake.unwrap_unchecked())(self.opened.instance) }
    }

    /// See [`Waiter::fd`](super::Waiter::fd). -1 once it is released.
    pub fn fd(&self) -> i32 {
        self.enter().map_or(-1, |used| used.fd())
    }

    /// Lets go of the instance, which is closed if nothing else keeps it open. Threads that sleep
    /// are woken first; if one does not leave in time, the instance stays open.
    pub fn release(&self, at_most: Duration) {
        self.users.fetch_or(RELEASED, Ordering::Relaxed);
        let deadline = Instant::now() + at_most;
        // SYNC: Acquire pairs with `InUse::drop`.
        while self.users.load(Ordering::Acquire) != RELEASED {
            if Instant::now() > deadline {
                return tracing::debug!("a thread sleeps on and keeps its transport open");
            }
            self.ring();
            std::thread::sleep(LOOK);
        }
        // Nobody can get at the instance but through this sleeper, and nobody does.
        if Arc::strong_count(&self.opened) == 1 && !self.opened.closed.load(Ordering::Relaxed) {
            // SAFETY: the instance is open, and as said above.
            unsafe { self.opened.close() }
        }
    }
}

impl std::fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleeper").finish_non_exhaustive()
    }
}
