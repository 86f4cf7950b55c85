//! LAPI_Put and LAPI_Get.

use crate::abi::*;
use crate::failure::{self, Outcome, code};
use crate::handlers::notify::{get_notify, send_notify};
use crate::handles::{self, Instance};
use lapis_core::message::{Bulk, Destination, Direction, GetArgs, PutArgs, Source};
use lapis_core::transport::copy::copy_watched;
use lapis_core::{Counter, Notify};
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::NonNull;

/// A put or a get, as the calls and LAPI_Xfer give them.
pub(super) struct Rma {
    pub(super) tgt: c_uint,
    pub(super) len: c_ulong,
    pub(super) tgt_addr: u64,
    pub(super) org_addr: *mut c_void,
    pub(super) tgt_cntr: u64,
    pub(super) origin: Notify,
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

/// Copies what [`put`] or [`get`] has found mapped here, counts, and ends the call. One word that
/// nobody counts, as in most of them, needs no call of a function; all else is left to one that
/// comes last. So what is in registers stays there.
///
/// # Safety
/// Both ranges are valid, and `org_cntr` is as for [`count`].
#[inline(always)]
unsafe fn copy_mapped(
    instance: &Instance,
    (tgt, direction): (c_uint, Direction),
    from: *const u8,
    to: *mut u8,
    len: c_ulong,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if (len != 8 && len != 4) || !org_cntr.is_null() {
            return match direction {
                Direction::Out => copy_any::<true>(instance, tgt, from, to, len, org_cntr),
                Direction::In => copy_any::<false>(instance, tgt, from, to, len, org_cntr),
            };
        }
        copy_watched(from, to, len as usize);
    }
    instance.context.count_direct(tgt, direction, len);
    LAPI_SUCCESS
}

/// The same of any length: a put if it is `OUT`, or else a get.
///
/// # Safety
/// As for [`copy_mapped`].
#[inline(never)]
unsafe fn copy_any<const OUT: bool>(
    instance: &Instance,
    tgt: c_uint,
    from: *const u8,
    to: *mut u8,
    len: c_ulong,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        copy_watched(from, to, len as usize);
        instance.context.count_direct(tgt, if OUT { Direction::Out } else { Direction::In }, len);
        count(instance, org_cntr, tgt);
    }
    LAPI_SUCCESS
}

/// Whether nothing speaks against a short path: whatever does is the general path's to find.
#[inline(always)]
fn is_sound(len: c_ulong, tgt_addr: *mut c_void, org_addr: *mut c_void) -> bool {
    !tgt_addr.is_null() && !org_addr.is_null() && len <= LAPI_MAX_MSG_SZ
}

/// Memory that is mapped here needs a copy and no more.
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
    if tgt_cntr.addr() | cmpl_cntr.addr() == 0
        && is_sound(len, tgt_addr, org_addr)
        && let Ok(instance) = handles::live(hndl)
        && let Some(to) = instance.context.direct_at_once(tgt, tgt_addr.addr() as u64, len)
    {
        // SAFETY: the caller's promise, and the window is mapped as long as the context lives.
        return unsafe { copy_mapped(instance, (tgt, Direction::Out), org_addr.cast(), to, len, org_cntr) };
    }
    // SAFETY: the caller's promise.
    unsafe { put_otherwise(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// # Safety
/// As for LAPI_Put.
#[inline(never)]
unsafe extern "C" fn put_otherwise(
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

/// As [`put`].
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
    if tgt_cntr.is_null()
        && is_sound(len, tgt_addr, org_addr)
        && let Ok(instance) = handles::live(hndl)
        && let Some(from) = instance.context.direct_at_once(tgt, tgt_addr.addr() as u64, len)
    {
        // SAFETY: the caller's promise, and the window is mapped as long as the context lives.
        return unsafe { copy_mapped(instance, (tgt, Direction::In), from, org_addr.cast(), len, org_cntr) };
    }
    // SAFETY: the caller's promise.
    unsafe { get_otherwise(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr) }
}

/// # Safety
/// As for LAPI_Get.
#[inline(never)]
unsafe extern "C" fn get_otherwise(
    hndl: lapi_handle_t,
    tgt: c_uint,
    len: c_ulong,
    tgt_addr: *mut c_void,
    org_addr: *mut c_void,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    let (tgt_addr, tgt_cntr) = (tgt_addr.addr() as u64, tgt_cntr.addr() as u64);
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

/// What a command's flags request about bulk transfer. Both at once mean no.
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
