//! What the host gives plugins: the [`HostTable`] of this copy of core.
//!
//! Diagnostics go to this program's `tracing` subscriber, under the target `lapis::transport` with
//! the plugin's name in the field `transport`. Options are answered, while a transport opens, from
//! the environment and settings of the context that opens it; at all other times from the process
//! environment, for the callback carries no context.

use super::abi::{ABI_MAJOR, HostTable};
use crate::config::{Environment, elevated};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// What the transports that this thread opens just now are configured by.
    // Set for the length of one call.
    // tidy-allow(statics): it is of the thread and of the copy of core that makes the call.
    static OPENING: RefCell<Option<Environment>> = const { RefCell::new(None) };
}

/// Answers options from `environment`, not from the process, to whatever opens during `opening` on
/// this thread.
pub fn with_options<T>(environment: &Environment, opening: impl FnOnce() -> T) -> T {
    struct Restore(Option<Environment>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OPENING.set(self.0.take());
        }
    }
    let _restore = Restore(OPENING.replace(Some(environment.clone())));
    opening()
}

static HOST: HostTable =
    HostTable { struct_size: size_of::<HostTable>() as u32, abi_major: ABI_MAJOR, log, log_enabled, option };

/// The table handed to every plugin, loaded or linked.
pub fn host_table() -> &'static HostTable {
    &HOST
}

/// Runs `$body` with `$level` bound to the level's constant; `tracing` wants constants, for each is
/// a call site.
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
        let set = OPENING.with_borrow(|opening| opening.as_ref().map(|e| e.get(&name).map(str::to_owned)));
        let now = || {
            let value = if elevated() { None } else { std::env::var_os(&*name) };
            value.map(|v| v.to_string_lossy().into_owned())
        };
        let value = set.unwrap_or_else(now);
        // An empty value is how shells and launchers say "not set".
        let Some(value) = value.filter(|value| !value.trim().is_empty()) else { return -1 };
        let bytes = value.as_bytes();
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
    // SAFETY: not null; the caller promises as many readable bytes, for as long as the text is
    // used.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(ptr, len) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(name: &str) -> Option<String> {
        let mut buf = vec![0u8; 1 << 17];
        // SAFETY: both ranges are valid for the call.
        let len = unsafe { option(name.as_ptr(), name.len(), buf.as_mut_ptr(), buf.len()) };
        let len = usize::try_from(len).ok()?;
        Some(String::from_utf8_lossy(&buf[..len]).into_owned())
    }

    #[test]
    fn options_are_those_of_the_opening_context_and_then_of_the_process() {
        let outer = Environment::from_pairs([("ZOO", "outer"), ("EMPTY", " ")]);
        let inner = Environment::from_pairs([("ZOO", "inner")]);
        with_options(&outer, || {
            assert_eq!((ask("ZOO").as_deref(), ask("EMPTY"), ask("PATH")), (Some("outer"), None, None));
            with_options(&inner, || assert_eq!(ask("ZOO").as_deref(), Some("inner")));
            assert_eq!(ask("ZOO").as_deref(), Some("outer"));
            let panic = catch_unwind(|| with_options(&inner, || panic!("while opening")));
            assert!(panic.is_err());
            assert_eq!(ask("ZOO").as_deref(), Some("outer"), "restored after a panic");
        });
        assert_eq!(ask("ZOO"), None);
        assert!(ask("PATH").is_some() && ask("a=b").is_none() && ask("").is_none());
    }
}
