//! How much a path may have in flight.
//!
//! Additive increase, multiplicative decrease: two flows with the same round-trip time that see the
//! same full queue end up with the same share. What differs from Reno is what counts as congestion.
//! On a cluster network a lost datagram means congestion only if the queue in front of it was long,
//! and a long queue shows: the round-trip time rises above its minimum. So a loss shrinks the
//! window in two cases. (1) The round's shortest round trip is well above the minimum of the path:
//! by half of it, and by the time of a few batches of datagrams, for a sender that hands over tens
//! of them at once makes so long a queue by itself. (2) More than an eighth of the last rounds is
//! lost. Several rounds, because the kernel loses a batch that it took as one as a whole, so that
//! one round says little. Any other loss is noise of the link and costs nothing but the
//! retransmission. Under random loss the window therefore settles where the queue just begins to
//! show, which keeps the link full.
//!
//! A flow that comes late to a busy link takes the queue for the minimum of its path, and would
//! then ignore losses for ever. So every [`TEST_EVERY`] rounds a loss without a visible queue is
//! put to the test: the window is the smallest one for a round. If round trips become shorter than
//! ever, there was a queue, and half of the window comes back; otherwise all of it. Half a window
//! in the test would not do: a flow that has nearly all of the link would take the queue of its own
//! other half for the minimum. The test costs about a hundredth of the goodput of a lossy link.
//!
//! CUBIC's long memory is for round trips of many milliseconds; here a window recovers one datagram
//! per round trip of some ten microseconds. No pacing: bursts are bounded by the batch size, and
//! timers of that grain would cost more than they gain.

use std::ops::RangeInclusive;

use super::config::{EngineConfig, MS, Nanos, US};

/// How long the lowest round-trip time is believed.
const MIN_RTT_LIFE: Nanos = 10_000 * MS;
/// Rounds between two tests whether a loss hides a queue.
const TEST_EVERY: u32 = 32;

/// Batches of datagrams whose time counts as no queue yet, and the bounds of that time. A receiver
/// on a slow core, at 0.9 GB/s, needs the upper one for them.
const OWN_BATCHES: u64 = 4;
const OWN_QUEUE: RangeInclusive<Nanos> = 50 * US..=300 * US;
/// Each round, this part of what is remembered of losses is forgotten.
const MEMORY: u64 = 8;

/// A small window that shall tell whether there is a queue.
#[derive(Debug)]
struct Test {
    /// The window before.
    saved: u64,
    /// The lowest round trip before.
    min_rtt: Nanos,
    /// Numbers from this one on were sent with the small window.
    from: u64,
    /// When this one is acknowledged, the result is there.
    to: Option<u64>,
    shortest: Nanos,
}

#[derive(Debug)]
pub(super) struct Congestion {
    window: u64,
    threshold: u64,
    datagram: u64,
    /// Bytes of a few batches.
    batches: u64,
    max: u64,
    min_rtt: Nanos,
    min_rtt_at: Nanos,
    /// The round ends when this number is acknowledged.
    round_end: u64,
    round_start: Nanos,
    round_rtt: Nanos,
    last_round_rtt: Nanos,
    round_acked: u64,
    /// Bytes of this round and the last ones, which count less the longer they are past, since the
    /// last decrease.
    recent_acked: u64,
    recent_lost: u64,
    /// Runs of numbers that make up the losses remembered: what the kernel took as one gets lost as
    /// one.
    lost_runs: u32,
    last_lost: u64,
    /// Losses of numbers below it belong to the last decrease.
    recovery_end: u64,
    /// The window was full at some time in this round.
    limited: bool,
    /// Bytes per second, over full rounds.
    goodput: u64,
    test: Option<Test>,
    rounds_since_test: u32,
}

impl Congestion {
    pub(super) fn new(config: &EngineConfig, datagram: usize) -> Self {
        let datagram = datagram as u64;
        Self {
            window: (datagram * u64::from(config.initial_window)).min(config.max_window),
            threshold: u64::MAX,
            datagram,
            batches: OWN_BATCHES * config.batch_bytes as u64,
            max: config.max_window,
            min_rtt: Nanos::MAX,
            min_rtt_at: 0,
            round_end: 0,
            round_start: 0,
            round_rtt: Nanos::MAX,
            last_round_rtt: Nanos::MAX,
            round_acked: 0,
            recent_acked: 0,
            recent_lost: 0,
            lost_runs: 0,
            last_lost: u64::MAX,
            recovery_end: 0,
            limited: false,
            goodput: 0,
            test: None,
            rounds_since_test: TEST_EVERY / 2,
        }
    }

    /// Bytes that may be in flight.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Measured bytes per second; before the first measurement what the window would give.
    pub(super) fn goodput(&self, rtt: Nanos) -> u64 {
        if self.goodput != 0 { self.goodput } else { self.window * 1_000 * MS / rtt.max(1) }
    }

    pub(super) fn set_datagram(&mut self, datagram: usize) {
        self.datagram = datagram as u64;
        self.window = self.window.max(self.floor());
    }

    /// The window held back a datagram.
    pub(super) fn note_limited(&mut self) {
        self.limited = true;
    }

    /// The datagram `number` took `rtt` there and back.
    pub(super) fn on_rtt(&mut self, now: Nanos, number: u64, rtt: Nanos) {
        if let Some(test) = &mut self.test
            && number >= test.from
        {
            test.shortest = test.shortest.min(rtt);
        }
        self.round_rtt = self.round_rtt.min(rtt);
        if rtt <= self.min_rtt {
            self.min_rtt = rtt;
            self.min_rtt_at = now;
        }
    }

    /// `bytes` were acknowledged, up to `number`; `next` is the next number to be sent.
    pub(super) fn on_acked(&mut self, now: Nanos, bytes: u64, number: u64, next: u64) {
        self.round_acked += bytes;
        self.recent_acked += bytes;
        if self.test.is_some() {
            self.judge_test(number, next);
        } else if self.limited && !self.in_recovery(number) {
            if self.window < self.threshold {
                self.window += bytes;
            } else {
                self.window += (self.datagram * bytes / self.window).max(1);
            }
            self.window = self.window.min(self.max);
        }
        if number >= self.round_end {
            self.end_round(now, next);
        }
    }

    /// The datagram `number` is lost.
    pub(super) fn on_lost(&mut self, bytes: u64, number: u64, next: u64) {
        self.recent_lost += bytes;
        if number != self.last_lost.wrapping_add(1) {
            self.lost_runs += 1;
        }
        self.last_lost = number;
        if self.in_recovery(number) {
            return;
        }
        let heavy = self.lost_runs > 1
            && self.recent_lost > 4 * self.datagram
            && self.recent_lost * 8 > self.recent_lost + self.recent_acked;
        if self.test.is_some() {
            return;
        }
        if !self.queued() && !heavy {
            if self.rounds_since_test >= TEST_EVERY {
                let (saved, min_rtt) = (self.window, self.min_rtt);
                self.test = Some(Test { saved, min_rtt, from: next, to: None, shortest: Nanos::MAX });
                self.window = self.floor();
            }
        } else {
            self.window = (self.window * 7 / 10).max(self.floor());
            self.threshold = self.window;
            self.recovery_end = next;
            (self.recent_acked, self.recent_lost, self.lost_runs) = (0, 0, 0);
        }
    }

    fn judge_test(&mut self, number: u64, next: u64) {
        let Some(test) = &mut self.test else { return };
        match test.to {
            None if number >= test.from => test.to = Some(next),
            Some(to) if number >= to => {
                let noticeable = (test.min_rtt / 16).max(2 * US);
                if test.shortest.saturating_add(noticeable) < test.min_rtt {
                    self.window = (test.saved / 2).max(self.window);
                    self.threshold = self.window;
                } else {
                    self.window = self.window.max(test.saved);
                }
                self.test = None;
                self.rounds_since_test = 0;
            }
            _ => {}
        }
    }

    /// Nothing came back for several timeouts.
    pub(super) fn on_silence(&mut self, next: u64) {
        self.test = None;
        self.threshold = (self.window / 2).max(self.floor());
        self.window = self.floor();
        self.recovery_end = next;
    }

    fn in_recovery(&self, number: u64) -> bool {
        number < self.recovery_end
    }

    /// Whether the queue on the way is long.
    fn queued(&self) -> bool {
        let rtt = if self.round_rtt != Nanos::MAX { self.round_rtt } else { self.last_round_rtt };
        let batches = (self.batches * 1_000 * MS).checked_div(self.goodput).unwrap_or(0);
        let own = batches.clamp(*OWN_QUEUE.start(), *OWN_QUEUE.end());
        rtt != Nanos::MAX && rtt > self.min_rtt.saturating_add((self.min_rtt / 2).max(own))
    }

    fn floor(&self) -> u64 {
        4 * self.datagram
    }

    fn end_round(&mut self, now: Nanos, next: u64) {
        if self.queued() && self.window < self.threshold {
            // The queue has begun to show: enough of doubling.
            self.threshold = self.window;
        }
        let elapsed = now - self.round_start.min(now);
        if elapsed > 0 && self.limited {
            let sample = self.round_acked.saturating_mul(1_000 * MS) / elapsed;
            self.goodput = if self.goodput == 0 { sample } else { (self.goodput * 7 + sample) / 8 };
        }
        if now.saturating_sub(self.min_rtt_at) > MIN_RTT_LIFE && self.round_rtt != Nanos::MAX {
            self.min_rtt = self.round_rtt;
            self.min_rtt_at = now;
        }
        self.last_round_rtt = self.round_rtt;
        self.round_rtt = Nanos::MAX;
        self.round_acked = 0;
        self.recent_acked -= self.recent_acked / MEMORY;
        self.recent_lost -= self.recent_lost / MEMORY;
        if self.recent_lost < self.datagram {
            self.lost_runs = 0;
        }
        self.round_start = now;
        self.rounds_since_test = self.rounds_since_test.saturating_add(1);
        self.round_end = next;
        self.limited = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow whose shortest round trip has a queue in it loses one datagram; answers how its
    /// window then is, and how it is after the test that showed round trips of `shown`.
    fn tested(shown: Nanos) -> [u64; 3] {
        let mut congestion = Congestion::new(&EngineConfig::default(), 1472);
        congestion.window = 40 * 1472;
        congestion.rounds_since_test = TEST_EVERY;
        congestion.on_rtt(0, 99, 300 * US);
        congestion.on_acked(0, 100 * 1472, 99, 140);
        let before = congestion.window();
        congestion.on_lost(1472, 100, 140);
        let meanwhile = congestion.window();
        for (now, number, rtt) in [(1, 139, 290), (2, 143, shown / US), (3, 147, shown / US)] {
            congestion.on_rtt(now * MS, number, rtt * US);
            congestion.on_acked(now * MS, 4 * 1472, number, number + 5);
        }
        congestion.on_acked(4 * MS, 4 * 1472, 151, 156);
        [before, meanwhile, congestion.window()]
    }

    #[test]
    fn a_loss_without_a_visible_queue_is_put_to_the_test() {
        let [before, meanwhile, after] = tested(120 * US);
        assert_eq!((meanwhile, after), (4 * 1472, before / 2), "a queue shows when the flow steps back");
        let [before, meanwhile, after] = tested(299 * US);
        assert_eq!((meanwhile, after), (4 * 1472, before), "no queue: a random loss");
    }

    #[test]
    fn a_batch_that_is_lost_in_one_piece_is_noise_and_the_next_piece_is_congestion() {
        let mut congestion = Congestion::new(&EngineConfig::default(), 1472);
        let lose = |congestion: &mut Congestion, numbers: std::ops::Range<u64>| {
            numbers.for_each(|number| congestion.on_lost(1472, number, 200));
            congestion.window()
        };
        congestion.on_rtt(0, 99, 50 * US);
        congestion.on_acked(0, 100 * 1472, 99, 100);
        let window = congestion.window();
        assert_eq!(lose(&mut congestion, 100..144), window, "a third of the round, in one piece");
        assert_eq!(lose(&mut congestion, 150..151), window * 7 / 10);
        // What led to the decrease is forgotten: again one piece says nothing.
        congestion.on_acked(0, 40 * 1472, 199, 250);
        let window = congestion.window();
        assert_eq!(lose(&mut congestion, 200..244), window);
    }
}
