//! Memory that tasks share: the regions that this task has registered, with the transports that
//! need a key, and the regions that peers have announced.
//!
//! The first transfer that would use a peer's regions asks for them; from then on the peer
//! announces every region that it registers or removes. So tasks that never put or get exchange
//! nothing, and a transfer never waits for an answer: until there is one, the data goes in packets.

use crate::transport::PeerId;
use std::collections::BTreeSet;

/// A transport's registration of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    /// Index of the link.
    pub(crate) link: usize,
    /// For the link's `mem_release`.
    pub(crate) id: u64,
    /// What peers name in their transfers.
    pub(crate) key: u64,
}

/// Memory of this task that peers may reach.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// First address.
    pub(crate) base: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// With the transports that work by keys.
    pub(crate) registrations: Vec<Registration>,
}

impl Region {
    fn holds(&self, addr: u64, len: u64) -> bool {
        addr.checked_sub(self.base).is_some_and(|offset| offset <= self.len && len <= self.len - offset)
    }
}

/// This task's regions, and who wants to hear of them.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    all: Vec<Region>,
    /// Peers that have asked.
    pub(crate) listeners: Vec<PeerId>,
    /// The program has been told that a transport can't register memory.
    pub(crate) warned: bool,
}

impl Regions {
    pub(crate) fn add(&mut self, region: Region) {
        self.all.push(region);
    }

    /// Takes out one region that is just this range.
    pub(crate) fn take(&mut self, base: u64, len: u64) -> Option<Region> {
        let at = self.all.iter().position(|r| (r.base, r.len) == (base, len))?;
        Some(self.all.swap_remove(at))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Region> {
        self.all.iter()
    }

    /// Whether a range lies in one region.
    pub(crate) fn hold(&self, addr: u64, len: u64) -> bool {
        self.all.iter().any(|region| region.holds(addr, len))
    }

    /// The key by which a link's peers reach a range that is registered already.
    pub(crate) fn key(&self, link: usize, addr: u64, len: u64) -> Option<u64> {
        let holding = self.all.iter().filter(|region| region.holds(addr, len));
        holding.flat_map(|region| &region.registrations).find(|r| r.link == link).map(|r| r.key)
    }
}

/// What a peer told of its regions: (first address, length, key).
#[derive(Debug, Default)]
pub(crate) struct PeerRegions(BTreeSet<(u64, u64, u64)>);

impl PeerRegions {
    pub(crate) fn add(&mut self, base: u64, len: u64, key: u64) {
        self.0.insert((base, len, key));
    }

    pub(crate) fn remove(&mut self, base: u64, len: u64, key: u64) {
        self.0.remove(&(base, len, key));
    }

    /// The key for a range. Regions rarely overlap: the first one looked at mostly has it.
    pub(crate) fn key(&self, addr: u64, len: u64) -> Option<u64> {
        let before = self.0.range(..=(addr, u64::MAX, u64::MAX)).rev();
        let holds = |(base, size, _): &&(u64, u64, u64)| addr - base <= *size && len <= size - (addr - base);
        before.into_iter().find(holds).map(|(_, _, key)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_finds_the_key_of_the_region_that_holds_all_of_it() {
        let mut regions = PeerRegions::default();
        regions.add(100, 50, 1);
        regions.add(120, 10, 2);
        regions.add(u64::MAX - 9, 9, 3);
        assert_eq!(regions.key(100, 50), Some(1));
        assert_eq!(regions.key(120, 5), Some(2), "the nearest one");
        assert_eq!(regions.key(120, 20), Some(1), "beyond the nearest one");
        assert_eq!(regions.key(149, 2), None);
        assert_eq!(regions.key(99, 1), None);
        assert_eq!(regions.key(u64::MAX - 5, 5), Some(3));
        assert_eq!(regions.key(u64::MAX - 5, u64::MAX), None);
        regions.remove(100, 50, 1);
        assert_eq!(regions.key(100, 1), None);
    }

    #[test]
    fn of_equal_regions_one_goes_at_a_time() {
        let region =
            |id| Region { base: 8, len: 8, registrations: vec![Registration { link: 1, id, key: id + 10 }] };
        let mut regions = Regions::default();
        regions.add(region(1));
        regions.add(region(2));
        assert_eq!(regions.key(1, 8, 8), Some(11));
        assert_eq!(regions.key(0, 8, 8), None, "another link");
        assert_eq!(regions.take(8, 8).map(|r| r.registrations[0].id), Some(1));
        assert!(regions.hold(9, 7) && !regions.hold(9, 8));
        assert_eq!(regions.key(1, 8, 8), Some(12));
        assert!(regions.take(8, 8).is_some() && regions.take(8, 8).is_none());
    }
}
