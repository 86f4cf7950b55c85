//! Send completion handlers of a context that have begun, or are to run when one of these returns.

use lapis_core::context::Guarded;
use std::collections::VecDeque;
use std::ffi::c_void;

/// How deep these handlers nest at most. More than one, because a handler may poll until another
/// one has run that its own call has begun.
const DEEPEST: u32 = 8;

/// A handler that is to run.
pub(super) struct Sent {
    pub(super) peer: u32,
    pub(super) function: usize,
    pub(super) argument: *mut c_void,
    pub(super) ok: bool,
}

// SAFETY: the program's function and argument are for whatever thread finds out.
unsafe impl Send for Sent {}

/// The send completion handlers of a context that have begun, or are to.
pub(crate) struct SendHandlers(pub(super) Guarded<Nesting>);

#[derive(Default)]
pub(crate) struct Nesting {
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
    pub(super) fn begin(&mut self, sent: Sent) -> Option<Sent> {
        if self.depth == DEEPEST {
            self.later.push_back(sent);
            return None;
        }
        self.depth += 1;
        Some(sent)
    }

    /// One has returned: what is to run in its place.
    pub(super) fn go_on(&mut self) -> Option<Sent> {
        let next = self.later.pop_front();
        self.depth -= u32::from(next.is_none());
        next
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
