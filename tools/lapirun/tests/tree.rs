//! Machines that start each other: agents behind a command that only pretends to go elsewhere, and
//! notes who has started whom.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use common::*;
use rustix::process::{Pid, Signal, kill_process};

/// Thirteen machines, of which each starts two: three levels below the launcher.
const MACHINES: u32 = 13;

/// The command that leads to a machine, and its list of who has started whom.
struct Way {
    folder: PathBuf,
}

impl Way {
    /// `but`: what else happens on the way to a machine, as lines of a shell that know it as `$1`.
    fn new(test: &str, but: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lapirun-tree-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let script = format!(
            "echo \"${{WHERE:-launcher}} $1\" >> {}/list\n{but}\nexport WHERE=$1; shift; exec \"$@\"\n",
            folder.display()
        );
        std::fs::write(folder.join("way"), script).unwrap();
        Self { folder }
    }

    fn launcher(&self, options: &[&str], program: &[&str]) -> Command {
        let hosts: Vec<String> = (0..MACHINES).map(|n| format!("m{n}")).collect();
        let mut command = lapirun();
        command.args(["-H", &hosts.join(","), "--fan-out", "2", "--address", "127.0.0.1"]);
        command.args(["--remote", &format!("sh {}/way {{host}}", self.folder.display())]);
        command.args(options).args(program);
        command
    }

    /// Who has started whom.
    fn list(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in std::fs::read_to_string(self.folder.join("list")).unwrap().lines() {
            let (parent, child) = line.split_once(' ').unwrap();
            assert!(found.entry(parent.into()).or_default().insert(child.into()), "{line} twice");
        }
        found
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The agent that has started a task, by the task's process.
fn agent_of(task: u32) -> Pid {
    let status = std::fs::read_to_string(format!("/proc/{task}/status")).unwrap();
    let parent = status.lines().find_map(|l| l.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    Pid::from_raw(parent).unwrap()
}

/// The processes of all tasks, by machine, once they run.
fn processes(job: &mut Running) -> BTreeMap<String, u32> {
    let lines = job.read_lines(MACHINES as usize);
    let pair = |line: &String| {
        let (host, pid) = line.split_once(' ').unwrap();
        (host.to_owned(), pid.parse().unwrap())
    };
    lines.iter().map(pair).collect()
}

const STAYS: [&str; 3] = ["sh", "-c", "echo $WHERE $$; exec sleep 600"];

#[test]
fn machines_start_each_other_and_their_tasks_are_one_job() {
    let way = Way::new("one", "");
    let done = run(way.launcher(&[], &[TASK, "exchange", "3"])).expect(0);
    let mut expected: Vec<String> = (0..MACHINES).map(|t| format!("done {t}")).collect();
    expected.sort();
    assert_eq!(done.sorted(), expected);
    let list = way.list();
    assert_eq!(list["launcher"], BTreeSet::from(["m0".to_owned(), "m6".to_owned()]));
    assert!(list.values().all(|children| children.len() <= 2), "{list:?}");
    assert_eq!(list.values().map(BTreeSet::len).sum::<usize>(), MACHINES as usize, "{list:?}");
}

#[test]
fn output_and_exit_codes_come_through_the_tree() {
    let way = Way::new("codes", "");
    let done = run(way.launcher(&["--tag-output"], &["seq", "5000"])).expect(0);
    assert_eq!(done.out.lines().count(), 5000 * MACHINES as usize);
    assert!((0..MACHINES).all(|t| done.out.contains(&format!("[{t}] 5000\n"))));
    run(way.launcher(&[], &[TASK, "exit-of", "11", "5"])).expect(5);
    let done = run(way.launcher(&[], &[TASK, "fence-without", "12", "kill"])).expect(137);
    assert!(done.err.contains("task 12 (process") && done.err.contains("on m12)"), "{done:?}");
    let done = run(way.launcher(&[], &["no-such-program-anywhere"])).expect(127);
    assert!(done.err.contains("not found"), "{done:?}");
}

#[test]
fn a_machine_far_down_that_cannot_be_reached_is_named() {
    let way = Way::new("unreachable", "case $1 in m12) exit 3;; esac");
    let done = run(way.launcher(&[], &["sleep", "600"])).expect(1);
    assert_eq!(
        done.err.lines().collect::<Vec<_>>(),
        ["lapirun: host m12: cannot be reached: the remote command ended with exit status: 3"]
    );
    let parents = way.list();
    assert!(!parents["launcher"].contains("m12"), "{parents:?}");
}

#[test]
fn signals_reach_every_level() {
    let way = Way::new("signals", "");
    let script = "trap 'echo got; exit 0' USR2; echo ready; while :; do sleep 0.05; done";
    let mut job = Running::start(way.launcher(&[], &["sh", "-c", script]));
    job.read_lines(MACHINES as usize);
    send_signal(&job, Signal::USR2);
    let done = job.wait().expect(0);
    assert_eq!(done.out.matches("got").count(), MACHINES as usize, "{done:?}");
}

#[test]
fn what_dies_in_the_tree_takes_everything_along() {
    let way = Way::new("deaths", "");
    for victim in ["launcher", "m6", "m12"] {
        let mut job = Running::start(way.launcher(&["--grace", "0.2"], &STAYS));
        let found = processes(&mut job);
        if victim == "launcher" {
            send_signal(&job, Signal::KILL);
        } else {
            kill_process(agent_of(found[victim]), Signal::KILL).unwrap();
            let done = job.wait().expect(1);
            let with = match victim {
                "m6" => "it and the 6 machines that it had started had 7",
                _ => "it had 1",
            };
            let line = format!("lapirun: lost the connection to host {victim}; {with} tasks of the job");
            assert_eq!(done.err.lines().collect::<Vec<_>>(), [line]);
        }
        await_death(&found.into_values().collect::<Vec<_>>());
    }
}

#[test]
fn an_agent_far_down_that_gives_no_sign_of_life_is_noticed() {
    let way = Way::new("silent", "");
    let mut job = Running::start(joined(&way.launcher(&["--grace", "0.2"], &STAYS)));
    let found = processes(&mut job);
    let far = agent_of(found["m12"]);
    kill_process(far, Signal::STOP).unwrap();
    job.read_line("host m12: its agent has given no sign of life for a second");
    kill_process(far, Signal::CONT).unwrap();
    job.read_line("host m12: its agent answers again");
    send_signal(&job, Signal::TERM);
    job.wait().expect(143);
}

#[test]
fn a_task_far_down_is_started_anew_and_all_answer_the_roll_call() {
    let way = Way::new("again", "");
    let script = "test $MP_CHILD$LAPIS_JOB_RESTARTS != 12 || exit 7; echo $WHERE $$; exec sleep 600";
    let mut job = Running::start(joined(&way.launcher(&["--restart", "1"], &["sh", "-c", script])));
    job.read_line("exited with status 7; starting it anew");
    job.read_line("m12 ");
    send_signal(&job, Signal::USR1);
    job.read_line("roll call of 13 tasks");
    for task in 0..MACHINES {
        job.read_line(&format!("task {task} (process "));
    }
    send_signal(&job, Signal::TERM);
    job.wait().expect(143);
}
