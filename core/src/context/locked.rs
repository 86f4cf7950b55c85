//! The lock owns the state: only a [`Locked`] gives access to it, and only taking the lock makes
//! one.
//!
//! A reference to the state is borrowed from the `Locked`, and everything that may let somebody
//! else at the state (code of the program's, another thread) takes the `Locked` by `&mut`. So the
//! compiler sees to it that no reference is left then. What it can't see is that a thread which
//! holds the lock takes it again: calls that the program makes from handlers do, and get a `Locked`
//! of their own. That is sound because the outer one is lent to [`Locked::out`] meanwhile, and no
//! code of the library takes the lock while it works with a `Locked` of its own. Debug builds check
//! that.

use super::panics::MustReturn;
use super::{Context, InternalContext, Shared};
use crate::context::State;
use crate::lock::Section;
use lapis_ablation::{Optimization, without};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// The lock of a context, held by this thread, and the state that it guards.
pub(crate) struct Locked<'a> {
    context: &'a Context,
    /// The context's own: so that all of it is one load away.
    shared: &'a Shared,
    /// A lock belongs to the thread that took it.
    of_this_thread: PhantomData<*const ()>,
}

impl Context {
    /// Takes the lock.
    #[inline(always)]
    pub(crate) fn locked(&self) -> Locked<'_> {
        self.shared.lock.acquire();
        self.begin()
    }

    /// Takes the lock if nobody else holds it.
    #[inline]
    pub(crate) fn try_locked(&self) -> Option<Locked<'_>> {
        self.shared.lock.try_acquire().then(|| self.begin())
    }

    /// Takes the lock for a short section that calls nothing, if this thread has the lock's bias.
    #[inline(always)]
    pub(crate) fn short_section(&self) -> Option<ShortSection<'_>> {
        if without(Optimization::ShortSection) {
            return None;
        }
        Some(self.in_section(self.shared.lock.enter_biased()?))
    }

    /// The same for the first thread that had the bias, unless it holds the lock already.
    #[inline(always)]
    pub(crate) fn outermost_section(&self) -> Option<ShortSection<'_>> {
        if without(Optimization::ShortSection) {
            return None;
        }
        Some(self.in_section(self.shared.lock.enter_easily()?))
    }

    /// A section within what holds the lock already, which costs nothing.
    ///
    /// # Safety
    /// The calling thread holds the lock as long as the answer is used, and works with nothing of
    /// the state that is not lent.
    #[inline(always)]
    pub(crate) unsafe fn section_within(&self) -> ShortSection<'_> {
        debug_assert!(self.shared.lock.held_by_me());
        self.in_section(Section::within())
    }

    #[inline(always)]
    fn in_section<'a>(&'a self, section: Section<'a>) -> ShortSection<'a> {
        self.shared.references.begin();
        ShortSection { context: self, shared: &self.shared, section }
    }

    /// The lock has just been taken.
    #[inline(always)]
    fn begin(&self) -> Locked<'_> {
        self.shared.references.begin();
        Locked { context: self, shared: &self.shared, of_this_thread: PhantomData }
    }
}

impl Shared {
    /// Whether somebody waits for the lock, or a thread of the context for a core.
    #[inline(always)]
    pub(crate) fn lock_is_wanted(&self) -> bool {
        self.lock.is_wanted()
    }
}

impl<'a> Locked<'a> {
    /// What the threads of the context share without the lock. None of it leads back to the state.
    #[inline(always)]
    pub(crate) fn shared(&self) -> &'a Shared {
        self.shared
    }

    /// The same guard once more. The compiler keeps a guard in registers if no call gets its
    /// address. So code that works through many messages has one, and rare calls get another.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Reborrowed<'_> {
        let &mut Self { context, shared, of_this_thread } = self;
        Reborrowed(ManuallyDrop::new(Locked { context, shared, of_this_thread }))
    }

    /// Runs what may come back to the context: code of the program's, or a call that takes the lock
    /// itself. The lock is held meanwhile. A panic ends the process.
    #[inline(always)]
    pub(crate) fn out<R>(&mut self, call: impl FnOnce(&Context) -> R) -> R {
        self.out_to("code of the program", call)
    }

    /// The same; `whom` is what the line about a panic names.
    #[inline(always)]
    pub(crate) fn out_to<R>(&mut self, whom: &'static str, call: impl FnOnce(&Context) -> R) -> R {
        MustReturn::during(whom, || self.ask(call))
    }

    /// As [`out`](Self::out), for what the program waits for: the state is whole, and a panic goes
    /// on to whoever waits.
    #[inline(always)]
    pub(crate) fn ask<R>(&mut self, call: impl FnOnce(&Context) -> R) -> R {
        let _outside = self.shared().references.outside();
        call(self.context)
    }

    /// Lets go of the lock, however deep this thread is in it, while `meanwhile` runs.
    pub(crate) fn unlocked<R>(&mut self, meanwhile: impl FnOnce(&'a Shared) -> R) -> R {
        let shared = self.shared();
        let _outside = shared.references.outside();
        shared.lock.without(|| meanwhile(shared))
    }

    /// Hands the lock to a thread that waits for it, and takes it again when that one has had it.
    pub(super) fn hand_over(&mut self) {
        let shared = self.shared();
        let _outside = shared.references.outside();
        shared.lock.hand_over();
    }

    /// The context for one of its own threads or for what ends later.
    pub(crate) fn internal(&self) -> InternalContext {
        self.context.internal()
    }
}

impl Deref for Locked<'_> {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: the lock keeps other threads out. On this thread every other `Locked` is lent to
        // `out` (see above), so that no `&mut` is borrowed from it; those of this one end by the
        // borrow of `self`.
        unsafe { &*self.shared.state.get() }
    }
}

impl DerefMut for Locked<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: nobody else is at the state, as `deref` says, and `self` is borrowed alone: no
        // `&` is borrowed from it either.
        unsafe { &mut *self.shared.state.get() }
    }
}

impl Context {
    /// A guard for a thread that holds the lock already, and still does when the guard ends. `held`
    /// stands for that.
    #[inline(always)]
    pub(super) fn within<'a>(&'a self, _held: &'a mut Section<'_>) -> Within<'a> {
        debug_assert!(self.shared.lock.held_by_me());
        Within(ManuallyDrop::new(self.begin()))
    }
}

/// A [`Locked`] in place of another one, which is borrowed meanwhile.
pub(crate) struct Reborrowed<'a>(ManuallyDrop<Locked<'a>>);

impl<'a> Deref for Reborrowed<'a> {
    type Target = Locked<'a>;

    #[inline(always)]
    fn deref(&self) -> &Locked<'a> {
        &self.0
    }
}

impl<'a> DerefMut for Reborrowed<'a> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Locked<'a> {
        &mut self.0
    }
}

/// A [`Locked`] that leaves the lock as it found it.
pub(super) struct Within<'a>(ManuallyDrop<Locked<'a>>);

impl<'a> Deref for Within<'a> {
    type Target = Locked<'a>;

    #[inline(always)]
    fn deref(&self) -> &Locked<'a> {
        &self.0
    }
}

impl DerefMut for Within<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Drop for Within<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.shared().references.end();
    }
}

impl Drop for Locked<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.shared().references.end();
        self.shared().lock.release();
    }
}

/// The lock, held for a moment by the thread that has its bias, and the state. Where nothing is
/// called it costs two stores.
pub(crate) struct ShortSection<'a> {
    context: &'a Context,
    /// The context's own, as in [`Locked`].
    shared: &'a Shared,
    section: Section<'a>,
}

impl<'a> ShortSection<'a> {
    /// Goes on with the lock held in the ordinary way, for what may call others.
    #[inline]
    pub(crate) fn keep(self) -> Locked<'a> {
        let this = ManuallyDrop::new(self);
        this.shared.lock.keep(this.section);
        // Not both at once: they were stored one by one a moment ago, and a load that is wider than
        // the stores waits until these have left the processor's queue.
        let context = this.context;
        Locked { context, shared: &context.shared, of_this_thread: PhantomData }
    }
}

impl Deref for ShortSection<'_> {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: the section holds the lock, which keeps other threads out, and a `Locked` of this
        // thread is lent to `out` meanwhile.
        unsafe { &*self.shared.state.get() }
    }
}

impl DerefMut for ShortSection<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: nobody else is at the state, as `deref` says, and `self` is borrowed alone.
        unsafe { &mut *self.shared.state.get() }
    }
}

impl Drop for ShortSection<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.shared.references.end();
        self.shared.lock.leave_biased(self.section);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
