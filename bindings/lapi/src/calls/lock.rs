//! Lock sharing: the nine functions that LAPI_Util gives out, and those of the lock itself.

use super::condition::{
    code_of_system, cond_destroy, cond_init, cond_signal, cond_timedwait, cond_wait, enter,
};
use crate::abi::*;
use crate::failure::Outcome;
use crate::handles::{self, Instance};
use std::ffi::c_int;

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

unsafe extern "C" fn mutex_lock(hndl: lapi_handle_t) -> c_int {
    match enter(hndl) {
        Ok(instance) => {
            instance.context.lock();
            kept(&instance)
        }
        Err(code) => code,
    }
}

/// The program goes on with the lock that it has just got, unless another thread has ended the
/// context meanwhile.
fn kept(instance: &Instance) -> c_int {
    if handles::live(instance.handle).is_err() {
        instance.context.unlock();
        return libc::EINVAL;
    }
    instance.context.lend();
    0
}

/// Whoever holds the lock can give it back also while another thread ends the context, for which
/// that one needs it.
unsafe extern "C" fn mutex_unlock(hndl: lapi_handle_t) -> c_int {
    match code_of_system(handles::live_or_ending(hndl).and_then(handles::enter)) {
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
    kept(&instance)
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
