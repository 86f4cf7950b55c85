//! Teams with a task that was restarted: its new process has not made the teams that the others
//! have made, so that they would count differently.

#![cfg(not(miri))]

use lapis_collectives::{Group, Team};
use lapis_core::sync::{AtomicU32, Ordering};
use lapis_core::{Context, Delivery, HandlerId};
use lapis_testing::Job;
use std::sync::Arc;

const TOLD: HandlerId = HandlerId(1);

/// Makes the team of tasks 0 and 2.
fn pair(context: &Context) -> lapis_collectives::Result<Team> {
    Team::of(context, Group::strided(0, 2, 2).unwrap())
}

/// Waits until another task has said so many things. Waits of the context may fail meanwhile,
/// because a task is gone.
fn wait_for(context: &Context, told: &AtomicU32, times: u32) {
    while told.load(Ordering::Relaxed) < times {
        let _ = context.progress();
    }
}

/// What the processes do that the test starts.
#[test]
fn child() {
    let Ok(mode) = std::env::var("RESTART_TEST") else { return };
    let lives_again = std::env::var("LAPIS_JOB_RESTARTS").is_ok();
    let context = Context::builder()
        .transport(lapis_loopback::table())
        .transport(lapis_udp::table())
        .interrupts(false)
        .on_error(|_, _, _| true)
        .init()
        .unwrap();
    let (me, told) = (context.task(), Arc::new(AtomicU32::new(0)));
    let here = Arc::clone(&told);
    let heard = move |_: &Context, _: &lapis_core::Incoming<'_>| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    };
    context.set_handler(TOLD, heard).unwrap();
    if !lives_again {
        context.gfence().unwrap();
        if mode == "again" && me != 1 {
            pair(&context).unwrap().barrier().unwrap();
        }
        match me {
            0 => context.send(2, TOLD, &[], &[]).unwrap(),
            2 => {
                wait_for(&context, &told, 1);
                std::process::abort();
            }
            _ => {}
        }
        // The new process says that it is there.
        wait_for(&context, &told, 1);
    } else {
        (0..2).for_each(|task| context.send(task, TOLD, &[], &[]).unwrap());
    }
    if me != 1 {
        let made = pair(&context).map_or_else(|e| e.to_string(), |_| "made".to_owned());
        println!("task {me}: {made}");
    }
    if me != 2 {
        // Those that were there before go on.
        Team::of(&context, Group::strided(0, 1, 2).unwrap()).unwrap().barrier().unwrap();
        println!("task {me}: went on");
    }
    assert!(Team::of(&context, Group::strided(me, 1, 1).unwrap()).unwrap().barrier().is_ok());
    let _ = context.terminate();
}

#[test]
fn a_team_with_a_task_that_was_restarted_is_refused_at_once() {
    for mode in ["again", "anew"] {
        let job = Job::new(3).option("--restart=1").var("RESTART_TEST", mode).var("LAPIS_TRANSPORT", "udp");
        let done = job.run(std::env::current_exe().unwrap(), &["child", "--exact", "--nocapture"]);
        let refused = |task: u32| format!("task {task}: collective calls are over: task 2 was restarted");
        for said in [refused(0), refused(2), "task 0: went on".into(), "task 1: went on".into()] {
            assert_eq!(done.out.matches(&said).count(), 1, "{mode}: {said}: {done:?}");
        }
    }
}
