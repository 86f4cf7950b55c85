//! Jobs that hang, and what the launcher's roll call says of them.
//!
//! `LAPIS_TEST_HANGS=10` takes ten seeds of each kind, for a hundred hangs and more.

use lapis_testing::{Job, Running, joined};
use std::time::Duration;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

const TASKS: u32 = 3;

fn seeds() -> u32 {
    std::env::var("LAPIS_TEST_HANGS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn signal(running: &Running, signal: i32) {
    // SAFETY: sends a signal to a process that this test has started.
    unsafe { libc::kill(running.id().cast_signed(), signal) };
}

/// The roll call of a job that hangs in some way, and has had so long to come to it.
fn roll_call(transport: &str, kind: &str, seed: u32, after: Duration) -> String {
    let job = Job::new(TASKS).option("--keep-going").var("LAPIS_TRANSPORT", transport);
    let job = job.var("MP_TIMEOUT", "600");
    let mut running = Running::start(joined(&job.command(TASK, &["hang", kind, &seed.to_string()])));
    running.read_lines(TASKS as usize);
    // What is a moment must not look like a hang: the launcher tells what has lasted.
    std::thread::sleep(after);
    signal(&running, libc::SIGUSR1);
    running.read_line("roll call of 3 tasks");
    signal(&running, libc::SIGTERM);
    std::thread::sleep(Duration::from_millis(50));
    signal(&running, libc::SIGTERM);
    running.wait().out
}

/// Hangs in one way with all seeds; `says` gives what the picture must contain, for the task at
/// fault and the next one.
fn each(transport: &str, kind: &str, says: impl Fn(u32, u32) -> Vec<String>) {
    for seed in 0..seeds() {
        // Not the first task for the first seed: it is often a special one.
        let seed = seed + 1;
        let at_fault = seed % TASKS;
        let parts = says(at_fault, (at_fault + 1) % TASKS);
        // On a machine with much else to do a job needs longer until it hangs, and who tries again
        // and again may be between two tries.
        let mut tries = [2.5, 10.0, 40.0, 40.0, 40.0].map(Duration::from_secs_f64).into_iter().peekable();
        while let Some(after) = tries.next() {
            let picture = roll_call(transport, kind, seed, after);
            let Some(part) = parts.iter().find(|part| !picture.contains(*part)) else { break };
            assert!(tries.peek().is_some(), "{kind}, seed {seed}: no {part:?} in:\n{picture}");
        }
    }
}

#[test]
fn a_message_that_nobody_sends() {
    each("shm", "missing-send", |_, next| {
        vec![
            format!("=> task {next}: nobody has sent what its counter waits for"),
            format!("=> laggard: task {next} has not come to the barrier: it waits for a counter"),
        ]
    });
}

#[test]
fn tasks_that_wait_in_a_ring() {
    each("shm", "crossed-waits", |_, _| {
        vec!["=> cycle: each waits for the next: 0 -> 1 -> 2 -> 0".into(), "=> deadlock".into()]
    });
}

#[test]
fn locks_that_two_tasks_take_in_turn() {
    each("shm", "crossed-locks", |a, b| {
        vec![
            "tries again and again to change the variable at".into(),
            format!("=> crossed locks: each waits for the next: {0} -> {1} -> {0}", a.min(b), a.max(b)),
        ]
    });
}

#[test]
fn a_message_that_counts_another_counter() {
    each("shm", "wrong-counter", |at_fault, _| {
        vec![format!("=> task {at_fault}: something came from task"), "another counter?".into()]
    });
}

#[test]
fn a_wait_for_one_message_too_many() {
    each("shm", "wrong-value", |at_fault, _| {
        vec![format!("=> task {at_fault}: 1 of 2 came and nothing else is under way")]
    });
}

#[test]
fn a_task_that_has_gone() {
    each("shm", "dead-peer", |at_fault, next| {
        vec![
            format!("task {at_fault} (process "),
            "has gone: exited with status 5".into(),
            format!("task {next} (process "),
            "waits for a condition".into(),
            format!("=> task {at_fault} has gone: what others wait for"),
        ]
    });
}

#[test]
fn a_task_that_computes() {
    each("shm", "computes", |at_fault, _| {
        vec![format!(
            "=> laggard: task {at_fault} has not come to the barrier: it is in no call of Lapis: it computes"
        )]
    });
}

#[test]
fn a_task_that_sleeps_elsewhere() {
    each("shm", "blocked-outside", |at_fault, _| {
        vec![format!(
            "=> laggard: task {at_fault} has not come to the barrier: it is in no call of Lapis: it sleeps"
        )]
    });
}

#[test]
fn a_task_that_is_stopped() {
    each("shm", "stopped", |at_fault, _| {
        vec![format!("=> laggard: task {at_fault} has not come to the barrier: it is stopped")]
    });
}

#[test]
fn a_task_that_waits_in_another_call() {
    each("shm", "no-fence", |at_fault, _| {
        vec![format!("=> laggard: task {at_fault} has not come to the barrier: it waits for a counter")]
    });
}

#[test]
fn a_handler_that_never_returns() {
    each("shm", "slow-handler", |at_fault, _| {
        vec![format!("=> laggard: task {at_fault}"), "a handler of the program".into()]
    });
}

#[test]
fn a_handler_that_waits() {
    each("shm", "waiting-handler", |_, _| {
        vec![
            "waits for a counter, in a completion handler, for".into(),
            "completion of a message or put".into(),
        ]
    });
}

#[test]
fn a_rail_that_is_lost() {
    each("udp", "lost-rail", |at_fault, next| {
        vec!["=> lost rail udp/0: no acknowledgement on".into(), format!("{next} -> {at_fault}")]
    });
}
