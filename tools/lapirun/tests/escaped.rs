//! Jobs on several machines whose tasks, readers or remote commands leave something open, or close
//! it early.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;

use common::*;
use lapis_patience::Patience;

/// A file of this test's own, removed at its end.
struct Own(std::path::PathBuf);

impl Own {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("lapirun-{name}-{}", std::process::id())))
    }

    fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn there(hosts: &str, options: &[&str], program: &[&str]) -> Command {
    let mut command = lapirun();
    command.args(["-H", hosts, "--remote", "env WHERE={host}", "--address", "127.0.0.1"]);
    command.args(options).args(program);
    command
}

/// A process that has left the tasks' groups holds the output of its task open. Neither the output
/// of others nor the agent's end waits for it.
#[test]
fn an_escaped_process_keeps_neither_output_nor_agents() {
    let (relay, away, noted) = (Own::new("relay"), Own::new("away"), Own::new("noted"));
    // Like ssh: ended, it leaves the agent to itself.
    std::fs::write(&relay.0, "\"$@\"\nexit $?\n").unwrap();
    let script = format!(
        "echo agent $PPID >&2\n\
         if [ $MP_CHILD != 0 ]; then exec dd if=/dev/zero bs=65536 count=1 status=none; fi\n\
         setsid sh -c 'echo escaped $$ >&2; : >{away}; exec sleep 300' &\n\
         while ! [ -e {away} ]; do sleep 0.05; done",
        away = away.name()
    );
    let mut launcher = lapirun();
    launcher.args(["-H", "a:6", "--remote", &format!("sh {}", relay.name()), "--address", "127.0.0.1"]);
    launcher.args(["sh", "-c", &script]);
    // What is left behind holds the launcher's standard error open: not this test's.
    let mut command = clean("sh");
    command.args(["-c", "exec \"$@\" 2>\"$0\""]).arg(&noted.0).arg(launcher.get_program());
    command.args(launcher.get_args());
    let done = run(command).expect(0);
    let noted = std::fs::read_to_string(&noted.0).unwrap();
    let pids = |word: &str| -> Vec<u32> {
        noted.lines().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect()
    };
    let (escaped, agents) = (pids("escaped "), pids("agent "));
    let left = agents.iter().filter(|pid| alive(**pid)).count();
    assert!(escaped.len() == 1 && alive(escaped[0]), "{noted}");
    for pid in escaped {
        let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    assert_eq!((done.out.len(), agents.len(), left), (5 * 65536, 6, 0), "{noted}");
}

/// The launcher waits for output that a slow connection still brings.
#[test]
fn output_over_a_slow_connection_arrives_whole() {
    let (relay, part) = (Own::new("slow"), Own::new("part"));
    let script = format!(
        "\"$@\" | while dd bs=16384 count=1 of={part} status=none && [ -s {part} ]; do cat {part}; sleep 0.1; done\n",
        part = part.name()
    );
    std::fs::write(&relay.0, script).unwrap();
    let mut command = lapirun();
    command.args(["-H", "a:20", "--remote", &format!("sh {}", relay.name()), "--address", "127.0.0.1"]);
    command.args(["sh", "-c", "sleep 1; exec dd if=/dev/zero bs=65536 count=1 status=none"]);
    let done = run(command).expect(0);
    assert_eq!(done.out.len(), 20 * 65536);
}

/// A task that has put itself into another group is reached all the same.
#[test]
fn a_task_in_another_group_is_ended() {
    for hosts in [&["-n", "1"][..], &["-H", "a", "--remote", "env WHERE={host}", "--address", "127.0.0.1"]] {
        let mut command = lapirun();
        command.args(hosts).args(["--timeout", "0.5", TASK, "regroup"]);
        run(command).expect(124);
    }
}

/// A reader that goes closes the pipes of tasks on other machines as well.
#[test]
fn a_reader_that_goes_ends_writers_on_other_machines() {
    for options in [&[][..], &["--fan-out", "1"]] {
        let mut command = there("a:2,b", options, &["sh", "-c", "yes; [ $? = 141 ] || exit 9"]);
        let (from, to) = std::io::pipe().unwrap();
        let mut child = command.stdout(to).spawn().unwrap();
        drop(command);
        let mut from = BufReader::new(from);
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        assert_eq!(line, "y\n");
        drop(from);
        let mut patience = Patience::with(child.id(), WATCHDOG);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if patience.is_over() {
                let _ = child.kill();
                panic!("the tasks write on");
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(0), "{options:?}");
    }
}

/// The input of a task that was restarted has gone by; the others get theirs.
#[test]
fn a_restarted_task_keeps_nobodys_input_back() {
    let over = Own::new("second-life");
    let script = format!(
        "case $MP_CHILD$LAPIS_JOB_RESTARTS in\n\
         0) read line; exit 1;;\n\
         01) echo again; while ! [ -e {} ]; do sleep 0.05; done;;\n\
         *) wc -l;;\n\
         esac",
        over.name()
    );
    let mut command = there("a,b", &["--stdin", "all", "--restart", "1"], &["sh", "-c", &script]);
    let (end, mut input) = std::io::pipe().unwrap();
    command.stdin(end);
    let mut job = Running::start(command);
    writeln!(input, "first").unwrap();
    assert_eq!(job.read_lines(1), ["again"]);
    for _ in 0..3 {
        writeln!(input, "more").unwrap();
    }
    drop(input);
    // While the second life still runs.
    assert_eq!(job.read_lines(1), ["4"]);
    std::fs::write(&over.0, "").unwrap();
    job.wait().expect(0);
}

/// A remote command that closes its output and goes on is not waited for.
#[test]
fn a_remote_command_that_only_closes_its_output_holds_nobody_up() {
    let script = Own::new("closes");
    std::fs::write(&script.0, "exec >&-\nexec sleep 300\n").unwrap();
    let mut command = lapirun();
    command.args(["-H", "near", "--remote", &format!("sh {}", script.name()), "true"]);
    let done = run(command).expect(1);
    assert!(done.err.contains("near") && done.err.contains("closed its output"), "{done:?}");
}

/// What a launcher hears of strangers is not kept.
#[test]
fn strangers_at_the_store_do_not_use_up_the_launchers_memory() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};

    let mut command = lapirun();
    command.args(["-n", "1", "sh", "-c", "echo $LAPIS_KVS; exec sleep 300"]);
    let mut job = Running::start(command);
    let address = job.read_lines(1).remove(0);
    let address = SocketAddr::from_abstract_name(address.strip_prefix("unix:@").unwrap()).unwrap();
    let knock = |times: u32| {
        for _ in 0..times {
            let mut stream = UnixStream::connect_addr(&address).unwrap();
            // A greeting of the wrong kind; the answer ends when the launcher has dealt with it.
            let _ = stream.write_all(b"\x05\0\0\0\x14\0\0\0\0");
            let _ = stream.read_to_end(&mut Vec::new());
        }
    };
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", job.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    knock(1000);
    let before = resident();
    knock(4000);
    let grown = resident().saturating_sub(before);
    assert!(grown < 256, "{grown} KB for 4000 strangers");
    send_signal(&job, rustix::process::Signal::TERM);
    job.wait().expect(143);
}
