//! Every C program of `tests/programs`, as a job of its own, over each transport there is.

#[path = "support/pulled.rs"]
mod pulled;
mod support;

use support::{Job, compile, setting, source};

/// Runs a program with as many tasks as its comment says, and alone if it says that it can be.
fn program(name: &str) {
    program_with(name, &[]);
}

/// The binary of a program, and the job that its comment describes, with these variables.
fn job_of(name: &str, environment: &[(&str, &str)]) -> (std::path::PathBuf, Job) {
    let source = source(&format!("programs/{name}.c"));
    let binary = compile(std::slice::from_ref(&source), &[]);
    let tasks = setting(&source, "tasks:").map_or(2, |n| n.parse().expect("a number of tasks"));
    let mut job = environment.iter().fold(Job::of(tasks), |job, (name, value)| job.env(name, value));
    for pair in setting(&source, "env:").iter().flat_map(|pairs| pairs.split(' ')) {
        let (name, value) = pair.split_once('=').expect("NAME=value");
        job = job.env(name, value);
    }
    (binary, job)
}

/// The same with these variables.
fn program_with(name: &str, environment: &[(&str, &str)]) {
    let (binary, job) = job_of(name, environment);
    let tasks = job.tasks;
    job.succeeds(&binary);
    if tasks > 2 {
        Job { tasks: 2, ..job.clone() }.succeeds(&binary);
        Job { tasks: 1, ..job }.succeeds(&binary);
    }
}

macro_rules! programs {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            program(stringify!($name));
        }
    )*};
}

programs! {
    atomics, attributes, chain, collectives, conditions, copies, crowd, ended, errors, exhausted, fence_after_end,
    flags, flood, free_at_once, handlers, held, huge, incomplete, init_info, interrupts, itself, late,
    late_again, late_replies, leave, lifecycle, lock, long_puts, memory, msgpoll, outstanding, polling, purged,
    put_off, random_layouts, random_transfers, recovery, replies, reuse, reuse_longer, runtime, signal_calls,
    signals, strangers, team_errors, term_traffic, threads, transfers, vector_replies,
    vectors, watches, xfer,
}

/// The same over RDMA, each with as many tasks as its comment says. Not here: `conditions`, which
/// is alone; and `crowd`, `flood`, `lifecycle` and `long_puts`, which take long and whose subject
/// is the same over every transport.
mod rdma {
    macro_rules! programs_over_rdma {
        ($($name:ident),* $(,)?) => {$(
            #[test]
            fn $name() {
                let (binary, job) = super::job_of(stringify!($name), &super::support::RDMA);
                job.run(&binary).success();
            }
        )*};
    }

    programs_over_rdma! {
        atomics, attributes, chain, collectives, copies, ended, errors, exhausted, fence_after_end, flags, handlers, held, huge, incomplete,
        init_info, interrupts, itself, late, late_replies, leave, lock, memory, msgpoll, outstanding, polling, purged,
        put_off, random_layouts, random_transfers, recovery, replies, reuse, reuse_longer, runtime,
        signal_calls, signals, team_errors, term_traffic, threads, transfers,
        vector_replies, vectors, watches, xfer,
    }
}

/// The same over windows whose adapters are pulled and put back meanwhile, each with as many tasks
/// as its comment says. Not here: `conditions`, which is alone; and `ended`, `errors`, `lifecycle`
/// and `threads`, which begin contexts amid that: tasks that find different adapters down have no
/// network in common.
mod with_pulled_adapters {
    macro_rules! programs_with_pulled_adapters {
        ($($name:ident),* $(,)?) => {$(
            #[test]
            fn $name() {
                let (binary, job) = super::job_of(stringify!($name), &[]);
                super::pulled::succeeds(&job, &binary);
            }
        )*};
    }

    programs_with_pulled_adapters! {
        atomics, attributes, chain, collectives, copies, crowd, exhausted, flags, flood, handlers, held, huge, incomplete,
        init_info, interrupts, itself, late, late_replies, leave, lock, long_puts, memory, msgpoll, outstanding,
        polling, purged, random_layouts, random_transfers, recovery, replies, reuse, reuse_longer, runtime, signal_calls, signals,
        strangers, team_errors, transfers, vector_replies, vectors, watches, xfer,
    }
}

/// As in jobs of many tasks: the first message, put or atomic makes the contact.
#[test]
fn tasks_that_meet_when_they_need_each_other_do_the_same() {
    for name in ["atomics", "leave", "lifecycle", "purged", "strangers", "transfers", "vectors"] {
        program_with(name, &[("LAPIS_SHM_CONTACT", "need")]);
    }
}

/// As on a network that loses datagrams, sends them twice and lets them overtake each other.
#[test]
fn random_transfers_survive_a_bad_network() {
    for name in ["random_transfers", "random_layouts"] {
        program_with(name, &[("LAPIS_CHAOS", "drop=0.02,dup=0.02,reorder=0.05,seed=7")]);
    }
}

/// What goes by another way where bulk transfer is wished for, or where nothing is copied, arrives
/// all the same.
#[test]
fn random_transfers_do_the_same_in_bulk_and_without_copies() {
    for name in ["random_transfers", "random_layouts"] {
        let (binary, job) = job_of(name, &[("MP_USE_BULK_XFER", "yes"), ("MP_BULK_MIN_MSG_SIZE", "4096")]);
        let job = job.env("MP_REXMIT_BUF_SIZE", "1").env("LAPIS_EAGER_MAX", "1000");
        job.arg("17").succeeds(&binary);
    }
}

/// Buffers that are free when a call returns are so, too, where bulk transfer is wished for.
#[test]
fn messages_that_are_copied_are_not_fetched_instead() {
    let bulk = ("MP_USE_BULK_XFER", "yes");
    program_with("reuse_longer", &[bulk]);
    // By default, too: between windows short messages are not sent in one packet.
    let binary = compile(&[source("programs/reuse.c")], &[]);
    let job = Job::of(2).env(bulk.0, bulk.1).env("MP_BULK_MIN_MSG_SIZE", "4096");
    job.succeeds(&binary);
}

/// Another version of Lapis may have written the user's file: it costs a warning, nothing else.
#[test]
fn values_of_a_tuning_file_that_nobody_understands_do_not_count() {
    let file = support::scratch("tuning");
    std::fs::write(&file, "LAPIS_SHM_COPIES=near=5\nLAPIS_COLLECTIVES=barrier=teleport\n").unwrap();
    let program = compile(&[source("programs/collectives.c")], &[]);
    let job = Job::of(2).env("LAPIS_TUNING", file.to_str().unwrap()).env("LAPIS_TRANSPORT", "shm");
    let stderr = job.run(&program).success().stderr();
    for words in ["LAPIS_SHM_COPIES=`near=5`: no limit `near`", "LAPIS_COLLECTIVES=`barrier=teleport`"] {
        assert!(stderr.contains(words) && stderr.contains("it does not count"), "{stderr}");
    }
    std::fs::remove_file(file).unwrap();
}

/// The guide allows packets that the longest user header does not fit.
#[test]
fn packets_over_udp_that_are_too_small_become_larger_with_a_warning() {
    if !support::transports().contains(&"udp") {
        eprintln!("SKIPPED: the plugin for udp is not built");
        return;
    }
    let program = compile(&[source("programs/transfers.c")], &[]);
    for (size, warnings) in [("1024", 2), ("1167", 2), ("1168", 0)] {
        let job = Job::of(2).env("LAPIS_TRANSPORT", "udp").env("MP_UDP_PACKET_SIZE", size);
        let stderr = job.run(&program).success().stderr();
        let line = format!("MP_UDP_PACKET_SIZE={size} is raised to 1168");
        assert_eq!(stderr.matches(&line).count(), warnings, "{stderr}");
    }
}

/// Nobody can forget to list a program.
#[test]
fn all_programs_are_listed() {
    let listed = include_str!("programs.rs");
    let list = listed.split_once("programs! {").expect("the list").1;
    for entry in std::fs::read_dir(source("programs")).expect("the folder").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "c") {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(
                list.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == stem),
                "{stem}.c does not run"
            );
        }
    }
}
