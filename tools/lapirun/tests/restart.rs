//! Tasks that fail and are restarted, or are left behind.

mod common;

use common::*;

fn job(options: &[&str], program: &[&str]) -> Finished {
    let mut command = lapirun();
    command.args(options).args(program);
    run(command)
}

#[test]
fn a_task_that_is_started_anew_finds_the_others() {
    let remote = ["-H", "a:2,b:1", "--remote", "env WHERE={host}", "--address", "127.0.0.1"];
    for hosts in [&["-n", "3"][..], &remote] {
        let done = job(&[hosts, &["--restart", "1"]].concat(), &[TASK, "rejoin", "1"]).expect(0);
        assert_eq!(done.sorted(), ["0 heard of life [1]", "1 found [0, 1, 2]", "2 heard of life [1]"]);
        assert!(done.err.contains("task 1") && done.err.contains("SIGKILL"), "{done:?}");
        assert!(done.err.contains("starting it anew (0 more times)"), "{done:?}");
    }
}

/// A task that was restarted starts jobs of its own, whose tasks were not.
#[test]
fn tasks_that_are_started_for_the_first_time_are_told_of_no_restarts() {
    let remote = ["-H", "a", "--remote", "env WHERE={host}", "--address", "127.0.0.1"];
    for hosts in [&["-n", "1"][..], &remote] {
        let mut command = lapirun();
        command.args(hosts).args(["sh", "-c", "echo ${LAPIS_JOB_RESTARTS:-first}"]);
        command.env("LAPIS_JOB_RESTARTS", "5");
        assert_eq!(run(command).expect(0).out, "first\n");
    }
}

/// A child that has left the task's group holds its connection to the store open.
#[test]
fn a_task_that_is_started_anew_is_let_in_although_its_former_connection_is_open() {
    let remote = ["-H", "a:2,b:1", "--remote", "env WHERE={host}", "--address", "127.0.0.1"];
    for hosts in [&["-n", "3"][..], &remote] {
        let done = job(&[hosts, &["--restart", "1"]].concat(), &[TASK, "rejoin", "1", "escaped"]);
        let escaped: Vec<u32> =
            done.out.lines().filter_map(|l| l.strip_prefix("escaped ")?.parse().ok()).collect();
        for pid in &escaped {
            let pid = rustix::process::Pid::from_raw(*pid as i32).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let done = done.expect(0);
        assert_eq!(escaped.len(), 1, "{done:?}");
        assert_eq!(done.sorted()[..3], ["0 heard of life [1]", "1 found [0, 1, 2]", "2 heard of life [1]"]);
    }
}

#[test]
fn restarts_are_counted_and_run_out() {
    let script = "echo $MP_CHILD ${LAPIS_JOB_RESTARTS:-first}; [ $MP_CHILD = 0 ] || exit 7; sleep 60";
    let done = job(&["-n", "2", "--restart", "2"], &["sh", "-c", script]).expect(7);
    assert_eq!(done.sorted(), ["0 first", "1 1", "1 2", "1 first"]);
    assert_eq!(done.err.lines().count(), 3, "{done:?}");
}

#[test]
fn the_others_may_go_on() {
    let script = "[ $MP_CHILD = 1 ] && exit 5; sleep 0.3; echo $MP_CHILD";
    let done = job(&["-n", "3", "--keep-going"], &["sh", "-c", script]).expect(5);
    assert_eq!(done.sorted(), ["0", "2"]);
    assert!(done.err.contains("task 1") && done.err.contains("the others go on"), "{done:?}");
    assert_eq!(done.err.lines().count(), 1, "{done:?}");
}

#[test]
fn what_a_dead_task_left_running_ends_before_its_successor_starts() {
    let script = "if [ -z $LAPIS_JOB_RESTARTS ]; then sleep 300 & echo $!; exit 1; fi; echo again";
    let done = job(&["-n", "1", "--restart", "1"], &["sh", "-c", script]).expect(0);
    let pids: Vec<u32> = done.out.lines().filter_map(|l| l.parse().ok()).collect();
    assert!(pids.len() == 1 && !alive(pids[0]) && done.out.contains("again"), "{done:?}");
}

/// The agent that had the former process has another task, which goes on.
#[test]
fn what_a_dead_task_left_on_another_host_ends_before_its_successor_starts() {
    let script = "if [ $MP_CHILD = 1 ]; then read line < $FIFO; exit; fi\n\
                  if [ -z $LAPIS_JOB_RESTARTS ]; then sleep 300 & echo $! > $LEFT; printf half; exit 3; fi\n\
                  case $(cut -d' ' -f3 /proc/$(cat $LEFT)/stat 2> /dev/null) in\n\
                  Z|'') echo again;; *) echo beside it;; esac; echo > $FIFO";
    let folder = lapis_testing::scratch("restart");
    std::fs::create_dir_all(&folder).unwrap();
    let (fifo, left) = (folder.join("fifo"), folder.join("left"));
    let made = clean("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let mut command = lapirun();
    command.args(["-H", "a:2", "--remote", "env WHERE={host}", "--address", "127.0.0.1", "--restart", "1"]);
    command.env("FIFO", &fifo).env("LEFT", &left).args(["-x", "FIFO", "-x", "LEFT"]);
    command.args(["--tag-output", "sh", "-c", script]);
    let done = run(command).expect(0);
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(done.out, "[0] half\n[0] again\n", "{done:?}");
}

#[test]
fn the_variable_that_counts_is_the_launchers() {
    let done = job(&["-n", "1", "-x", "LAPIS_JOB_RESTARTS=3"], &["true"]).expect(2);
    assert!(done.err.contains("LAPIS_JOB_RESTARTS"), "{done:?}");
}
