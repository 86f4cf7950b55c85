//! Why a call about teams fails: a code for the caller, a text for `lapis_error_text`.

use crate::abi::LAPI_ERR_MEMORY_EXHAUSTED;
use lapis_collectives::CollectiveError;
use std::cell::RefCell;
use std::ffi::c_int;

/// Why a call failed: the code, when the text has been kept.
pub(super) type Outcome<T = ()> = Result<T, c_int>;

thread_local! {
    /// Why the last call that failed did.
    pub(super) static WHY: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps a text for lapis_error_text.
#[cold]
pub(super) fn failure(code: c_int, why: impl Into<String>) -> c_int {
    let why = why.into();
    tracing::debug!(target: "lapis::call", "{why}");
    WHY.with(|kept| *kept.borrow_mut() = why);
    code
}

#[cold]
pub(super) fn failed(error: CollectiveError) -> c_int {
    failure(error.code().value(), error.to_string())
}

pub(super) fn exhausted(what: &str) -> c_int {
    failure(LAPI_ERR_MEMORY_EXHAUSTED, format!("this context has 65536 {what} already: free some"))
}
