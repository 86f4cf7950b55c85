//! Both ends of a lane: a ring in memory that two tasks share, with one writer and one reader.
//!
//! How slots and data rings are laid out, and how they are written and read in place, is core's
//! ([`lapis_core::transport::lane`]). This crate has what all transports with lanes need in
//! addition: [`LaneTx`] and [`LaneRx`] take over a lane where its last user left it, check for
//! room, and check what they find; [`ring_for`] gives the length of a data ring. Providing the
//! memory, mapping it and waking sleepers is up to each transport.

#![allow(
    clippy::disallowed_types,
    reason = "the atomics come from lapis_core::sync; the lint sees through it"
)]
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod ring;

pub use ring::{Control, Corrupt, LaneRx, LaneTx};

/// Bytes of a data ring at most. A message of 256 KiB takes 26 µs one way through rings of 1 MiB,
/// 16 through 2 MiB and 10 through 4 MiB, one of 64 KiB 4.1, 3.3 and 3.0 (Zen 4 with 1 MiB of
/// second cache, two cores that share a third); 8 MiB gain no more.
pub const LONGEST_RING: usize = 4 << 20;
/// The same at least: through 512 KiB, and the more through 256 KiB, even a MiB takes twice as long
/// as through this.
pub const SHORTEST_RING: usize = 1 << 20;
/// What the rings of a task's lanes may come to together before they are made shorter.
const ALL_RINGS: usize = 32 << 20;

/// How many bytes the data rings of a task have that is one of `tasks` on its host: a power of two,
/// the smaller the more others may send to it.
pub const fn ring_for(tasks: u32) -> usize {
    let senders = if tasks > 2 { tasks as usize - 1 } else { 1 };
    let mut ring = LONGEST_RING;
    while ring > SHORTEST_RING && ring * senders > ALL_RINGS {
        ring /= 2;
    }
    ring
}

/// Whether a data ring may have so many bytes.
pub const fn is_ring(bytes: u64) -> bool {
    bytes.is_power_of_two() && SHORTEST_RING as u64 <= bytes && bytes <= LONGEST_RING as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn data_rings_are_shorter_where_many_tasks_ask_for_it() {
        const M: usize = 1 << 20;
        assert_eq!(
            [1, 2, 9, 10, 17, 18, 64, 4096].map(|tasks| ring_for(tasks) / M),
            [4, 4, 4, 2, 2, 1, 1, 1]
        );
        assert!([M, 2 * M, 4 * M].iter().all(|&ring| is_ring(ring as u64)));
        assert!([0, M / 2, 3 * M, 8 * M].iter().all(|&ring| !is_ring(ring as u64)));
    }
}
