//! The memory that acp_malloc gives: best fit by size class, neighbours joined at once.
//!
//! Free blocks are recorded by offset and by size, outside of the memory itself, so that no access
//! of another process can corrupt them. Every call does a few lookups in ordered trees; none
//! iterates.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Blocks begin at multiples of this.
const ALIGN: u64 = 16;

/// A heap of so many bytes, as offsets alone.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    by_offset: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
    used: HashMap<u64, u64>,
}

/// What is taken for a size: classes are an eighth of their size apart, which lets freed blocks
/// serve others.
fn class(size: u64) -> Option<u64> {
    let size = size.max(1).checked_next_multiple_of(ALIGN)?;
    let step = (size.checked_next_power_of_two()? / 16).max(ALIGN);
    size.checked_next_multiple_of(step)
}

impl Heap {
    pub(crate) fn new(size: u64) -> Self {
        let mut heap = Self::default();
        heap.add(0, size / ALIGN * ALIGN);
        heap
    }

    fn add(&mut self, offset: u64, size: u64) {
        if size > 0 {
            self.by_offset.insert(offset, size);
            self.by_size.insert((size, offset));
        }
    }

    fn take(&mut self, offset: u64, size: u64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(size, offset));
    }

    /// Takes a block; `None`: none is long enough.
    pub(crate) fn allocate(&mut self, size: u64) -> Option<u64> {
        let size = class(size)?;
        let &(found, offset) = self.by_size.range((size, 0)..).next()?;
        self.take(offset, found);
        self.add(offset + size, found - size);
        self.used.insert(offset, size);
        Some(offset)
    }

    /// Gives a block back; false: there is none at this offset.
    pub(crate) fn free(&mut self, offset: u64) -> bool {
        let Some(size) = self.used.remove(&offset) else { return false };
        let (mut start, mut end) = (offset, offset + size);
        if let Some((&before, &len)) = self.by_offset.range(..offset).next_back()
            && before + len == offset
        {
            self.take(before, len);
            start = before;
        }
        if let Some(&len) = self.by_offset.get(&end) {
            self.take(end, len);
            end += len;
        }
        self.add(start, end - start);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_never_overlap_and_all_comes_back() {
        let size = 1 << 20;
        let mut heap = Heap::new(size);
        let (mut live, mut random) = (Vec::<(u64, u64)>::new(), 7u64);
        for round in 0..50_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
            let pick = random >> 33;
            if pick % 5 < 3 {
                let wanted = pick % 3000;
                if let Some(offset) = heap.allocate(wanted) {
                    assert!(offset % ALIGN == 0 && offset + wanted <= size);
                    live.push((offset, wanted));
                }
            } else if !live.is_empty() {
                let (offset, _) = live.swap_remove(pick as usize % live.len());
                assert!(heap.free(offset));
                assert!(!heap.free(offset), "freed twice");
            }
        }
        live.sort_unstable();
        assert!(live.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        for (offset, _) in live {
            assert!(heap.free(offset));
        }
        assert_eq!(heap.by_offset.len(), 1);
        assert_eq!(heap.allocate(size), Some(0));
    }

    /// How much of a heap serves a program that allocates and frees at random until nothing is
    /// left.
    #[test]
    fn fragmentation_stays_below_a_fifth() {
        let size = 4 << 20;
        let mut heap = Heap::new(size);
        let (mut live, mut random, mut asked) = (Vec::<(u64, u64)>::new(), 3u64, 0);
        for round in 0..200_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
            let wanted = (random >> 33) % 4000 + 1;
            while heap.by_size.range((class(wanted).unwrap(), 0)..).next().is_none() {
                assert!(round < 1000 || asked * 5 > size * 4, "{asked} of {size} bytes fill the heap");
                let (offset, len) = live.swap_remove((random >> 40) as usize % live.len());
                asked -= len;
                assert!(heap.free(offset));
            }
            live.push((heap.allocate(wanted).unwrap(), wanted));
            asked += wanted;
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut heap = Heap::new(100);
        assert_eq!(heap.allocate(97), None);
        assert_eq!(heap.allocate(u64::MAX), None);
        assert!(!heap.free(0));
        assert_eq!(heap.allocate(0), Some(0));
    }
}
