//! Several contexts of a process, and the windows that MP_MSG_API gives them.

use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use lapis_testing::{Job, Patience, Running, folder, program};
use std::path::PathBuf;
use std::time::Duration;

/// Cargo builds it with these tests.
fn contexts() -> PathBuf {
    folder().join("examples/hps_contexts")
}

fn address(name: &str) -> Address {
    Address::new(&format!("lapis-test-contexts-{name}-{}", std::process::id()))
}

fn daemon(address: &Address, windows: u32) -> Handle {
    let adapters = soft_adapters(2, 2, windows).expect("possible");
    let options = Options { address: address.clone(), adapters, share: Some(windows), ..Options::default() };
    Server::open(options).and_then(Server::spawn).expect("a daemon")
}

fn job(address: &Address, api: &str) -> Job {
    Job::new(2).var("LAPIS_TRANSPORT", "hps").var("LAPIS_NSD", address.as_str()).var("MP_MSG_API", api)
}

/// Two tasks with two contexts each, until the test has seen what it wants to see.
struct Pair {
    running: Running,
    enough: PathBuf,
}

impl Pair {
    fn start(address: &Address, job: Job, more: &[&str]) -> Self {
        let enough = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(address.as_str());
        let file = enough.to_string_lossy();
        let mut running = job.start(contexts(), &[&["600", &*file][..], more].concat());
        (0..4).for_each(|_| {
            running.read_line("ready");
        });
        Self { running, enough }
    }

    fn finish(self) {
        std::fs::write(&self.enough, "").expect("the target directory can be written");
        let done = self.running.wait();
        std::fs::remove_file(&self.enough).expect("just written");
        let done = done.expect_quiet(0);
        for number in 0..2 {
            assert_eq!(done.lines_with(&format!("done {number}: 600 messages")).len(), 2, "{done:?}");
        }
    }
}

/// Windows of both adapters, by state.
fn states(control: &Daemon) -> Vec<String> {
    let of = |adapter| control.windows(adapter).expect("the daemon lives");
    let mut all: Vec<_> = ["sn0", "sn1"].into_iter().flat_map(of).map(|window| window.state).collect();
    all.sort_unstable();
    all
}

fn count(control: &Daemon, open: usize, reserved: usize) {
    let expected = [vec!["open"; open], vec!["reserved"; reserved]].concat();
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while states(control) != expected {
        assert!(!patience.is_over(), "{:?} where {expected:?} were to be", states(control));
        std::thread::sleep(Duration::from_millis(1));
    }
}

//= LAPI Guide, Setting environment variables, MP_MSG_API=mpi_lapi, a shared adapter window
//= type=test
#[test]
fn contexts_share_the_windows_of_the_first_one() {
    for (interrupts, instances, more) in
        [("no", 1, ""), ("yes", 1, ""), ("no", 2, ""), ("yes", 2, "drop=0.05,dup=0.05,reorder=0.1,seed=4")]
    {
        let address = address(&format!("shared-{interrupts}-{instances}"));
        let _daemon = daemon(&address, 8);
        let control = Daemon::connect(&address).expect("a daemon");
        let mut job = job(&address, "mpi_lapi").var("LAPIS_INTERRUPT", interrupts);
        job = job.var("MP_INSTANCES", &instances.to_string());
        if !more.is_empty() {
            job = job.var("LAPIS_CHAOS", more);
        }
        let pair = Pair::start(&address, job, &[]);
        // Two tasks: one window each for an instance, whatever the number of contexts.
        count(&control, 2 * instances, 0);
        pair.finish();
        count(&control, 0, 0);
    }
}

//= LAPI Guide, Setting environment variables, MP_MSG_API=lapi,mpi, separate adapter windows
//= type=test
#[test]
fn contexts_have_separate_windows_and_those_of_the_next_one_are_held() {
    let at_once = ["at-once"];
    for (api, more) in [
        ("lapi,mpi", &[][..]),
        ("mpi,lapi", &[]),
        ("lapi", &[]),
        ("lapi,mpi", &at_once),
        ("mpi,lapi", &at_once),
    ] {
        let address = address(&format!("{}{}", api.replace(',', "-"), more.concat()));
        let _daemon = daemon(&address, 8);
        let control = Daemon::connect(&address).expect("a daemon");
        let pair = Pair::start(&address, job(&address, api).var("MP_INSTANCES", "2"), more);
        count(&control, 8, 0);
        pair.finish();
        count(&control, 0, 0);
    }
    // A program with one context: the windows of the other are kept for it.
    let address = address("one");
    let _daemon = daemon(&address, 8);
    let control = Daemon::connect(&address).expect("a daemon");
    let enough = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(address.as_str());
    let job = job(&address, "lapi,mpi");
    let mut running = job.start(folder().join("examples/hps_job"), &["60", &enough.to_string_lossy()]);
    (0..2).for_each(|_| {
        running.read_line("ready");
    });
    count(&control, 2, 2);
    std::fs::write(&enough, "").expect("the target directory can be written");
    running.wait().expect_quiet(0);
    std::fs::remove_file(&enough).expect("just written");
    count(&control, 0, 0);
}

/// Where there is no room for both, the job ends at its start: in one line, and nothing is left.
#[test]
fn windows_for_mpi_that_are_not_there_are_missed_at_the_start() {
    let address = address("short");
    let adapters = soft_adapters(1, 1, 3).expect("possible");
    let options = Options { address: address.clone(), adapters, share: Some(3), ..Options::default() };
    let _daemon = Server::open(options).and_then(Server::spawn).expect("a daemon");
    let control = Daemon::connect(&address).expect("a daemon");
    let task = program("lapis-testing", "lapis-job-task");
    let out = job(&address, "lapi,mpi").run(&task, &["all-to-all"]).expect(3).out;
    assert!(out.contains("MP_MSG_API") && out.contains("all 3 windows of sn0 are taken"), "{out}");
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while !control.windows("sn0").expect("the daemon lives").is_empty() {
        assert!(!patience.is_over());
        std::thread::sleep(Duration::from_millis(1));
    }
    // The same job with shared windows has room.
    let done = job(&address, "mpi_lapi").run(&task, &["all-to-all"]).expect_quiet(0);
    assert_eq!(done.lines_with("all-to-all: 48 messages").len(), 2, "{done:?}");
}
