//! Members that are purged while data of theirs is on its way: nobody waits for the rest of it, and
//! nobody who gets data of others gives its memory back before all of it has come.

mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Edge, Group, Request, Team};
use lapis_core::stats::Path;
use lapis_core::{Context, Delivery, HandlerId};
use std::time::Duration;
use support::{SHM, Stage, UDP, job};

/// Bytes that do not arrive at once.
const LONG: usize = 16 << 20;

type Pending = Request<(Vec<u8>, Vec<u8>)>;

/// Makes progress until some of the data has come, and not all.
fn come_half_way(context: &Context, pending: &mut Pending) {
    let received = || context.statistics().path(Path::Network).packets_received;
    let before = received();
    while received() < before + 50 {
        assert!(!pending.test().unwrap(), "{LONG} bytes in fewer than 50 packets");
    }
}

fn is_over(ended: Result<(), CollectiveError>) {
    let told = matches!(ended, Err(CollectiveError::Over { .. } | CollectiveError::Gone { .. }));
    assert!(told, "{ended:?}");
}

/// Task 0 gives long data in a single message, and task 1 gets it.
fn give(team: &Team) -> Pending {
    let (me, edge) = (team.rank(), |member| [Edge { member, start: 0, len: LONG }]);
    let none = None::<Combine<'static, u8>>;
    let started = match me {
        0 => team.start(&Call::Neighbours { from: &[], to: &edge(1) }, none, vec![7; LONG], vec![]),
        1 => team.start(&Call::Neighbours { from: &edge(0), to: &[] }, none, vec![], vec![9; LONG]),
        _ => team.start(&Call::Neighbours { from: &[], to: &[] }, none, vec![], vec![]),
    };
    started.unwrap()
}

/// Half way through `purger` purges the other one.
fn purged_half_way(purger: u32) {
    let stage = Stage::default();
    job(2, UDP, move |context| {
        let stage = stage.clone();
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let (me, other) = (context.task(), 1 - context.task());
        let mut pending = give(&team);
        if me == 1 {
            come_half_way(context, &mut pending);
            stage.reach(1);
        } else {
            while !stage.is_reached(1) {
                assert!(!pending.test().unwrap(), "all of it has gone");
            }
        }
        if me == purger {
            context.purge(other).unwrap();
            context.resume(other).unwrap();
            stage.reach(2);
        } else {
            stage.wait_for(2);
        }
        is_over(pending.wait().map(|_| ()));
        is_over(team.barrier());
        context.acknowledge_failure(other);
    });
}

#[test]
fn who_waits_for_the_rest_of_data_from_a_member_that_was_purged_is_told() {
    purged_half_way(1);
    purged_half_way(0);
}

/// Task 1 gets long data of task 0 in a call that fails, and purges somebody else.
#[test]
fn a_failed_call_whose_data_is_on_its_way_does_not_end_when_somebody_else_is_purged() {
    let stage = Stage::default();
    job(4, UDP, move |context| {
        let stage = stage.clone();
        let me = context.task();
        let team = (me < 3).then(|| Team::of(context, Group::all(3)).unwrap());
        Team::world(context).unwrap().barrier().unwrap();
        match (me, team) {
            (0, Some(team)) => {
                let mut pending = give(&team);
                while !stage.is_reached(1) {
                    assert!(!pending.test().unwrap(), "all of it has gone");
                }
                stage.wait_for(2);
                // It may have gone before this member hears of the failure.
                let _ = pending.wait();
            }
            (1, Some(team)) => {
                let mut pending = give(&team);
                come_half_way(context, &mut pending);
                stage.reach(1);
                let mut next = team.start_barrier().unwrap();
                while next.test().is_ok() {}
                context.purge(3).unwrap();
                context.resume(3).unwrap();
                for _ in 0..1000 {
                    assert!(matches!(pending.test(), Ok(false)), "its memory is still written");
                }
                stage.reach(2);
                assert!(pending.wait().is_err());
            }
            (2, Some(team)) => {
                stage.wait_for(1);
                // Another call than that of the others, which this one waits for nobody to say.
                let _ = team.broadcast(&mut [0u8], 2);
            }
            _ => {}
        }
        (0..4).filter(|task| *task != me).for_each(|task| context.acknowledge_failure(task));
    });
}

const MESSAGE: HandlerId = HandlerId(9);

/// Task 1 computes for longer than TIMEOUT of task 0, which loses it.
#[test]
fn a_member_that_fell_silent_has_not_left_and_can_be_talked_to_again() {
    let stage = Stage::default();
    job(2, SHM, move |context| {
        let stage = stage.clone();
        context.set_handler(MESSAGE, |_, _| Delivery::bury()).unwrap();
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        if context.task() == 1 {
            stage.wait_for(1);
            context.wait_until(|| stage.is_reached(2)).unwrap();
            return;
        }
        context.set_timeout(Duration::from_secs(1));
        context.send(1, MESSAGE, &[], &[]).unwrap();
        assert!(context.fence().is_err());
        context.set_timeout(Duration::from_secs(900));
        assert!(context.reachable(1).is_err() && !context.has_left(1));
        stage.reach(1);
        drop(team);
        context.purge(1).unwrap();
        context.resume(1).unwrap();
        context.acknowledge_failure(1);
        context.send(1, MESSAGE, &[], &[]).unwrap();
        context.fence().unwrap();
        stage.reach(2);
    });
}
