//! How long data is stored on a board: through the caches, or bypassing them.

use super::Board;
use super::flags::Begun;
use lapis_copies::{Copies, StorePolicy};
use lapis_core::Context;
use lapis_core::sync::Ordering;
use std::sync::OnceLock;

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
    let limits = Copies { far_past: limits.far_past.map(|past| past.min(PAST)), ..limits };
    match context.is_crowded() {
        false => StorePolicy::new(limits),
        true => StorePolicy::of_many(Copies { near_past: None, ..limits }),
    }
}

#[cfg(loom)]
pub(super) fn store_policy(_: &Context) -> StorePolicy {
    let _ = PAST;
    StorePolicy::new(Copies::USUAL)
}

/// Bytes of a third-level cache of this machine; those of a common one if it does not say.
pub(super) fn third_cache() -> usize {
    const COMMON: usize = 32 << 20;
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size");
        size.ok().and_then(|size| parse_size(&size)).unwrap_or(COMMON)
    })
}

/// A number of bytes as the kernel writes those of caches: `32768K`.
fn parse_size(text: &str) -> Option<usize> {
    text.trim().strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1 << 10).filter(|bytes| *bytes > 0)
}

impl Board {
    /// The number of bytes from which on a member's stores bypass the caches. In some rounds of
    /// long data it times the read of a line that the next member has written.
    #[inline(never)]
    pub(super) fn past(&mut self) -> usize {
        if self.round.is_multiple_of(LOOK_EVERY) {
            self.watch((self.me + 1) % self.bases.len());
        }
        self.past_as_known()
    }

    /// The same in wide rounds: each looks at another member than the others do, and at all in
    /// turn.
    #[inline(never)]
    pub(super) fn past_of_crowd(&mut self) -> usize {
        let n = self.bases.len();
        let member = (self.me + 1 + self.round as usize % (n - 1).max(1)) % n;
        // After a task switch, the first access to a page would take long, near or far.
        std::hint::black_box(self.left(member, self.me).load(Ordering::Relaxed));
        self.watch(member);
        self.past_as_known()
    }

    fn watch(&mut self, member: usize) {
        let begun: *const Begun = self.begun(member);
        // SAFETY: boards are mapped as long as the context is open.
        let read = || unsafe { (*begun).get() };
        self.begun[member] = self.store_policy.watch(self.begun[member], read);
    }

    fn past_as_known(&self) -> usize {
        match self.store_policy.past() {
            0 => usize::MAX,
            past => past as usize,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_size("32768K\n"), Some(32 << 20));
        for wrong in ["", "K", "0K", "32M", "-1K", "99999999999999999999K"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
        assert!(third_cache() > 0);
    }
}
