//! What becomes of a panic in the program's code.
//!
//! * A completion handler on a handler thread: it counts as returned. The panic is logged.
//! * What a call waits for: whoever waits gets the panic. The state is whole.
//! * All else runs while the library is amid its own work: header handlers, completion handlers
//!   that run inline, notifications, layouts, hooks, functions that fold. The process ends, because
//!   nobody would finish that work: the packets that came together with this one would be lost, and
//!   their origins would wait for ever.

use super::{CompletionHandler, Context};
use crate::transport::PeerId;
use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Ends the process when it is dropped, which only a panic does: otherwise it is forgotten.
#[must_use]
pub struct MustReturn(pub(super) &'static str);

impl MustReturn {
    /// Runs code of the program's amid work that nobody else would finish. `whom` is what the line
    /// about a panic names.
    #[inline(always)]
    pub fn during<R>(whom: &'static str, call: impl FnOnce() -> R) -> R {
        let all = Self(whom);
        let outcome = call();
        all.done();
        outcome
    }

    #[inline(always)]
    pub(super) fn done(self) {
        std::mem::forget(self);
    }
}

impl Drop for MustReturn {
    // In line, so that the name is not stored before each call.
    #[inline(always)]
    fn drop(&mut self) {
        end_process(self.0);
    }
}

#[cold]
#[inline(never)]
fn end_process(whom: &str) -> ! {
    // No log: a program need not have one. The panic's own message is there already.
    let line = format!("lapis: {whom} has panicked, amid work that must be finished: the process ends\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    std::process::abort();
}

impl Context {
    /// Runs a completion handler of a message from `peer` on a handler thread.
    pub(super) fn run_completion_handler(&self, handler: CompletionHandler, peer: PeerId) {
        // The handler's captures end with it, and the context does not rely on its having returned.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.call_completion_handler(handler))) {
            self.completion_handler_panicked(&*panic, peer);
        }
    }

    #[cold]
    fn completion_handler_panicked(&self, panic: &(dyn Any + Send), peer: PeerId) {
        // Whoever held the lock for it has gone.
        while self.unlock() {}
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no text");
        tracing::error!(
            "a completion handler of a message from task {peer} has panicked, and counts as returned: {text}"
        );
    }
}
