//! Registered memory of this process, by position.

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

/// All registered memory of this process.
#[derive(Debug)]
pub(crate) struct Regions {
    first: u64,
    end: u64,
    next: u64,
    by_position: BTreeMap<u64, Arc<Region>>,
}

impl Regions {
    /// Positions from `first` on, below `end`.
    pub(crate) fn new(first: u64, end: u64) -> Self {
        let first = first.next_multiple_of(PAGE) + PAGE;
        Self { first, end, next: first, by_position: BTreeMap::new() }
    }

    /// Registers memory; gives its position, which is its key.
    pub(crate) fn register(&mut self, base: usize, len: u64) -> Result<u64> {
        if len == 0 || (base as u64).checked_add(len).is_none() {
            return Err(Error::Size);
        }
        let within = base as u64 % PAGE;
        let span = (within + len).next_multiple_of(PAGE) + PAGE;
        let start = self.gap(self.next, span).or_else(|| self.gap(self.first, span)).ok_or(Error::Memory)?;
        self.next = start + span;
        let position = start + within;
        self.by_position.insert(position, Arc::new(Region { position, base, len }));
        Ok(position)
    }

    /// The first free span from `from` on.
    fn gap(&self, from: u64, span: u64) -> Option<u64> {
        let before = self.by_position.range(..from).next_back().map_or(from, |(_, region)| after(region));
        let mut start = from.max(before);
        for region in self.by_position.range(from..).map(|(_, region)| region) {
            if start.checked_add(span)? <= region.position / PAGE * PAGE {
                break;
            }
            start = after(region);
        }
        (start.checked_add(span)? <= self.end).then_some(start)
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
        Regions::new(10_000, 1 << 20)
    }

    #[test]
    fn memory_is_found_within_its_bounds_only() {
        let mut regions = regions();
        let key = regions.register(0x12345, 100).unwrap();
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
        let old = regions.register(0x1000, 64).unwrap();
        let kept = regions.register(0x2000, 64).unwrap();
        regions.unregister(old).unwrap();
        let mut given = 0;
        loop {
            let key = regions.register(0x1000, 64).unwrap();
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
                match regions.register(base, len) {
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
    fn what_has_no_size_is_refused() {
        assert_eq!(regions().register(0x1000, 0), Err(Error::Size));
        assert_eq!(regions().register(usize::MAX - 10, 100), Err(Error::Size));
        assert_eq!(regions().register(0x1000, 1 << 40), Err(Error::Memory));
    }
}
