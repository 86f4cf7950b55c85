//! acp_init to acp_reset.

use super::{ERRNO, PROCESS, call, command, process};
use crate::error::{Error, Result};
use crate::process::{Lifetime, Process};
use crate::settings::{OURS, Settings};
use lapis_core::sync::Ordering;
use lapis_core::sync::blocking::Mutex;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::sync::Once;

/// One at a time begins or ends. What ended last is kept until the next one has ended: a thread
/// that is still in one of its calls finds memory there and an error.
static CHANGING: Mutex<Option<Box<Process>>> = Mutex::new(None);

/// Joins the job; returns when all processes have.
///
/// # Safety
/// `argc` and `argv` are NULL, or point to what `main` was given.
//= ACP 1.0, acp_init
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    call("acp_init", -1, || {
        enter(Lifetime::UntilTheNextEnds, || {
            if argc.is_null() || argv.is_null() {
                return Settings::of_command_line();
            }
            // SAFETY: not NULL, so they point to the count and the vector that `main` was given.
            unsafe { take_arguments(argc, argv) }
        })?;
        Ok(0)
    })
}

/// Joins the job, for whichever interface.
pub(crate) fn enter(
    lifetime: Lifetime,
    settings: impl FnOnce() -> Result<Settings>,
) -> Result<&'static Process> {
    let _changing = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if process().is_ok() {
        return Err(Error::Initialized);
    }
    lapis_log::install();
    watch_forks();
    let joined = Process::join(settings()?, lifetime)?;
    // SYNC: Release pairs with `process`.
    PROCESS.store(joined, Ordering::Release);
    process()
}

/// A forked child is none of the job's: it would write over what its parent has in shared memory.
extern "C" fn forked() {
    // The child has this thread alone.
    PROCESS.store(null_mut(), Ordering::Relaxed);
}

fn watch_forks() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the function lives as long as the library, which is never unloaded while the
        // program has a job.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

/// Leaves the job, for whichever interface.
pub(crate) fn leave() -> Result {
    let mut kept = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let process = process()?;
    // SYNC: Release as in `enter`: whoever sees no process sees no memory of it.
    let ended = PROCESS.swap(null_mut(), Ordering::Release);
    let outcome = process.finalize();
    if process.may_be_freed() {
        // SAFETY: `join` made it of a box. Nobody finds it any more, and of those who did only
        // threads that are about to leave a call are left.
        *kept = Some(unsafe { Box::from_raw(ended) });
    }
    outcome
}

/// Takes ACP's arguments out of the program's.
///
/// # Safety
/// Both point to what `main` was given.
unsafe fn take_arguments(argc: *mut c_int, argv: *mut *mut *mut c_char) -> Result<Settings> {
    let mut settings = Settings::default();
    // SAFETY: they point to what `main` was given.
    let (count, list) = unsafe { (*argc, *argv) };
    if list.is_null() {
        return Settings::of_command_line();
    }
    let mut kept = 0;
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: `main` has so many arguments, and strings end.
        let (word, text) = unsafe {
            let word = *list.add(at);
            (word, if word.is_null() { c"" } else { CStr::from_ptr(word) })
        };
        let text = text.to_string_lossy();
        if at > 0 && text.starts_with(OURS) {
            settings.take(&text)?;
        } else {
            // SAFETY: at or before the word just read.
            unsafe { list.add(kept).write(word) };
            kept += 1;
        }
    }
    if kept < usize::try_from(count).unwrap_or(0) {
        // SAFETY: before the end of the list.
        unsafe {
            list.add(kept).write(null_mut());
            argc.write(kept as c_int);
        }
    }
    Ok(settings)
}

/// Leaves the job when all processes do.
//= ACP 1.0, acp_finalize
#[unsafe(no_mangle)]
pub extern "C" fn acp_finalize() -> c_int {
    command("acp_finalize", |_| leave())
}

/// Ends the whole job with a message.
///
/// # Safety
/// `str` is NULL or a string.
//= ACP 1.0, acp_abort
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_abort(str: *const c_char) {
    // SAFETY: `str` is not null, so it is a string that ends with a zero.
    let text = if str.is_null() { c"" } else { unsafe { CStr::from_ptr(str) } }.to_string_lossy();
    let errno = ERRNO.get();
    let system = std::io::Error::from_raw_os_error(errno);
    let rank = process().map_or(-1, |process| process.world().rank.cast_signed());
    let message = if errno == 0 { text.into_owned() } else { format!("{text}: {system}") };
    eprintln!("acp_abort: rank {rank}: {message}");
    if let Ok(process) = process() {
        process.context.abort(1, &message);
    }
    std::process::exit(1);
}

/// Number of processes.
//= ACP 1.0, acp_procs
#[unsafe(no_mangle)]
pub extern "C" fn acp_procs() -> c_int {
    call("acp_procs", -1, || Ok(process()?.context.tasks().cast_signed()))
}

/// Rank of this process.
//= ACP 1.0, acp_rank
#[unsafe(no_mangle)]
pub extern "C" fn acp_rank() -> c_int {
    call("acp_rank", -1, || Ok(process()?.world().rank.cast_signed()))
}

/// Waits until all processes call it.
//= ACP 1.0, acp_sync
#[unsafe(no_mangle)]
pub extern "C" fn acp_sync() -> c_int {
    command("acp_sync", Process::sync)
}

/// Starts again with another rank.
//= ACP 1.0, acp_reset
#[unsafe(no_mangle)]
pub extern "C" fn acp_reset(rank: c_int) -> c_int {
    command("acp_reset", |process| process.reset(rank))
}

/// Where the calling thread's ACP_ERRNO is.
//= ACP 1.0, acp_abort, ACP_ERRNO
#[unsafe(no_mangle)]
pub extern "C" fn acp_errno_location() -> *mut c_int {
    ERRNO.with(|errno| errno.as_ptr())
}
