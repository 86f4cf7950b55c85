//! Jobs over the rdma plugin with two rails between hosts, one of which is pulled in between.

use lapis_testing::{Finished, Net, Running, folder, program};
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// A job of two tasks, one on each host, over the rails `r0` and `r1`.
fn job(net: &Net, scenario: &[&str]) -> Command {
    // libfabric lists only interfaces that carry.
    net.settle();
    let mut command = net.launcher(program("lapirun", "lapirun"));
    command.arg(TASK).args(scenario);
    command.env("LAPIS_TRANSPORT_PATH", folder().join("deps"));
    command.env("LAPIS_TRANSPORT", "rdma").env("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm");
    command.env("LAPIS_RDMA_DOMAIN", "r0,r1").env("LAPIS_LOG", "info");
    command
}

fn skip() {
    let _ = writeln!(std::io::stderr(), "SKIP: this process may not make network namespaces");
}

/// Rounds of traffic, and messages of each task in so many (`tasks/faults.rs`).
const ROUNDS: u64 = 4000;
const MESSAGES: u64 = ROUNDS * 2 + ROUNDS / 8 * 2;

/// Every message was confirmed, and nobody was told of an error.
#[track_caller]
fn all_came(done: Finished) -> Finished {
    let done = done.expect(0);
    for (from, to) in [(0, 1), (1, 0)] {
        let line = format!("task {from} with {to}: {MESSAGES} confirmed, {MESSAGES} got");
        assert_eq!(done.lines_with(&line).len(), 1, "{line}: {done:?}");
    }
    done
}

#[test]
fn both_rails_carry_long_data() {
    let Some(net) = Net::make("rs", 2) else { return skip() };
    let before = net.packets();
    // Puts, for gets and long messages go in packets over libfabric 1.17.
    let done = Running::start(job(&net, &["faults", "8", "4000000"])).wait().expect(0);
    for (from, to) in [(0, 1), (1, 0)] {
        let line = format!("task {from} with {to}: 18 confirmed, 18 got");
        assert_eq!(done.lines_with(&line).len(), 1, "{line}: {done:?}");
    }
    let sent: Vec<u64> = net.packets().iter().zip(before).map(|(now, then)| now - then).collect();
    assert!(sent.iter().all(|count| *count > 100), "packets over each rail: {sent:?}");
}

#[test]
fn a_rail_is_pulled_and_comes_back_and_nothing_is_lost() {
    for interrupts in ["no", "yes"] {
        let Some(net) = Net::make("rp", 2) else { return skip() };
        let mut command = job(&net, &["faults", &ROUNDS.to_string()]);
        command.env("LAPIS_INTERRUPT", interrupts);
        let mut running = Running::start(command);
        running.read_line("all are there");
        let mut turns = 0;
        while running.alive() && turns < 20 {
            std::thread::sleep(Duration::from_millis(300));
            net.rail(turns % 2, false);
            std::thread::sleep(Duration::from_millis(300));
            net.rail(turns % 2, true);
            turns += 1;
        }
        let done = all_came(running.wait());
        assert!(turns > 0, "the traffic ended before a rail was pulled: {done:?}");
    }
}
