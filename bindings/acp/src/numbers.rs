//! Maps whose keys are numbers that this library gives out: handles, requests, messages.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by numbers. No input of strangers chooses them, so a multiplication is hash enough: the
/// standard one takes as long as the rest of a short message.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Spreads numbers that follow each other over all bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

/// 2⁶⁴ by the golden ratio, which is odd: no two numbers become one.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // Tables take the lower bits, and a product's best are the upper ones.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(SPREAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn keys_of_many_channels_spread_over_a_table() {
        let hash = BuildHasherDefault::<Mix>::default();
        let mut places = HashSet::new();
        for task in 0..64u32 {
            for channel in 0..64u64 {
                for sending in [false, true] {
                    places.insert(hash.hash_one((sending, task, channel)) % (1 << 13));
                }
            }
        }
        // As many keys as places: by chance 63 of 100 places are taken.
        assert!(places.len() > 4500, "{} of 8192 places", places.len());
    }
}
