//! TIMEOUT: slow data ends no call, and the member is named that does not call.

mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Operator, Request, Team};
use std::time::{Duration, Instant};
use support::{SHM, Settings, job};

const TIMEOUT: Duration = Duration::from_secs(4);

/// For how long a member holds data up that others wait for.
const SLOW: Duration = Duration::from_secs(10);

/// All data in one message.
const WHOLE: Settings = &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "broadcast=tree")];

/// A long broadcast of task 0's.
fn start(team: &Team, count: usize) -> Request<(Vec<u64>, Vec<u64>)> {
    let nothing: Option<Combine<'static, u64>> = None;
    let words = vec![u64::from(team.context().task()); count];
    team.start(&Call::Broadcast { root: 0, count }, nothing, vec![], words).unwrap()
}

/// The slow task lets data through now and then only, which the others wait for.
fn waits_for_slow_data(settings: Settings, tasks: u32, slow: u32, count: usize) {
    job(tasks, settings, move |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let mut request = start(&team, count);
        if context.task() == slow {
            let since = Instant::now();
            while since.elapsed() < SLOW {
                assert!(!request.test().unwrap(), "{count} words were there after {:?}", since.elapsed());
                // It computes.
                std::thread::sleep(TIMEOUT / 16);
            }
        } else {
            context.set_timeout(TIMEOUT);
        }
        let (_, got) = request.wait().unwrap();
        assert!(got.iter().all(|word| *word == 0));
        context.set_timeout(Duration::from_secs(900));
        team.barrier().unwrap();
    });
}

#[test]
fn data_that_comes_slowly_ends_no_call_of_its_receiver() {
    waits_for_slow_data(WHOLE, 2, 0, 16 << 20);
}

#[test]
fn data_that_is_received_slowly_ends_no_call_of_its_sender() {
    waits_for_slow_data(WHOLE, 2, 1, 16 << 20);
}

/// Only `waiter`, which waits for another one than the member that is late, gives up.
fn names_the_late_one(settings: Settings, tasks: u32, (late, waiter): (u32, u32), call: fn(&Team) -> Ended) {
    job(tasks, settings, move |context| {
        let team = Team::world(context).unwrap();
        let other = Team::world(context).unwrap();
        call(&team).unwrap();
        other.barrier().unwrap();
        if context.task() == late {
            other.barrier().unwrap();
        }
        if context.task() == waiter {
            context.set_timeout(TIMEOUT);
        }
        let ended = call(&team);
        context.set_timeout(Duration::from_secs(900));
        match ended {
            Err(CollectiveError::Silent { task, .. }) if context.task() == waiter => assert_eq!(task, late),
            Err(CollectiveError::Gone { task }) if context.task() != waiter => assert_eq!(task, late),
            // It waits for nobody, or for what is there when the news comes.
            Ok(()) if context.task() != waiter => {}
            ended => panic!("task {}: {ended:?}", context.task()),
        }
        if context.task() != late {
            other.barrier().unwrap();
        }
    });
}

type Ended = Result<(), CollectiveError>;

/// Messages from each member to the next one.
const CHAIN: Settings = &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "broadcast=chain")];

#[test]
fn the_member_is_named_that_has_not_called_and_not_who_waits_for_it() {
    names_the_late_one(CHAIN, 5, (0, 4), |team| team.broadcast(&mut [0u64; 3], 0));
    names_the_late_one(CHAIN, 5, (1, 4), |team| team.broadcast(&mut [0u64; 3], 0));
}

#[test]
fn the_member_is_named_that_has_not_called_where_memory_is_used() {
    let scan: fn(&Team) -> Ended = |team| team.scan(&mut [1u64], Operator::Sum);
    names_the_late_one(SHM, 4, (0, 3), scan);
    names_the_late_one(SHM, 4, (1, 3), |team| {
        let sum = Combine::from(Operator::Sum);
        team.start(&Call::Scan { count: 1 }, Some(sum), vec![1u64], vec![0]).unwrap().wait().map(|_| ())
    });
}

/// Task 0 has not made this call, as it waits in the one before for a member that has not made
/// that.
#[test]
fn who_waits_in_an_earlier_call_is_not_named() {
    names_the_late_one(CHAIN, 4, (3, 1), |team| {
        let mut all = vec![0; if team.rank() == 0 { team.len() } else { 0 }];
        team.gather(&[1u64], &mut all, 0)?;
        team.broadcast(&mut [0u64; 3], 0)
    });
}
