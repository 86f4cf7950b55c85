//! Ports that the time-out closes, or their own program's functions; and ends of programs.

mod common;

use common::{Daemon, compile};
use lapis_testing::clean;

/// A program that was written for GM 1 and provides no buffer loses its port; one written for GM 2
/// keeps it, as `failures.c` checks.
#[test]
fn a_port_of_gm_1_ends_when_no_buffer_comes() {
    let daemon = Daemon::start("ended");
    let mut command = daemon.command("left", &compile("ended"), &[]);
    command.env("LAPIS_GM_TIMEOUT", "0.5").env("LAPIS_GM_OPEN_WAIT", "0.5");
    let done = lapis_testing::run(command).expect(0);
    assert_eq!(done.out, "done\n");
    assert!(done.err.contains("port 2 of board 0 is closed"), "{}", done.err);
}

#[test]
fn what_closes_its_port_is_the_last_to_run() {
    let daemon = Daemon::start("closes");
    let mut command = daemon.command("left", &compile("closes"), &[]);
    // A port that was freed would be taken for another process's, which is said.
    command.env("MALLOC_PERTURB_", "165");
    assert_eq!(lapis_testing::run(command).expect_quiet(0).out, "done\n");
}

/// Whichever way a program ends, its functions run once, the last one first, and are told how.
#[test]
fn functions_run_when_the_program_ends() {
    let program = compile("exits");
    for (way, with, code, status) in [
        ("gm_exit", "0", 0, 0),
        ("gm_exit", "15", 1, 15),
        ("exit", "0", 0, 0),
        ("exit", "7", 7, 1),
        ("return", "0", 0, 0),
        ("return", "3", 3, 1),
    ] {
        let mut command = clean(&program);
        command.args([way, with]);
        let done = lapis_testing::run(command).expect_quiet(code);
        assert_eq!(done.out, format!("first {status}\nlate {status}\nlast {status}\n"), "{way} {with}");
    }
}
