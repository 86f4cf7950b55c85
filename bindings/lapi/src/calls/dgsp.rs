//! Data gather/scatter programs: where the interpreter will be plugged in.
//!
//! Everything that needs a DGSP comes through this file. A registered program becomes a `Gather` at the origin and a
//! `Scatter` at the target; core and the rest of this crate treat those like any other layout.

use crate::abi::*;
use crate::failure::Outcome;
use crate::handles::Instance;
use lapis_core::Context;
use lapis_core::message::Destination;
use std::ffi::c_void;

/// Where a message goes whose header handler asked for a DGSP.
pub(crate) fn destination(_: &Context, _: &lapi_return_info_t, _: *mut c_void) -> Destination {
    Destination::Discard
}

/// # Safety
/// `command` is a lapi_reg_dgsp_t.
pub(super) unsafe fn register(_: *mut lapi_reg_dgsp_t) -> Outcome {
    Err(LAPI_ERR_UTIL_CMD)
}

/// # Safety
/// `command` is a lapi_resv_dgsp_t.
pub(super) unsafe fn reserve(_: *mut lapi_resv_dgsp_t) -> Outcome {
    Err(LAPI_ERR_UTIL_CMD)
}

/// # Safety
/// `command` is a lapi_dref_dgsp_t.
pub(super) unsafe fn unreserve(_: *mut lapi_dref_dgsp_t) -> Outcome {
    Err(LAPI_ERR_UTIL_CMD)
}

/// # Safety
/// `command` is a lapi_reg_ddm_t.
pub(super) unsafe fn set_function(_: &Instance, _: *mut lapi_reg_ddm_t) -> Outcome {
    Err(LAPI_ERR_UTIL_CMD)
}

/// # Safety
/// `command` is a lapi_pack_dgsp_t.
pub(super) unsafe fn pack(_: &Instance, _: *mut lapi_pack_dgsp_t) -> Outcome {
    Err(LAPI_ERR_UTIL_CMD)
}

/// # Safety
/// `command` is a lapi_unpack_dgsp_t.
pub(super) unsafe fn unpack(_: &Instance, _: *mut lapi_unpack_dgsp_t) -> Outcome {
    Err(LAPI_ERR_UTIL_CMD)
}

/// # Safety
/// `command` is a lapi_amdgsp_t.
pub(super) unsafe fn xfer(_: &Instance, _: *const lapi_amdgsp_t) -> Outcome {
    Err(LAPI_ERR_XFER_CMD)
}
