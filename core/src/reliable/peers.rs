//! From task numbers to places in a list of peers, the engine's or its caller's.

/// An open-addressed table. Task numbers come from the job, and only members of the job can make
/// the engine look one up that matters, so one multiplication is hash enough.
#[derive(Debug, Default)]
pub struct Index {
    /// `(task, peer + 1)`; 0 marks a free slot.
    slots: Vec<(u32, u32)>,
    used: usize,
}

impl Index {
    /// Where a task is in the list.
    #[inline]
    #[must_use]
    pub fn get(&self, task: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(task) & mask;
        loop {
            match self.slots[at] {
                (_, 0) => return None,
                (found, peer) if found == task => return Some(peer - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Adds a task that is not in the table.
    pub fn insert(&mut self, task: u32, peer: u32) {
        if (self.used + 1) * 2 > self.slots.len() {
            let size = (self.slots.len() * 2).max(8);
            let old = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
            for (task, peer) in old.into_iter().filter(|&(_, peer)| peer != 0) {
                self.place(task, peer);
            }
        }
        self.place(task, peer + 1);
        self.used += 1;
    }

    /// Bytes of heap.
    pub(super) fn heap(&self) -> usize {
        self.slots.capacity() * 8
    }

    fn place(&mut self, task: u32, peer: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash(task) & mask;
        while self.slots[at].1 != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = (task, peer);
    }
}

fn hash(task: u32) -> usize {
    (task.wrapping_mul(0x9e37_79b9) >> 7) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in() {
        let mut index = Index::default();
        for n in 0..1000u32 {
            index.insert(n.wrapping_mul(0x0001_0003), n);
        }
        for n in 0..1000u32 {
            assert_eq!(index.get(n.wrapping_mul(0x0001_0003)), Some(n));
        }
        assert_eq!(index.get(5), None);
        assert_eq!(Index::default().get(0), None);
    }
}
