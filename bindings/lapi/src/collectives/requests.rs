//! Calls on what was begun or set up, on operators of the program, and the text about failures.

use super::outcome::{Outcome, WHY, failed, failure};
use super::state::Pending;
use super::{absent, answer, give};
use crate::abi::*;
use crate::handlers::notify;
use crate::handles::Entered;
use lapis_core::Counter;
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr::NonNull;

/// What becomes of a request that a call has worked with.
enum Then {
    Keep(Pending),
    End,
}

/// Takes a request, works with it, and puts it back or ends it.
///
/// # Safety
/// `request` is NULL or can be written.
unsafe fn with(
    instance: &Entered,
    request: *mut lapis_request_t,
    work: impl FnOnce(Pending) -> (Then, Outcome),
) -> Outcome {
    if request.is_null() {
        return Err(failure(LAPI_ERR_RET_PTR_NULL, "request is NULL"));
    }
    // SAFETY: not null; the caller's promise.
    let number = unsafe { *request };
    let all = &instance.collectives.requests;
    let pending = all.take(number).map_err(|why| absent(number, why))?;
    let (then, outcome) = work(pending);
    match then {
        Then::Keep(pending) => all.put(number, Some(pending)),
        Then::End => {
            all.put(number, None);
            // SAFETY: the caller's variable, which is not null.
            unsafe { *request = LAPIS_NO_REQUEST };
        }
    }
    outcome
}

/// Waits for one of them.
///
/// # Safety
/// As for [`with`].
unsafe fn wait_for(instance: &Entered, request: *mut lapis_request_t) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        if !request.is_null() && *request == LAPIS_NO_REQUEST {
            return Ok(());
        }
        // From a handler it could not be waited for: it stays as it is.
        instance.context.may_block("a collective's wait").map_err(|e| failed(e.into()))?;
        with(instance, request, |pending| match pending {
            Pending::Once(once) => (Then::End, once.wait().map_err(failed)),
            Pending::Persistent(mut kept) => {
                let ended = kept.wait().map_err(failed);
                (Then::Keep(Pending::Persistent(kept)), ended)
            }
        })
    }
}

pub(crate) unsafe fn wait(hndl: lapi_handle_t, request: *mut lapis_request_t) -> c_int {
    let wait = || {
        let instance = super::instance(hndl)?;
        // SAFETY: the manual's promise.
        unsafe { wait_for(&instance, request) }
    };
    answer(wait())
}

pub(crate) unsafe fn waitall(hndl: lapi_handle_t, count: c_uint, requests: *mut lapis_request_t) -> c_int {
    let wait = || {
        let instance = super::instance(hndl)?;
        if requests.is_null() && count > 0 {
            return Err(failure(LAPI_ERR_RET_PTR_NULL, "requests is NULL"));
        }
        let mut first = Ok(());
        for at in 0..count as usize {
            // SAFETY: the manual's promise.
            let ended = unsafe { wait_for(&instance, requests.add(at)) };
            first = first.and(ended);
        }
        first
    };
    answer(wait())
}

pub(crate) unsafe fn test(hndl: lapi_handle_t, request: *mut lapis_request_t, ended: *mut c_int) -> c_int {
    let test = || {
        let instance = super::instance(hndl)?;
        // SAFETY: the manual's promise.
        unsafe {
            let told = give(ended, "ended")?;
            told.write(1);
            if !request.is_null() && *request == LAPIS_NO_REQUEST {
                return Ok(());
            }
            with(&instance, request, |pending| match pending {
                Pending::Once(mut once) => match once.test() {
                    Ok(false) => {
                        told.write(0);
                        (Then::Keep(Pending::Once(once)), Ok(()))
                    }
                    other => (Then::End, other.map(|_| ()).map_err(failed)),
                },
                Pending::Persistent(mut kept) => {
                    let ended = kept.test().map_err(failed);
                    told.write((ended != Ok(false)).into());
                    (Then::Keep(Pending::Persistent(kept)), ended.map(|_| ()))
                }
            })
        }
    };
    answer(test())
}

/// A request of the other kind than a call wants.
fn wrong_kind(pending: Pending, why: &str) -> (Then, Outcome) {
    (Then::Keep(pending), Err(failure(LAPIS_ERR_REQUEST, why)))
}

const ONCE: &str = "the request was begun by lapis_i*: only what lapis_*_init has set up is started";
const KEPT: &str = "the request was set up by lapis_*_init: wait for it or test it";

pub(crate) unsafe fn start(hndl: lapi_handle_t, request: *mut lapis_request_t) -> c_int {
    let start = || {
        let instance = super::instance(hndl)?;
        // SAFETY: the manual's promise.
        unsafe {
            with(&instance, request, |pending| match pending {
                Pending::Persistent(mut kept) => {
                    let begun = kept.start().map_err(failed);
                    (Then::Keep(Pending::Persistent(kept)), begun)
                }
                once => wrong_kind(once, ONCE),
            })
        }
    };
    answer(start())
}

pub(crate) unsafe fn request_count(
    hndl: lapi_handle_t,
    request: *mut lapis_request_t,
    cntr: *mut lapi_cntr_t,
) -> c_int {
    let count = || {
        let instance = super::instance(hndl)?;
        let Some(counter) = NonNull::new(cntr.cast::<Counter>()) else {
            return Err(failure(LAPI_ERR_CNTR_NULL, "cntr is NULL"));
        };
        // SAFETY: the manual's promise: the counter lives until the end.
        unsafe {
            with(&instance, request, |pending| match pending {
                Pending::Once(once) => {
                    once.count_in(counter);
                    (Then::End, Ok(()))
                }
                kept => wrong_kind(kept, KEPT),
            })
        }
    };
    answer(count())
}

pub(crate) unsafe fn request_then(
    hndl: lapi_handle_t,
    request: *mut lapis_request_t,
    done: Option<compl_hndlr_t>,
    arg: *mut c_void,
) -> c_int {
    let then = || {
        let instance = super::instance(hndl)?;
        let Some(done) = done else {
            return Err(failure(LAPIS_ERR_REQUEST, "done, the completion handler, is NULL"));
        };
        let (function, argument) = (done as usize, arg.expose_provenance());
        // SAFETY: the manual's promise.
        unsafe {
            with(&instance, request, |pending| match pending {
                Pending::Once(once) => {
                    once.then(move |context, ended| match ended {
                        Ok(()) => {
                            let argument = std::ptr::with_exposed_provenance_mut(argument);
                            // The program's own function and argument.
                            notify::completion(context, function, argument);
                        }
                        Err(e) => {
                            let member = e.member().unwrap_or(context.task());
                            context.raise(e.into_core(), member);
                        }
                    });
                    (Then::End, Ok(()))
                }
                kept => wrong_kind(kept, KEPT),
            })
        }
    };
    answer(then())
}

pub(crate) unsafe fn request_free(hndl: lapi_handle_t, request: *mut lapis_request_t) -> c_int {
    let free = || {
        let instance = super::instance(hndl)?;
        instance.context.may_block("a collective's wait").map_err(|e| failed(e.into()))?;
        // SAFETY: the manual's promise.
        unsafe {
            with(&instance, request, |pending| {
                let ended = match pending {
                    Pending::Once(once) => once.wait(),
                    Pending::Persistent(mut kept) => kept.wait(),
                };
                (Then::End, ended.map_err(failed))
            })
        }
    };
    answer(free())
}

pub(crate) unsafe fn op_create(
    hndl: lapi_handle_t,
    fold: Option<lapis_fold_t>,
    commutes: c_int,
    arg: *mut c_void,
    op: *mut lapis_op_t,
) -> c_int {
    let create = || {
        let instance = super::instance(hndl)?;
        // SAFETY: the manual's promise.
        let made = unsafe { give(op, "op") }?;
        let fold = fold.ok_or_else(|| failure(LAPIS_ERR_OP, "fold is NULL"))?;
        made.write(instance.collectives.operators.insert(fold, commutes != 0, arg)?);
        Ok(())
    };
    answer(create())
}

pub(crate) unsafe fn op_free(hndl: lapi_handle_t, op: lapis_op_t) -> c_int {
    answer(super::instance(hndl).and_then(|instance| instance.collectives.operators.remove(op)))
}

pub(crate) unsafe fn error_text(text: *mut c_char, size: c_ulong) -> c_int {
    if text.is_null() || size == 0 {
        return LAPI_ERR_RET_PTR_NULL;
    }
    WHY.with(|why| {
        let why = why.borrow();
        let most = why.len().min(size as usize - 1);
        let len = (0..=most).rev().find(|&len| why.is_char_boundary(len)).unwrap_or(0);
        // SAFETY: the manual's promise: so many bytes are there.
        unsafe {
            std::ptr::copy_nonoverlapping(why.as_ptr(), text.cast(), len);
            text.add(len).write(0);
        }
    });
    LAPI_SUCCESS
}
