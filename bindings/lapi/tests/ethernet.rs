//! The C programs of `tests/programs` and `tests/dgsp` over windows of Ethernet interfaces: tasks
//! are by turns on two hosts, which are network namespaces with a daemon each, joined by a wire.

mod support;

use lapis_testing::{Running, Space, clean, joined};
use std::path::{Path, PathBuf};
use support::{Job, artifacts, checked, compile, scratch, setting, source};

/// Programs that need more windows than an interface gives to one user.
const TOO_LARGE: [&str; 1] = ["crowd"];

/// Two hosts with daemons.
struct Hosts {
    /// Where the daemons listen: with the host's number behind it.
    name: String,
    _spaces: [Space; 2],
    _daemons: Vec<Running>,
}

impl Hosts {
    /// `None`, said aloud, where this machine has no namespaces or no AF_XDP.
    fn make(test: &str) -> Option<Self> {
        let made = Space::new().zip(Space::new()).filter(|(a, b)| a.join(b, 1));
        let Some((a, b)) = made else {
            eprintln!("SKIP {test}: this process may not make network namespaces");
            return None;
        };
        build();
        let name = scratch("ethernet").to_string_lossy().into_owned();
        let mut daemons = Vec::new();
        for (host, space) in [&a, &b].into_iter().enumerate() {
            let mut command = clean(artifacts().join("lapis-nsd"));
            command.args(["--socket", &format!("{name}-{host}"), "--eth", "r0", "--eth-windows", "32"]);
            let mut running = space.inside(|| Running::start(joined(&command)));
            let line = running.read_lines(1).remove(0);
            if !line.contains("listening") {
                assert!(line.contains("no AF_XDP") || line.contains("CAP_BPF"), "{line}");
                eprintln!("SKIP {test}: {line}");
                return None;
            }
            daemons.push(running);
        }
        Some(Self { name, _spaces: [a, b], _daemons: daemons })
    }

    /// Runs a job whose tasks are on the hosts by turns.
    fn run(&self, job: Job, program: &Path) {
        let on_its_host = r#"LAPIS_NSD=$LAPIS_NSD-$((LAPIS_TASK % 2)) exec "$0" "$@""#;
        let mut job = job.env("LAPIS_TRANSPORT", "hps").env("LAPIS_NSD", &self.name);
        let start = ["-c", on_its_host, &*program.to_string_lossy()].map(str::to_owned);
        job.args.splice(0..0, start);
        job.run(Path::new("/bin/sh")).success();
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..2 {
            let _ = std::fs::remove_file(format!("{}-{host}", self.name));
        }
    }
}

/// The daemon, which the other tests of this crate need not.
fn build() {
    let profile = match artifacts().file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let target = artifacts().parent().expect("the profile lies in the target directory");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(cargo);
    command.args(["build", "--quiet", "--profile", profile, "-p", "lapis-nsd", "--target-dir"]).arg(target);
    checked(command.current_dir(support::BINDING));
}

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

#[test]
fn every_program_works_across_hosts() {
    let Some(hosts) = Hosts::make("every_program_works_across_hosts") else { return };
    let all = sources("programs");
    assert!(all.len() > 30);
    for source in all.iter().filter(|source| !TOO_LARGE.contains(&&*name_of(source))) {
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
