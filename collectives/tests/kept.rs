//! Calls that block are kept for the next ones like them: which must be like them in everything
//! that matters.

mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Operator, Team};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Wake;
use support::{SHM, job};

/// Rounds of calls of which some share the place where they are kept.
fn calls_in_turns(team: &Team, rounds: usize) {
    let (me, n) = (team.rank(), team.len());
    for round in 0..rounds {
        let value = |rank: usize, at: usize| (rank * 1000 + round * 10 + at) as u64;
        for count in [1, 17, 3000, 1, 20_000, 2] {
            let mine: Vec<u64> = (0..count).map(|at| value(me, at)).collect();
            let folded = |by: fn(u64, u64) -> u64| -> Vec<u64> {
                (0..count).map(|at| (1..n).fold(value(0, at), |all, rank| by(all, value(rank, at)))).collect()
            };
            for root in [round % n, (round + 1) % n] {
                let mut data = mine.clone();
                team.broadcast(&mut data, root).unwrap();
                assert!((0..count).all(|at| data[at] == value(root, at)), "{count} from {root} of {n}");
            }
            let mut got = vec![0; count];
            team.all_reduce_into(&mine, &mut got, Operator::Sum).unwrap();
            assert_eq!(got, folded(|a, b| a + b), "{count} of {n}");
            team.all_reduce_into(&mine, &mut got, Operator::Max).unwrap();
            assert_eq!(got, folded(u64::max), "{count} of {n}");
            team.barrier().unwrap();
            let mut all = vec![0; count * n];
            team.all_gather(&mine, &mut all).unwrap();
            assert!((0..n * count).all(|i| all[i] == value(i / count, i % count)), "{count} of {n}");
        }
    }
}

#[test]
fn calls_that_take_turns_give_what_each_of_them_says() {
    for n in [2, 3, 9] {
        job(n, SHM, |context| {
            let team = Team::world(context).unwrap();
            calls_in_turns(&team, 6);
            // What is kept for reductions that are not reproducible serves no other ones.
            team.set_reproducible(true);
            calls_in_turns(&team, 2);
            team.set_reproducible(false);
            calls_in_turns(&team, 2);
        });
    }
}

#[test]
fn a_kept_call_with_too_short_buffers_is_refused_and_counts_for_nothing() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        let mine = [team.rank() as f64 + 1.0; 3];
        let mut sums = [0.0; 3];
        for round in 0..4 {
            if round > 1 && team.rank() == 0 {
                let refused = team.reduce(&mine, &mut sums[..2], Operator::Sum, 0);
                assert!(
                    matches!(refused, Err(CollectiveError::Buffer { needed: 3, given: 2, .. })),
                    "{refused:?}"
                );
            }
            team.reduce(&mine, &mut sums, Operator::Sum, 0).unwrap();
            assert!(team.rank() == 1 || sums == [3.0; 3], "{sums:?}");
        }
    });
}

#[test]
fn members_whose_kept_calls_differ_are_both_told() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        let (mut data, mut sum) = ([1.0], [0.0]);
        for _ in 0..3 {
            team.broadcast(&mut data, 1).unwrap();
            team.all_reduce_into(&data, &mut sum, Operator::Sum).unwrap();
            team.all_reduce_into(&data, &mut sum, Operator::Max).unwrap();
        }
        let by = if team.rank() == 0 { Operator::Sum } else { Operator::Max };
        let failed = team.all_reduce_into(&data, &mut sum, by).unwrap_err();
        assert!(matches!(failed, CollectiveError::Mismatch { .. }), "{failed}");
        assert!(team.barrier().is_err(), "the team is over");
    });
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_kept_operation_does_not_wake_who_awaited_an_earlier_run_of_it() {
    job(1, SHM, |context| {
        let team = Team::world(context).unwrap();
        let start = || {
            let sum: Combine<'static, u64> = Operator::Sum.into();
            team.start(&Call::AllReduce { count: 1 }, sum, vec![3], vec![0]).unwrap()
        };
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        // Alone, it has ended before it is awaited.
        let ended = pin!(start()).poll(&mut std::task::Context::from_waker(&waker));
        assert!(ended.is_ready());
        drop(waker);
        assert_eq!(Arc::strong_count(&woken), 1, "what is kept refers to the task");
        for _ in 0..3 {
            assert_eq!(start().wait().unwrap().1, [3]);
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    });
}
