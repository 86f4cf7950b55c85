//! The slot by which a thread that has the bias takes the lock without a compare-and-swap.

use super::barrier;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// Where a thread that had the bias once says that it holds the lock. It keeps its slot: a thread
/// that was stopped on its way in when another one got the bias must not write where that one does.
#[derive(Debug)]
pub(super) struct Slot {
    /// Whose it is, 0 for nobody's. Written once, by that thread while it owns the lock.
    pub(super) thread: AtomicUsize,
    /// The same as long as that thread has the bias, 0 otherwise. Others take `owner` first and
    /// then revoke this.
    pub(super) bias: AtomicUsize,
    /// Whether that thread holds the lock (or finds out that it may not). Only it writes this.
    pub(super) held: AtomicBool,
}

impl Slot {
    /// A slot that is nobody's.
    pub(super) fn unused() -> Self {
        Self { thread: AtomicUsize::new(0), bias: AtomicUsize::new(0), held: AtomicBool::new(false) }
    }

    /// Whether this is the slot of a thread that has the bias.
    #[inline(always)]
    pub(super) fn is_biased(&self, thread: usize) -> bool {
        self.bias.load(Ordering::Relaxed) == thread
    }

    /// Lets the calling thread, which had the bias a moment ago, hold the lock; says whether it has
    /// it still.
    #[inline(always)]
    pub(super) fn hold(&self, me: usize) -> bool {
        self.held.store(true, Ordering::Relaxed);
        // Pairs with the heavy barrier in `revoke_bias`: either that thread sees `held`, or this
        // one sees the change below.
        barrier::light();
        if self.is_biased(me) {
            return true;
        }
        // SYNC: nothing was done under the lock; Release as for every such store here.
        self.held.store(false, Ordering::Release);
        false
    }
}
