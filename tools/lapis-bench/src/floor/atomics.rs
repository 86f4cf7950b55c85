//! An atomic addition on a line that the own core holds.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use anyhow::Result;
use lapis_bench::clock;
use lapis_bench::record::Record;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    let number = AtomicU64::new(0);
    let _pinned = lapis_bench::pin::while_held(lapis_bench::pin::pair().0)?;
    let summary = clock::per_operation(ask.budget, |count| {
        for _ in 0..count {
            std::hint::black_box(number.fetch_add(1, Ordering::Relaxed));
        }
    });
    Ok(vec![Record::latency("atomic_add", 8, summary).of("floor", "shm")])
}
