//! How arguments come from Fortran and go to C.
//!
//! Fortran passes everything by reference. What lies in the calling task is passed as itself; what
//! lies in another task can only be named by its address, an `INTEGER(LAPI_ADDR_TYPE)`. The guide's
//! synopses agree with that rule except for the buffers of LAPI_Get and LAPI_Amsend, whose declared
//! types can be read either way.

use super::handlers;
use crate::abi::*;
use crate::collectives::IN_PLACE;
use crate::dgsp::ddm;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// An argument of a Fortran subroutine.
pub(super) trait Argument {
    /// What the C subroutine takes.
    type InC;

    /// Before the call.
    ///
    /// # Safety
    /// The argument is what the type's description says.
    unsafe fn enter(&mut self) -> Self::InC;

    /// After the call.
    ///
    /// # Safety
    /// As for `enter`, which ran.
    unsafe fn leave(&mut self) {}
}

macro_rules! nothing_is_null {
    ($($name:ident)*) => {$(
        /// The storage behind Fortran's LAPI_ADDR_NULL: a common block, because only its place
        /// tells it from a variable that happens to be zero. A program's own common block of this
        /// name takes its place at load time.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals, reason = "a Fortran compiler chose the name")]
        pub(super) static $name: usize = 0;
    )*

        /// Whether an argument is LAPI_ADDR_NULL, in any compiler's spelling.
        fn is_null(argument: *const c_void) -> bool {
            argument.is_null() || $(ptr::eq(argument, (&raw const $name).cast()))||*
        }
    };
}

nothing_is_null! { lapi_addr_null_c lapi_addr_null_c_ LAPI_ADDR_NULL_C LAPI_ADDR_NULL_C_ }

/// A number that C takes by value.
#[repr(transparent)]
pub struct Value<T>(*const T);

impl<T: Copy> Argument for Value<T> {
    type InC = T;

    unsafe fn enter(&mut self) -> T {
        // SAFETY: a variable of the caller. Old programs put variables where the compiler didn't
        // align them.
        unsafe { self.0.read_unaligned() }
    }
}

/// A variable that holds an address: of something in another task, or of a function.
#[repr(transparent)]
pub struct Address<T>(*const *mut T);

impl<T> Argument for Address<T> {
    type InC = *mut T;

    unsafe fn enter(&mut self) -> *mut T {
        // LAPI_ADDR_NULL holds a null address, so it needs no special care here.
        // SAFETY: a variable of the caller.
        unsafe { self.0.read_unaligned() }
    }
}

/// A variable, array, structure or buffer of the caller, or LAPI_ADDR_NULL.
#[repr(transparent)]
pub struct Object<T>(*mut T);

impl<T> Argument for Object<T> {
    type InC = *mut T;

    unsafe fn enter(&mut self) -> *mut T {
        if is_null(self.0.cast()) { ptr::null_mut() } else { self.0 }
    }
}

/// The storage behind Fortran's LAPIS_IN_PLACE, which its place tells from every buffer.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a Fortran compiler would choose the name")]
pub(super) static lapis_in_place_: usize = 0;

/// A buffer of the caller of `module lapis`, LAPI_ADDR_NULL or LAPIS_IN_PLACE.
#[repr(transparent)]
pub struct Buffer<T>(*mut T);

impl<T> Argument for Buffer<T> {
    type InC = *mut T;

    unsafe fn enter(&mut self) -> *mut T {
        if ptr::eq(self.0.cast_const().cast(), &raw const lapis_in_place_) {
            return ptr::without_provenance_mut(IN_PLACE);
        }
        // SAFETY: the caller's promise, which is that of any object.
        unsafe { Object(self.0).enter() }
    }
}

/// A procedure of `module lapis`, whose interface is that of the C function.
#[repr(transparent)]
pub struct Procedure<T>(T);

impl<T: Copy> Argument for Procedure<T> {
    type InC = T;

    unsafe fn enter(&mut self) -> T {
        self.0
    }
}

/// A header handler: a procedure, or a variable that holds an index or an address.
#[repr(transparent)]
pub struct Handler<T>(*mut T);

impl<T> Argument for Handler<T> {
    type InC = *mut T;

    unsafe fn enter(&mut self) -> *mut T {
        if handlers::is_code(self.0.cast()) {
            return self.0;
        }
        // SAFETY: not code, so a variable of kind LAPI_ADDR_TYPE.
        unsafe { self.0.cast::<*mut T>().read_unaligned() }
    }
}

/// A character variable of LAPI_MAX_ERR_STRING bytes that C fills.
#[repr(transparent)]
pub struct Text<T>(*mut T);

impl<T> Argument for Text<T> {
    type InC = *mut T;

    unsafe fn enter(&mut self) -> *mut T {
        // SAFETY: the caller's promise, which is that of any object.
        let buffer = unsafe { Object(self.0).enter() };
        if !buffer.is_null() {
            // An unsuccessful call must not leave what looks like a text.
            // SAFETY: the buffer is that long.
            unsafe { buffer.cast::<u8>().write(0) };
        }
        buffer
    }

    /// Fortran's texts end in blanks, not in a zero byte.
    unsafe fn leave(&mut self) {
        // SAFETY: the caller's promise, which is that of any object.
        let buffer = unsafe { Object(self.0).enter() };
        if buffer.is_null() {
            return;
        }
        // SAFETY: the buffer is that long, and C ended its text or `enter` did.
        unsafe { pad(buffer.cast(), LAPI_MAX_ERR_STRING as usize) }
    }
}

/// Makes a text of C one of Fortran, which ends in blanks.
///
/// # Safety
/// So many bytes are there, and the text ends among them.
pub(super) unsafe fn pad(text: *mut c_char, size: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let length = libc::strnlen(text, size);
        text.cast::<u8>().add(length).write_bytes(b' ', size - length);
    }
}

/// The command of LAPI_Util. A DDM function in it is Fortran's.
#[repr(transparent)]
pub struct Command<T>(*mut T);

impl<T> Command<T> {
    /// # Safety
    /// A command.
    unsafe fn ddm(&self) -> Option<*mut lapi_reg_ddm_t> {
        // SAFETY: the caller's promise, which is that of any object.
        let command = unsafe { Object(self.0).enter() };
        // SAFETY: every command begins with its type.
        let of = |command: *mut T| unsafe { command.cast::<lapi_util_type_t>().read() };
        (!command.is_null() && of(command) == LAPI_REG_DDM_FUNC).then(|| command.cast())
    }
}

impl<T> Argument for Command<T> {
    type InC = *mut T;

    unsafe fn enter(&mut self) -> *mut T {
        // SAFETY: the caller's promise; the type says which structure it is.
        unsafe {
            if let Some(command) = self.ddm() {
                ddm::announce_fortran((*command).ddm_func);
            }
            Object(self.0).enter()
        }
    }

    unsafe fn leave(&mut self) {
        ddm::announce_fortran(None);
    }
}

const _: () = assert!(size_of::<c_int>() == 4, "Fortran's INTEGER");
