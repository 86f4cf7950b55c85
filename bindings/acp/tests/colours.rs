//! Colours: copies take the rail of their colour, and another one where that is down.

#[path = "../../lapi/tests/support/mod.rs"]
mod jobs;

use jobs::{Job, artifacts, checked, scratch, transports};
use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_nsd::{Options, Server, soft_adapters};
use lapis_testing::{Net, Patience, Running};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const BINDING: &str = env!("CARGO_MANIFEST_DIR");

/// Bytes that the program copies in a round, there and back.
const ROUND: u64 = 16 << 20;

fn program() -> PathBuf {
    let output = scratch("colours");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&output);
    cc.arg(Path::new(BINDING).join("tests/programs/colours.c")).arg(format!("-I{BINDING}/include"));
    cc.arg("-L").arg(artifacts()).arg("-lacp");
    checked(cc.arg(format!("-Wl,-rpath,{}", artifacts().display())));
    output
}

/// A job of one process on each host, over two rails.
fn across(net: &Net, env: &[(&str, &str)], args: &[&str]) -> Command {
    net.settle();
    let mut command = net.launcher(artifacts().join("lapirun"));
    command.arg(program()).args(args).env("LAPIS_TRANSPORT_PATH", artifacts());
    command.envs(env.iter().copied());
    command
}

const UDP: &[(&str, &str)] = &[("LAPIS_TRANSPORT", "udp"), ("MP_INSTANCES", "2")];

const RDMA: &[(&str, &str)] = &[
    ("LAPIS_TRANSPORT", "rdma"),
    ("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm"),
    ("LAPIS_RDMA_DOMAIN", "r0,r1"),
    ("FI_OFI_RXM_USE_SRX", "1"),
];

fn hosts(tag: &str) -> Option<Net> {
    let net = Net::make(tag, 2);
    if net.is_none() {
        eprintln!("skipped: network namespaces need root and iproute2");
    }
    net
}

/// The data takes the rail of the colour and leaves the other one to what has none.
#[track_caller]
fn takes_its_rail(net: &Net, env: &[(&str, &str)]) {
    for colour in [1, 0] {
        let before = net.bytes();
        lapis_testing::run(across(net, env, &["2", &colour.to_string()])).expect(0);
        let carried: Vec<u64> = net.bytes().iter().zip(before).map(|(now, then)| now - then).collect();
        let (its, other) = (carried[colour], carried[1 - colour]);
        assert!(its > ROUND && other < ROUND / 16, "colour {colour}, bytes over each rail: {carried:?}");
    }
}

/// Pulls the rail of the colour while copies go over it: the other one carries them, and when it is
/// back it does again.
#[track_caller]
fn survives_its_rail(net: &Net, env: &[(&str, &str)]) {
    let end = scratch("colours-end");
    let mut running = Running::start(across(net, env, &["2", "1", &end.to_string_lossy()]));
    running.read_line("copied");
    let wait_for = |rail: usize, running: &mut Running| {
        let (from, mut patience) = (net.bytes()[rail], Patience::with_myself(Duration::from_secs(60)));
        while net.bytes()[rail] < from + 2 * ROUND {
            assert!(running.alive() && !patience.is_over(), "nothing goes over rail {rail}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait_for(1, &mut running);
    net.rail(1, false);
    wait_for(0, &mut running);
    net.rail(1, true);
    wait_for(1, &mut running);
    std::fs::write(&end, "").expect("a file for the program to find");
    running.wait().expect(0);
    std::fs::remove_file(&end).expect("it is there still");
}

#[test]
fn over_udp_data_takes_the_rail_of_its_colour() {
    if let Some(net) = hosts("acu") {
        takes_its_rail(&net, UDP);
    }
}

/// Who uses no colour but 0 has all rails, as before there were colours.
#[track_caller]
fn takes_all_rails(net: &Net, env: &[(&str, &str)]) {
    let before = net.bytes();
    lapis_testing::run(across(net, env, &["2", "none"])).expect(0);
    let carried: Vec<u64> = net.bytes().iter().zip(before).map(|(now, then)| now - then).collect();
    assert!(carried.iter().all(|bytes| *bytes > ROUND / 8), "bytes over each rail: {carried:?}");
}

#[test]
fn over_udp_data_without_a_choice_of_colour_takes_all_rails() {
    if let Some(net) = hosts("acw") {
        takes_all_rails(&net, UDP);
    }
}

#[test]
fn over_rdma_data_without_a_choice_of_colour_takes_all_rails() {
    if let Some(net) = hosts("acx") {
        takes_all_rails(&net, RDMA);
    }
}

#[test]
fn over_udp_data_arrives_though_the_rail_of_its_colour_is_pulled() {
    if let Some(net) = hosts("acd") {
        survives_its_rail(&net, UDP);
    }
}

#[test]
fn over_rdma_data_takes_the_rail_of_its_colour() {
    if let Some(net) = hosts("acr") {
        takes_its_rail(&net, RDMA);
    }
}

#[test]
fn over_rdma_data_arrives_though_the_rail_of_its_colour_is_pulled() {
    if let Some(net) = hosts("acq") {
        survives_its_rail(&net, RDMA);
    }
}

/// A copy between two others takes the rail of its destination's colour.
#[test]
fn a_copy_between_two_others_takes_the_rail_of_its_destination() {
    let Some(net) = Net::of("act", 3, 2, false) else {
        eprintln!("skipped: network namespaces need root and iproute2");
        return;
    };
    for colour in [1, 0] {
        let before = net.bytes();
        lapis_testing::run(across(&net, UDP, &["2", &colour.to_string()])).expect(0);
        let carried: Vec<u64> = net.bytes().iter().zip(before).map(|(now, then)| now - then).collect();
        let (its, other) = (carried[colour], carried[1 - colour]);
        assert!(its > ROUND / 2 && other < ROUND / 32, "colour {colour}, bytes over each rail: {carried:?}");
    }
}

/// Where nothing crosses a network of several rails, there is one colour.
#[test]
fn within_a_host_and_over_one_rail_there_is_one_colour() {
    let program = program();
    for transport in transports() {
        Job::of(2).env("LAPIS_TRANSPORT", transport).arg("1").run(&program).success();
    }
    Job::of(1).arg("1").run(&program).success();
    // Rails that lead nowhere are none.
    Job::of(2).env("LAPIS_TRANSPORT", "shm,udp").env("MP_INSTANCES", "2").arg("1").run(&program).success();
}

/// Datagrams that the windows of an adapter have taken.
fn taken(daemon: &Daemon, adapter: &str) -> u64 {
    let windows = daemon.windows(adapter).expect("the daemon lives");
    windows.iter().filter_map(|window| window.counts).map(|counts| counts.taken).sum()
}

#[test]
fn through_windows_data_takes_the_adapter_of_its_colour_or_another_if_that_is_down() {
    let address = Address::new(&format!("lapis-test-acp-colours-{}", std::process::id()));
    let adapters = soft_adapters(2, 2, 64).expect("possible");
    let options = Options { address: address.clone(), adapters, share: Some(64), ..Options::default() };
    let _daemon = Server::open(options).and_then(Server::spawn).expect("a daemon");
    let control = Daemon::connect(&address).expect("a daemon");
    let end = scratch("colours-end");
    let mut command = lapis_testing::clean(artifacts().join("lapirun"));
    command.args(["-n", "2"]).arg(program()).args(["2", "1"]).arg(&end);
    command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TRANSPORT", "hps");
    command.env("LAPIS_NSD", address.as_str()).env("MP_INSTANCES", "2").env("LAPIS_HPS_COPY", "windows");
    let mut running = Running::start(command);
    running.read_line("copied");
    // What both have taken until the first of them has taken so many more.
    let until = |adapter: &str, other: &str, more: u64, running: &mut Running| {
        let (from, beside) = (taken(&control, adapter), taken(&control, other));
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while taken(&control, adapter) < from + more {
            assert!(running.alive() && !patience.is_over(), "nothing goes over {adapter}");
            std::thread::sleep(Duration::from_millis(1));
        }
        (taken(&control, adapter) - from, taken(&control, other) - beside)
    };
    let (its, other) = until("sn1", "sn0", 2000, &mut running);
    assert!(other < its / 16, "the adapter of the colour took {its} datagrams, the other {other}");
    control.set("sn1", false).expect("the daemon's user may");
    until("sn0", "sn1", 2000, &mut running);
    control.set("sn1", true).expect("the daemon's user may");
    until("sn1", "sn0", 2000, &mut running);
    std::fs::write(&end, "").expect("a file for the program to find");
    running.wait().expect(0);
    std::fs::remove_file(&end).expect("it is there still");
}
