//! Waking members that sleep.
//!
//! A change of a flag notifies nobody. A member that is going to sleep sets a bit, and a member
//! that publishes something afterwards sends it a message. A member that publishes at the same
//! moment may miss the bit; only a barrier could exclude that
//! ([`membarrier`](lapis_core::sync::membarrier)). Instead these sleeps are short.

use super::Board;
use lapis_core::sync::Ordering;

/// Whether a member sleeps.
///
/// # Safety
/// The lock is held, and the board lives.
#[inline(always)]
pub(crate) unsafe fn is_any_dozing(board: *const Board) -> bool {
    // SAFETY: the caller's promise; the reference ends here.
    unsafe { (*board).dozing().any(|word| word.load(Ordering::Relaxed) != 0) }
}

/// Wakes the members that sleep, by their tasks.
///
/// # Safety
/// The lock is held, and the board lives. `wake` may send: no reference to the board is live while
/// it is called.
#[cold]
pub(crate) unsafe fn wake_dozing(board: *const Board, wake: &dyn Fn(u32)) {
    // SAFETY: the caller's promise; only shared memory and fixed fields of the board are used.
    let (words, me, n) = unsafe { ((*board).dozing().len(), (*board).me, (*board).tasks().len()) };
    for at in 0..words {
        // Its own wish stands.
        let own = if me / 64 == at { 1 << (me % 64) } else { 0 };
        // SAFETY: the caller's promise; the words are shared memory made for this.
        let set =
            unsafe { (*board).dozing().nth(at).map_or(0, |word| word.fetch_and(own, Ordering::Relaxed)) };
        let mut others = set & !own;
        while others != 0 {
            let member = at * 64 + others.trailing_zeros() as usize;
            others &= others - 1;
            if member < n {
                // SAFETY: the board lives; its tasks never change.
                wake(unsafe { (*board).task(member) });
            }
        }
    }
}
