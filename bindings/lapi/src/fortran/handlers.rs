//! Handlers written in Fortran.
//!
//! Header, completion, send completion and error handlers get pointers in C, which is how Fortran
//! takes all its arguments, so the library calls them without knowing what they are written in. A
//! DDM function gets three numbers by value: a Fortran one needs them in variables.

use crate::abi::ddm_func_t;
use crate::objects::Objects;
use std::ffi::{c_int, c_long, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// A DDM function in Fortran: the same arguments, all by reference.
type FortranDdm =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_long, *mut c_int, *mut c_int) -> c_long;

/// How many different DDM functions Fortran programs can register. A context uses one at a time;
/// programs have a few.
const SLOTS: usize = 16;

static DDM: Mutex<[Option<FortranDdm>; SLOTS]> = Mutex::new([None; SLOTS]);

fn ddm() -> MutexGuard<'static, [Option<FortranDdm>; SLOTS]> {
    DDM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The C function in front of the Fortran function in a slot.
unsafe extern "C" fn call_slot<const SLOT: usize>(
    arriving: *mut c_void,
    inout: *mut c_void,
    mut bytes: c_long,
    mut operand: c_int,
    mut operation: c_int,
) -> c_long {
    let function = ddm()[SLOT];
    match function {
        // SAFETY: the caller's promise; the numbers live until the function returns.
        Some(function) => unsafe { function(arriving, inout, &mut bytes, &mut operand, &mut operation) },
        None => 0,
    }
}

macro_rules! fronts {
    ($($slot:literal)*) => { [$(call_slot::<$slot>),*] };
}

static FRONTS: [ddm_func_t; SLOTS] = fronts! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 };

/// The C function to register for a Fortran one. None without one, or when too many have been
/// registered.
pub(super) fn enter_ddm(function: Option<ddm_func_t>) -> Option<ddm_func_t> {
    let address = function? as *const c_void;
    let mut slots = ddm();
    let same =
        |slot: &Option<FortranDdm>| slot.is_some_and(|known| std::ptr::eq(known as *const c_void, address));
    let Some(at) = slots.iter().position(same).or_else(|| slots.iter().position(Option::is_none)) else {
        tracing::error!(limit = SLOTS, "too many different DDM functions written in Fortran");
        return None;
    };
    // SAFETY: a Fortran subroutine handed this function over, so it is called as Fortran calls.
    slots[at] = Some(unsafe { std::mem::transmute::<*const c_void, FortranDdm>(address) });
    Some(FRONTS[at])
}

/// The Fortran function that the program put where its front stands now.
pub(super) fn leave_ddm(front: Option<ddm_func_t>) -> Option<ddm_func_t> {
    let address = front? as *const c_void;
    let at = FRONTS.iter().position(|&known| std::ptr::eq(known as *const c_void, address));
    let Some(function) = at.and_then(|at| ddm()[at]) else { return front };
    // SAFETY: the value came in as this type; nothing calls it as such.
    Some(unsafe { std::mem::transmute::<FortranDdm, ddm_func_t>(function) })
}

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

    unsafe extern "C" fn fortran(
        _: *mut c_void,
        sum: *mut c_void,
        bytes: *mut c_long,
        operand: *mut c_int,
        operation: *mut c_int,
    ) -> c_long {
        // SAFETY: the test passes these.
        unsafe { *sum.cast::<c_long>() = *bytes * 100 + c_long::from(*operand * 10 + *operation) };
        7
    }

    #[test]
    fn a_ddm_function_gets_its_numbers_by_reference() {
        // SAFETY: never called as this type.
        let given = Some(unsafe { std::mem::transmute::<FortranDdm, ddm_func_t>(fortran) });
        let front = enter_ddm(given).unwrap();
        assert_eq!(enter_ddm(given).map(|f| f as usize), Some(front as usize), "one slot for one function");
        let mut sum: c_long = 0;
        // SAFETY: as the front wants it.
        let done = unsafe { front(std::ptr::null_mut(), (&raw mut sum).cast(), 5, 4, 3) };
        assert_eq!((done, sum), (7, 543));
        assert_eq!(leave_ddm(Some(front)).map(|f| f as usize), given.map(|f| f as usize));
    }
}
