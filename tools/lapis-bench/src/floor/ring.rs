//! A ring of one-line slots: the highest rate of messages between two cores.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use anyhow::Result;
use lapis_bench::clock;
use lapis_bench::record::Record;
use std::sync::atomic::{AtomicU64, Ordering};

const SLOTS: u64 = 1024;
/// The reader says how far it is once in so many messages: its line would else travel for every
/// one.
const REPORT: u64 = 64;
const STOP: u64 = u64::MAX;

#[repr(C, align(64))]
struct Slot {
    /// Number of the message, from 1; written last.
    sequence: AtomicU64,
    payload: [AtomicU64; 7],
}

pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    let shared = Shared::new(4096 + SLOTS as usize * size_of::<Slot>())?;
    let read = shared.line(0);
    // SAFETY: the mapping holds SLOTS slots behind its first page, page-aligned; zeroed memory is a
    // valid Slot of atomics.
    let ring = unsafe { std::slice::from_raw_parts(shared.at(4096).cast::<Slot>(), SLOTS as usize) };
    let put = |number: u64, sequence: u64| {
        let slot = &ring[(number % SLOTS) as usize];
        slot.payload[0].store(number, Ordering::Relaxed);
        // SYNC: pairs with the reader's Acquire load of the same slot; publishes the payload.
        slot.sequence.store(sequence, Ordering::Release);
    };
    let (mut sent, mut known) = (0, 0);
    let summary = process_pair::run(
        |_| {
            let mut send = |sequence_of: &dyn Fn(u64) -> u64| {
                sent += 1;
                while sent - known >= SLOTS {
                    // SYNC: pairs with the reader's Release store; its slots may be overwritten
                    // after it.
                    known = read.load(Ordering::Acquire);
                    std::hint::spin_loop();
                }
                put(sent, sequence_of(sent));
            };
            let summary = clock::per_operation(ask.budget, |count| (0..count).for_each(|_| send(&|n| n)));
            send(&|_| STOP);
            Ok(summary)
        },
        || {
            let (mut number, mut sum) = (0u64, 0u64);
            loop {
                number += 1;
                let slot = &ring[(number % SLOTS) as usize];
                // A slot holds the number of SLOTS messages ago until it is written again.
                let old = number.saturating_sub(SLOTS);
                if process_pair::wait_for_change(&slot.sequence, old) == STOP {
                    std::hint::black_box(sum);
                    return Ok(());
                }
                sum = sum.wrapping_add(slot.payload[0].load(Ordering::Relaxed));
                if number.is_multiple_of(REPORT) {
                    // SYNC: pairs with the writer's Acquire load.
                    read.store(number, Ordering::Release);
                }
            }
        },
    )?;
    Ok(vec![Record::rate("ring_rate", 8, summary).of("floor", "shm")])
}
