//! LAPI_Util.

use super::{dgsp, lock, udp};
use crate::abi::*;
use crate::failure::cold;
use crate::handles;
use std::ffi::c_int;

//= LAPI Guide, LAPI_Util, table 14
pub(crate) unsafe extern "C" fn util(hndl: lapi_handle_t, util_cmd: *mut lapi_util_t) -> c_int {
    cold("LAPI_Util", || {
        if util_cmd.is_null() {
            return Err(LAPI_ERR_UTIL_CMD);
        }
        // SAFETY: not null; every command begins with its type.
        let command = unsafe { *util_cmd.cast::<lapi_util_type_t>() };
        //= LAPI Guide, LAPI_Util, hndl is not checked for the commands that register and reserve
        // SAFETY: the caller's promise: the command is of the type that it says.
        unsafe {
            match command {
                LAPI_REGISTER_DGSP => dgsp::register(util_cmd.cast()),
                LAPI_RESERVE_DGSP => dgsp::reserve(util_cmd.cast()),
                LAPI_UNRESERVE_DGSP => dgsp::unreserve(util_cmd.cast()),
                LAPI_REG_DDM_FUNC => dgsp::set_function(&*handles::get(hndl)?, util_cmd.cast()),
                LAPI_DGSP_PACK => dgsp::pack(&*handles::get(hndl)?, util_cmd.cast()),
                LAPI_DGSP_UNPACK => dgsp::unpack(&*handles::get(hndl)?, util_cmd.cast()),
                LAPI_ADD_UDP_DEST_PORT => udp::add_port(&*handles::get(hndl)?, util_cmd.cast()),
                LAPI_GET_THREAD_FUNC => lock::functions(&*handles::get(hndl)?, util_cmd.cast()),
                _ => {
                    handles::get(hndl)?;
                    Err(LAPI_ERR_UTIL_CMD)
                }
            }
        }
    })
}
