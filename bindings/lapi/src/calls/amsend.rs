//! LAPI_Amsend, and active messages by LAPI_Xfer.

use super::transfer::{count, hint};
use crate::abi::*;
use crate::code::names_handler;
use crate::failure::{self, Outcome, code};
use crate::handlers::notify::send_notify;
use crate::handles::{self, Instance};
use lapis_core::message::{AmSend, Bulk, InSlot, MAX_USER_HEADER, Short, Source, Wanted, bytes};
use lapis_core::{Counter, Notify};
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::null_mut;

/// An active message, as both LAPI_Amsend and LAPI_Xfer give it.
pub(super) struct Am {
    pub(super) tgt: c_uint,
    pub(super) hdr_hdl: u64,
    pub(super) uhdr: *mut c_void,
    pub(super) uhdr_len: c_uint,
    pub(super) udata: *mut c_void,
    pub(super) udata_len: c_ulong,
    pub(super) tgt_cntr: u64,
    pub(super) origin: Notify,
    pub(super) cmpl_cntr: *mut lapi_cntr_t,
}

//= LAPI Guide, LAPI_Amsend, transfers a user message to a task
pub(crate) unsafe extern "C" fn amsend(
    hndl: lapi_handle_t,
    tgt: c_uint,
    hdr_hdl: *mut c_void,
    uhdr: *mut c_void,
    uhdr_len: c_uint,
    udata: *mut c_void,
    udata_len: c_ulong,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    let handler = hdr_hdl.addr() as u64;
    let extras = tgt_cntr.addr() | org_cntr.addr() | cmpl_cntr.addr() | uhdr_len as usize;
    if extras == 0
        && !(udata.is_null() && holds_data(udata_len))
        && let Ok(instance) = handles::live(hndl)
    {
        // SAFETY: the caller's promise.
        return unsafe { send_data(instance, tgt, handler, udata, udata_len) };
    }
    // SAFETY: the caller's promise.
    unsafe { amsend_any(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// Whether a length is that of data, where NULL was given for them. Cold, so that the compiler does
/// not look at the length of every message.
#[cold]
#[inline(always)]
fn holds_data(len: c_ulong) -> bool {
    len != 0
}

/// A message with data alone, as in most streams. Little is kept for the case that the shortest way
/// is not open, and that in registers: whatever is stored takes room from messages that are on
/// their way to the receiver's cache (see [`Short`]).
///
/// # Safety
/// As for LAPI_Amsend.
#[inline(always)]
unsafe fn send_data(
    instance: &'static Instance,
    tgt: c_uint,
    handler: u64,
    udata: *mut c_void,
    udata_len: c_ulong,
) -> c_int {
    if instance.code.same_everywhere(handler) {
        // SAFETY: the caller's promise.
        let sent = unsafe {
            instance.context.send_in_slot(&Short::plain(tgt, handler, bytes(udata.cast(), udata_len)))
        };
        match sent {
            InSlot::Sent => return LAPI_SUCCESS,
            InSlot::Wanted(wanted) => return attend(instance, tgt, wanted),
            // SAFETY: the caller's promise; the handler stands for itself.
            InSlot::Unfit => unsafe { return send_past_slot(instance, tgt, handler, udata, udata_len) },
        }
    }
    // SAFETY: the caller's promise.
    unsafe { send_data_by_name(instance, tgt, handler, udata, udata_len) }
}

/// The same for a message that no slot takes, to a handler that stands for itself.
///
/// # Safety
/// As for LAPI_Amsend.
#[inline(never)]
unsafe fn send_past_slot(
    instance: &'static Instance,
    tgt: c_uint,
    handler: u64,
    udata: *mut c_void,
    udata_len: c_ulong,
) -> c_int {
    let instance = match handles::enter(instance) {
        Ok(instance) => instance,
        Err(code) => return code,
    };
    // SAFETY: the caller's promise.
    unsafe {
        let short = udata_len <= Short::LONGEST;
        if short
            && instance.context.try_send_past_slot(&Short::plain(
                tgt,
                handler,
                bytes(udata.cast(), udata_len),
            ))
        {
            return LAPI_SUCCESS;
        }
        send_data_alone(&instance, tgt, handler, udata, udata_len)
    }
}

/// A message of data alone, in the general way.
///
/// # Safety
/// As for LAPI_Amsend.
#[inline(never)]
unsafe fn send_data_alone(
    instance: &Instance,
    tgt: c_uint,
    hdr_hdl: u64,
    udata: *mut c_void,
    udata_len: c_ulong,
) -> c_int {
    let (uhdr, uhdr_len, tgt_cntr, origin, cmpl_cntr) = (null_mut(), 0, 0, Notify::None, null_mut());
    let message = Am { tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, origin, cmpl_cntr };
    // SAFETY: the caller's promise.
    code(unsafe { send(instance, message, Bulk::AsConfigured) })
}

/// A message of data alone whose handler has another name at its target.
///
/// # Safety
/// As for LAPI_Amsend.
#[inline(never)]
unsafe fn send_data_by_name(
    instance: &'static Instance,
    tgt: c_uint,
    handler: u64,
    udata: *mut c_void,
    udata_len: c_ulong,
) -> c_int {
    let instance = match handles::enter(instance) {
        Ok(instance) => instance,
        Err(code) => return code,
    };
    let nothing = (null_mut(), 0);
    let data = (udata, udata_len);
    let tell = Tell { tgt_cntr: 0, org_cntr: null_mut(), cmpl_cntr: null_mut() };
    // SAFETY: the caller's promise.
    unsafe { send_any(&instance, (tgt, handler), nothing, data, tell) }
}

/// Does what the receiver of a message wants.
#[cold]
#[inline(never)]
fn attend(instance: &Instance, tgt: c_uint, wanted: Wanted) -> c_int {
    code(instance.context.attend(tgt, wanted).map_err(failure::of))
}

/// Any active message.
///
/// # Safety
/// As for LAPI_Amsend.
#[inline(never)]
unsafe extern "C" fn amsend_any(
    hndl: lapi_handle_t,
    tgt: c_uint,
    hdr_hdl: *mut c_void,
    uhdr: *mut c_void,
    uhdr_len: c_uint,
    udata: *mut c_void,
    udata_len: c_ulong,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    let instance = match handles::get(hndl) {
        Ok(instance) => instance,
        Err(code) => return code,
    };
    let tell = Tell { tgt_cntr: tgt_cntr.addr() as u64, org_cntr, cmpl_cntr };
    let handler = hdr_hdl.addr() as u64;
    // SAFETY: the caller's promise.
    unsafe { send_any(&instance, (tgt, handler), (uhdr, uhdr_len), (udata, udata_len), tell) }
}

/// The counters of an active message.
struct Tell {
    tgt_cntr: u64,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
}

/// Sends a message as a short one if it is one, or else in the general way.
///
/// # Safety
/// As for LAPI_Amsend.
#[inline(always)]
unsafe fn send_any(
    instance: &Instance,
    (tgt, hdr_hdl): (c_uint, u64),
    (uhdr, uhdr_len): (*mut c_void, c_uint),
    (udata, udata_len): (*mut c_void, c_ulong),
    Tell { tgt_cntr, org_cntr, cmpl_cntr }: Tell,
) -> c_int {
    // Whatever speaks against a short message is the general way's to find.
    let sound = names_handler(hdr_hdl) && cmpl_cntr.is_null() && (udata_len == 0 || !udata.is_null());
    if sound && udata_len <= Short::LONGEST {
        // SAFETY: the caller's promise.
        let sent = unsafe {
            let data = bytes(udata.cast(), udata_len);
            let handler = instance.code.portable(tgt, hdr_hdl);
            if uhdr_len == 0 && tgt_cntr == 0 {
                instance.context.try_send_short(&Short::plain(tgt, handler, data))
            } else {
                send_short(instance, (tgt, handler, tgt_cntr), (uhdr, uhdr_len), data)
            }
        };
        if sent {
            // SAFETY: the caller's promise.
            unsafe { count(instance, org_cntr, tgt) };
            return LAPI_SUCCESS;
        }
    }
    let origin = Notify::counter(org_cntr.cast::<Counter>());
    let message = Am { tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, origin, cmpl_cntr };
    // SAFETY: the caller's promise.
    code(unsafe { send(instance, message, Bulk::AsConfigured) })
}

/// A short message with a user header, a target counter or both. False: it can't go this way,
/// nothing has happened.
///
/// # Safety
/// As for [`send`].
#[inline(never)]
unsafe fn send_short(
    instance: &Instance,
    (target, handler, target_counter): (c_uint, u64, u64),
    (uhdr, uhdr_len): (*const c_void, c_uint),
    data: &[u8],
) -> bool {
    if uhdr_len as usize > MAX_USER_HEADER || (uhdr.is_null() && uhdr_len != 0) {
        return false;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let user_header = bytes(uhdr.cast(), uhdr_len.into());
        let message = Short::new(target, handler, user_header, data, target_counter);
        instance.context.try_send_short(&message)
    }
}

/// # Safety
/// Buffers and counters are valid as the guide demands.
#[inline(always)]
pub(super) unsafe fn send(instance: &Instance, message: Am, bulk: Bulk) -> Outcome {
    //= LAPI Guide, LAPI_Amsend, LAPI_ERR_ORG_ADDR_NULL
    if message.udata.is_null() && message.udata_len != 0 {
        return Err(LAPI_ERR_ORG_ADDR_NULL);
    }
    // SAFETY: the caller's promise.
    let user_header =
        unsafe { user_header(instance, message.tgt, message.hdr_hdl, message.uhdr, message.uhdr_len) }?;
    if message.udata_len > LAPI_MAX_MSG_SZ {
        return Err(LAPI_ERR_DATA_LEN);
    }
    let send = AmSend {
        target: message.tgt,
        handler: instance.code.portable(message.tgt, message.hdr_hdl),
        user_header,
        source: Source::Contiguous(message.udata.cast(), message.udata_len),
        target_counter: message.tgt_cntr,
        origin: message.origin,
        completion: Notify::counter(message.cmpl_cntr.cast::<Counter>()),
    };
    // SAFETY: the caller's promise.
    unsafe {
        match bulk {
            Bulk::AsConfigured => instance.context.am_send(send),
            wish => instance.context.am_send_by(send, wish),
        }
    }
    .map_err(failure::of)
}

/// The user header of an active message, once it and the handler are checked.
///
/// # Safety
/// `uhdr` is NULL or readable for `uhdr_len` bytes.
//= LAPI Guide, LAPI_Amsend, LAPI_ERR_UHDR_NULL, LAPI_ERR_UHDR_LEN, LAPI_ERR_HDR_LEN, LAPI_ERR_HDR_HNDLR_NULL
#[inline(always)]
pub(super) unsafe fn user_header<'a>(
    instance: &Instance,
    tgt: c_uint,
    handler: u64,
    uhdr: *mut c_void,
    uhdr_len: c_uint,
) -> Outcome<&'a [u8]> {
    // A handler that is NULL is the target's error if nobody checks here.
    if handler == 0 && instance.context.checks() {
        return Err(LAPI_ERR_HDR_HNDLR_NULL);
    }
    if handler != 0 && !names_handler(handler) {
        return Err(LAPI_ERR_ADDR_HNDL_RANGE);
    }
    if tgt >= instance.context.tasks() {
        return Err(LAPI_ERR_TGT);
    }
    if uhdr_len == 0 {
        return Ok(&[]);
    }
    if uhdr.is_null() {
        return Err(LAPI_ERR_UHDR_NULL);
    }
    if uhdr_len as usize > MAX_USER_HEADER {
        return Err(LAPI_ERR_UHDR_LEN);
    }
    // SAFETY: not null; the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(uhdr.cast::<u8>(), uhdr_len as usize) })
}

/// LAPI_AM_XFER, and LAPI_AM_LW_XFER with `light`.
///
/// # Safety
/// `command` is a lapi_am_t.
pub(super) unsafe fn xfer(instance: &Instance, command: *const lapi_am_t, light: bool) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    let c = unsafe { &*command };
    let (origin, cmpl_cntr) = if light {
        (Notify::None, null_mut())
    } else {
        (send_notify(c.org_cntr, c.shdlr, c.sinfo), c.cmpl_cntr)
    };
    let message = Am {
        tgt: c.tgt,
        hdr_hdl: c.hdr_hdl,
        uhdr: c.uhdr,
        uhdr_len: c.uhdr_len,
        udata: c.udata,
        udata_len: c.udata_len,
        tgt_cntr: c.tgt_cntr,
        origin,
        cmpl_cntr,
    };
    // SAFETY: the caller's promise.
    unsafe { send(instance, message, hint(c.flags)) }
}
