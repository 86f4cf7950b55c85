//! Jobs through the real `ssh`, to a server that the test itself starts: on loopback addresses that
//! stand for two machines, or in network namespaces that stand for four, with keys, configuration
//! and port of its own, and as the user who runs the tests. Nothing of the system's or the user's
//! is changed.

mod common;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;

use common::sshd::Server;
use common::*;
use lapis_testing::Net;
use rustix::process::Signal;

/// What stands for two machines, and one where nobody listens.
const NEAR: &str = "127.0.0.1";
const FAR: &str = "127.0.0.2";
const NOWHERE: &str = "127.0.0.3";

/// A server for the two machines.
fn server(test: &str) -> Option<Server> {
    Server::start(test, &[(None, vec![NEAR.to_owned(), FAR.to_owned()])], &[NOWHERE.to_owned()])
}

/// A job with so many tasks on each of these.
fn job_on(server: &Server, hosts: &str) -> Command {
    let mut command = lapirun();
    command.env("LAPIS_REMOTE", server.remote("user", "known"));
    command.env_remove("SSH_AUTH_SOCK").args(["-H", hosts, "--address", NEAR]);
    command
}

fn both(server: &Server, program: &[&str]) -> Command {
    let mut command = job_on(server, &format!("{NEAR}:1,{FAR}:1"));
    command.args(program);
    command
}

#[test]
fn tasks_meet_and_find_folder_and_variables_of_the_launcher() {
    let Some(server) = server("environment") else { return };
    let done = run(both(&server, &[TASK, "exchange", "10"])).expect_quiet(0);
    assert_eq!(done.sorted(), ["done 0", "done 1"]);

    let folder = server.path("a folder");
    std::fs::create_dir(&folder).expect("a folder");
    let script =
        "set -- $SSH_CONNECTION; echo \"$MP_CHILD of $MP_PROCS on $3 in $PWD: $OWN, $MP_ACK_THRESH\"";
    let mut command = job_on(&server, &format!("{NEAR}:1,{FAR}:2"));
    command.args(["-x", "OWN=it's \"$HOME\" ; *", "sh", "-c", script]);
    let done = run({
        command.current_dir(&folder).env("MP_ACK_THRESH", "17");
        command
    })
    .expect_quiet(0);
    let line = |task: u32, host: &str| {
        format!("{task} of 3 on {host} in {}: it's \"$HOME\" ; *, 17", folder.display())
    };
    assert_eq!(done.sorted(), [line(0, NEAR), line(1, FAR), line(2, FAR)]);
    // Nothing is said on the command lines that everybody can read: not even the job's variables.
    let done = run(both(&server, &["sh", "-c", "tr '\\0' ' ' < /proc/$PPID/cmdline; echo"])).expect_quiet(0);
    assert!(done.out.lines().all(|line| line.trim_end().ends_with("lapirun --agent")), "{done:?}");
}

#[test]
fn exit_codes_come_back_with_the_name_of_the_host() {
    let Some(server) = server("codes") else { return };
    run(both(&server, &[TASK, "exit-of", "1", "5"])).expect(5);
    let done = run(both(&server, &[TASK, "fence-without", "1", "kill"])).expect(137);
    assert!(done.err.contains("task 1 (process") && done.err.contains(&format!("on {FAR})")), "{done:?}");
    let done = run(both(&server, &["no-such-program-anywhere"])).expect(127);
    assert!(done.err.contains("not found"), "{done:?}");
    let done = run(both(&server, &["seq", "20000"])).expect_quiet(0);
    assert_eq!(done.out.lines().count(), 40_000);
}

#[test]
fn signals_go_there_and_a_dead_launcher_leaves_nothing() {
    let Some(server) = server("signals") else { return };
    let script = "trap 'echo got; exit 0' USR2; echo ready; while :; do sleep 0.05; done";
    let mut job = Running::start(both(&server, &["sh", "-c", script]));
    assert_eq!(job.read_lines(2), ["ready"; 2]);
    send_signal(&job, Signal::USR2);
    assert_eq!(job.wait().expect(0).sorted(), ["got", "got", "ready", "ready"]);

    for (signal, code) in [(Signal::TERM, Some(143)), (Signal::KILL, None)] {
        let mut job = Running::start(both(&server, &[TASK, "linger"]));
        let left = pids(&job.read_lines(6));
        assert_eq!(left.len(), 4);
        send_signal(&job, signal);
        assert_eq!(job.wait().code, code);
        await_death(&left);
    }
}

#[test]
fn hosts_that_do_not_let_us_in_are_named_with_what_ssh_says() {
    let Some(server) = server("refused") else { return };
    let job = |hosts: &str, remote: &str| {
        let mut command = job_on(&server, hosts);
        command.args(["--remote", remote, "true"]);
        run(command)
    };
    let right = server.remote("user", "known");
    let done = job(&format!("{NEAR},{NOWHERE}"), &right);
    assert!(done.code != Some(0) && done.err.contains("Connection refused"), "{done:?}");
    assert!(done.err.contains(&format!("host {NOWHERE}: cannot be reached")), "{done:?}");
    let done = job(NEAR, &server.remote("stranger", "known"));
    assert!(done.code != Some(0) && done.err.contains("Permission denied"), "{done:?}");
    assert!(done.err.contains(&format!("host {NEAR}: cannot be reached")), "{done:?}");
    std::fs::File::create(server.path("nobody")).and_then(|mut file| file.flush()).expect("an empty list");
    let done = job(NEAR, &server.remote("user", "nobody"));
    assert!(done.code != Some(0) && done.err.contains("Host key verification failed"), "{done:?}");
    assert!(done.err.contains(&format!("host {NEAR}: cannot be reached")), "{done:?}");
}

#[test]
fn four_hosts_start_each_other_and_meet_over_their_network() {
    let Some(net) = Net::of("ssh", 4, 1, false) else {
        eprintln!("skipped: network namespaces need root and iproute2");
        return;
    };
    let places: Vec<_> =
        net.hosts().into_iter().map(|(space, at)| (Some(space.to_owned()), vec![at])).collect();
    let Some(server) = Server::start("four", &places, &[]) else { return };
    // The launcher runs on the first host and starts two; each of those starts one.
    let job = |each: u32, program: &[&str]| {
        let hosts: Vec<String> = places.iter().map(|(_, at)| format!("{}:{each}", at[0])).collect();
        let mut command = clean("ip");
        command.args(["netns", "exec", places[0].0.as_ref().unwrap(), env!("CARGO_BIN_EXE_lapirun")]);
        command.args(["-H", &hosts.join(","), "--address", &places[0].1[0], "--fan-out", "2"]);
        command.env("LAPIS_REMOTE", server.remote("user", "known")).env_remove("SSH_AUTH_SOCK");
        command.args(program);
        command
    };
    assert_eq!(run(job(4, &[TASK, "exchange", "2"])).expect_quiet(0).lines_with("done ").len(), 16);
    let script = "set -- $SSH_CONNECTION; echo $1 to $3";
    let done = run(job(1, &["sh", "-c", script])).expect_quiet(0);
    let at = |n: usize| places[n].1[0].as_str();
    let ways = [(0, 0), (0, 2), (0, 1), (2, 3)].map(|(from, to)| format!("{} to {}", at(from), at(to)));
    assert_eq!(done.out.lines().collect::<BTreeSet<_>>(), ways.iter().map(String::as_str).collect());
    let done = run(job(2, &[TASK, "fence-without", "7", "kill"])).expect(137);
    assert!(done.err.contains("task 7 (process") && done.err.contains(&format!("on {})", at(3))), "{done:?}");
    let mut running = Running::start(job(2, &[TASK, "linger"]));
    let left = pids(&running.read_lines(24));
    assert_eq!(left.len(), 16);
    send_signal(&running, Signal::INT);
    assert_ne!(running.wait().code, Some(0));
    await_death(&left);
}
