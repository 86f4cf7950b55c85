//! Nodes of two hosts, which are network namespaces with a daemon each, joined by a wire.

mod common;

use common::{compile, library};
use gm::abi::Status;
use gm::{Event, Port, Target};
use lapis_adapters::channel::Address;
use lapis_nsd::{Handle, Options, Server, eth_adapters};
use lapis_testing::{Running, Space, clean};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const NAMES: [&str; 2] = ["left", "right"];

struct Hosts {
    spaces: [Space; 2],
    /// Where the daemons listen: with the host's number behind it. In the file system, which all
    /// namespaces share.
    name: String,
    daemons: [Option<Handle>; 2],
}

impl Hosts {
    /// `None`, said aloud, where this machine has no namespaces or no AF_XDP.
    fn make(test: &str) -> Option<Self> {
        let made = Space::new().zip(Space::new()).filter(|(a, b)| a.join(b, 1));
        let Some((a, b)) = made else {
            eprintln!("SKIP {test}: this process may not make network namespaces");
            return None;
        };
        let name = format!("{}/gm-daemon-{test}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        let mut hosts = Self { spaces: [a, b], name, daemons: [None, None] };
        for host in 0..2 {
            if let Err(e) = hosts.start(host, ["left@10.217.0.1", "right@10.217.0.2"]) {
                assert!(e.contains("no AF_XDP") || e.contains("CAP_BPF"), "{e}");
                eprintln!("SKIP {test}: {e}");
                return None;
            }
        }
        Some(hosts)
    }

    fn address(&self, host: usize) -> Address {
        Address::new(&format!("{}-{host}", self.name))
    }

    fn start(&mut self, host: usize, nodes: [&str; 2]) -> Result<(), String> {
        let adapters = eth_adapters(&["r0".to_owned()], 0, 16)?;
        let options =
            Options { address: self.address(host), adapters, share: Some(16), ..Options::default() };
        let nodes = nodes.map(str::to_owned);
        let serve = || {
            let mut server = Server::open(options).map_err(|e| e.to_string())?;
            server.add_nodes(&nodes)?;
            server.spawn().map_err(|e| e.to_string())
        };
        self.daemons[host] = Some(self.spaces[host].inside(serve)?);
        Ok(())
    }

    fn open(&self, host: usize, number: u32) -> Result<Port, Status> {
        Port::open_at(self.address(host).as_str(), NAMES[host], 0, number, "rust")
    }

    fn command(&self, host: usize, program: &Path, args: &[&str]) -> Command {
        let mut command = clean(program);
        command.args(args).env("LAPIS_NSD", self.address(host).as_str()).env("LAPIS_GM_NODE", NAMES[host]);
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..2 {
            let _ = std::fs::remove_file(self.address(host).as_str());
        }
    }
}

fn traffic(test: &str, count: &str, loss: &str) {
    let Some(hosts) = Hosts::make(test) else { return };
    let program = compile("traffic");
    let start = |host, args: &[&str]| {
        let mut command = hosts.command(host, &program, args);
        command.env("LAPIS_GM_LOSS", loss);
        Running::start(command)
    };
    let left = start(0, &["right", "1234567", "7654321", count]);
    let right = start(1, &["left", "7654321", "1234567", count]);
    let said = format!("sent {count} received {count}\n");
    for end in [left.wait().expect_quiet(0), right.wait().expect_quiet(0)] {
        assert_eq!(end.out, said);
    }
}

#[test]
fn random_traffic_arrives_across_hosts_as_the_model_says() {
    traffic("hosts", "400", "0");
}

#[test]
fn random_traffic_arrives_across_hosts_whatever_gets_lost() {
    traffic("hosts-loss", "400", "5");
}

/// A message that failed does not come: nobody waits for it.
#[track_caller]
fn is_no_failure(went: &Option<Event>) {
    assert!(matches!(went, None | Some(Event::Sent { status: Status::Success, .. })), "{went:?}");
}

/// Sends a message to a port that is there, and has it come.
#[track_caller]
fn passes(from: &mut Port, to: &mut Port, target: Target, len: usize) {
    let message: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
    let size = Port::size_for(len);
    to.provide(size, target.high, 3).expect("a token");
    from.send(target, size, message.clone()).expect("a token");
    let (mut came, mut went) = (None, None);
    while came.is_none() || went.is_none() {
        came = came.or_else(|| to.poll());
        went = went.or_else(|| from.poll());
        is_no_failure(&went);
    }
    assert!(matches!(came, Some(Event::Received { message: got, tag: 3, .. }) if got == message));
}

#[test]
fn hosts_know_each_others_nodes_and_ports_come_and_go() {
    library();
    let Some(mut hosts) = Hosts::make("nodes") else { return };
    let (mut left, mut right) = (hosts.open(0, 4).expect("free"), hosts.open(1, 4).expect("free"));
    assert_eq!((left.node(), right.node()), (1, 2));
    assert_eq!((left.find("right"), right.find("left")), (Ok(Some(2)), Ok(Some(1))));
    assert_eq!(left.find("middle"), Ok(None));
    let elsewhere = Port::open_at(hosts.address(0).as_str(), "right", 0, 6, "rust");
    assert_eq!(elsewhere.expect_err("another host's name"), Status::InvalidParameter);
    let tool = lapis_testing::program("lapis-nsd", "gm_board_info");
    let shown = lapis_testing::run(hosts.command(0, &tool, &["--json"])).expect_quiet(0).out;
    assert!(shown.contains(r#""name":"right","#) && shown.contains(r#""address":"10.217.0.2""#), "{shown}");

    let to_right = Target { node: 2, port: 4, high: false };
    for len in [0, 100, 1400, 5000, 300_000] {
        passes(&mut left, &mut right, to_right, len);
        passes(&mut right, &mut left, Target { node: 1, port: 4, high: true }, len);
    }
    // Two ports of one host reach each other through memory.
    let mut beside = hosts.open(0, 5).expect("free");
    passes(&mut beside, &mut left, Target { node: 1, port: 4, high: false }, 5000);
    // What was sent well to a port that then was closed, and what was not.
    drop(right);
    left.send(to_right, 9, vec![1]).expect("a token");
    assert!(matches!(left.wait(), Event::Sent { status: Status::SendTargetPortClosed, .. }));
    left.drop_sends(to_right).expect("a token");
    let mut right = hosts.open(1, 4).expect("free again");
    passes(&mut left, &mut right, to_right, 2000);
    // Without the daemons ports go on.
    hosts.daemons = [None, None];
    passes(&mut left, &mut right, to_right, 2000);
    passes(&mut right, &mut left, Target { node: 1, port: 4, high: true }, 20_000);
}

#[test]
fn a_program_that_is_killed_on_another_host_is_heard_of() {
    let Some(hosts) = Hosts::make("killed") else { return };
    let (holder, lonely) = (compile("holder"), compile("lonely"));
    // The message waits for its port, and then for a buffer that never comes.
    let mut sender = Running::start(hosts.command(0, &lonely, &["right"]));
    sender.read_line("sent");
    let mut held = Running::start(hosts.command(1, &holder, &[]));
    held.read_line("open");
    std::thread::sleep(Duration::from_millis(200));
    assert!(sender.alive());
    drop(held);
    let closed = Status::SendTargetPortClosed as i32;
    assert_eq!(sender.wait().expect(0).out, format!("sent\nstatus {closed}\n"));
}

#[test]
fn a_message_outlasts_the_daemon_of_the_host_that_it_goes_to() {
    let Some(mut hosts) = Hosts::make("restart") else { return };
    let (mut left, mut right) = (hosts.open(0, 4).expect("free"), hosts.open(1, 4).expect("free"));
    let target = Target { node: 2, port: 4, high: false };
    passes(&mut left, &mut right, target, 10);
    left.send(target, 9, vec![7; 20]).expect("a token");
    hosts.daemons[1] = None;
    hosts.start(1, ["left@10.217.0.1", "right@10.217.0.2"]).expect("free again");
    // The program makes no calls, for longer than a new daemon keeps silent about ports that it
    // does not know.
    let quiet = Instant::now();
    while quiet.elapsed() < Duration::from_millis(1500) {
        assert!(left.poll().is_none(), "the message waits for a buffer");
    }
    right.provide(9, false, 3).expect("a token");
    let (mut came, mut went) = (None, None);
    while came.is_none() || went.is_none() {
        came = came.or_else(|| right.poll());
        went = went.or_else(|| left.poll());
        is_no_failure(&went);
    }
    assert!(matches!(came, Some(Event::Received { message, .. }) if message == [7; 20]));
    // It has shown itself by now: others find it.
    let mut other = hosts.open(0, 5).expect("free");
    passes(&mut other, &mut right, target, 10);
}

#[test]
fn a_host_without_a_daemon_and_one_with_another_list_are_out_of_reach() {
    let Some(mut hosts) = Hosts::make("lonely") else { return };
    let lonely = compile("lonely");
    let unreachable = format!("sent\nstatus {}\n", Status::SendTargetNodeUnreachable as i32);
    hosts.daemons[1] = None;
    let mut command = hosts.command(0, &lonely, &["right"]);
    command.env("LAPIS_GM_OPEN_WAIT", "0.5");
    let done = lapis_testing::run(command).expect(0);
    assert_eq!(done.out, unreachable);
    assert!(done.err.contains("has not said yet") && done.err.contains("10.217.0.2"), "{}", done.err);
    hosts.start(1, ["left@10.217.0.1", "rechts@10.217.0.2"]).expect("free again");
    let done = lapis_testing::run(hosts.command(0, &lonely, &["right"])).expect(0);
    assert_eq!(done.out, unreachable);
    assert!(done.err.contains("the same list of --node"), "{}", done.err);
}
