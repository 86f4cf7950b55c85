//! What a launcher inherits from whoever starts it: signals that are ignored.

mod common;

use std::process::Command;

use common::*;
use rustix::process::Signal;

/// A launcher that is started with a signal ignored.
fn ignoring(signal: &str, arguments: &[&str]) -> Command {
    let launcher = lapirun();
    let mut command = clean("env");
    command.arg(format!("--ignore-signal={signal}")).arg(launcher.get_program()).args(arguments);
    command
}

#[test]
fn ends_of_tasks_are_heard_of_although_children_are_ignored() {
    run(ignoring("CHLD", &["-n", "2", "true"])).expect(0);
    run(ignoring("CHLD", &["-n", "2", "--keep-going", "sh", "-c", "exit 5"])).expect(5);
    // Tasks and agents have the default again.
    let there = ["-H", "a,b", "--remote", "env WHERE={host}", "--address", "127.0.0.1"];
    for hosts in [&["-n", "2"][..], &there] {
        let show = ["sh", "-c", "grep SigIgn /proc/self/status"];
        let done = run(ignoring("CHLD", &[hosts, &show].concat())).expect(0);
        let ignored =
            done.out.lines().filter_map(|line| u64::from_str_radix(line.split_once('\t')?.1, 16).ok());
        let ignored: Vec<u64> = ignored.collect();
        assert!(ignored.len() == 2 && ignored.iter().all(|set| set & 1 << 16 == 0), "{done:?}");
    }
}

/// As after `nohup`: what the launcher ignores, tasks on other machines do not hear of either.
#[test]
fn an_ignored_signal_is_not_passed_on() {
    let script = "trap 'echo got; exit 0' USR2; echo ready; while :; do sleep 0.05; done";
    let remote = "env --default-signal=HUP,INT WHERE={host}";
    for (word, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT)] {
        let options = ["-H", "a,b", "--remote", remote, "--address", "127.0.0.1"];
        let mut job = Running::start(ignoring(word, &[&options[..], &["sh", "-c", script]].concat()));
        assert_eq!(job.read_lines(2), ["ready"; 2]);
        // The launcher reads signals in the order of their numbers.
        send_signal(&job, signal);
        send_signal(&job, Signal::USR2);
        assert_eq!(job.wait().expect(0).sorted(), ["got", "got", "ready", "ready"]);
    }
}
