//! LAPI_Setcntr, LAPI_Getcntr and LAPI_Waitcntr.

use crate::abi::*;
use crate::failure::{self, Outcome, code};
use crate::handles::{self, Instance};
use lapis_core::Counter;
use lapis_core::context::Call;
use std::ffi::c_int;

const _: () = assert!(size_of::<Counter>() <= size_of::<lapi_cntr_t>());
const _: () = assert!(align_of::<Counter>() <= align_of::<lapi_cntr_t>());

/// The counter behind a pointer of the program.
///
/// # Safety
/// NULL or a lapi_cntr_t that lives as long as the result is used.
//= LAPI Guide, LAPI_Setcntr, LAPI_ERR_CNTR_NULL
#[inline(always)]
pub(super) unsafe fn counter<'a>(cntr: *mut lapi_cntr_t) -> Outcome<&'a Counter> {
    // SAFETY: the caller's promise; a lapi_cntr_t begins with a Counter, which has only atomics.
    unsafe { cntr.cast::<Counter>().as_ref() }.ok_or(LAPI_ERR_CNTR_NULL)
}

//= LAPI Guide, LAPI_Setcntr, sets a counter
pub(crate) unsafe extern "C" fn setcntr(hndl: lapi_handle_t, cntr: *mut lapi_cntr_t, val: c_int) -> c_int {
    let set = || {
        // A signal handler may do this whatever it interrupts, unless the counter is watched.
        let instance = handles::live(hndl)?;
        // SAFETY: the caller's promise.
        let counter = unsafe { counter(cntr) }?;
        if instance.watches.any() {
            forget_watch(instance, counter)?;
        }
        instance.context.set_counter(counter, val);
        Ok(())
    };
    code(set())
}

#[cold]
fn forget_watch(instance: &Instance, counter: &Counter) -> Outcome {
    match instance.context.begin_call() {
        Call::Amid if instance.watches.lack(counter) => Ok(()),
        Call::Amid => Err(handles::amid()),
        call => {
            instance.watches.forget(&instance.context, counter);
            instance.context.end_call(call);
            Ok(())
        }
    }
}

//= LAPI Guide, LAPI_Getcntr, reads a counter
pub(crate) unsafe extern "C" fn getcntr(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    val: *mut c_int,
) -> c_int {
    let get = || {
        let instance = handles::get(hndl)?;
        // SAFETY: the caller's promise.
        let counter = unsafe { counter(cntr) }?;
        if val.is_null() {
            return Err(LAPI_ERR_RET_PTR_NULL);
        }
        // Progress as well: programs poll a counter with nothing but this call.
        let value = instance.context.counter_value(counter).map_err(failure::of)?;
        // SAFETY: not null; the caller's promise.
        unsafe { *val = value };
        Ok(())
    };
    code(get())
}

//= LAPI Guide, LAPI_Waitcntr, waits for a counter and subtracts the value waited for
pub(crate) unsafe extern "C" fn waitcntr(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    val: c_int,
    cur_cntr_val: *mut c_int,
) -> c_int {
    let wait = || {
        let instance = handles::get(hndl)?;
        // SAFETY: the caller's promise.
        let counter = unsafe { counter(cntr) }?;
        let left = if !instance.context.checks() {
            instance.context.wait_counter(counter, val)
        } else if counter.begin_wait() {
            let left = instance.context.wait_counter(counter, val);
            counter.end_wait();
            left
        } else {
            //= LAPI Guide, Making wait on counter calls, two threads cannot wait on the same counter
            counter.end_wait();
            return Err(LAPI_ERR_MULTIPLE_WAITERS);
        };
        let left = left.map_err(failure::of_wait("LAPI_Waitcntr"))?;
        if !cur_cntr_val.is_null() {
            // SAFETY: not null; the caller's promise.
            unsafe { *cur_cntr_val = left };
        }
        Ok(())
    };
    code(wait())
}
