//! Long parts in teams whose tasks outnumber cores: a round takes half of a member's areas at once,
//! or of members that meet a whole share of a row.
//!
//! Each round costs task switches. If a member puts a part for each other one into a single area,
//! the parts of a round are short: 8 KiB among eight members. Half of all areas together have room
//! for parts of 64 KiB. The two halves are used alternately.

use super::Plan;
use crate::call::Call;
use lapis_ablation::{Optimization, without};

/// Teams of so many members that do not meet have wide rounds for parts of so many bytes. Shorter
/// parts would use the same few bytes of both halves in turns, which stay in the caches of those
/// who read them.
const WIDE_MEMBERS: usize = 4;
const WIDE_FROM: usize = 64 << 10;

/// If the members together get so many bytes and more, these bypass the caches, as those of a long
/// allgather do, but earlier: each is read by one member only.
const PAST_FROM: usize = 6 << 20;

/// Parts begin at cache lines.
const UNIT: usize = 64;

impl Plan<'_> {
    /// The plan with longer rounds, if one area is too short. Wide ones have room for `room` bytes,
    /// and the third cache has `third_cache` bytes.
    pub(crate) fn widened(self, room: usize, third_cache: usize) -> Self {
        match self.call {
            Call::AllToAll { count }
                if self.windows > 1
                    && (self.meets || self.n >= WIDE_MEMBERS && count >= WIDE_FROM)
                    && !without(Optimization::WideRounds) =>
            {
                self.wide(room)
            }
            _ if self.meets && self.windows > 1 && !without(Optimization::WideRounds) => {
                self.in_shares(third_cache)
            }
            _ => self,
        }
    }

    /// The same for parts of any length.
    pub(super) fn wide(self, room: usize) -> Self {
        let Call::AllToAll { count } = self.call else { return self };
        // None for the member itself.
        let parts = (self.n - 1).max(1);
        let most = room / parts / UNIT * UNIT;
        if most == 0 {
            return self;
        }
        let windows = count.div_ceil(most).max(1);
        let window = count.div_ceil(windows).next_multiple_of(UNIT);
        let all = count * self.n * self.n;
        Self { window, width: window * parts, windows, wide: true, past: all >= PAST_FROM, ..self }
    }

    /// Whether the rounds are wide.
    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        self.wide
    }
}
