//! What lapirun and poe can be asked for: places, folders, input and output, several programs.

mod common;

use std::process::{Command, Stdio};

use common::*;

fn lapirun_with(words: &[&str]) -> Command {
    let mut command = lapirun();
    command.args(words);
    command
}

fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("lapirun-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn several_programs_are_one_job() {
    let line = ["-n", "2", TASK, "exchange", "3", ":", "-n", "3", TASK, "exchange", "3"];
    let done = run(lapirun_with(&line)).expect(0);
    assert_eq!(done.sorted(), ["done 0", "done 1", "done 2", "done 3", "done 4"]);
    let line =
        ["-n", "2", "sh", "-c", "echo a $MP_CHILD $MP_PROCS", ":", "-n", "1", "sh", "-c", "echo b $MP_CHILD"];
    assert_eq!(run(lapirun_with(&line)).expect(0).sorted(), ["a 0 3", "a 1 3", "b 2"]);
    let done =
        run(lapirun_with(&["-n", "1", "true", ":", "-n", "1", "no-such-program-anywhere"])).expect(127);
    assert!(done.err.contains("no-such-program-anywhere"), "{done:?}");
}

#[test]
fn a_dry_run_says_where_each_task_would_run_and_starts_nothing() {
    let place = |words: &[&str]| {
        let done = run(lapirun_with(&[&["--dry-run"], words, &["false", "x"]].concat())).expect(0);
        let host = |line: &str| line.split([' ', ':']).nth(3).unwrap().to_owned();
        assert!(done.out.lines().all(|line| line.ends_with(": false x")), "{done:?}");
        done.out.lines().map(host).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(place(&["-H", "a:2,b:1"]), "a a b");
    assert_eq!(place(&["-H", "a:2,b:2", "--map-by", "node"]), "a b a b");
    assert_eq!(place(&["-H", "a,b", "--ppn", "2", "-n", "3"]), "a a b");
    assert_eq!(place(&["-n", "2"]).split(' ').count(), 2);
    let done = run(lapirun_with(&["--ppn", "2", "-n", "2", "true"])).expect(2);
    assert!(done.err.contains("--ppn"), "{done:?}");
}

#[test]
fn an_allocation_of_slurm_gives_the_machines() {
    let mut command = lapirun_with(&["--dry-run", "true"]);
    command.env("SLURM_JOB_NODELIST", "x[1-2]").env("SLURM_TASKS_PER_NODE", "2,1").env("SLURM_NTASKS", "3");
    assert_eq!(run(command).expect(0).out, "task 0 on x1: true\ntask 1 on x1: true\ntask 2 on x2: true\n");
    // One machine, which is this one: no remote command.
    let mut command = lapirun_with(&["-n", "2", "echo", "here"]);
    command.env("SLURM_JOB_NODELIST", "x1").env("SLURMD_NODENAME", "x1").env("SLURM_JOB_CPUS_PER_NODE", "1");
    assert_eq!(run(command).expect(0).out, "here\nhere\n");
}

#[test]
fn tasks_start_in_a_folder_of_their_own() {
    let folder = scratch("wdir");
    let shown = folder.to_str().unwrap();
    let done = run(lapirun_with(&["-n", "2", "--wdir", shown, "pwd"])).expect(0);
    assert_eq!(done.sorted(), [shown, shown]);
    let done = run(lapirun_with(&["-n", "2", "--wdir", "/no/such/folder", "pwd"]));
    assert_ne!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("cannot change to the folder \"/no/such/folder\": No such file"), "{done:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn each_task_may_write_a_file() {
    let folder = scratch("files");
    let pattern = folder.join("out.%t");
    let script = "echo out $MP_CHILD; echo err $MP_CHILD >&2";
    let line = ["-n", "3", "-o", pattern.to_str().unwrap(), "sh", "-c", script];
    for _ in 0..2 {
        let done = run(lapirun_with(&line)).expect(0);
        assert_eq!((done.out.as_str(), done.err.as_str()), ("", ""));
        for task in 0..3 {
            let text = std::fs::read_to_string(folder.join(format!("out.{task}"))).unwrap();
            assert_eq!(text, format!("out {task}\nerr {task}\n"));
        }
    }
    let common = folder.join("all");
    for _ in 0..2 {
        run(lapirun_with(&["-n", "2", "-o", common.to_str().unwrap(), "echo", "line"])).expect(0);
        assert_eq!(std::fs::read_to_string(&common).unwrap(), "line\nline\n");
    }
    let done = run(lapirun_with(&["-n", "1", "-o", "/no/such/folder/x", "true"]));
    assert!(done.code != Some(0) && done.err.contains("/no/such/folder/x"), "{done:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_input_goes_to_whom_it_is_meant_for() {
    let see = |who: &str, code| {
        let mut echo = Command::new("echo").arg("word").stdout(Stdio::piped()).spawn().unwrap();
        let mut command = lapirun_with(&["-n", "3", "--stdin", who, "sh", "-c", "echo $MP_CHILD:$(cat)"]);
        command.stdin(echo.stdout.take().unwrap());
        let done = run(command).expect(code);
        echo.wait().unwrap();
        done.sorted().join(" ")
    };
    assert_eq!(see("0", 0), "0:word 1: 2:");
    assert_eq!(see("2", 0), "0: 1: 2:word");
    assert_eq!(see("all", 0), "0:word 1:word 2:word");
    assert_eq!(see("none", 0), "0: 1: 2:");
    see("3", 2);
    see("some", 2);
}

#[test]
fn tasks_are_bound_to_what_shares_a_cache_or_a_memory() {
    for how in ["cache", "numa", "none"] {
        let line = ["-n", "5", "--bind", how, "grep", "Cpus_allowed_list", "/proc/self/status"];
        let done = run(lapirun_with(&line)).expect(0);
        assert!(done.err.is_empty() && done.out.lines().count() == 5, "{done:?}");
    }
}

#[test]
fn poe_takes_what_scripts_give_it() {
    let folder = scratch("poe");
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let commands = write("commands", "echo first\n# no command\necho second x\n");
    let mut command = poe();
    command.args(["-pgmmodel", "mpmd", "-cmdfile", &commands, "-procs", "2", "-stdoutmode", "ordered"]);
    assert_eq!(run(command).expect(0).out, "first\nsecond x\n");
    let mut command = poe();
    command.args(["sh", "-c", "echo $MP_CHILD", "-procs", "4", "-stdoutmode", "2", "-resd", "no"]);
    command.env("MP_PULSE", "10");
    let done = run(command).expect(0);
    assert_eq!(done.out, "2\n");
    assert_eq!(done.err, "poe: without effect here: -resd no, MP_PULSE=10\n");
    let mut command = poe();
    command.args(["echo", "x", "-procs", "2", "-stdoutmode", "2"]);
    let done = run(command).expect(2);
    assert_eq!(done.out, "");
    assert!(done.err.contains("task 2 cannot write the output: the job has 2 tasks"), "{done:?}");
    // Slow first tasks come first all the same.
    let mut command = poe();
    command.args(["sh", "-c", "[ $MP_CHILD = 0 ] && sleep 0.3; echo $MP_CHILD", "-procs", "3"]);
    command.env("MP_STDOUTMODE", "ordered");
    assert_eq!(run(command).expect(0).out, "0\n1\n2\n");
    let (hosts, saved) = (write("hosts", "localhost\nlocalhost\n"), folder.join("saved"));
    let mut command = poe();
    command.args(["echo", "x", "-hostfile", &hosts, "-savehostfile"]).arg(&saved);
    assert_eq!(run(command).expect(0).out, "x\nx\n");
    assert_eq!(std::fs::read_to_string(&saved).unwrap().lines().count(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}
