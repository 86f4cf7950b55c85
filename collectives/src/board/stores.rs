//! How long data gets onto a board: through the caches or past them.

use super::Board;
use super::flags::Begun;
use lapis_copies::{Copies, StorePolicy};
use lapis_core::Context;

/// Where stores past the caches pay, they pay from so many bytes on at the latest: what lay in an
/// area before is still in its readers' caches, from where each line would have to be taken away.
const PAST: u32 = 2 << 10;

/// Rounds from one look at another member's line to the next. A line that is read in every round
/// some processors fetch ahead, so that reading it tells nothing.
const LOOK_EVERY: u64 = 8;

/// By the limits that transports of this host go by. What is wrong in the environment they have
/// refused.
#[cfg(not(loom))]
pub(super) fn store_policy(context: &Context) -> StorePolicy {
    use lapis_copies::{Choice, VARIABLE};
    let listing = context.config().listing();
    let listed = listing.iter().find(|listed| listed.variable.name == VARIABLE);
    let value = listed.and_then(|listed| Some((listed.value.as_deref()?, listed.origin)));
    let choice = Choice::of(value, &lapis_core::config::processor());
    let limits = choice.map_or(Copies::USUAL, |choice| choice.copies);
    // Where tasks outnumber cores, some readers of everything share the writer's core.
    let (near, far) = if context.is_crowded() { (None, None) } else { (limits.near_past, limits.far_past) };
    StorePolicy::new(Copies { near_past: near, far_past: far.map(|past| past.min(PAST)), ..limits })
}

#[cfg(loom)]
pub(super) fn store_policy(_: &Context) -> StorePolicy {
    let _ = PAST;
    StorePolicy::new(Copies::USUAL)
}

impl Board {
    /// From how many bytes on what a member puts goes past the caches. In some rounds of long data
    /// it looks how long it takes to read what the next member has written.
    #[inline(never)]
    pub(super) fn past(&mut self) -> usize {
        if self.round.is_multiple_of(LOOK_EVERY) {
            let next = (self.me + 1) % self.bases.len();
            let begun: *const Begun = self.begun(next);
            // SAFETY: boards are mapped as long as the context is open.
            let read = || unsafe { (*begun).get() };
            self.begun[next] = self.store_policy.watch(self.begun[next], read);
        }
        match self.store_policy.past() {
            0 => usize::MAX,
            past => past as usize,
        }
    }
}
