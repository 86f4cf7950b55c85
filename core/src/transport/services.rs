//! What the host gives plugins: the [`HostTable`] of this copy of core.
//!
//! Diagnostics go to this program's `tracing` subscriber, under the target `lapis::transport` with the plugin's name in
//! the field `transport`. Options are answered from the process environment: the callback carries no context and core
//! keeps no mutable statics, so values that a program sets through a builder reach a transport only as
//! [`OpenParams`](super::OpenParams).

use super::abi::{ABI_MAJOR, HostTable};
use std::panic::{AssertUnwindSafe, catch_unwind};

static HOST: HostTable =
    HostTable { struct_size: size_of::<HostTable>() as u32, abi_major: ABI_MAJOR, log, log_enabled, option };

/// The table handed to every plugin, loaded or linked.
pub fn host_table() -> &'static HostTable {
    &HOST
}

/// Runs `$body` with `$level` bound to the level's constant; `tracing` wants constants, for each is a call site.
macro_rules! by_level {
    ($number:expr, |$level:ident| $body:expr) => {
        match $number {
            0 | 1 => {
                const $level: tracing::Level = tracing::Level::ERROR;
                $body
            }
            2 => {
                const $level: tracing::Level = tracing::Level::WARN;
                $body
            }
            3 => {
                const $level: tracing::Level = tracing::Level::INFO;
                $body
            }
            4 => {
                const $level: tracing::Level = tracing::Level::DEBUG;
                $body
            }
            _ => {
                const $level: tracing::Level = tracing::Level::TRACE;
                $body
            }
        }
    };
}

unsafe extern "C" fn log(level: u32, target: *const u8, target_len: usize, text: *const u8, text_len: usize) {
    // A subscriber's panic must not unwind into the plugin.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the plugin passes readable ranges, valid for the call.
        let (name, text) = unsafe { (lossy(target, target_len), lossy(text, text_len)) };
        by_level!(
            level,
            |LEVEL| tracing::event!(target: "lapis::transport", LEVEL, transport = %name, "{text}")
        );
    }));
}

unsafe extern "C" fn log_enabled(level: u32, _target: *const u8, _target_len: usize) -> i32 {
    catch_unwind(|| by_level!(level, |LEVEL| i32::from(tracing::enabled!(target: "lapis::transport", LEVEL))))
        .unwrap_or(0)
}

unsafe extern "C" fn option(name: *const u8, name_len: usize, buf: *mut u8, capacity: usize) -> isize {
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the plugin passes a readable range, valid for the call.
        let name = unsafe { lossy(name, name_len) };
        // `var_os` panics on names no variable can have.
        if name.is_empty() || name.contains(['=', '\0']) {
            return -1;
        }
        let Some(value) = std::env::var_os(&*name) else { return -1 };
        let bytes = value.as_encoded_bytes();
        let len = bytes.len().min(capacity);
        if len > 0 {
            // SAFETY: the plugin's buffer has `capacity` ≥ `len` bytes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf, len) };
        }
        bytes.len() as isize
    }))
    .unwrap_or(-1)
}

/// # Safety
/// `ptr` and `len` describe readable memory, valid while the result is used.
unsafe fn lossy<'a>(ptr: *const u8, len: usize) -> std::borrow::Cow<'a, str> {
    if ptr.is_null() || len == 0 {
        return "".into();
    }
    // SAFETY: the caller's promise.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(ptr, len) })
}
