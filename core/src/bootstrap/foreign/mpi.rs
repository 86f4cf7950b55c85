//! An MPI library in this process that uses the same launcher.
//!
//! It is queried through functions that MPI lets a program call at any time. They are looked up
//! among the libraries that the process has loaded; no library is loaded.

use std::ffi::{CStr, c_char, c_int};

use libloading::os::unix::Library;

/// How far MPI is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The process has no MPI.
    Absent,
    /// MPI_Init has not been called, and may never be.
    Before,
    /// Between MPI_Init and MPI_Finalize.
    During,
    /// MPI_Finalize has been called.
    After,
}

type Ask = unsafe extern "C" fn(*mut c_int) -> c_int;
type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type Begun = unsafe extern "C" fn() -> c_int;

/// Longer than any MPI's text, whose limits are 8192 and less.
const LONGEST: usize = 16 << 10;

/// How far MPI is in this process.
pub(super) fn phase() -> Phase {
    let says = |name: &[u8]| {
        // SAFETY: the names are MPI's, and functions of these have had this type since MPI 2.
        let ask = unsafe { *Library::this().get::<Ask>(name).ok()? };
        let mut answer = 0;
        // SAFETY: takes the address of a number, and may be called at any time.
        (unsafe { ask(&raw mut answer) } == 0).then_some(answer != 0)
    };
    match (says(b"MPI_Initialized\0"), says(b"MPI_Finalized\0")) {
        (None, _) => Phase::Absent,
        (Some(false), _) => Phase::Before,
        (Some(true), Some(true)) => Phase::After,
        (Some(true), _) => Phase::During,
    }
}

/// Name and version of the library, as it gives them; empty if it does not.
pub(super) fn version() -> String {
    // SAFETY: the name is MPI's, and its function has had this type since MPI 3.
    let Ok(ask) = (unsafe { Library::this().get::<Version>(b"MPI_Get_library_version\0").map(|f| *f) })
    else {
        return String::new();
    };
    let mut text: Vec<c_char> = vec![0; LONGEST];
    let mut length = 0;
    // SAFETY: the buffer has room for the longest text of any MPI; the function may be called at
    // any time.
    if unsafe { ask(text.as_mut_ptr(), &raw mut length) } != 0 {
        return String::new();
    }
    text[LONGEST - 1] = 0;
    // SAFETY: ended by a zero byte, at the buffer's end at the latest.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned()
}

/// Whether it speaks PMI-2 by a library of its own, as of Slurm's; it speaks PMI-1 otherwise.
pub(super) fn has_begun_pmi2() -> bool {
    // SAFETY: the name is PMI-2's, and its function has always had this type.
    let begun = unsafe { Library::this().get::<Begun>(b"PMI2_Initialized\0").map(|f| *f) };
    // SAFETY: takes nothing, and may be called at any time.
    begun.is_ok_and(|begun| unsafe { begun() } != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_mpi_is_seen_as_one() {
        assert_eq!(phase(), Phase::Absent);
        assert!(version().is_empty() && !has_begun_pmi2());
    }
}
