//! LAPI_Rmw and LAPI_Rmw64.

use super::transfer::count;
use crate::abi::*;
use crate::failure::{self, Outcome, code};
use crate::handlers::notify::send_notify;
use crate::handles::{self, Instance};
use lapis_core::message::RmwArgs;
use lapis_core::transport::RmwOp;
use lapis_core::{Counter, Notify};
use std::ffi::{c_int, c_longlong, c_uint};

//= LAPI Guide, LAPI_Rmw, read-modify-write of 32 bits
pub(crate) unsafe extern "C" fn rmw(
    hndl: lapi_handle_t,
    op: RMW_ops_t,
    tgt: c_uint,
    tgt_var: *mut c_int,
    in_val: *mut c_int,
    prev_tgt_val: *mut c_int,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    match handles::get(hndl) {
        // SAFETY: the caller's promise.
        Ok(instance) => code(unsafe {
            let change =
                understood(&instance, op, tgt, 4, tgt_var.addr() as u64, in_val.cast(), prev_tgt_val.cast());
            modify(&instance, change, org_cntr)
        }),
        Err(code) => code,
    }
}

//= LAPI Guide, LAPI_Rmw64, read-modify-write of 64 bits
pub(crate) unsafe extern "C" fn rmw64(
    hndl: lapi_handle_t,
    op: Rmw_ops_t,
    tgt: c_uint,
    tgt_var: *mut c_longlong,
    in_val: *mut c_longlong,
    prev_tgt_val: *mut c_longlong,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    match handles::get(hndl) {
        // SAFETY: the caller's promise.
        Ok(instance) => code(unsafe {
            let change =
                understood(&instance, op, tgt, 8, tgt_var.addr() as u64, in_val.cast(), prev_tgt_val.cast());
            modify(&instance, change, org_cntr)
        }),
        Err(code) => code,
    }
}

/// Makes the change; the counter counts when the answer is here.
///
/// # Safety
/// As the guide demands.
#[inline(always)]
unsafe fn modify(instance: &Instance, change: Outcome<RmwArgs>, org_cntr: *mut lapi_cntr_t) -> Outcome {
    let change = change?;
    // As with a put: what is mapped here needs the processor's own atomic, and no more.
    // SAFETY: the caller's promise.
    unsafe {
        if instance.context.rmw_mapped(&change) {
            count(instance, org_cntr, change.target);
            return Ok(());
        }
        let origin = Notify::counter(org_cntr.cast::<Counter>());
        instance.context.rmw(RmwArgs { origin, ..change }).map_err(failure::of)
    }
}

/// What the parameters ask for, if they are sound. Nobody is told of its end yet.
///
/// # Safety
/// `in_val` is NULL or one operand of `width` bytes, two for COMPARE_AND_SWAP; the rest as the
/// guide demands.
//= LAPI Guide, LAPI_Rmw, LAPI_ERR_RMW_OP, LAPI_ERR_TGT, LAPI_ERR_TGT_VAR_NULL, LAPI_ERR_IN_VAL_NULL
//= LAPI Guide, LAPI_Rmw, COMPARE_AND_SWAP answers TRUE or FALSE
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the guide's parameters")]
unsafe fn understood(
    instance: &Instance,
    op: RMW_ops_t,
    tgt: c_uint,
    width: u32,
    tgt_var: u64,
    in_val: *const u8,
    previous: *mut u8,
) -> Outcome<RmwArgs> {
    if tgt >= instance.context.tasks() {
        return Err(LAPI_ERR_TGT);
    }
    if tgt_var == 0 {
        return Err(LAPI_ERR_TGT_VAR_NULL);
    }
    if in_val.is_null() {
        return Err(LAPI_ERR_IN_VAL_NULL);
    }
    let op = match op {
        FETCH_AND_ADD => RmwOp::FetchAndAdd,
        FETCH_AND_OR => RmwOp::FetchAndOr,
        SWAP => RmwOp::Swap,
        COMPARE_AND_SWAP => RmwOp::CompareAndSwap,
        _ => return Err(LAPI_ERR_RMW_OP),
    };
    // SAFETY: the caller's promise; alignment is not assumed, for programs put operands anywhere.
    let value = |at: usize| unsafe {
        if width == 4 {
            u64::from(in_val.cast::<u32>().add(at).read_unaligned())
        } else {
            in_val.cast::<u64>().add(at).read_unaligned()
        }
    };
    let (operand, compare) = if op == RmwOp::CompareAndSwap { (value(1), value(0)) } else { (value(0), 0) };
    Ok(RmwArgs {
        target: tgt,
        op,
        width,
        remote: tgt_var,
        operand,
        compare,
        previous,
        swap_answers_success: true,
        origin: Notify::None,
        checked: false,
    })
}

/// LAPI_RMW_XFER.
///
/// # Safety
/// `command` is a lapi_rmw_t.
//= LAPI Guide, LAPI_Xfer, LAPI_ERR_OP_SZ
pub(super) unsafe fn xfer(instance: &Instance, command: *const lapi_rmw_t) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    let c = unsafe { &*command };
    let width = match c.size {
        32 => 4,
        64 => 8,
        _ => return Err(LAPI_ERR_OP_SZ),
    };
    let origin = send_notify(c.org_cntr, c.shdlr, c.sinfo);
    // SAFETY: the caller's promise.
    unsafe {
        let previous = c.prev_tgt_val.cast();
        let change = understood(instance, c.op, c.tgt, width, c.tgt_var, c.in_val.cast(), previous)?;
        instance.context.rmw(RmwArgs { origin, ..change }).map_err(failure::of)
    }
}
