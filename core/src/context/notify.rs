//! Notification of an operation's end.

use super::{Context, Locked, Notify};
use crate::completion::Plain;
use crate::counter::Counter;
use crate::error::Error;
use crate::transport::PeerId;
use std::mem::ManuallyDrop;

impl Plain {
    /// Tells it of an operation that has ended well.
    #[inline(always)]
    pub(crate) fn notify(self, context: &Context, peer: PeerId) {
        if let Some(counter) = self.0 {
            // SAFETY: the starter of the operation promised that the counter lives.
            context.count_in_progress(unsafe { counter.as_ref() }, peer);
        }
    }

    /// The same for a call without the lock.
    #[inline(always)]
    pub(crate) fn notify_by_call(self, context: &Context, peer: PeerId) {
        if let Some(counter) = self.0 {
            // SAFETY: the starter of the operation promised that the counter lives.
            context.count(unsafe { counter.as_ref() }, peer);
        }
    }
}

impl Context {
    /// Adds one to a counter because of an operation with `peer` that the caller has ended: other
    /// threads may sleep until the counter counts.
    #[inline(always)]
    pub fn count(&self, counter: &Counter, peer: PeerId) {
        self.count_in_progress(counter, peer);
        self.shared.wake_sleepers_of_counter();
    }

    /// The same within progress, which tells those who sleep itself.
    #[inline(always)]
    fn count_in_progress(&self, counter: &Counter, peer: PeerId) {
        if counter.tag() != 0 {
            self.tagged(counter, peer);
        }
        counter.increment();
    }

    /// The same for the address of a counter of this task that a peer named; 0 is no counter.
    ///
    /// # Safety
    /// `addr` is 0 or the address of a live counter of this process. The interface hands addresses
    /// only to tasks of the same job, which it trusts to hand them back unchanged.
    #[inline(always)]
    pub(crate) unsafe fn count_at(&self, addr: u64, peer: PeerId) {
        if addr != 0 {
            // SAFETY: a live counter by the contract above.
            self.count_in_progress(unsafe { &*(addr as usize as *const Counter) }, peer);
        }
    }

    #[cold]
    fn tagged(&self, counter: &Counter, peer: PeerId) {
        if let Some(tell) = self.shared.hooks.counted {
            tell(self, counter, peer);
        }
    }
}

impl Locked<'_> {
    /// [`Context::count_at`] with the lock held.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(crate) unsafe fn count_at(&mut self, addr: u64, peer: PeerId) {
        // SAFETY: this is `Context::count_at`.
        self.out(|context| unsafe { context.count_at(addr, peer) });
    }
}

impl Notify {
    /// Tells it. Under the lock, as the guide promises handlers.
    #[inline(always)]
    pub(crate) fn notify(self, locked: &mut Locked<'_>, peer: PeerId, outcome: Result<(), Error>) {
        // The first forms have nothing to drop, which the compiler doesn't see.
        let this = ManuallyDrop::new(self);
        match &*this {
            Self::None => {}
            Self::Counter(counter) => {
                if outcome.is_ok() {
                    locked.out(|context| Plain(Some(*counter)).notify(context, peer));
                    // Of what progress counts, progress tells those who sleep.
                    if locked.dispatching == 0 {
                        locked.shared().wake_sleepers_of_counter();
                    }
                }
            }
            // SAFETY: the call that made it waits until it is raised.
            Self::Raise(flag) if outcome.is_ok() => unsafe { flag.as_ref() }.raise(Ok(())),
            _ => ManuallyDrop::into_inner(this).notify_slow(locked, peer, outcome),
        }
    }

    /// The same where the lock is not held: it is taken only if that is needed.
    #[inline(always)]
    pub(crate) fn notify_unlocked(self, context: &Context, peer: PeerId, outcome: Result<(), Error>) {
        match self.plain() {
            Some(plain) if outcome.is_ok() => plain.notify_by_call(context, peer),
            Some(_) => {}
            None => self.notify_slow(&mut context.locked(), peer, outcome),
        }
    }

    #[inline(never)]
    fn notify_slow(self, locked: &mut Locked<'_>, peer: PeerId, outcome: Result<(), Error>) {
        match self {
            Self::Call { call, function, argument } => locked.out(|context| {
                // SAFETY: the starter of the operation promised that function and argument are
                // valid.
                unsafe { call(context, peer, function, argument, outcome.is_ok()) };
            }),
            Self::Both(counter, other) => {
                if outcome.is_ok() {
                    Self::Counter(counter).notify(locked, peer, Ok(()));
                }
                other.notify(locked, peer, outcome);
            }
            // SAFETY: the call that made it waits until it is raised.
            Self::Raise(flag) => locked.out(|_| unsafe { flag.as_ref() }.raise(outcome)),
            Self::Dyn(completion) => locked.out(|_| completion.complete(peer, outcome)),
            Self::None | Self::Counter(_) => {}
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::context::ContextBuilder;
    use crate::sync::Ordering;
    use std::ptr::NonNull;

    #[test]
    fn a_counter_wakes_those_who_sleep_whatever_else_is_told() {
        let job = crate::bootstrap::singleton(0).unwrap();
        let context = ContextBuilder::default().without_transports(job, Config::default()).unwrap();
        let counter = Counter::new(0);
        // As a thread that sleeps until the counter changes.
        context.shared.sleepers.count.fetch_add(1, Ordering::Relaxed);
        let mut locked = context.locked();
        let heard = || context.shared.link_sleepers.heard();
        let plain = || Notify::counter(&raw const counter);
        for notify in [plain(), Notify::Both(NonNull::from(&counter), Box::new(Notify::None))] {
            let before = heard();
            notify.notify(&mut locked, 0, Ok(()));
            assert_ne!(heard(), before, "a sleeping thread is not woken");
        }
        drop(locked);
        context.shared.sleepers.count.fetch_sub(1, Ordering::Relaxed);
        assert_eq!(counter.value(), 2);
    }
}
