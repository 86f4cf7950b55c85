//! Lock sharing: condition variables of the shared lock.
//!
//! A signal is for one of those who wait at that moment. So each of them stands in a list, and a
//! signal takes the first one out. Counting signals would not do: whoever signals and then waits
//! itself would take its own signal, and the one that it was meant for would sleep on.

use crate::abi::*;
use crate::handles::{self, Entered, Instance};
use lapis_core::sync::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::ffi::{c_int, c_ulong};
use std::ptr::{NonNull, null_mut};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What an initialised condition variable begins with: "LAPIcond".
const MAGIC: u64 = 0x4c41_5049_636f_6e64;

/// What a `lapi_cond_t` holds. All but the magic number is written under the lock.
#[repr(C)]
struct Condition {
    magic: AtomicU64,
    /// Those who wait and were not signalled, in the order in which they came.
    first: AtomicPtr<Waiter>,
}

/// A thread that waits, on its own stack.
struct Waiter {
    next: AtomicPtr<Self>,
    signalled: AtomicBool,
}

const _: () = assert!(size_of::<Condition>() <= size_of::<lapi_cond_t>());
const _: () = assert!(size_of::<c_ulong>() < 8 || align_of::<Condition>() <= align_of::<lapi_cond_t>());

impl Condition {
    /// Puts a waiter behind the others.
    fn enter(&self, waiter: &Waiter) {
        let mut link = &self.first;
        // SAFETY: those in the list wait, so their stacks stand; the lock is held.
        while let Some(other) = unsafe { link.load(Ordering::Relaxed).as_ref() } {
            link = &other.next;
        }
        link.store(std::ptr::from_ref(waiter).cast_mut(), Ordering::Relaxed);
    }

    /// Takes a waiter out of the list, wherever it is.
    fn leave(&self, waiter: &Waiter) {
        let mut link = &self.first;
        // SAFETY: those in the list wait, so their stacks stand; the lock is held.
        while let Some(other) = unsafe { link.load(Ordering::Relaxed).as_ref() } {
            if std::ptr::eq(other, waiter) {
                link.store(other.next.load(Ordering::Relaxed), Ordering::Relaxed);
                return;
            }
            link = &other.next;
        }
    }

    /// Signals the one that has waited longest. A signal that nobody waits for is lost, as signals
    /// are.
    fn signal(&self) -> bool {
        // SAFETY: who is in the list waits, and can't return before the lock is given back.
        let Some(waiter) = (unsafe { self.first.load(Ordering::Relaxed).as_ref() }) else { return false };
        self.first.store(waiter.next.load(Ordering::Relaxed), Ordering::Relaxed);
        waiter.signalled.store(true, Ordering::Relaxed);
        true
    }
}

/// Begins one of the functions, whose codes are the system's.
pub(super) fn enter(hndl: lapi_handle_t) -> Result<Entered, c_int> {
    code_of_system(handles::get(hndl))
}

/// The code that one of the functions gives for a call that could not begin.
pub(super) fn code_of_system(entered: Result<Entered, c_int>) -> Result<Entered, c_int> {
    entered.map_err(|code| if code == LAPI_ERR_HNDL_INVALID { libc::EINVAL } else { libc::EDEADLK })
}

/// The same with a condition variable. That is a pointer, for its owner may destroy and free it as
/// soon as nobody is in its list, though one who was has not returned yet.
///
/// # Safety
/// `cond` is NULL or a lapi_cond_t.
unsafe fn condition(
    hndl: lapi_handle_t,
    cond: *mut lapi_cond_t,
) -> Result<(Entered, NonNull<Condition>), c_int> {
    let instance = enter(hndl)?;
    let condition = NonNull::new(cond.cast::<Condition>()).ok_or(libc::EINVAL)?;
    // SAFETY: not null; the caller's promise: a lapi_cond_t has room for a Condition.
    if unsafe { condition.as_ref() }.magic.load(Ordering::Relaxed) == MAGIC {
        Ok((instance, condition))
    } else {
        Err(libc::EINVAL)
    }
}

pub(super) unsafe extern "C" fn cond_wait(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match condition(hndl, cond) {
            Ok((instance, condition)) => wait(&instance, condition, None),
            Err(code) => code,
        }
    }
}

pub(super) unsafe extern "C" fn cond_timedwait(
    hndl: lapi_handle_t,
    cond: *mut lapi_cond_t,
    timeout: *mut libc::timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    let (found, timeout) = unsafe { (condition(hndl, cond), timeout.as_ref()) };
    let (instance, condition) = match found {
        Ok(found) => found,
        Err(code) => return code,
    };
    let Some(until) = timeout.and_then(since_epoch) else { return libc::EINVAL };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // A time beyond the clock's end is none.
    let deadline = Instant::now().checked_add(until.saturating_sub(now));
    // SAFETY: `condition` has found it initialised.
    unsafe { wait(&instance, condition, deadline) }
}

/// An absolute time of the real-time clock, as pthread_cond_timedwait takes it.
fn since_epoch(time: &libc::timespec) -> Option<Duration> {
    let nanoseconds = u32::try_from(time.tv_nsec).ok().filter(|n| *n < 1_000_000_000)?;
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, nanoseconds))
}

/// Waits for a signal. The calling thread holds the lock, which is let go while it sleeps; it makes
/// progress, for in polling mode the signal may come from a handler that nobody else would run.
///
/// # Safety
/// The condition variable stays until nobody is in its list.
unsafe fn wait(instance: &Instance, condition: NonNull<Condition>, deadline: Option<Instant>) -> c_int {
    // What the list says holds under the lock alone.
    if !instance.context.holds_lock() {
        return libc::EINVAL;
    }
    let waiter = Waiter { next: AtomicPtr::new(null_mut()), signalled: AtomicBool::new(false) };
    // SAFETY: the caller's promise.
    unsafe { condition.as_ref() }.enter(&waiter);
    let outcome = instance.context.wait_quietly(|| waiter.signalled.load(Ordering::Relaxed), deadline);
    if waiter.signalled.load(Ordering::Relaxed) {
        return 0;
    }
    // SAFETY: the caller's promise: this waiter is in the list.
    unsafe { condition.as_ref() }.leave(&waiter);
    if outcome.is_ok() {
        return libc::ETIMEDOUT;
    }
    if handles::live(instance.handle).is_err() {
        // Another thread ends the context, for which it needs the lock. Whoever is told that there
        // is no context any more does not give back its lock.
        instance.context.unlock();
    }
    libc::EINVAL
}

pub(super) unsafe extern "C" fn cond_signal(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { condition(hndl, cond) } {
        Ok((instance, condition)) => {
            instance.context.lock();
            // SAFETY: the caller's promise.
            if unsafe { condition.as_ref() }.signal() {
                instance.context.wake();
            }
            instance.context.unlock();
            0
        }
        Err(code) => code,
    }
}

pub(super) unsafe extern "C" fn cond_init(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    if handles::live(hndl).is_err() || cond.is_null() {
        return libc::EINVAL;
    }
    let fresh = Condition { magic: AtomicU64::new(MAGIC), first: AtomicPtr::new(null_mut()) };
    // SAFETY: not null; by the guide, a lapi_cond_t that nobody uses yet.
    unsafe { cond.cast::<Condition>().write(fresh) };
    0
}

pub(super) unsafe extern "C" fn cond_destroy(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match condition(hndl, cond) {
            Ok((_, condition)) if !condition.as_ref().first.load(Ordering::Relaxed).is_null() => libc::EBUSY,
            Ok((_, condition)) => {
                condition.as_ref().magic.store(0, Ordering::Relaxed);
                0
            }
            Err(code) => code,
        }
    }
}
