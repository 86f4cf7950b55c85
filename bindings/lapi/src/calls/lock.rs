//! Lock sharing: the nine functions that LAPI_Util gives out.

use crate::abi::*;
use crate::failure::Outcome;
use crate::handles::{self, Entered, Instance};
use lapis_core::sync::{AtomicU64, Ordering};
use std::ffi::{c_int, c_ulong};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What an initialised condition variable begins with: "LAPIcond".
const MAGIC: u64 = 0x4c41_5049_636f_6e64;

/// What a `lapi_cond_t` holds.
#[repr(C)]
struct Condition {
    magic: AtomicU64,
    /// Signals so far.
    signals: AtomicU64,
    /// Signals that waiters have taken.
    taken: AtomicU64,
    waiters: AtomicU64,
}

const _: () = assert!(size_of::<Condition>() <= size_of::<lapi_cond_t>());
const _: () = assert!(size_of::<c_ulong>() < 8 || align_of::<Condition>() <= align_of::<lapi_cond_t>());

/// # Safety
/// `command` is a lapi_thread_func_t.
//= LAPI Guide, LAPI_Util, LAPI_GET_THREAD_FUNC, table 22
pub(super) unsafe fn functions(_: &Instance, command: *mut lapi_thread_func_t) -> Outcome {
    // SAFETY: the caller's promise.
    let command = unsafe { &mut *command };
    command.mutex_lock = Some(mutex_lock);
    command.mutex_unlock = Some(mutex_unlock);
    command.mutex_trylock = Some(mutex_trylock);
    command.mutex_getowner = Some(mutex_getowner);
    command.cond_wait = Some(cond_wait);
    command.cond_timedwait = Some(cond_timedwait);
    command.cond_signal = Some(cond_signal);
    command.cond_init = Some(cond_init);
    command.cond_destroy = Some(cond_destroy);
    Ok(())
}

/// Begins one of the functions, whose codes are the system's.
fn enter(hndl: lapi_handle_t) -> Result<Entered, c_int> {
    handles::get(hndl)
        .map_err(|code| if code == LAPI_ERR_HNDL_INVALID { libc::EINVAL } else { libc::EDEADLK })
}

unsafe extern "C" fn mutex_lock(hndl: lapi_handle_t) -> c_int {
    match enter(hndl) {
        Ok(instance) => {
            instance.context.lock();
            instance.context.lend();
            0
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn mutex_unlock(hndl: lapi_handle_t) -> c_int {
    match enter(hndl) {
        Ok(instance) if instance.context.unlock() => 0,
        Ok(_) => libc::EINVAL,
        Err(code) => code,
    }
}

unsafe extern "C" fn mutex_trylock(hndl: lapi_handle_t) -> c_int {
    let instance = match enter(hndl) {
        Ok(instance) => instance,
        Err(code) => return code,
    };
    //= LAPI Guide, LAPI_Util, mutex_trylock, EBUSY while the lock is held, whoever holds it
    if instance.context.holds_lock() || !instance.context.try_lock() {
        return libc::EBUSY;
    }
    instance.context.lend();
    0
}

unsafe extern "C" fn mutex_getowner(hndl: lapi_handle_t, tid: *mut libc::pthread_t) -> c_int {
    let Ok(instance) = handles::live(hndl) else { return libc::EINVAL };
    if tid.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: not null; the caller's promise. A pthread_t has the width of a pointer here.
    unsafe { *tid = instance.context.lock_owner() as libc::pthread_t };
    0
}

/// # Safety
/// `cond` is NULL or a lapi_cond_t.
unsafe fn condition<'a>(
    hndl: lapi_handle_t,
    cond: *mut lapi_cond_t,
) -> Result<(Entered, &'a Condition), c_int> {
    let instance = enter(hndl)?;
    // SAFETY: the caller's promise; a lapi_cond_t has room for a Condition.
    let condition = unsafe { cond.cast::<Condition>().as_ref() }.ok_or(libc::EINVAL)?;
    if condition.magic.load(Ordering::Relaxed) == MAGIC {
        Ok((instance, condition))
    } else {
        Err(libc::EINVAL)
    }
}

unsafe extern "C" fn cond_wait(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { condition(hndl, cond) } {
        Ok((instance, condition)) => wait(&instance, condition, None),
        Err(code) => code,
    }
}

unsafe extern "C" fn cond_timedwait(
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
    wait(&instance, condition, Some(Instant::now() + until.saturating_sub(now)))
}

/// An absolute time of the real-time clock, as pthread_cond_timedwait takes it.
fn since_epoch(time: &libc::timespec) -> Option<Duration> {
    let nanoseconds = u32::try_from(time.tv_nsec).ok().filter(|n| *n < 1_000_000_000)?;
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, nanoseconds))
}

/// Waits for a signal. The calling thread holds the lock, which is let go while it sleeps; it makes
/// progress, for in polling mode the signal may come from a handler that nobody else would run.
fn wait(instance: &Instance, condition: &Condition, deadline: Option<Instant>) -> c_int {
    condition.waiters.fetch_add(1, Ordering::Relaxed);
    // All of this happens under the lock, signals included.
    let take = || {
        let waiting = condition.signals.load(Ordering::Relaxed) > condition.taken.load(Ordering::Relaxed);
        if waiting {
            condition.taken.fetch_add(1, Ordering::Relaxed);
        }
        waiting
    };
    let outcome = instance.context.wait_quietly(take, deadline);
    condition.waiters.fetch_sub(1, Ordering::Relaxed);
    match outcome {
        Ok(true) => 0,
        Ok(false) => libc::ETIMEDOUT,
        Err(_) => libc::EINVAL,
    }
}

unsafe extern "C" fn cond_signal(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { condition(hndl, cond) } {
        Ok((instance, condition)) => {
            instance.context.lock();
            let unserved =
                condition.signals.load(Ordering::Relaxed) - condition.taken.load(Ordering::Relaxed);
            // A signal that nobody waits for is lost, as signals are.
            if condition.waiters.load(Ordering::Relaxed) > unserved {
                condition.signals.fetch_add(1, Ordering::Relaxed);
                instance.context.wake();
            }
            instance.context.unlock();
            0
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn cond_init(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    if handles::live(hndl).is_err() || cond.is_null() {
        return libc::EINVAL;
    }
    let fresh = Condition {
        magic: AtomicU64::new(MAGIC),
        signals: AtomicU64::new(0),
        taken: AtomicU64::new(0),
        waiters: AtomicU64::new(0),
    };
    // SAFETY: not null; by the guide, a lapi_cond_t that nobody uses yet.
    unsafe { cond.cast::<Condition>().write(fresh) };
    0
}

unsafe extern "C" fn cond_destroy(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { condition(hndl, cond) } {
        Ok((_, condition)) if condition.waiters.load(Ordering::Relaxed) > 0 => libc::EBUSY,
        Ok((_, condition)) => {
            condition.magic.store(0, Ordering::Relaxed);
            0
        }
        Err(code) => code,
    }
}
