//! Where members put the data of a round, and how many such places each uses in rotation.

use super::MEET_MEMBERS;

/// The least number of areas per member, and the greatest.
pub(super) const LEAST_AREAS: usize = 4;
pub(super) const MOST_AREAS: usize = 32;

/// Areas of all members together, within [`LEAST_AREAS`] and [`MOST_AREAS`] per member.
const ALL_AREAS: usize = 128;

/// Areas of each of `n` members: a power of two. Recently written data is in the writer's
/// second-level cache, recently read data in the reader's. From there lines travel at a third of
/// the speed of a cache that both share. With enough areas, the data of an area has left both
/// caches when the area is used again.
pub(crate) fn areas(n: usize) -> usize {
    (ALL_AREAS / n.next_power_of_two()).clamp(LEAST_AREAS, MOST_AREAS)
}

/// Lines of each of `n` members, with flags and short data: a power of two, and no less than the
/// areas. A root or a member of a chain may run ahead by so many rounds, less one, which saves task
/// switches if tasks outnumber cores. The lines of a small team stay in the first-level caches of
/// those who read and write them: with 128, a barrier of two takes 102 ns instead of 72.
pub(crate) fn lines(n: usize) -> usize {
    if n < MEET_MEMBERS { MOST_AREAS } else { 128 }
}

/// The most bytes of each member in a row. Parts are read from one mapping in half the time that
/// they take from as many areas. With more bytes, rows leave the second-level caches. With fewer,
/// members of long calls meet more often, which costs task switches.
const SHARE: usize = 256 << 10;

/// The most bytes of a row. In larger teams members have smaller shares, but at least a page.
const ROW: usize = 8 << 20;

/// Bytes of each member in a row of a team of `n`.
pub(crate) fn share(n: usize) -> usize {
    (ROW / (n + 1) / 64 * 64).clamp(4 << 10, SHARE)
}

/// Where the data of a round is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Behind the flag: at most so many bytes.
    Line(usize),
    /// In the team's row, with so many bytes of each member.
    Row(usize),
    /// In the member's area: at most so many bytes of it.
    Area(usize),
    /// In half of the member's areas.
    Wide,
}

impl Spot {
    /// How many places of its kind a member with so many areas and lines uses in rotation. Rows are
    /// free by the rule of meetings; there the flag's line is what a member waits for.
    #[inline(always)]
    pub(crate) fn places(self, areas: usize, lines: usize) -> usize {
        match self {
            Self::Area(_) => areas,
            Self::Wide => 2,
            Self::Line(_) | Self::Row(_) => lines,
        }
    }
}

/// The area of a round, of so many. One round's area and the next one's are in different halves.
pub(crate) fn area(round: u64, count: usize) -> usize {
    let half = count / 2;
    (round as usize % 2) * half + round as usize / 2 % half
}

/// The round that all must have begun before round `round` reuses one of so many places. The last
/// wide round was `wide`, or 0: what has been put into its half of the areas, and into the other
/// half in the round before, may be overwritten when all have ended these rounds.
#[inline(always)]
pub(crate) fn needed(round: u64, places: usize, wide: u64) -> u64 {
    let least = (round + 1).saturating_sub(places as u64);
    if wide == 0 { least } else { least.max((wide + 1).min(round - 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds in areas and wide ones in any order: what a round overwrites has been read, and no
    /// round waits for members that wait for it.
    #[test]
    fn nothing_is_overwritten_before_the_round_that_used_it_has_ended() {
        let rounds = 12u64;
        for (order, count) in (0..1u32 << rounds).flat_map(|order| [4, 8, 32].map(|count| (order, count))) {
            let is_wide = |round: u64| order >> (round - 1) & 1 == 1;
            let used = |round: u64| match (is_wide(round), round as usize % 2 * (count / 2)) {
                (true, half) => half..half + count / 2,
                (false, _) => area(round, count)..area(round, count) + 1,
            };
            let mut wide = 0;
            for round in 1..=rounds {
                let waits = match is_wide(round) {
                    true => needed(round, Spot::Wide.places(count, 32), 0),
                    false => needed(round, Spot::Area(1).places(count, 32), wide),
                };
                assert!(waits < round, "round {round} of {order:b} waits for itself");
                for before in 1..round {
                    let (old, new) = (used(before), used(round));
                    let apart = old.end <= new.start || new.end <= old.start;
                    assert!(apart || waits > before, "round {round} of {order:b} overwrites {before}");
                }
                wide = if is_wide(round) { round } else { wide };
            }
        }
    }
}
