//! Memory that the program has registered.

use std::collections::BTreeMap;

/// Registered ranges, by their first byte: how long each is, and how often it was registered.
#[derive(Debug, Default)]
pub(crate) struct Regions(BTreeMap<u64, Vec<(u64, u32)>>);

impl Regions {
    /// Adds a range. False: it wraps around.
    pub(crate) fn add(&mut self, at: u64, len: u64) -> bool {
        if at.checked_add(len).is_none() {
            return false;
        }
        let here = self.0.entry(at).or_default();
        match here.iter_mut().find(|(length, _)| *length == len) {
            Some((_, count)) => *count += 1,
            None => here.push((len, 1)),
        }
        true
    }

    /// Takes a range out again. False: it was not there.
    pub(crate) fn remove(&mut self, at: u64, len: u64) -> bool {
        let Some(here) = self.0.get_mut(&at) else { return false };
        let Some(index) = here.iter().position(|(length, _)| *length == len) else { return false };
        here[index].1 -= 1;
        if here[index].1 == 0 {
            here.swap_remove(index);
        }
        if here.is_empty() {
            self.0.remove(&at);
        }
        true
    }

    /// Whether all of a range is registered, in one piece or in pieces that follow each other.
    pub(crate) fn contains(&self, at: u64, len: u64) -> bool {
        let Some(end) = at.checked_add(len) else { return false };
        let mut reached = at;
        while reached < end {
            let longest = self
                .0
                .range(..=reached)
                .flat_map(|(start, here)| here.iter().map(move |(length, _)| start + length))
                .max();
            match longest {
                Some(longest) if longest > reached => reached = longest,
                _ => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_there_if_all_of_it_was_registered() {
        let mut regions = Regions::default();
        assert!(regions.add(100, 50) && regions.add(150, 10) && regions.add(120, 5));
        assert!(regions.contains(100, 60) && regions.contains(121, 30) && !regions.contains(99, 2));
        assert!(!regions.contains(100, 61) && !regions.contains(159, 2) && regions.contains(159, 1));
        assert!(!regions.contains(u64::MAX, 2) && !regions.add(u64::MAX, 2));
        assert!(regions.remove(150, 10) && !regions.remove(150, 10) && !regions.contains(100, 60));
    }

    #[test]
    fn what_was_registered_twice_is_there_until_it_was_taken_out_twice() {
        let mut regions = Regions::default();
        assert!(regions.add(8, 8) && regions.add(8, 8) && regions.remove(8, 8));
        assert!(regions.contains(8, 8) && !regions.remove(8, 9) && regions.remove(8, 8));
        assert!(!regions.contains(8, 8) && !regions.remove(8, 8));
    }
}
