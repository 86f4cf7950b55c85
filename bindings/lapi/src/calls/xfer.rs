//! LAPI_Xfer.

use super::{amsend, dgsp, rmw, transfer, vectors};
use crate::abi::*;
use crate::failure::code;
use crate::handles;
use std::ffi::c_int;

/// Nothing beyond the structure that the type names is read: programs allocate just that.
//= LAPI Guide, LAPI_Xfer, table 23
//= LAPI Guide, LAPI_Xfer, memory outside of the identified member is not examined
pub(crate) unsafe extern "C" fn xfer(hndl: lapi_handle_t, xfer_cmd: *mut lapi_xfer_t) -> c_int {
    let transfer = || {
        let entered = handles::get(hndl)?;
        let instance = &*entered;
        //= LAPI Guide, LAPI_Xfer, LAPI_ERR_XFER_CMD
        if xfer_cmd.is_null() {
            return Err(LAPI_ERR_XFER_CMD);
        }
        // SAFETY: not null; every command begins with its type, and by the caller's promise is what
        // it says.
        unsafe {
            match *xfer_cmd.cast::<lapi_xfer_type_t>() {
                LAPI_AM_XFER => amsend::xfer(instance, xfer_cmd.cast(), false),
                LAPI_AM_LW_XFER => amsend::xfer(instance, xfer_cmd.cast(), true),
                LAPI_PUT_XFER => transfer::xfer_put(instance, xfer_cmd.cast()),
                LAPI_GET_XFER => transfer::xfer_get(instance, xfer_cmd.cast()),
                LAPI_RMW_XFER => rmw::xfer(instance, xfer_cmd.cast()),
                LAPI_AMV_XFER => vectors::xfer_amv(instance, xfer_cmd.cast()),
                LAPI_PUTV_XFER => vectors::xfer_putv(instance, xfer_cmd.cast()),
                LAPI_GETV_XFER => vectors::xfer_getv(instance, xfer_cmd.cast()),
                LAPI_DGSP_XFER => dgsp::xfer(instance, xfer_cmd.cast()),
                _ => Err(LAPI_ERR_XFER_CMD),
            }
        }
    };
    code(transfer())
}
