//! Memory of peers that is mapped here.

use crate::sync::{AtomicU64, Ordering};
use crate::transport::Window;

/// A peer's memory that is mapped here. Fixed after initialisation, except that it may be closed.
pub(crate) struct PeerWindow {
    pub(crate) remote_base: u64,
    len: AtomicU64,
    /// How long it is when it is open; 0 for good if the process that mapped it has been replaced.
    full: AtomicU64,
    pub(crate) local_base: *mut u8,
}

impl PeerWindow {
    pub(super) fn new(window: &Window) -> Self {
        Self {
            remote_base: window.remote_base,
            len: AtomicU64::new(window.len),
            full: AtomicU64::new(window.len),
            local_base: window.local_base,
        }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Nobody new writes to it. It stays mapped, for whoever does at this moment.
    pub(crate) fn close(&self) {
        self.len.store(0, Ordering::Relaxed);
    }

    /// Reaches the peer again.
    pub(crate) fn open(&self) {
        self.len.store(self.full.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// What is mapped is no longer the peer's.
    pub(super) fn close_for_good(&self) {
        self.full.store(0, Ordering::Relaxed);
        self.close();
    }
}
