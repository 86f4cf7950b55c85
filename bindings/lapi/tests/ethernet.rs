//! The C programs of `tests/programs` and `tests/dgsp` over windows of Ethernet interfaces: tasks
//! are by turns on two hosts, which are network namespaces with a daemon each, joined by a wire.

mod support;

use std::path::{Path, PathBuf};
use support::hosts::Hosts;
use support::{Job, compile, setting, source};

/// Programs that need more windows than an interface gives to one user.
const TOO_LARGE: [&str; 1] = ["crowd"];

/// The C files of a folder of these tests.
fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(source(folder)).expect("the folder").flatten().map(|entry| entry.path());
    let mut sources: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    sources.sort();
    sources
}

fn name_of(source: &Path) -> String {
    source.file_stem().expect("sources have names").to_string_lossy().into_owned()
}

/// Runs one third of the programs: beside many busy processes all of them take most of an hour.
fn programs_work_across_hosts(test: &str, third: usize) {
    let Some(hosts) = Hosts::make(test) else { return };
    let all = sources("programs");
    assert!(all.len() > 30);
    let here = all.chunks(all.len().div_ceil(3)).nth(third).expect("three of them");
    for source in here.iter().filter(|source| !TOO_LARGE.contains(&&*name_of(source))) {
        let tasks = setting(source, "tasks:").map_or(2, |n| n.parse().expect("a number of tasks"));
        let mut job = Job::of(tasks);
        for pair in setting(source, "env:").iter().flat_map(|pairs| pairs.split(' ')) {
            let (name, value) = pair.split_once('=').expect("NAME=value");
            job = job.env(name, value);
        }
        if tasks > 1 {
            println!("{} with {tasks} tasks", name_of(source));
            hosts.run(job, &compile(std::slice::from_ref(source), &[]));
        }
    }
}

#[test]
fn programs_work_across_hosts_first_third() {
    programs_work_across_hosts("programs_work_across_hosts_first_third", 0);
}

#[test]
fn programs_work_across_hosts_second_third() {
    programs_work_across_hosts("programs_work_across_hosts_second_third", 1);
}

#[test]
fn programs_work_across_hosts_last_third() {
    programs_work_across_hosts("programs_work_across_hosts_last_third", 2);
}

#[test]
fn layouts_work_across_hosts() {
    let Some(hosts) = Hosts::make("layouts_work_across_hosts") else { return };
    for (name, tasks, args) in [
        ("util", 2, &[][..]),
        ("transfer", 2, &[]),
        ("accumulate", 3, &[]),
        ("faults", 2, &[]),
        ("random", 2, &["100", "0x5eed"]),
    ] {
        println!("{name} with {tasks} tasks");
        let program = compile(&[source(&format!("dgsp/{name}.c"))], &[]);
        hosts.run(args.iter().fold(Job::of(tasks), |job, arg| job.arg(arg)), &program);
    }
}
