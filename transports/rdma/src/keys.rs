//! Keys, by which peers name registered memory.
//!
//! A provider says how it names memory (`FI_MR_VIRT_ADDR`, `FI_MR_PROV_KEY`). A peer is told one
//! number, the key, and addresses as this task sees them. Where a provider wants offsets into a
//! region instead, the key tells where the region begins: we choose it, and put the address into
//! it.

/// Bits of a key of ours that tell regions with the same first address apart.
const NUMBER: u32 = 16;

/// How a provider names memory of peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// By addresses as the owner sees them.
    Addresses,
    /// By offsets into the region, whose first address is in the key.
    Offsets,
}

impl Naming {
    /// What the provider is to be told for an address in the region of a key.
    pub(crate) fn place(self, addr: u64, key: u64) -> u64 {
        match self {
            Self::Addresses => addr,
            Self::Offsets => addr.wrapping_sub(key >> NUMBER),
        }
    }
}

/// Chooses keys, where the provider leaves that to us.
pub(crate) struct Keys {
    /// Bytes of a key.
    size: usize,
    next: u64,
}

impl Keys {
    /// `seed`: a random number, so that keys of an earlier life mostly name nothing.
    pub(crate) fn new(size: usize, seed: u64) -> Self {
        Self { size, next: seed }
    }

    /// A key for a region. The next one differs.
    pub(crate) fn key(&mut self, base: u64) -> u64 {
        self.next = self.next.wrapping_add(1);
        if self.size < 8 {
            // Small numbers name messages' buffers.
            let most = (1u64 << (8 * self.size)) - 1;
            return 16 + self.next % (most - 16).max(1);
        }
        base << NUMBER | self.next & ((1 << NUMBER) - 1)
    }
}

/// How one key names a region on several rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// Keys are ours, and the same on all rails.
    Same,
    /// Keys are the provider's and short: that of the first rail, and above it that of the second.
    Halves,
    /// Keys are the provider's and long: that of the first rail.
    First,
}

impl Joint {
    /// `owned`: the provider chooses keys, of `size` bytes.
    pub(crate) fn of(owned: bool, size: usize) -> Self {
        match (owned, size) {
            (false, _) => Self::Same,
            (true, ..=4) => Self::Halves,
            (true, _) => Self::First,
        }
    }

    /// How many of so many rails reach registered memory.
    pub(crate) fn rails(self, rails: usize) -> usize {
        match self {
            Self::Same => rails,
            Self::Halves => rails.min(2),
            Self::First => rails.min(1),
        }
    }

    /// The key on one of the owner's rails.
    pub(crate) fn on(self, rail: usize, key: u64) -> u64 {
        match (self, rail) {
            (Self::Same | Self::First, _) => key,
            (Self::Halves, 0) => key & 0xffff_ffff,
            (Self::Halves, _) => key >> 32,
        }
    }

    /// One key of those on all rails.
    pub(crate) fn join(self, keys: impl Iterator<Item = u64>) -> u64 {
        match self {
            Self::Same | Self::First => keys.take(1).sum(),
            Self::Halves => keys.enumerate().fold(0, |all, (rail, key)| all | key << (32 * rail)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_ours_tells_where_its_region_begins() {
        let base = 0x7fff_ffff_f000;
        let mut keys = Keys::new(8, u64::MAX);
        let (one, other) = (keys.key(base), keys.key(base));
        assert_ne!(one, other);
        for key in [one, other] {
            assert_eq!(Naming::Offsets.place(base + 17, key), 17);
            assert_eq!(Naming::Addresses.place(base + 17, key), base + 17);
        }
    }

    #[test]
    fn one_key_names_a_region_on_as_many_rails_as_its_form_has_room_for() {
        let keys = [7, 0xffff_fff0];
        for (owned, size, rails) in [(false, 8, 8), (true, 4, 2), (true, 8, 1)] {
            let joint = Joint::of(owned, size);
            assert_eq!(joint.rails(8), rails);
            let told = if owned { &keys[..rails] } else { &[7, 7] };
            let key = joint.join(told.iter().copied());
            for (rail, expected) in told.iter().enumerate() {
                assert_eq!(joint.on(rail, key), *expected, "{joint:?}");
            }
        }
    }

    #[test]
    fn short_keys_fit_and_leave_out_those_of_messages() {
        let mut keys = Keys::new(2, 0);
        for _ in 0..70_000 {
            assert!((16..1 << 16).contains(&keys.key(u64::MAX)));
        }
    }
}
