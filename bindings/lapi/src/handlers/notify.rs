//! Completion handlers, and whom to tell when an operation has ended.

use super::sent;
use crate::abi::*;
use crate::handles;
use lapis_core::{CompletionHandler, Context, Notify};
use std::ffi::c_void;
use std::ptr::NonNull;

/// A completion handler as core carries it.
#[inline(always)]
pub(crate) fn raw(function: compl_hndlr_t, argument: *mut c_void) -> CompletionHandler {
    CompletionHandler::Raw { function: function as usize, argument }
}

/// Calls a completion handler.
///
/// # Safety
/// `function` is the address of a completion handler and `argument` what its header handler gave
/// for it.
pub(crate) unsafe fn completion(context: &Context, function: usize, argument: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        let call = std::mem::transmute::<usize, compl_hndlr_t>(function);
        context.lending(|| call(handles::for_handlers(context), argument));
    }
}

/// A counter, a call, both or neither.
#[inline(always)]
fn both(counter: *mut lapi_cntr_t, call: Option<Notify>) -> Notify {
    match (NonNull::new(counter.cast()), call) {
        (None, call) => call.unwrap_or_default(),
        (Some(counter), None) => Notify::Counter(counter),
        (Some(counter), Some(call)) => Notify::Both(counter, Box::new(call)),
    }
}

/// Whom to tell when the origin's buffer is free: a counter, a send completion handler, both or
/// neither.
//= LAPI Guide, The send completion handler, runs when the send-side buffer is available
#[inline(always)]
pub(crate) fn send_notify(
    counter: *mut lapi_cntr_t,
    handler: Option<scompl_hndlr_t>,
    argument: *mut c_void,
) -> Notify {
    let call = handler.map(|handler| Notify::Call { call: sent::tell, function: handler as usize, argument });
    both(counter, call)
}

/// Whom to tell when the data of a get is here: a counter, a completion handler, both or neither.
//= LAPI Guide, table 8, the completion handler of a get runs at the origin
#[inline(always)]
pub(crate) fn get_notify(
    counter: *mut lapi_cntr_t,
    handler: Option<compl_hndlr_t>,
    argument: *mut c_void,
) -> Notify {
    let call = handler.map(|handler| Notify::Call { call: got, function: handler as usize, argument });
    both(counter, call)
}

/// A get's completion handler may block like any other: it runs on a handler thread.
unsafe fn got(context: &Context, _peer: u32, function: usize, argument: *mut c_void, ok: bool) {
    if ok {
        context.run_on_handler_thread(CompletionHandler::Raw { function, argument });
    }
}
