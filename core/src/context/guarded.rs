//! State of a layer above core that the context's own lock guards.
//!
//! Handlers run under the lock, and each call to core takes it. A second lock, for the layer's own
//! state, would add two locked instructions to each access. They wait until all earlier stores have
//! left the processor, above all a message to a peer.

use super::{Context, Shared};
use crate::error::Result;
use crate::lock::{Brief, ContextLock, Section};
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

    /// Takes the lock of a context, and gives access to the value until the result is dropped.
    /// Handlers may call it as well.
    ///
    /// Drop the result soon: it keeps others from the context. Until then call only what returns at
    /// once and runs no handler, like [`Context::try_send_short`].
    ///
    /// # Panics
    /// The value belongs to another context; or it is in use already, by code that has called
    /// something that ran a handler or waited.
    #[inline(always)]
    pub fn lock<'a>(&'a self, context: &'a Context) -> Access<'a, T> {
        let shared: &Shared = &context.shared;
        let lock = &shared.lock;
        let section = lock.acquire_section();
        let mine = self.belongs_to(shared);
        if !mine || self.in_use.load(Ordering::Relaxed) {
            lock.release_section(section);
            refuse(mine);
        }
        self.in_use.store(true, Ordering::Relaxed);
        Access { guarded: self, context, lock, section, of_this_thread: PhantomData }
    }
}

impl<T> Guarded<T> {
    /// As [`lock`](Self::lock), for short work that does not wait: if one thread alone uses the
    /// context, this takes it little more than five stores.
    ///
    /// # Panics
    /// As [`lock`](Self::lock) does.
    #[inline(always)]
    pub fn briefly<'a>(&'a self, context: &'a Context) -> BriefAccess<'a, T> {
        let shared: &Shared = &context.shared;
        let held = shared.lock.acquire_briefly();
        if !self.belongs_to(shared) {
            refuse(false);
        }
        self.begin();
        BriefAccess { guarded: self, context, _held: held, of_this_thread: PhantomData }
    }

    /// As [`briefly`](Self::briefly), for handlers, whose thread holds the lock anyway.
    ///
    /// # Panics
    /// As [`lock`](Self::lock) does.
    ///
    /// # Safety
    /// The calling thread holds the lock of this context, which runs a handler.
    #[inline(always)]
    pub unsafe fn in_handler<R>(&self, context: &Context, work: impl FnOnce(&mut T) -> R) -> R {
        if !self.belongs_to(&context.shared) {
            refuse(false);
        }
        self.begin();
        let _ended = Ended(&self.in_use);
        // SAFETY: this is the only access to the value: others are made under the same lock, and
        // refused while `in_use` says that there is this one.
        work(unsafe { &mut *self.value.get() })
    }

    /// The value is in use from now on. The calling thread has the lock.
    #[inline(always)]
    fn begin(&self) {
        if self.in_use.load(Ordering::Relaxed) {
            refuse(true);
        }
        self.in_use.store(true, Ordering::Relaxed);
    }
}

/// Says on drop that the value is no longer in use.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The value, and the lock that guards it, for a moment.
pub struct BriefAccess<'a, T> {
    guarded: &'a Guarded<T>,
    context: &'a Context,
    /// Goes after the drop below.
    _held: Brief<'a>,
    of_this_thread: PhantomData<*const ()>,
}

impl<T> BriefAccess<'_, T> {
    /// The value, and the lock, with which short messages are sent without checking it again.
    #[inline(always)]
    pub fn with_lock(&mut self) -> (&mut T, Held<'_>) {
        let held = Held { context: self.context, of_this_thread: PhantomData };
        // SAFETY: the only access, as `deref` says, and it is borrowed alone.
        (unsafe { &mut *self.guarded.value.get() }, held)
    }
}

/// The lock of a context, which the calling thread holds: for calls that would otherwise have to
/// take it.
pub struct Held<'a> {
    context: &'a Context,
    of_this_thread: PhantomData<*const ()>,
}

impl<'a> Held<'a> {
    #[inline(always)]
    pub(crate) fn context(&self) -> &'a Context {
        self.context
    }
}

impl<T> Deref for BriefAccess<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the only access to the value, which `in_use` says of it.
        unsafe { &*self.guarded.value.get() }
    }
}

impl<T> DerefMut for BriefAccess<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the only access, as `deref` says, and it is borrowed alone.
        unsafe { &mut *self.guarded.value.get() }
    }
}

impl<T> Drop for BriefAccess<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.guarded.in_use.store(false, Ordering::Relaxed);
    }
}

/// The value, and the lock that guards it.
pub struct Access<'a, T> {
    guarded: &'a Guarded<T>,
    context: &'a Context,
    /// The context's own: one load less.
    lock: &'a ContextLock,
    section: Section<'a>,
    /// A lock belongs to the thread that took it.
    of_this_thread: PhantomData<*const ()>,
}

impl<'a, T> Access<'a, T> {
    /// Waits until `done`, which has just returned false, returns true, as [`Context::wait_until`]
    /// does. Others, handlers among them, may use the value meanwhile; when this returns, it is the
    /// caller's again, without taking the lock again.
    ///
    /// # Errors
    /// As for [`Context::wait_until`].
    #[inline]
    pub fn wait_until(&mut self, done: impl FnMut() -> bool) -> Result<()> {
        let _back = self.lend();
        self.context.usable()?;
        let mut locked = self.context.within(&mut self.section);
        locked.may_wait("wait_until")?;
        locked.wait_until(true, done)
    }

    /// Runs code that may itself lock the value, or wait. The lock is held meanwhile, except during
    /// waits. Code that keeps the value beyond the call ends the process.
    #[inline(always)]
    pub fn lent<R>(&mut self, call: impl FnOnce(&Context) -> R) -> R {
        let _back = self.lend();
        call(self.context)
    }

    /// Others may ask for the value until the answer is dropped.
    #[inline(always)]
    fn lend(&self) -> Back<'a> {
        let in_use = &self.guarded.in_use;
        in_use.store(false, Ordering::Relaxed);
        Back(in_use)
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
        self.guarded.in_use.store(false, Ordering::Relaxed);
        self.lock.release_section(self.section);
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
    fn brief_work_takes_turns_with_other_threads_and_is_refused_as_any() {
        let (context, counts) = (alone(), Guarded::new((0, 0)));
        let work = |times: u32| {
            for _ in 0..times {
                let mut counts = counts.briefly(&context);
                assert_eq!(counts.0, counts.1);
                (counts.0, counts.1) = (counts.0 + 1, counts.1 + 1);
            }
        };
        // The first thread gets the bias, and another one comes in between.
        work(1000);
        // ThreadSanitizer knows nothing of the lock's `membarrier(2)`.
        if !cfg!(lapis_tsan) {
            std::thread::scope(|scope| {
                scope.spawn(|| work(1000));
                work(1000);
            });
            assert_eq!(*counts.briefly(&context), (3000, 3000));
        }
        work(1000);
        let brief = counts.briefly(&context);
        assert!(is_refused(|| work(1)));
        // Core takes the lock once more meanwhile, and lets go of that alone.
        drop(context.locked());
        assert!(context.holds_lock());
        drop(brief);
        assert!(!context.holds_lock());
        assert!(is_refused(|| {
            let _brief = counts.briefly(&context);
            panic!("on purpose");
        }));
        assert!(!context.holds_lock());
        let outer = counts.lock(&context);
        assert!(is_refused(|| work(1)));
        drop(outer);
        work(1);
    }

    #[test]
    fn a_handler_has_it_by_the_lock_that_it_holds() {
        let (context, value) = (alone(), Guarded::new(1));
        let _held = value.lock(&context);
        let other = Guarded::new(2);
        // SAFETY: this thread has just taken the lock.
        let (got, twice) = unsafe {
            let got = other.in_handler(&context, |other| std::mem::replace(other, 3));
            (got, is_refused(|| other.in_handler(&context, |_| other.in_handler(&context, |_| ()))))
        };
        assert!(got == 2 && twice);
        assert!(context.holds_lock());
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
