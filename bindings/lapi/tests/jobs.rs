//! Jobs whose ends must be judged from outside: errors that belong to no call, deaths, profiling
//! libraries, bad environments.

mod support;

use lapi_r::abi::*;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Job, artifacts, checked, compile, scratch, source, transports};

fn job_program(name: &str) -> PathBuf {
    compile(&[source(&format!("jobs/{name}.c"))], &[])
}

/// A shared library of one source.
fn shared_library(name: &str) -> PathBuf {
    let library = scratch(&format!("lib{name}.so"));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]).arg(source(&format!("jobs/{name}.c")));
    checked(cc.arg(format!("-I{}/include", support::BINDING)).arg("-o").arg(&library));
    library
}

/// Where programs find [`shared_library`].
fn run_path() -> String {
    format!("-Wl,-rpath,{}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn error_handlers_hear_of_errors_that_belong_to_no_call() {
    let program = job_program("null_handler");
    for tasks in [1, 2] {
        let end = Job::of(tasks).arg("handler").run(&program).success();
        assert_eq!(end.stdout().matches("went on").count(), tasks as usize);
    }
}

#[test]
fn without_an_error_handler_the_job_ends_with_one_line() {
    let program = job_program("null_handler");
    for tasks in [1, 2] {
        let end = Job::of(tasks).run(&program);
        assert_eq!(end.code(), Some(1), "{}", end.stderr());
        assert!(end.stderr().contains("LAPI_ERR_HDR_HNDLR_NULL (409)"), "{}", end.stderr());
        assert!(end.stderr().contains("the job ends"), "{}", end.stderr());
        assert!(!end.stdout().contains("went on"));
    }
}

#[test]
fn a_call_that_would_wait_in_a_handler_says_what_to_do_instead() {
    let program = job_program("waits_in_handler");
    for transport in transports() {
        let end = Job::of(2).env("LAPIS_TRANSPORT", transport).run(&program).success();
        let calls = ["Fence", "Gfence", "Waitcntr", "Nopoll_wait", "Address_init", "Term"];
        for call in calls {
            let line = format!(
                "LAPI_{call} cannot be called within a handler that runs inline: let a completion handler"
            );
            assert_eq!(end.stderr().matches(&line).count(), 1, "{call}: {}", end.stderr());
        }
    }
}

#[test]
fn a_task_that_dies_is_told_to_error_handlers() {
    let program = job_program("death");
    for transport in transports() {
        // The launcher ends the job with the death's own code; what matters is that nobody hangs or
        // crashes on the way.
        let end = Job::of(3).env("LAPIS_TRANSPORT", transport).arg("handler").run(&program);
        assert_eq!(end.code(), Some(128 + 9), "{}", end.stderr());
        assert!(!end.stderr().contains("does not hold"), "{}", end.stderr());
    }
}

//= LAPI Guide, table 39, MP_DEBUG_NOTIMEOUT
//= type=test
#[test]
fn a_task_that_stays_silent_times_out_unless_a_debugger_is_announced() {
    let program = job_program("stopped");
    std::thread::scope(|scope| {
        let mut jobs = Vec::new();
        for transport in transports() {
            let job = Job::of(2).env("LAPIS_TRANSPORT", transport);
            let patient = job.clone().env("MP_DEBUG_NOTIMEOUT", "gdb").arg("never");
            let heard =
                ["counter", "fence", "room", "get", "poll", "barrier"].map(|how| job.clone().arg(how));
            for job in heard.into_iter().chain([patient]) {
                jobs.push(scope.spawn({
                    let program = &program;
                    move || job.run(program).success()
                }));
            }
        }
        jobs.into_iter().for_each(|job| drop(job.join().expect("the job succeeds")));
    });
}

#[test]
fn a_task_that_stays_silent_ends_a_job_that_has_no_error_handler() {
    let program = job_program("stopped");
    for transport in transports() {
        let end = Job::of(2).env("LAPIS_TRANSPORT", transport).arg("alone").run(&program);
        assert_eq!(end.code(), Some(1), "{}", end.stderr());
        assert!(end.stderr().contains("LAPI_ERR_TIMEOUT (413)"), "{}", end.stderr());
    }
}

#[test]
fn teams_of_a_task_that_dies_are_over_and_others_go_on() {
    let program = job_program("team_death");
    for transport in transports() {
        let job = Job::of(3).env("LAPIS_TRANSPORT", transport).option("--keep-going");
        let end = job.run(&program);
        assert_eq!(end.code(), Some(128 + 9), "{}", end.stderr());
        assert_eq!(end.stdout().matches("went on").count(), 2, "{transport}: {}", end.stderr());
    }
}

#[test]
fn fences_do_not_wait_for_vectors_that_will_never_come() {
    let program = job_program("lost_gets");
    for transport in transports() {
        for fence in ["fence", "gfence"] {
            let job = Job::of(2).env("LAPIS_TRANSPORT", transport).option("--keep-going");
            let end = job.clone().arg("death").arg(fence).run(&program);
            assert_eq!(end.code(), Some(128 + 9), "{transport}, {fence}: {}", end.stderr());
            assert_eq!(end.stdout().matches("went on").count(), 1, "{transport}: {}", end.stderr());
            let end = job.arg("purge").arg(fence).run(&program).success();
            assert_eq!(end.stdout().matches("went on").count(), 2, "{transport}: {}", end.stderr());
        }
    }
}

/// TIMEOUT is a quarter of an hour, of which nobody waits for the end.
#[test]
fn survivors_hear_at_once_of_a_death_that_the_launcher_knows_of() {
    let program = job_program("death");
    for transport in transports() {
        let job = Job::of(3).env("LAPIS_TRANSPORT", transport).option("--keep-going").arg("handler");
        let end = job.run(&program);
        assert_eq!(end.code(), Some(128 + 9), "{}", end.stderr());
        assert!(end.stderr().contains("exited with status 42"), "{}", end.stderr());
    }
}

#[test]
fn a_task_that_is_started_anew_is_purged_resumed_and_talked_to() {
    let program = job_program("reborn");
    let job = Job::of(3).option("--restart=1");
    // Over UDP; and where shared memory led to the dead process, UDP leads to its successor.
    let ways = [("LAPIS_TRANSPORT", "udp"), ("LAPI_USE_SHM", "yes"), ("LAPIS_TRANSPORT", "shm,udp")];
    for (name, value) in ways {
        let end = job.clone().env(name, value).run(&program).success();
        let text = end.stdout();
        assert_eq!(text.matches("went on").count(), 2, "{name}={value}: {text}{}", end.stderr());
        assert!(text.contains("lived again 2"), "{text}");
    }
    // Shared memory alone can't: that is said.
    let end = job.env("LAPIS_TRANSPORT", "shm").run(&program);
    assert_ne!(end.code(), Some(0));
    assert!(end.stderr().contains("can't take up a task that was restarted"), "{}", end.stderr());
}

#[test]
fn a_profiling_library_interposes_by_link_order_and_by_preloading() {
    let seen = "init 1 xfer 3 wait 3 fence 0 address 0";
    let profiler = shared_library("profiler");
    let profiled = source("jobs/profiled.c");
    let linked = compile(std::slice::from_ref(&profiled), &[profiler.to_str().expect("UTF-8"), &run_path()]);
    let end = Job::of(1).run(&linked).success();
    assert!(end.stdout().contains(seen), "{}", end.stdout());

    // Within the program itself.
    let inside = compile(&[profiled.clone(), source("jobs/profiler.c")], &[]);
    assert!(Job::of(1).run(&inside).success().stdout().contains(seen));

    let plain = compile(std::slice::from_ref(&profiled), &[]);
    let preload = profiler.to_str().expect("UTF-8");
    let end = Job::of(1).env("LD_PRELOAD", preload).run(&plain).success();
    assert!(end.stdout().contains(seen), "{}", end.stdout());
    assert!(!Job::of(1).run(&plain).success().stdout().contains("init"));
}

#[test]
fn header_handlers_of_a_library_are_found_wherever_it_lies() {
    let library = shared_library("library_handlers");
    let path = library.to_str().expect("UTF-8");
    let program = [source("jobs/library.c")];
    let job = Job::of(3);
    job.succeeds(&compile(&program, &["-DLINKED", path, &run_path()]));
    let loading = compile(&program, &["-ldl"]);
    for arguments in [&[path][..], &[path, "after"], &[path, "again"], &[path, "after", "again"]] {
        let job = Job { args: arguments.iter().map(ToString::to_string).collect(), ..job.clone() };
        job.succeeds(&loading);
        let text = job.env("LAPIS_TRANSPORT", "shm").run(&loading).success().stdout();
        let places: HashSet<_> = text.lines().filter_map(|line| line.split_once("header ")).collect();
        assert_eq!(places.len(), 3, "the library lies at one address in two tasks: {text}");
    }
}

#[test]
fn every_code_has_a_text_and_nothing_else_has() {
    let text = Job::of(1).run(&job_program("strings")).success().stdout();
    let known: Vec<i32> = text.lines().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
    let table: Vec<i32> =
        lapis_core::error::CODES.iter().map(|entry| entry.code.value()).filter(|c| *c != 0).collect();
    assert_eq!(known, table);
}

/// Runs a program by hand, as a standalone task.
fn by_hand(program: &Path, code: i32, args: &[&str], env: &[(&str, &str)]) {
    let mut command = Command::new(program);
    command.arg(code.to_string()).args(args).env("LAPIS_TRANSPORT_PATH", artifacts());
    for (name, value) in env {
        command.env(name, value);
    }
    checked(&mut command);
}

#[test]
fn a_program_that_tells_wrong_addresses_is_told_so_and_nothing_changes() {
    let two = [("MP_PROCS", "2"), ("MP_CHILD", "0"), ("MP_PARTITION", "lapi-told"), ("LAPI_USE_SHM", "no")];
    by_hand(&job_program("told_addresses"), LAPI_SUCCESS, &[], &two);
}

#[test]
fn tasks_started_by_hand_begin_again_with_the_addresses_that_they_had() {
    let program = job_program("same_addresses");
    for shared in ["no", "yes"] {
        by_hand(&program, LAPI_SUCCESS, &[], &[("LAPI_USE_SHM", shared)]);
    }
}

#[test]
fn a_job_that_anybody_may_join_is_warned_of_by_default_with_the_remedy() {
    let program = job_program("open_list");
    let secret = "5".repeat(64);
    for (address, set, warned) in [
        ("192.0.2.1", None, true),
        ("192.0.2.1", Some(("LAPIS_JOB_SECRET", &*secret)), false),
        // All on this machine: the user's own secret serves.
        ("127.0.0.1", None, false),
    ] {
        let mut command = Command::new(&program);
        command.arg(address).env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPI_USE_SHM", "no");
        command.env("MP_PROCS", "2").env("MP_CHILD", "0").env("MP_PARTITION", "lapi-open").envs(set);
        for name in ["LAPIS_LOG", "RUST_LOG", "MP_INFOLEVEL", "LAPIS_JOB_SECRET"] {
            if set.is_none_or(|(set, _)| set != name) {
                command.env_remove(name);
            }
        }
        let end = command.output().expect("starts");
        let err = String::from_utf8_lossy(&end.stderr);
        let lines: Vec<_> = err.lines().filter(|line| line.contains("LAPIS_JOB_SECRET is not set")).collect();
        assert_eq!(lines.len(), usize::from(warned), "{address}, {set:?}: {err}");
        for part in ["WARN", "MP_PARTITION=lapi-open", "64 random hexadecimal digits", "openssl rand -hex 32"]
        {
            assert!(lines.iter().all(|line| line.contains(part)), "{part}: {err}");
        }
    }
}

#[test]
fn initialization_gives_the_guides_codes() {
    let program = job_program("init_codes");
    let two = [("MP_PROCS", "2"), ("MP_CHILD", "0"), ("MP_PARTITION", "lapi-init-codes")];
    let window = ("MP_LAPI_NETWORK", "@1:164,sn0");
    let inet = ("MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo");
    by_hand(&program, LAPI_SUCCESS, &[], &[]);
    by_hand(&program, LAPI_SUCCESS, &[], &[("MP_MSG_API", "lapi")]);
    by_hand(&program, LAPI_SUCCESS, &[], &[("MP_MSG_API", "mpi_lapi")]);
    by_hand(&program, LAPI_ERR_MSG_API, &[], &[("MP_MSG_API", "smoke")]);
    by_hand(&program, LAPI_ERR_NO_NETSTR_SET, &[], &[("MP_MSG_API", "mpi")]);
    by_hand(&program, LAPI_ERR_BOTH_NETSTR_SET, &[], &[window, inet]);
    by_hand(&program, LAPI_ERR_NO_NETSTR_SET, &[], &[&two[..], &[("MP_EUILIB", "us")]].concat());
    by_hand(&program, LAPI_ERR_NO_UDP_HNDLR, &["extend"], &two);
    by_hand(&program, LAPI_ERR_USER_UDP_HNDLR_FAIL, &["extend", "handler"], &two);
    // A task alone is told the same, whether the environment says that it is alone or nothing at
    // all.
    for one in [&[][..], &[("MP_PROCS", "1"), ("MP_CHILD", "0")]] {
        by_hand(&program, LAPI_ERR_NO_UDP_HNDLR, &["extend"], one);
        by_hand(&program, LAPI_ERR_USER_UDP_HNDLR_FAIL, &["extend", "handler"], one);
    }
    // Windows need no addresses: nobody is asked for any.
    for arguments in [&["extend"][..], &["extend", "handler"]] {
        by_hand(&program, LAPI_SUCCESS, arguments, &[("MP_EUILIB", "us")]);
    }
    // Lengths that lead out of the list: fewer than none, more than there can be instances for, no
    // multiple of the tasks.
    for len in ["list=-2", "list=2147483646", "list=1", "list=18"] {
        by_hand(&program, LAPI_ERR_UDP_PORT_INFO, &["extend", len], &two);
    }
    by_hand(&program, LAPI_ERR_SET_VAL, &["instance=17"], &[]);
    by_hand(&program, LAPI_SUCCESS, &["instance=16"], &[]);
    let wide = ("MP_LAPI_INET_ADDR", "@1:[::1],lo");
    by_hand(&program, LAPI_ERR_UDP_PORT_INFO, &["extend", "handler"], &[&two[..], &[wide]].concat());
    by_hand(&program, LAPI_ERR_UDP_PKT_SZ, &[], &[("MP_UDP_PACKET_SIZE", "7")]);
    by_hand(&program, LAPI_ERR_CSS_LOAD_FAILED, &[], &[("LAPIS_TRANSPORT", "nosuchthing")]);
    by_hand(&program, LAPI_ERR_SET_VAL, &[], &[("MP_ACK_THRESH", "32")]);
    let only = ("LAPI_USE_SHM", "only");
    by_hand(&program, LAPI_ERR_SHM_SETUP, &[], &[only, ("LAPIS_TRANSPORT", "udp")]);
    by_hand(&program, LAPI_ERR_SHM_SETUP, &[], &[only, ("LAPIS_TRANSPORT", "shm,udp")]);
    by_hand(&program, LAPI_SUCCESS, &[], &[only, ("LAPIS_TRANSPORT", "shm")]);
    // What the environment announces can't be found: nobody serves there.
    let mut lost: Vec<_> = [("LAPIS_KVS", "unix:@lapis-nobody"), ("LAPIS_JOB_ID", "lost")].into();
    let secret = "5".repeat(64);
    lost.extend([("LAPIS_JOB_SECRET", &*secret), ("LAPIS_TASK", "0"), ("LAPIS_TASKS", "2")]);
    lost.push(("LAPIS_INIT_TIMEOUT", "1"));
    by_hand(&program, LAPI_ERR_UNKNOWN, &[], &lost);
    by_hand(&program, LAPI_ERR_NO_ENV_VAR, &[], &[("MP_PROCS", "2"), ("MP_CHILD", "0")]);
    by_hand(&program, LAPI_ERR_NO_ENV_VAR, &[], &[("MP_PROCS", "2"), ("MP_PARTITION", "lapi-init-codes")]);
    // The network is there, but not for this task.
    let udp = ("LAPIS_TRANSPORT", "udp");
    by_hand(&program, LAPI_SUCCESS, &[], &[udp]);
    by_hand(&program, LAPI_SUCCESS, &[], &[udp, ("MP_EUIDEVICE", "lo")]);
    by_hand(&program, LAPI_ERR_CSS_LOAD_FAILED, &[], &[udp, ("MP_EUIDEVICE", "nosuch0")]);
    by_hand(&program, LAPI_ERR_UDP_SOCKET, &["without-datagrams"], &[udp, inet]);
    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        by_hand(&program, LAPI_ERR_ADAPTERS_DOWN, &["unplugged"], &[udp]);
        by_hand(&program, LAPI_ERR_PSS_NON_ROOT, &["persistent", "nobody"], &[]);
        by_hand(&program, LAPI_SUCCESS, &["persistent"], &[]);
    } else {
        by_hand(&program, LAPI_ERR_PSS_NON_ROOT, &["persistent"], &[]);
        eprintln!("SKIPPED: LAPI_ERR_COLLECTIVE_PSS and LAPI_ERR_ADAPTERS_DOWN need root");
    }
}

/// Others would be told that they are alone.
#[test]
fn only_tasks_started_by_hand_are_asked_for_addresses() {
    let program = job_program("init_codes");
    let pmi = [("PMI_FD", "900"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")];
    for launched in [&pmi[..], &[("PMI_SIZE", "2")], &[("SLURM_STEP_NUM_TASKS", "4")]] {
        by_hand(&program, LAPI_ERR_UNKNOWN, &["extend", "handler"], launched);
    }
    // Unless the user has described the tasks.
    let described = [("SLURM_STEP_NUM_TASKS", "4"), ("MP_PROCS", "2"), ("MP_CHILD", "0")];
    by_hand(&program, LAPI_ERR_USER_UDP_HNDLR_FAIL, &["extend", "handler"], &described);
}

#[test]
fn shared_memory_alone_must_be_there_and_possible() {
    let program = job_program("init_codes");
    let only = |code: i32| Job::of(2).env("LAPI_USE_SHM", "only").arg(&code.to_string());
    only(LAPI_SUCCESS).run(&program).success();
    only(LAPI_ERR_SHM_SETUP).arg("without-memory").run(&program).success();
    // A copy of the library that has no plugins beside it.
    let bare = scratch("bare");
    std::fs::create_dir(&bare).expect("the target directory can be written");
    std::fs::copy(artifacts().join("liblapi_r.so"), bare.join("liblapi_r.so.1")).expect("it was just built");
    let bare = bare.to_str().expect("UTF-8");
    let without = only(LAPI_ERR_SHM_KE_NOT_LOADED).env("LD_LIBRARY_PATH", bare);
    without.env("LAPIS_TRANSPORT_PATH", bare).run(&program).success();
}

//= LAPI Guide, table 41, MP_INFOLEVEL of 2 and more
//= LAPI Guide, table 39, MP_LAPI_TRACE_LEVEL
//= type=test
#[test]
fn levels_of_information() {
    let program = job_program("profiled");
    let quiet = Job::of(1).run(&program).success();
    assert_eq!(quiet.stderr(), "");
    let version = format!("Lapis {}", env!("CARGO_PKG_VERSION"));
    assert!(Job::of(1).env("MP_INFOLEVEL", "2").run(&program).success().stderr().contains(&version));
    let stamped = Job::of(1).env("MP_INFOLEVEL", "2").run(&program).success().stderr();
    assert_eq!(build_time(&stamped).map(|time| time.len()), Some("2026-01-02 03:04:05".len()), "{stamped}");
    assert!(!Job::of(1).env("MP_INFOLEVEL", "1").run(&program).success().stderr().contains(&version));
    assert!(Job::of(1).env("MP_LAPI_TRACE_LEVEL", "3").run(&program).success().stderr().contains("INFO"));
    let filtered = Job::of(1).env("LAPIS_LOG", "off,lapis::loader=info").env("MP_LAPI_TRACE_LEVEL", "5");
    let text = filtered.run(&program).success().stderr();
    assert!(text.contains("lapis::loader") && !text.contains("TRACE"), "{text}");
}

/// When the library was built, by its own account.
fn build_time(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("built ")?;
    let (time, _) = rest.split_once(" UTC)")?;
    time.chars().all(|c| c.is_ascii_digit() || "-: ".contains(c)).then_some(time)
}

/// What the library prints of a job in user-space mode names each window of the task.
//= LAPI Guide, Printing data transfer statistics
//= type=test
#[test]
fn printed_statistics_tell_of_each_window() {
    let program = compile(&[source("programs/attributes.c")], &[]);
    let job = Job::of(2).env("LAPIS_TRANSPORT", "hps").env("MP_INSTANCES", "2");
    let out = job.run(&program).success().stdout();
    let lines: Vec<&str> = out.lines().filter(|line| line.contains("transport hps: window")).collect();
    assert_eq!(lines.len(), 2, "{out}");
    for line in lines {
        for adapter in ["of sn0 network 0 (", "of sn1 network 1 ("] {
            assert!(line.contains(adapter), "{line}");
        }
        assert_eq!(line.matches(" datagrams sent, ").count(), 2, "{line}");
        assert_eq!(line.matches(" received)").count(), 2, "{line}");
    }
}

/// Two contexts each, and one line of the job.
//= LAPI Guide, table 39, MP_MSG_API is to be set
//= type=test
#[test]
fn a_missing_message_api_is_told_once() {
    let program = compile(&[source("programs/lifecycle.c")], &[]);
    let said = |level: &str, api: Option<&str>| {
        let mut command = Command::new(&program);
        command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("MP_INFOLEVEL", level).env_remove("MP_MSG_API");
        command.envs(api.map(|api| ("MP_MSG_API", api)));
        let output = command.output().expect("the program was just built");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).matches("MP_MSG_API is not set").count()
    };
    assert_eq!((said("0", None), said("1", None), said("1", Some("lapi"))), (0, 1, 0));
}

//= LAPI Guide, table 33, attention messages
//= type=test
#[test]
fn attention_messages_come_when_they_are_due() {
    let alone = job_program("profiled");
    let said = |job: Job, program: &Path| job.run(program).success().stderr();
    // Level, number, and whether it is said.
    for (level, number, due) in
        [("0", "504:", false), ("1", "504:", true), ("1", "501:", false), ("2", "501:", true)]
    {
        let text = said(Job::of(1).env("MP_INFOLEVEL", level), &alone);
        assert_eq!(text.contains(number), due, "level {level}: {text}");
    }
    assert!(!said(Job::of(1).env("MP_INFOLEVEL", "2").env("LAPI_USE_SHM", "no"), &alone).contains("504:"));
    assert!(
        said(Job::of(1).env("MP_INFOLEVEL", "2").env("MP_USE_BULK_XFER", "yes"), &alone).contains("499:")
    );
    let (name, value) = ("MP_LAPI_NETWORK", "@1:2,sn0");
    let line = format!("{name}={value} has no effect: ");
    for level in ["0", "1"] {
        let text = said(Job::of(1).env("MP_INFOLEVEL", level).env(name, value), &alone);
        assert_eq!(text.matches(&line).count(), level.parse().unwrap(), "{text}");
    }

    let pair = job_program("null_handler");
    let over = |transport: &str| {
        Job::of(2).arg("handler").env("MP_INFOLEVEL", "2").env("LAPIS_TRANSPORT", transport)
    };
    let text = said(over("udp").env("MP_INSTANCES", "2"), &pair);
    assert_eq!((text.matches("509:").count(), text.matches("490:").count()), (2, 2), "{text}");
    let text = said(over("shm").env("MP_INSTANCES", "2"), &pair);
    assert!(!text.contains("509:") && !text.contains("490:") && !text.contains("502:"), "{text}");
    let little =
        Job::of(2).arg("-c").arg("ulimit -f 64; exec \"$0\" handler").arg(&pair.display().to_string());
    let text = said(little.env("MP_INFOLEVEL", "1").env("LAPI_USE_SHM", "yes"), Path::new("sh"));
    assert!(text.contains("502:") && text.contains("RLIMIT_FSIZE"), "{text}");

    // Two of three tasks fall silent.
    let end = Job::of(3).env("LAPIS_TRANSPORT", "udp").env("MP_INFOLEVEL", "1").run(&job_program("silent"));
    let text = end.stderr();
    assert!(text.contains("500:") && text.contains("Silent are tasks 1, 2."), "{text}");
}

/// What is not part of the interface must not be found by the programs' symbols.
#[test]
fn the_library_exports_what_the_map_says() {
    let library = artifacts().join("liblapi_r.so");
    let names = checked(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&library));
    // GNU's linker is there wherever these tests run: each name has a version.
    let mut exported: Vec<_> = names
        .lines()
        .filter_map(|line| line.split(' ').next())
        // The version itself.
        .filter(|name| *name != "liblapi_r.so.1")
        .map(|name| name.strip_suffix("@@liblapi_r.so.1").unwrap_or_else(|| panic!("{name} has no version")))
        .collect();
    let map = include_str!("../liblapi.map");
    assert!(map.contains("\nliblapi_r.so.1 {\n"), "the installed library's symbols have another version");
    let mut listed: Vec<_> = map
        .split([' ', '\n', ';'])
        .filter(|word| {
            // Fortran's spellings are in lower case, too.
            let name = word.to_ascii_uppercase();
            ["LAPI_", "PLAPI_", "LAPIS_"].iter().any(|prefix| name.starts_with(prefix))
        })
        .collect();
    exported.sort_unstable();
    listed.sort_unstable();
    assert_eq!(exported, listed);
    let header = checked(Command::new("readelf").arg("-d").arg(&library));
    assert!(header.contains("soname: [liblapi_r.so.1]"), "{header}");
}
