//! Who sleeps, and how a sender learns of it for the price of one load.
//!
//! Each segment has one attention word. A sender looks at it after publishing; zero, the usual
//! case, means that there is nothing more to do. The store of the message and the load of the word
//! must not pass each other. In polling mode the sender pays nothing for that (a compiler fence):
//! the receiver that wants to sleep makes every running task execute a barrier with
//! `membarrier(2)`. Where the receiver sleeps often (interrupt mode), or the kernel has no such
//! call, [`FENCE`] tells senders to pay for a real fence instead.

use lapis_core::sync::{AtomicU32, AtomicU64, Ordering, fence, membarrier};

/// Senders must put a full fence between message and this word.
pub(crate) const FENCE: u32 = 1;
/// Somebody sleeps.
pub(crate) const SLEEP: u32 = 2;
/// Senders mark their lane in the bitmap.
pub(crate) const BITMAP: u32 = 8;
/// The task has closed its end.
pub(crate) const CLOSED: u32 = 16;
/// As [`FENCE`], for ever: one of the senders can't be reached by a membarrier.
pub(crate) const NEEDY: u32 = 32;

/// The attention line of a segment.
#[repr(C, align(64))]
pub(crate) struct Attention {
    /// The bits above.
    pub(crate) word: AtomicU32,
    /// Counts wake-ups; what sleepers wait on.
    pub(crate) wakes: AtomicU32,
    /// Not 0: whoever sleeps may sleep on a descriptor, so the wake-up socket is written to as
    /// well. No bit of the word: it stays set, and is of interest only to who wakes a sleeper.
    pub(crate) on_descriptor: AtomicU32,
}

/// The sender's look at the word, after publishing.
///
/// # Safety
/// `line` is alive.
#[inline(always)]
pub(crate) unsafe fn look(line: *const Attention) -> u32 {
    // Pairs with the membarrier of `Sleeper::arm`. The model has none, and a fence in its place.
    membarrier::light(cfg!(loom));
    // SAFETY: the caller's promise.
    unsafe { (*line).word.load(Ordering::Relaxed) }
}

/// The sender's look, paid in full.
///
/// # Safety
/// `line` is alive.
pub(crate) unsafe fn look_again(line: *const Attention) -> u32 {
    // SYNC: pairs with the fence or membarrier of `Sleeper::arm`.
    fence(Ordering::SeqCst);
    // SAFETY: the caller's promise.
    unsafe { (*line).word.load(Ordering::Relaxed) }
}

/// Takes on the duty of waking: true for the one sender who must call the kernel.
///
/// # Safety
/// `line` is alive.
pub(crate) unsafe fn take_sleeper(line: *const Attention) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        // SYNC: pairs with the setting of SLEEP in `arm`; AcqRel so that exactly one sender gets
        // the bit and the count that follows is seen by whoever arms next.
        if (*line).word.fetch_and(!SLEEP, Ordering::AcqRel) & SLEEP == 0 {
            return false;
        }
        count_wake(line);
    }
    true
}

/// Makes present and announced sleeps end; the caller then calls the kernel.
///
/// # Safety
/// `line` is alive.
pub(crate) unsafe fn count_wake(line: *const Attention) {
    // SYNC: pairs with the Acquire load in `arm`.
    // SAFETY: the caller's promise.
    unsafe { (*line).wakes.fetch_add(1, Ordering::Release) };
}

/// The receiver's half.
pub(crate) struct Sleeper {
    line: *const Attention,
    /// Whether FENCE is set for senders ([`OFF`], [`ON`] or [`SETTLED`]), and above that how often
    /// it was changed, so that a thread that settles one change does not settle a later one.
    fence: AtomicU64,
}

/// FENCE is not set, or is about to be.
const OFF: u64 = 0;
/// FENCE is set, and some senders may not see it yet.
const ON: u64 = 1;
/// Every sender sees FENCE.
const SETTLED: u64 = 2;
/// The bits of these.
const STATE: u64 = 3;
/// What a change adds.
const CHANGE: u64 = 4;

// SAFETY: the line is shared memory made for many threads.
unsafe impl Send for Sleeper {}
// SAFETY: the line is shared memory made for many threads; the rest is atomic.
unsafe impl Sync for Sleeper {}

impl Sleeper {
    /// # Safety
    /// `line` outlives the result. No sender has seen the line yet.
    pub(crate) unsafe fn new(line: *const Attention, have_membarrier: bool) -> Self {
        let forced = !have_membarrier;
        let sleeper = Self { line, fence: AtomicU64::new(if forced { SETTLED } else { OFF }) };
        if forced {
            sleeper.set(FENCE);
        }
        sleeper
    }

    /// Switches between cheap sleeping with dearer sending, and the reverse. `keep` (no membarrier)
    /// makes the first permanent. One thread at a time; others may [arm](Self::arm) meanwhile.
    pub(crate) fn set_fence(&self, on: bool, keep: bool) {
        let now = self.fence.load(Ordering::Relaxed);
        if keep || (now & STATE != OFF) == on {
            return;
        }
        let changed = (now & !STATE).wrapping_add(CHANGE);
        // Whoever arms during the change falls back on the membarrier: the state says ON only
        // while FENCE is set.
        if on {
            self.set(FENCE);
            // SYNC: Release pairs with the Acquire load in `arm`: FENCE was set before. Acquire,
            // and a swap, so that it follows an exchange there.
            self.fence.swap(changed | ON, Ordering::AcqRel);
        } else {
            // SYNC: a thread that arms later than FENCE is cleared, in the order of the word, sees
            // this by `set`; one that arms earlier has set SLEEP for those who find FENCE cleared.
            // Acquire, and a swap, so that it follows an exchange in `arm`.
            self.fence.swap(changed | OFF, Ordering::AcqRel);
            self.clear(FENCE);
        }
    }

    /// Sets bits for senders.
    pub(crate) fn set(&self, bits: u32) {
        // SYNC: pairs with the senders' looks; ordered for real by the barrier that follows in
        // `arm`.
        // SAFETY: the line is alive.
        unsafe { (*self.line).word.fetch_or(bits, Ordering::AcqRel) };
    }

    /// Clears bits.
    pub(crate) fn clear(&self, bits: u32) {
        // SYNC: pairs with `take_sleeper`.
        // SAFETY: the line is alive.
        unsafe { (*self.line).word.fetch_and(!bits, Ordering::AcqRel) };
    }

    /// Announces sleep. Afterwards the caller looks for messages once more: a message that this
    /// look misses will raise `wakes` above the number returned. `barrier` is the membarrier.
    pub(crate) fn arm(&self, barrier: impl FnOnce()) -> u32 {
        // SYNC: pairs with `count_wake`. Read before SLEEP is set: a wake-up from now on counts.
        // SAFETY: the line is alive.
        let wakes = unsafe { (*self.line).wakes.load(Ordering::Acquire) };
        self.set(SLEEP);
        // SYNC: pairs with the Release stores here and in `set_fence`.
        let fenced = self.fence.load(Ordering::Acquire);
        if fenced & STATE != SETTLED {
            // FENCE that was set before the barrier is seen by every sender after it.
            barrier();
            if fenced & STATE == ON {
                let settled = fenced & !STATE | SETTLED;
                // SYNC: pairs with the Acquire load above. It fails if there was a change
                // meanwhile, which this barrier does not cover.
                let _ = self.fence.compare_exchange(fenced, settled, Ordering::Release, Ordering::Relaxed);
            }
        }
        // SYNC: pairs with the fence of `look_again`, and under the model with that of `look`.
        fence(Ordering::SeqCst);
        wakes
    }
}
