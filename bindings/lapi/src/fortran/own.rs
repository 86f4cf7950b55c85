//! What `module lapis` has and no rule gives: the text about a failure, which ends in blanks, and
//! types of opaque elements.

use super::arguments::{Argument, Object, Value, pad};
use crate::abi::{LAPI_SUCCESS, LAPIS_BYTES_FLAG, lapis_type_t};
use crate::own_exports as c;
use std::ffi::{c_char, c_int, c_ulong};

/// Writes why this thread's last call of the module failed, with the numbers, for people.
///
/// # Safety
/// The arguments are what the Fortran synopsis says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_error_text_(
    mut text: Object<c_char>,
    mut size: Value<c_ulong>,
    ierror: *mut c_int,
) {
    // SAFETY: the caller's promise; where C succeeded, the text ends within its size.
    unsafe {
        let (text, size) = (text.enter(), size.enter());
        let code = c::lapis_error_text(text, size);
        if code == LAPI_SUCCESS {
            pad(text, size as usize);
        }
        if !ierror.is_null() {
            *ierror = code;
        }
    }
}

/// The type of opaque elements: LAPIS_BYTES of `lapis.h`.
///
/// # Safety
/// `size` is a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lapis_bytes_(mut size: Value<c_int>) -> lapis_type_t {
    // SAFETY: the caller's promise.
    LAPIS_BYTES_FLAG | unsafe { size.enter() }.cast_unsigned()
}
