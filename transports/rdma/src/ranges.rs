//! Which of many ranges hold a given one, without a walk over all of them.
//!
//! Ranges may overlap. They are kept apart by the power of two below their length: one of up to
//! 2 n bytes that holds an address begins at most 2 n before it, and of ranges of at least n bytes
//! that do not overlap, no more than three begin there.

use std::collections::{BTreeMap, BTreeSet};

/// Ranges by number. See the module.
#[derive(Default)]
pub(crate) struct Ranges {
    /// Address and number of each, by the logarithm of its length.
    classes: BTreeMap<u32, BTreeSet<(u64, u64)>>,
}

impl Ranges {
    /// Adds `len` bytes at `base`, which are not none, as number `id`.
    pub(crate) fn insert(&mut self, base: u64, len: u64, id: u64) {
        self.classes.entry(class(len)).or_default().insert((base, id));
    }

    /// Takes one out that was added with the same arguments.
    pub(crate) fn remove(&mut self, base: u64, len: u64, id: u64) {
        if let Some(those) = self.classes.get_mut(&class(len)) {
            those.remove(&(base, id));
            if those.is_empty() {
                self.classes.remove(&class(len));
            }
        }
    }

    /// The numbers of all that hold `len` bytes at `base`, and of a few that don't.
    pub(crate) fn around(&self, base: u64, len: u64) -> impl Iterator<Item = u64> {
        let end = base.saturating_add(len);
        self.classes.range(class(len)..).flat_map(move |(class, those)| {
            let longest = (2_u64 << class).wrapping_sub(1);
            let first = end.saturating_sub(longest).min(base);
            those.range((first, 0)..=(base, u64::MAX)).map(|&(_, id)| id)
        })
    }
}

fn class(len: u64) -> u32 {
    len.checked_ilog2().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A way to find them that can't be wrong.
    fn holding(ranges: &[(u64, u64)], base: u64, len: u64) -> Vec<u64> {
        let holds = |(at, size): (u64, u64)| at <= base && base + len <= at + size;
        (0..).zip(ranges).filter(|(_, range)| holds(**range)).map(|(id, _)| id).collect()
    }

    #[test]
    fn all_that_hold_a_range_are_found() {
        let all: Vec<_> = (1..24).flat_map(|len| (0..40).map(move |base| (base, len))).collect();
        let mut ranges = Ranges::default();
        for (id, &(base, len)) in (0..).zip(&all) {
            ranges.insert(base, len, id);
        }
        for (base, len) in (0..64).flat_map(|base| (0..26).map(move |len| (base, len))) {
            let found: BTreeSet<_> = ranges.around(base, len).collect();
            assert!(holding(&all, base, len).iter().all(|id| found.contains(id)), "{len} at {base}");
        }
        for (id, &(base, len)) in (0..).zip(&all) {
            ranges.remove(base, len, id);
        }
        assert_eq!(ranges.around(10, 1).count(), 0);
        assert!(ranges.classes.is_empty());
    }

    #[test]
    fn the_whole_address_space_is_a_range() {
        let mut ranges = Ranges::default();
        ranges.insert(1, u64::MAX - 1, 7);
        assert_eq!(ranges.around(u64::MAX - 1, 1).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn few_of_very_many_are_looked_at() {
        let mut ranges = Ranges::default();
        for id in 0..100_000 {
            // Of three lengths, with gaps.
            ranges.insert(id << 20, 4096 << (id % 3 * 4), id);
        }
        for id in (0..100_000).step_by(997) {
            let inside: Vec<_> = ranges.around((id << 20) + 4000, 96).collect();
            assert!(inside.contains(&id) && inside.len() <= 9, "{inside:?} around {id}");
            let between: Vec<_> = ranges.around((id << 20) + (2 << 20) - 8, 8).collect();
            assert!(between.len() <= 9, "{between:?} behind {id}");
        }
    }
}
