//! Jobs that start and end, again and again, and leave nothing behind.
//!
//! `LAPIS_TEST_CYCLES` says how many on this machine, `LAPIS_TEST_LAUNCHER_CYCLES` how many by ssh
//! (`cargo xtask test --nightly` sets ten thousand each).

mod common;

use common::sshd::Server;
use common::*;
use std::collections::BTreeSet;

/// What could be left: sockets without a file, shared memory, temporary files, processes.
fn traces() -> BTreeSet<String> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut all: BTreeSet<String> =
        sockets.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect();
    all.retain(|name| name.starts_with("@lapis-"));
    for folder in ["/dev/shm", "/tmp"] {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        all.extend(names.filter(|n| n.starts_with("lapi")).map(|n| format!("{folder}/{n}")));
    }
    all
}

/// Those of a launcher with this process number. What was there `before` is of an earlier process
/// with the number: numbers come back after some thousand jobs.
fn of_launcher(pid: u32, before: &BTreeSet<String>) -> Vec<String> {
    // A job's name begins with its launcher's process: `@lapis-PID-…`, `@lapis-shm.PID-…`.
    let of_it = |name: &str| ["-", "."].iter().any(|sign| name.contains(&format!("{sign}{pid}-")));
    traces().difference(before).filter(|name| of_it(name)).cloned().collect()
}

/// Processes whose job is one of a launcher with this process number.
fn processes_of(pid: u32) -> Vec<u32> {
    let job = format!("LAPIS_JOB_ID={pid}-");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let belongs = |process: &u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(job.as_bytes()))
    };
    all.filter(belongs).collect()
}

/// What a job does and with which code it ends: good ends, bad ends, deaths and aborts in turn.
fn end(cycle: u32) -> (&'static [&'static str], i32) {
    match cycle % 4 {
        0 => (&["exchange", "2"], 0),
        1 => (&["exit-of", "1", "9"], 9),
        2 => (&["fence-without", "1", "kill"], 137),
        _ => (&["abort", "0", "5"], 5),
    }
}

#[test]
fn jobs_leave_nothing_behind() {
    let cycles = std::env::var("LAPIS_TEST_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(30);
    for cycle in 0..cycles {
        let mut command = lapirun();
        command.args(["-n", "3", "--grace", "0.1"]);
        let (words, code) = end(cycle);
        command.arg(TASK).args(words);
        let before = traces();
        let running = Running::start(command);
        let pid = running.id();
        running.wait().expect(code);
        assert_eq!(of_launcher(pid, &before), Vec::<String>::new(), "after cycle {cycle}: {words:?}");
        assert_eq!(processes_of(pid), Vec::<u32>::new(), "after cycle {cycle}: {words:?}");
    }
}

/// Processes that have come by a server of ssh: agents and their tasks.
fn through(server: &Server) -> Vec<u32> {
    let port = format!(" {}", server.port());
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let belongs = |process: &u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let variables = String::from_utf8_lossy(&environment).into_owned();
        variables.split('\0').any(|one| one.starts_with("SSH_CONNECTION=") && one.ends_with(&port))
    };
    all.filter(belongs).collect()
}

#[test]
fn jobs_over_ssh_leave_nothing_behind() {
    let hosts = ["127.0.0.1", "127.0.0.2"].map(str::to_owned);
    let Some(server) = Server::start("cycles", &[(None, hosts.to_vec())], &[]) else { return };
    let cycles = std::env::var("LAPIS_TEST_LAUNCHER_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    for cycle in 0..cycles {
        let mut command = lapirun();
        command.env("LAPIS_REMOTE", server.remote("user", "known")).env_remove("SSH_AUTH_SOCK");
        command.args(["-H", "127.0.0.1:1,127.0.0.2:1", "--address", "127.0.0.1", "--grace", "0.1"]);
        let (words, code) = end(cycle);
        command.arg(TASK).args(words);
        let before = traces();
        let running = Running::start(command);
        let pid = running.id();
        running.wait().expect(code);
        // An agent may end a moment after its launcher.
        await_death(&through(&server));
        assert_eq!(of_launcher(pid, &before), Vec::<String>::new(), "after cycle {cycle}: {words:?}");
    }
}
