//! The bytes of a channel's units, in the order of submission.

/// A ring in which every allocation is contiguous, so that neighbours can be copied together. It
/// starts empty and doubles up to its bound.
#[derive(Debug, Default)]
pub(super) struct ByteRing {
    buffer: Vec<u8>,
    /// Where the next allocation goes.
    head: usize,
    /// Where the oldest live allocation starts.
    tail: usize,
    live: usize,
}

impl ByteRing {
    /// Bytes of heap.
    pub(super) fn heap(&self) -> usize {
        self.buffer.capacity()
    }

    /// Room for `len` contiguous bytes, if there is some without growing.
    #[inline]
    pub(super) fn alloc(&mut self, len: usize) -> Option<usize> {
        if self.live == 0 {
            self.head = 0;
            self.tail = 0;
        }
        let at = if self.head > self.tail || self.live == 0 {
            if self.buffer.len() - self.head >= len {
                self.head
            } else if self.tail >= len {
                0
            } else {
                return None;
            }
        } else if self.tail - self.head >= len {
            self.head
        } else {
            return None;
        };
        self.head = at + len;
        self.live += 1;
        Some(at)
    }

    /// Ends the life of the `count` oldest allocations; `next` is where the one after them starts,
    /// if there is one.
    #[inline]
    pub(super) fn free_oldest(&mut self, count: usize, next: Option<usize>) {
        self.live -= count;
        if let Some(next) = next {
            self.tail = next;
        }
    }

    /// Doubles the ring until `len` more bytes would fit, moving the live allocations, which
    /// `places` yields oldest first with their lengths. Returns false if that takes more than
    /// `bound` bytes.
    pub(super) fn grow<'a>(
        &mut self,
        len: usize,
        bound: usize,
        places: impl Iterator<Item = (&'a mut u32, u32)>,
    ) -> bool {
        let size = (self.buffer.len() * 2).max((self.buffer.len() + len).next_power_of_two()).max(1024);
        if size > bound.next_power_of_two() {
            return false;
        }
        let mut grown = Vec::with_capacity(size);
        for (place, len) in places {
            let start = *place as usize;
            *place = grown.len() as u32;
            grown.extend_from_slice(&self.buffer[start..start + len as usize]);
        }
        self.tail = 0;
        self.head = grown.len();
        grown.resize(size, 0);
        self.buffer = grown;
        true
    }

    #[inline]
    pub(super) fn get(&self, at: usize, len: usize) -> &[u8] {
        &self.buffer[at..at + len]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        &mut self.buffer[at..at + len]
    }
}
