//! From errors to codes.

use crate::abi::{LAPI_ERR_UNKNOWN, LAPI_SUCCESS};
use lapis_core::Error;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The outcome of a subroutine before it becomes a number.
pub(crate) type Outcome<T = ()> = Result<T, c_int>;

/// The number that C sees.
#[inline(always)]
pub(crate) fn code(outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => LAPI_SUCCESS,
        Err(code) => code,
    }
}

/// The code of an error of core. The details go to the diagnostics: the number is all that C gets.
/// Where it says nothing, such as of a wait within a handler, a line is shown that does.
#[cold]
pub(crate) fn of(error: Error) -> c_int {
    let code = error.code().value();
    if code == LAPI_ERR_UNKNOWN {
        tracing::error!(target: "lapis::call", "a call gives LAPI_ERR_UNKNOWN: {}", error.with_causes());
    } else {
        tracing::debug!(target: "lapis::call", "{}", error.with_causes());
    }
    code
}

/// The same for a subroutine that waits, which its line names.
#[cold]
pub(crate) fn of_wait(call: &'static str) -> impl Fn(Error) -> c_int {
    move |error| of(error.in_call(call))
}

/// Runs a subroutine that is off the data path: a panic becomes LAPI_ERR_UNKNOWN.
pub(crate) fn cold(call: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(outcome) => code(outcome),
        Err(_) => {
            tracing::error!(target: "lapis::call", "{call} panicked: a defect of Lapis; please report it");
            LAPI_ERR_UNKNOWN
        }
    }
}
