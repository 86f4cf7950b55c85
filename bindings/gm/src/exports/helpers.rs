//! What programs link against beside messages: texts, memory, time, processes.

use crate::abi::{FAST_MAX, Status};
use crate::texts;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::sync::{Mutex, PoisonError};

/// Copies a message into its buffer unless it is there. Answers the buffer.
///
/// # Safety
/// Message and buffer have `len` bytes.
//= GM, gm_memorize_message
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_memorize_message(
    message: *mut c_void,
    buffer: *mut c_void,
    len: c_uint,
) -> *mut c_void {
    if message != buffer && len > 0 {
        // SAFETY: the message has so many bytes, and the buffer its size class's room.
        unsafe { buffer.cast::<u8>().copy_from(message.cast(), len as usize) };
    }
    buffer
}

/// What a status means.
//= GM, gm_strerror
#[unsafe(no_mangle)]
pub extern "C" fn gm_strerror(error: c_int) -> *const c_char {
    texts::of(error).as_ptr()
}

/// Prints a message and what a status means, to standard error.
///
/// # Safety
/// `message` is NULL or a string.
//= GM, gm_perror
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_perror(message: *const c_char, error: c_int) {
    let text = texts::of(error).to_string_lossy();
    if message.is_null() {
        eprintln!("{text}");
    } else {
        // SAFETY: the program gives strings, which end.
        eprintln!("{}: {text}", unsafe { CStr::from_ptr(message) }.to_string_lossy());
    }
}

/// Ends the process at once, as abort does.
//= GM, gm_abort
#[unsafe(no_mangle)]
pub extern "C" fn gm_abort() {
    std::process::abort()
}

/// A function of the program's that runs when it ends.
type AtExit = (Option<unsafe extern "C" fn(c_int, *mut c_void)>, usize);

static AT_EXIT: Mutex<Vec<AtExit>> = Mutex::new(Vec::new());

unsafe extern "C" {
    /// As atexit, and the function hears the exit code: see on_exit(3).
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), arg: *mut c_void) -> c_int;
}

/// Runs the function that was registered last, if one is left.
fn run_last(status: c_int) -> bool {
    // The lock is not held while the program's function runs: it may register another one.
    let last = AT_EXIT.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let Some((callback, arg)) = last else { return false };
    if let Some(callback) = callback {
        // SAFETY: the program vouches for its function.
        unsafe { callback(status, std::ptr::with_exposed_provenance_mut(arg)) };
    }
    true
}

extern "C" fn exits(code: c_int, _: *mut c_void) {
    let status = if code == 0 { Status::Success } else { Status::Failure };
    run_last(status as c_int);
}

/// Has `callback` run when the program ends, the last one first: with the status that gm_exit is
/// called with, otherwise with GM_SUCCESS for exit code 0, and with GM_FAILURE for any other one.
//= GM, gm_on_exit
#[unsafe(no_mangle)]
pub extern "C" fn gm_on_exit(
    callback: Option<unsafe extern "C" fn(c_int, *mut c_void)>,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the function lives as long as the library, which is never unloaded while the program
    // has use for it. It runs once for each that is registered here, each time for the last one.
    if unsafe { on_exit(exits, std::ptr::null_mut()) } != 0 {
        return Status::OutOfMemory as c_int;
    }
    AT_EXIT.lock().unwrap_or_else(PoisonError::into_inner).push((callback, arg.expose_provenance()));
    Status::Success as c_int
}

/// Ends the program: with exit code 0 for GM_SUCCESS, 1 for any other status.
//= GM, gm_exit
#[unsafe(no_mangle)]
pub extern "C" fn gm_exit(status: c_int) {
    while run_last(status) {}
    std::process::exit((status != 0).into())
}

/// Sleeps for so many seconds.
//= GM, gm_sleep
#[unsafe(no_mangle)]
pub extern "C" fn gm_sleep(seconds: c_uint) -> c_int {
    std::thread::sleep(std::time::Duration::from_secs(seconds.into()));
    0
}

/// The process's number.
//= GM, gm_getpid
#[unsafe(no_mangle)]
pub extern "C" fn gm_getpid() -> c_uint {
    std::process::id()
}

/// Whether a byte is a printable character of ASCII.
//= GM, gm_isprint
#[unsafe(no_mangle)]
pub extern "C" fn gm_isprint(c: c_int) -> c_int {
    (0x20..0x7f).contains(&c).into()
}

/// Copies memory; the two may overlap.
///
/// # Safety
/// Both have `len` bytes.
//= GM, gm_bcopy
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_bcopy(from: *const c_void, to: *mut c_void, len: c_ulong) {
    // SAFETY: the program's memory has so many bytes.
    unsafe { libc::memmove(to, from, len as usize) };
}

/// Fills memory with zeros.
///
/// # Safety
/// It has `len` bytes.
//= GM, gm_bzero
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_bzero(ptr: *mut c_void, len: c_ulong) {
    // SAFETY: the program's memory has so many bytes.
    unsafe { libc::memset(ptr, 0, len as usize) };
}

/// Fills memory.
///
/// # Safety
/// It has `n` bytes.
//= GM, gm_memset
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_memset(s: *mut c_void, c: c_int, n: c_ulong) -> *mut c_void {
    // SAFETY: the program's memory has so many bytes.
    unsafe { libc::memset(s, c, n as usize) }
}

/// Compares memory.
///
/// # Safety
/// Both have `len` bytes.
//= GM, gm_memcmp
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_memcmp(a: *const c_void, b: *const c_void, len: c_ulong) -> c_int {
    // SAFETY: the program's memory has so many bytes.
    unsafe { libc::memcmp(a, b, len as usize) }
}

/// The length of a string.
///
/// # Safety
/// It is one.
//= GM, gm_strlen
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_strlen(text: *const c_char) -> c_ulong {
    // SAFETY: the program gives strings, which end.
    unsafe { libc::strlen(text) as c_ulong }
}

/// Copies a string of at most `len` bytes, filled up with zeros.
///
/// # Safety
/// `from` is a string; `to` has `len` bytes.
//= GM, gm_strncpy
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_strncpy(to: *mut c_char, from: *const c_char, len: c_int) -> *mut c_char {
    // SAFETY: the program gives a string, and room for `len` bytes.
    unsafe { libc::strncpy(to, from, usize::try_from(len).unwrap_or(0)) }
}

/// Compares strings.
///
/// # Safety
/// Both are.
//= GM, gm_strcmp
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_strcmp(a: *const c_char, b: *const c_char) -> c_int {
    // SAFETY: the program gives strings, which end.
    unsafe { libc::strcmp(a, b) }
}

/// Compares the first `len` bytes of strings.
///
/// # Safety
/// Both are, or have so many bytes.
//= GM, gm_strncmp
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_strncmp(a: *const c_char, b: *const c_char, len: c_int) -> c_int {
    // SAFETY: the program gives strings, which end.
    unsafe { libc::strncmp(a, b, usize::try_from(len).unwrap_or(0)) }
}

/// The same whatever their case.
///
/// # Safety
/// As for gm_strncmp.
//= GM, gm_strncasecmp
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_strncasecmp(a: *const c_char, b: *const c_char, len: c_int) -> c_int {
    // SAFETY: the program gives strings, which end.
    unsafe { libc::strncasecmp(a, b, usize::try_from(len).unwrap_or(0)) }
}

/// A copy of a string, for gm_free. NULL: memory is short.
///
/// # Safety
/// It is one.
//= GM, gm_strdup
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_strdup(text: *const c_char) -> *mut c_char {
    // SAFETY: the program gives strings, which end.
    unsafe { libc::strdup(text) }
}

/// The smallest power of two that is not less, as its exponent.
//= GM, gm_log2_roundup
#[unsafe(no_mangle)]
pub extern "C" fn gm_log2_roundup(n: c_ulong) -> c_ulong {
    (c_ulong::BITS - n.saturating_sub(1).leading_zeros()).into()
}

const fn log2_table() -> [u8; 257] {
    let mut table = [0; 257];
    let mut n = 2;
    while n < 257 {
        table[n] = (u32::BITS - (n as u32 - 1).leading_zeros()) as u8;
        n += 1;
    }
    table
}

/// gm_log2_roundup of 0 to 256.
#[unsafe(no_mangle)]
pub static gm_log2_roundup_table: [u8; 257] = log2_table();

const _: () = assert!(FAST_MAX == 128);
