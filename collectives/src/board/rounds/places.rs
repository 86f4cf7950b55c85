//! Where members put the data of a round, and how many such places each uses in turns.

/// Areas of each member at least.
pub(super) const LEAST_AREAS: usize = 4;

/// Areas of all members together, if none has fewer than the least or more than [`LINES`].
const ALL_AREAS: usize = 128;

/// Areas of each of `n` members: a power of two. What was written just now is in the writer's
/// second cache, and what was read in the reader's, from where lines come and go at a third of the
/// speed of a cache that both share. An area that is used again when it has left both is fast.
pub(crate) fn areas(n: usize) -> usize {
    (ALL_AREAS / n.next_power_of_two()).clamp(LEAST_AREAS, LINES)
}

/// Lines of each member, with flags and short data: so far a root of short data may run ahead,
/// which saves switches of tasks where they outnumber cores.
pub(crate) const LINES: usize = 32;

/// Most bytes of each member in a row. Parts that come from one mapping come in half the time that
/// they take from as many areas.
const SHARE: usize = 64 << 10;

/// Bytes of a row beyond which members have less each, but no less than a page.
const ROW: usize = 8 << 20;

/// Bytes of each member in a row of a team of `n`.
pub(crate) fn share(n: usize) -> usize {
    (ROW / (n + 1) / 64 * 64).clamp(4 << 10, SHARE)
}

/// Data of a line, and of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Behind the flag: so many bytes at most.
    Line(usize),
    /// In the team's row, with so many bytes of each member.
    Row(usize),
    /// In the member's area, of which it uses so many bytes at most.
    Area(usize),
}

impl Spot {
    /// How many places of its kind a member with so many areas uses in turns, if that is what it
    /// waits for. Rows know by themselves when they are free; the flag stands in a line then, too.
    #[inline(always)]
    pub(crate) fn places(self, areas: usize) -> usize {
        if matches!(self, Self::Area(_)) { areas } else { LINES }
    }
}
