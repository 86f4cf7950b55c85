//! memcpy: within the own cache, and into lines that the other core has just written.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use anyhow::Result;
use lapis_bench::clock;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Small blocks are copied in groups of about this many bytes, so that the clock's own time does
/// not show.
const GROUP: usize = 256 << 10;
const STOP: u64 = u64::MAX;

pub(super) fn own(ask: &Ask) -> Result<Vec<Record>> {
    let _pinned = lapis_bench::pin::while_held(lapis_bench::pin::pair().0)?;
    let mut records = Vec::new();
    for size in ask.sizes.iter().copied().filter(|&s| s > 0) {
        let size = size as usize;
        // Both on lines of their own, and half a page apart: at the same place of two pages, loads
        // would be taken to depend on the stores before them, which is not what memcpy costs.
        let mapping = Shared::new(2 * size.next_multiple_of(4096) + 4096)?;
        let (source, target) = (mapping.at(0), mapping.at(size.next_multiple_of(4096) + 2048));
        let summary = clock::per_operation(ask.budget, |count| {
            for _ in 0..count {
                // SAFETY: the mapping holds size bytes at both places, and they do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(std::hint::black_box(source), target, size) };
                std::hint::black_box(target);
            }
        });
        records.push(Record::bandwidth("copy_own", size as u64, summary).of("floor", "shm"));
    }
    Ok(records)
}

pub(super) fn shared(ask: &Ask) -> Result<Vec<Record>> {
    ask.sizes.iter().copied().filter(|&s| s > 0).map(|size| shared_of(ask, size)).collect()
}

fn shared_of(ask: &Ask, size: u64) -> Result<Record> {
    let size = size as usize;
    let blocks = (GROUP / size).max(1);
    let mapping = Shared::new(2 * 4096 + blocks * size)?;
    let (go, done) = (mapping.line(0), mapping.line(16));
    let target = mapping.at(2 * 4096);
    let source = vec![1u8; blocks * size];
    let samples = process_pair::run(
        |_| {
            let (mut samples, start, mut turn) = (Vec::new(), Instant::now(), 0);
            while samples.len() < 5 || start.elapsed() < ask.budget {
                turn += 1;
                // SYNC: pairs with the partner's Acquire load; the target is its to write until it
                // answers.
                go.store(turn, Ordering::Release);
                process_pair::wait_for(done, turn);
                let begin = Instant::now();
                for block in 0..blocks {
                    let offset = block * size;
                    // SAFETY: block < blocks, and source and target hold blocks × size bytes; they
                    // do not overlap.
                    unsafe {
                        std::ptr::copy_nonoverlapping(source.as_ptr().add(offset), target.add(offset), size)
                    };
                    std::hint::black_box(target);
                }
                samples.push(begin.elapsed().as_nanos() as f64 / blocks as f64);
            }
            // SYNC: pairs with the partner's Acquire load.
            go.store(STOP, Ordering::Release);
            Ok(samples)
        },
        || {
            let mut last = 0;
            loop {
                let seen = process_pair::wait_for_change(go, last);
                if seen == STOP {
                    return Ok(());
                }
                last = seen;
                // SAFETY: the target holds blocks × size bytes and is ours until `done`.
                unsafe { std::ptr::write_bytes(target, seen as u8, blocks * size) };
                // SYNC: pairs with the leader's Acquire load.
                done.store(seen, Ordering::Release);
            }
        },
    )?;
    Ok(Record::bandwidth("copy_shared", size as u64, Summary::of(&samples)).of("floor", "shm"))
}
