//! Global addresses: rank, colour and position in 64 bits.
//!
//! The upper bits hold the rank plus one, so that no address is 0 and none has all bits set; how
//! many they are follows from the number of processes. The others are a position, whose upper bits
//! are the colour where there are several. Positions from 0 on are a process's block, which lasts
//! as long as the process: the starter memory, then the heap of acp_malloc. Registered memory gets
//! positions of its colour, behind the block, which are not given out again before all others of
//! the colour have been, so that an address whose memory was unregistered finds nothing.

/// The most colours that there can be.
pub(crate) const MOST_COLOURS: u32 = 8;

/// Positions that a colour has at least, if there are several.
const ROOM: u64 = 1 << 40;

/// How a job's addresses are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    shift: u32,
    colour_shift: u32,
    colours: u32,
}

impl Space {
    /// For so many processes, and at least one colour.
    pub(crate) fn of(processes: u32, colours: u32) -> Self {
        Self::divided(64 - (32 - (processes + 1).leading_zeros()), colours)
    }

    pub(crate) fn divided(shift: u32, colours: u32) -> Self {
        Self { shift, colour_shift: shift - (32 - (colours - 1).leading_zeros()), colours }
    }

    /// The most colours for which addresses have room, where a process has a block of `len` bytes.
    pub(crate) fn most_colours(processes: u32, len: u64) -> u32 {
        let fits = |colours: &u32| {
            let span = 1 << Self::of(processes, *colours).colour_shift;
            span >= ROOM && span / 2 >= len
        };
        (1..=MOST_COLOURS).rev().find(fits).unwrap_or(1)
    }

    pub(crate) fn colours(self) -> u32 {
        self.colours
    }

    /// The positions of a colour.
    pub(crate) fn positions(self, colour: u32) -> std::ops::Range<u64> {
        u64::from(colour) << self.colour_shift..u64::from(colour + 1) << self.colour_shift
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
        address & ((1 << self.shift) - 1)
    }

    /// The colour, which may be one that there is not.
    pub(crate) fn colour(self, address: u64) -> u32 {
        (self.position(address) >> self.colour_shift) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_apart_as_they_were_put_together() {
        for processes in [1, 2, 3, 4, 7, 8, 1000, 1 << 20, (1 << 20) + 1] {
            for colours in [1, 2, 3, 8] {
                let space = Space::of(processes, colours);
                for (rank, colour) in
                    [0, processes / 2, processes - 1].iter().flat_map(|r| (0..colours).map(|c| (*r, c)))
                {
                    let positions = space.positions(colour);
                    for position in
                        [positions.start, positions.start + 1, positions.start + 4096, positions.end - 1]
                    {
                        let address = space.address(rank, position);
                        assert_ne!(address, 0);
                        assert_eq!(
                            space.rank(address),
                            u64::from(rank),
                            "{processes} {colours} {rank} {position}"
                        );
                        assert_eq!((space.position(address), space.colour(address)), (position, colour));
                    }
                }
            }
        }
    }

    #[test]
    fn the_null_address_has_no_rank_nor_has_the_last_one() {
        assert_eq!(Space::of(5, 1).rank(0), u64::MAX);
        assert_eq!(Space::of(5, 1).rank(77), u64::MAX);
        for processes in 1..100 {
            assert!(Space::of(processes, 2).rank(u64::MAX) >= u64::from(processes));
        }
    }

    #[test]
    fn there_are_as_many_colours_as_blocks_and_ranks_leave_room_for() {
        assert_eq!(Space::most_colours(2, 1 << 30), MOST_COLOURS);
        assert_eq!(Space::most_colours(1 << 20, 1 << 30), MOST_COLOURS);
        assert_eq!(Space::most_colours(1 << 22, 1 << 30), 2);
        assert_eq!(Space::most_colours(1 << 30, 1 << 30), 1);
        assert_eq!(Space::most_colours(1 << 20, 1 << 41), 2);
        assert_eq!(Space::of(1, 1).positions(0), 0..1 << 62);
    }
}
