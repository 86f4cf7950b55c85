//! Jobs on several machines: agents behind a command that only pretends to go elsewhere, and, where
//! the tests may make them, network namespaces that really cannot reach each other's unix sockets.

mod common;

use std::io::Write;
use std::process::Command;

use common::*;
use rustix::process::Signal;

/// Two tasks on each of two machines, as far as the launcher can tell.
fn launcher(options: &[&str], program: &[&str]) -> Command {
    let mut command = lapirun();
    command.args(["-H", "a:2,b:2", "--remote", "env WHERE={host}", "--address", "127.0.0.1"]);
    command.args(options).args(program);
    command
}

fn job(options: &[&str], program: &[&str]) -> Finished {
    run(launcher(options, program))
}

#[test]
fn tasks_on_several_hosts_are_one_job() {
    let done = job(&[], &[TASK, "exchange", "10"]).expect(0);
    assert_eq!(done.sorted(), ["done 0", "done 1", "done 2", "done 3"]);
    let done = job(&[], &["sh", "-c", "echo $MP_CHILD of $MP_PROCS: $WHERE $MP_COMMON_TASKS"]).expect(0);
    assert_eq!(done.sorted(), ["0 of 4: a 1:1", "1 of 4: a 1:0", "2 of 4: b 1:3", "3 of 4: b 1:2"]);
}

#[test]
fn a_hostfile_and_a_count_place_the_tasks() {
    let file = std::env::temp_dir().join(format!("lapirun-hosts-test-{}", std::process::id()));
    std::fs::write(&file, "x # one\ny slots=8\n").unwrap();
    let mut command = lapirun();
    command.arg("--hostfile").arg(&file).env("LAPIS_REMOTE", "env WHERE={host}");
    command.args(["--address", "127.0.0.1", "-n", "3", "sh", "-c", "echo $MP_CHILD $WHERE"]);
    let done = run(command).expect(0);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(done.sorted(), ["0 x", "1 y", "2 y"]);
}

/// On another machine each command is started again, under its own name.
#[test]
fn poe_and_acprun_reach_other_hosts() {
    let file = std::env::temp_dir().join(format!("lapirun-hosts-of-others-{}", std::process::id()));
    std::fs::write(&file, "127.0.0.2\n127.0.0.2\n127.0.0.3\n").unwrap();
    let name = file.to_string_lossy();
    let show = ["sh", "-c", "echo $MP_CHILD of $MP_PROCS $WHERE"];
    let there = ["0 of 3 127.0.0.2", "1 of 3 127.0.0.2", "2 of 3 127.0.0.3"];

    let mut command = poe();
    command.args(show).args(["-procs", "3", "-hostfile", &name]).env("LAPIS_REMOTE", "env WHERE={host}");
    assert_eq!(run(command).expect(0).sorted(), there);
    let mut command = acprun();
    command.args(["-np", "3", &format!("--acp-nodefile={name}"), "-ssh", "env WHERE={host}"]).args(show);
    assert_eq!(run(command).expect(0).sorted(), there);
    let mut command = acprun();
    command.args(["-np", "3", "-nodefile", &name]).args([TASK, "exchange", "10"]);
    let done = run({
        command.env("LAPIS_REMOTE", "env WHERE={host}");
        command
    });
    assert_eq!(done.expect(0).sorted(), ["done 0", "done 1", "done 2"]);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn folder_variables_and_output_are_the_launchers() {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let mut command =
        launcher(&["--tag-output", "-x", "OWN=v w"], &["sh", "-c", "pwd; echo $OWN $MP_ACK_THRESH >&2"]);
    command.current_dir(&folder).env("MP_ACK_THRESH", "17");
    let done = run(command).expect(0);
    let expected: Vec<String> = (0..4).map(|t| format!("[{t}] {}", folder.display())).collect();
    assert_eq!(done.sorted(), expected);
    assert_eq!(done.err.matches("v w 17").count(), 4, "{done:?}");
    // Another machine knows nothing of this one's variables.
    let mut command = lapirun();
    command.args(["-H", "a:2,b:2", "--remote", "env -i PATH=/usr/bin:/bin", "--address", "127.0.0.1"]);
    command.args(["-x", "OUT_OF_*", "sh", "-c", "echo $OUT_OF_THIS$OUT_OF_THAT$INTO"]);
    command.env("OUT_OF_THIS", "1").env("OUT_OF_THAT", "2").env("INTO", "3");
    assert_eq!(run(command).expect(0).sorted(), ["12"; 4]);
}

#[test]
fn much_output_arrives_whole() {
    let done = job(&["--tag-output"], &["seq", "20000"]).expect(0);
    assert_eq!(done.out.lines().count(), 80_000);
    assert!((0..4).all(|t| done.out.contains(&format!("[{t}] 20000\n"))));
}

/// A file of this many lines, as a job's standard input.
fn lines(name: &str, count: u32) -> (std::path::PathBuf, std::fs::File) {
    let path = std::env::temp_dir().join(format!("lapirun-input-{name}-{}", std::process::id()));
    let text: String = (0..count).map(|line| format!("line {line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    (path, file)
}

#[test]
fn the_input_goes_to_those_tasks_on_other_hosts_that_it_is_meant_for() {
    let count = "echo $MP_CHILD:$(cat | wc -l)";
    // More than pipes hold; through one agent after the other, too.
    for options in [&[][..], &["--fan-out", "1"]] {
        for (who, told) in [
            ("0", "0:60000 1:0 2:0 3:0"),
            ("3", "0:0 1:0 2:0 3:60000"),
            ("all", "0:60000 1:60000 2:60000 3:60000"),
            ("none", "0:0 1:0 2:0 3:0"),
        ] {
            let (path, file) = lines("many", 60_000);
            let mut command = launcher(&[options, &["--stdin", who]].concat(), &["sh", "-c", count]);
            command.stdin(file);
            let done = run(command).expect(0);
            std::fs::remove_file(path).unwrap();
            assert_eq!(done.sorted().join(" "), told, "{options:?}: {done:?}");
        }
    }
}

#[test]
fn a_task_that_does_not_read_its_input_holds_nobody_up_once_it_has_ended() {
    // Task 1 reads a line, task 2 nothing; both end while the others wait for more.
    let script = "case $MP_CHILD in 1) read line;; 2) sleep 0.3;; *) cat | wc -l;; esac";
    let (path, file) = lines("unread", 60_000);
    let mut command = launcher(&["--stdin", "all"], &["sh", "-c", script]);
    command.stdin(file);
    let done = run(command).expect(0);
    std::fs::remove_file(path).unwrap();
    assert_eq!(done.sorted(), ["60000", "60000"]);
    // And one that never reads keeps the launcher neither from signals nor from its end.
    let (path, file) = lines("never", 60_000);
    let mut command = launcher(&["--stdin", "3", "--timeout", "1"], &["sleep", "300"]);
    command.stdin(file);
    run(command).expect(124);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_typed_comes_line_by_line() {
    let mut command = launcher(&["--stdin", "2"], &["sh", "-c", "while read line; do echo got $line; done"]);
    let (end, mut input) = std::io::pipe().unwrap();
    command.stdin(end);
    let mut running = Running::start(command);
    for word in ["one", "two"] {
        writeln!(input, "{word}").unwrap();
        assert_eq!(running.read_lines(1), [format!("got {word}")]);
    }
    drop(input);
    running.wait().expect(0);
}

#[test]
fn failures_carry_host_and_code() {
    let done = job(&[], &[TASK, "fence-without", "2", "kill"]).expect(137);
    assert!(done.err.contains("task 2 (process") && done.err.contains("on b)"), "{done:?}");
    job(&[], &[TASK, "exit-of", "3", "5"]).expect(5);
    job(&[], &[TASK, "abort", "1", "7"]).expect(7);
    let done = job(&["--timeout", "0.4"], &["sleep", "300"]).expect(124);
    assert!(done.err.contains("0.4 s"), "{done:?}");
    let done = job(&[], &["no-such-program-anywhere"]).expect(127);
    assert!(done.err.contains("host ") && done.err.contains("not found"), "{done:?}");
    job(&[], &["/etc/passwd"]).expect(126);
}

#[test]
fn hosts_that_cannot_be_reached_are_named() {
    let with = |remote: &str| {
        let mut command = lapirun();
        command.args(["-H", "near,far", "--remote", remote, "true"]);
        run(command)
    };
    let done = with("false {host}").expect(1);
    assert!(done.err.contains("cannot be reached") && done.err.lines().count() == 1, "{done:?}");
    assert!(!done.err.contains("{host}"), "{done:?}");
    let done = with("false").expect(1);
    assert!(done.err.contains("it has no {host}"), "{done:?}");
    let done = with("echo welcome to {host}").expect(1);
    assert!(done.err.contains("welcome to ") && done.err.contains("greeting"), "{done:?}");
    let done = with("no-such-remote-command {host}").expect(2);
    assert!(done.err.contains("near") && done.err.contains("no-such-remote-command"), "{done:?}");
}

#[test]
fn signals_reach_tasks_on_other_hosts() {
    let script = "trap 'echo got; exit 0' USR2; echo ready; while :; do sleep 0.05; done";
    let mut job = Running::start(launcher(&[], &["sh", "-c", script]));
    assert_eq!(job.read_lines(4), ["ready"; 4]);
    send_signal(&job, Signal::USR2);
    assert_eq!(
        job.wait().expect(0).sorted(),
        ["got", "got", "got", "got", "ready", "ready", "ready", "ready"]
    );
}

#[test]
fn tasks_on_other_hosts_have_no_signals_blocked() {
    let done = job(&[], &["grep", "SigBlk", "/proc/self/status"]).expect(0);
    let expected = run({
        let mut here = lapirun();
        here.args(["-n", "4", "grep", "SigBlk", "/proc/self/status"]);
        here
    });
    assert_eq!(done.out, expected.out);
    assert!(done.out.lines().all(|l| l.ends_with("0000000000000000")), "{done:?}");
}

#[test]
fn a_killed_launcher_or_agent_leaves_nothing_behind() {
    for kill_agent in [false, true] {
        let mut job = Running::start(launcher(&[], &[TASK, "linger"]));
        let left = pids(&job.read_lines(12));
        assert_eq!(left.len(), 8);
        if kill_agent {
            let status = std::fs::read_to_string(format!("/proc/{}/status", left[0])).unwrap();
            let parent =
                status.lines().find_map(|l| l.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
            let agent = rustix::process::Pid::from_raw(parent).unwrap();
            rustix::process::kill_process(agent, Signal::KILL).unwrap();
            let done = job.wait();
            assert!(done.code != Some(0) && done.err.lines().count() == 1, "{done:?}");
        } else {
            send_signal(&job, Signal::KILL);
        }
        await_death(&left);
    }
}

#[test]
fn the_secret_stands_on_no_command_line() {
    let mut job = Running::start(launcher(&[], &[TASK, "linger"]));
    let tasks = pids(&job.read_lines(12));
    let environ = std::fs::read_to_string(format!("/proc/{}/environ", tasks[0])).unwrap();
    let secret = environ.split('\0').find_map(|e| e.strip_prefix("LAPIS_JOB_SECRET=")).unwrap().to_owned();
    assert_eq!(secret.len(), 64);
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(&secret), "{:?}", entry.path());
    }
    send_signal(&job, Signal::TERM);
    job.wait().expect(143);
    await_death(&tasks);
}

/// A network namespace joined to this one by a pair of virtual interfaces; removed at the end.
struct Space {
    name: String,
}

impl Space {
    fn make(name: &str, number: u8) -> Option<Self> {
        let space = Self { name: format!("{name}{}", std::process::id()) };
        let (near, far) = (format!("lpn{number}"), format!("lpf{number}"));
        let name = &space.name;
        let done = [
            format!("netns add {name}"),
            format!("link add {near} type veth peer name {far} netns {name}"),
            format!("addr add 10.213.{number}.1/24 dev {near}"),
            format!("link set {near} up"),
            format!("-n {name} addr add 10.213.{number}.2/24 dev {far}"),
            format!("-n {name} link set {far} up"),
            format!("-n {name} route add default via 10.213.{number}.1"),
        ]
        .iter()
        .all(|line| {
            let status = clean("ip").args(line.split(' ')).stderr(std::process::Stdio::null()).status();
            status.is_ok_and(|s| s.success())
        });
        done.then_some(space)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = clean("ip").args(["netns", "del", &self.name]).status();
    }
}

#[test]
fn tasks_in_separate_network_namespaces_meet_over_tcp() {
    let (Some(a), Some(b)) = (Space::make("lapis-a", 71), Space::make("lapis-b", 72)) else {
        eprintln!("skipped: network namespaces need root and iproute2");
        return;
    };
    let mut command = lapirun();
    command.arg("-H").arg(format!("{}:2,{}:2", a.name, b.name));
    command.args(["--remote", "ip netns exec {host}", "--address", "10.213.71.1"]);
    command.args([TASK, "exchange", "20"]);
    assert_eq!(run(command).expect(0).sorted().len(), 4);
}

#[test]
fn an_agent_that_gives_no_sign_of_life_is_noticed() {
    // The script stands for a connection that hangs: it stops its agent, and lets it go on later.
    let file = std::env::temp_dir().join(format!("lapirun-silent-{}", std::process::id()));
    let script = "exec 3<&0\n\"$@\" <&3 3<&- & agent=$!\nexec 0<&- 3<&-\n\
                  sleep 1; kill -STOP $agent; sleep 2.5; kill -CONT $agent; wait $agent\n";
    std::fs::write(&file, script).unwrap();
    let mut command = lapirun();
    command.args(["-H", "near", "--remote", &format!("sh {}", file.display()), "--address", "127.0.0.1"]);
    command.args(["sleep", "6"]);
    let done = run(command).expect(0);
    std::fs::remove_file(&file).unwrap();
    let lines: Vec<&str> = done.err.lines().collect();
    assert_eq!(
        lines,
        [
            "lapirun: host near: its agent has given no sign of life for a second",
            "lapirun: host near: its agent answers again"
        ],
        "{done:?}"
    );
}

/// A script stands for a wrapper around ssh: the connection, which hangs, is a child of its own.
#[test]
fn a_host_is_given_up_although_the_remote_command_has_children() {
    let folder = lapis_testing::scratch("wrapper");
    std::fs::create_dir_all(&folder).unwrap();
    let (script, pids) = (folder.join("wrap"), folder.join("pids"));
    let text = "exec 3<&0\n\"$@\" <&3 3<&- & agent=$!\nexec 0<&- 3<&-\n\
                echo $agent >> $0.d; sleep 300 & echo $! >> $0.d\nsleep 1; kill -STOP $agent; wait $agent\n"
        .replace("$0.d", &pids.display().to_string());
    std::fs::write(&script, text).unwrap();
    let mut command = lapirun();
    command.args(["-H", "far", "--remote", &format!("sh {}", script.display()), "--address", "127.0.0.1"]);
    command.args(["sleep", "300"]);
    let done = run(command).expect(1);
    assert!(done.err.contains("lost the connection to host far"), "{done:?}");
    let left: Vec<u32> =
        std::fs::read_to_string(&pids).unwrap().lines().filter_map(|l| l.parse().ok()).collect();
    assert_eq!(left.len(), 2);
    await_death(&left);
    let _ = std::fs::remove_dir_all(&folder);
}

/// As where a login hangs.
#[test]
fn a_host_that_does_not_answer_at_all_is_named() {
    let script = lapis_testing::scratch("hanging-login");
    std::fs::create_dir_all(script.parent().unwrap()).unwrap();
    std::fs::write(&script, "exec sleep 300\n").unwrap();
    let mut command = lapirun();
    command.args(["-H", "far", "--remote", &format!("sh {} {{host}}", script.display())]);
    command.args(["--timeout", "15", "true"]);
    let done = run(command).expect(124);
    let _ = std::fs::remove_file(&script);
    assert!(done.err.contains("host far: its agent has not answered for ten seconds"), "{done:?}");
}
