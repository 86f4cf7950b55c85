//! State of a layer above core that the context's own lock guards.
//!
//! Handlers run under the lock, and each call to core takes it. A layer whose state has a lock of
//! its own pays for that beside it: two locked instructions for each access, which wait until
//! everything written before has left the processor, a message to a peer first of all.

use super::{Context, Shared};
use crate::error::Result;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A value that one thread at a time reaches, by the lock of the context that it belongs to.
pub struct Guarded<T> {
    /// The address of what the threads of its context share; 0 before the first access.
    context: AtomicUsize,
    /// Somebody works with the value. Changed by the holder of that context's lock only.
    in_use: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `lock` gives the value to one thread at a time, under one lock, which orders them.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// A value for one context: the first one that it is used with.
    pub fn new(value: T) -> Self {
        Self { context: AtomicUsize::new(0), in_use: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Whether the value belongs to a context; it does from the first question on.
    #[inline(always)]
    fn belongs_to(&self, shared: &Shared) -> bool {
        let this = std::ptr::from_ref(shared).addr();
        // Nothing is read by this: the value is whoever's lock it is under, once and for all.
        self.context.load(Ordering::Relaxed) == this || self.attach(this)
    }

    #[cold]
    fn attach(&self, this: usize) -> bool {
        self.context.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock of a context, and gives the value until the answer is dropped. Handlers may
    /// do so, too.
    ///
    /// That is to be soon: it keeps others from the context. What is called meanwhile returns at
    /// once and runs no handler, as [`Context::try_send_short`] does.
    ///
    /// # Panics
    /// The value belongs to another context; or somebody has it already, who has called what ran a
    /// handler or waited.
    #[inline(always)]
    pub fn lock<'a>(&'a self, context: &'a Context) -> Access<'a, T> {
        let shared: &Shared = &context.shared;
        shared.lock.acquire();
        let held = Held(context);
        if !self.belongs_to(shared) || self.in_use.load(Ordering::Relaxed) {
            refuse(self.belongs_to(shared));
        }
        self.in_use.store(true, Ordering::Relaxed);
        Access { guarded: self, held, of_this_thread: PhantomData }
    }
}

/// The value, and the lock that guards it.
pub struct Access<'a, T> {
    guarded: &'a Guarded<T>,
    held: Held<'a>,
    /// A lock belongs to the thread that took it.
    of_this_thread: PhantomData<*const ()>,
}

impl<T> Access<'_, T> {
    /// Waits until `done` says so, as [`Context::wait_until`] does. Others, handlers among them,
    /// may have the value meanwhile; it is the caller's again when this returns, without taking
    /// the lock anew.
    ///
    /// # Errors
    /// As for [`Context::wait_until`].
    #[inline]
    pub fn wait_until(&mut self, done: impl FnMut() -> bool) -> Result<()> {
        self.lent(|context| context.wait_until(done))
    }

    /// Runs what may ask for the value itself, or wait. The lock is held meanwhile, but where that
    /// waits. Whoever keeps the value beyond the call ends the process.
    #[inline(always)]
    pub fn lent<R>(&mut self, call: impl FnOnce(&Context) -> R) -> R {
        self.guarded.in_use.store(false, Ordering::Relaxed);
        let _back = Back(&self.guarded.in_use);
        call(self.held.0)
    }
}

/// Says on drop that the value is in use again.
struct Back<'a>(&'a AtomicBool);

impl Drop for Back<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // This thread has the lock, as before. Whoever had the value meanwhile has given it back,
        // unless the call itself kept it: then there would be two of it.
        if self.0.load(Ordering::Relaxed) {
            std::process::abort();
        }
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<T> Deref for Access<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this is the only access to the value: others are made under the lock of the same
        // context, and refused while `in_use` says that there is this one, be it further out on the
        // thread or with the lock let go meanwhile.
        unsafe { &*self.guarded.value.get() }
    }
}

impl<T> DerefMut for Access<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the only access, as `deref` says, and it is borrowed alone.
        unsafe { &mut *self.guarded.value.get() }
    }
}

impl<T> Drop for Access<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // The lock goes afterwards, with the fields.
        self.guarded.in_use.store(false, Ordering::Relaxed);
    }
}

/// The lock, until this is dropped.
struct Held<'a>(&'a Context);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.shared.lock.release();
    }
}

#[cold]
fn refuse(in_use: bool) -> ! {
    if in_use {
        panic!("a guarded value is asked for by who works with it already");
    }
    panic!("a guarded value is asked for in another context than its own");
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::bootstrap;
    use crate::config::Config;
    use crate::context::ContextBuilder;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn alone() -> Context {
        let job = bootstrap::singleton(0).unwrap();
        ContextBuilder::default().without_transports(job, Config::default()).unwrap()
    }

    fn is_refused(work: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(work)).is_err()
    }

    // ThreadSanitizer knows nothing of the lock's `membarrier(2)`.
    #[cfg(not(lapis_tsan))]
    #[test]
    fn threads_have_it_one_at_a_time() {
        let (context, counts) = (alone(), Guarded::new((0, 0)));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let mut counts = counts.lock(&context);
                        assert_eq!(counts.0, counts.1);
                        counts.0 += 1;
                        counts.1 += 1;
                    }
                });
            }
        });
        assert_eq!(*counts.lock(&context), (3000, 3000));
    }

    #[test]
    fn who_has_it_is_refused_a_second_access() {
        let (context, value) = (alone(), Guarded::new(1));
        let mut first = value.lock(&context);
        assert!(is_refused(|| *value.lock(&context) = 2));
        *first += 10;
        drop(first);
        // It is free again, and so is the lock, after a panic, too.
        assert!(is_refused(|| {
            let _value = value.lock(&context);
            panic!("on purpose");
        }));
        assert_eq!(*value.lock(&context), 11);
        assert!(!context.holds_lock());
    }

    #[test]
    fn who_waits_lends_it_to_handlers_and_has_it_afterwards() {
        let (context, value) = (alone(), Guarded::new(1));
        let mut first = value.lock(&context);
        let mut looks = 0;
        first
            .wait_until(|| {
                looks += 1;
                *value.lock(&context) += 10;
                looks == 2
            })
            .unwrap();
        assert_eq!(*first, 21);
        assert!(is_refused(|| *value.lock(&context) = 2));
        assert!(is_refused(|| first.lent(|_| panic!("on purpose"))));
        assert!(is_refused(|| *value.lock(&context) = 2));
        first.lent(|context| *value.lock(context) += 1);
        drop(first);
        assert_eq!(*value.lock(&context), 22);
        drop(value.lock(&context));
        assert!(!context.holds_lock());
    }

    // ThreadSanitizer knows nothing of the lock's `membarrier(2)`.
    #[cfg(not(lapis_tsan))]
    #[test]
    fn who_waits_lends_it_to_other_threads() {
        let (context, value) = (alone(), Guarded::new(0));
        let seen = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while *value.lock(&context) == 0 {
                    std::thread::yield_now();
                }
                *value.lock(&context) = 2;
                seen.store(true, Ordering::Relaxed);
                context.wake();
            });
            let mut first = value.lock(&context);
            *first = 1;
            first.wait_until(|| seen.load(Ordering::Relaxed)).unwrap();
            assert_eq!(*first, 2);
        });
    }

    #[test]
    fn another_context_is_refused() {
        let (context, other, value) = (alone(), alone(), Guarded::new(1));
        drop(value.lock(&context));
        assert!(is_refused(|| drop(value.lock(&other))));
        assert!(!other.holds_lock());
        assert_eq!(*value.lock(&context), 1);
    }
}
