//! What the user is told about failover between network instances, and about a path that is
//! narrower than it says, on hosts that are network namespaces; and about failover between windows.

mod support;

use lapis_testing::{Finished, Net, Running};
use std::path::PathBuf;
use support::adapters::Adapters;
use support::{artifacts, compile, scratch, source};

/// A job of one task on each host, whose standard errors come with its output.
struct Hosts {
    net: Net,
    program: PathBuf,
    /// Appears when the tasks are to end.
    signal: PathBuf,
}

impl Hosts {
    /// `None`, said aloud, where this process may not make namespaces.
    fn make(tag: &str, rails: usize, v6: bool) -> Option<Self> {
        let Some(net) = Net::of(tag, 2, rails, v6) else {
            eprintln!("skipped: network namespaces need root and iproute2");
            return None;
        };
        let program = compile(&[source("jobs/failover.c")], &[]);
        Some(Self { net, program, signal: scratch("enough") })
    }

    fn start(&self, absent: &str, env: &[(&str, &str)]) -> Running {
        let mut command = self.net.launcher(artifacts().join("lapirun"));
        let line = format!("exec {} {} {absent} 2>&1", self.program.display(), self.signal.display());
        command.args(["sh", "-c", &line]).env("LAPIS_TRANSPORT_PATH", artifacts());
        command.env("LAPIS_TRANSPORT", "udp").envs(env.iter().copied());
        let mut running = Running::start(command);
        running.read_line("ready");
        running.read_line("ready");
        running
    }

    fn finish(&self, running: Running) -> Finished {
        std::fs::write(&self.signal, "").expect("the target directory can be written");
        let done = running.wait().expect(0);
        std::fs::remove_file(&self.signal).expect("just written");
        assert_eq!(done.lines_with("done").len(), 2, "{done:?}");
        done
    }
}

/// How often each of the numbers is said.
fn counts(done: &Finished) -> [usize; 4] {
    ["485:", "486:", "490:", "491:"].map(|number| done.lines_with(number).len())
}

//= LAPI Guide, table 33, attention messages
//= type=test
#[test]
fn the_loss_of_every_instance_is_told_and_of_one_it_is_not() {
    let Some(hosts) = Hosts::make("al", 2, false) else { return };
    let mut running = hosts.start("nothing", &[("MP_INSTANCES", "2"), ("MP_INFOLEVEL", "1")]);
    hosts.net.rail(0, false);
    hosts.net.rail(0, true);
    hosts.net.rail(1, false);
    hosts.net.rail(0, false);
    // Both sides see it: one's links are set down, the other's lose their carrier. Each says so
    // once.
    running.read_line("491:");
    running.read_line("491:");
    hosts.net.rail(0, true);
    hosts.net.rail(1, true);
    let done = hosts.finish(running);
    assert_eq!(counts(&done), [0, 0, 0, 2], "{done:?}");
    for task in 0..2 {
        assert!(done.out.contains(&format!("491: task {task} of 2: ")), "{done:?}");
        assert!(done.out.contains(&format!("No path to task {task} is left: the links of r0")), "{done:?}");
    }
}

//= LAPI Guide, table 33, attention messages
//= type=test
#[test]
fn failover_without_news_of_the_links_is_told_where_it_is_wanted() {
    let Some(hosts) = Hosts::make("aw", 2, false) else { return };
    for (instances, level, told) in [("2", "1", 2), ("2", "0", 0), ("1", "1", 0)] {
        let running = hosts.start("news", &[("MP_INSTANCES", instances), ("MP_INFOLEVEL", level)]);
        let done = hosts.finish(running);
        assert_eq!(counts(&done), [0, told, 0, 0], "{instances} instances, level {level}: {done:?}");
    }
}

//= LAPI Guide, table 33, attention messages
//= type=test
#[test]
fn an_interface_that_cannot_be_used_is_told_with_the_reason() {
    // One network is the launcher's, of IPv4; the rail's addresses are of IPv6.
    let Some(hosts) = Hosts::make("as", 1, true) else { return };
    let env = [("MP_INSTANCES", "2"), ("MP_INFOLEVEL", "1")];
    let done = hosts.finish(hosts.start("nothing", &env));
    assert_eq!(counts(&done), [0; 4], "{done:?}");
    let done = hosts.finish(hosts.start("ipv6", &env));
    assert_eq!(counts(&done), [2, 0, 2, 0], "{done:?}");
    assert!(done.lines_with("485:").iter().all(|line| line.contains("r0 fd17:")), "{done:?}");
}

/// A job of two tasks with windows of this host's adapters, whose standard errors come with its
/// output. It ends when the file of this name appears.
fn start_with_windows(adapters: &Adapters, level: &str) -> (Running, PathBuf) {
    let (program, signal) = (compile(&[source("jobs/failover.c")], &[]), scratch("enough"));
    let mut command = lapis_testing::clean(artifacts().join("lapirun"));
    let line = format!("exec {} {} nothing 2>&1", program.display(), signal.display());
    command.args(["-n", "2", "sh", "-c", &line]).env("LAPIS_TRANSPORT_PATH", artifacts());
    command.envs(adapters.variables()).env("MP_INFOLEVEL", level).env("LAPIS_INTERRUPT", "yes");
    let mut running = Running::start(command);
    running.read_line("ready");
    running.read_line("ready");
    (running, signal)
}

fn finish_with_windows((running, signal): (Running, PathBuf)) -> Finished {
    std::fs::write(&signal, "").expect("the target directory can be written");
    let done = running.wait().expect(0);
    std::fs::remove_file(&signal).expect("just written");
    assert_eq!(done.lines_with("done").len(), 2, "{done:?}");
    done
}

//= LAPI Guide, table 33, attention messages
//= type=test
#[test]
fn the_loss_of_every_window_is_told_and_of_one_it_is_not() {
    let adapters = Adapters::new(2);
    let mut job = start_with_windows(&adapters, "1");
    adapters.set("sn0", false);
    adapters.set("sn0", true);
    adapters.set("sn1", false);
    adapters.set("sn0", false);
    job.0.read_line("491:");
    job.0.read_line("491:");
    adapters.set("sn0", true);
    adapters.set("sn1", true);
    let done = finish_with_windows(job);
    assert_eq!(counts(&done), [0, 0, 0, 2], "{done:?}");
    assert_eq!(done.lines_with("No adapter is left to some tasks").len(), 2, "{done:?}");
}

//= LAPI Guide, table 33, attention messages
//= type=test
#[test]
fn windows_of_one_adapter_alone_are_told_where_several_are_wanted() {
    let adapters = Adapters::new(1);
    for (level, told) in [("1", 2), ("0", 0)] {
        let done = finish_with_windows(start_with_windows(&adapters, level));
        assert_eq!(counts(&done), [told, 0, 0, 0], "{done:?}");
        assert_eq!(done.lines_with("All windows of this task are on one adapter, sn0").len(), told);
    }
}

//= LAPI Guide, table 33, attention messages
//= type=test
#[test]
fn a_daemon_that_ends_is_told_for_nobody_else_reports_the_state_of_adapters() {
    let mut adapters = Adapters::new(2);
    let mut job = start_with_windows(&adapters, "1");
    adapters.end();
    job.0.read_line("486:");
    job.0.read_line("486:");
    let done = finish_with_windows(job);
    assert_eq!(counts(&done), [0, 2, 0, 0], "{done:?}");
}

#[test]
fn a_path_that_drops_large_datagrams_in_silence_is_named_once_with_its_size() {
    let Some(net) = Net::of("nw", 2, 1, false) else {
        eprintln!("skipped: network namespaces need root and iproute2");
        return;
    };
    net.mtu(9000);
    // Somewhere on the way it is narrower, and nobody is told.
    let far = net.hosts()[1].0.to_owned();
    let filter = [
        "add table inet narrow",
        "add chain inet narrow in { type filter hook input priority 0 ; }",
        "add rule inet narrow in udp length > 1480 drop",
    ];
    for line in filter {
        let mut nft = lapis_testing::clean("ip");
        nft.args(["netns", "exec", &far, "nft", line]);
        if !nft.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: the packet filter needs nftables");
            return;
        }
    }
    let mut command = net.launcher(artifacts().join("lapirun"));
    let program = compile(&[source("programs/transfers.c")], &[]);
    command.args(["sh", "-c", &format!("exec {} 2>&1", program.display())]);
    command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TRANSPORT", "udp").env("MP_EUIDEVICE", "r0");
    let done = lapis_testing::run(command).expect(0);
    let lines = done.lines_with("without a word");
    assert_eq!(lines.len(), 1, "{done:?}");
    for part in ["WARN", "path 0 to task 1", "more than 1472 bytes", "said to carry 8972"] {
        assert!(lines[0].contains(part), "{part}: {done:?}");
    }
}
