//! The allocator of a segment's heap. Its bookkeeping is in private memory: nothing that a peer
//! writes can corrupt it.

use std::collections::BTreeMap;

/// Every block begins on a cache line.
const GRAIN: usize = 64;

/// Free and used blocks of a heap, by offset.
pub(crate) struct Heap {
    free: BTreeMap<usize, usize>,
    used: BTreeMap<usize, usize>,
    len: usize,
}

impl Heap {
    pub(crate) fn new(len: usize) -> Self {
        Self { free: BTreeMap::from([(0, len)]), used: BTreeMap::new(), len }
    }

    /// Takes a block: the smallest free one that is long enough. Blocks of `page` or more begin on
    /// a page.
    pub(crate) fn take(&mut self, len: usize, page: usize) -> Option<usize> {
        if len > self.len {
            return None;
        }
        let len = len.max(1).next_multiple_of(GRAIN);
        let align = if len >= page { page } else { GRAIN };
        let (at, room) = self
            .free
            .iter()
            .filter(|&(&at, &room)| at.next_multiple_of(align) - at + len <= room)
            .min_by_key(|&(_, &room)| room)
            .map(|(&at, &room)| (at, room))?;
        self.free.remove(&at);
        let start = at.next_multiple_of(align);
        if start > at {
            self.free.insert(at, start - at);
        }
        if at + room > start + len {
            self.free.insert(start + len, at + room - start - len);
        }
        self.used.insert(start, len);
        Some(start)
    }

    /// Length of the used block at `at`.
    pub(crate) fn used(&self, at: usize) -> Option<usize> {
        self.used.get(&at).copied()
    }

    /// Gives a block back. Its bytes must be zero again.
    pub(crate) fn give(&mut self, at: usize) {
        let Some(mut len) = self.used.remove(&at) else { return };
        let mut at = at;
        if let Some((&before, &room)) = self.free.range(..at).next_back()
            && before + room == at
        {
            self.free.remove(&before);
            (at, len) = (before, len + room);
        }
        if let Some(room) = self.free.remove(&(at + len)) {
            len += room;
        }
        self.free.insert(at, len);
    }

    /// Bytes in all.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Longest block that is free, and bytes in use.
    pub(crate) fn state(&self) -> (usize, usize) {
        (self.free.values().copied().max().unwrap_or(0), self.used.values().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_never_overlap_and_all_come_back() {
        let mut heap = Heap::new(1 << 20);
        let mut blocks: Vec<(usize, usize)> = Vec::new();
        let mut seed = 12345u64;
        for round in 0..20_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let len = (seed >> 33) as usize % 20_000;
            if round % 3 == 2 && !blocks.is_empty() {
                let (at, _) = blocks.swap_remove((seed >> 40) as usize % blocks.len());
                heap.give(at);
            } else if let Some(at) = heap.take(len, 4096) {
                assert_eq!(at % if len >= 4096 { 4096 } else { 64 }, 0);
                assert!(at + len <= 1 << 20);
                assert!(blocks.iter().all(|&(b, l)| at + len.max(1) <= b || b + l.max(1) <= at));
                blocks.push((at, len));
            }
        }
        blocks.iter().for_each(|&(at, _)| heap.give(at));
        assert_eq!(heap.state(), (1 << 20, 0));
        assert_eq!(heap.free.len(), 1);
    }

    #[test]
    fn too_much_is_refused() {
        let mut heap = Heap::new(4096);
        assert_eq!(heap.take(usize::MAX, 4096), None);
        assert_eq!(heap.take(4097, 4096), None);
        assert_eq!(heap.take(4096, 4096), Some(0));
        assert_eq!(heap.take(0, 4096), None);
    }
}
