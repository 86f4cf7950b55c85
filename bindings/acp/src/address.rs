//! Global addresses: rank and position in 64 bits.
//!
//! The upper bits hold the rank plus one, so that no address is 0 and none has all bits set; how
//! many they are follows from the number of processes. The others are a position. Positions from 0
//! on are a process's block, which lasts as long as the process: the starter memory, then the heap
//! of acp_malloc. Registered memory gets positions behind it, which are not given out again before
//! all others have been, so that an address whose memory was unregistered finds nothing.

/// How a job's addresses are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    shift: u32,
}

impl Space {
    pub(crate) fn of(processes: u32) -> Self {
        Self { shift: 64 - (32 - (processes + 1).leading_zeros()) }
    }

    /// Positions are below this.
    pub(crate) fn end(self) -> u64 {
        1 << self.shift
    }

    #[inline(always)]
    pub(crate) fn address(self, rank: u32, position: u64) -> u64 {
        (u64::from(rank) + 1) << self.shift | position
    }

    /// The rank, which may be one that no process has; `u64::MAX` for the null address.
    #[inline(always)]
    pub(crate) fn rank(self, address: u64) -> u64 {
        (address >> self.shift).wrapping_sub(1)
    }

    #[inline(always)]
    pub(crate) fn position(self, address: u64) -> u64 {
        address & (self.end() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_apart_as_they_were_put_together() {
        for processes in [1, 2, 3, 4, 7, 8, 1000, 1 << 20, (1 << 20) + 1] {
            let space = Space::of(processes);
            for rank in [0, processes / 2, processes - 1] {
                for position in [0, 1, 4096, space.end() - 1] {
                    let address = space.address(rank, position);
                    assert_ne!(address, 0);
                    assert_eq!(space.rank(address), u64::from(rank), "{processes} {rank} {position}");
                    assert_eq!(space.position(address), position);
                }
            }
        }
    }

    #[test]
    fn the_null_address_has_no_rank_nor_has_the_last_one() {
        assert_eq!(Space::of(5).rank(0), u64::MAX);
        assert_eq!(Space::of(5).rank(77), u64::MAX);
        for processes in 1..100 {
            assert!(Space::of(processes).rank(u64::MAX) >= u64::from(processes));
        }
    }
}
