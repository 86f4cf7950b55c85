//! In debug builds: whether a `Locked` of this thread is in use when another one is created. The
//! compiler can't check that, because both borrow the context.

#[cfg(debug_assertions)]
use crate::sync::{AtomicBool, Ordering};

/// Whether a `Locked` is at work that is not lent to code outside. Changed by the lock's holder
/// only.
#[derive(Default)]
pub(crate) struct Ledger {
    #[cfg(debug_assertions)]
    at_work: AtomicBool,
}

impl Ledger {
    /// A `Locked` is made.
    #[inline(always)]
    pub(super) fn begin(&self) {
        #[cfg(debug_assertions)]
        {
            let second = self.at_work.swap(true, Ordering::Relaxed);
            assert!(!second, "the lock is taken again by a thread that works with the state");
        }
    }

    /// It ends.
    #[inline(always)]
    pub(super) fn end(&self) {
        #[cfg(debug_assertions)]
        self.at_work.store(false, Ordering::Relaxed);
    }

    /// It is lent until the answer is dropped.
    #[inline(always)]
    pub(super) fn outside(&self) -> Outside<'_> {
        self.end();
        Outside(self)
    }
}

/// Whoever has the `Locked` is outside while this lives.
#[must_use]
pub(super) struct Outside<'a>(
    #[cfg_attr(not(debug_assertions), allow(dead_code, reason = "used in debug builds"))] &'a Ledger,
);

impl Drop for Outside<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        self.0.at_work.store(true, Ordering::Relaxed);
    }
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_is_refused_unless_the_first_is_lent() {
        let ledger = Ledger::default();
        let refused = |ledger: &Ledger| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ledger.begin())).is_err()
        };
        ledger.begin();
        assert!(refused(&ledger));
        let outside = ledger.outside();
        ledger.begin();
        assert!(refused(&ledger), "the nested one is not lent");
        ledger.end();
        drop(outside);
        assert!(refused(&ledger), "the first one is back");
        ledger.end();
        ledger.begin();
    }
}
