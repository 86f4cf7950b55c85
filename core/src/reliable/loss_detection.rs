//! When a datagram counts as lost: round-trip times, the reordering that is tolerated, the probe
//! timeout (PTO, or retransmission timeout).

use super::config::{EngineConfig, Nanos, US};
use super::sent::{Fate, SentRing};

/// Newer datagrams that must have arrived before an older one is given up without waiting, as long
/// as no reordering was seen.
const PACKET_THRESHOLD: u64 = 3;
/// The least reordering window once reordering was seen.
const REORDER_FLOOR: Nanos = 20 * US;

/// Round-trip time of a path.
#[derive(Debug)]
pub(super) struct Rtt {
    smoothed: Nanos,
    variation: Nanos,
    min: Nanos,
    latest: Nanos,
    measured: bool,
}

impl Rtt {
    pub(super) fn new(config: &EngineConfig) -> Self {
        let initial = config.initial_rtt;
        Self { smoothed: initial, variation: initial / 2, min: Nanos::MAX, latest: initial, measured: false }
    }

    pub(super) fn smoothed(&self) -> Nanos {
        self.smoothed
    }

    /// Takes a measurement; `delay` is how long the peer says that it held the acknowledgement
    /// back.
    pub(super) fn sample(&mut self, total: Nanos, delay: Nanos) -> Nanos {
        self.min = self.min.min(total);
        // A peer that claims to have held it back for longer than it took, or so long that less
        // than the shortest round trip remains, is not believed.
        let without = total.saturating_sub(delay);
        let rtt = if without >= self.min { without } else { total }.max(1);
        self.latest = rtt;
        if self.measured {
            let error = rtt.abs_diff(self.smoothed);
            self.variation = (self.variation * 3 + error) / 4;
            self.smoothed = (self.smoothed * 7 + rtt) / 8;
        } else {
            self.measured = true;
            self.smoothed = rtt;
            self.variation = rtt / 2;
        }
        rtt
    }

    /// The probe timeout (PTO): how long to wait for an answer before asking again, the first time.
    pub(super) fn pto(&self, config: &EngineConfig) -> Nanos {
        (self.smoothed + (4 * self.variation).max(50 * US) + config.max_ack_delay)
            .max(config.retransmit_floor)
    }
}

/// What the acknowledgements of a path say about losses.
#[derive(Debug, Default)]
pub(super) struct LossDetector {
    /// The newest datagram known to have arrived, and when it was sent.
    newest: Option<(u64, Nanos)>,
    /// No open datagram is below it.
    scan: u64,
    /// How often a datagram that had been given up turned up; zero means that three newer ones are
    /// enough.
    reordered: u32,
    /// When the next datagram will count as lost.
    pub(super) timer: Option<Nanos>,
}

impl LossDetector {
    #[inline]
    pub(super) fn arrived(&mut self, number: u64, sent: Nanos) {
        if self.newest.is_none_or(|(newest, _)| number > newest) {
            self.newest = Some((number, sent));
        }
    }

    /// Whether one that was sent later is known to have arrived.
    pub(super) fn overtaken(&self, number: u64) -> bool {
        self.newest.is_some_and(|(newest, _)| newest > number)
    }

    /// A datagram that counted as lost was acknowledged.
    pub(super) fn was_early(&mut self) {
        self.reordered = (self.reordered + 1).min(16);
    }

    /// The next datagram that is lost by now, which the caller marks before it asks again. Without
    /// one, sets the timer.
    pub(super) fn next_lost(&mut self, now: Nanos, rtt: &Rtt, sent: &SentRing) -> Option<u64> {
        self.timer = None;
        let (newest, _) = self.newest?;
        let min = if rtt.min == Nanos::MAX { rtt.smoothed } else { rtt.min };
        let reorder = if self.reordered == 0 {
            REORDER_FLOOR.max(min / 8)
        } else {
            (min / 4 * Nanos::from(self.reordered)).clamp(REORDER_FLOOR, rtt.smoothed.max(REORDER_FLOOR))
        };
        let wait = rtt.latest.max(rtt.smoothed) + reorder;
        self.scan = self.scan.max(sent.base());
        while self.scan < newest.min(sent.end()) {
            let number = self.scan;
            if let Some(entry) = sent.get(number)
                && entry.fate == Fate::InFlight
            {
                let by_count = self.reordered == 0 && newest - number >= PACKET_THRESHOLD;
                let due = entry.time + wait;
                if by_count || due <= now {
                    return Some(number);
                }
                // The later ones were sent later.
                self.timer = Some(due);
                return None;
            }
            self.scan += 1;
        }
        None
    }
}
