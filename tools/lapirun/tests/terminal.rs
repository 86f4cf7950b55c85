//! What a user at a terminal sees: `script` gives the launcher a terminal of its own.

mod common;

use common::*;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A job of two whose second task joins when a file is there; on a terminal, or with pipes.
///
/// `None`, and a line that says so, where no program makes terminals.
fn job(gate: &Path, terminal: bool) -> Option<Command> {
    let wait =
        "while [ $MP_CHILD = 1 ] && ! [ -e \"$GATE\" ]; do sleep 0.02; done; exec \"$TASK\" exchange 1";
    if !terminal {
        let mut command = lapirun();
        command.args(["-n", "2", "sh", "-c", wait]).env("GATE", gate).env("TASK", TASK);
        return Some(command);
    }
    if !clean("script").arg("--version").output().is_ok_and(|done| done.status.success()) {
        eprintln!("SKIP: script is not installed (Debian: bsdutils)");
        return None;
    }
    let mut command = clean("script");
    command.args(["--quiet", "--return", "--command", "exec \"$LAPIRUN\" -n 2 sh -c \"$WAIT\"", "/dev/null"]);
    command.env("LAPIRUN", env!("CARGO_BIN_EXE_lapirun")).env("WAIT", wait);
    command.env("GATE", gate).env("TASK", TASK).env("SHELL", "/bin/sh");
    Some(command)
}

#[test]
fn a_start_that_takes_longer_than_a_second_is_told_on_a_terminal() {
    let gate = lapis_testing::scratch("gate");
    let Some(command) = job(&gate, true) else { return };
    let mut running = Running::start(command);
    // It comes while a task is missing, or never.
    running.read_line("lapirun: starting: 2 of 2 tasks run, ");
    std::fs::write(&gate, "").unwrap();
    let done = running.wait().expect(0);
    std::fs::remove_file(&gate).unwrap();
    assert_eq!(done.lines_with("done ").len(), 2, "{done:?}");
}

#[test]
fn a_quick_start_is_not_told_on_a_terminal() {
    let gate = lapis_testing::scratch("gate");
    std::fs::create_dir_all(gate.parent().unwrap()).unwrap();
    std::fs::write(&gate, "").unwrap();
    let Some(command) = job(&gate, true) else { return };
    let started = Instant::now();
    let done = run(command).expect(0);
    // On a busy machine it may have taken longer, and then the line is right.
    let quick = started.elapsed() < Duration::from_secs(1);
    std::fs::remove_file(&gate).unwrap();
    assert_eq!(done.lines_with("done ").len(), 2, "{done:?}");
    assert!(!quick || done.lines_with("starting").is_empty(), "{done:?}");
}

#[test]
fn a_long_start_is_not_told_where_nobody_looks() {
    let gate = lapis_testing::scratch("gate");
    let running = Running::start(job(&gate, false).unwrap());
    std::thread::sleep(Duration::from_millis(1500));
    std::fs::create_dir_all(gate.parent().unwrap()).unwrap();
    std::fs::write(&gate, "").unwrap();
    running.wait().expect_quiet(0);
    std::fs::remove_file(&gate).unwrap();
}
