//! How large the datagrams of a path may be, found out by what arrives.
//!
//! The transport tells what the interface, or the kernel, takes for the path's MTU, and datagrams
//! of that size are sent at once: it is nearly always right. Where it is wrong nobody says so: ends
//! of different MTUs, or a router whose messages are filtered, drop what is too large in silence.
//! That shows in large datagrams that get lost again and again while small ones arrive. Then the
//! path falls back to a size that every network should carry, and probes for a larger one: a
//! datagram filled up with `PROBE` frames, whose loss costs nothing. RFC 8899 describes the method
//! (black-hole detection, search, padded probes).
//!
//! Here is what one path knows of that. What follows for the peer's data is in `narrowing.rs`.

use super::config::{MS, Nanos};
use super::wire::{HEADER_LEN, MIN_DATAGRAM, PROBE_LEN};

/// Rounds in which large datagrams got lost, and none of them arrived, after which the path counts
/// as too narrow for them.
const LOST_ROUNDS: u8 = 3;

/// Probes of one size that must get lost before it counts as too large: five in a row rarely do by
/// chance.
const PROBES: u8 = 5;

/// The same before a path counts as too narrow for any data, which is said aloud.
const LAST_PROBES: u8 = 12;

/// What every network should carry: the smallest MTU of IPv6, less headers.
pub(super) const BASE: usize = 1232;

/// The search ends when it is known this well.
const CLOSE: usize = 16;

/// After so long a larger size is tried again, if there is something to send.
const RAISE_AFTER: Nanos = 60_000 * MS;

/// Sizes that networks have, tunnels among them, less the headers of IPv6 or IPv4: tried first.
const COMMON: [usize; 12] = [1232, 1344, 1372, 1392, 1424, 1444, 1472, 3944, 4324, 8144, 8872, 8944];

/// A padded datagram under way.
#[derive(Debug, Clone, Copy)]
struct Probe {
    number: u64,
    size: usize,
    due: Nanos,
}

/// What a lost probe says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// Nothing yet.
    Once,
    /// `high` does not pass; `low` does.
    TooLarge { low: usize, high: usize },
    /// Nothing passes that carries data.
    Floor,
}

/// What passes is at least `low`, and less than `high`.
#[derive(Debug)]
struct Search {
    low: usize,
    high: usize,
    /// What is being tried, and how often it got lost.
    size: usize,
    lost: u8,
    probe: Option<Probe>,
}

#[derive(Debug)]
pub(super) struct PathMtu {
    /// The largest datagram by what the transport says.
    pub(super) told: usize,
    /// Rounds in which datagrams of at least `smallest` bytes got lost since one of that size
    /// arrived.
    rounds: u8,
    smallest: usize,
    /// The largest that arrived meanwhile.
    largest: usize,
    /// Datagrams before this number belong to a round that is counted.
    counted: u64,
    search: Option<Box<Search>>,
    /// When a larger size may be tried again.
    raise_at: Nanos,
    /// The caller knows that the path is narrower than it was told.
    reported: bool,
    /// Nothing passes that carries data.
    hopeless: bool,
}

impl PathMtu {
    pub(super) fn new(told: usize) -> Self {
        Self {
            told,
            rounds: 0,
            smallest: usize::MAX,
            largest: 0,
            counted: 0,
            search: None,
            raise_at: Nanos::MAX,
            reported: false,
            hopeless: false,
        }
    }

    /// A datagram of so many bytes has arrived.
    #[inline]
    pub(super) fn on_acked(&mut self, size: usize) {
        if self.rounds > 0 {
            self.largest = self.largest.max(size);
            if size >= self.smallest {
                self.forget_losses();
            }
        }
    }

    fn forget_losses(&mut self) {
        (self.rounds, self.smallest, self.largest) = (0, usize::MAX, 0);
    }

    /// A datagram got lost while a later one arrived; `next` is the number of the next one. Answers
    /// to what size the path must fall back, if that was once too often.
    pub(super) fn on_lost(&mut self, number: u64, size: usize, next: u64) -> Option<usize> {
        // So few bytes are lost by chance.
        if size <= HEADER_LEN + 16 * PROBE_LEN {
            return None;
        }
        self.smallest = self.smallest.min(size);
        if number < self.counted {
            return None;
        }
        self.counted = next;
        self.rounds += 1;
        if self.rounds < LOST_ROUNDS {
            return None;
        }
        let (smallest, largest) = (self.smallest, self.largest);
        self.forget_losses();
        let base = if smallest > BASE { BASE } else { MIN_DATAGRAM };
        Some(largest.max(base).min(smallest - 1).max(MIN_DATAGRAM))
    }

    /// Looks for the largest size between one that passes and what the transport says.
    pub(super) fn search_from(&mut self, low: usize) {
        let high = self.told + 1;
        self.raise_at = Nanos::MAX;
        // First whether it was but bad luck.
        self.search = Some(Box::new(Search { low, high, size: even(self.told), lost: 0, probe: None }));
    }

    /// Looks whether anything passes that carries data, unless that is known or being found out.
    pub(super) fn search_floor(&mut self) {
        if self.hopeless || self.search.as_ref().is_some_and(|search| search.high <= MIN_DATAGRAM) {
            return;
        }
        let (low, high) = (HEADER_LEN, MIN_DATAGRAM);
        self.raise_at = Nanos::MAX;
        self.search = Some(Box::new(Search { low, high, size: even(high), lost: 0, probe: None }));
    }

    /// Another attempt after a long time, if one is due. `now` is when something is sent anyway.
    #[inline]
    pub(super) fn raise(&mut self, now: Nanos, max_datagram: usize) {
        if self.raise_at <= now {
            self.search_from(max_datagram);
        }
    }

    /// The size of the probe that is to be sent now.
    #[inline]
    pub(super) fn wanted(&self) -> Option<usize> {
        self.search.as_deref().filter(|search| search.probe.is_none()).map(|search| search.size)
    }

    pub(super) fn on_probe_sent(&mut self, number: u64, due: Nanos) {
        if let Some(search) = &mut self.search {
            search.probe = Some(Probe { number, size: search.size, due });
        }
    }

    /// When the fate of the probe under way is to be looked at.
    #[inline]
    pub(super) fn due(&self) -> Option<Nanos> {
        Some(self.search.as_ref()?.probe?.due)
    }

    /// The number of the probe under way.
    pub(super) fn probe(&self) -> Option<u64> {
        Some(self.search.as_ref()?.probe?.number)
    }

    /// The path was silent: that says nothing of the probe.
    pub(super) fn wait_until(&mut self, due: Nanos) {
        if let Some(probe) = self.search.as_mut().and_then(|search| search.probe.as_mut()) {
            probe.due = due;
        }
    }

    /// A probe has arrived: if it is the one under way, datagrams of its size pass. An earlier one
    /// may have been of another size.
    pub(super) fn on_probe_acked(&mut self, now: Nanos, number: u64) -> Option<usize> {
        let search = self.search.as_mut()?;
        let size = search.probe.take_if(|probe| probe.number == number)?.size;
        search.low = search.low.max(size);
        search.lost = 0;
        // Probes are filled up in steps.
        let size = if size == even(self.told) && search.high == self.told + 1 { self.told } else { size };
        search.low = search.low.max(size);
        self.go_on(now);
        Some(size)
    }

    /// It got lost, though what was sent after it arrived.
    pub(super) fn on_probe_lost(&mut self, now: Nanos) -> Lost {
        let Some(search) = &mut self.search else { return Lost::Once };
        search.probe = None;
        search.lost += 1;
        let floor = search.high <= MIN_DATAGRAM;
        if search.lost < if floor { LAST_PROBES } else { PROBES } {
            return Lost::Once;
        }
        search.high = search.high.min(search.size);
        search.lost = 0;
        let (low, high) = (search.low, search.high);
        self.go_on(now);
        self.hopeless |= floor;
        if floor { Lost::Floor } else { Lost::TooLarge { low, high } }
    }

    fn go_on(&mut self, now: Nanos) {
        let Some(search) = &mut self.search else { return };
        // Of a path that carries no data nothing more is to be known.
        let next = if search.high <= MIN_DATAGRAM { None } else { search.next() };
        match next {
            Some(size) => search.size = size,
            None => {
                self.search = None;
                self.raise_at = now + RAISE_AFTER;
            }
        }
    }

    /// The search has ended with less than what was told, of which the caller does not know yet.
    /// Says so once.
    pub(super) fn news(&mut self, max_datagram: usize) -> bool {
        let news = self.search.is_none() && max_datagram < self.told && !self.reported;
        self.reported |= news;
        news
    }
}

impl Search {
    /// What to try next.
    fn next(&self) -> Option<usize> {
        let inside = |size: &usize| *size > self.low && *size < self.high;
        let common: Vec<usize> = COMMON.into_iter().map(even).filter(inside).collect();
        if let Some(&size) = common.get(common.len() / 2) {
            return Some(size);
        }
        (self.high - self.low > CLOSE).then(|| even(self.low + (self.high - self.low) / 2))
    }
}

/// The largest size that probes can have up to this one.
fn even(size: usize) -> usize {
    size - (size - HEADER_LEN) % PROBE_LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search finds on a path that carries `passes` bytes, and with how many probes.
    fn found(told: usize, low: usize, passes: usize) -> (usize, usize) {
        let (mut mtu, mut max, mut probes) = (PathMtu::new(told), low, 0);
        mtu.search_from(low);
        while let Some(size) = mtu.wanted() {
            assert!(size <= told && (size - HEADER_LEN).is_multiple_of(PROBE_LEN), "{size}");
            probes += 1;
            mtu.on_probe_sent(probes as u64, 0);
            if size <= passes {
                max = max.max(mtu.on_probe_acked(0, probes as u64).expect("one was under way"));
            } else if let Lost::TooLarge { low, high } = mtu.on_probe_lost(0) {
                assert!(low <= passes && passes < high);
            }
        }
        (max, probes)
    }

    #[test]
    fn a_search_finds_what_passes_with_few_probes() {
        for told in [1472, 8972, 57_480, 65_507] {
            for passes in (548..told).step_by(37).chain([1372, 1472, 3972, told]).filter(|p| *p <= told) {
                let (max, probes) = found(told, MIN_DATAGRAM, passes);
                assert!(max <= passes && max + CLOSE + PROBE_LEN > passes, "{told}: {max} of {passes}");
                assert!(probes <= 100, "{probes} probes for {passes} of {told}");
            }
        }
        assert_eq!(found(8972, BASE, 8972), (8972, 1), "it was bad luck: one probe says so");
        assert_eq!(found(8972, BASE, 1472).0, 1472);
    }

    #[test]
    fn large_datagrams_that_get_lost_round_after_round_are_too_large() {
        let mut mtu = PathMtu::new(8972);
        assert_eq!(mtu.on_lost(0, 8972, 10), None);
        assert_eq!(mtu.on_lost(7, 8000, 12), None, "the same round");
        mtu.on_acked(1400);
        assert_eq!(mtu.on_lost(10, 8972, 20), None);
        assert_eq!(mtu.on_lost(20, 8972, 30), Some(1400));
        for number in [40, 50] {
            assert_eq!(mtu.on_lost(number, 1232, number + 10), None);
        }
        assert_eq!(mtu.on_lost(60, 1232, 70), Some(MIN_DATAGRAM));
    }

    #[test]
    fn one_that_arrives_makes_good_for_those_that_got_lost() {
        let mut mtu = PathMtu::new(8972);
        for number in (0..100).step_by(10) {
            assert_eq!(mtu.on_lost(number, 8972, number + 10), None);
            mtu.on_acked(8972);
        }
    }
}
