//! Two processes that add up their doubles: each copies its own to where the other one reads them,
//! a piece at a time, and writes the sums of both. An allreduce of long data does no less.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use anyhow::Result;
use lapis_bench::clock;
use lapis_bench::record::Record;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of a piece, and how many of them each process has in memory that both map. A piece that is
/// written again has left the second caches by then.
const PIECE: usize = 64 << 10;
const PIECES: usize = 32;

/// Tells the partner to end.
const STOP: u64 = u64::MAX;

pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    let sizes = ask.sizes.iter().copied().filter(|size| *size >= 8);
    sizes.map(|size| of_two(size as usize, ask.budget)).collect()
}

/// So many bytes of each process.
pub(crate) fn of_two(size: usize, budget: Duration) -> Result<Record> {
    let doubles = size / size_of::<f64>();
    let shared = Shared::new(4096 + 2 * PIECES * PIECE)?;
    let side = |me: usize| Side {
        shown: [shared.line(me), shared.line(1 - me)],
        pieces: [me, 1 - me].map(|who| shared.at(4096 + who * PIECES * PIECE).cast()),
        done: 0,
        given: vec![1.0; doubles],
        sums: vec![0.0; doubles],
    };
    // The partner makes as many calls as the leader says.
    let (calls, mut asked) = (shared.line(2), 0);
    let summary = process_pair::run(
        |_| {
            let mut mine = side(0);
            let summary = clock::per_operation(budget, |count| {
                asked += count;
                // SYNC: pairs with the partner's Acquire load.
                calls.store(asked, Ordering::Release);
                (0..count).for_each(|_| mine.call());
            });
            // SYNC: pairs with the partner's Acquire load.
            calls.store(STOP, Ordering::Release);
            Ok(summary)
        },
        || {
            let (mut mine, mut made) = (side(1), 0);
            loop {
                let asked = process_pair::wait_for_change(calls, made);
                if asked == STOP {
                    return Ok(());
                }
                while made < asked {
                    mine.call();
                    made += 1;
                }
            }
        },
    )?;
    Ok(Record::latency("copy_add", size as u64, summary).of("floor", "shm"))
}

/// What one of the two has.
struct Side<'a> {
    /// Pieces that it has shown in all, and the other one.
    shown: [&'a AtomicU64; 2],
    /// Its pieces, and the other one's.
    pieces: [*mut f64; 2],
    done: u64,
    given: Vec<f64>,
    sums: Vec<f64>,
}

impl Side<'_> {
    fn call(&mut self) {
        let [mine, theirs] = self.shown;
        let one = PIECE / size_of::<f64>();
        for (given, sums) in self.given.chunks(one).zip(self.sums.chunks_mut(one)) {
            // The place is free when the other one has begun the piece behind what stood there:
            // then it has taken that.
            wait_until(theirs, (self.done + 2).saturating_sub(PIECES as u64));
            let place = self.done as usize % PIECES * one;
            // SAFETY: each side's memory holds PIECES pieces; this place is only the caller's now.
            unsafe {
                std::ptr::copy_nonoverlapping(given.as_ptr(), self.pieces[0].add(place), given.len());
            }
            self.done += 1;
            // SYNC: pairs with the other side's Acquire load; publishes the piece.
            mine.store(self.done, Ordering::Release);
            wait_until(theirs, self.done);
            for (at, (sum, own)) in sums.iter_mut().zip(given).enumerate() {
                // SAFETY: the other one has shown this piece, and does not write there before the
                // caller has begun later ones.
                *sum = own + unsafe { *self.pieces[1].add(place + at) };
            }
        }
        std::hint::black_box(&mut self.sums);
    }
}

fn wait_until(line: &AtomicU64, least: u64) {
    // SYNC: pairs with the other side's Release store.
    while line.load(Ordering::Acquire) < least {
        spin_loop();
    }
}
