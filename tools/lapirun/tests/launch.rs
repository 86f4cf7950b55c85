//! Whole jobs through the real launcher: what works, and what the user sees.

mod common;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use common::*;

fn job(tasks: u32, options: &[&str], program: &[&str]) -> Finished {
    let mut command = lapirun();
    command.arg("-n").arg(tasks.to_string()).args(options).args(program);
    run(command)
}

#[test]
fn jobs_of_all_sizes_exchange() {
    for tasks in [1, 2, 3, 16, 64] {
        let done = job(tasks, &[], &[TASK, "exchange", "5"]).expect(0);
        assert_eq!(done.sorted().len(), tasks as usize, "{done:?}");
    }
}

#[test]
fn two_jobs_of_one_name_do_not_meet() {
    let start = || {
        let mut command = lapirun();
        command.args(["-n", "4", TASK, "identity"]);
        Running::start(command)
    };
    let jobs = [start(), start()].map(|j| j.wait().expect(0));
    for job in &jobs {
        assert_eq!(job.sorted().len(), 4);
    }
    assert_ne!(jobs[0].sorted()[0], jobs[1].sorted()[0]);
}

#[test]
fn the_environment_describes_the_job_in_the_guides_terms() {
    let see =
        |name: &str, options: &[&str]| job(3, options, &[TASK, "env", name]).expect(0).sorted().join(" ");
    assert_eq!(see("MP_CHILD", &[]), "0 1 2");
    assert_eq!(see("MP_PROCS", &[]), "3 3 3");
    assert_eq!(see("MP_COMMON_TASKS", &[]), "2:0:1 2:0:2 2:1:2");
    assert_eq!(see("MP_MSG_API", &[]), "lapi lapi lapi");
    assert_eq!(see("LAPI_USE_SHM", &[]), "yes yes yes");
    assert_eq!(see("LAPI_USE_SHM", &["-x", "LAPI_USE_SHM=no"]), "no no no");
    assert_eq!(see("A_B", &["-x", "A_B=c=d"]), "c=d c=d c=d");
    let partition = see("MP_PARTITION", &[]);
    let numbers: Vec<u32> = partition.split(' ').map(|n| n.parse().unwrap()).collect();
    assert!(numbers.iter().all(|n| *n == numbers[0]), "{partition}");
    let mut command = lapirun();
    command.env("LAPI_USE_SHM", "only").args(["-n", "1", TASK, "env", "LAPI_USE_SHM"]);
    assert_eq!(run(command).out, "only\n");
}

#[test]
fn exported_variables_are_checked() {
    for (text, part) in [("MP_CHILD=3", "MP_CHILD"), ("NOT_SET_ANYWHERE", "not set"), ("=x", "missing")] {
        let done = job(1, &["-x", text], &["true"]).expect(2);
        assert!(done.err.contains(part) && done.err.lines().count() == 1, "{done:?}");
    }
}

#[test]
fn tagged_lines_are_whole() {
    let done = job(4, &["--tag-output"], &[TASK, "lines", "200"]).expect(0);
    for line in done.out.lines().chain(done.err.lines()) {
        let (tag, rest) = line.split_once(' ').unwrap();
        let task = tag.trim_matches(['[', ']']);
        let words: Vec<&str> = rest.split(' ').collect();
        let whole = matches!(words[..], ["task", t, "line" | "error", _, "end"] if t == task);
        assert!(whole || rest == format!("no newline {task}"), "{line:?}");
    }
    assert_eq!(done.out.lines().count(), 4 * 201);
    assert_eq!(done.err.lines().count(), 4 * 13);
}

#[test]
fn lines_of_tasks_and_of_the_launcher_never_mix() {
    // Each printf is a write of its own.
    let script = "i=0; while [ $i -lt 300 ]; do printf 'task %s ' $MP_CHILD; printf 'line '; printf 'end\\n'; \
                  [ $((i % 7)) = 0 ] && { printf 'task %s error ' $MP_CHILD; echo end; } >&2; i=$((i+1)); done; exit 3";
    let mut command = clean("sh");
    command.args(["-c", "exec \"$@\" 2>&1", "sh", env!("CARGO_BIN_EXE_lapirun"), "-n", "6", "--keep-going"]);
    command.args(["sh", "-c", script]);
    let done = run(command).expect(3);
    let mut counts = [0; 3];
    for line in done.out.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["task", _, "line", "end"] => counts[0] += 1,
            ["task", _, "error", "end"] => counts[1] += 1,
            ["lapirun:", "task", ..] => counts[2] += 1,
            _ => panic!("{line:?}"),
        }
    }
    assert_eq!(counts, [6 * 300, 6 * 43, 6]);
}

#[test]
fn output_without_line_ends_stays_byte_for_byte() {
    let done = job(2, &[], &["sh", "-c", "[ $MP_CHILD = 0 ] || exit 0; printf 'a\\r\\n\\nb'"]).expect(0);
    assert_eq!(done.out, "a\r\n\nb");
}

#[test]
fn unknown_options_and_too_many_tasks_are_named_before_anything_starts() {
    for (words, part) in [
        (&["--bogus", "-n", "2", "true"][..], "'--bogus'"),
        (&["-n", "2", "--tag", "true"], "'--tag'"),
        (&["-n", "20000", "touch", "/nonexistent/x"], "MAX_TASKS"),
    ] {
        let mut command = lapirun();
        command.args(words);
        let done = run(command).expect(2);
        assert!(done.err.contains(part) && done.out.is_empty(), "{done:?}");
    }
}

#[test]
fn standard_input_goes_to_task_0() {
    let mut echo = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn().unwrap();
    let mut command = lapirun();
    command.args(["-n", "2", TASK, "stdin"]).stdin(echo.stdout.take().unwrap());
    let done = run(command).expect(0);
    echo.wait().unwrap();
    assert!(done.out.contains("0:hello\n") && done.out.contains("1:\n"), "{done:?}");
}

#[test]
fn binding_gives_each_task_its_core_or_says_why_not() {
    let done = job(1, &["--bind", "core"], &["grep", "Cpus_allowed_list", "/proc/self/status"]).expect(0);
    assert!(done.err.is_empty(), "{done:?}");
    let cores = std::thread::available_parallelism().unwrap().get();
    let all = job(1, &[], &["grep", "Cpus_allowed_list", "/proc/self/status"]).expect(0).out;
    assert!(cores == 1 || done.out != all, "{} {all}", done.out);
    let done = job(300, &["--bind", "core"], &["true"]).expect(0);
    assert!(done.err.contains("300 cores"), "{done:?}");
}

#[test]
fn nonsense_is_refused_in_one_line_with_the_shells_codes() {
    let folder = std::env::temp_dir();
    let script = folder.join(format!("lapirun-test-{}", std::process::id()));
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let script_name = script.to_str().unwrap();
    for (tasks, program, code, part) in [
        (2, "no-such-program-anywhere", 127, "not found in PATH"),
        (2, "./no/such/program", 127, "./no/such/program"),
        (2, "", 127, "not found"),
        (2, "/etc/passwd", 126, "not executable"),
        (2, "/etc", 126, "directory"),
        (2, script_name, 126, "not executable"),
    ] {
        let done = job(tasks, &[], &[program]).expect(code);
        assert!(done.err.contains(part) && done.err.lines().count() == 1, "{done:?}");
    }
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let done = job(2, &[], &[script_name]).expect(126);
    assert!(done.err.contains("interpreter") && done.err.lines().count() == 1, "{done:?}");
    std::fs::remove_file(&script).unwrap();
    for wrong in
        [&["-n", "0", "true"][..], &["true"], &["-n", "2"], &["-n", "1000000", "true"], &["-n", "x", "y"]]
    {
        let mut command = lapirun();
        command.args(wrong);
        let done = run(command).expect(2);
        assert!(done.err.starts_with("error:"), "{done:?}");
    }
}

#[test]
fn a_program_that_never_calls_lapis_runs_too() {
    let done = job(3, &[], &["echo", "x"]).expect(0);
    assert_eq!(done.out, "x\nx\nx\n");
}

#[test]
fn poe_runs_the_same_jobs() {
    let mut command = poe();
    command.args([TASK, "env", "MP_CHILD", "-procs", "2", "-labelio", "yes", "-infolevel", "2"]);
    let done = run(command).expect(0);
    assert_eq!(done.sorted(), ["[0] 0", "[1] 1"]);
    assert!(done.err.contains("2 tasks"), "{done:?}");
    let mut command = poe();
    command.env("MP_PROCS", "3").args([TASK, "exchange", "2"]);
    assert_eq!(run(command).expect(0).sorted().len(), 3);
    let mut command = poe();
    command.args(["true", "-hostfile", "no/such/hosts"]);
    let done = run(command).expect(2);
    assert!(done.err.contains("no/such/hosts") && done.err.lines().count() == 1, "{done:?}");
    let mut command = poe();
    command.arg("--help");
    assert!(run(command).expect(0).out.contains("-procs"));
}

#[test]
fn a_descriptor_limit_of_64_is_enough_for_small_jobs_and_named_for_large_ones() {
    let limited = |tasks: &str, program: &[&str]| {
        let mut command = clean("sh");
        command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_lapirun"), "-n", tasks]);
        command.args(program);
        run(command)
    };
    assert_eq!(limited("16", &[TASK, "exchange", "20"]).expect(0).sorted().len(), 16);
    // The same with strangers that try to use the descriptors up.
    assert_eq!(limited("8", &[TASK, "flood", "20"]).expect(0).sorted().len(), 8);
    let done = limited("64", &["true"]).expect(1);
    assert!(done.err.contains("limit is 64") && done.err.lines().count() == 1, "{done:?}");
}

#[test]
fn a_limit_of_processes_is_named_whether_a_thread_or_a_task_meets_it() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become a user who has no processes yet");
        return;
    }
    // The folder of the build may be closed to others.
    let folder = std::env::temp_dir().join(format!("lapirun-processes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("lapirun");
    std::fs::copy(env!("CARGO_BIN_EXE_lapirun"), &program).unwrap();
    for path in [&folder, &program] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    // The limit counts all processes of a user: each attempt has one of its own.
    let user = 1_000_000 + 2 * std::process::id();
    for (user, limit, what) in [(user, "3", "starting the threads"), (user + 1, "12", "cannot start task")] {
        let mut command = clean("bash");
        command.args(["-c", "ulimit -u $0; exec \"$@\"", limit]).arg(&program);
        command.args(["-n", "20", "sleep", "60"]).current_dir("/").uid(user).gid(user);
        let done = run(command).expect(1);
        assert!(done.err.contains("`ulimit -u`") && done.err.contains(what), "{done:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn garbage_at_the_store_does_not_disturb_the_job() {
    assert_eq!(job(6, &[], &[TASK, "flood", "200"]).expect(0).sorted().len(), 6);
}
