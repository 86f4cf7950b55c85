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
