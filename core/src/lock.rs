//! The one lock of a context: recursive by ownership, cheap when uncontended, never held across a
//! sleep.
//!
//! Most contexts are used by one thread, for which even an uncontended compare-and-swap is a fair
//! part of a short message's time. So this is a biased lock: a thread that took it many times in a
//! row gets the bias and takes it by a plain store in a slot of its own. Only a thread that comes
//! in between pays: it revokes the bias by a `membarrier(2)`, which makes the store visible.
//!
//! Whoever holds it while it polls hands it over to those who wait: `ContextLock::hand_over`.

mod barrier;
mod exclusive;
mod lending;
mod limited;
mod sections;
mod slot;
mod waiting;

pub use exclusive::{Exclusive, ExclusiveGuard};
pub use lending::Call;
pub(crate) use sections::Brief;

use crate::crowding::Crowding;
#[cfg(loom)]
use crate::sync::thread;
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Ordering};
use lapis_ablation::{Optimization, without};
use slot::Slot;
use std::cell::Cell;
use waiting::Waiters;

/// Times that a thread takes the lock, nobody else in between, before it gets the bias.
const STREAK: u32 = if cfg!(loom) { 1 } else { 100 };

/// A level that the program took. Only these can it give back: a handler never lets go of the lock
/// under the library's hands.
const PROGRAM: u64 = 1 << 32;

/// Threads that may get the bias in a lock's life.
const SLOTS: usize = if cfg!(loom) { 2 } else { 4 };

/// A recursive lock.
///
/// The owner is known by a word that differs between threads, so a nested acquisition costs one
/// load. Unlocking is a plain store and a look whether a waiter sleeps.
#[derive(Debug)]
pub(crate) struct ContextLock {
    words: CachePadded<Words>,
    waiters: CachePadded<Waiters>,
}

#[derive(Debug)]
struct Words {
    /// The holder by compare-and-swap, 0 for none.
    owner: AtomicUsize,
    /// At most one has the bias: as good as always the first one, which is looked at first.
    slots: [Slot; SLOTS],
    // What follows is the holder's.
    /// How deep the holder is in it: levels of the library, and levels of the program as
    /// [`PROGRAM`].
    depth: Cell<u64>,
    last: Cell<usize>,
    streak: Cell<u32>,
    /// Whether code of the program runs on the holding thread: a handler, or whoever took the lock
    /// by its own wish. Atomic because of signal handlers, which look from the same thread.
    lent: AtomicBool,
    /// Whether there is a `membarrier(2)` to revoke a bias with.
    can_bias: bool,
}

// SAFETY: the cells are touched by the holder only.
unsafe impl Sync for ContextLock {}
// SAFETY: nothing in it belongs to a thread unless the lock is held.
unsafe impl Send for ContextLock {}

impl ContextLock {
    pub(crate) fn new(crowding: std::sync::Arc<Crowding>) -> Self {
        Self {
            words: CachePadded::new(Words {
                owner: AtomicUsize::new(0),
                slots: std::array::from_fn(|_| Slot::unused()),
                depth: Cell::new(0),
                last: Cell::new(0),
                streak: Cell::new(0),
                lent: AtomicBool::new(false),
                can_bias: !without(Optimization::LockBias) && barrier::register(),
            }),
            waiters: CachePadded::new(Waiters::new(crowding)),
        }
    }

    #[cfg(test)]
    fn for_tests() -> Self {
        Self::new(std::sync::Arc::new(Crowding::new(false)))
    }

    #[cfg(test)]
    fn is_biased(&self) -> bool {
        self.words.slots.iter().any(|slot| !slot.is_biased(0))
    }

    /// Takes the lock; a thread that holds it already holds it once more.
    #[inline(always)]
    pub(crate) fn acquire(&self) {
        let me = thread_word();
        if !self.acquire_biased(me) {
            self.acquire_slow(me);
        }
    }

    /// Takes the lock if this thread has the bias.
    #[inline(always)]
    fn acquire_biased(&self, me: usize) -> bool {
        let Some(section) = self.enter_slot(me) else { return false };
        self.keep(section);
        true
    }

    /// Begins a section that calls nothing, if this thread has the bias: for the shortest paths,
    /// which need no depth.
    #[inline(always)]
    pub(crate) fn enter_biased(&self) -> Option<Section<'_>> {
        self.enter_slot(thread_word())
    }

    /// The way in of the thread that has the bias; says whether it was in already.
    #[inline(always)]
    fn enter_slot(&self, me: usize) -> Option<Section<'_>> {
        let [first, ..] = &self.words.slots;
        if first.may_try(me) {
            return self.hold_slot(first, me);
        }
        let slot = self.slot(me)?;
        if slot.is_held() {
            return Some(Section { slot: None });
        }
        if slot.may_try(me) { self.hold_slot(slot, me) } else { None }
    }

    /// Holds the lock by a slot that may be tried, if its thread has the bias still.
    #[inline(always)]
    fn hold_slot<'a>(&'a self, slot: &'a Slot, me: usize) -> Option<Section<'a>> {
        if slot.hold(me) {
            return Some(Section { slot: Some(slot) });
        }
        self.bias_was_lost();
        None
    }

    /// Whoever took the bias away may have seen the slot held for a moment, and sleep.
    #[cold]
    #[inline(never)]
    fn bias_was_lost(&self) {
        self.waiters.wake();
    }

    /// The slot of a thread.
    #[inline(always)]
    fn slot(&self, thread: usize) -> Option<&Slot> {
        let [first, rest @ ..] = &self.words.slots;
        if first.thread.load(Ordering::Relaxed) == thread {
            return Some(first);
        }
        rest.iter().find(|slot| slot.thread.load(Ordering::Relaxed) == thread)
    }

    /// Whether a thread that came in by its bias still holds the lock. Once the bias is revoked
    /// nobody comes in so.
    fn any_slot_holds(&self) -> bool {
        self.words.slots.iter().any(Slot::is_held)
    }

    /// Ends what [`enter_biased`](Self::enter_biased) began. It wakes nobody: whoever went to sleep
    /// meanwhile, because this thread was stopped in the section, looks again soon.
    #[inline(always)]
    pub(crate) fn leave_biased(&self, section: Section<'_>) {
        if let Some(slot) = section.slot {
            slot.leave();
        }
    }

    /// Goes on with the lock held in the ordinary way, for what may call others. In place of the
    /// section's end [`release`](Self::release) follows.
    #[inline(always)]
    pub(crate) fn keep(&self, section: Section<'_>) {
        let depth = &self.words.depth;
        depth.set(if section.slot.is_none() { depth.get() + 1 } else { 1 });
    }

    /// The calling thread's hold by its slot ends.
    #[inline(always)]
    fn clear_slot(&self) {
        if let Some(slot) = self.slot(thread_word()) {
            slot.leave();
        }
    }

    /// Takes the lock if nobody else holds it.
    #[inline]
    pub(crate) fn try_acquire(&self) -> bool {
        let me = thread_word();
        if self.acquire_biased(me) {
            return true;
        }
        let w = &*self.words;
        if self.held_by_me() {
            w.depth.set(w.depth.get() + 1);
            return true;
        }
        // SYNC: Acquire pairs with `release`'s Release.
        if w.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.revoke_bias();
        if self.any_slot_holds() {
            // SYNC: nothing was done under the lock.
            w.owner.store(0, Ordering::Release);
            return false;
        }
        self.begin(me);
        true
    }

    /// Takes the bias away from whoever has it. The caller owns `owner`.
    fn revoke_bias(&self) {
        let w = &*self.words;
        if let Some(slot) = w.slots.iter().find(|slot| !slot.is_biased(0)) {
            slot.bias.store(0, Ordering::Relaxed);
            barrier::heavy();
        }
    }

    /// The first level of holding by `owner`.
    fn begin(&self, me: usize) {
        let w = &*self.words;
        w.depth.set(1);
        w.streak.set(if w.last.replace(me) == me { w.streak.get().saturating_add(1) } else { 0 });
    }

    /// Whether the lock could be taken by compare-and-swap just now.
    #[inline]
    fn take_ownership(&self, me: usize) -> bool {
        let owner = &self.words.owner;
        // SYNC: Acquire pairs with `release`'s Release.
        owner.load(Ordering::Relaxed) == 0
            && owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(never)]
    fn acquire_slow(&self, me: usize) {
        let w = &*self.words;
        if self.held_by_me() {
            w.depth.set(w.depth.get() + 1);
            return;
        }
        let owned = self.take_ownership(me);
        if owned {
            self.revoke_bias();
            if !self.any_slot_holds() {
                return self.begin(me);
            }
        }
        self.waiters.come(me);
        if !owned {
            self.waiters.wait_while(|| !self.take_ownership(me));
            self.revoke_bias();
        }
        self.waiters.wait_while(|| self.any_slot_holds());
        self.begin(me);
        self.waiters.go(true);
    }

    /// Gives the lock back (one level of it).
    #[inline(always)]
    pub(crate) fn release(&self) {
        let w = &*self.words;
        let depth = w.depth.get() - 1;
        w.depth.set(depth);
        if depth == 0 {
            if w.owner.load(Ordering::Relaxed) == thread_word() {
                self.release_owner();
            } else {
                self.clear_slot();
            }
            self.waiters.wake();
        }
    }

    /// Takes the lock for the program.
    pub(crate) fn acquire_for_program(&self) {
        self.acquire();
        self.level_is_the_programs();
    }

    /// Takes the lock for the program if nobody else holds it.
    pub(crate) fn try_acquire_for_program(&self) -> bool {
        let taken = self.try_acquire();
        if taken {
            self.level_is_the_programs();
        }
        taken
    }

    fn level_is_the_programs(&self) {
        let depth = &self.words.depth;
        depth.set(depth.get() + (PROGRAM - 1));
    }

    /// Whether the calling thread has taken the lock by the program's own wish.
    pub(crate) fn is_held_by_program_here(&self) -> bool {
        self.held_by_me() && self.words.depth.get() >= PROGRAM
    }

    /// Gives back a level that the program took. False if the calling thread has none.
    pub(crate) fn release_for_program(&self) -> bool {
        let depth = &self.words.depth;
        let held = self.is_held_by_program_here();
        if held {
            depth.set(depth.get() - (PROGRAM - 1));
            self.release();
        }
        held
    }

    /// Lets go of the lock, however deep the calling thread is in it, while `meanwhile` runs.
    pub(crate) fn without<R>(&self, meanwhile: impl FnOnce() -> R) -> R {
        if !self.held_by_me() {
            return meanwhile();
        }
        let depth = self.words.depth.replace(1);
        self.release();
        let result = meanwhile();
        self.acquire();
        self.words.depth.set(depth);
        // Others may have lent it; this thread goes on with its call.
        self.unlend();
        result
    }

    /// Hands the lock to a thread that waits for it, if one does, and takes it again when that
    /// thread has had it. For holders that poll: they don't compete with those who wait.
    #[cold]
    pub(crate) fn hand_over(&self) {
        if self.waiters.are_only(thread_word()) {
            return;
        }
        let turn = self.waiters.turn();
        self.without(|| self.waiters.let_pass(turn));
    }

    #[inline]
    fn release_owner(&self) {
        let w = &*self.words;
        if w.streak.get() >= STREAK && w.can_bias {
            w.streak.set(0);
            self.grant_bias(w.last.get());
        }
        // SYNC: Release pairs with `take_ownership`; who owns next sees the bias, too.
        w.owner.store(0, Ordering::Release);
    }

    /// The calling thread, which owns the lock, gets the bias if there is a slot for it.
    #[cold]
    fn grant_bias(&self, me: usize) {
        let free = || self.slot(0).filter(|slot| self.may_use(slot));
        if let Some(slot) = self.slot(me).or_else(free) {
            slot.grant(me);
        }
    }

    /// Whether a slot may be given to a thread.
    fn may_use(&self, slot: &Slot) -> bool {
        !without(Optimization::LockSlots) || std::ptr::eq(slot, &raw const self.words.slots[0])
    }

    /// Whether the calling thread holds the lock.
    #[inline]
    pub(crate) fn held_by_me(&self) -> bool {
        let me = thread_word();
        self.words.owner.load(Ordering::Relaxed) == me || self.slot(me).is_some_and(Slot::is_held)
    }

    /// The word of the thread that holds the lock, 0 for none.
    pub(crate) fn owner(&self) -> usize {
        let slot = self.words.slots.iter().find(|slot| slot.is_held());
        slot.map_or(&self.words.owner, |slot| &slot.thread).load(Ordering::Relaxed)
    }

    /// Whether somebody waits for the lock, or a thread of the context for a core: whoever polls
    /// looks here to be polite.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiters.any()
    }

    /// Whether somebody waits for the lock.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiters.for_lock()
    }

    /// There is work for a thread of the context that has not begun yet: whoever polls lets it run.
    pub(crate) fn announce_work(&self) {
        self.waiters.announce_work();
    }

    /// That work has begun.
    pub(crate) fn work_begins(&self) {
        self.waiters.work_begins();
    }

    /// A thread of the context has done its work, and is going to give its core away or to sleep.
    pub(crate) fn work_ends(&self) {
        self.waiters.turn_is_over();
    }

    /// Gives a thread of the context that has work to do the core. The calling thread does not hold
    /// the lock.
    #[cold]
    pub(crate) fn let_work(&self, turn: u32) {
        self.waiters.let_work(turn);
    }

    /// The number of the present turn, for [`let_work`](Self::let_work).
    pub(crate) fn turn(&self) -> u32 {
        self.waiters.turn()
    }

    /// Holds the lock for a scope.
    #[cfg(test)]
    #[inline(always)]
    pub(crate) fn guard(&self) -> LockGuard<'_> {
        self.acquire();
        LockGuard(self)
    }
}

/// A short section under the lock.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    /// The slot that says so; `None` where the thread was in already.
    slot: Option<&'a Slot>,
}

/// Releases on drop.
#[cfg(test)]
pub(crate) struct LockGuard<'a>(&'a ContextLock);

#[cfg(test)]
impl Drop for LockGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A word that no other live thread has: even, and never 0.
#[inline(always)]
fn thread_word() -> usize {
    // The model checker's threads are all one of the system's.
    #[cfg(loom)]
    {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        thread::current().id().hash(&mut hasher);
        (hasher.finish() as usize & !1) | 2
    }
    // The thread pointer is one instruction away; a thread-local of ours would be a function call
    // in a shared library.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri), not(loom)))]
    {
        let word: usize;
        // SAFETY: on this ABI fs:0 holds the thread control block's own address; reading it has no
        // effect, and it is the same as long as the thread lives.
        unsafe {
            std::arch::asm!("mov {}, fs:0", out(reg) word, options(pure, nomem, nostack, preserves_flags))
        };
        word
    }
    #[cfg(not(any(all(target_arch = "x86_64", target_os = "linux", not(miri)), loom)))]
    {
        // SAFETY: has no preconditions. On x86-64 this is what fs:0 holds, too.
        let word = unsafe { libc::pthread_self() as usize };
        // Miri's threads are numbered from 0; elsewhere this is an address.
        if cfg!(miri) { (word + 1) << 1 } else { word }
    }
}

#[cfg(all(test, loom))]
mod loom_tests;

#[cfg(all(test, not(loom)))]
mod tests;
