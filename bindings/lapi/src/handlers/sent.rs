//! Send completion handlers.
//!
//! What is copied at once has been sent when its call returns, so that its handler runs within the
//! call. A handler that sends the next message from the buffer nests another call, with another
//! handler. The first few run there and then; the others wait until one of these has returned, so
//! that a chain of messages needs no more stack than a few.

use super::nesting::{Nesting, Sent};
use crate::abi::*;
use crate::handles;
use lapis_core::Context;
use std::ffi::{c_uint, c_void};

impl Sent {
    /// # Safety
    /// `function` is the address of a send completion handler, whose argument this is.
    unsafe fn call(self, context: &Context) {
        let reason = if self.ok { LAPI_SUCCESS } else { LAPI_ERR_SEND_INCOMP };
        let mut info = lapi_sh_info_t { src: self.peer, reason: reason as c_uint, reserve: [0; 6] };
        // SAFETY: the address is that of a function of this type, by the caller's promise.
        unsafe {
            let call = std::mem::transmute::<usize, scompl_hndlr_t>(self.function);
            context.lending(|| call(handles::for_handlers(context), self.argument, &mut info));
        }
    }
}

/// Runs a send completion handler, at once or when those that it nests in return.
///
/// # Safety
/// The context tells of an operation's end, with its lock held. `function` is the address of a send
/// completion handler, and `argument` what the program gave for it.
pub(super) unsafe fn tell(context: &Context, peer: u32, function: usize, argument: *mut c_void, ok: bool) {
    let sent = Sent { peer, function, argument, ok };
    let Some(instance) = handles::of_context(context) else {
        // SAFETY: handler and argument belong together, by the caller's promise.
        return unsafe { sent.call(context) };
    };
    let all = &instance.send_handlers.0;
    // SAFETY: the calling thread holds the lock, within which the context tells of the end.
    let mut next = unsafe { all.in_handler(context, |all| all.begin(sent)) };
    while let Some(sent) = next {
        // SAFETY: the caller's promise for this one; for those that were kept, that of the call
        // that kept them. The lock is held again when a handler has returned.
        next = unsafe {
            sent.call(context);
            all.in_handler(context, Nesting::go_on)
        };
    }
}
