//! Jobs of real tasks over the rdma plugin, over providers of libfabric that need no adapter.

use lapis_testing::Job;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// A job over a provider.
fn job(tasks: u32, provider: &str) -> Job {
    let job = Job::new(tasks).var("LAPIS_TRANSPORT", "rdma").var("LAPIS_RDMA_PROVIDER", provider);
    // The shm provider has no addresses.
    if provider == "shm" { job } else { job.var("LAPIS_RDMA_ADDR", "127.0.0.1") }
}

/// Runs a scenario of which every task says that it is done.
#[track_caller]
fn done(job: &Job, tasks: usize, scenario: &str) {
    let done = job.run(TASK, &[scenario]).expect_quiet(0);
    assert_eq!(done.sorted(), vec![format!("{scenario}: done"); tasks]);
}

#[test]
fn registered_memory_is_reached_without_packets() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        done(&job(3, provider), 3, "by-key");
    }
}

#[test]
fn long_messages_are_fetched_by_their_targets() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        done(&job(2, provider), 2, "long-messages");
    }
}

#[test]
fn long_transfers_of_unregistered_memory_are_carried_out_by_their_targets() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        done(&job(3, provider), 3, "unregistered");
    }
    done(&job(3, "tcp;ofi_rxm").var("LAPIS_CHAOS", "again=0.3,seed=7"), 3, "unregistered");
}

/// Where libfabric is too old to fetch over several rails, origins are asked to put.
#[test]
fn several_rails_carry_long_messages_without_packets() {
    let job = job(2, "tcp;ofi_rxm").var("LAPIS_RDMA_ADDR", "127.0.0.1,127.0.0.2");
    done(&job, 2, "long-messages");
}

/// Over tcp nothing else tells the origin of their end.
#[test]
fn who_asks_after_short_puts_waits_until_they_are_there() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        for how in ["fence", "purge", "terminate"] {
            let folder = lapis_testing::scratch("short-puts");
            std::fs::create_dir_all(&folder).expect("a directory for notes");
            let job = job(2, provider).var("LAPIS_INTERRUPT", "no");
            let ended = job.run(TASK, &["short-puts", how, &folder.to_string_lossy()]);
            let _ = std::fs::remove_dir_all(&folder);
            let ended = ended.expect(0);
            assert_eq!(ended.lines_with("short-puts: done").len(), 2, "{provider}, {how}: {ended:?}");
        }
        for interrupts in ["yes", "no"] {
            done(&job(3, provider).var("LAPIS_INTERRUPT", interrupts), 3, "fenced-words");
        }
    }
    done(&job(3, "tcp;ofi_rxm").var("LAPIS_CHAOS", "again=0.3,seed=7"), 3, "fenced-words");
}

/// Runs a job of two in which one task takes memory back whose key the other one knows.
fn take_back(provider: &str, how: &str) -> lapis_testing::Finished {
    let folder = lapis_testing::scratch("stale-key");
    std::fs::create_dir_all(&folder).expect("a directory for notes");
    let job = job(2, provider).option("--keep-going").var("LAPIS_INTERRUPT", "no");
    let ended = job.run(TASK, &["stale-key", how, &folder.to_string_lossy()]);
    let _ = std::fs::remove_dir_all(&folder);
    ended
}

/// Over tcp a key that is refused costs the connection, with the messages in it.
#[test]
fn memory_is_taken_back_when_nobody_uses_its_key_any_more() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        for how in ["register", "alloc", "lend"] {
            let ended = take_back(provider, how).expect_quiet(0);
            assert_eq!(ended.lines_with("stale-key: done").len(), 2, "{provider}, {how}: {ended:?}");
        }
        let ended = take_back(provider, "die").expect(137);
        assert_eq!(ended.lines_with("stale-key: done").len(), 1, "{provider}: {ended:?}");
    }
}

/// What waits for the other task's answer in vain says so after the TIMEOUT.
#[test]
fn memory_is_taken_back_from_a_task_that_has_purged_its_owner_for_good() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        for how in ["idle", "putting"] {
            let folder = lapis_testing::scratch("purged-owner");
            std::fs::create_dir_all(&folder).expect("a directory for notes");
            let job = job(2, provider).var("LAPIS_INTERRUPT", "no").var("LAPIS_TIMEOUT", "30");
            let job = job.var("LAPIS_LOG", "warn");
            let ended = job.run(TASK, &["purged-owner", how, &folder.to_string_lossy()]);
            let _ = std::fs::remove_dir_all(&folder);
            let ended = ended.expect(0);
            assert_eq!(ended.lines_with("purged-owner: done").len(), 2, "{provider}, {how}: {ended:?}");
            assert!(!ended.err.contains("is taken back"), "{provider}, {how}: {ended:?}");
        }
    }
}

/// What was said of a key while its user was away is read before the key is used.
#[test]
fn a_key_that_was_taken_back_long_ago_is_not_used_though_nobody_has_polled_since() {
    for how in ["put", "get", "short"] {
        let folder = lapis_testing::scratch("unread-key");
        std::fs::create_dir_all(&folder).expect("a directory for notes");
        let job = job(2, "tcp;ofi_rxm").option("--keep-going").var("LAPIS_INTERRUPT", "no");
        let ended = job.run(TASK, &["unread-key", how, &folder.to_string_lossy()]);
        let _ = std::fs::remove_dir_all(&folder);
        let ended = ended.expect(0);
        assert_eq!(ended.lines_with("unread-key: done").len(), 2, "{how}: {ended:?}");
    }
}

/// Over shm a message of this length keeps its buffer until its target looks.
#[test]
fn tasks_that_call_nothing_do_not_delay_messages_for_others() {
    let folder = lapis_testing::scratch("slow-peers");
    std::fs::create_dir_all(&folder).expect("a directory for notes");
    let job = job(5, "shm").var("LAPIS_INTERRUPT", "no");
    let ended = job.run(TASK, &["slow-peers", &folder.to_string_lossy()]);
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(ended.expect_quiet(0).sorted(), ["slow-peers: done"; 5]);
}

#[test]
fn transfers_that_are_refused_for_a_while_all_end() {
    done(&job(2, "tcp;ofi_rxm").var("LAPIS_CHAOS", "again=0.3,seed=7"), 2, "by-key");
    done(&job(2, "tcp;ofi_rxm").var("LAPIS_CHAOS", "again=0.3,seed=7"), 2, "long-messages");
}

#[test]
fn puts_gets_and_atomics_work_in_both_kinds_of_memory_and_in_either_mode() {
    for interrupts in ["yes", "no"] {
        let done = job(3, "tcp;ofi_rxm").var("LAPIS_INTERRUPT", interrupts).run(TASK, &["one-sided"]);
        let lines = done.expect_quiet(0).out.lines().count();
        assert_eq!(lines, 6, "a line of each task for each kind of memory");
    }
}

/// Neither the memory that the shm provider shares nor an idle connection says that a process is
/// gone: the launcher does.
#[test]
fn a_task_that_dies_is_an_error_of_the_others_calls_at_once() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        for interrupts in ["yes", "no"] {
            let job = job(3, provider).option("--keep-going").var("LAPIS_INTERRUPT", interrupts);
            let done = job.run(TASK, &["die-amid-transfers"]).expect(137);
            let told = done.lines_with(" was told: task 1 is down: ");
            assert_eq!(told.len(), 2, "{provider}, interrupts {interrupts}: {done:?}");
        }
    }
}

#[test]
fn a_task_that_dies_ends_the_job_and_is_named_as_the_cause() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        let done = job(3, provider).run(TASK, &["die-amid-transfers"]).expect(137);
        assert!(done.err.contains("lapirun: task 1 "), "{provider}: {done:?}");
    }
}

/// The shm provider's memory is called after its process, and stays when that is killed.
#[test]
fn a_process_opens_where_one_of_its_number_was_killed() {
    let mut alone = lapis_testing::clean(TASK);
    alone.arg("begin-anew").env("LAPIS_TRANSPORT_PATH", lapis_testing::folder().join("deps"));
    alone.envs([("LAPIS_TRANSPORT", "rdma"), ("LAPIS_RDMA_PROVIDER", "shm")]);
    let done = lapis_testing::run(alone).expect_quiet(0);
    let number = done.lines_with(" began anew")[0].split(' ').next().expect("a number");
    let memory = std::fs::read_dir("/dev/shm").expect("shared memory has a folder").flatten();
    let names = memory.map(|file| file.file_name().to_string_lossy().into_owned());
    let left: Vec<_> = names.filter(|name| name.starts_with(&format!("{number}:"))).collect();
    assert!(left.is_empty(), "{left:?} was left");
}

/// What the dead task had sent lies in the sockets: nothing of it reaches memory that the other one
/// has been told is its own again.
#[test]
fn what_a_dead_task_has_sent_does_not_reach_memory_that_was_lent_to_it() {
    let job = job(2, "tcp;ofi_rxm").option("--keep-going");
    let done = job.run(TASK, &["die-amid-a-loan"]).expect(137);
    assert_eq!(done.lines_with("bytes came later"), ["0 bytes came later"], "{done:?}");
}

/// Runs a purge amid a transfer that the other task carries out. That one takes part only when it
/// calls, or with interrupts all the time.
fn purge(provider: &str, interrupts: &str, how: &str) -> lapis_testing::Finished {
    let job = job(2, provider).var("LAPIS_INTERRUPT", interrupts).var("LAPIS_LOG", "warn");
    let done = job.run(TASK, &["purge-amid-a-loan", how]).expect(0);
    assert_eq!(done.lines_with("they talk").len(), 2, "{provider}, {how}, interrupts {interrupts}: {done:?}");
    done
}

#[test]
fn a_purge_amid_a_transfer_that_the_other_task_carries_out_costs_no_connection() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        for what in ["put", "get", "message"] {
            for who in ["lender", "other", "both"] {
                purge(provider, "no", &format!("{what}-{who}-300"));
            }
        }
    }
}

#[test]
fn a_purge_amid_a_transfer_that_has_begun_gives_memory_back_when_nothing_comes_any_more() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        for (what, interrupts) in [("get", "no"), ("get", "yes"), ("put", "yes"), ("message", "yes")] {
            purge(provider, interrupts, &format!("{what}-lender-0"));
        }
    }
}

#[test]
fn a_purge_does_not_wait_for_ever_for_a_task_that_does_not_run() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        for what in ["put", "get", "message"] {
            let done = purge(provider, "no", &format!("{what}-lender-stopped"));
            assert!(done.err.contains("has not answered within 1500 ms"), "{provider}, {what}: {done:?}");
        }
    }
}

#[test]
fn a_forked_child_is_refused_and_its_parent_goes_on() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        let done = job(2, provider).run(TASK, &["fork"]).expect_quiet(0);
        assert_eq!(done.sorted(), ["fork: refused in the child"; 2], "{provider}");
    }
}

/// A buffer for each of two tasks, and what the rest of the machine needs.
const HUGE_NEEDS: u64 = 6 << 30;

/// The memory that the kernel would give to programs now.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("Linux tells of its memory");
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).expect("a line of it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn more_than_2_gib_go_by_message_put_and_get() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        let free = available();
        if free < HUGE_NEEDS {
            eprintln!("SKIP: {provider}: {} MiB of memory are free, {} needed", free >> 20, HUGE_NEEDS >> 20);
            continue;
        }
        let done = job(2, provider).run(TASK, &["huge"]).expect_quiet(0);
        assert_eq!(done.lines_with("huge: done").len(), 2, "{provider}: {done:?}");
    }
}

/// A job whose tasks run under valgrind, which makes what is definitely lost at the end an error.
fn under_valgrind(provider: &str, scenario: &[&str]) -> lapis_testing::Finished {
    const OPTIONS: [&str; 5] = [
        "--quiet",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
        "--error-exitcode=77",
    ];
    job(2, provider).run("valgrind", &[&OPTIONS[..], &[TASK], scenario].concat())
}

/// Nor is anything of libfabric's: nothing is suppressed.
#[test]
fn nothing_is_lost_at_the_end_of_a_job() {
    if let Err(error) = std::process::Command::new("valgrind").arg("--version").output() {
        eprintln!("SKIP: valgrind: {error} (`cargo xtask setup ci` installs it)");
        return;
    }
    for provider in ["tcp;ofi_rxm", "shm"] {
        // Short and long messages, puts and gets by key, transfers of memory that is lent.
        let done = under_valgrind(provider, &["faults", "4", "100000"]).expect_quiet(0);
        assert_eq!(done.lines_with(": 10 confirmed, 10 got").len(), 2, "{provider}: {done:?}");
    }
    // What this scenario leaves behind, on purpose, is seen.
    let done = under_valgrind("shm", &["by-key"]).expect(77);
    assert!(done.err.contains("65,536 bytes in 1 blocks are definitely lost"), "{done:?}");
}
