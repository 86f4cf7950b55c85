//! What core does with all tasks: barriers and exchanges of values.

#![cfg(not(miri))]

mod support;

use lapis_core::sync::{AtomicU64, Ordering};
use lapis_core::{Context, Error};
use std::sync::Arc;
use std::time::Duration;
use support::{LOSSY, SHM, Settings, UDP, job};

/// Shared memory, and waits that never sleep.
const AWAKE: Settings = &[("LAPI_USE_SHM", "only"), ("LAPIS_SPIN_US", "1000000")];

/// Shared memory, and waits that sleep at once.
const DROWSY: Settings = &[("LAPI_USE_SHM", "only"), ("LAPIS_SPIN_US", "0")];

fn packets_sent(context: &Context) -> u64 {
    context.statistics().total().packets_sent
}

#[test]
fn nobody_leaves_a_barrier_before_everybody_has_come() {
    for settings in [SHM, DROWSY, UDP, LOSSY] {
        for tasks in [1, 2, 3, 5, 8] {
            let come = Arc::new(AtomicU64::new(0));
            job(tasks, settings, move |context| {
                for round in 1..=40 {
                    if (round + u64::from(context.task())).is_multiple_of(7) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    come.fetch_add(1, Ordering::Relaxed);
                    context.gfence().unwrap();
                    let all = come.load(Ordering::Relaxed);
                    assert!(all >= round * u64::from(tasks), "{all} of {tasks} tasks in round {round}");
                }
            });
        }
    }
}

#[test]
fn tasks_that_share_memory_need_no_packets_for_barriers() {
    for tasks in [2, 3, 8] {
        job(tasks, AWAKE, |context| {
            // Some may not have said yet that they look at flags.
            context.barrier().unwrap();
            let before = packets_sent(context);
            for _ in 0..100 {
                context.gfence().unwrap();
            }
            assert_eq!(packets_sent(context), before, "packets of task {}", context.task());
        });
    }
}

#[test]
fn tasks_that_sleep_in_a_barrier_are_woken() {
    job(2, DROWSY, |context| {
        context.barrier().unwrap();
        let before = packets_sent(context);
        for _ in 0..10 {
            if context.task() == 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            context.barrier().unwrap();
        }
        if context.task() == 0 {
            assert!(packets_sent(context) > before, "task 1 slept ten times for the longest time it may");
        }
    });
}

#[test]
fn everybody_gets_everybodys_value_whatever_its_length() {
    for settings in [SHM, UDP, LOSSY] {
        for tasks in [1, 2, 3, 5, 8] {
            job(tasks, settings, move |context| {
                let value = |task: u32, len: usize| -> Vec<u8> {
                    (0..len).map(|i| (i as u32 * 7 + task * 31 + i as u32 / 251) as u8).collect()
                };
                for len in [0, 1, 8, 64, 5000, 70_000] {
                    let all = context.all_gather(&value(context.task(), len)).unwrap();
                    let expected: Vec<u8> = (0..tasks).flat_map(|task| value(task, len)).collect();
                    assert!(all == expected, "{len} bytes of each of {tasks} tasks");
                }
            });
        }
    }
}

#[test]
fn values_that_are_too_long_to_be_exchanged_are_refused_at_all_tasks() {
    const MOST: usize = 128 << 20;
    for settings in [SHM, UDP] {
        job(2, settings, |context| {
            let failed = context.all_gather(&vec![0; MOST / 2 + 1]).unwrap_err();
            assert!(matches!(failed, Error::DataLength { max, .. } if max == MOST as u64), "{failed}");
            // Nobody has begun, so that the next exchange is the same one at both.
            assert_eq!(context.all_gather(&[context.task() as u8]).unwrap(), [0, 1]);
        });
    }
}

#[test]
fn what_a_fence_found_done_does_not_hide_what_is_begun_later() {
    use lapis_core::{Delivery, HandlerId};
    job(3, SHM, |context| {
        let got = Arc::new(AtomicU64::new(0));
        let here = Arc::clone(&got);
        context
            .set_handler(HandlerId(1), move |_, _| {
                here.fetch_add(1, Ordering::Relaxed);
                Delivery::bury()
            })
            .unwrap();
        context.gfence().unwrap();
        for round in 1..=30 {
            // Nothing is left to wait for: the next fence may say so without looking.
            context.gfence().unwrap();
            for to in (0..3).filter(|to| *to != context.task()) {
                context.send(to, HandlerId(1), &[], &[round as u8; 16]).unwrap();
            }
            context.gfence().unwrap();
            assert_eq!(got.load(Ordering::Relaxed), 2 * round, "task {}", context.task());
        }
    });
}

#[test]
fn who_leaves_after_a_barrier_has_come_to_it() {
    for _ in 0..25 {
        // The job ends with a barrier, after which whoever is told first has gone before others
        // look.
        job(3, SHM, |context| context.barrier().unwrap());
    }
}
