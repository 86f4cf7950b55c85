//! Errors that belong to no call: to the program's error handler, or to the end of the job.

use crate::abi::{
    LAPI_COMMUNICATION_ERROR, LAPI_INTERNAL_ERROR, LAPI_USER_ERROR, LAPI_err_hndlr, lapi_err_t,
};
use crate::calls::attention;
use crate::handles;
use crate::sync::lock;
use crate::threads::Threads;
use lapis_core::sync::blocking::Mutex;
use lapis_core::{Context, Error, LapiCode};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::io;
use std::sync::Arc;

/// Exit status of a task that ends the job because of an asynchronous error.
const EXIT_STATUS: c_int = 1;

/// Tells the program of errors that belong to no call.
pub(crate) struct Errors {
    handler: Option<LAPI_err_hndlr>,
    threads: Threads,
    waiting: Arc<Mutex<Waiting>>,
}

/// What the handler has not heard of yet.
#[derive(Default)]
struct Waiting {
    errors: VecDeque<Told>,
    /// A thread calls the handler until there is nothing more.
    is_served: bool,
}

/// An error as the handler is told of it.
struct Told {
    code: c_int,
    kind: lapi_err_t,
    peer: u32,
}

impl Errors {
    pub(crate) fn new(handler: Option<LAPI_err_hndlr>, threads: Threads) -> Self {
        Self { handler, threads, waiting: Arc::default() }
    }

    /// Tells of one. Core holds the lock meanwhile; the guide wants the program's handler to run
    /// without it, so another thread calls it: one for all errors, in their order.
    //= LAPI Guide, Registering an error handler, a handler that returns lets execution continue
    //= LAPI Guide, Lock sharing, the error handler is invoked without the lock
    pub(crate) fn tell(&self, context: &Context, error: &Error, peer: u32) -> bool {
        let code = error.code();
        let text = error.with_causes();
        if let (Error::Timeout { .. }, Some(instance)) = (error, handles::of_context(context)) {
            attention::timeout(instance, peer);
        }
        let Some(handler) = self.handler else { end_job(context, code, &text) };
        tracing::info!(target: "lapis::call", "{} told to the error handler: {text}", code.name());
        let mut waiting = lock(&self.waiting);
        waiting.errors.push_back(Told { code: code.value(), kind: kind(error), peer });
        if std::mem::replace(&mut waiting.is_served, true) {
            return true;
        }
        drop(waiting);
        if let Err(e) = self.start_thread(context, handler) {
            end_job(context, LapiCode::ERR_UNKNOWN, &format!("{text}; and its handler can't be run: {e}"));
        }
        true
    }

    fn start_thread(&self, context: &Context, handler: LAPI_err_hndlr) -> io::Result<()> {
        let (task, handle) = (context.task(), handles::for_handlers(context).expose_provenance());
        let waiting = Arc::clone(&self.waiting);
        self.threads.start("lapis-error", move || {
            while let Some(Told { mut code, mut kind, peer }) = next(&waiting) {
                let (mut task, mut source) = (task as c_int, peer as c_int);
                let handle = std::ptr::with_exposed_provenance_mut(handle);
                // SAFETY: the program registered the handler for this; the handle lies in a static.
                unsafe { handler(handle, &mut code, &mut kind, &mut task, &mut source) };
            }
        })
    }
}

/// What the handler is to hear of next. If there is nothing, its thread ends: the next error starts
/// another one.
fn next(waiting: &Mutex<Waiting>) -> Option<Told> {
    let mut waiting = lock(waiting);
    let next = waiting.errors.pop_front();
    waiting.is_served = next.is_some();
    next
}

//= LAPI Guide, Registering an error handler, error_type says whose error it is
fn kind(error: &Error) -> lapi_err_t {
    match error {
        Error::HeaderHandlerNull { .. }
        | Error::Vector { .. }
        | Error::Dgsp { .. }
        | Error::Invalid { .. } => LAPI_USER_ERROR,
        Error::Internal { .. } | Error::System { .. } | Error::MemoryExhausted { .. } => LAPI_INTERNAL_ERROR,
        _ => LAPI_COMMUNICATION_ERROR,
    }
}

/// Without a handler the job ends, with one line that says why.
//= LAPI Guide, Registering an error handler, without a handler the job is terminated
fn end_job(context: &Context, code: LapiCode, text: &str) -> ! {
    let line = format!("{} ({}): {text}", code.name(), code.value());
    crate::diagnostics::say(&format!("lapis: task {}: {line}; the job ends", context.task()));
    context.abort(EXIT_STATUS, &line);
    // Not `exit`: exit handlers of the program would run in the middle of the dispatcher.
    // SAFETY: ends the process.
    unsafe { libc::_exit(EXIT_STATUS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{LAPI_ERR_HDR_HNDLR_NULL, LAPI_ERR_MEMORY_EXHAUSTED, LAPI_ERR_NO_CONNECTIVITY};
    use crate::abi::{LAPI_ERR_TIMEOUT, LAPI_ERR_UNKNOWN};

    //= LAPI Guide, Registering an error handler, error_type says whose error it is
    //= type=test
    #[test]
    fn errors_are_the_programs_the_networks_or_ours() {
        let of = |error: Error| (kind(&error), error.code().value());
        let user = Error::HeaderHandlerNull { origin: 1, handler: 0 };
        assert_eq!(of(user), (LAPI_USER_ERROR, LAPI_ERR_HDR_HNDLR_NULL));
        let down = Error::TargetDown { task: 1, reason: String::new() };
        assert_eq!(of(down), (LAPI_COMMUNICATION_ERROR, LAPI_ERR_NO_CONNECTIVITY));
        let late = Error::Timeout { task: 1, seconds: 900, doing: "sending" };
        assert_eq!(of(late), (LAPI_COMMUNICATION_ERROR, LAPI_ERR_TIMEOUT));
        let memory = Error::MemoryExhausted { what: "a copy", bytes: 1 << 40 };
        assert_eq!(of(memory), (LAPI_INTERNAL_ERROR, LAPI_ERR_MEMORY_EXHAUSTED));
        let defect = Error::Internal { what: String::new() };
        assert_eq!(of(defect), (LAPI_INTERNAL_ERROR, LAPI_ERR_UNKNOWN));
    }
}
