//! What keeps an instance open, and how threads sleep in it.

use super::abi::TransportOps;
use crate::sync::Arc;
use std::ffi::c_void;

/// What closes the instance.
pub(super) struct Opened {
    pub(super) instance: *mut c_void,
    pub(super) table: TransportOps,
}

// SAFETY: the pointer is used by `close`, which runs once, and by the waiter's entries, made for
// any thread.
unsafe impl Send for Opened {}
// SAFETY: shared, it gives access to the waiter's entries alone, made for any thread.
unsafe impl Sync for Opened {}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(close) = self.table.close {
            // SAFETY: the instance is live and this is its last use.
            unsafe { close(self.instance) };
        }
    }
}

/// How any thread sleeps until a link has something to poll, and ends others' sleep. Keeps the
/// instance open.
pub struct Sleeper {
    pub(super) ops: Box<TransportOps>,
    pub(super) opened: Arc<Opened>,
}

impl Sleeper {
    /// See [`Waiter::wait`](super::Waiter::wait).
    pub fn wait(&self, timeout_ns: u64) {
        // SAFETY: the instance is open as long as `opened` is; the resolved table has every entry.
        unsafe { (self.ops.wait.unwrap_unchecked())(self.opened.instance, timeout_ns) }
    }

    /// See [`Waiter::wake`](super::Waiter::wake).
    pub fn wake(&self) {
        // SAFETY: the instance is open as long as `opened` is; the resolved table has every entry.
        unsafe { (self.ops.wake.unwrap_unchecked())(self.opened.instance) }
    }

    /// See [`Waiter::fd`](super::Waiter::fd).
    pub fn fd(&self) -> i32 {
        // SAFETY: the instance is open as long as `opened` is; the resolved table has every entry.
        unsafe { (self.ops.wait_fd.unwrap_unchecked())(self.opened.instance) }
    }
}

impl std::fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleeper").finish_non_exhaustive()
    }
}
