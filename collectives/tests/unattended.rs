//! Requests that nobody waits for at present: they go on while their thread waits for something
//! else, and end when a member is silent for too long.

mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Operator, Persistent, Request, Team};
use lapis_core::message::PutArgs;
use lapis_core::{Context, Counter, Delivery, HandlerId, Incoming, Notify, Source};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use support::{SHM, Settings, Stage, UDP, interrupted_job, job, sleep_on};

fn start(team: &Team, count: usize) -> Request<(Vec<f64>, Vec<f64>)> {
    let sum: Option<Combine<'static, f64>> = Some(Operator::Sum.into());
    team.start(&Call::AllReduce { count }, sum, vec![1.0; count], vec![0.0; count]).unwrap()
}

/// What a task waits for while its request is in progress, and how the other one brings it about.
type Wait = fn(&Context, &Team, &Counter);
type Act = fn(&Context, &Team, u64);

fn wait_for_counter(context: &Context, _: &Team, counter: &Counter) {
    context.wait_counter(counter, 1).unwrap();
}

fn put_to_counter(context: &Context, _: &Team, counter: u64) {
    let nothing = [0u8; 8];
    // SAFETY: the counter is waited for; what is put has no bytes.
    unsafe {
        let put = PutArgs {
            target: 1,
            remote: counter,
            source: Source::Contiguous(nothing.as_ptr(), 0),
            target_counter: counter,
            origin: Notify::None,
            completion: Notify::None,
            checked: false,
        };
        context.put(put).unwrap();
    }
}

fn wait_for_another(context: &Context, team: &Team, counter: &Counter) {
    let request = team.start_barrier().unwrap();
    // SAFETY: the counter is waited for.
    unsafe { request.count_in(NonNull::from(counter)) };
    context.wait_counter(counter, 1).unwrap();
}

fn wait_for_condition(context: &Context, _: &Team, counter: &Counter) {
    context.wait_until(|| counter.value() == 1).unwrap();
}

fn fence(context: &Context) {
    context.gfence().unwrap();
}

fn goes_on(settings: Settings, count: usize, wait: Wait, act: Act) {
    job(2, settings, move |context| {
        let team = Team::world(context).unwrap();
        let counter = Counter::default();
        let mut addresses = [0; 2];
        team.all_gather(&[(&raw const counter).expose_provenance() as u64], &mut addresses).unwrap();
        for _ in 0..2 {
            if context.task() == 0 {
                let mut all = vec![1.0; count];
                team.all_reduce(&mut all, Operator::Sum).unwrap();
                assert_eq!(all, vec![2.0; count]);
                act(context, &team, addresses[1]);
            } else {
                let request = start(&team, count);
                wait(context, &team, &counter);
                assert_eq!(request.wait().unwrap().1, vec![2.0; count]);
            }
        }
        team.barrier().unwrap();
    });
}

#[test]
fn a_request_goes_on_while_its_thread_waits_for_something_that_depends_on_it() {
    for settings in [SHM, UDP] {
        for count in [1, 1_000_000] {
            goes_on(settings, count, wait_for_counter, put_to_counter);
            goes_on(settings, count, wait_for_condition, put_to_counter);
            goes_on(settings, count, |context, _, _| fence(context), |context, _, _| fence(context));
            goes_on(settings, count, wait_for_another, |_, team, _| team.barrier().unwrap());
        }
    }
}

/// A task looks after a request whose other members do not call for longer than TIMEOUT.
fn gives_up(settings: Settings, interrupts: bool, look: fn(&Context, &Team) -> CollectiveError) {
    let body = move |context: &Context| {
        let team = Team::world(context).unwrap();
        let other = Team::world(context).unwrap();
        team.barrier().unwrap();
        other.barrier().unwrap();
        if context.task() == 0 {
            context.set_timeout(Duration::from_secs(1));
            let ended = look(context, &team);
            context.set_timeout(Duration::from_secs(900));
            assert!(matches!(ended, CollectiveError::Silent { task: 1, seconds: 1, .. }), "{ended:?}");
        }
        other.barrier().unwrap();
    };
    if interrupts { interrupted_job(2, settings, body) } else { job(2, settings, body) }
}

const MESSAGE: HandlerId = HandlerId(9);

/// What a handler does with an operation in progress.
type Handle = fn(&Mutex<Option<Pending>>);

enum Pending {
    Once(Request<(Vec<f64>, Vec<f64>)>),
    Kept(Persistent<f64>),
}

fn handled(settings: Settings, keeps: bool, handle: Handle) {
    const COUNT: usize = 200_000;
    let stage = Stage::default();
    job(2, settings, move |context| {
        let team = Team::world(context).unwrap();
        let pending: Arc<Mutex<Option<Pending>>> = Arc::default();
        let (kept, reached) = (Arc::clone(&pending), stage.clone());
        let handler = move |_: &Context, _: &Incoming<'_>| {
            handle(&kept);
            reached.reach(2);
            Delivery::bury()
        };
        context.set_handler(MESSAGE, handler).unwrap();
        team.barrier().unwrap();
        if context.task() == 0 {
            *pending.lock().unwrap() = Some(if keeps {
                let sum = Combine::from(Operator::Sum);
                let call = Call::AllReduce { count: COUNT };
                let mut kept = team.persistent(&call, sum, vec![1.0; COUNT], vec![0.0; COUNT]).unwrap();
                kept.start().unwrap();
                Pending::Kept(kept)
            } else {
                Pending::Once(start(&team, COUNT))
            });
            stage.reach(1);
        } else {
            // To begin an operation looks at messages, too.
            context.wait_until(|| stage.is_reached(1)).unwrap();
            context.send(0, MESSAGE, &[], &[]).unwrap();
        }
        context.wait_until(|| stage.is_reached(2)).unwrap();
        if context.task() == 1 {
            let mut all = vec![1.0; COUNT];
            team.all_reduce(&mut all, Operator::Sum).unwrap();
            assert_eq!(all, vec![2.0; COUNT]);
        }
        // Nothing of it has ended the team.
        team.barrier().unwrap();
    });
}

#[test]
fn an_operation_that_a_handler_waits_for_or_drops_goes_on() {
    let waits: Handle = |pending| match pending.lock().unwrap().take() {
        Some(Pending::Once(request)) => assert!(request.wait().is_err()),
        Some(Pending::Kept(mut kept)) => assert!(kept.wait().is_err()),
        None => panic!("the message came first"),
    };
    let drops: Handle = |pending| drop(pending.lock().unwrap().take());
    for settings in [SHM, UDP] {
        for keeps in [false, true] {
            handled(settings, keeps, waits);
            handled(settings, keeps, drops);
        }
    }
}

/// Calls that come one after the other, each in time, while a member waits for the last of them.
#[test]
fn who_waits_for_longer_than_timeout_while_members_go_on_is_told_of_no_silence() {
    const CALLS: u32 = 10;
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        let other = Team::world(context).unwrap();
        team.barrier().unwrap();
        other.barrier().unwrap();
        if context.task() == 0 {
            context.set_timeout(Duration::from_secs(4));
            let mut all: Vec<_> = (0..CALLS).map(|_| start(&team, 3)).collect();
            all.pop().unwrap().wait().unwrap();
            context.set_timeout(Duration::from_secs(900));
        } else {
            for _ in 0..CALLS {
                let next = Instant::now() + Duration::from_millis(600);
                context.wait_until(|| Instant::now() >= next).unwrap();
                team.all_reduce(&mut [1.0; 3], Operator::Sum).unwrap();
            }
        }
        other.barrier().unwrap();
    });
}

#[test]
fn a_request_ends_when_a_member_is_silent_for_too_long_whoever_looks_after_it() {
    fn tests(_: &Context, team: &Team) -> CollectiveError {
        let mut request = start(team, 3);
        loop {
            match request.test() {
                Ok(ended) => assert!(!ended),
                Err(e) => {
                    // It has failed for good.
                    assert!(matches!(request.test(), Err(CollectiveError::Gone { task: 1 })));
                    assert!(matches!(request.wait(), Err(CollectiveError::Gone { task: 1 })));
                    return e;
                }
            }
        }
    }
    fn is_told(context: &Context, team: &Team) -> CollectiveError {
        let (tell, told) = mpsc::channel();
        start(team, 3).then(move |_, ended| tell.send(ended.map(|_| ())).unwrap());
        let mut got = None;
        let mut look = || {
            got = got.take().or_else(|| told.try_recv().ok());
            got.is_some()
        };
        context.wait_until(&mut look).unwrap();
        got.unwrap().unwrap_err()
    }
    fn awaits(_: &Context, team: &Team) -> CollectiveError {
        sleep_on(start(team, 3)).unwrap_err()
    }
    for settings in [SHM, UDP] {
        gives_up(settings, false, tests);
        gives_up(settings, false, is_told);
        gives_up(settings, true, awaits);
    }
}
