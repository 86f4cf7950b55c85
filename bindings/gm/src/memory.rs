//! Memory of the program: what it has registered, and where it lies.

use std::collections::BTreeMap;

/// A range that was registered.
#[derive(Clone, Copy, Debug)]
struct Region {
    len: u64,
    /// What takes an address that others use to the memory's own; modulo 2^64, mostly 0.
    shift: u64,
    /// How often it was registered.
    count: u32,
}

/// Registered ranges.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    /// By the address of their first byte that others use.
    by_start: BTreeMap<u64, Vec<Region>>,
    /// None is longer: what begins further away than this does not reach an address.
    longest: u64,
}

impl Regions {
    /// Adds a range. False: it wraps around.
    pub(crate) fn add(&mut self, at: u64, len: u64) -> bool {
        self.add_as(at, at, len)
    }

    /// Adds the range at `own`, which others reach at the address `at`. False: it wraps around.
    pub(crate) fn add_as(&mut self, own: u64, at: u64, len: u64) -> bool {
        if at.checked_add(len).is_none() || own.checked_add(len).is_none() {
            return false;
        }
        let shift = own.wrapping_sub(at);
        let here = self.by_start.entry(at).or_default();
        match here.iter_mut().find(|region| region.len == len && region.shift == shift) {
            Some(region) => region.count += 1,
            None => here.push(Region { len, shift, count: 1 }),
        }
        self.longest = self.longest.max(len);
        true
    }

    /// Takes the range that others reach at `at` out again. False: it was not there.
    pub(crate) fn remove(&mut self, at: u64, len: u64) -> bool {
        let Some(here) = self.by_start.get_mut(&at) else { return false };
        let Some(index) = here.iter().position(|region| region.len == len) else { return false };
        here[index].count -= 1;
        if here[index].count == 0 {
            here.swap_remove(index);
        }
        if here.is_empty() {
            self.by_start.remove(&at);
        }
        if self.by_start.is_empty() {
            self.longest = 0;
        }
        true
    }

    /// Where the memory lies that others reach at `at`, if all of it is registered: in one piece,
    /// or in pieces that follow each other here as they do there.
    pub(crate) fn find(&self, at: u64, len: u64) -> Option<u64> {
        let end = at.checked_add(len)?;
        if len == 0 {
            return Some(at);
        }
        let mut shifts = self.covering(at).map(|(_, region)| region.shift);
        shifts.find(|shift| self.reaches(at, end, *shift)).map(|shift| at.wrapping_add(shift))
    }

    /// Regions that may reach an address, with their first addresses: the nearest ones first.
    fn near(&self, at: u64) -> impl Iterator<Item = (u64, &Region)> {
        let before = self.by_start.range(at.saturating_sub(self.longest)..=at).rev();
        before.flat_map(|(start, here)| here.iter().map(move |region| (*start, region)))
    }

    /// Regions that the byte at an address belongs to, with their first addresses.
    fn covering(&self, at: u64) -> impl Iterator<Item = (u64, &Region)> {
        self.near(at).filter(move |(start, region)| at - start < region.len)
    }

    fn reaches(&self, at: u64, end: u64, shift: u64) -> bool {
        let mut reached = at;
        while reached < end {
            // Mostly the first one goes far enough, and the others need not be looked at.
            let mut furthest = reached;
            for (start, region) in self.covering(reached).filter(|(_, region)| region.shift == shift) {
                furthest = furthest.max(start + region.len);
                if furthest >= end {
                    return true;
                }
            }
            if furthest == reached {
                return false;
            }
            reached = furthest;
        }
        true
    }
}

/// Memory of the program.
///
/// # Safety
/// So many bytes can be read there for the time of the result, or none.
pub(crate) unsafe fn memory<'a>(at: u64, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: so many bytes can be read there for the time of the result, as this asks for.
    unsafe { std::slice::from_raw_parts(place(at), len) }
}

/// Where the program's memory begins.
pub(crate) fn place(at: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(at as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_there_if_all_of_it_was_registered() {
        let mut regions = Regions::default();
        let has = |regions: &Regions, at, len| regions.find(at, len).is_some();
        assert!(regions.add(100, 50) && regions.add(150, 10) && regions.add(120, 5));
        assert_eq!(regions.find(100, 60), Some(100));
        assert!(has(&regions, 121, 30) && !has(&regions, 99, 2));
        assert!(!has(&regions, 100, 61) && !has(&regions, 159, 2) && has(&regions, 159, 1));
        assert!(!has(&regions, u64::MAX, 2) && !regions.add(u64::MAX, 2));
        assert!(regions.remove(150, 10) && !regions.remove(150, 10) && !has(&regions, 100, 60));
        assert_eq!(regions.find(7, 0), Some(7));
    }

    #[test]
    fn what_was_registered_twice_is_there_until_it_was_taken_out_twice() {
        let mut regions = Regions::default();
        assert!(regions.add(8, 8) && regions.add(8, 8) && regions.remove(8, 8));
        assert!(regions.find(8, 8).is_some() && !regions.remove(8, 9) && regions.remove(8, 8));
        assert!(regions.find(8, 8).is_none() && !regions.remove(8, 8));
    }

    #[test]
    fn others_may_know_memory_by_another_address() {
        let mut regions = Regions::default();
        assert!(regions.add_as(5000, 100, 50) && regions.add_as(5050, 150, 10));
        assert_eq!(regions.find(120, 40), Some(5020));
        assert_eq!(regions.find(5020, 1), None);
        // Pieces that follow each other there, and not here, are no piece.
        assert!(regions.add_as(9000, 160, 10));
        assert_eq!((regions.find(155, 10), regions.find(160, 10)), (None, Some(9000)));
        // One address of others may stand for two places: what is asked for decides, and of those
        // that have all of it the one that begins nearest.
        assert!(regions.add_as(20, 110, 10));
        assert_eq!((regions.find(110, 5), regions.find(110, 30)), (Some(20), Some(5010)));
        assert!(!regions.add_as(u64::MAX, 0, 2) && regions.remove(100, 50));
        assert_eq!(regions.find(100, 5), None);
    }

    #[test]
    fn of_many_blocks_only_those_nearby_are_looked_at() {
        const BLOCK: u64 = 64;
        let mut regions = Regions::default();
        (1..=20_000).for_each(|block| assert!(regions.add(2 * BLOCK * block, BLOCK)));
        let last = 2 * BLOCK * 20_000;
        assert_eq!(regions.find(last + 8, 8), Some(last + 8));
        assert_eq!(regions.find(last - BLOCK, 8), None);
        assert!(regions.near(last + 8).count() <= 2);
        // One that reaches over others is found behind them.
        assert!(regions.add(BLOCK, 10 * BLOCK));
        assert_eq!(regions.find(7 * BLOCK, 2 * BLOCK), Some(7 * BLOCK));
        assert!(regions.near(last + 8).count() < 10);
        assert!(regions.remove(BLOCK, 10 * BLOCK));
        assert_eq!(regions.find(7 * BLOCK, BLOCK), None);
        (1..=20_000).for_each(|block| assert!(regions.remove(2 * BLOCK * block, BLOCK)));
        assert_eq!((regions.find(last, 1), regions.longest), (None, 0));
    }
}
