//! The Fortran subroutines. Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
#![allow(non_snake_case, reason = "these are the spellings of Fortran compilers")]
#![allow(clippy::too_many_arguments, reason = "the synopses are the guide's")]

use super::arguments::{Address, Argument, Command, Handler, Object, Text, Value};
use super::subroutine;
use crate::abi::*;
use crate::exports as c;
use std::ffi::{c_int, c_longlong, c_uint, c_ulong, c_void};

subroutine! {
    "Fetches what LAPI_Addr_set stored under an index."
    LAPI_Addr_get [
        lapi_addr_get lapi_addr_get_ LAPI_ADDR_GET LAPI_ADDR_GET_
    ]
    PLAPI_Addr_get [
        plapi_addr_get plapi_addr_get_ PLAPI_ADDR_GET PLAPI_ADDR_GET_
    ]
    (
        hndl: Value<lapi_handle_t>,
        addr: Object<*mut c_void>,
        addr_hndl: Value<c_int>,
    )
}

subroutine! {
    "Stores an address, such as a header handler's, under an index that other tasks can name."
    LAPI_Addr_set [
        lapi_addr_set lapi_addr_set_ LAPI_ADDR_SET LAPI_ADDR_SET_
    ]
    PLAPI_Addr_set [
        plapi_addr_set plapi_addr_set_ PLAPI_ADDR_SET PLAPI_ADDR_SET_
    ]
    (
        hndl: Value<lapi_handle_t>,
        addr: Address<c_void>,
        addr_hndl: Value<c_int>,
    )
}

subroutine! {
    "Gives the address of a variable, for Fortran programs."
    LAPI_Address [
        lapi_address lapi_address_ LAPI_ADDRESS LAPI_ADDRESS_
        lapi_address_procedure lapi_address_procedure_ LAPI_ADDRESS_PROCEDURE LAPI_ADDRESS_PROCEDURE_
        lapi_address_function lapi_address_function_ LAPI_ADDRESS_FUNCTION LAPI_ADDRESS_FUNCTION_
    ]
    PLAPI_Address [
        plapi_address plapi_address_ PLAPI_ADDRESS PLAPI_ADDRESS_
        plapi_address_procedure plapi_address_procedure_ PLAPI_ADDRESS_PROCEDURE PLAPI_ADDRESS_PROCEDURE_
        plapi_address_function plapi_address_function_ PLAPI_ADDRESS_FUNCTION PLAPI_ADDRESS_FUNCTION_
    ]
    (
        my_addr: Object<c_void>,
        ret_addr: Object<c_ulong>,
    )
}

subroutine! {
    "Collective: exchanges an address between all tasks."
    LAPI_Address_init [
        lapi_address_init lapi_address_init_ LAPI_ADDRESS_INIT LAPI_ADDRESS_INIT_
    ]
    PLAPI_Address_init [
        plapi_address_init plapi_address_init_ PLAPI_ADDRESS_INIT PLAPI_ADDRESS_INIT_
    ]
    (
        hndl: Value<lapi_handle_t>,
        my_addr: Address<c_void>,
        add_tab: Object<*mut c_void>,
    )
}

subroutine! {
    "Collective: the same with 64-bit addresses."
    LAPI_Address_init64 [
        lapi_address_init64 lapi_address_init64_ LAPI_ADDRESS_INIT64 LAPI_ADDRESS_INIT64_
    ]
    PLAPI_Address_init64 [
        plapi_address_init64 plapi_address_init64_ PLAPI_ADDRESS_INIT64 PLAPI_ADDRESS_INIT64_
    ]
    (
        hndl: Value<lapi_handle_t>,
        my_addr: Value<lapi_long_t>,
        add_tab: Object<lapi_long_t>,
    )
}

subroutine! {
    "Sends an active message. hdr_hdl is the handler's index, or its address at the target."
    LAPI_Amsend [
        lapi_amsend lapi_amsend_ LAPI_AMSEND LAPI_AMSEND_
        lapi_amsend_procedure lapi_amsend_procedure_ LAPI_AMSEND_PROCEDURE LAPI_AMSEND_PROCEDURE_
        lapi_amsend_function lapi_amsend_function_ LAPI_AMSEND_FUNCTION LAPI_AMSEND_FUNCTION_
    ]
    PLAPI_Amsend [
        plapi_amsend plapi_amsend_ PLAPI_AMSEND PLAPI_AMSEND_
        plapi_amsend_procedure plapi_amsend_procedure_ PLAPI_AMSEND_PROCEDURE PLAPI_AMSEND_PROCEDURE_
        plapi_amsend_function plapi_amsend_function_ PLAPI_AMSEND_FUNCTION PLAPI_AMSEND_FUNCTION_
    ]
    (
        hndl: Value<lapi_handle_t>,
        tgt: Value<c_uint>,
        hdr_hdl: Handler<c_void>,
        uhdr: Object<c_void>,
        uhdr_len: Value<c_uint>,
        udata: Object<c_void>,
        udata_len: Value<c_ulong>,
        tgt_cntr: Address<lapi_cntr_t>,
        org_cntr: Object<lapi_cntr_t>,
        cmpl_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "Sends an active message from a vector."
    LAPI_Amsendv [
        lapi_amsendv lapi_amsendv_ LAPI_AMSENDV LAPI_AMSENDV_
        lapi_amsendv_procedure lapi_amsendv_procedure_ LAPI_AMSENDV_PROCEDURE LAPI_AMSENDV_PROCEDURE_
        lapi_amsendv_function lapi_amsendv_function_ LAPI_AMSENDV_FUNCTION LAPI_AMSENDV_FUNCTION_
    ]
    PLAPI_Amsendv [
        plapi_amsendv plapi_amsendv_ PLAPI_AMSENDV PLAPI_AMSENDV_
        plapi_amsendv_procedure plapi_amsendv_procedure_ PLAPI_AMSENDV_PROCEDURE PLAPI_AMSENDV_PROCEDURE_
        plapi_amsendv_function plapi_amsendv_function_ PLAPI_AMSENDV_FUNCTION PLAPI_AMSENDV_FUNCTION_
    ]
    (
        hndl: Value<lapi_handle_t>,
        tgt: Value<c_uint>,
        hdr_hdl: Handler<c_void>,
        uhdr: Object<c_void>,
        uhdr_len: Value<c_uint>,
        org_vec: Object<lapi_vec_t>,
        tgt_cntr: Address<lapi_cntr_t>,
        org_cntr: Object<lapi_cntr_t>,
        cmpl_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "Waits until the transfers that this task started are complete."
    LAPI_Fence [
        lapi_fence lapi_fence_ LAPI_FENCE LAPI_FENCE_
    ]
    PLAPI_Fence [
        plapi_fence plapi_fence_ PLAPI_FENCE PLAPI_FENCE_
    ]
    (
        hndl: Value<lapi_handle_t>,
    )
}

subroutine! {
    "Copies memory of another task here."
    LAPI_Get [
        lapi_get lapi_get_ LAPI_GET LAPI_GET_
    ]
    PLAPI_Get [
        plapi_get plapi_get_ PLAPI_GET PLAPI_GET_
    ]
    (
        hndl: Value<lapi_handle_t>,
        tgt: Value<c_uint>,
        len: Value<c_ulong>,
        tgt_addr: Address<c_void>,
        org_addr: Object<c_void>,
        tgt_cntr: Address<lapi_cntr_t>,
        org_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "Reads a counter."
    LAPI_Getcntr [
        lapi_getcntr lapi_getcntr_ LAPI_GETCNTR LAPI_GETCNTR_
    ]
    PLAPI_Getcntr [
        plapi_getcntr plapi_getcntr_ PLAPI_GETCNTR PLAPI_GETCNTR_
    ]
    (
        hndl: Value<lapi_handle_t>,
        cntr: Object<lapi_cntr_t>,
        val: Object<c_int>,
    )
}

subroutine! {
    "Copies memory of another task here, between vectors."
    LAPI_Getv [
        lapi_getv lapi_getv_ LAPI_GETV LAPI_GETV_
    ]
    PLAPI_Getv [
        plapi_getv plapi_getv_ PLAPI_GETV PLAPI_GETV_
    ]
    (
        hndl: Value<lapi_handle_t>,
        tgt: Value<c_uint>,
        tgt_vec: Address<lapi_vec_t>,
        org_vec: Object<lapi_vec_t>,
        tgt_cntr: Address<lapi_cntr_t>,
        org_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "Collective: waits until the transfers that all tasks started are complete."
    LAPI_Gfence [
        lapi_gfence lapi_gfence_ LAPI_GFENCE LAPI_GFENCE_
    ]
    PLAPI_Gfence [
        plapi_gfence plapi_gfence_ PLAPI_GFENCE PLAPI_GFENCE_
    ]
    (
        hndl: Value<lapi_handle_t>,
    )
}

subroutine! {
    "Initializes a context. Zero *lapi_info before setting any field."
    LAPI_Init [
        lapi_init lapi_init_ LAPI_INIT LAPI_INIT_
    ]
    PLAPI_Init [
        plapi_init plapi_init_ PLAPI_INIT PLAPI_INIT_
    ]
    (
        hndl: Object<lapi_handle_t>,
        lapi_info: Object<lapi_info_t>,
    )
}

subroutine! {
    "Writes the text of a return code, at most LAPI_MAX_ERR_STRING bytes."
    LAPI_Msg_string [
        lapi_msg_string lapi_msg_string_ LAPI_MSG_STRING LAPI_MSG_STRING_
    ]
    PLAPI_Msg_string [
        plapi_msg_string plapi_msg_string_ PLAPI_MSG_STRING PLAPI_MSG_STRING_
    ]
    (
        error_code: Value<c_int>,
        buf: Text<c_void>,
    )
}

subroutine! {
    "Makes progress until something completes, or for cnt rounds without any."
    LAPI_Msgpoll [
        lapi_msgpoll lapi_msgpoll_ LAPI_MSGPOLL LAPI_MSGPOLL_
    ]
    PLAPI_Msgpoll [
        plapi_msgpoll plapi_msgpoll_ PLAPI_MSGPOLL PLAPI_MSGPOLL_
    ]
    (
        hndl: Value<lapi_handle_t>,
        cnt: Value<c_uint>,
        info: Object<lapi_msg_info_t>,
    )
}

subroutine! {
    "Waits for a counter without polling, and returns early when a task is purged."
    LAPI_Nopoll_wait [
        lapi_nopoll_wait lapi_nopoll_wait_ LAPI_NOPOLL_WAIT LAPI_NOPOLL_WAIT_
    ]
    PLAPI_Nopoll_wait [
        plapi_nopoll_wait plapi_nopoll_wait_ PLAPI_NOPOLL_WAIT PLAPI_NOPOLL_WAIT_
    ]
    (
        hndl: Value<lapi_handle_t>,
        cntr_ptr: Object<lapi_cntr_t>,
        val: Value<c_int>,
        cur_cntr_val: Object<c_int>,
    )
}

subroutine! {
    "Makes progress once."
    LAPI_Probe [
        lapi_probe lapi_probe_ LAPI_PROBE LAPI_PROBE_
    ]
    PLAPI_Probe [
        plapi_probe plapi_probe_ PLAPI_PROBE PLAPI_PROBE_
    ]
    (
        hndl: Value<lapi_handle_t>,
    )
}

subroutine! {
    "Forgets a task that has failed."
    LAPI_Purge_totask [
        lapi_purge_totask lapi_purge_totask_ LAPI_PURGE_TOTASK LAPI_PURGE_TOTASK_
    ]
    PLAPI_Purge_totask [
        plapi_purge_totask plapi_purge_totask_ PLAPI_PURGE_TOTASK PLAPI_PURGE_TOTASK_
    ]
    (
        hndl: Value<lapi_handle_t>,
        dest: Value<c_uint>,
    )
}

subroutine! {
    "Copies memory of this task to another."
    LAPI_Put [
        lapi_put lapi_put_ LAPI_PUT LAPI_PUT_
    ]
    PLAPI_Put [
        plapi_put plapi_put_ PLAPI_PUT PLAPI_PUT_
    ]
    (
        hndl: Value<lapi_handle_t>,
        tgt: Value<c_uint>,
        len: Value<c_ulong>,
        tgt_addr: Address<c_void>,
        org_addr: Object<c_void>,
        tgt_cntr: Address<lapi_cntr_t>,
        org_cntr: Object<lapi_cntr_t>,
        cmpl_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "Copies memory of this task to another, between vectors."
    LAPI_Putv [
        lapi_putv lapi_putv_ LAPI_PUTV LAPI_PUTV_
    ]
    PLAPI_Putv [
        plapi_putv plapi_putv_ PLAPI_PUTV PLAPI_PUTV_
    ]
    (
        hndl: Value<lapi_handle_t>,
        tgt: Value<c_uint>,
        tgt_vec: Address<lapi_vec_t>,
        org_vec: Object<lapi_vec_t>,
        tgt_cntr: Address<lapi_cntr_t>,
        org_cntr: Object<lapi_cntr_t>,
        cmpl_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "Reads a runtime attribute; the type of *ret_val depends on it."
    LAPI_Qenv [
        lapi_qenv lapi_qenv_ LAPI_QENV LAPI_QENV_
    ]
    PLAPI_Qenv [
        plapi_qenv plapi_qenv_ PLAPI_QENV PLAPI_QENV_
    ]
    (
        hndl: Value<lapi_handle_t>,
        query: Value<lapi_query_t>,
        ret_val: Object<c_int>,
    )
}

subroutine! {
    "Takes up communication with a purged task again."
    LAPI_Resume_totask [
        lapi_resume_totask lapi_resume_totask_ LAPI_RESUME_TOTASK LAPI_RESUME_TOTASK_
    ]
    PLAPI_Resume_totask [
        plapi_resume_totask plapi_resume_totask_ PLAPI_RESUME_TOTASK PLAPI_RESUME_TOTASK_
    ]
    (
        hndl: Value<lapi_handle_t>,
        dest: Value<c_uint>,
    )
}

subroutine! {
    "Reads and modifies a variable of another task atomically, 32 bits."
    LAPI_Rmw [
        lapi_rmw lapi_rmw_ LAPI_RMW LAPI_RMW_
    ]
    PLAPI_Rmw [
        plapi_rmw plapi_rmw_ PLAPI_RMW PLAPI_RMW_
    ]
    (
        hndl: Value<lapi_handle_t>,
        op: Value<RMW_ops_t>,
        tgt: Value<c_uint>,
        tgt_var: Address<c_int>,
        in_val: Object<c_int>,
        prev_tgt_val: Object<c_int>,
        org_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "The same, 64 bits."
    LAPI_Rmw64 [
        lapi_rmw64 lapi_rmw64_ LAPI_RMW64 LAPI_RMW64_
    ]
    PLAPI_Rmw64 [
        plapi_rmw64 plapi_rmw64_ PLAPI_RMW64 PLAPI_RMW64_
    ]
    (
        hndl: Value<lapi_handle_t>,
        op: Value<Rmw_ops_t>,
        tgt: Value<c_uint>,
        tgt_var: Address<c_longlong>,
        in_val: Object<c_longlong>,
        prev_tgt_val: Object<c_longlong>,
        org_cntr: Object<lapi_cntr_t>,
    )
}

subroutine! {
    "Sets ACK_THRESHOLD, ERROR_CHK, INTERRUPT_SET or TIMEOUT."
    LAPI_Senv [
        lapi_senv lapi_senv_ LAPI_SENV LAPI_SENV_
    ]
    PLAPI_Senv [
        plapi_senv plapi_senv_ PLAPI_SENV PLAPI_SENV_
    ]
    (
        hndl: Value<lapi_handle_t>,
        query: Value<lapi_query_t>,
        set_val: Value<c_int>,
    )
}

subroutine! {
    "Sets a counter."
    LAPI_Setcntr [
        lapi_setcntr lapi_setcntr_ LAPI_SETCNTR LAPI_SETCNTR_
    ]
    PLAPI_Setcntr [
        plapi_setcntr plapi_setcntr_ PLAPI_SETCNTR PLAPI_SETCNTR_
    ]
    (
        hndl: Value<lapi_handle_t>,
        cntr: Object<lapi_cntr_t>,
        val: Value<c_int>,
    )
}

subroutine! {
    "Zeroes a counter and names the tasks whose state LAPI_Nopoll_wait is to report."
    LAPI_Setcntr_wstatus [
        lapi_setcntr_wstatus lapi_setcntr_wstatus_ LAPI_SETCNTR_WSTATUS LAPI_SETCNTR_WSTATUS_
    ]
    PLAPI_Setcntr_wstatus [
        plapi_setcntr_wstatus plapi_setcntr_wstatus_ PLAPI_SETCNTR_WSTATUS PLAPI_SETCNTR_WSTATUS_
    ]
    (
        hndl: Value<lapi_handle_t>,
        cntr: Object<lapi_cntr_t>,
        num_dest: Value<c_int>,
        dest_list: Object<c_uint>,
        dest_status: Object<c_int>,
    )
}

subroutine! {
    "Ends a context."
    LAPI_Term [
        lapi_term lapi_term_ LAPI_TERM LAPI_TERM_
    ]
    PLAPI_Term [
        plapi_term plapi_term_ PLAPI_TERM PLAPI_TERM_
    ]
    (
        hndl: Value<lapi_handle_t>,
    )
}

subroutine! {
    "Registers DGSPs, packs and unpacks, tells UDP addresses, hands out the lock."
    LAPI_Util [
        lapi_util lapi_util_ LAPI_UTIL LAPI_UTIL_
    ]
    PLAPI_Util [
        plapi_util plapi_util_ PLAPI_UTIL PLAPI_UTIL_
    ]
    (
        hndl: Value<lapi_handle_t>,
        util_cmd: Command<lapi_util_t>,
    )
}

subroutine! {
    "Waits until a counter reaches val, and subtracts val from it."
    LAPI_Waitcntr [
        lapi_waitcntr lapi_waitcntr_ LAPI_WAITCNTR LAPI_WAITCNTR_
    ]
    PLAPI_Waitcntr [
        plapi_waitcntr plapi_waitcntr_ PLAPI_WAITCNTR PLAPI_WAITCNTR_
    ]
    (
        hndl: Value<lapi_handle_t>,
        cntr: Object<lapi_cntr_t>,
        val: Value<c_int>,
        cur_cntr_val: Object<c_int>,
    )
}

subroutine! {
    "Starts any transfer."
    LAPI_Xfer [
        lapi_xfer lapi_xfer_ LAPI_XFER LAPI_XFER_
    ]
    PLAPI_Xfer [
        plapi_xfer plapi_xfer_ PLAPI_XFER PLAPI_XFER_
    ]
    (
        hndl: Value<lapi_handle_t>,
        xfer_cmd: Object<lapi_xfer_t>,
    )
}
