//! Jobs in user-space mode: with a daemon of the launcher's, with one that dies, with adapters that
//! are pulled while messages are under way.

use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_adapters::key::Key;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use lapis_testing::{Finished, Job, Running, clean, folder, program};
use std::path::PathBuf;
use std::time::Duration;

fn task() -> PathBuf {
    program("lapis-testing", "lapis-job-task")
}

/// Cargo builds it with these tests.
fn stream() -> PathBuf {
    folder().join("examples/hps_job")
}

fn job(tasks: u32) -> Job {
    Job::new(tasks).var("LAPIS_TRANSPORT", "hps")
}

#[track_caller]
fn expect_from_all(done: Finished, tasks: u32, line: &str) {
    let done = done.expect_quiet(0);
    assert_eq!(done.sorted(), vec![line; tasks as usize]);
}

fn daemon(name: &str) -> (Address, Handle) {
    let address = Address::new(&format!("lapis-test-hps-{name}-{}", std::process::id()));
    (address.clone(), start(&address))
}

fn start(address: &Address) -> Handle {
    let adapters = soft_adapters(2, 2, 64).expect("possible");
    let options = Options { address: address.clone(), adapters, share: Some(64), ..Options::default() };
    Server::open(options).and_then(Server::spawn).expect("a daemon")
}

#[test]
fn messages_of_every_size_go_from_all_to_all_in_either_mode() {
    for (tasks, instances) in [(2, "1"), (4, "1"), (3, "2"), (2, "max")] {
        for interrupts in ["yes", "no"] {
            let job = job(tasks).var("MP_INSTANCES", instances).var("LAPIS_INTERRUPT", interrupts);
            expect_from_all(
                job.run(task(), &["all-to-all"]),
                tasks,
                &format!("all-to-all: {} messages", 24 * tasks),
            );
        }
    }
}

#[test]
fn puts_gets_atomics_and_answers_work() {
    let done = job(3).var("MP_EUIDEVICE", "sn_all").run(task(), &["one-sided"]).expect_quiet(0);
    assert_eq!(done.sorted().len(), 6, "{done:?}");
    expect_from_all(job(3).run(task(), &["answers"]), 3, "answers: 600");
}

/// The others wait for the successor of a task that was killed, and find its windows.
#[test]
fn a_task_that_is_killed_and_started_again_is_there_for_the_others() {
    let program = folder().join("examples/hps_restarted");
    for (tasks, instances, interrupts) in [(2, "1", "no"), (3, "2", "yes"), (2, "max", "yes")] {
        let job = job(tasks).option("--restart").option("1").var("MP_INSTANCES", instances);
        let done = job.var("LAPIS_INTERRUPT", interrupts).run(&program, &[]).expect(0);
        assert_eq!(done.lines_with("done").len(), tasks as usize, "{done:?}");
        // What is said of the death is all that is said.
        assert!(!done.err.contains("out of reach"), "{done:?}");
    }
}

/// Container runtimes refuse cross-memory attach. Lanes need none.
#[test]
fn lanes_stay_where_cross_memory_attach_is_refused() {
    let done = job(2).var("LAPIS_LOG", "info").run(task(), &["no-attach"]).expect(0);
    assert_eq!(done.lines_with("all-to-all: 48 messages").len(), 2, "{done:?}");
    let lines = |what: &str| done.err.lines().filter(|line| line.contains(what)).collect::<Vec<_>>();
    let connected = lines("no direct copies");
    // Two tasks with one context after the other.
    assert_eq!(connected.len(), 4, "{done:?}");
    assert!(connected.iter().all(|line| line.contains("AM_SHORT") && !line.contains("ZCOPY")), "{done:?}");
    assert_eq!(lines("large messages are copied twice").len(), 4, "{done:?}");
}

/// Nothing acknowledges what is in a lane, and one that is full stays so.
//= LAPI Guide, LAPI_Senv, TIMEOUT
//= type=test
#[test]
fn a_peer_that_hangs_with_a_full_lane_is_given_up_after_the_time_out() {
    let job = job(2).var("LAPIS_TIMEOUT", "10");
    let done = job.run(folder().join("examples/hps_stopped"), &[]).expect(0);
    assert_eq!(done.lines_with("task 1 is silent").len(), 1, "{done:?}");
    assert_eq!(done.lines_with("told: true, failed: true").len(), 1, "{done:?}");
}

#[test]
fn messages_survive_loss_repetition_and_reordering() {
    let faults = "drop=0.05,dup=0.05,reorder=0.1,seed=4";
    let job = job(2).var("MP_INSTANCES", "2").var("LAPIS_CHAOS", faults);
    let done = job.run(task(), &["all-to-all"]).expect(0);
    assert_eq!(done.lines_with("all-to-all: 48 messages").len(), 2, "{done:?}");
}

#[test]
fn what_was_named_and_is_not_there_is_an_error_in_one_line() {
    let lines = |job: Job| job.run(task(), &["all-to-all"]).expect(3).out;
    let out = lines(job(2).var("LAPIS_NSD", "lapis-test-nobody-listens"));
    assert!(out.contains("no services daemon") && out.contains("lapis-nsd"), "{out}");
    let out = lines(job(2).var("MP_EUIDEVICE", "sn9"));
    assert!(out.contains("no adapter `sn9`"), "{out}");
    // What shared memory heeds counts for the windows' lanes, too.
    let out = lines(job(2).var("LAPIS_SHM_COPIES", "near=5"));
    assert!(out.contains("LAPIS_SHM_COPIES=`near=5`: no limit `near`"), "{out}");
}

/// The job ends at once, with the guide's error, also where another transport stands by. What has
/// another cause is not said to be down.
//= LAPI Guide, table 35, LAPI_ERR_ADAPTERS_DOWN
//= type=test
#[test]
fn a_job_whose_adapters_are_all_down_is_told_so_and_what_to_do() {
    let (address, _daemon) = daemon("down");
    let control = Daemon::connect(&address).expect("a daemon");
    for adapter in ["sn0", "sn1"] {
        control.set(adapter, false).expect("the daemon's user may");
    }
    let lines = |job: Job| job.var("LAPIS_NSD", address.as_str()).run(task(), &["all-to-all"]).expect(3).out;
    for transports in ["hps", "hps,udp"] {
        let out = lines(job(2).var("LAPIS_TRANSPORT", transports));
        assert!(out.contains("all adapters are down: sn0 is down: `lapis-windows up sn0` takes"), "{out}");
    }
    let out = lines(job(2).var("MP_EUIDEVICE", "sn1"));
    assert!(out.contains("all adapters are down: sn1 is down: `lapis-windows up sn1` takes"), "{out}");
    let out = lines(job(2).var("MP_EUIDEVICE", "sn9"));
    assert!(out.contains("no adapter `sn9`") && !out.contains("down"), "{out}");
    control.set("sn1", true).expect("the daemon's user may");
    let job = job(2).var("LAPIS_NSD", address.as_str());
    expect_from_all(job.run(task(), &["all-to-all"]), 2, "all-to-all: 48 messages");
}

/// A job of two tasks that send each other messages, until the test has seen what it wants to see.
struct Stream {
    running: Running,
    enough: PathBuf,
}

impl Stream {
    fn start(address: &Address, interrupts: &str) -> Self {
        let enough = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(address.as_str());
        let job = job(2).var("LAPIS_NSD", address.as_str()).var("MP_INSTANCES", "2");
        let job = job.var("LAPIS_INTERRUPT", interrupts);
        let mut running = job.start(stream(), &["6000", &enough.to_string_lossy()]);
        running.read_line("ready");
        running.read_line("ready");
        Self { running, enough }
    }

    fn finish(self) {
        std::fs::write(&self.enough, "").expect("the target directory can be written");
        let done = self.running.wait();
        std::fs::remove_file(&self.enough).expect("just written");
        let done = done.expect_quiet(0);
        assert_eq!(done.lines_with("done: 6000 messages").len(), 2, "{done:?}");
    }
}

/// Each of two adapters is pulled and put back many times, never both at once: no operation fails.
#[test]
fn adapters_are_pulled_while_messages_are_under_way() {
    for interrupts in ["yes", "no"] {
        let (address, _daemon) = daemon(&format!("pulled-{interrupts}"));
        let control = Daemon::connect(&address).expect("a daemon");
        let stream = Stream::start(&address, interrupts);
        for _ in 0..60 {
            for adapter in ["sn0", "sn1"] {
                control.set(adapter, false).expect("the daemon's user may");
                std::thread::sleep(Duration::from_millis(3));
                control.set(adapter, true).expect("the daemon's user may");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        stream.finish();
    }
}

/// `lapis-nsd`, killed at whatever moment it is: while windows are opened, shown, watched, or none
/// of it. Each time the next one learns of the job's windows.
#[test]
fn the_daemon_is_killed_at_any_moment_many_times() {
    let rounds: u32 = std::env::var("LAPIS_TEST_DAEMONS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let address = Address::new(&format!("lapis-test-hps-killed-{}", std::process::id()));
    let start = || {
        let mut command = clean(program("lapis-nsd", "lapis-nsd"));
        command.args(["--socket", address.as_str()]);
        let mut running = Running::start(command);
        running.read_line("listening");
        running
    };
    let mut nsd = start();
    let stream = Stream::start(&address, "yes");
    for round in 0..rounds {
        // Someone else comes and goes meanwhile.
        let guest = Daemon::connect(&address).ok();
        let window = guest.as_ref().map(|guest| guest.open("sn0", None, Key::of_text("guest")));
        let nap = round.wrapping_mul(2_654_435_761) >> 17;
        std::thread::sleep(Duration::from_micros(u64::from(nap % 30_000)));
        let pid = rustix::process::Pid::from_raw(nsd.id().cast_signed()).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("ours");
        nsd.wait();
        drop(window);
        nsd = start();
    }
    let control = Daemon::connect(&address).expect("a daemon");
    let of_the_job = |adapter| control.windows(adapter).expect("the daemon lives").len();
    while ["sn0", "sn1"].iter().any(|adapter| of_the_job(adapter) < 2) {
        std::thread::sleep(Duration::from_millis(1));
    }
    stream.finish();
    // A task that has ended has left nothing.
    while ["sn0", "sn1"].iter().any(|adapter| of_the_job(adapter) > 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Windows reserved by hand, and tasks started by hand that name them.
//= LAPI Guide, LAPI_Init, user space communication in standalone mode
//= type=test
#[test]
fn tasks_started_by_hand_have_the_windows_that_were_reserved_for_them() {
    let (address, _daemon) = daemon("by-hand");
    let control = Daemon::connect(&address).expect("a daemon");
    for (adapter, window) in [("sn0", 31), ("sn0", 33), ("sn1", 5), ("sn1", 7)] {
        control.reserve(adapter, Some(window)).expect("free");
    }
    let start = |child: usize, network: &str| {
        let mut command = clean(task());
        command.arg("all-to-all").env("LAPIS_TRANSPORT_PATH", folder().join("deps"));
        command.env("MP_MSG_API", "lapi").env("MP_EUILIB", "us").env("LAPIS_NSD", address.as_str());
        command.env("MP_PROCS", "2").env("MP_CHILD", child.to_string()).env("LAPIS_INIT_TIMEOUT", "30");
        command.env("MP_PARTITION", address.as_str()).env("MP_LAPI_NETWORK", network);
        Running::start(command)
    };
    let tasks = [start(0, "@2:31,sn0:5,sn1"), start(1, "@2:33,sn0:7,sn1")];
    for task in tasks {
        let done = task.wait().expect(0);
        assert_eq!(done.lines_with("all-to-all: 48 messages").len(), 1, "{done:?}");
    }
    // Those windows it was, and they are this user's still.
    let said = |adapter| -> Vec<_> {
        let windows = control.windows(adapter).expect("the daemon lives");
        windows.into_iter().map(|window| (window.window, window.state)).collect()
    };
    let reserved = |numbers: [u32; 2]| numbers.map(|number| (number, "reserved".to_owned()));
    let mut patience = lapis_testing::Patience::with_myself(Duration::from_secs(20));
    while said("sn0") != reserved([31, 33]) || said("sn1") != reserved([5, 7]) {
        assert!(!patience.is_over(), "{:?} {:?}", said("sn0"), said("sn1"));
        std::thread::sleep(Duration::from_millis(1));
    }
    // Another job's window is refused in one line.
    control
        .load(&lapis_adapters::protocol::Place { adapter: "sn0".to_owned(), window: 31 }, Key::of_text("x"))
        .expect("reserved");
    let (refused, partner) = (start(0, "@2:31,sn0:5,sn1"), start(1, "@2:33,sn0:7,sn1"));
    let done = refused.wait().expect(3);
    assert!(done.out.contains("window 31 of sn0"), "{done:?}");
    // Its partner learns that it has gone.
    assert_ne!(partner.wait().code, Some(0));
}

#[test]
fn full_tables_are_said_in_one_line() {
    let address = Address::new(&format!("lapis-test-hps-full-{}", std::process::id()));
    let adapters = soft_adapters(1, 1, 2).expect("possible");
    let options = Options { address: address.clone(), adapters, share: Some(2), ..Options::default() };
    let _daemon = Server::open(options).and_then(Server::spawn).expect("a daemon");
    let job = |tasks| job(tasks).var("LAPIS_NSD", address.as_str());
    let out = job(3).run(task(), &["all-to-all"]).expect(3).out;
    assert!(out.contains("all 2 windows of sn0 are taken"), "{out}");
    // Those who failed have left nothing.
    expect_from_all(job(2).run(task(), &["all-to-all"]), 2, "all-to-all: 48 messages");
}

/// The daemon dies and comes back while messages are under way, and each time learns of the
/// windows.
#[test]
fn jobs_go_on_without_the_daemon_and_show_the_next_one_their_windows() {
    for interrupts in ["yes", "no"] {
        let (address, mut daemon) = daemon(&format!("dies-{interrupts}"));
        let stream = Stream::start(&address, interrupts);
        for _ in 0..3 {
            drop(daemon);
            daemon = start(&address);
            let control = Daemon::connect(&address).expect("a daemon");
            while ["sn0", "sn1"].iter().any(|a| control.windows(a).expect("the daemon lives").len() < 2) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        stream.finish();
    }
}
