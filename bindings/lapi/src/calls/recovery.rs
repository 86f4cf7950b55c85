//! Going on without a task: LAPI_Setcntr_wstatus, LAPI_Nopoll_wait, LAPI_Purge_totask and
//! LAPI_Resume_totask.

use super::counters::counter;
use super::watches::Watched;
use crate::abi::*;
use crate::failure::{self, Outcome, cold};
use crate::handles::{self, Instance};
use lapis_core::sync::Ordering;
use lapis_core::{Context, Counter};
use std::ffi::{c_int, c_uint};

/// Core's hook: an operation with `peer` is about to count a counter that has a tag.
pub(crate) fn counted(context: &Context, counter: &Counter, peer: u32) {
    let Some(instance) = handles::of_context(context) else { return };
    instance.watches.with(context, |watched| {
        if let Some(watch) = watched.of(counter) {
            watch.received(peer);
        }
    });
}

//= LAPI Guide, LAPI_Setcntr_wstatus, sets a counter to 0 with a list of destinations
pub(crate) unsafe extern "C" fn setcntr_wstatus(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    num_dest: c_int,
    dest_list: *mut c_uint,
    dest_status: *mut c_int,
) -> c_int {
    cold("LAPI_Setcntr_wstatus", || {
        let instance = handles::get(hndl)?;
        // SAFETY: the caller's promise.
        let counter = unsafe { counter(cntr) }?;
        if !dest_list.is_null() && dest_status.is_null() {
            return Err(LAPI_ERR_RET_PTR_NULL);
        }
        let list = if dest_list.is_null() {
            &[][..]
        } else {
            let count = destinations(num_dest, instance.context.tasks())?;
            // SAFETY: not null; by the guide, it has num_dest entries.
            unsafe { std::slice::from_raw_parts(dest_list, count) }
        };
        if list.iter().any(|task| *task >= instance.context.tasks()) {
            return Err(LAPI_ERR_TGT);
        }
        counter.set(0);
        instance.watches.forget(&instance.context, counter);
        if !list.is_empty() {
            // SAFETY: by the guide, both arrays have num_dest entries.
            unsafe { instance.watches.watch(&instance.context, counter, list, dest_status) };
        }
        Ok(())
    })
}

/// How long a list of destinations is. No list is longer than the job: whoever says so has lost
/// count, and reading on would lead out of the array.
fn destinations(num_dest: c_int, tasks: u32) -> Outcome<usize> {
    match u32::try_from(num_dest) {
        Ok(count) if count <= tasks => Ok(count as usize),
        _ => {
            tracing::warn!(
                target: "lapis::call",
                "LAPI_Setcntr_wstatus: num_dest is {num_dest}; a list of destinations has 0 to {tasks} entries, one for each task"
            );
            Err(LAPI_ERR_TGT)
        }
    }
}

//= LAPI Guide, LAPI_Nopoll_wait, waits without polling
pub(crate) unsafe extern "C" fn nopoll_wait(
    hndl: lapi_handle_t,
    cntr_ptr: *mut lapi_cntr_t,
    val: c_int,
    cur_cntr_val: *mut c_int,
) -> c_int {
    cold("LAPI_Nopoll_wait", || {
        let instance = handles::get(hndl)?;
        // SAFETY: the caller's promise.
        let counter = unsafe { counter(cntr_ptr) }?;
        //= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_CNTR_VAL
        if val <= 0 {
            return Err(LAPI_ERR_CNTR_VAL);
        }
        //= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_MULTIPLE_WAITERS
        if !counter.begin_wait() {
            counter.end_wait();
            return Err(LAPI_ERR_MULTIPLE_WAITERS);
        }
        let outcome = wait(&instance, counter, val);
        counter.end_wait();
        let left = match outcome {
            Ok(()) => counter.subtract(val),
            Err(_) => counter.value(),
        };
        if !cur_cntr_val.is_null() {
            // SAFETY: not null; the caller's promise.
            unsafe { *cur_cntr_val = left };
        }
        outcome
    })
}

fn wait(instance: &Instance, counter: &Counter, val: c_int) -> Outcome {
    let before = instance.purges.load(Ordering::Relaxed);
    let mut purged = false;
    let done = || {
        if counter.value() >= val {
            return true;
        }
        //= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_TGT_PURGED
        let interrupted = |watched: &mut Watched| Some(watched.of(counter)?.take_interruption());
        let interrupted = instance.watches.with(&instance.context, interrupted);
        purged = interrupted.unwrap_or_else(|| instance.purges.load(Ordering::Relaxed) != before);
        purged
    };
    instance.context.wait_quietly(done, None).map_err(failure::of_wait("LAPI_Nopoll_wait"))?;
    instance.watches.waited(&instance.context, counter);
    if purged { Err(LAPI_ERR_TGT_PURGED) } else { Ok(()) }
}

//= LAPI Guide, LAPI_Purge_totask, cancels messages to a task
pub(crate) unsafe extern "C" fn purge_totask(hndl: lapi_handle_t, dest: c_uint) -> c_int {
    cold("LAPI_Purge_totask", || {
        let instance = handles::get(hndl)?;
        let context = &instance.context;
        context.purge(dest).map_err(failure::of)?;
        instance.gets.forget(dest);
        instance.watches.with(context, |watched| {
            watched.purged.insert(dest);
            for watch in watched.counters.values_mut() {
                watch.purged(dest);
            }
        });
        instance.purges.fetch_add(1, Ordering::Relaxed);
        // With the lock held, so that no thread misses it between its look and its sleep.
        context.lock();
        context.wake();
        context.unlock();
        Ok(())
    })
}

//= LAPI Guide, LAPI_Resume_totask, takes up communication again
pub(crate) unsafe extern "C" fn resume_totask(hndl: lapi_handle_t, dest: c_uint) -> c_int {
    cold("LAPI_Resume_totask", || {
        let instance = handles::get(hndl)?;
        instance.context.resume(dest).map_err(failure::of)?;
        instance.watches.with(&instance.context, |watched| watched.purged.remove(&dest));
        Ok(())
    })
}
