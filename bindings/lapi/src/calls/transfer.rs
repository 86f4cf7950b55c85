//! LAPI_Amsend, LAPI_Put and LAPI_Get.

use crate::abi::*;
use crate::failure::{self, Outcome, code};
use crate::handlers::notify::{get_notify, send_notify};
use crate::handles::{self, Instance};
use lapis_core::message::{
    AmSend, Bulk, Destination, GetArgs, MAX_USER_HEADER, PutArgs, Short, Source, bytes,
};
use lapis_core::{Counter, Notify};
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::NonNull;

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

/// A put or a get, as the calls and LAPI_Xfer give them.
pub(super) struct Rma {
    pub(super) tgt: c_uint,
    pub(super) len: c_ulong,
    pub(super) tgt_addr: u64,
    pub(super) org_addr: *mut c_void,
    pub(super) tgt_cntr: u64,
    pub(super) origin: Notify,
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
    let (hdr_hdl, tgt_cntr) = (hdr_hdl.addr() as u64, tgt_cntr.addr() as u64);
    // Most messages are short: whatever speaks against that is the general path's to find.
    let sound = hdr_hdl != 0 && cmpl_cntr.is_null() && (udata_len == 0 || !udata.is_null());
    if sound
        && udata_len <= Short::LONGEST
        && let Ok(instance) = handles::get(hndl)
    {
        // SAFETY: the caller's promise.
        let sent = unsafe {
            let data = bytes(udata.cast(), udata_len);
            let handler = instance.code.portable(tgt, hdr_hdl);
            if uhdr_len == 0 && tgt_cntr == 0 {
                instance.context.try_send_short(&Short::plain(tgt, handler, data))
            } else {
                send_short(&instance, (tgt, handler, tgt_cntr), (uhdr, uhdr_len), data)
            }
        };
        if sent {
            // SAFETY: the caller's promise.
            unsafe { count(&instance, org_cntr, tgt) };
            return LAPI_SUCCESS;
        }
    }
    let origin = Notify::counter(org_cntr.cast::<Counter>());
    let message = Am { tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, origin, cmpl_cntr };
    match handles::get(hndl) {
        // SAFETY: the caller's promise.
        Ok(instance) => code(unsafe { send(&instance, message, Bulk::AsConfigured) }),
        Err(code) => code,
    }
}

/// The origin's counter counts, if there is one.
///
/// # Safety
/// NULL or a live counter, whose beginning is core's.
#[inline(always)]
pub(super) unsafe fn count(instance: &Instance, org_cntr: *mut lapi_cntr_t, tgt: c_uint) {
    // SAFETY: the caller's promise.
    if let Some(counter) = unsafe { org_cntr.cast::<Counter>().as_ref() } {
        instance.context.count(counter, tgt);
    }
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

//= LAPI Guide, LAPI_Put, transfers data to a task
pub(crate) unsafe extern "C" fn put(
    hndl: lapi_handle_t,
    tgt: c_uint,
    len: c_ulong,
    tgt_addr: *mut c_void,
    org_addr: *mut c_void,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    let (tgt_addr, tgt_cntr) = (tgt_addr.addr() as u64, tgt_cntr.addr() as u64);
    // Memory that is mapped here needs a copy and no more: whatever speaks against that is the
    // general path's to find.
    let sound = tgt_addr != 0 && !org_addr.is_null() && len <= LAPI_MAX_MSG_SZ;
    if sound
        && tgt_cntr == 0
        && cmpl_cntr.is_null()
        && let Ok(instance) = handles::live(hndl)
    {
        // SAFETY: the caller's promise.
        if unsafe { instance.context.put_mapped(tgt, tgt_addr, org_addr.cast(), len) } {
            // SAFETY: `org_cntr` is null or a counter of the caller's that lives.
            unsafe { count(instance, org_cntr, tgt) };
            return LAPI_SUCCESS;
        }
    }
    let origin = Notify::counter(org_cntr.cast::<Counter>());
    let args = Rma { tgt, len, tgt_addr, org_addr, tgt_cntr, origin };
    match handles::get(hndl) {
        // SAFETY: the caller's promise.
        Ok(instance) => code(unsafe { write(&instance, args, cmpl_cntr, Bulk::AsConfigured) }),
        Err(code) => code,
    }
}

/// # Safety
/// Buffers and counters are valid as the guide demands.
#[inline(always)]
pub(super) unsafe fn write(
    instance: &Instance,
    args: Rma,
    cmpl_cntr: *mut lapi_cntr_t,
    bulk: Bulk,
) -> Outcome {
    check(instance, &args)?;
    let put = PutArgs {
        target: args.tgt,
        remote: args.tgt_addr,
        source: Source::Contiguous(args.org_addr.cast(), args.len),
        target_counter: args.tgt_cntr,
        origin: args.origin,
        completion: Notify::counter(cmpl_cntr.cast::<Counter>()),
        checked: false,
    };
    // SAFETY: the caller's promise.
    unsafe { instance.context.put_by(put, bulk) }.map_err(failure::of)
}

//= LAPI Guide, LAPI_Get, copies data from a task
pub(crate) unsafe extern "C" fn get(
    hndl: lapi_handle_t,
    tgt: c_uint,
    len: c_ulong,
    tgt_addr: *mut c_void,
    org_addr: *mut c_void,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    let (tgt_addr, tgt_cntr) = (tgt_addr.addr() as u64, tgt_cntr.addr() as u64);
    // As in `put`.
    let sound = tgt_addr != 0 && !org_addr.is_null() && len <= LAPI_MAX_MSG_SZ;
    if sound
        && tgt_cntr == 0
        && let Ok(instance) = handles::live(hndl)
    {
        // SAFETY: the caller's promise.
        if unsafe { instance.context.get_mapped(tgt, tgt_addr, org_addr.cast(), len) } {
            // SAFETY: `org_cntr` is null or a counter of the caller's that lives.
            unsafe { count(instance, org_cntr, tgt) };
            return LAPI_SUCCESS;
        }
    }
    let origin = Notify::counter(org_cntr.cast::<Counter>());
    let args = Rma { tgt, len, tgt_addr, org_addr, tgt_cntr, origin };
    match handles::get(hndl) {
        // SAFETY: the caller's promise.
        Ok(instance) => code(unsafe { read(&instance, args, Bulk::AsConfigured) }),
        Err(code) => code,
    }
}

/// # Safety
/// Buffers and counters are valid as the guide demands.
#[inline(always)]
pub(super) unsafe fn read(instance: &Instance, args: Rma, bulk: Bulk) -> Outcome {
    check(instance, &args)?;
    let get = GetArgs {
        target: args.tgt,
        remote: args.tgt_addr,
        len: args.len,
        destination: NonNull::new(args.org_addr.cast()).map_or(Destination::Discard, Destination::Contiguous),
        target_counter: args.tgt_cntr,
        origin: args.origin,
        checked: false,
    };
    // SAFETY: the caller's promise.
    unsafe { instance.context.get_by(get, bulk) }.map_err(failure::of)
}

//= LAPI Guide, LAPI_Put, LAPI_ERR_TGT, LAPI_ERR_DATA_LEN, LAPI_ERR_TGT_ADDR_NULL, LAPI_ERR_ORG_ADDR_NULL
#[inline(always)]
fn check(instance: &Instance, args: &Rma) -> Outcome {
    if args.tgt >= instance.context.tasks() {
        return Err(LAPI_ERR_TGT);
    }
    if args.len == 0 {
        return Ok(());
    }
    if args.org_addr.is_null() {
        return Err(LAPI_ERR_ORG_ADDR_NULL);
    }
    if args.tgt_addr == 0 {
        return Err(LAPI_ERR_TGT_ADDR_NULL);
    }
    if args.len > LAPI_MAX_MSG_SZ {
        return Err(LAPI_ERR_DATA_LEN);
    }
    Ok(())
}

/// What a command's flags wish about bulk transfer. Both at once mean no.
//= LAPI Guide, LAPI_Xfer, LAPI_USE_BULK_XFER and LAPI_NOT_USE_BULK_XFER
pub(super) fn hint(flags: c_int) -> Bulk {
    if flags & LAPI_NOT_USE_BULK_XFER != 0 {
        Bulk::Avoid
    } else if flags & LAPI_USE_BULK_XFER != 0 {
        Bulk::Use
    } else {
        Bulk::AsConfigured
    }
}

/// LAPI_AM_XFER, and LAPI_AM_LW_XFER with `light`.
///
/// # Safety
/// `command` is a lapi_am_t.
pub(super) unsafe fn xfer_am(instance: &Instance, command: *const lapi_am_t, light: bool) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    let c = unsafe { &*command };
    let (origin, cmpl_cntr) = if light {
        (Notify::None, std::ptr::null_mut())
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

/// LAPI_PUT_XFER.
///
/// # Safety
/// `command` is a lapi_put_t.
pub(super) unsafe fn xfer_put(instance: &Instance, command: *const lapi_put_t) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    let c = unsafe { &*command };
    let origin = send_notify(c.org_cntr, c.shdlr, c.sinfo);
    let args = Rma {
        tgt: c.tgt,
        len: c.len,
        tgt_addr: c.tgt_addr,
        org_addr: c.org_addr,
        tgt_cntr: c.tgt_cntr,
        origin,
    };
    // SAFETY: the caller's promise.
    unsafe { write(instance, args, c.cmpl_cntr, hint(c.flags)) }
}

/// LAPI_GET_XFER.
///
/// # Safety
/// `command` is a lapi_get_t.
pub(super) unsafe fn xfer_get(instance: &Instance, command: *const lapi_get_t) -> Outcome {
    // SAFETY: the caller's promise; only fields of this structure are read.
    let c = unsafe { &*command };
    let origin = get_notify(c.org_cntr, c.chndlr, c.cinfo);
    let args = Rma {
        tgt: c.tgt,
        len: c.len,
        tgt_addr: c.tgt_addr,
        org_addr: c.org_addr,
        tgt_cntr: c.tgt_cntr,
        origin,
    };
    // SAFETY: the caller's promise.
    unsafe { read(instance, args, hint(c.flags)) }
}
