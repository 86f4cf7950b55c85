//! Time for measuring: batches of operations until a time budget is used up.

use crate::stats::Summary;
use std::time::{Duration, Instant};

/// Fewest batches that make a median worth printing.
const MIN_BATCHES: usize = 5;

/// Nanoseconds of the monotonic clock; readings of processes of one machine can be compared.
pub fn now_ns() -> u64 {
    // std's Instant hides the number that two processes would exchange.
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t is a valid timespec to write to, and CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    (t.tv_sec as u64) * 1_000_000_000 + t.tv_nsec as u64
}

/// Runs `batch` (which performs the given number of operations) again and again until `budget` is
/// used up, and sums up the nanoseconds per operation of each batch.
///
/// The size of a batch grows until it takes about a millisecond, so that reading the clock costs
/// nothing; the batches of that warm-up are not counted.
pub fn per_operation(budget: Duration, mut batch: impl FnMut(u64)) -> Summary {
    let batch_time = (budget / 50).clamp(Duration::from_micros(200), Duration::from_millis(5));
    let mut count = 1;
    loop {
        // The best of three: a partner that has yet to start must not make a single operation look
        // like a batch.
        let timed = (0..3).map(|_| {
            let start = Instant::now();
            batch(count);
            start.elapsed()
        });
        if timed.min().unwrap_or_default() >= batch_time / 2 || count >= 1 << 30 {
            break;
        }
        count *= 2;
    }
    let start = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < MIN_BATCHES || start.elapsed() < budget {
        let begin = Instant::now();
        batch(count);
        samples.push(begin.elapsed().as_nanos() as f64 / count as f64);
    }
    Summary::of(&samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_counted_and_divided() {
        let mut calls = 0;
        let summary = per_operation(Duration::from_millis(5), |n| {
            calls += 1;
            std::thread::sleep(Duration::from_micros(n));
        });
        assert!(summary.samples >= MIN_BATCHES && calls > summary.samples);
        // Sleeping at least a microsecond per operation is the one thing a busy machine can't
        // shorten.
        assert!(summary.min >= 1000.0, "{summary:?}");
    }

    #[test]
    fn the_clock_moves_forward() {
        let first = now_ns();
        assert!(now_ns() >= first && first > 0);
    }
}
