//! The exported symbols. Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
//!
//! Every subroutine exists twice: `LAPI_*`, which a profiling library may replace by defining it,
//! and `PLAPI_*`, which such a library calls (LAPI Guide, chapter 9). Both go to the same function
//! of `crate::calls`, which nothing outside can name, so calls within the library never run through
//! a replaced symbol.
#![allow(non_snake_case, reason = "the names are C's")]
#![allow(clippy::too_many_arguments, reason = "the prototypes are the guide's")]

use crate::abi::*;
use crate::calls;
use std::ffi::{c_int, c_longlong, c_uint, c_ulong, c_void};

/// Fetches what LAPI_Addr_set stored under an index.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Addr_get(
    hndl: lapi_handle_t,
    addr: *mut *mut c_void,
    addr_hndl: c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::addr_get(hndl, addr, addr_hndl) }
}

/// [`LAPI_Addr_get`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Addr_get(
    hndl: lapi_handle_t,
    addr: *mut *mut c_void,
    addr_hndl: c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::addr_get(hndl, addr, addr_hndl) }
}

/// Stores an address, such as a header handler's, under an index that other tasks can name.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Addr_set(hndl: lapi_handle_t, addr: *mut c_void, addr_hndl: c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::addr_set(hndl, addr, addr_hndl) }
}

/// [`LAPI_Addr_set`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Addr_set(hndl: lapi_handle_t, addr: *mut c_void, addr_hndl: c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::addr_set(hndl, addr, addr_hndl) }
}

/// Gives the address of a variable, for Fortran programs.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Address(my_addr: *mut c_void, ret_addr: *mut c_ulong) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::address(my_addr, ret_addr) }
}

/// [`LAPI_Address`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Address(my_addr: *mut c_void, ret_addr: *mut c_ulong) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::address(my_addr, ret_addr) }
}

/// Collective: exchanges an address between all tasks.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Address_init(
    hndl: lapi_handle_t,
    my_addr: *mut c_void,
    add_tab: *mut *mut c_void,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::address_init(hndl, my_addr, add_tab) }
}

/// [`LAPI_Address_init`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Address_init(
    hndl: lapi_handle_t,
    my_addr: *mut c_void,
    add_tab: *mut *mut c_void,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::address_init(hndl, my_addr, add_tab) }
}

/// Collective: the same with 64-bit addresses.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Address_init64(
    hndl: lapi_handle_t,
    my_addr: lapi_long_t,
    add_tab: *mut lapi_long_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::address_init64(hndl, my_addr, add_tab) }
}

/// [`LAPI_Address_init64`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Address_init64(
    hndl: lapi_handle_t,
    my_addr: lapi_long_t,
    add_tab: *mut lapi_long_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::address_init64(hndl, my_addr, add_tab) }
}

/// Sends an active message. hdr_hdl is the handler's index, or its address at the target.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Amsend(
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
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe {
        calls::amsend(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr)
    }
}

/// [`LAPI_Amsend`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Amsend(
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
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe {
        calls::amsend(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr)
    }
}

/// Sends an active message from a vector.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Amsendv(
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
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::amsendv(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// [`LAPI_Amsendv`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Amsendv(
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
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::amsendv(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// Waits until the transfers that this task started are complete.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Fence(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::fence(hndl) }
}

/// [`LAPI_Fence`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Fence(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::fence(hndl) }
}

/// Copies memory of another task here.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Get(
    hndl: lapi_handle_t,
    tgt: c_uint,
    len: c_ulong,
    tgt_addr: *mut c_void,
    org_addr: *mut c_void,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::get(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr) }
}

/// [`LAPI_Get`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Get(
    hndl: lapi_handle_t,
    tgt: c_uint,
    len: c_ulong,
    tgt_addr: *mut c_void,
    org_addr: *mut c_void,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::get(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr) }
}

/// Reads a counter.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Getcntr(hndl: lapi_handle_t, cntr: *mut lapi_cntr_t, val: *mut c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::getcntr(hndl, cntr, val) }
}

/// [`LAPI_Getcntr`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Getcntr(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    val: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::getcntr(hndl, cntr, val) }
}

/// Copies memory of another task here, between vectors.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Getv(
    hndl: lapi_handle_t,
    tgt: c_uint,
    tgt_vec: *mut lapi_vec_t,
    org_vec: *mut lapi_vec_t,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::getv(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr) }
}

/// [`LAPI_Getv`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Getv(
    hndl: lapi_handle_t,
    tgt: c_uint,
    tgt_vec: *mut lapi_vec_t,
    org_vec: *mut lapi_vec_t,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::getv(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr) }
}

/// Collective: waits until the transfers that all tasks started are complete.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Gfence(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::gfence(hndl) }
}

/// [`LAPI_Gfence`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Gfence(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::gfence(hndl) }
}

/// Initializes a context. Zero *lapi_info before setting any field.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Init(hndl: *mut lapi_handle_t, lapi_info: *mut lapi_info_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::init(hndl, lapi_info) }
}

/// [`LAPI_Init`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Init(hndl: *mut lapi_handle_t, lapi_info: *mut lapi_info_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::init(hndl, lapi_info) }
}

/// Writes the text of a return code, at most LAPI_MAX_ERR_STRING bytes.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Msg_string(error_code: c_int, buf: *mut c_void) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::msg_string(error_code, buf) }
}

/// [`LAPI_Msg_string`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Msg_string(error_code: c_int, buf: *mut c_void) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::msg_string(error_code, buf) }
}

/// Makes progress until something completes, or for cnt rounds without any.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Msgpoll(hndl: lapi_handle_t, cnt: c_uint, info: *mut lapi_msg_info_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::msgpoll(hndl, cnt, info) }
}

/// [`LAPI_Msgpoll`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Msgpoll(
    hndl: lapi_handle_t,
    cnt: c_uint,
    info: *mut lapi_msg_info_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::msgpoll(hndl, cnt, info) }
}

/// Waits for a counter without polling, and returns early when a task is purged.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Nopoll_wait(
    hndl: lapi_handle_t,
    cntr_ptr: *mut lapi_cntr_t,
    val: c_int,
    cur_cntr_val: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::nopoll_wait(hndl, cntr_ptr, val, cur_cntr_val) }
}

/// [`LAPI_Nopoll_wait`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Nopoll_wait(
    hndl: lapi_handle_t,
    cntr_ptr: *mut lapi_cntr_t,
    val: c_int,
    cur_cntr_val: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::nopoll_wait(hndl, cntr_ptr, val, cur_cntr_val) }
}

/// Makes progress once.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Probe(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::probe(hndl) }
}

/// [`LAPI_Probe`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Probe(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::probe(hndl) }
}

/// Forgets a task that has failed.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Purge_totask(hndl: lapi_handle_t, dest: c_uint) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::purge_totask(hndl, dest) }
}

/// [`LAPI_Purge_totask`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Purge_totask(hndl: lapi_handle_t, dest: c_uint) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::purge_totask(hndl, dest) }
}

/// Copies memory of this task to another.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Put(
    hndl: lapi_handle_t,
    tgt: c_uint,
    len: c_ulong,
    tgt_addr: *mut c_void,
    org_addr: *mut c_void,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// [`LAPI_Put`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Put(
    hndl: lapi_handle_t,
    tgt: c_uint,
    len: c_ulong,
    tgt_addr: *mut c_void,
    org_addr: *mut c_void,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// Copies memory of this task to another, between vectors.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Putv(
    hndl: lapi_handle_t,
    tgt: c_uint,
    tgt_vec: *mut lapi_vec_t,
    org_vec: *mut lapi_vec_t,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::putv(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// [`LAPI_Putv`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Putv(
    hndl: lapi_handle_t,
    tgt: c_uint,
    tgt_vec: *mut lapi_vec_t,
    org_vec: *mut lapi_vec_t,
    tgt_cntr: *mut lapi_cntr_t,
    org_cntr: *mut lapi_cntr_t,
    cmpl_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::putv(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, cmpl_cntr) }
}

/// Reads a runtime attribute; the type of *ret_val depends on it.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Qenv(hndl: lapi_handle_t, query: lapi_query_t, ret_val: *mut c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::qenv(hndl, query, ret_val) }
}

/// [`LAPI_Qenv`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Qenv(hndl: lapi_handle_t, query: lapi_query_t, ret_val: *mut c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::qenv(hndl, query, ret_val) }
}

/// Takes up communication with a purged task again.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Resume_totask(hndl: lapi_handle_t, dest: c_uint) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::resume_totask(hndl, dest) }
}

/// [`LAPI_Resume_totask`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Resume_totask(hndl: lapi_handle_t, dest: c_uint) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::resume_totask(hndl, dest) }
}

/// Reads and modifies a variable of another task atomically, 32 bits.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Rmw(
    hndl: lapi_handle_t,
    op: RMW_ops_t,
    tgt: c_uint,
    tgt_var: *mut c_int,
    in_val: *mut c_int,
    prev_tgt_val: *mut c_int,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::rmw(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr) }
}

/// [`LAPI_Rmw`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Rmw(
    hndl: lapi_handle_t,
    op: RMW_ops_t,
    tgt: c_uint,
    tgt_var: *mut c_int,
    in_val: *mut c_int,
    prev_tgt_val: *mut c_int,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::rmw(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr) }
}

/// The same, 64 bits.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Rmw64(
    hndl: lapi_handle_t,
    op: Rmw_ops_t,
    tgt: c_uint,
    tgt_var: *mut c_longlong,
    in_val: *mut c_longlong,
    prev_tgt_val: *mut c_longlong,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::rmw64(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr) }
}

/// [`LAPI_Rmw64`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Rmw64(
    hndl: lapi_handle_t,
    op: Rmw_ops_t,
    tgt: c_uint,
    tgt_var: *mut c_longlong,
    in_val: *mut c_longlong,
    prev_tgt_val: *mut c_longlong,
    org_cntr: *mut lapi_cntr_t,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::rmw64(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr) }
}

/// Sets ACK_THRESHOLD, ERROR_CHK, INTERRUPT_SET or TIMEOUT.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Senv(hndl: lapi_handle_t, query: lapi_query_t, set_val: c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::senv(hndl, query, set_val) }
}

/// [`LAPI_Senv`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Senv(hndl: lapi_handle_t, query: lapi_query_t, set_val: c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::senv(hndl, query, set_val) }
}

/// Sets a counter.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Setcntr(hndl: lapi_handle_t, cntr: *mut lapi_cntr_t, val: c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::setcntr(hndl, cntr, val) }
}

/// [`LAPI_Setcntr`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Setcntr(hndl: lapi_handle_t, cntr: *mut lapi_cntr_t, val: c_int) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::setcntr(hndl, cntr, val) }
}

/// Zeroes a counter and names the tasks whose state LAPI_Nopoll_wait is to report.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Setcntr_wstatus(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    num_dest: c_int,
    dest_list: *mut c_uint,
    dest_status: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::setcntr_wstatus(hndl, cntr, num_dest, dest_list, dest_status) }
}

/// [`LAPI_Setcntr_wstatus`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Setcntr_wstatus(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    num_dest: c_int,
    dest_list: *mut c_uint,
    dest_status: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::setcntr_wstatus(hndl, cntr, num_dest, dest_list, dest_status) }
}

/// Ends a context.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Term(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::term(hndl) }
}

/// [`LAPI_Term`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Term(hndl: lapi_handle_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::term(hndl) }
}

/// Registers DGSPs, packs and unpacks, tells UDP addresses, hands out the lock.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Util(hndl: lapi_handle_t, util_cmd: *mut lapi_util_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::util(hndl, util_cmd) }
}

/// [`LAPI_Util`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Util(hndl: lapi_handle_t, util_cmd: *mut lapi_util_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::util(hndl, util_cmd) }
}

/// Waits until a counter reaches val, and subtracts val from it.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Waitcntr(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    val: c_int,
    cur_cntr_val: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::waitcntr(hndl, cntr, val, cur_cntr_val) }
}

/// [`LAPI_Waitcntr`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Waitcntr(
    hndl: lapi_handle_t,
    cntr: *mut lapi_cntr_t,
    val: c_int,
    cur_cntr_val: *mut c_int,
) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::waitcntr(hndl, cntr, val, cur_cntr_val) }
}

/// Starts any transfer.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAPI_Xfer(hndl: lapi_handle_t, xfer_cmd: *mut lapi_xfer_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::xfer(hndl, xfer_cmd) }
}

/// [`LAPI_Xfer`] for profiling libraries.
///
/// # Safety
/// Pointers are valid for what the guide says that the call does with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PLAPI_Xfer(hndl: lapi_handle_t, xfer_cmd: *mut lapi_xfer_t) -> c_int {
    // SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.
    unsafe { calls::xfer(hndl, xfer_cmd) }
}
