//! The C calls of `gm.h`.

pub mod directcopy;
pub mod dump;
pub mod hash;
pub mod helpers;
pub mod mapper;
pub mod memory;
pub mod nodes;
pub mod ports;
pub mod receive;
pub mod send;
pub mod small;

use crate::abi::Status;
use crate::handle::{Handle, Inner};

/// Runs `f` with the port behind a handle. `other`: there is none.
///
/// # Safety
/// `handle` is NULL or a port that is open.
#[inline(always)]
unsafe fn with<T>(handle: *mut Handle, other: T, f: impl FnOnce(&mut Inner) -> T) -> T {
    // SAFETY: NULL, or a port that stays open as long as its program is in a call.
    match unsafe { handle.as_ref() }.and_then(Handle::enter) {
        Some(mut inner) => {
            let answer = f(&mut inner);
            if inner.port.sleeps_until != 0 {
                inner.port.rouse();
            }
            answer
        }
        None => other,
    }
}

/// The status that a call answers.
fn answer(result: Result<(), Status>) -> i32 {
    result.err().unwrap_or(Status::Success) as i32
}
