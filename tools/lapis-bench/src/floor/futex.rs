//! Waking a process that sleeps in a futex: what every blocking wait pays.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use anyhow::Result;
use lapis_bench::clock;
use lapis_bench::record::Record;
use std::sync::atomic::{AtomicU32, Ordering};

const STOP: u32 = u32::MAX;

pub(super) fn run(ask: &Ask) -> Result<Vec<Record>> {
    let shared = Shared::new(4096)?;
    let word = |offset| {
        // SAFETY: in bounds (asserted by `at`), aligned, zeroed memory is a valid atomic, accessed
        // as such only.
        unsafe { &*shared.at(offset).cast::<AtomicU32>() }
    };
    let (there, back) = (word(0), word(2048));
    let mut turn = 0;
    let summary = process_pair::run(
        |_| {
            let summary = clock::per_operation(ask.budget, |count| {
                for _ in 0..count {
                    turn += 1;
                    set_and_wake(there, turn);
                    sleep_while(back, turn - 1);
                }
            });
            set_and_wake(there, STOP);
            Ok(summary)
        },
        || {
            let mut last = 0;
            loop {
                last = sleep_while(there, last);
                if last == STOP {
                    return Ok(());
                }
                set_and_wake(back, last);
            }
        },
    )?;
    Ok(vec![Record::latency("futex_lat", 4, summary.scaled(0.5)).of("floor", "shm")])
}

fn set_and_wake(word: &AtomicU32, value: u32) {
    // SYNC: pairs with the sleeper's Acquire load.
    word.store(value, Ordering::Release);
    // SAFETY: the word is a valid, aligned address; FUTEX_WAKE reads nothing else.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

fn sleep_while(word: &AtomicU32, old: u32) -> u32 {
    loop {
        // SYNC: pairs with the waker's Release store.
        let value = word.load(Ordering::Acquire);
        if value != old {
            return value;
        }
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is a valid, aligned address; a null timeout sleeps until woken.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, old, forever) };
    }
}
