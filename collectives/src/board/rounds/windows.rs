//! How much of each part a round carries, and where members that meet use the caches.
//!
//! A window has room in an area. If tasks outnumber cores, every meeting costs each of them a task
//! switch: so the windows of members that meet are as long as a row has room for.

use super::{KEEP_OWN_MEMBERS, MEET_MEMBERS, Plan, share};
use crate::call::Call;

/// Elements of a part, and how many parts a member puts: its whole data, or a part for each member.
/// Lists are in elements of which each has `scale` in rounds.
pub(super) fn parts(call: &Call<'_>, n: usize, scale: usize) -> Option<(usize, usize)> {
    // A member that folds its own part from where it is puts only the part of the other.
    let folded_parts = if n <= KEEP_OWN_MEMBERS { 1 } else { n };
    match *call {
        Call::Barrier => Some((0, 1)),
        Call::Broadcast { count, .. }
        | Call::Multicast { count, .. }
        | Call::Reduce { count, .. }
        | Call::AllReduce { count }
        | Call::Gather { count, .. }
        | Call::AllGather { count }
        | Call::Scan { count }
        | Call::ExScan { count } => Some((count, 1)),
        // Only in a row does a member's part for itself need room.
        Call::Scatter { count, .. } => Some((count, (n - 1).max(1))),
        Call::AllToAll { count } if n < MEET_MEMBERS => Some((count, (n - 1).max(1))),
        Call::AllToAll { count } => Some((count, n)),
        Call::ReduceScatter { counts } => Some((counts.iter().copied().max().unwrap_or(0), folded_parts)),
        Call::ReduceScatterBlock { count } => Some((count, folded_parts)),
        Call::AllGatherV { parts } => Some((parts.counts.iter().copied().max().unwrap_or(0) * scale, 1)),
        _ => None,
    }
}

impl Plan<'_> {
    /// The plan with windows of a whole share of a row, for members that meet. The third cache has
    /// so many bytes.
    pub(super) fn in_shares(self, third_cache: usize) -> Self {
        self.in_windows_of(share(self.n), third_cache)
    }

    /// The same for a share of so many bytes.
    pub(super) fn in_windows_of(self, share: usize, third_cache: usize) -> Self {
        let Some((count, parts)) = parts(&self.call, self.n, self.scale) else { return self };
        let most = share / self.element / parts;
        if most <= self.window {
            return self;
        }
        let window = count.min(most);
        Self {
            window,
            width: window * parts,
            windows: count.div_ceil(window),
            ..self.past_caches(third_cache)
        }
    }

    /// If all members of an allgather together get more than the third cache has room for, that
    /// bypasses the caches: it would not stay there, and what is overwritten would be loaded first.
    /// Less is quicker through the cache, because all members read the same. Reductions fold what
    /// they have taken, and gain nothing.
    fn past_caches(self, third_cache: usize) -> Self {
        match self.call {
            Call::AllGather { count } => Self { past: count * self.n * self.n >= third_cache, ..self },
            _ => self,
        }
    }
}
