//! The lock as a layer above core uses it for state of its own. Releasing it need not find out
//! again how it was taken.

use super::{ContextLock, Section, thread_word};
use lapis_ablation::{Optimization, without};

impl ContextLock {
    /// As [`acquire`](Self::acquire), for who gives the answer back to
    /// [`release_section`](Self::release_section).
    #[inline(always)]
    pub(crate) fn acquire_section(&self) -> Section<'_> {
        let me = thread_word();
        match self.enter_slot(me) {
            Some(section) => {
                self.keep(section);
                section
            }
            None => {
                self.acquire_slow(me);
                Section { slot: None }
            }
        }
    }

    /// As [`release`](Self::release), where the slot need not be looked for.
    #[inline(always)]
    pub(crate) fn release_section(&self, section: Section<'_>) {
        let depth = &self.words.depth;
        match (section.slot, depth.get()) {
            (None, deep @ 2..) => depth.set(deep - 1),
            // Whoever waited meanwhile let go of the lock, and may hold it by `owner` since.
            (Some(slot), 1) if slot.is_held() => {
                depth.set(0);
                slot.leave();
                self.waiters.wake();
            }
            _ => self.release_otherwise(),
        }
    }

    #[inline(never)]
    fn release_otherwise(&self) {
        self.release();
    }

    /// Begins a section that calls nothing, if that is as easy as can be: the calling thread is the
    /// first one that had the bias, has it still, and does not hold the lock.
    #[inline(always)]
    pub(crate) fn enter_easily(&self) -> Option<Section<'_>> {
        let ([slot, ..], me) = (&self.words.slots, thread_word());
        if slot.may_try(me) { self.hold_slot(slot, me) } else { None }
    }

    /// Takes the lock for a moment. What runs meanwhile may take the lock again but not wait.
    #[inline(always)]
    pub(crate) fn acquire_briefly(&self) -> Brief<'_> {
        let quick = !without(Optimization::ShortSection) && self.enter_easily().is_some();
        match quick {
            true => self.words.depth.set(1),
            false => self.acquire_otherwise(),
        }
        Brief { lock: self, quick }
    }

    #[inline(never)]
    fn acquire_otherwise(&self) {
        self.acquire();
    }
}

impl Section<'_> {
    /// One of a thread that holds the lock already.
    #[inline(always)]
    pub(crate) fn within() -> Self {
        Self { slot: None }
    }
}

/// The lock, held for a moment, until this is dropped.
pub(crate) struct Brief<'a> {
    lock: &'a ContextLock,
    /// By two stores, without a look at who waits.
    pub(super) quick: bool,
}

impl Drop for Brief<'_> {
    /// Whoever came in quickly wakes nobody, as in [`ContextLock::leave_biased`].
    #[inline(always)]
    fn drop(&mut self) {
        if self.quick {
            let w = &*self.lock.words;
            w.depth.set(0);
            w.slots[0].leave();
        } else {
            self.lock.release_otherwise();
        }
    }
}
