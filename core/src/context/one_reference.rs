//! In debug builds: whether somebody down the stack works with a `&mut State` that a caller handed on. A second one is refused then,
//! which the compiler can't do: the lock proves that a thread is alone, not that its references are.

#[cfg(debug_assertions)]
use crate::sync::{AtomicU32, Ordering};

/// Counts who works with it. Changed by the lock's holder only.
#[derive(Default)]
pub(crate) struct Ledger {
    #[cfg(debug_assertions)]
    open: AtomicU32,
}

impl Ledger {
    #[inline(always)]
    pub(super) fn begin(&self) -> InUse<'_> {
        #[cfg(debug_assertions)]
        self.open.store(self.open.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        InUse(self)
    }

    #[inline(always)]
    pub(super) fn assert_not(&self) {
        #[cfg(debug_assertions)]
        assert_eq!(self.open.load(Ordering::Relaxed), 0, "a second `&mut State` while the first is in use");
    }
}

/// The state is in use while this lives.
#[must_use]
pub(crate) struct InUse<'a>(
    #[cfg_attr(not(debug_assertions), allow(dead_code, reason = "read in debug builds"))] &'a Ledger,
);

impl Drop for InUse<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        self.0.open.store(self.0.open.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_in_use_until_all_who_borrowed_it_have_given_it_back() {
        let ledger = Ledger::default();
        let refused = |ledger: &Ledger| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ledger.assert_not())).is_err()
        };
        let first = ledger.begin();
        let second = ledger.begin();
        assert!(refused(&ledger));
        drop(first);
        assert!(refused(&ledger));
        drop(second);
        ledger.assert_not();
    }
}
