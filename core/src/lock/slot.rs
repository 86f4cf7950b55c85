//! The slot by which a thread that has the bias takes the lock without a compare-and-swap.

use super::barrier;
use crate::sync::{AtomicUsize, Ordering};

/// A thread word is even, so this is none.
const UNUSED: usize = 1;

/// Where a thread that had the bias once says that it holds the lock. It keeps its slot: a thread
/// that was stopped on its way in when another one got the bias must not write where that one does.
#[derive(Debug)]
pub(super) struct Slot {
    /// Whose it is, 0 for nobody's. Written once, by that thread while it owns the lock.
    pub(super) thread: AtomicUsize,
    /// The same as long as that thread has the bias, 0 otherwise. Others take `owner` first and
    /// then revoke this.
    pub(super) bias: AtomicUsize,
    /// What that thread compares with its word on its way in: the same as long as it may hope to
    /// have the bias, odd since it found that it has not. 0 while it holds the lock (or finds out
    /// whether it may). Only it writes this.
    free: AtomicUsize,
}

impl Slot {
    /// A slot that is nobody's.
    pub(super) fn unused() -> Self {
        let [thread, bias] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        Self { thread, bias, free: AtomicUsize::new(UNUSED) }
    }

    /// Gives the calling thread, whose word this is and which owns the lock, this slot and the
    /// bias.
    pub(super) fn grant(&self, me: usize) {
        self.thread.store(me, Ordering::Relaxed);
        self.free.store(me, Ordering::Relaxed);
        self.bias.store(me, Ordering::Relaxed);
    }

    /// Whether this is the slot of a thread that has the bias.
    #[inline(always)]
    pub(super) fn is_biased(&self, thread: usize) -> bool {
        self.bias.load(Ordering::Relaxed) == thread
    }

    /// Whether the calling thread may try to [`hold`](Self::hold) the lock here: it is its slot,
    /// and it does not hold the lock, neither here nor by `owner`.
    #[inline(always)]
    pub(super) fn may_try(&self, me: usize) -> bool {
        self.free.load(Ordering::Relaxed) == me
    }

    /// Whether the thread whose slot this is holds the lock here.
    #[inline(always)]
    pub(super) fn is_held(&self) -> bool {
        // SYNC: Acquire pairs with the Release of `leave`; the thread itself needs none, and pays
        // nothing for it on x86.
        self.free.load(Ordering::Acquire) == 0
    }

    /// Lets the calling thread, which [may try](Self::may_try), hold the lock if it has the bias
    /// still; says whether it has.
    #[inline(always)]
    pub(super) fn hold(&self, me: usize) -> bool {
        self.free.store(0, Ordering::Relaxed);
        // Pairs with the heavy barrier in `revoke_bias`: either that thread sees that the lock is
        // held, or this one sees the change below.
        barrier::light();
        if self.is_biased(me) {
            return true;
        }
        // SYNC: nothing was done under the lock; Release as for every such store here.
        self.free.store(me | UNUSED, Ordering::Release);
        false
    }

    /// The thread whose slot this is lets go of the lock.
    #[inline(always)]
    pub(super) fn leave(&self) {
        // SYNC: Release pairs with the Acquire of `is_held`.
        self.free.store(self.thread.load(Ordering::Relaxed), Ordering::Release);
    }
}
