//! What an instance pointer points to, and calls into it that may panic.

use super::Transport;
use super::abi::{self, ErrorText};
use super::types::{Status, TransportError};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an instance pointer points to.
pub struct Instance<T: Transport> {
    transport: UnsafeCell<T>,
    waiter: T::Waiter,
    poisoned: Cell<bool>,
}

impl<T: Transport> Instance<T> {
    /// An instance to be used, and closed, through the table of `T`.
    pub(super) fn new_raw(transport: T, waiter: T::Waiter) -> *mut c_void {
        let poisoned = Cell::new(false);
        Box::into_raw(Box::new(Self { transport: UnsafeCell::new(transport), waiter, poisoned })).cast()
    }

    /// What sleeps, for any thread.
    ///
    /// # Safety
    /// `i` is a live instance of `T`.
    pub(super) unsafe fn waiter<'a>(i: *mut c_void) -> &'a T::Waiter {
        // SAFETY: a live instance by the contract above; the waiter is never borrowed mutably.
        unsafe { &(*i.cast::<Self>()).waiter }
    }

    /// Runs a call; `None` if it panics, or one before it has.
    ///
    /// # Safety
    /// `i` is a live instance of `T` and no other thread is in a call other than the waiter's.
    #[inline(always)]
    unsafe fn caught<R>(i: *mut c_void, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        // SAFETY: a live instance by the contract above.
        let instance = unsafe { &*i.cast::<Self>() };
        if instance.poisoned.get() {
            return None;
        }
        // SAFETY: one caller at a time, so this is the only reference to the transport.
        let answer = catch_unwind(AssertUnwindSafe(|| f(unsafe { &mut *instance.transport.get() })));
        if answer.is_err() {
            instance.poisoned.set(true);
        }
        answer.ok()
    }

    /// A data-path call.
    ///
    /// # Safety
    /// As for [`Self::caught`].
    #[inline(always)]
    pub(super) unsafe fn data(i: *mut c_void, f: impl FnOnce(&mut T) -> Status) -> i32 {
        // SAFETY: this function demands what `caught` does.
        unsafe { Self::caught(i, f) }.unwrap_or(Status::Panicked) as i32
    }

    /// A call that answers with a number.
    ///
    /// # Safety
    /// As for [`Self::caught`].
    #[inline(always)]
    pub(super) unsafe fn counted(i: *mut c_void, f: impl FnOnce(&mut T) -> usize) -> i32 {
        // SAFETY: this function demands what `caught` does.
        unsafe { Self::caught(i, f) }.map_or(Status::Panicked as i32, |n| n as i32)
    }

    /// A call without an answer.
    ///
    /// # Safety
    /// As for [`Self::caught`].
    #[inline(always)]
    pub(super) unsafe fn quietly(i: *mut c_void, f: impl FnOnce(&mut T)) {
        // SAFETY: this function demands what `caught` does.
        unsafe { Self::caught(i, f) };
    }

    /// A set-up call, whose failure comes with a text.
    ///
    /// # Safety
    /// As for [`Self::caught`]; `error` is null or valid.
    pub(super) unsafe fn set_up(
        i: *mut c_void,
        error: *mut ErrorText,
        f: impl FnOnce(&mut T) -> Result<i32, TransportError>,
    ) -> i32 {
        // SAFETY: a live instance by the contract above.
        let instance = unsafe { &*i.cast::<Self>() };
        if instance.poisoned.get() {
            return Status::Panicked as i32;
        }
        // SAFETY: one caller at a time, so this is the only reference to the transport.
        match flatten(catch_unwind(AssertUnwindSafe(|| f(unsafe { &mut *instance.transport.get() })))) {
            Ok(status) => status,
            Err(e) => {
                instance.poisoned.set(matches!(e, TransportError::Panicked(_)));
                // SAFETY: `error` is null or valid by the contract above.
                unsafe { refuse(e, error) }
            }
        }
    }
}

type Caught<R> = Result<Result<R, TransportError>, Box<dyn std::any::Any + Send>>;

pub(super) fn flatten<R>(caught: Caught<R>) -> Result<R, TransportError> {
    caught.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(TransportError::Panicked(text))
    })
}

/// # Safety
/// `error` is null or valid.
pub(super) unsafe fn refuse(e: TransportError, error: *mut ErrorText) -> i32 {
    // SAFETY: `error` is null or valid by the contract above.
    unsafe { write_text(error, &e.to_string()) };
    match e {
        TransportError::Unsupported => abi::status::UNSUPPORTED,
        TransportError::Invalid(_) => abi::status::INVALID,
        TransportError::Unreachable(_) => abi::status::UNREACHABLE,
        TransportError::Exhausted(_) => abi::status::EXHAUSTED,
        TransportError::Io(_) => abi::status::IO,
        TransportError::Panicked(_) => abi::status::PANICKED,
    }
}

/// # Safety
/// `out` is null or valid.
pub(super) unsafe fn write_text(out: *mut ErrorText, text: &str) {
    // SAFETY: `out` is null or valid by the contract above.
    let Some(out) = (unsafe { out.as_mut() }) else { return };
    let mut len = text.len().min(out.capacity as usize);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    // SAFETY: the buffer has `capacity` ≥ `len` bytes.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), out.buf, len) };
    out.len = len as u32;
}
