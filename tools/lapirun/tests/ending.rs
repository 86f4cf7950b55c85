//! How jobs end when something goes wrong: codes, messages, and nothing left behind.

mod common;

use lapis_patience::Patience;
use std::time::Duration;

use common::*;
use lapis_core::bootstrap::{Environment, Options, detect_in};
use rustix::process::Signal;

fn start(tasks: u32, options: &[&str], program: &[&str]) -> Running {
    let mut command = lapirun();
    command.arg("-n").arg(tasks.to_string()).args(options).args(program);
    Running::start(command)
}

fn job(tasks: u32, options: &[&str], program: &[&str]) -> Finished {
    start(tasks, options, program).wait()
}

/// A running job whose tasks sleep in a fence, with all processes of the tasks.
fn lingering(tasks: u32, options: &[&str]) -> (Running, Vec<u32>) {
    let mut job = start(tasks, options, &[TASK, "linger"]);
    let lines = job.read_lines(3 * tasks as usize);
    let pids = pids(&lines);
    assert_eq!(pids.len(), 2 * tasks as usize, "{lines:?}");
    assert!(pids.iter().all(|&pid| alive(pid)));
    (job, pids)
}

#[test]
fn a_task_killed_in_a_fence_ends_the_job_with_its_signal() {
    let done = job(4, &[], &[TASK, "fence-without", "2", "kill"]).expect(137);
    assert_eq!(done.err.lines().count(), 1, "{done:?}");
    assert!(done.err.contains("task 2") && done.err.contains("signal 9 (SIGKILL)"), "{done:?}");
}

#[test]
fn a_task_that_leaves_early_is_named_to_those_who_wait() {
    for (how, part) in [("exit0", "exited with status 0"), ("finalize", "finalised")] {
        let done = job(2, &[], &[TASK, "fence-without", "1", how]).expect(9);
        assert!(done.out.contains("task 1") && done.out.contains(part), "{done:?}");
    }
}

#[test]
fn a_task_that_never_joins_is_named_to_those_who_wait() {
    let script = format!("if [ $MP_CHILD = 1 ]; then exit 0; fi; exec {TASK} fence-without 9");
    let done = job(2, &[], &["sh", "-c", &script]).expect(9);
    assert!(done.out.contains("task 1") && done.out.contains("without initialising"), "{done:?}");
}

#[test]
fn the_first_exit_code_is_the_jobs() {
    let done = job(3, &[], &[TASK, "exit-of", "1", "77"]).expect(77);
    assert!(done.err.contains("task 1") && done.err.contains("status 77"), "{done:?}");
    assert_eq!(done.err.lines().count(), 1, "{done:?}");
}

#[test]
fn an_abort_ends_the_job_with_its_code() {
    let done = job(3, &[], &[TASK, "abort", "1", "7"]).expect(7);
    assert!(done.err.contains("task 1 aborted the job with code 7: the cards are bad"), "{done:?}");
    job(2, &[], &[TASK, "abort", "0", "256"]).expect(1);
}

#[test]
fn the_death_of_a_task_is_the_cause_and_not_what_others_say_of_it() {
    // A shell reports the end a little later than the kernel closes the connection.
    let script = r#""$@"; code=$?; sleep 0.1; exit $code"#;
    for victim in ["0", "2"] {
        let done = job(3, &[], &["sh", "-c", script, "sh", TASK, "complain", victim]).expect(137);
        let lines: Vec<&str> = done.err.lines().filter(|l| l.starts_with("lapirun: ")).collect();
        assert!(lines.len() == 1 && lines[0].contains(&format!("task {victim} ")), "{done:?}");
    }
    let done = job(3, &["--keep-going"], &["sh", "-c", script, "sh", TASK, "complain", "1"]).expect(137);
    assert!(done.err.contains("task 1") && done.err.contains("does not answer"), "{done:?}");
}

/// A job whose output nobody reads.
fn unread(options: &[&str], script: &str) -> Unread {
    let mut command = lapirun();
    command.args(["-n", "2", "--tag-output"]).args(options).args(["sh", "-c", script]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn();
    Unread(child.expect("lapirun starts"))
}

struct Unread(std::process::Child);

impl Unread {
    fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn code(&mut self) -> Option<i32> {
        let mut patience = Patience::with(self.0.id(), WATCHDOG);
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(!patience.is_over(), "lapirun waits for its reader");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_reader_that_does_not_read_keeps_neither_timeout_nor_signal_back() {
    let endless = "exec yes 'a line that nobody reads'";
    assert_eq!(unread(&["--timeout", "0.5"], endless).code(), Some(124));
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut job = unread(&[], endless);
        std::thread::sleep(Duration::from_millis(300));
        job.signal(signal);
        assert_eq!(job.code(), Some(code));
    }
    // The tasks have ended, what they have written has not been read.
    let long = "head -c 300000 /dev/zero | tr '\\0' x; echo";
    assert_eq!(unread(&["--timeout", "0.5"], long).code(), Some(124));
    let mut job = unread(&[], long);
    std::thread::sleep(Duration::from_millis(300));
    job.signal(Signal::TERM);
    assert_eq!(job.code(), Some(143));
}

#[test]
fn a_timeout_ends_the_job_with_124() {
    let done = job(2, &["--timeout", "0.3"], &["sleep", "300"]).expect(124);
    assert!(done.err.contains("0.3 s") && done.err.contains("task 0, 1"), "{done:?}");
}

#[test]
fn tasks_that_ignore_the_request_are_killed() {
    let script = "trap '' TERM; if [ $MP_CHILD = 1 ]; then exit 3; fi; while :; do sleep 1; done";
    job(3, &["--grace", "0.2"], &["sh", "-c", script]).expect(3);
}

#[test]
fn signals_reach_every_task() {
    let script = "trap 'echo got; exit 0' USR2; echo ready; while :; do sleep 0.05; done";
    let mut job = start(3, &[], &["sh", "-c", script]);
    assert_eq!(job.read_lines(3), ["ready"; 3]);
    send_signal(&job, Signal::USR2);
    assert_eq!(job.wait().expect(0).sorted(), ["got", "got", "got", "ready", "ready", "ready"]);
}

#[test]
fn a_terminated_launcher_ends_its_tasks_and_says_so() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let (job, pids) = lingering(2, &[]);
        send_signal(&job, signal);
        job.wait().expect(code);
        await_death(&pids);
    }
}

#[test]
fn a_second_interrupt_kills() {
    let script = "trap '' INT; echo ready; while :; do sleep 1; done";
    let mut job = start(2, &[], &["sh", "-c", script]);
    job.read_lines(2);
    send_signal(&job, Signal::INT);
    // Two signals of one number that come together count once.
    std::thread::sleep(Duration::from_millis(200));
    send_signal(&job, Signal::INT);
    job.wait().expect(130);
}

#[test]
fn a_stopped_launcher_stops_and_continues_its_tasks() {
    let (job, pids) = lingering(2, &[]);
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().and_then(|s| s.trim().chars().next())
    };
    let await_state = |pid: u32, wanted: &dyn Fn(Option<char>) -> bool| {
        let mut patience = Patience::with_myself(WATCHDOG);
        while !wanted(state(pid)) {
            assert!(!patience.is_over(), "process {pid} is in state {:?}", state(pid));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    send_signal(&job, Signal::TSTP);
    for &pid in pids.iter().chain(&[job.id()]) {
        await_state(pid, &|s| s == Some('T'));
    }
    send_signal(&job, Signal::CONT);
    for &pid in pids.iter().chain(&[job.id()]) {
        await_state(pid, &|s| s != Some('T'));
    }
    send_signal(&job, Signal::TERM);
    job.wait().expect(143);
}

#[test]
fn a_killed_launcher_leaves_nothing_behind() {
    for options in [&[][..], &["--tag-output"]] {
        let mut command = lapirun();
        command.args(["-n", "3"]).args(options).args([TASK, "linger"]);
        let mut job = Running::start(command);
        let lines = job.read_lines(9);
        let plain: Vec<String> = lines
            .iter()
            .map(|l| l.trim_start_matches(|c| "[]012 ".contains(c) && c != 'p').to_owned())
            .collect();
        let mut left = pids(&plain);
        assert_eq!(left.len(), 6, "{lines:?}");
        left.extend(children(job.id()));
        assert!(left.len() > 6, "the guard is among the launcher's children");
        send_signal(&job, Signal::KILL);
        await_death(&left);
    }
}

#[test]
fn a_launcher_killed_at_any_moment_leaves_nothing_behind() {
    for round in 0..24u64 {
        let mark = format!("LAPIRUN_TEST_MARK={}-{round}", std::process::id());
        let (name, value) = mark.split_once('=').unwrap();
        let mut command = lapirun();
        // Launcher, guard, tasks and their children all carry the mark.
        command.env(name, value).args(["-n", "4", "sh", "-c", "sleep 300 & wait"]);
        let job = Running::start(command);
        std::thread::sleep(Duration::from_micros(round * 700));
        send_signal(&job, Signal::KILL);
        let mut patience = Patience::with_myself(WATCHDOG);
        loop {
            let left = marked(&mark);
            if left.is_empty() {
                break;
            }
            assert!(!patience.is_over(), "killed after {} µs; left behind: {left:?}", round * 700);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The processes that have a variable in their environment and run.
fn marked(mark: &str) -> Vec<u32> {
    let has = |entry: &std::fs::DirEntry| {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environ.split(|&b| b == 0).any(|variable| variable == mark.as_bytes())
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter(has);
    pids.filter_map(|e| e.file_name().to_string_lossy().parse().ok()).filter(|pid| alive(*pid)).collect()
}

#[test]
fn a_killed_guard_does_not_save_the_tasks() {
    let (job, pids) = lingering(2, &[]);
    // The guard takes its name when it first runs, which a busy machine may put off.
    let mut patience = Patience::with_myself(WATCHDOG);
    let guard = loop {
        let is_guard = |pid: &u32| name_of(*pid).is_some_and(|name| name == "lapirun-guard");
        if let Some(pid) = children(job.id()).into_iter().find(is_guard) {
            break rustix::process::Pid::from_raw(pid as i32).unwrap();
        }
        assert!(!patience.is_over(), "no guard");
        std::thread::sleep(Duration::from_millis(5));
    };
    rustix::process::kill_process(guard, Signal::KILL).unwrap();
    send_signal(&job, Signal::KILL);
    // The tasks themselves; what they have started is the guard's business.
    let tasks: Vec<u32> =
        pids.iter().copied().filter(|pid| name_of(*pid).is_some_and(|n| n != "sleep")).collect();
    let sleeps: Vec<u32> = pids.iter().copied().filter(|pid| !tasks.contains(pid)).collect();
    await_death(&tasks);
    for pid in sleeps {
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
    }
}

#[test]
fn what_a_finished_task_left_running_is_ended() {
    let done = job(2, &[], &["sh", "-c", "sleep 300 >/dev/null 2>&1 & echo pid $!"]).expect(0);
    let lines: Vec<String> = done.out.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2);
    await_death(&pids(&lines));
}

#[test]
fn a_stranger_with_a_wrong_secret_is_refused_while_the_job_goes_on() {
    let (job, pids) = lingering(2, &[]);
    let environ = std::fs::read(format!("/proc/{}/environ", pids[0])).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let find = |name: &str| {
        let entry = environ.split('\0').find_map(|e| e.strip_prefix(name)?.strip_prefix('='));
        entry.unwrap_or_else(|| panic!("{name} in the task's environment"))
    };
    let wrong = "0".repeat(64);
    let join = |secret: &str, tasks: &str| {
        let environment = Environment::of([
            ("LAPIS_KVS", find("LAPIS_KVS")),
            ("LAPIS_JOB_ID", find("LAPIS_JOB_ID")),
            ("LAPIS_JOB_SECRET", secret),
            ("LAPIS_TASK", "1"),
            ("LAPIS_TASKS", tasks),
        ]);
        detect_in(&environment, &Options::default()).err().expect("refused").to_string()
    };
    assert!(join(&wrong, "2").contains("secret"));
    // The right secret does not make a task that is there already, nor one of another size.
    let right = find("LAPIS_JOB_SECRET").to_owned();
    assert!(join(&right, "2").contains("open already"));
    assert!(join(&right, "3").contains("this job has 2 tasks"));
    assert!(pids.iter().all(|&pid| alive(pid)));
    send_signal(&job, Signal::TERM);
    job.wait().expect(143);
}

fn name_of(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned())
}

fn children(parent: u32) -> Vec<u32> {
    let parent = parent.to_string();
    let child = |entry: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(1);
        (fields.next()? == parent).then(|| entry.file_name().to_string_lossy().parse().ok()).flatten()
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(child).collect()
}
