//! Counters, by which operations report their progress.

use crate::sync::{AtomicI32, AtomicU32, Ordering};

/// A counter that operations increment and programs wait on.
///
/// The layout is part of the C interface (`lapi_cntr_t`): 16 bytes, the value first. A counter may
/// live anywhere, uninitialised until it is [`set`](Self::set); it must not move while an operation
/// or a waiter refers to it.
///
/// *LAPI Guide, "LAPI counters", Appendix E (`lapi_cntr_t`).*
#[doc(alias = "lapi_cntr_t")]
#[repr(C)]
#[derive(Debug, Default)]
pub struct Counter {
    value: AtomicI32,
    /// Threads inside a wait on this counter; more than one is the guide's MULTIPLE_WAITERS.
    waiters: AtomicU32,
    /// Non-zero when the C interface keeps a destination status list for the counter.
    tag: AtomicU32,
    reserved: u32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Counter>() == 16);

impl Counter {
    /// A counter that starts at `value`.
    #[cfg(not(loom))]
    pub const fn new(value: i32) -> Self {
        Self { value: AtomicI32::new(value), waiters: AtomicU32::new(0), tag: AtomicU32::new(0), reserved: 0 }
    }

    /// The present value. Makes no progress: see
    /// [`Context::counter_value`](crate::Context::counter_value) for the call that also makes
    /// progress.
    #[inline(always)]
    pub fn value(&self) -> i32 {
        // SYNC: pairs with `increment`, so that the data an increment announces is visible; SeqCst
        // for the thread that has counted itself as a sleeper and looks once more.
        self.value.load(Ordering::SeqCst)
    }

    /// Gives the counter a value, whatever its memory held before. Wakes no thread: see
    /// [`Context::set_counter`](crate::Context::set_counter).
    #[inline]
    pub fn set(&self, value: i32) {
        self.waiters.store(0, Ordering::Relaxed);
        self.tag.store(0, Ordering::Relaxed);
        // SYNC: Release so that what the program prepared before it reset the counter precedes
        // later increments. SeqCst: `Context::set_counter` looks afterwards whether a thread
        // sleeps.
        self.value.store(value, Ordering::SeqCst);
    }

    /// Adds one: an operation has reached the point that this counter counts.
    #[inline(always)]
    pub fn increment(&self) {
        // SYNC: Release pairs with `value`'s Acquire; the data of the operation was written before.
        // SeqCst: a call that counts looks afterwards whether a thread sleeps
        // (`wake_sleepers_of_counter`).
        self.value.fetch_add(1, Ordering::SeqCst);
    }

    /// Subtracts `amount`, as a successful wait does. Returns the remaining value.
    #[inline]
    pub fn subtract(&self, amount: i32) -> i32 {
        // SYNC: AcqRel: acquires the increments it consumes, releases to the next waiter.
        self.value.fetch_sub(amount, Ordering::AcqRel) - amount
    }

    /// Subtracts `amount` if the value is at least that. Returns the remaining value; `None`:
    /// nothing was subtracted.
    #[inline]
    pub fn try_take(&self, amount: i32) -> Option<i32> {
        let mut value = self.value();
        while value >= amount {
            let left = value.wrapping_sub(amount);
            // SYNC: AcqRel: acquires the increments it consumes, releases to the next waiter.
            match self.value.compare_exchange_weak(value, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(left),
                Err(now) => value = now,
            }
        }
        None
    }

    /// Marks one more thread as waiting; false if one is waiting already.
    pub fn begin_wait(&self) -> bool {
        // SYNC: Acquire pairs with `end_wait`'s Release: a new waiter sees what the last one left.
        self.waiters.fetch_add(1, Ordering::Acquire) == 0
    }

    /// Undoes [`begin_wait`](Self::begin_wait), unless the counter was [`set`](Self::set)
    /// meanwhile, which undoes it as well.
    pub fn end_wait(&self) {
        // SYNC: see `begin_wait`.
        let _ = self.waiters.fetch_update(Ordering::Release, Ordering::Relaxed, |n| n.checked_sub(1));
    }

    /// The tag that [`set_tag`](Self::set_tag) left, 0 if none.
    pub fn tag(&self) -> u32 {
        self.tag.load(Ordering::Relaxed)
    }

    /// Attaches a number of the interface's own to the counter, until the next [`set`](Self::set).
    pub fn set_tag(&self, tag: u32) {
        self.tag.store(tag, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Counter;

    #[test]
    fn an_increment_counts_for_one_of_two_threads_that_take() {
        const EACH: u32 = 20_000;
        let counter = Counter::new(0);
        let take = || {
            for _ in 0..EACH {
                while counter.try_take(1).is_none_or(|left| left < 0) {
                    std::hint::spin_loop();
                    std::thread::yield_now();
                }
            }
        };
        std::thread::scope(|scope| {
            let takers = [scope.spawn(take), scope.spawn(take)];
            for _ in 0..2 * EACH {
                counter.increment();
                assert!(counter.value() >= 0, "both took the same one");
            }
            for taker in takers {
                taker.join().unwrap();
            }
        });
        assert_eq!((counter.value(), counter.try_take(1)), (0, None));
    }

    #[test]
    fn a_wait_that_a_set_overtakes_leaves_no_waiter_behind() {
        let counter = Counter::new(0);
        assert!(counter.begin_wait());
        assert!(!counter.begin_wait(), "a second one");
        counter.set(1);
        counter.end_wait();
        counter.end_wait();
        assert!(counter.begin_wait());
        counter.end_wait();
        assert!(counter.begin_wait(), "the next one");
    }
}
