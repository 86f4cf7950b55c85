//! Sleeping on a word (futex(2)): without a lock, so that a signal handler may do it, too, whatever
//! it has interrupted.

use super::placed::AtomicU32;
use std::time::Duration;

/// Sleeps while the word has this value, less than a second and no longer than that, and until it
/// is woken.
pub(crate) fn wait_on(word: &AtomicU32, value: u32, at_most: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time are valid for the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, &raw const time) };
}

/// Wakes all threads that sleep because of a word.
pub(crate) fn wake_all(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is valid for the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, i32::MAX) };
}
