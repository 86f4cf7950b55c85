//! Teams: who is in them, calls that don't match, and forms of calling.

mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Group, GroupError, Operator, Parts, Team};
use lapis_core::{Context, Counter};
use std::ptr::NonNull;
use support::{SHM, UDP, job};

fn sum_of_ranks(team: &Team) -> u64 {
    let mut sum = [team.rank() as u64];
    team.all_reduce(&mut sum, Operator::Sum).unwrap();
    sum[0]
}

#[test]
fn a_team_of_some_tasks_leaves_the_others_alone() {
    job(4, SHM, |context| {
        let group = Group::from_list(&[3, 1]).unwrap();
        if context.task() % 2 == 1 {
            let team = Team::of(context, group).unwrap();
            assert_eq!(team.group().task(0), Some(3));
            let mut value = [context.task()];
            team.broadcast(&mut value, 0).unwrap();
            assert_eq!(value, [3]);
        } else {
            let refused = Team::of(context, group).map(|_| ());
            assert!(
                matches!(refused, Err(CollectiveError::Group(GroupError::NotMember { members: 2, .. }))),
                "{refused:?}"
            );
        }
    });
}

#[test]
fn hundreds_of_overlapping_teams_live_at_once() {
    job(4, SHM, |context| {
        let mut teams = Vec::new();
        for round in 0..100u32 {
            let first = round % 4;
            let group = Group::from_list(&[first, (first + 1) % 4, (first + 2) % 4]).unwrap();
            if group.rank(context.task()).is_some() {
                teams.push(Team::of(context, group).unwrap());
            }
            teams.push(Team::world(context).unwrap());
        }
        for team in teams.iter().chain(teams.iter().rev()) {
            let n = team.len() as u64;
            assert_eq!(sum_of_ranks(team), n * (n - 1) / 2);
        }
        // Those of all go; the rest and a new one work.
        teams.retain(|team| team.len() == 3);
        teams.push(Team::world(context).unwrap());
        for team in &teams {
            team.barrier().unwrap();
        }
    });
}

#[test]
fn a_split_is_nested_and_ordered_by_keys() {
    job(6, SHM, |context| {
        let world = Team::world(context).unwrap();
        let me = context.task();
        let half = world.split(Some(me % 2), -i64::from(me)).unwrap().unwrap();
        assert_eq!(half.len(), 3);
        assert_eq!(half.group().task(0), Some(4 + me % 2));
        assert_eq!(sum_of_ranks(&half), 3);
        let none = half.split((me < 4).then_some(7), 0).unwrap();
        assert_eq!(none.is_some(), me < 4);
        if let Some(pair) = none {
            assert_eq!((pair.len(), sum_of_ranks(&pair)), (2, 1));
        }
        assert_eq!(sum_of_ranks(&world), 15);
    });
}

#[test]
fn a_task_may_make_its_team_long_after_the_others_have_called() {
    job(3, SHM, |context| {
        if context.task() == 2 {
            std::thread::sleep(std::time::Duration::from_millis(150));
        }
        let team = Team::world(context).unwrap();
        let request = team.start_barrier().unwrap();
        context.gfence().unwrap();
        request.wait().unwrap();
        let again = Team::world(context).unwrap();
        assert_eq!(sum_of_ranks(&again), 3);
    });
}

#[test]
fn calls_that_differ_are_told_by_name_in_all_members() {
    type Act = fn(&Team, bool) -> Result<(), CollectiveError>;
    let acts: [Act; 5] = [
        |team, odd| if odd { team.barrier() } else { team.all_reduce(&mut [1u8], Operator::Sum) },
        |team, odd| team.all_reduce(&mut vec![0u8; 4 + usize::from(odd)], Operator::Sum),
        |team, odd| team.all_reduce(&mut [1u32], if odd { Operator::Sum } else { Operator::Max }),
        |team, odd| {
            if odd {
                team.all_reduce(&mut [1f32], Operator::Sum)
            } else {
                team.all_reduce(&mut [1u32], Operator::Sum)
            }
        },
        |team, odd| team.all_reduce(&mut vec![0u64; if odd { 4 } else { 40_000 }], Operator::Sum),
    ];
    for act in acts {
        job(3, SHM, move |context| {
            let team = Team::world(context).unwrap();
            let other = Team::world(context).unwrap();
            let failed = act(&team, context.task() == 1);
            assert!(
                matches!(
                    failed,
                    Err(CollectiveError::Mismatch { .. }
                        | CollectiveError::Broken { .. }
                        | CollectiveError::Length { .. })
                ),
                "{failed:?}"
            );
            // The team stays over, another one goes on.
            assert!(team.barrier().is_err());
            assert_eq!(sum_of_ranks(&other), 3);
        });
    }
}

#[test]
fn bad_arguments_are_refused_with_the_numbers() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        let root = team.broadcast(&mut [0u8], 2);
        assert!(matches!(root, Err(CollectiveError::Root { root: 2, members: 2 })), "{root:?}");
        let short = team.all_gather(&[1u32, 2], &mut [0; 3]);
        assert!(matches!(short, Err(CollectiveError::Buffer { needed: 4, given: 3, .. })), "{short:?}");
        let sum = team.all_reduce(&mut [1f32], Operator::BitXor);
        assert!(matches!(sum, Err(CollectiveError::Operator { .. })), "{sum:?}");
        let give = Parts { counts: &[1, 1], starts: &[0, 1] };
        let get = Parts { counts: &[2, 2], starts: &[0, 2] };
        let own = team.all_to_all_v(&[1u8; 2], give, &mut [0u8; 4], get);
        assert!(matches!(own, Err(CollectiveError::OwnPart { given: 1, got: 2, .. })), "{own:?}");
        let parts = team.reduce_scatter(&[1u8], &mut [0u8], &[1], Operator::Sum);
        assert!(matches!(parts, Err(CollectiveError::Parts { given: 1, members: 2 })), "{parts:?}");
        let huge = team.start::<u64>(
            &Call::AllGather { count: usize::MAX / 8 },
            None::<Combine<'static, u64>>,
            vec![],
            vec![],
        );
        assert!(matches!(huge, Err(CollectiveError::Overflow { .. })), "{huge:?}");
        let foreign = Team::of(context, Group::all(3)).map(|_| ());
        assert!(
            matches!(foreign, Err(CollectiveError::Group(GroupError::Foreign { task: 2, .. }))),
            "{foreign:?}"
        );
        // Nothing of that has disturbed anybody.
        assert_eq!(sum_of_ranks(&team), 1);
    });
}

#[test]
fn requests_end_in_any_order_and_by_any_means() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        let none = || None::<Combine<'static, u64>>;
        let me = team.rank() as u64;
        for round in 0..20u64 {
            let long = 30_000;
            let sum = Combine::from(Operator::Sum);
            let first =
                team.start(&Call::AllReduce { count: long }, sum, vec![], vec![me + round; long]).unwrap();
            let second = team.start(&Call::AllGather { count: 1 }, none(), vec![me], vec![0; 3]).unwrap();
            let mut third = team.start_barrier().unwrap();
            let fourth =
                team.start(&Call::Broadcast { root: 1, count: 2 }, none(), vec![], vec![me; 2]).unwrap();
            assert_eq!(fourth.wait().unwrap().1, [1, 1]);
            while !third.test().unwrap() {}
            assert_eq!(block_on(second).unwrap().1, [0, 1, 2]);
            assert!(first.wait().unwrap().1.iter().all(|v| *v == 3 + 3 * round));
        }
    });
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    loop {
        let mut polled = std::task::Context::from_waker(std::task::Waker::noop());
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut polled) {
            return value;
        }
    }
}

#[test]
fn counters_and_functions_are_told_without_a_call() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        for count in [1, 40_000] {
            let counter = Counter::default();
            let sum = Combine::from(Operator::Sum);
            let request = team.start(&Call::AllReduce { count }, sum, vec![], vec![1u32; count]).unwrap();
            // SAFETY: the counter is waited for.
            unsafe { request.count_in(NonNull::from(&counter)) };
            let (tell, told) = std::sync::mpsc::channel();
            let sum = Combine::from(Operator::Sum);
            let request = team.start(&Call::Scan { count }, sum, vec![], vec![1u64; count]).unwrap();
            request.then(move |_, ended| tell.send(ended.unwrap().1).unwrap());
            assert_eq!(context.wait_counter(&counter, 1).unwrap(), 0);
            let mut got = None;
            context
                .wait_until(|| {
                    got = got.take().or_else(|| told.try_recv().ok());
                    got.is_some()
                })
                .unwrap();
            let ranks = context.task() as u64 + 1;
            assert_eq!(got.unwrap(), vec![ranks; count]);
        }
        team.barrier().unwrap();
    });
}

#[test]
fn persistent_operations_run_again_and_again() {
    job(4, SHM, |context| {
        let team = Team::world(context).unwrap();
        let sum = Combine::from(Operator::Sum);
        let mut sum = team.persistent(&Call::AllReduce { count: 3 }, sum, vec![0u64; 3], vec![0; 3]).unwrap();
        for round in 0..500u64 {
            sum.input().unwrap().fill(round + u64::from(context.task()));
            sum.start().unwrap();
            assert!(matches!(sum.start(), Err(CollectiveError::Busy)));
            assert!(sum.input().is_none() && sum.output().is_none());
            if round % 3 == 0 {
                while !sum.test().unwrap() {}
            }
            sum.wait().unwrap();
            assert_eq!(sum.output().unwrap(), [6 + 4 * round; 3]);
        }
    });
}

#[test]
fn results_can_be_made_independent_of_the_way() {
    job(5, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.set_reproducible(true);
        let value = |i: usize| 1.0 / (1.0 + (context.task() as f64) * 0.37 + i as f64);
        let mut long: Vec<f64> = (0..50_000).map(value).collect();
        let mut one = [value(0)];
        team.all_reduce(&mut long, Operator::Sum).unwrap();
        team.all_reduce(&mut one, Operator::Sum).unwrap();
        assert_eq!(long[0].to_bits(), one[0].to_bits());
    });
}

#[test]
fn a_purged_member_ends_its_teams_and_no_others() {
    job(4, UDP, |context: &Context| {
        let all = Team::world(context).unwrap();
        let some = (context.task() < 3).then(|| Team::of(context, Group::all(3)).unwrap());
        // Who is first out of it may purge before the others have left.
        let met = all.barrier();
        assert!(matches!(met, Ok(()) | Err(CollectiveError::Over { task: 0 | 3 })), "{met:?}");
        if context.task() == 0 {
            context.purge(3).unwrap();
            context.resume(3).unwrap();
        }
        let over = all.barrier();
        assert!(matches!(over, Err(CollectiveError::Over { task: 0 | 3 })), "{over:?}");
        if let Some(some) = some {
            assert_eq!(sum_of_ranks(&some), 3);
        }
        context.acknowledge_failure(0);
        context.acknowledge_failure(3);
    });
}
