//! Registered memory of this process, by position.

use crate::address::Space;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

/// Positions of two regions are at least this far apart, and an address within a page stays what it
/// is: alignment of a position is alignment of the memory.
const PAGE: u64 = 4096;

/// Registered memory. Whoever works with it keeps the `Arc`: unregistering waits for that.
#[derive(Debug)]
pub(crate) struct Region {
    position: u64,
    base: usize,
    len: u64,
}

// Not `Copy`: clones of the `Arc` are counted.
impl Region {
    /// Where `len` bytes at a position are, if they lie within.
    fn at(&self, position: u64, len: u64) -> Option<usize> {
        let offset = position.checked_sub(self.position)?;
        (offset <= self.len && len <= self.len - offset).then_some(self.base + offset as usize)
    }
}

/// The positions of a colour, from `first` on, below `end`.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: u64,
    end: u64,
    /// Where the next region is looked for.
    next: u64,
}

impl Range {
    fn new(from: u64, end: u64) -> Self {
        let first = from.next_multiple_of(PAGE) + PAGE;
        Self { first, end, next: first }
    }
}

/// All registered memory of this process.
#[derive(Debug)]
pub(crate) struct Regions {
    ranges: Vec<Range>,
    by_position: BTreeMap<u64, Arc<Region>>,
}

impl Regions {
    /// Positions behind a block of `len` bytes.
    pub(crate) fn new(len: u64, space: Space) -> Self {
        let range = |colour| {
            let positions = space.positions(colour);
            Range::new(positions.start.max(len), positions.end)
        };
        Self { ranges: (0..space.colours()).map(range).collect(), by_position: BTreeMap::new() }
    }

    /// Registers memory for accesses of a colour; gives its position, which is its key.
    pub(crate) fn register(&mut self, base: usize, len: u64, colour: u32) -> Result<u64> {
        let range = *self.ranges.get(colour as usize).ok_or(Error::Color)?;
        if len == 0 || (base as u64).checked_add(len).is_none() {
            return Err(Error::Size);
        }
        let within = base as u64 % PAGE;
        let span = (within + len).next_multiple_of(PAGE) + PAGE;
        let gap = |from| self.gap(from, span, range.end);
        let start = gap(range.next).or_else(|| gap(range.first)).ok_or(Error::Memory)?;
        self.ranges[colour as usize].next = start + span;
        let position = start + within;
        self.by_position.insert(position, Arc::new(Region { position, base, len }));
        Ok(position)
    }

    /// The first free span from `from` on, below `end`.
    fn gap(&self, from: u64, span: u64, end: u64) -> Option<u64> {
        let before = self.by_position.range(..from).next_back().map_or(from, |(_, region)| after(region));
        let mut start = from.max(before);
        for region in self.by_position.range(from..).map(|(_, region)| region) {
            if start.checked_add(span)? <= region.position / PAGE * PAGE {
                break;
            }
            start = after(region);
        }
        (start.checked_add(span)? <= end).then_some(start)
    }

    /// The region behind a key.
    pub(crate) fn of_key(&self, key: u64) -> Result<&Arc<Region>> {
        self.by_position.get(&key).ok_or(Error::Key)
    }

    /// Takes a region out: nothing finds it any more.
    pub(crate) fn unregister(&mut self, key: u64) -> Result<Arc<Region>> {
        self.by_position.remove(&key).ok_or(Error::Key)
    }

    /// Where memory is, with the region that has to be kept meanwhile.
    pub(crate) fn find(&self, position: u64, len: u64) -> Result<(usize, Arc<Region>)> {
        let upto = self.by_position.range((Unbounded, Excluded(position.saturating_add(1))));
        let region = upto.map(|(_, region)| region).next_back().ok_or(Error::Address)?;
        let at = region.at(position, len).ok_or(Error::Address)?;
        Ok((at, Arc::clone(region)))
    }

    /// The position of memory in the region of a key.
    pub(crate) fn position(&self, key: u64, address: usize) -> Result<u64> {
        let region = self.of_key(key)?;
        let offset = address.checked_sub(region.base).map(|offset| offset as u64);
        let offset = offset.filter(|offset| *offset < region.len).ok_or(Error::Address)?;
        Ok(region.position + offset)
    }

    /// Forgets everything; positions that were given out stay unused as long as there are others.
    pub(crate) fn clear(&mut self) -> Vec<Arc<Region>> {
        std::mem::take(&mut self.by_position).into_values().collect()
    }
}

/// Where the next region may begin.
fn after(region: &Region) -> u64 {
    (region.position + region.len).next_multiple_of(PAGE) + PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions() -> Regions {
        Regions::new(10_000, Space::divided(20, 1))
    }

    #[test]
    fn memory_is_found_within_its_bounds_only() {
        let mut regions = regions();
        let key = regions.register(0x12345, 100, 0).unwrap();
        assert_eq!(key % PAGE, 0x345);
        assert_eq!(regions.find(key, 100).unwrap().0, 0x12345);
        assert_eq!(regions.find(key + 99, 1).unwrap().0, 0x12345 + 99);
        assert_eq!(regions.find(key + 100, 0).unwrap().0, 0x12345 + 100);
        for (position, len) in [(key + 99, 2), (key + 100, 1), (key - 1, 1), (key - 1, 0), (0, 0)] {
            assert_eq!(regions.find(position, len).err(), Some(Error::Address), "{position} {len}");
        }
        assert_eq!(regions.position(key, 0x12345 + 99), Ok(key + 99));
        assert_eq!(regions.position(key, 0x12345 + 100), Err(Error::Address));
        assert_eq!(regions.position(key + 1, 0x12345), Err(Error::Key));
    }

    #[test]
    fn positions_come_again_only_when_all_others_have_been_given_out() {
        let mut regions = regions();
        let old = regions.register(0x1000, 64, 0).unwrap();
        let kept = regions.register(0x2000, 64, 0).unwrap();
        regions.unregister(old).unwrap();
        let mut given = 0;
        loop {
            let key = regions.register(0x1000, 64, 0).unwrap();
            assert_ne!(key, kept);
            regions.unregister(key).unwrap();
            if key == old {
                break;
            }
            given += 1;
        }
        assert!(given > 100, "{given} positions between");
        assert_eq!(regions.find(kept, 64).unwrap().0, 0x2000);
    }

    #[test]
    fn regions_never_overlap_whatever_comes_and_goes() {
        let mut regions = regions();
        let (mut live, mut random) = (Vec::new(), 1u64);
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pick = (random >> 33) as usize;
            if pick.is_multiple_of(2) || live.is_empty() {
                let (base, len) = (pick % 100_000, (pick % 9000 + 1) as u64);
                match regions.register(base, len, 0) {
                    Ok(key) => live.push((key, base, len)),
                    Err(error) => assert_eq!(error, Error::Memory),
                }
            } else {
                let (key, ..) = live.swap_remove(pick % live.len());
                regions.unregister(key).unwrap();
            }
            if let Some(&(key, base, len)) = live.get(pick % live.len().max(1)) {
                assert_eq!(regions.find(key, len).unwrap().0, base);
            }
        }
        let mut ends: Vec<_> = live.iter().map(|&(key, _, len)| (key, key + len)).collect();
        ends.sort_unstable();
        assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn each_colour_has_positions_of_its_own() {
        let space = Space::divided(20, 3);
        let mut regions = Regions::new(10_000, space);
        for colour in [2, 0, 1, 1, 0, 2] {
            let key = regions.register(0x1234, 5000, colour).unwrap();
            assert_eq!((space.colour(key), space.colour(key + 4999)), (colour, colour));
            assert_eq!(regions.find(key + 1, 4999).unwrap().0, 0x1235);
            assert!(key > 10_000);
        }
        assert_eq!(regions.register(0x1234, 100, 3), Err(Error::Color));
        // A colour whose positions are all taken leaves those of others alone.
        while let Ok(key) = regions.register(0x1000, 20_000, 1) {
            assert_eq!(space.colour(key), 1);
        }
        assert_eq!(space.colour(regions.register(0x1000, 20_000, 0).unwrap()), 0);
        assert_eq!(space.colour(regions.register(0x1000, 20_000, 2).unwrap()), 2);
    }

    #[test]
    fn what_has_no_size_is_refused() {
        assert_eq!(regions().register(0x1000, 0, 0), Err(Error::Size));
        assert_eq!(regions().register(usize::MAX - 10, 100, 0), Err(Error::Size));
        assert_eq!(regions().register(0x1000, 1 << 40, 0), Err(Error::Memory));
    }
}
