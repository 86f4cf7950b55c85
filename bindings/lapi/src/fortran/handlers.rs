//! Handlers written in Fortran.
//!
//! Header, completion, send completion and error handlers get pointers in C, which is how Fortran
//! takes all its arguments, so the library calls them without knowing what they are written in. A
//! DDM function gets three numbers by value: of a Fortran one `dgsp/ddm` knows that it needs them
//! in variables.

use crate::objects::Objects;
use std::ffi::c_void;
use std::sync::LazyLock;

/// Whether an address is that of a procedure, not of a variable.
///
/// The actual argument of `hdr_hdl` may be either, and an `EXTERNAL` interface lets both through.
/// Code lies in segments that are loaded executable; no variable does.
pub(super) fn is_code(address: *const c_void) -> bool {
    static OBJECTS: LazyLock<Objects> = LazyLock::new(Objects::of_process);
    OBJECTS.at(address.addr() as u64).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn procedures_are_code_and_variables_are_not() {
        let local = 0_u64;
        static CONSTANT: u64 = 1;
        static VARIABLE: Mutex<u64> = Mutex::new(2);
        let heap = Box::new(3_u64);
        for _ in 0..2 {
            assert!(is_code(is_code as *const c_void));
            assert!(is_code(libc::getpid as *const c_void));
            for data in [&raw const local, &raw const CONSTANT, &raw const *heap] {
                assert!(!is_code(data.cast()));
            }
            assert!(!is_code((&raw const VARIABLE).cast()));
        }
    }
}
