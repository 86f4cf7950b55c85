//! What a team keeps, and what it asks.

use super::wire::{Header, Kind};
use super::{Engine, HANDLER, Held, Members};
use crate::board::tests::support::{SHM, Settings, Stage, UDP, job};
use crate::error::Cause;
use crate::{By, Call, Combine, Operator, Signature, Team, Type};
use lapis_core::message::Short;
use lapis_core::{Context, Delivery, HandlerId};

/// Something of a team, which is looked at under the lock.
fn of<R>(team: &Team, look: impl FnOnce(&Members) -> R) -> R {
    let _held = Held::new(team.context());
    // SAFETY: the lock is held, and the reference ends before it is given back.
    look(unsafe { team.0.members.as_ref() })
}

fn none() -> Option<Combine<'static, u64>> {
    None
}

fn sent(context: &Context) -> u64 {
    context.statistics().total().packets_sent
}

#[test]
fn of_many_early_messages_few_buffers_are_kept() {
    const CALLS: usize = 1000;
    let stage = Stage::default();
    job(2, UDP, move |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        // More than goes with the header, less than waits for its receiver.
        let call = Call::Broadcast { root: 0, count: 100 };
        let start = |word: u64| team.start(&call, none(), vec![], vec![word; 100]).unwrap();
        let started: Vec<_> =
            if context.task() == 0 { (0..CALLS).map(|at| start(at as u64)).collect() } else { vec![] };
        if context.task() == 1 {
            while of(&team, |members| members.early.len()) < CALLS {
                context.progress().unwrap();
            }
            for at in 0..CALLS {
                assert_eq!(start(0).wait().unwrap().1, [at as u64; 100]);
            }
        }
        started.into_iter().for_each(|one| drop(one.wait().unwrap()));
        stage.reach(1);
        assert!(of(&team, |members| members.spare.len()) <= 64);
    });
}

#[test]
fn who_only_sends_waits_now_and_then_for_those_who_receive() {
    const CALLS: usize = 1000;
    let counts = [0, 1, 100];
    let stage = Stage::default();
    job(2, UDP, move |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        // Lengths that go with the header, or behind it.
        let start = |at: usize| {
            let call = Call::Gather { root: 1, count: counts[at % 3] };
            let all = if context.task() == 1 { 2 * counts[at % 3] } else { 0 };
            team.start(&call, none(), vec![at as u64; counts[at % 3]], vec![0; all]).unwrap()
        };
        if context.task() == 0 {
            let mut started: Vec<_> = (0..CALLS).map(start).collect();
            let ended: Vec<bool> = started.iter_mut().map(|one| one.test().unwrap()).collect();
            stage.reach(1);
            let ahead = ended.split(|ended| !ended).map(<[bool]>::len).max();
            assert!(ahead.is_some_and(|ahead| (64..90).contains(&ahead)), "{ahead:?} calls ahead");
            started.into_iter().for_each(|one| drop(one.wait().unwrap()));
        } else {
            while !stage.is_reached(1) {
                context.progress().unwrap();
            }
            for at in 0..CALLS {
                assert_eq!(start(at).wait().unwrap().1, vec![at as u64; 2 * counts[at % 3]]);
            }
        }
    });
}

#[test]
fn messages_for_a_team_that_was_freed_are_not_kept() {
    let stage = Stage::default();
    job(2, UDP, move |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let engine = Engine::of(context).unwrap();
        if context.task() == 0 {
            // A message to whoever may still have it.
            drop(team);
            stage.reach(1);
        } else {
            stage.wait_for(1);
            team.broadcast(&mut [7u64], 1).unwrap();
        }
        context.gfence().unwrap();
        let _held = Held::new(context);
        // SAFETY: the lock is held; the reference ends here.
        assert_eq!(unsafe { engine.inner() }.strays.len(), 0);
    });
}

#[test]
fn numbers_of_teams_are_those_of_their_identifiers() {
    for fingerprint in [0, 1, 0x1234_5678_9abc_def0, u64::MAX] {
        for many in [1, 2, 1000, u64::MAX] {
            assert_eq!(super::number(fingerprint, super::id(fingerprint, many)), many);
        }
    }
}

const CHECKED: Settings = &[("LAPI_USE_SHM", "no"), ("LAPIS_ERROR_CHK", "yes")];

#[test]
fn a_member_is_asked_for_the_first_of_its_messages_alone() {
    let stage = Stage::default();
    job(2, CHECKED, move |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        // Messages that wait for their receiver, one for each segment.
        let (call, none) = (Call::Broadcast { root: 0, count: 1 << 20 }, None::<Combine<'static, u8>>);
        if context.task() == 0 {
            let pending = team.start(&call, none, vec![], vec![7; 1 << 20]).unwrap();
            let before = sent(context);
            let engine = Engine::of(context).unwrap();
            {
                let _held = Held::new(context);
                // SAFETY: the lock is held; the only operation in progress is the team's, and
                // lives.
                unsafe {
                    let (op, team) = engine.inner().active[0];
                    assert!((&(*op.as_ptr()).sends).len() > 10);
                    engine.ask(context, team, op.as_ptr());
                }
            }
            let asked = sent(context) - before;
            stage.reach(1);
            pending.wait().unwrap();
            assert_eq!(asked, 1);
        } else {
            stage.wait_for(1);
            let (_, got) = team.start(&call, none, vec![], vec![0; 1 << 20]).unwrap().wait().unwrap();
            assert!(got.iter().all(|byte| *byte == 7));
        }
    });
}

#[test]
fn operations_that_are_kept_have_little_memory() {
    job(2, UDP, |context| {
        let team = Team::world(context).unwrap();
        for count in (1..=8).map(|more| (1 << 20) + more) {
            let mut sums = vec![1u64; count];
            team.all_reduce(&mut sums, Operator::Sum).unwrap();
            assert!(sums.iter().all(|sum| *sum == 2));
        }
        let _held = Held::new(context);
        // SAFETY: the lock is held; the reference ends here.
        let kept = unsafe { &*team.0.kept.get() };
        let bytes: usize = kept.iter().map(|(_, op)| op.holds()).sum();
        assert!(bytes <= 15 << 20 && !kept.is_empty(), "{bytes} bytes of {} operations", kept.len());
    });
}

/// A message of a test, whose arrival is all that matters.
const SIGN: HandlerId = HandlerId(7);

/// Task 0 tells of a failure while the way to task 1 is full, and so takes in what task 2 has to
/// tell of the same one.
#[test]
fn a_call_that_fails_ends_when_all_have_been_told() {
    let (stage, ended, early) = (Stage::default(), Stage::default(), Stage::default());
    job(3, SHM, move |context| {
        let (arrives, is_ended, is_early) = (stage.clone(), ended.clone(), early.clone());
        let sign = move |_: &Context, _: &lapis_core::Incoming<'_>| {
            if is_ended.is_reached(1) {
                is_early.reach(1);
            }
            arrives.reach(3);
            Delivery::bury()
        };
        context.set_handler(SIGN, sign).unwrap();
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let (engine, members) = (Engine::of(context).unwrap(), team.0.members);
        match context.task() {
            0 => {
                let (op, key) = team.prepare(&Call::Barrier, Type::U8, By::Nothing).unwrap();
                let (ended, then) = (ended.clone(), ended.clone());
                // SAFETY: a barrier has no buffers; nobody else has it.
                unsafe {
                    team.begin(&Call::Barrier, op, std::ptr::null(), std::ptr::null_mut());
                    team.let_go(op, key, move |_, _| then.reach(1));
                }
                let id = of(&team, |members| members.id);
                let nudge = Header { team: id, number: 0, kind: Kind::Nudge, tag: 0, signature: 0 }.bytes();
                // SAFETY: the bytes are copied before the call returns.
                while unsafe { context.try_send_short(&Short::plain(1, HANDLER, &nudge)) } {}
                stage.reach(1);
                stage.wait_for(2);
                {
                    let _held = Held::new(context);
                    // SAFETY: the lock is held; the operation has not ended.
                    unsafe {
                        (*op.as_ptr()).failure = Some(Cause::Gone(1).error());
                        engine.advance_all(context);
                    }
                }
                context.wait_until(|| ended.is_reached(1)).unwrap();
                assert!(!early.is_reached(1), "it ended while others were told");
            }
            1 => stage.wait_for(3),
            _ => {
                stage.wait_for(1);
                {
                    let _held = Held::new(context);
                    // SAFETY: the lock is held; the team lives.
                    unsafe { engine.spread(context, members, Cause::Gone(1), (0, Signature(0)), None) };
                }
                // SAFETY: the bytes are copied before the call returns.
                while !unsafe { context.try_send_short(&Short::plain(0, SIGN.0.into(), &[0; 8])) } {
                    context.progress().unwrap();
                }
                stage.reach(2);
            }
        }
    });
}
