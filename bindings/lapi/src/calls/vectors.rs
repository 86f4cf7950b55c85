//! LAPI_Amsendv, LAPI_Putv and LAPI_Getv.

use super::amsend::user_header;
use crate::abi::*;
use crate::failure::{Outcome, cold};
use crate::handlers::notify::send_notify;
use crate::handles::{self, Instance};
use crate::vector::layout::{Layout, Side, View};
use crate::vector::{amv, get, put};
use lapis_core::{Counter, Notify};
use std::ffi::{c_int, c_uint, c_void};

//= LAPI Guide, LAPI_Amsendv, sends a vector to a header handler
pub(crate) unsafe extern "C" fn amsendv(
    hndl: lapi_handle_t,
    tgt: c_uint,
    hdr_hdl: *mut c_void,
    uhdr: *mut c_void,
    uhdr_len: c_uint,
    org_vec: *mut lapi_vec_t,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    let command = lapi_amv_t {
        Xfer_type: LAPI_AMV_XFER,
        flags: 0,
        tgt,
        hdr_hdl: hdr_hdl.addr() as u64,
        uhdr_len,
        uhdr,
        shdlr: None,
        sinfo: std::ptr::null_mut(),
        org_vec,
        tgt_cntr: tgt_cntr.addr() as u64,
        org_cntr,
        cmpl_cntr,
    };
    // SAFETY: the caller's promise.
    cold("LAPI_Amsendv", || unsafe { xfer_amv(&*handles::get(hndl)?, &command) })
}

/// LAPI_AMV_XFER.
///
/// # Safety
/// `command` is a lapi_amv_t.
pub(super) unsafe fn xfer_amv(instance: &Instance, command: *const lapi_amv_t) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    unsafe {
        let c = &*command;
        let user_header = user_header(instance, c.tgt, c.hdr_hdl, c.uhdr, c.uhdr_len)?;
        if user_header.len() % 4 != 0 {
            return Err(LAPI_ERR_HDR_LEN);
        }
        let view = View::of(c.org_vec, Side::Origin)?;
        view.check_type(Side::Origin, true)?;
        let message = amv::Message {
            tgt: c.tgt,
            handler: instance.code.portable(c.tgt, c.hdr_hdl),
            user_header,
            vec_type: view.vec_type,
            count: view.count,
            layout: view.layout(Side::Origin)?,
            tgt_cntr: c.tgt_cntr,
            origin: send_notify(c.org_cntr, c.shdlr, c.sinfo),
            completion: Notify::counter(c.cmpl_cntr.cast::<Counter>()),
        };
        amv::send(instance, message)
    }
}

//= LAPI Guide, LAPI_Putv, transfers vectors to a task
pub(crate) unsafe extern "C" fn putv(
    hndl: lapi_handle_t,
    tgt: c_uint,
    tgt_vec: *mut lapi_vec_t,
    org_vec: *mut lapi_vec_t,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    let command = lapi_putv_t {
        Xfer_type: LAPI_PUTV_XFER,
        flags: USE_TGT_VEC_TYPE,
        tgt,
        shdlr: None,
        sinfo: std::ptr::null_mut(),
        org_vec,
        tgt_vec: tgt_vec.cast(),
        tgt_cntr: tgt_cntr.addr() as u64,
        org_cntr,
        cmpl_cntr,
    };
    // SAFETY: the caller's promise.
    cold("LAPI_Putv", || unsafe { xfer_putv(&*handles::get(hndl)?, &command) })
}

/// LAPI_PUTV_XFER.
///
/// # Safety
/// `command` is a lapi_putv_t.
pub(super) unsafe fn xfer_putv(instance: &Instance, command: *const lapi_putv_t) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    unsafe {
        let c = &*command;
        let (shape, origin, target) = both(instance, c.tgt, c.flags, c.org_vec, c.tgt_vec)?;
        let told = send_notify(c.org_cntr, c.shdlr, c.sinfo);
        let completion = Notify::counter(c.cmpl_cntr.cast::<Counter>());
        put::send(instance, c.tgt, shape, origin, target, c.tgt_cntr, told, completion)
    }
}

//= LAPI Guide, LAPI_Getv, copies vectors from a task
pub(crate) unsafe extern "C" fn getv(
    hndl: lapi_handle_t,
    tgt: c_uint,
    tgt_vec: *mut lapi_vec_t,
    org_vec: *mut lapi_vec_t,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    let command = lapi_getv_t {
        Xfer_type: LAPI_GETV_XFER,
        flags: USE_TGT_VEC_TYPE,
        tgt,
        org_vec,
        tgt_vec: tgt_vec.cast(),
        tgt_cntr: tgt_cntr.addr() as u64,
        org_cntr,
        chndlr: None,
        cinfo: std::ptr::null_mut(),
    };
    // SAFETY: the caller's promise.
    cold("LAPI_Getv", || unsafe { xfer_getv(&*handles::get(hndl)?, &command) })
}

/// LAPI_GETV_XFER.
///
/// # Safety
/// `command` is a lapi_getv_t.
pub(super) unsafe fn xfer_getv(instance: &Instance, command: *const lapi_getv_t) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    unsafe {
        let c = &*command;
        let (shape, origin, target) = both(instance, c.tgt, c.flags, c.org_vec, c.tgt_vec)?;
        let told = get::Told { counter: c.org_cntr, handler: c.chndlr, argument: c.cinfo };
        get::send(instance, c.tgt, shape, origin, target, c.tgt_cntr, told)
    }
}

/// Both vectors of a put or get, checked: their type and count, and their layouts.
///
/// # Safety
/// The vectors are NULL or what their types say.
//= LAPI Guide, LAPI_Xfer, USE_TGT_VEC_TYPE
//= LAPI Guide, LAPI_Putv, LAPI_ERR_VEC_TYPE_DIFF, LAPI_ERR_VEC_NUM_DIFF, LAPI_ERR_VEC_LEN_DIFF
unsafe fn both(
    instance: &Instance,
    tgt: c_uint,
    flags: c_int,
    org_vec: *const lapi_vec_t,
    tgt_vec: *const c_void,
) -> Outcome<((c_int, u32), Layout, Layout)> {
    if tgt >= instance.context.tasks() {
        return Err(LAPI_ERR_TGT);
    }
    // SAFETY: the caller's promise.
    unsafe {
        let origin = View::of(org_vec, Side::Origin)?;
        let target = if flags & USE_TGT_VEC_TYPE != 0 {
            View::of(tgt_vec.cast(), Side::Target)?
        } else {
            View::of_long(tgt_vec.cast(), Side::Target)?
        };
        origin.check_type(Side::Origin, false)?;
        target.check_type(Side::Target, false)?;
        if origin.vec_type != target.vec_type {
            return Err(LAPI_ERR_VEC_TYPE_DIFF);
        }
        if origin.count != target.count {
            return Err(LAPI_ERR_VEC_NUM_DIFF);
        }
        let from = origin.layout(Side::Origin)?;
        let to = target.layout(Side::Target)?;
        target.fits(&to, origin.vec_type, origin.count, from.lengths())?;
        Ok(((origin.vec_type, origin.count), from, to))
    }
}
