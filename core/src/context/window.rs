//! Memory of peers that is mapped here.

use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use crate::transport::Window;

/// A peer's memory that is mapped here. Fixed from the first contact on, except that it may be
/// closed.
pub(crate) struct PeerWindow {
    remote_base: AtomicU64,
    len: AtomicU64,
    /// How long it is when it is open; 0 for good if the process that mapped it has been replaced.
    full: AtomicU64,
    local_base: AtomicPtr<u8>,
    /// What is mapped is not known before the first contact.
    unmet: AtomicBool,
}

impl PeerWindow {
    /// `None`: of a peer with which there is no contact yet.
    pub(super) fn new(window: Option<&Window>) -> Self {
        let this = Self {
            remote_base: AtomicU64::new(0),
            len: AtomicU64::new(0),
            full: AtomicU64::new(0),
            local_base: AtomicPtr::new(std::ptr::null_mut()),
            unmet: AtomicBool::new(true),
        };
        if let Some(window) = window {
            this.met(window);
        }
        this
    }

    /// The peer is known from now on. `window` is empty if none of its memory is mapped.
    pub(super) fn met(&self, window: &Window) {
        self.remote_base.store(window.remote_base, Ordering::Relaxed);
        self.local_base.store(window.local_base, Ordering::Relaxed);
        self.full.store(window.len, Ordering::Relaxed);
        // SYNC: pairs with the Acquire load in `find`: whoever sees the length sees where it is.
        self.len.store(window.len, Ordering::Release);
        self.unmet.store(false, Ordering::Relaxed);
    }

    /// Whether a look for the peer's memory may help.
    pub(crate) fn is_unmet(&self) -> bool {
        self.unmet.load(Ordering::Relaxed)
    }

    /// Where a range of the peer's memory is mapped here.
    #[inline(always)]
    pub(crate) fn find(&self, remote: u64, len: u64) -> Option<*mut u8> {
        // SYNC: pairs with the Release store in `met`.
        let size = self.len.load(Ordering::Acquire);
        let offset = remote.wrapping_sub(self.remote_base.load(Ordering::Relaxed));
        // Not `add`: for the task itself the window is the whole address space.
        let at = || self.local_base.load(Ordering::Relaxed).wrapping_add(offset as usize);
        (offset < size && len <= size - offset).then(at)
    }

    /// Prevents new writes to it. It stays mapped, for writes in progress.
    pub(crate) fn close(&self) {
        self.len.store(0, Ordering::Relaxed);
    }

    /// Reaches the peer again.
    pub(crate) fn open(&self) {
        // SYNC: pairs with the Acquire load in `find`: whoever sees the length sees where it is,
        // also if `met` said so while the window was closed.
        self.len.store(self.full.load(Ordering::Relaxed), Ordering::Release);
    }

    /// What is mapped is no longer the peer's.
    pub(super) fn close_for_good(&self) {
        self.full.store(0, Ordering::Relaxed);
        self.unmet.store(false, Ordering::Relaxed);
        self.close();
    }
}
