//! Jobs over windows of Ethernet interfaces: tasks of two hosts, which are network namespaces with
//! a daemon each, joined by one or two wires.

use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_adapters::fifo::Geometry;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::Place;
use lapis_adapters::soft::Parts;
use lapis_nsd::{Handle, Options, Server, eth_adapters};
use lapis_testing::{Finished, Job, Net, Patience, Running, Space, clean, folder, joined, program, scratch};
use rustix::process::{Pid, Signal, kill_process};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

fn task() -> PathBuf {
    program("lapis-testing", "lapis-job-task")
}

/// Cargo builds it with these tests.
fn stream() -> PathBuf {
    folder().join("examples/hps_job")
}

struct Hosts {
    spaces: [Space; 2],
    rails: u32,
    /// Where the daemons listen: with the host's number behind it. In the file system, which all
    /// namespaces share, so that tasks and launcher may be anywhere.
    name: String,
    daemons: [Option<Handle>; 2],
}

impl Hosts {
    /// `None`, said aloud, where this machine has no namespaces or no AF_XDP.
    fn make(test: &str, rails: u32) -> Option<Self> {
        Self::make_with(test, rails, |_| true)
    }

    /// The same with addresses of IPv6 alone.
    fn make_v6(test: &str, rails: u32) -> Option<Self> {
        if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
            eprintln!("SKIP {test}: this kernel has no IPv6");
            return None;
        }
        Self::make_with(test, rails, |[a, b]| a.only_v6(rails, 1) && b.only_v6(rails, 2))
    }

    /// The same with hosts that something has been done to before their daemons start.
    fn make_with(test: &str, rails: u32, prepare: impl Fn([&Space; 2]) -> bool) -> Option<Self> {
        let join = |[a, b]: [&Space; 2]| a.join(b, rails) && prepare([a, b]);
        Self::make_joined(test, rails, join)
    }

    /// The same with hosts that are joined by switches, which stand in another space. A host whose
    /// cable is pulled there notices nothing.
    fn make_switched(test: &str, rails: u32) -> Option<(Self, Space)> {
        let switch = Space::new()?;
        let join = |[a, b]: [&Space; 2]| switch.switch(&[a, b], rails);
        let hosts = Self::make_joined(test, rails, join)?;
        Some((hosts, switch))
    }

    fn make_joined(test: &str, rails: u32, join: impl Fn([&Space; 2]) -> bool) -> Option<Self> {
        let made = Space::new().zip(Space::new()).filter(|(a, b)| join([a, b]));
        let Some((a, b)) = made else {
            eprintln!("SKIP {test}: this process may not make network namespaces");
            return None;
        };
        let name = format!("{}/hosts-{test}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        let mut hosts = Self { spaces: [a, b], rails, name, daemons: [None, None] };
        for host in 0..2 {
            if let Err(e) = hosts.start(host) {
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

    fn start(&mut self, host: usize) -> Result<(), String> {
        let interfaces: Vec<String> = (0..self.rails).map(|rail| format!("r{rail}")).collect();
        let adapters = eth_adapters(&interfaces, 0, 8)?;
        let options = Options { address: self.address(host), adapters, share: Some(8), ..Options::default() };
        let server = self.spaces[host].inside(|| Server::open(options).and_then(Server::spawn));
        self.daemons[host] = Some(server.map_err(|e| e.to_string())?);
        Ok(())
    }

    /// Has a process be the host's daemon, which can be stopped.
    fn start_process(&mut self, host: usize) -> Running {
        self.daemons[host] = None;
        let mut command = clean(program("lapis-nsd", "lapis-nsd"));
        command.args(["--socket", self.address(host).as_str(), "--share", "8", "--eth-windows", "8"]);
        (0..self.rails).for_each(|rail| _ = command.args(["--eth", &format!("r{rail}")]));
        let mut daemon = self.spaces[host].inside(|| Running::start(command));
        daemon.read_line("listening");
        daemon
    }

    fn client(&self, host: usize) -> Daemon {
        Daemon::connect(&self.address(host)).expect("a daemon")
    }

    /// A job whose tasks are on the two hosts by turns.
    fn job(&self, tasks: u32) -> Job {
        let job = Job::new(tasks).var("LAPIS_TRANSPORT", "hps").var("LAPIS_NSD", &self.name);
        job.var("MP_INSTANCES", "max")
    }

    fn arguments<'a>(program: &'a str, args: &[&'a str]) -> Vec<&'a str> {
        let on_its_host = r#"LAPIS_NSD=$LAPIS_NSD-$((LAPIS_TASK % 2)) exec "$0" "$@""#;
        [&["-c", on_its_host, program][..], args].concat()
    }

    fn run(job: &Job, args: &[&str]) -> Finished {
        job.run("/bin/sh", &Self::arguments(&task().to_string_lossy(), args))
    }

    /// Two tasks that send each other messages, until the test has seen what it wants to see.
    fn stream(&self, interrupts: &str) -> Stream {
        let enough = PathBuf::from(format!("{}-enough", self.name));
        let job = self.job(2).var("LAPIS_INTERRUPT", interrupts);
        let (program, enough_text) = (stream(), enough.to_string_lossy().into_owned());
        let program = program.to_string_lossy().into_owned();
        let mut running = job.start("/bin/sh", &Self::arguments(&program, &["3000", &enough_text]));
        running.read_line("ready");
        running.read_line("ready");
        Stream { running, enough }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..2 {
            let _ = std::fs::remove_file(self.address(host).as_str());
        }
    }
}

struct Stream {
    running: Running,
    enough: PathBuf,
}

impl Stream {
    fn finish(self) {
        std::fs::write(&self.enough, "").expect("the target directory can be written");
        let done = self.running.wait();
        std::fs::remove_file(&self.enough).expect("just written");
        let done = done.expect(0);
        assert_eq!(done.lines_with("done: 3000 messages").len(), 2, "{done:?}");
    }
}

#[track_caller]
fn expect_from_all(done: Finished, tasks: u32, line: &str) {
    let done = done.expect_quiet(0);
    assert_eq!(done.sorted(), vec![line; tasks as usize]);
}

#[test]
fn messages_of_every_size_go_from_all_to_all_across_hosts_in_either_mode() {
    let Some(hosts) = Hosts::make("all", 2) else { return };
    for (tasks, device) in [(2, "sn0"), (4, "sn_all")] {
        for interrupts in ["yes", "no"] {
            let job = hosts.job(tasks).var("MP_EUIDEVICE", device).var("LAPIS_INTERRUPT", interrupts);
            let job = if device == "sn0" { job.var("MP_INSTANCES", "1") } else { job };
            let expected = format!("all-to-all: {} messages", 24 * tasks);
            expect_from_all(Hosts::run(&job, &["all-to-all"]), tasks, &expected);
        }
    }
    // What an interface is called by people names it, too.
    let job = hosts.job(2).var("MP_EUIDEVICE", "r1");
    expect_from_all(Hosts::run(&job, &["all-to-all"]), 2, "all-to-all: 48 messages");
}

#[test]
fn puts_gets_atomics_and_answers_work_across_hosts() {
    let Some(hosts) = Hosts::make("rma", 1) else { return };
    let done = Hosts::run(&hosts.job(3), &["one-sided"]).expect_quiet(0);
    assert_eq!(done.sorted().len(), 6, "{done:?}");
    expect_from_all(Hosts::run(&hosts.job(3), &["answers"]), 3, "answers: 600");
}

#[test]
fn messages_survive_loss_repetition_and_reordering_across_hosts() {
    let Some(hosts) = Hosts::make("chaos", 1) else { return };
    let job = hosts.job(2).var("LAPIS_CHAOS", "drop=0.05,dup=0.05,reorder=0.1,seed=4");
    let done = Hosts::run(&job, &["all-to-all"]).expect(0);
    assert_eq!(done.lines_with("all-to-all: 48 messages").len(), 2, "{done:?}");
}

#[test]
fn everything_goes_over_ipv6() {
    let Some(hosts) = Hosts::make_v6("v6", 2) else { return };
    expect_from_all(Hosts::run(&hosts.job(4), &["all-to-all"]), 4, "all-to-all: 96 messages");
    let done = Hosts::run(&hosts.job(3), &["one-sided"]).expect_quiet(0);
    assert_eq!(done.sorted().len(), 6, "{done:?}");
    let stream = hosts.stream("yes");
    for round in 0..10 {
        let (rail, host) = (round % 2, &hosts.spaces[round / 2 % 2]);
        // With the link the kernel would take addresses of IPv6 away, which adapters need.
        let keeps = || std::fs::write(format!("/proc/sys/net/ipv6/conf/r{rail}/keep_addr_on_down"), "1");
        host.inside(keeps).expect("may be written");
        assert!(host.ip(&format!("link set r{rail} down")));
        assert!(host.ip(&format!("link set r{rail} up")));
    }
    stream.finish();
}

/// Each of two wires is pulled and put back many times, never both at once: no operation fails.
#[test]
fn wires_are_pulled_while_messages_are_under_way() {
    let Some(hosts) = Hosts::make("pulled", 2) else { return };
    for interrupts in ["yes", "no"] {
        let stream = hosts.stream(interrupts);
        for round in 0..20 {
            let (rail, host) = (round % 2, &hosts.spaces[round / 2 % 2]);
            assert!(host.ip(&format!("link set r{rail} down")));
            assert!(host.ip(&format!("link set r{rail} up")));
        }
        stream.finish();
    }
}

/// Whether something comes to be so.
#[track_caller]
fn until(what: &str, is: impl Fn() -> bool) {
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    while !is() {
        assert!(!patience.is_over(), "not so: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One of two networks carries nothing, and no carrier tells: the job begins over the other one,
/// and uses both when both work.
#[test]
fn a_job_begins_over_the_networks_that_answer_and_takes_a_silent_one_when_it_does() {
    let Some((hosts, switch)) = Hosts::make_switched("silent", 2) else { return };
    assert!(switch.ip("link set r1p2 nomaster"));
    let stream = hosts.stream("yes");
    let daemons = [0, 1].map(|host| hosts.client(host));
    until("the network is silent", || daemons.iter().all(|daemon| daemon.matrix().is_silent(1)));
    assert!(daemons.iter().all(|daemon| daemon.matrix().is_up(1) && !daemon.matrix().is_silent(0)));
    let taken = |adapter: &str| -> u64 {
        let windows = daemons.iter().map(|daemon| daemon.windows(adapter).expect("the daemon lives"));
        windows.flatten().map(|window| window.counts.expect("it is open").taken).sum()
    };
    assert_eq!((taken("sn0") > 0, taken("sn1")), (true, 0));
    assert!(switch.ip("link set r1p2 master b1"));
    until("it answers", || daemons.iter().all(|daemon| !daemon.matrix().is_silent(1)));
    until("it is used", || taken("sn1") > 0);
    stream.finish();
}

/// Gives the second host an interface that takes frames to its own address alone.
fn strict([_, host]: [&Space; 2]) -> bool {
    let all = [
        "link set r0 down",
        "link set r0 name below",
        "addr flush dev below",
        "link set below up",
        "link add link below name r0 address 02:00:00:00:09:00 type macvlan mode bridge",
        "addr add 10.217.0.2/24 dev r0",
        "link set r0 up",
    ];
    all.iter().all(|words| host.ip(words))
}

/// The second host's address changes while messages are under way.
#[test]
fn messages_go_on_when_a_neighbour_changes_its_hardware_address() {
    let Some(hosts) = Hosts::make_with("moved", 1, strict) else { return };
    for interrupts in ["yes", "no"] {
        let stream = hosts.stream(interrupts);
        for round in 1..6 {
            assert!(hosts.spaces[1].ip(&format!("link set r0 address 02:00:00:00:09:0{round}")));
            std::thread::sleep(Duration::from_millis(50));
        }
        stream.finish();
    }
}

/// A new daemon has given a task's window to somebody else. The task keeps it, and asks that daemon
/// for its way, even if as many changes have been told there as by the daemon before.
#[test]
fn a_task_whose_window_was_given_away_hears_of_neighbours() {
    let Some(mut hosts) = Hosts::make_with("lost", 1, strict) else { return };
    let stream = hosts.stream("yes");
    let former = hosts.client(0);
    let process = former.windows("sn0").expect("the daemon lives")[0].process.expect("it is seen");
    let process = Pid::from_raw(process.cast_signed()).expect("a process");
    kill_process(process, Signal::STOP).expect("ours");
    let told = former.matrix().hops(0);
    hosts.daemons[0] = None;
    hosts.start(0).expect("what runs there is no error");
    let taker = hosts.client(0);
    let place = Place { adapter: "sn0".to_owned(), window: 0 };
    let parts = Parts::make_for(&place, Geometry::default()).expect("memory");
    taker.adopt(&place, Key::of_text("somebody else"), &parts).expect("its task is stopped");
    let change =
        |number| assert!(hosts.spaces[1].ip(&format!("link set r0 address 02:00:00:00:09:0{number}")));
    change(9);
    for number in 0..told {
        let there = IpAddr::from([10, 217, 0, 2]);
        until("the neighbour answers", || taker.hop("sn0", there).expect("a way").is_some());
        change(number % 8);
        until("it is told", || taker.matrix().hops(0) > number);
    }
    kill_process(process, Signal::CONT).expect("ours");
    stream.finish();
}

/// A daemon tells that a way has changed, and falls silent before it is asked for the new one.
#[test]
fn traffic_goes_on_beside_a_silent_daemon_which_is_asked_again_until_it_answers() {
    let Some(mut hosts) = Hosts::make_with("asked", 2, strict) else { return };
    let daemon = hosts.start_process(0);
    let scratch = scratch("asked");
    std::fs::create_dir_all(&scratch).expect("the target directory can be written");
    let program = folder().join("examples/hps_standby").to_string_lossy().into_owned();
    let arguments = [&*scratch.to_string_lossy()];
    let mut running = hosts.job(2).start("/bin/sh", &Hosts::arguments(&program, &arguments));
    let mark = |name: &str| std::fs::write(scratch.join(name), "").expect("the folder can be written");
    mark("mark-1");
    running.read_line("mark 1");
    let client = hosts.client(0);
    let task = client.windows("sn0").expect("the daemon lives")[0].process.expect("it is seen");
    let pid = |id: u32| Pid::from_raw(id.cast_signed()).expect("a process");
    let send = |process, signal| kill_process(pid(process), signal).expect("ours");
    send(task, Signal::STOP);
    let told = client.matrix().hops(0);
    assert!(hosts.spaces[1].ip("link set r0 address 02:00:00:00:09:01"));
    until("it is told", || client.matrix().hops(0) != told);
    send(daemon.id(), Signal::STOP);
    send(task, Signal::CONT);
    // Over the other network.
    mark("mark-2");
    running.read_line("mark 2");
    send(daemon.id(), Signal::CONT);
    // The tasks wait until all paths are up.
    mark("end");
    let done = running.wait().expect(0);
    assert_eq!(done.lines_with("done").len(), 2, "{done:?}");
    std::fs::remove_dir_all(scratch).expect("just written");
}

#[test]
fn an_interface_is_renamed_made_narrower_and_removed_while_messages_are_under_way() {
    let Some(hosts) = Hosts::make("changes", 2) else { return };
    let stream = hosts.stream("yes");
    for host in &hosts.spaces {
        assert!(host.ip("link set r0 name other0"));
    }
    for mtu in [1300, 1500, 900] {
        for host in &hosts.spaces {
            assert!(host.ip(&format!("link set other0 mtu {mtu}")));
        }
    }
    // A stream beside is not disturbed by what changes at the other end.
    assert!(hosts.spaces[0].ip("link set r1 mtu 1400"));
    assert!(hosts.spaces[1].ip("link del other0"));
    stream.finish();
}

/// A daemon dies and comes back while messages are under way, and learns of the window there.
#[test]
fn jobs_across_hosts_go_on_without_the_daemons() {
    let Some(mut hosts) = Hosts::make("dies", 1) else { return };
    let stream = hosts.stream("yes");
    for round in 0..4 {
        let host = round % 2;
        hosts.daemons[host] = None;
        hosts.start(host).expect("what runs there is no error");
        let daemon = hosts.client(host);
        while daemon.windows("sn0").expect("the daemon lives").is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    stream.finish();
    // With the tasks the old program has gone: the interface is the new daemons'.
    let job = hosts.job(2);
    expect_from_all(Hosts::run(&job, &["all-to-all"]), 2, "all-to-all: 48 messages");
}

#[test]
fn a_host_that_does_not_answer_and_an_address_that_has_gone_are_named() {
    let Some(hosts) = Hosts::make("named", 1) else { return };
    let says = || {
        let done = Hosts::run(&hosts.job(2), &["all-to-all"]).expect(3);
        done.out + &done.err
    };
    for host in &hosts.spaces {
        // Nobody is told who has the address.
        let silent = || std::fs::write("/proc/sys/net/ipv4/conf/r0/arp_ignore", "8");
        host.inside(silent).expect("may be written");
        // It gives up after some rounds if the kernel learns of neighbours meanwhile.
        until("flushed", || host.ip("neigh flush dev r0"));
    }
    let text = says();
    assert!(text.contains("does not answer at the network of sn0"), "{text}");
    assert!(hosts.spaces[1].ip("addr add 10.99.0.2/24 dev r0"));
    assert!(hosts.spaces[1].ip("addr del 10.217.0.2/24 dev r0"));
    let text = says();
    assert!(text.contains("all adapters are down: sn0 is down: "), "{text}");
    assert!(text.contains("`ip addr show r0`"), "{text}");
}

/// The launcher starts a task on each host through a remote shell, as it does on real ones.
#[test]
fn lapirun_starts_a_job_across_hosts_that_have_daemons() {
    let test = "lapirun_starts_a_job_across_hosts_that_have_daemons";
    let Some(net) = Net::make("eth", 1) else {
        eprintln!("SKIP {test}: this process may not make network namespaces");
        return;
    };
    let mut daemons = Vec::new();
    for (host, _) in net.hosts() {
        let mut command = clean("ip");
        command.args(["netns", "exec", host]).arg(program("lapis-nsd", "lapis-nsd")).args(["--eth", "r0"]);
        let mut running = Running::start(joined(&command));
        let line = running.read_lines(1).remove(0);
        if !line.contains("listening") {
            assert!(line.contains("no AF_XDP") || line.contains("CAP_BPF"), "{line}");
            eprintln!("SKIP {test}: {line}");
            return;
        }
        daemons.push(running);
    }
    let mut command = net.launcher(program("lapirun", "lapirun"));
    command.arg(task()).arg("all-to-all");
    command.env("LAPIS_TRANSPORT", "hps").env("LAPIS_NSD", "lapis-nsd");
    command.env("LAPIS_TRANSPORT_PATH", folder().join("deps"));
    expect_from_all(lapis_testing::run(command), 2, "all-to-all: 48 messages");
}
