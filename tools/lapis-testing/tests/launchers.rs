//! Jobs that other launchers start on one machine: hydra's `mpiexec` of MPICH 4 and 5 (PMI-1, by
//! descriptor and by port), Open MPI's `mpirun` of 4.1 and of 5, which is PRRTE's (PMIx).
//!
//! What a machine lacks is skipped, and said; `cargo xtask setup` installs it.
//! `LAPIS_TEST_LAUNCHER_CYCLES` says how many times each starts a job, to see that nothing is left.

mod launching;

use lapis_testing::{Patience, Running, WATCHDOG, alive, clean, run};
use launching::*;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

/// Does something with every launcher that is there; its name is in what a failure prints.
fn with_each(act: impl Fn(&Launcher)) {
    for launcher in &LAUNCHERS {
        eprintln!("{}:", launcher.name);
        act(launcher);
    }
}

#[test]
fn tasks_meet_over_every_transport() {
    with_each(|launcher| {
        for (tasks, transport) in [(1, "shm"), (2, "shm"), (2, "udp"), (5, "shm,udp")] {
            let Some(command) = launcher.job(tasks, transport, TASK, &["all-to-all"]) else { break };
            expect_from_all(run(command), tasks);
        }
    });
}

#[test]
fn many_tasks_meet() {
    for launcher in [&LAUNCHERS[0], &LAUNCHERS[4]] {
        if let Some(command) = launcher.job(24, "shm", TASK, &["all-to-all"]) {
            expect_from_all(run(command), 24);
        }
    }
    with_each(|launcher| {
        if let Some(command) = launcher.job(64, "shm", &small_task(), &["exchange", "2"]) {
            assert_eq!(run(command).expect(0).lines_with("done ").len(), 64);
        }
    });
}

#[test]
fn two_jobs_at_once_do_not_meet() {
    with_each(|launcher| {
        let start = || launcher.job(3, "shm,udp", TASK, &["all-to-all"]).map(Running::start);
        let jobs = [start(), start()];
        jobs.into_iter().flatten().for_each(|job| expect_from_all(job.wait(), 3));
    });
}

#[test]
fn exit_codes_come_back_and_a_killed_task_ends_the_job() {
    let small = |launcher: &Launcher, words: &[&str]| launcher.job(3, "shm", &small_task(), words).map(run);
    with_each(|launcher| {
        let Some(done) = small(launcher, &["leave-with", "1", "5"]) else { return };
        done.expect(5);
        small(launcher, &["abort", "2", "7"]).unwrap().expect(7);
        let done = small(launcher, &["fence-without", "1", "kill"]).unwrap();
        assert_ne!(done.code, Some(0), "{done:?}");
    });
}

#[test]
fn lapis_info_says_how_each_task_would_join() {
    let info = lapis_testing::program("lapis-info", "lapis-info").display().to_string();
    with_each(|launcher| {
        let Some(command) = launcher.job(2, "shm", &info, &["--bootstrap"]) else { return };
        let done = run(command).expect(0);
        let way = if launcher.name.starts_with("hydra") { "by PMI-1:" } else { "by PMIx:" };
        for task in 0..2 {
            assert_eq!(done.lines_with(&format!("{way} task {task} of ")).len(), 1, "{done:?}");
        }
    });
}

#[test]
fn no_output_is_lost() {
    with_each(|launcher| {
        let Some(command) = launcher.job(4, "shm", &small_task(), &["pour", "3000"]) else { return };
        let done = run(command).expect(0);
        // Launchers cut what several write at once where they like: bytes are counted, not lines.
        let written = |task: u32| (0..3000).map(move |line| format!("task {task} line {line} end\n").len());
        assert_eq!(done.out.len(), (0..4).flat_map(written).sum::<usize>());
    });
}

#[test]
fn an_interrupted_launcher_leaves_no_task() {
    with_each(|launcher| {
        let Some(command) = launcher.job(4, "shm", &small_task(), &["stay"]) else { return };
        let mut running = Running::start(command);
        let lines = running.read_lines(4);
        let pids: Vec<u32> =
            lines.iter().filter_map(|l| l.strip_prefix("pid ")?.trim().parse().ok()).collect();
        assert_eq!(pids.len(), 4, "{lines:?}");
        // SAFETY: sends a signal to a process that this test has started.
        unsafe { libc::kill(running.id().cast_signed(), libc::SIGINT) };
        let done = running.wait();
        match launcher.interrupted {
            Some(says) => assert!(done.out.contains(says), "{done:?}"),
            None => assert_ne!(done.code, Some(0), "{done:?}"),
        }
        let mut patience = Patience::with_myself(WATCHDOG);
        while let Some(left) = pids.iter().find(|pid| alive(**pid)) {
            assert!(!patience.is_over(), "process {left} was left behind");
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

#[test]
fn jobs_leave_nothing_behind() {
    with_each(|launcher| {
        for cycle in 0..cycles() {
            // Contexts and none, good ends and bad ones, in turn.
            let (program, words, code): (_, &[&str], _) = match cycle % 4 {
                0 => (TASK.to_owned(), &["all-to-all"], 0),
                1 => (small_task(), &["leave-with", "1", "9"], 9),
                2 => (small_task(), &["exchange", "2"], 0),
                _ => (small_task(), &["abort", "0", "5"], 5),
            };
            let Some(mut command) = launcher.job(2, "shm,udp", &program, words) else { return };
            let mark = format!("{}-{cycle}", std::process::id());
            command.env("MARK_OF_A_TEST", &mark);
            run(command).expect(code);
            assert_eq!(left(&mark), Vec::<u32>::new(), "{} after cycle {cycle}: {words:?}", launcher.name);
            assert_eq!(files(), BTreeSet::new(), "{} after cycle {cycle}: {words:?}", launcher.name);
        }
    });
}

/// Has hydra start three tasks more, in the words of PMI-1, and leaves.
const PARENT: &str = r#"
say() { echo "$1" >&$PMI_FD; }
ask() { say "$1"; read -r -u $PMI_FD answer; }
ask 'cmd=init pmi_version=1 pmi_subversion=1'
for line in mcmd=spawn nprocs=3 "execname=$1" totspawns=1 spawnssofar=1 argcnt=1 "arg1=$2" \
    preput_num=0 info_num=0; do say "$line"; done
ask endcmd
echo "parent: $answer"
ask cmd=finalize
"#;

#[test]
fn tasks_that_a_running_program_has_the_launcher_start_are_a_job_of_their_own() {
    for launcher in [&LAUNCHERS[0], &LAUNCHERS[2]] {
        let words = ["-c", PARENT, "bash", TASK, "all-to-all"];
        let Some(command) = launcher.job(1, "shm,udp", "bash", &words) else { continue };
        let done = run(command).expect(0);
        assert_eq!(done.lines_with("all-to-all: 72 messages").len(), 3, "{}: {done:?}", launcher.name);
        assert_eq!(done.lines_with("parent: cmd=spawn_result rc=0").len(), 1, "{}: {done:?}", launcher.name);
    }
}

#[test]
fn a_program_that_no_launcher_has_started_is_alone() {
    let mut command: Command = clean(TASK);
    command.arg("all-to-all");
    common(&mut command, "shm,udp");
    expect_from_all(run(command), 1);
}
