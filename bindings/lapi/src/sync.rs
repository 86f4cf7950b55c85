//! Locking.

use lapis_core::sync::blocking::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// Locks a mutex whose data stays whole even if a holder panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
