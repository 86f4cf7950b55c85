//! Cache lines that go back and forth between two cores.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use anyhow::Result;
use lapis_bench::clock;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::hint::spin_loop;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Tells the partner to end.
const STOP: u64 = u64::MAX;

/// One line that both sides spin on. Half a round trip is the cheapest message that there is.
///
/// Twice: as it is commonly written, and with a pause after each poll, which leaves the line alone
/// while the other side writes. A message whose handling takes time of its own can't keep to such a
/// rhythm; the difference tells how much hangs on it.
pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    let half = ask.budget / 2;
    let of = |name, summary| Record::latency(name, 8, summary).of("floor", "shm");
    Ok(vec![of("line_lat", exchange(half, || {})?), of("line_lat_paused", exchange(half, spin_loop)?)])
}

/// The line as it is commonly written.
pub(crate) fn line(budget: Duration) -> Result<Record> {
    Ok(Record::latency("line_lat", 8, exchange(budget, || {})?).of("floor", "shm"))
}

/// The steadier of the two for a few milliseconds: nanoseconds one way. Far from its usual value,
/// the two cores are badly placed or shared with somebody, and what is measured now is worth
/// nothing.
pub(crate) fn probe() -> Result<f64> {
    Ok(exchange(Duration::from_millis(12), spin_loop)?.median)
}

/// Payload written to a mailbox of the other side, then its flag; the other answers likewise.
pub(super) fn mailbox(ask: &Ask) -> Result<Vec<Record>> {
    let sizes = ask.sizes.iter().filter(|&&s| (1..=8192).contains(&s));
    sizes.map(|&size| mailbox_of(ask, size)).collect()
}

fn exchange(budget: Duration, between_looks: impl Fn() + Copy) -> Result<Summary> {
    let shared = Shared::new(4096)?;
    let line = shared.line(0);
    let mut turn = 0;
    let summary = process_pair::run(
        |_| {
            let summary = clock::per_operation(budget, |count| {
                for _ in 0..count {
                    turn += 2;
                    // SYNC: Release pairs with the partner's Acquire load; the line itself is the
                    // message.
                    line.store(turn - 1, Ordering::Release);
                    // SYNC: pairs with the partner's Release store.
                    while line.load(Ordering::Acquire) != turn {
                        between_looks();
                    }
                }
            });
            // SYNC: pairs with the partner's Acquire load.
            line.store(STOP, Ordering::Release);
            Ok(summary)
        },
        || {
            let mut last = 0;
            loop {
                // SYNC: pairs with the leader's Release store.
                let seen = line.load(Ordering::Acquire);
                if seen == last {
                    between_looks();
                    continue;
                }
                if seen == STOP {
                    return Ok(());
                }
                last = seen + 1;
                // SYNC: pairs with the leader's Acquire load.
                line.store(last, Ordering::Release);
            }
        },
    )?;
    Ok(summary.scaled(0.5))
}

fn mailbox_of(ask: &Ask, size: u64) -> Result<Record> {
    let (size, shared) = (size as usize, Shared::new(2 * 4096 + 2 * 8192)?);
    // Flags on lines of their own, payloads on pages of their own.
    let flags = [shared.line(0), shared.line(16)];
    let boxes = [shared.at(2 * 4096), shared.at(2 * 4096 + 8192)];
    let (own, mut received, mut turn) = (vec![7u8; size], vec![0u8; size], 0);
    let summary = process_pair::run(
        |_| {
            let summary = clock::per_operation(ask.budget, |count| {
                for _ in 0..count {
                    turn += 1;
                    // SAFETY: a mailbox holds 8192 bytes, size is at most that, and until its flag
                    // it is ours.
                    unsafe { std::ptr::copy_nonoverlapping(own.as_ptr(), boxes[0], size) };
                    // SYNC: pairs with the partner's Acquire load; publishes the payload.
                    flags[0].store(turn, Ordering::Release);
                    process_pair::wait_for(flags[1], turn);
                    // SAFETY: a mailbox holds 8192 bytes, size is at most that, and from its flag
                    // on the other one is ours.
                    unsafe { std::ptr::copy_nonoverlapping(boxes[1], received.as_mut_ptr(), size) };
                    std::hint::black_box(&mut received);
                }
            });
            // SYNC: pairs with the partner's Acquire load.
            flags[0].store(STOP, Ordering::Release);
            Ok(summary)
        },
        || {
            let (mut last, mut scratch) = (0, vec![0u8; size]);
            loop {
                let seen = process_pair::wait_for_change(flags[0], last);
                if seen == STOP {
                    return Ok(());
                }
                last = seen;
                // SAFETY: a mailbox holds 8192 bytes, size is at most that, and until this side's
                // flag both are its own.
                unsafe {
                    std::ptr::copy_nonoverlapping(boxes[0], scratch.as_mut_ptr(), size);
                    std::ptr::copy_nonoverlapping(scratch.as_ptr(), boxes[1], size);
                }
                // SYNC: pairs with the leader's Acquire load; publishes the payload.
                flags[1].store(seen, Ordering::Release);
            }
        },
    )?;
    Ok(Record::latency("mailbox_lat", size as u64, summary.scaled(0.5)).of("floor", "shm"))
}
