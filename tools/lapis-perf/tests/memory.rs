//! What each peer costs a task of memory.

use lapis_testing::Job;

const PERF: &str = env!("CARGO_BIN_EXE_lapis-perf");

/// Memory that a peer may cost, in KiB. Over rdma that is the provider's connection, and slots of
/// ours, which are 32. Memory that tasks share and the kernel's buffers of sockets come to it.
const PER_PEER: f64 = 256.0;

/// Memory of the middle one of the tasks, in KiB.
fn memory_of_a_task(job: &Job) -> f64 {
    let done = job.run(PERF, &["task_memory", "--json"]).expect_quiet(0);
    let record: serde_json::Value =
        serde_json::from_str(done.out.trim()).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    assert_eq!(record["unit"], "KiB", "{done:?}");
    record["value"].as_f64().unwrap_or_else(|| panic!("{done:?}"))
}

fn check(name: &str, job: impl Fn(u32) -> Job) {
    let [few, many] = [2, 8].map(|tasks| memory_of_a_task(&job(tasks)));
    let each = (many - few) / 6.0;
    println!("{name}: {few} KiB for one peer, {many} KiB for seven: {each:.0} KiB each");
    assert!(each <= PER_PEER, "{name}: {each} KiB for each peer");
    assert!(few > 0.0 && many > 0.0, "{name}: {few} and {many} KiB");
}

#[test]
fn a_peer_costs_a_bounded_amount_of_memory() {
    for transport in ["shm", "udp"] {
        check(transport, |tasks| Job::new(tasks).var("LAPIS_TRANSPORT", transport));
    }
}

/// What is printed is what docs/rdma.md says of it.
#[test]
fn a_peer_over_libfabric_costs_a_bounded_amount_of_memory() {
    for provider in ["tcp;ofi_rxm", "shm"] {
        check(provider, |tasks| {
            let job = Job::new(tasks).var("LAPIS_TRANSPORT", "rdma").var("LAPIS_RDMA_PROVIDER", provider);
            // The shm provider has no addresses.
            if provider == "shm" { job } else { job.var("LAPIS_RDMA_ADDR", "127.0.0.1") }
        });
    }
}
