//! Jobs over the rdma plugin with two rails between hosts, one of which is pulled in between.

use lapis_patience::Patience;
use lapis_testing::{Finished, Net, Running, folder, program};
use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    // Puts, for gets and long messages go in packets over libfabric 1.17. So many that a rail whose
    // first pieces were slow, since a task was not running, is tried again.
    let done = Running::start(job(&net, &["faults", "40", "4000000"])).wait().expect(0);
    for (from, to) in [(0, 1), (1, 0)] {
        let line = format!("task {from} with {to}: 90 confirmed, 90 got");
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

/// Hears the kernel's news of the near side's links, as the transport does. A link may drop what is
/// sent before they come.
struct News(Running);

impl News {
    fn of(net: &Net) -> Self {
        let mut monitor = lapis_testing::clean("ip");
        monitor.args(["netns", "exec", net.hosts()[0].0, "ip", "-o", "monitor", "link"]);
        Self(Running::start(monitor))
    }

    /// When the news came that a rail was set down.
    fn down(&mut self) -> Duration {
        self.0.read_line("<BROADCAST,MULTICAST> ");
        SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set")
    }
}

/// The rail that carries the messages, and the other one.
fn busy_and_idle(net: &Net) -> (usize, usize) {
    let before = net.packets();
    std::thread::sleep(Duration::from_millis(50));
    let sent: Vec<u64> = net.packets().iter().zip(before).map(|(now, then)| now - then).collect();
    if sent[0] > sent[1] { (0, 1) } else { (1, 0) }
}

/// Pulls the rail that carries short messages, time and again; the other one carries them then. How
/// long messages paused is printed, and no part of the verdict: busy machines pause by themselves.
#[test]
fn the_other_rail_carries_messages_when_a_link_is_pulled() {
    let Some(net) = Net::make("rf", 2) else { return skip() };
    let end = lapis_testing::scratch("pauses-end");
    let mut running = Running::start(job(&net, &["pauses", &end.to_string_lossy()]));
    running.read_line("all are there");
    let mut pulls = Vec::new();
    for _ in 0..6 {
        let mut news = News::of(&net);
        std::thread::sleep(Duration::from_millis(300));
        let (busy, idle) = busy_and_idle(&net);
        let before = net.packets()[idle];
        std::thread::scope(|scope| {
            let told = scope.spawn(|| news.down());
            net.rail(busy, false);
            pulls.push(told.join().expect("news"));
        });
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while net.packets()[idle] < before + 100 {
            assert!(running.alive() && !patience.is_over(), "nothing goes over rail {idle}");
            std::thread::sleep(Duration::from_millis(10));
        }
        net.rail(busy, true);
    }
    std::fs::write(&end, "").expect("a file for the task to find");
    let done = running.wait().expect(0);
    std::fs::remove_file(&end).expect("it is there still");
    let pauses: Vec<(i128, i128)> = done.lines_with("paused ").iter().map(|line| pause(line)).collect();
    for pull in pulls {
        let told = pull.as_micros() as i128;
        let around = |&&(long, end): &&(i128, i128)| end > told - 1000 && end - long < told + 100_000;
        match pauses.iter().filter(around).max() {
            Some((long, end)) => {
                println!("a link pulled: {long} us between two answers, {} us from the news on", end - told);
            }
            None => println!("a link pulled: no pause to speak of"),
        }
    }
}

/// How long a pause was, and when it ended, in microseconds.
fn pause(line: &str) -> (i128, i128) {
    let numbers: Vec<i128> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[1])
}
