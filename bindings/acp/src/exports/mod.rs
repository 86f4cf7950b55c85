//! The C calls: what they share.

pub mod access;
pub mod channel;
pub mod hashed;
pub mod infrastructure;
pub mod list;
pub mod list_first;
pub mod memory;
pub mod segbuf;
pub mod sequence;
pub mod workspace;

pub(crate) use infrastructure::{enter, leave};

use crate::diagnostics::{self, Blame as _};
use crate::error::{Error, Result};
use crate::process::Process;
use lapis_core::sync::{AtomicPtr, Ordering};
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// This process, from acp_init to acp_finalize.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(null_mut());

thread_local! {
    static ERRNO: Cell<c_int> = const { Cell::new(0) };
}

#[inline(always)]
fn process() -> Result<&'static Process> {
    // SYNC: Acquire pairs with acp_init's Release.
    let process = PROCESS.load(Ordering::Acquire);
    // SAFETY: acp_init stored it, and it is kept for long after acp_finalize has taken it out.
    unsafe { process.as_ref() }.ok_or(Error::NotInitialized)
}

/// Runs a call; what fails gives `failed`, sets ACP_ERRNO and says why.
#[inline(always)]
fn call<T>(name: &'static str, failed: T, f: impl FnOnce() -> Result<T>) -> T {
    // What an earlier call blamed and did not fail of.
    diagnostics::take_argument();
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            fail(name, error);
            failed
        }
        Err(_) => {
            fail(name, Error::Internal);
            failed
        }
    }
}

#[cold]
#[inline(never)]
fn fail(name: &'static str, error: Error) {
    ERRNO.set(error.number());
    lapis_log::install();
    match diagnostics::take_argument() {
        Some(argument) => tracing::error!(target: "lapis::acp", "{name}: {argument}: {error}"),
        None => tracing::error!(target: "lapis::acp", "{name}: {error}"),
    }
}

/// A rank, as far as its sign says.
fn rank_of(rank: c_int) -> Result<u32> {
    u32::try_from(rank).map_err(|_| Error::Rank).of("rank", rank)
}

/// Blames what memory was wanted for: the size if there is not as much, else the rank.
fn allocated<T>(outcome: Result<T>, size: usize, rank: c_int) -> Result<T> {
    match outcome {
        Err(Error::Memory | Error::Size) => outcome.size_of("size", size as u64),
        _ => outcome.of("rank", rank),
    }
}

/// Blames memory of the program's that a call copies, if that is what the error is about.
fn copied<T>(outcome: Result<T>, ga: u64, size: usize) -> Result<T> {
    match outcome {
        Err(Error::Null | Error::Address) => outcome.at("ga", ga),
        Err(Error::Memory | Error::Size) => outcome.size_of("size", size as u64),
        _ => outcome,
    }
}

/// A call that gives 0, or −1.
fn command(name: &'static str, f: impl FnOnce(&'static Process) -> Result) -> c_int {
    call(name, -1, || f(process()?).map(|()| 0))
}
