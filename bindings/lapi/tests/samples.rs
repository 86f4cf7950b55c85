//! The samples compile by the wrapper compilers and print what the file beside them says.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Finished, Job, artifacts, checked, sample, scratch, transports};

/// All C files below a folder.
fn programs(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the samples").flatten() {
        let path = entry.path();
        if path.is_dir() {
            programs(&path, out);
        } else if path.extension().is_some_and(|e| e == "c") {
            out.push(path);
        }
    }
    out.sort();
}

fn compile(source: &Path) -> PathBuf {
    let binary = scratch("sample");
    let mut lapicc = Command::new(artifacts().join("lapicc"));
    checked(
        lapicc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&binary),
    );
    binary
}

/// Lines in order: tasks print at the same time.
#[track_caller]
fn judge(source: &Path, printed: &str) {
    let expected = std::fs::read_to_string(source.with_extension("out"))
        .unwrap_or_else(|e| panic!("{}: no expected output: {e}", source.display()));
    let mut printed: Vec<&str> = printed.lines().collect();
    if let Some(some) = expected.strip_prefix("contains:\n") {
        for line in some.lines() {
            assert!(printed.contains(&line), "{}: `{line}` is missing in {printed:#?}", source.display());
        }
        return;
    }
    printed.sort_unstable();
    assert_eq!(printed, expected.lines().collect::<Vec<_>>(), "{}", source.display());
}

fn without_tags(end: &Finished) -> String {
    let lines = end.stdout();
    lines
        .lines()
        .map(|line| line.split_once("] ").map_or(line, |(_, text)| text))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn samples_print_what_they_should() {
    let mut sources = Vec::new();
    programs(&sample(""), &mut sources);
    assert!(sources.len() > 20);
    for source in sources.iter().filter(|source| !source.to_string_lossy().contains("standalone")) {
        let binary = compile(source);
        for transport in transports() {
            let end = Job::of(2).env("LAPIS_TRANSPORT", transport).run(&binary).success();
            judge(source, &without_tags(&end));
        }
    }
}

/// Whose last message and whose end are noticed together depends on the moment: hence many jobs.
#[test]
fn tasks_that_end_one_after_the_other_are_not_taken_for_dead() {
    let binary = compile(&sample("xfer/Am_xfer.c"));
    for transport in transports() {
        for tasks in [4, 6].into_iter().cycle().take(40) {
            let end = Job::of(tasks).env("LAPIS_TRANSPORT", transport).run(&binary).success();
            assert!(!end.stderr().contains("WARN"), "{tasks} tasks over {transport}: {}", end.stderr());
        }
    }
}

#[test]
fn the_readmes_program_prints_what_it_got() {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("```c\n").expect("the README has a C program");
    let (program, _) = rest.split_once("```").expect("which ends");
    assert!(program.lines().count() < 40, "it is to be short");
    let source = scratch("readme").with_extension("c");
    std::fs::write(&source, program).expect("the source is written");
    // As it stands there: without the checks that a tutorial leaves out.
    let binary = scratch("readme");
    checked(Command::new(artifacts().join("lapicc")).args(["-Wall"]).arg(&source).arg("-o").arg(&binary));
    let end = Job::of(3).env("LAPIS_TRANSPORT", "shm").run(&binary).success();
    let mut printed: Vec<String> = without_tags(&end).lines().map(str::to_owned).collect();
    printed.sort_unstable();
    let expected: Vec<String> = (0..3).map(|task| format!("task {task} got \"hello, neighbour\"")).collect();
    assert_eq!(printed, expected);
}

//= LAPI Guide, chapter 16, tasks are started by hand with MP_* variables
//= type=test
#[test]
fn tasks_can_be_started_by_hand() {
    let source = sample("standalone/hello.c");
    let binary = compile(&source);
    let mut sh = Command::new("timeout");
    sh.args(["60", "sh"]).arg(sample("standalone/by_hand.sh")).arg("2").arg(binary);
    judge(&source, &checked(sh.env("LAPIS_TRANSPORT_PATH", artifacts())));
}

/// UDP ports of this machine that were free a moment ago.
fn ports(count: usize) -> String {
    let sockets: Vec<_> =
        (0..count).map(|_| std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port")).collect();
    let ports = sockets.iter().map(|s| s.local_addr().expect("bound").port().to_string());
    ports.collect::<Vec<_>>().join(",")
}

//= LAPI Guide, Standalone initialization, a user handler wins over a user list
//= type=test
#[test]
fn the_program_may_tell_the_addresses_by_a_list_or_a_handler() {
    let source = sample("standalone/udp/init.c");
    let binary = compile(&source);
    for how in ["list", "handler"] {
        let mut sh = Command::new("timeout");
        sh.args(["60", "sh"]).arg(sample("standalone/by_hand.sh")).arg("3").arg(&binary).arg(how);
        sh.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPI_USE_SHM", "no").env("SAMPLE_PORTS", ports(3));
        judge(&source, &checked(&mut sh));
    }
}

/// No datagram passes: only the way that the guide promises to tasks of one node can carry the
/// messages.
//= LAPI Guide, table 42, LAPI_USE_SHM of yes
//= type=test
#[test]
fn tasks_of_one_node_use_shared_memory_beside_told_addresses() {
    let source = sample("standalone/udp/init.c");
    let binary = compile(&source);
    for how in ["list", "handler"] {
        let mut sh = Command::new("timeout");
        sh.args(["60", "sh"]).arg(sample("standalone/by_hand.sh")).arg("3").arg(&binary).arg(how);
        sh.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPI_USE_SHM", "yes").env("SAMPLE_PORTS", ports(3));
        sh.env("LAPIS_CHAOS", "seed=1,drop=100%");
        // What the sample prints of the protocol is the first task's way to the second.
        judge(&source, &checked(&mut sh).replace("something else", "UDP"));
    }
}

//= LAPI Guide, LAPI_Util, LAPI_ADD_UDP_DEST_PORT, table 21
//= LAPI Guide, LAPI_Purge_totask, cancels messages to a task
//= LAPI Guide, LAPI_Resume_totask, takes up communication again
//= type=test
#[test]
fn a_task_that_is_killed_and_started_anew_at_another_port_is_taken_up() {
    let source = sample("standalone/udp/recover.c");
    let binary = compile(&source);
    let mut sh = Command::new("timeout");
    sh.args(["600", "sh"]).arg(sample("standalone/udp/recover.sh")).arg("3").arg(&binary);
    sh.env("LAPIS_TRANSPORT_PATH", artifacts()).env("SAMPLE_PORTS", ports(4));
    judge(&source, &checked(&mut sh));
}

#[test]
fn wrapper_compilers_show_what_they_would_do() {
    let show = |program: &str, args: &[&str]| {
        checked(Command::new(artifacts().join(program)).arg("-show").args(args))
    };
    let line = show("lapicc", &["-O2", "a.c", "-o", "a"]);
    assert!(line.starts_with("cc -I") && line.contains("-llapi_r") && line.contains("-Wl,-rpath,"), "{line}");
    assert!(!show("lapicc", &["-c", "a.c"]).contains("-llapi_r"));
    assert!(show("lapicxx", &["a.C"]).starts_with("c++ "));
    for (program, compiler) in [("lapicc", "Runs cc "), ("lapicxx", "Runs c++ ")] {
        let help = checked(Command::new(artifacts().join(program)).arg("--help"));
        assert!(help.starts_with(compiler) && help.contains("-show "), "{help}");
    }
    let other = checked(
        Command::new(artifacts().join("lapicc")).args(["-show", "a.c"]).env("LAPIS_CC", "ccache gcc"),
    );
    assert!(other.starts_with("ccache gcc -I"), "{other}");
}
