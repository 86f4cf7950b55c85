//! A sliding set of sequence numbers that have been seen: packet numbers of a path, or units of a
//! channel.

/// What a [`Window`] knows of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Not seen yet.
    New,
    /// Seen, or so old that it counts as seen.
    Old,
    /// Too far ahead to be remembered.
    Beyond,
}

/// Everything below `base` is seen; above it, a bitmap that grows with the gaps it has to describe.
#[derive(Debug, Default)]
pub(super) struct Window {
    base: u64,
    /// One more than the highest number seen.
    end: u64,
    /// Ring of words by `number / 64`; the bits outside `base..end` are zero.
    words: Vec<u64>,
    limit: u64,
}

impl Window {
    /// A window that remembers numbers up to `limit` above its base.
    pub(super) fn new(limit: u64) -> Self {
        Self { base: 0, end: 0, words: Vec::new(), limit }
    }

    /// The lowest number not seen.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// One more than the highest number seen, or the base.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of heap.
    pub(super) fn heap(&self) -> usize {
        self.words.capacity() * 8
    }

    #[inline]
    pub(super) fn check(&self, number: u64) -> Seen {
        if number < self.base {
            Seen::Old
        } else if number >= self.end {
            if number - self.base < self.limit { Seen::New } else { Seen::Beyond }
        } else if self.word(number >> 6) >> (number & 63) & 1 == 1 {
            Seen::Old
        } else {
            Seen::New
        }
    }

    /// Marks a number that [`check`](Self::check) called new.
    #[inline]
    pub(super) fn insert(&mut self, number: u64) {
        if number == self.base && self.end == self.base {
            self.base += 1;
            self.end += 1;
            return;
        }
        self.reserve(number);
        let at = self.at(number >> 6);
        self.words[at] |= 1 << (number & 63);
        self.end = self.end.max(number + 1);
        if number == self.base {
            self.settle();
        }
    }

    /// Counts everything below `floor` as seen.
    pub(super) fn advance_to(&mut self, floor: u64) {
        if floor <= self.base {
            return;
        }
        if floor >= self.end {
            self.words.fill(0);
            self.base = floor;
            self.end = floor;
            return;
        }
        for word in self.base >> 6..floor >> 6 {
            let at = self.at(word);
            self.words[at] = 0;
        }
        let at = self.at(floor >> 6);
        self.words[at] &= u64::MAX << (floor & 63);
        self.base = floor;
        self.settle();
    }

    /// Bits `base + 64 * index ..` of the set.
    pub(super) fn bitmap(&self, index: u64) -> u64 {
        let (word, shift) = ((self.base >> 6) + index, self.base & 63);
        let last = self.end.saturating_sub(1) >> 6;
        let low = if word <= last { self.word(word) } else { 0 };
        let high = if word < last { self.word(word + 1) } else { 0 };
        if shift == 0 { low } else { low >> shift | high << (64 - shift) }
    }

    fn word(&self, word: u64) -> u64 {
        if self.words.is_empty() { 0 } else { self.words[self.at(word)] }
    }

    fn at(&self, word: u64) -> usize {
        word as usize & (self.words.len() - 1)
    }

    fn settle(&mut self) {
        loop {
            let shift = self.base & 63;
            let at = self.at(self.base >> 6);
            let run = (self.words[at] >> shift).trailing_ones();
            if run == 0 {
                return;
            }
            self.words[at] &= !((u64::MAX >> (64 - run)) << shift);
            self.base += u64::from(run);
            if self.base & 63 != 0 {
                return;
            }
        }
    }

    fn reserve(&mut self, number: u64) {
        let needed = ((number >> 6) - (self.base >> 6) + 1) as usize;
        if needed <= self.words.len() {
            return;
        }
        let mut grown = vec![0; needed.next_power_of_two()];
        if self.end > self.base {
            let mask = grown.len() - 1;
            for word in self.base >> 6..=(self.end - 1) >> 6 {
                grown[word as usize & mask] = self.word(word);
            }
        }
        self.words = grown;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn agrees_with_a_set() {
        let mut state = 1u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..50 {
            let limit = 64 + random(500);
            let mut window = Window::new(limit);
            let mut set = BTreeSet::new();
            let mut floor = 0;
            for _ in 0..3000 {
                let number = window.base() + random(limit + 20);
                let number = number.saturating_sub(random(10));
                let expected = if number < floor || set.contains(&number) {
                    Seen::Old
                } else if number - window.base() >= limit {
                    Seen::Beyond
                } else {
                    Seen::New
                };
                assert_eq!(window.check(number), expected);
                if expected == Seen::New {
                    window.insert(number);
                    set.insert(number);
                }
                if random(40) == 0 {
                    floor = floor.max(window.base() + random(limit));
                    window.advance_to(floor);
                }
                while set.contains(&floor) {
                    floor += 1;
                }
                assert_eq!(window.base(), floor);
                let end = set.last().map_or(0, |last| last + 1).max(floor);
                assert_eq!(window.end(), end);
                for bit in 0..limit + 70 {
                    let there = window.bitmap(bit / 64) >> (bit % 64) & 1 == 1;
                    assert_eq!(there, set.contains(&(floor + bit)), "bit {bit} of {floor}");
                }
            }
        }
    }
}
