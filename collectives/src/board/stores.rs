//! How long data is stored on a board: through the caches, or bypassing them.

use super::Board;
use super::flags::Begun;
use lapis_copies::{Copies, StorePolicy};
use lapis_core::Context;

/// If stores that bypass the caches pay at all, they pay from so many bytes on at the latest: the
/// former data of an area is still in its readers' caches, and each line would have to be taken
/// from there.
const PAST: u32 = 2 << 10;

/// Rounds from one timed read of another member's line to the next. Some processors prefetch a line
/// that is read in every round, and the read then says nothing about the distance.
const LOOK_EVERY: u64 = 8;

/// The policy by the limits that the transports of this host use. They have refused wrong settings
/// of the environment.
#[cfg(not(loom))]
pub(super) fn store_policy(context: &Context) -> StorePolicy {
    use lapis_copies::{Choice, VARIABLE};
    let listing = context.config().listing();
    let listed = listing.iter().find(|listed| listed.variable.name == VARIABLE);
    let value = listed.and_then(|listed| Some((listed.value.as_deref()?, listed.origin)));
    let choice = Choice::of(value, &lapis_core::config::processor());
    let limits = choice.map_or(Copies::USUAL, |choice| choice.copies);
    // If tasks outnumber cores, some readers share the writer's core. Where the others are near,
    // too, all find the data in a cache.
    let near_past = if context.is_crowded() { None } else { limits.near_past };
    StorePolicy::new(Copies { near_past, far_past: limits.far_past.map(|past| past.min(PAST)), ..limits })
}

#[cfg(loom)]
pub(super) fn store_policy(_: &Context) -> StorePolicy {
    let _ = PAST;
    StorePolicy::new(Copies::USUAL)
}

impl Board {
    /// The number of bytes from which on a member's stores bypass the caches. In some rounds of
    /// long data it times the read of a line that the next member has written.
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
