//! LAPI_Qenv and LAPI_Senv.

use super::statistics;
use crate::abi::*;
use crate::failure::{self, Outcome, code};
use crate::handlers::internal::note;
use crate::handles::{self, Instance, MAX_INSTANCES};
use lapis_core::Context;
use lapis_core::config::{ACK_THRESHOLD_RANGE, TIMEOUT_RANGE};
use lapis_core::handlers::HANDLER_TABLE_SIZE;
use lapis_core::message::MAX_USER_HEADER;
use lapis_core::wire::MAX_HEADER;
use std::ffi::c_int;
use std::time::Duration;

/// MAX_PKTS_OUT: packets in flight to one task. Shared memory's rings and the packet engine's
/// windows are sized apart from it; this is what a program that paces itself may count on.
const PACKETS_OUT: c_int = 64;

//= LAPI Guide, LAPI_Qenv, reads a runtime attribute
pub(crate) unsafe extern "C" fn qenv(hndl: lapi_handle_t, query: lapi_query_t, ret_val: *mut c_int) -> c_int {
    let query = || {
        let instance = handles::get(hndl)?;
        // The most frequent one, around polling loops.
        if query == INTERRUPT_SET && !ret_val.is_null() {
            // SAFETY: not null; the caller's promise.
            unsafe { *ret_val = c_int::from(instance.context.interrupts()) };
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { attribute(&instance, query, ret_val) }
    };
    code(query())
}

/// # Safety
/// `ret_val` is NULL or points to what the attribute needs.
//= LAPI Guide, LAPI_Qenv, LAPI_ERR_QUERY_TYPE and LAPI_ERR_RET_PTR_NULL
unsafe fn attribute(instance: &Instance, query: lapi_query_t, ret_val: *mut c_int) -> Outcome {
    if !(TASK_ID..LAST_QUERY).contains(&query) {
        return Err(LAPI_ERR_QUERY_TYPE);
    }
    if ret_val.is_null() {
        return Err(LAPI_ERR_RET_PTR_NULL);
    }
    let context = &instance.context;
    // SAFETY: not null; by the guide, these attributes take larger objects.
    unsafe {
        match query {
            QUERY_SHM_TASKS => shared_memory_tasks(context, ret_val),
            QUERY_STATISTICS | QUERY_SHM_STATISTICS | QUERY_LOCAL_SEND_STATISTICS => {
                *ret_val.cast() = statistics::of(context, query);
            }
            PRINT_STATISTICS => statistics::print(context),
            _ => *ret_val = number(instance, query),
        }
    }
    Ok(())
}

//= LAPI Guide, table 45, attributes that return integers
fn number(instance: &Instance, query: lapi_query_t) -> c_int {
    let context = &instance.context;
    let config = context.config();
    let int = |n: u64| c_int::try_from(n).unwrap_or(c_int::MAX);
    match query {
        TASK_ID => context.task() as c_int,
        NUM_TASKS => context.tasks() as c_int,
        MAX_UHDR_SZ => MAX_USER_HEADER as c_int,
        // The largest unsigned integer, as the guide wants for 64-bit programs; the largest message
        // for 32-bit ones.
        MAX_DATA_SZ => {
            if cfg!(target_pointer_width = "64") {
                -1
            } else {
                c_int::MAX
            }
        }
        ERROR_CHK => c_int::from(context.checks()),
        TIMEOUT => int(context.timeout().as_secs()),
        MIN_TIMEOUT => *TIMEOUT_RANGE.start() as c_int,
        MAX_TIMEOUT => *TIMEOUT_RANGE.end() as c_int,
        INTERRUPT_SET => c_int::from(context.interrupts()),
        MAX_PORTS => MAX_INSTANCES as c_int,
        MAX_PKT_SZ => instance.packet_size,
        NUM_REX_BUFS => int(*config.rexmit_buf_cnt.get() as u64),
        REX_BUF_SZ | BUF_CP_SIZE => int(*config.rexmit_buf_size.get() as u64),
        LOC_ADDRTBL_SZ => HANDLER_TABLE_SIZE as c_int,
        // An atom has to fit into every packet beside the longest user header.
        MAX_ATOM_SIZE => lapis_dgsp::isa::MAX_ATOM_SIZE,
        MAX_PKTS_OUT => PACKETS_OUT,
        ACK_THRESHOLD => context.ack_threshold() as c_int,
        QUERY_SHM_ENABLED => c_int::from(near(context).is_some()),
        QUERY_SHM_NUM_TASKS => near(context).map_or(0, |tasks| tasks.len() as c_int),
        BULK_XFER => c_int::from(*config.use_bulk_xfer.get()),
        BULK_MIN_MSG_SIZE => int(*config.bulk_min_msg_size.get()),
        // EPOCH_NUM, USE_THRESH and RCV_FIFO_SIZE are for old programs and have no meaning.
        _ => 0,
    }
}

/// The tasks that share memory with this one, itself included; `None` if no other does.
fn near(context: &Context) -> Option<Vec<u32>> {
    let me = context.task();
    let tasks: Vec<u32> =
        (0..context.tasks()).filter(|task| *task == me || context.shares_memory_with(*task)).collect();
    (tasks.len() > 1).then_some(tasks)
}

/// Each task's number among those that share memory, -1 for others.
///
/// # Safety
/// `list` has room for one number for each task.
//= LAPI Guide, LAPI_Qenv, QUERY_SHM_TASKS
unsafe fn shared_memory_tasks(context: &Context, list: *mut c_int) {
    let near = near(context).unwrap_or_default();
    for task in 0..context.tasks() {
        let number = near.iter().position(|other| *other == task).map_or(-1, |at| at as c_int);
        // SAFETY: the caller's promise.
        unsafe { *list.add(task as usize) = number };
    }
}

/// The user header and data that fit one packet to any task, atoms or not: a program that has some
/// adds a note to the user header.
pub(super) fn packet_size(context: &Context) -> c_int {
    let packed =
        (0..context.tasks()).filter_map(|task| context.limits(task)).map(|limits| limits.max_packed).min();
    let ours = MAX_HEADER + note(0).len();
    c_int::try_from(packed.unwrap_or(4096)).unwrap_or(c_int::MAX) - ours as c_int
}

//= LAPI Guide, LAPI_Senv, sets a runtime attribute
pub(crate) unsafe extern "C" fn senv(hndl: lapi_handle_t, query: lapi_query_t, set_val: c_int) -> c_int {
    let set = || {
        let instance = handles::get(hndl)?;
        let context = &instance.context;
        let value = i64::from(set_val);
        match query {
            INTERRUPT_SET => context.set_interrupts(set_val != 0).map_err(failure::of)?,
            ERROR_CHK => context.set_checks(set_val != 0),
            //= LAPI Guide, LAPI_Senv, LAPI_ERR_SET_VAL
            TIMEOUT if TIMEOUT_RANGE.contains(&value) => {
                context.set_timeout(Duration::from_secs(set_val as u64));
            }
            ACK_THRESHOLD if ACK_THRESHOLD_RANGE.contains(&value) => {
                context.set_ack_threshold(set_val as u32);
            }
            TIMEOUT | ACK_THRESHOLD => return Err(LAPI_ERR_SET_VAL),
            //= LAPI Guide, LAPI_Senv, LAPI_ERR_QUERY_TYPE
            _ => return Err(LAPI_ERR_QUERY_TYPE),
        }
        Ok(())
    };
    code(set())
}
