//! Which ways lead to a peer, and the numbers of their paths.
//!
//! The primary's paths keep their numbers; those of the standby are counted from the last number
//! down. So both tasks give a path the same number, even if one of them reaches the other over more
//! transports. Where the two meet, the primary's path has the number, except for the last number,
//! which is the standby's as long as it reaches the peer. A peer that does not have the primary
//! knows nothing of this: to it the standby's paths keep their numbers.

use crate::reliable::wire::MAX_PATHS;

/// The two transports.
pub(super) const PRIMARY: usize = 0;
pub(super) const STANDBY: usize = 1;

/// The last number, which is that of the standby's first path.
const LAST: u32 = MAX_PATHS as u32 - 1;

/// The ways to one peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    /// Which transports reach it.
    pub(super) reached: [bool; 2],
    /// It does not have the primary.
    pub(super) plain: bool,
    /// A bit for the number of each path that they have told of.
    pub(super) told: [u8; 2],
    /// The primary's paths that it says are up.
    pub(super) up: u8,
}

impl Ways {
    /// The number of a transport's path, unless it has none because there are too many.
    pub(super) fn number(&self, part: usize, path: u64) -> Option<u32> {
        let path = u32::try_from(path).ok().filter(|path| *path <= LAST)?;
        let other = |number: u32| self.told[1 - part] >> number & 1 == 1;
        if part == STANDBY && self.plain {
            return Some(path);
        }
        if part == STANDBY {
            let number = LAST - path;
            return (path == 0 || !other(number)).then_some(number);
        }
        let taken = if path == LAST { self.reached[STANDBY] } else { other(path) };
        (!taken).then_some(path)
    }

    /// The transport that a path with this number belongs to, and its own number there.
    #[inline]
    pub(super) fn path(&self, number: u32) -> (usize, u32) {
        if number <= LAST && self.told[STANDBY] >> number & 1 == 1 {
            (STANDBY, if self.plain { number } else { LAST - number })
        } else {
            (PRIMARY, number)
        }
    }

    /// Notes what a transport has told of a path.
    pub(super) fn tell(&mut self, part: usize, number: u32, up: bool) {
        self.told[part] |= 1 << number;
        if part == PRIMARY {
            self.up = self.up & !(1 << number) | u8::from(up) << number;
        }
    }

    /// Whether the primary must leave the peer to the standby's datagrams.
    #[inline]
    pub(super) fn leaves(&self) -> bool {
        self.reached[STANDBY] && self.up == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(reached: [bool; 2], told: [u8; 2]) -> Ways {
        Ways { reached, told, ..Ways::default() }
    }

    #[test]
    fn the_standbys_paths_are_numbered_from_the_last_one_down() {
        let mut ways = reached([true, true], [0, 0]);
        for (part, path, number) in [(PRIMARY, 0, 0), (PRIMARY, 1, 1), (STANDBY, 0, 7), (STANDBY, 1, 6)] {
            assert_eq!(ways.number(part, path), Some(number));
            ways.tell(part, number, true);
            assert_eq!(ways.path(number), (part, path as u32));
        }
        assert_eq!(ways.number(STANDBY, 8), None);
        assert_eq!(ways.number(PRIMARY, u64::MAX), None);
    }

    #[test]
    fn where_eight_are_too_few_the_standby_keeps_one() {
        let full = reached([true, true], [0x7f, 0x80]);
        assert_eq!(full.number(PRIMARY, 7), None);
        assert_eq!(full.number(STANDBY, 0), Some(7));
        assert_eq!(full.number(STANDBY, 1), None);
        assert_eq!(reached([true, false], [0x7f, 0]).number(PRIMARY, 7), Some(7), "nothing stands by");
        assert_eq!(reached([false, true], [0, 0]).number(STANDBY, 7), Some(0));
    }

    #[test]
    fn to_a_peer_without_the_primary_the_standbys_paths_keep_their_numbers() {
        let mut ways = Ways { plain: true, ..reached([false, true], [0, 0]) };
        for path in 0..8 {
            assert_eq!(ways.number(STANDBY, u64::from(path)), Some(path));
            ways.tell(STANDBY, path, true);
            assert_eq!(ways.path(path), (STANDBY, path));
        }
    }

    #[test]
    fn a_peer_is_left_to_the_standby_when_no_path_of_the_primary_is_up() {
        let mut ways = reached([true, true], [0, 0]);
        assert!(ways.leaves());
        ways.tell(PRIMARY, 1, true);
        assert!(!ways.leaves());
        ways.tell(PRIMARY, 1, false);
        assert!(ways.leaves());
        assert!(!reached([true, false], [1, 0]).leaves());
    }
}
