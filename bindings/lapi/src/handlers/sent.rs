//! Send completion handlers.
//!
//! What is copied at once has been sent when its call returns, so that its handler runs within the
//! call. A handler that sends the next message from the buffer nests another call, with another
//! handler. The first few run there and then; the others wait until one of these has returned, so
//! that a chain of messages needs no more stack than a few.

use crate::abi::*;
use crate::handles;
use lapis_core::Context;
use lapis_core::context::Guarded;
use std::collections::VecDeque;
use std::ffi::{c_uint, c_void};

/// How deep these handlers nest at most. More than one, because a handler may poll until another
/// one has run that its own call has begun.
const DEEPEST: u32 = 8;

/// A handler that is to run.
struct Sent {
    peer: u32,
    function: usize,
    argument: *mut c_void,
    ok: bool,
}

// SAFETY: the program's function and argument are for whatever thread finds out.
unsafe impl Send for Sent {}

/// The send completion handlers of a context that have begun, or are to.
pub(crate) struct SendHandlers(Guarded<Nesting>);

#[derive(Default)]
struct Nesting {
    depth: u32,
    later: VecDeque<Sent>,
}

impl Default for SendHandlers {
    fn default() -> Self {
        Self(Guarded::new(Nesting::default()))
    }
}

impl Nesting {
    /// One that may run now; otherwise it is kept.
    fn begin(&mut self, sent: Sent) -> Option<Sent> {
        if self.depth == DEEPEST {
            self.later.push_back(sent);
            return None;
        }
        self.depth += 1;
        Some(sent)
    }

    /// One has returned: what is to run in its place.
    fn go_on(&mut self) -> Option<Sent> {
        let next = self.later.pop_front();
        self.depth -= u32::from(next.is_none());
        next
    }
}

impl Sent {
    /// # Safety
    /// `function` is the address of a send completion handler, whose argument this is.
    unsafe fn call(self, context: &Context) {
        let reason = if self.ok { LAPI_SUCCESS } else { LAPI_ERR_SEND_INCOMP };
        let mut info = lapi_sh_info_t { src: self.peer, reason: reason as c_uint, reserve: [0; 6] };
        // SAFETY: the caller's promise.
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
        // SAFETY: the caller's promise.
        return unsafe { sent.call(context) };
    };
    let all = &instance.send_handlers.0;
    // SAFETY: the caller holds the lock.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(peer: u32) -> Sent {
        Sent { peer, function: 0, argument: std::ptr::null_mut(), ok: true }
    }

    #[test]
    fn what_nests_too_deep_runs_in_turn_when_another_returns() {
        let mut all = Nesting::default();
        for peer in 0..DEEPEST {
            assert_eq!(all.begin(sent(peer)).map(|sent| sent.peer), Some(peer));
        }
        for peer in [100, 101] {
            assert!(all.begin(sent(peer)).is_none());
        }
        assert_eq!(all.go_on().map(|sent| sent.peer), Some(100));
        assert!(all.begin(sent(102)).is_none(), "one runs in the place of that which has returned");
        assert_eq!(all.go_on().map(|sent| sent.peer), Some(101));
        assert_eq!(all.go_on().map(|sent| sent.peer), Some(102));
        for _ in 0..DEEPEST {
            assert!(all.go_on().is_none());
        }
        assert_eq!(all.begin(sent(5)).map(|sent| sent.peer), Some(5));
    }
}
