//! Jobs over the rdma plugin and a libfabric that fails at chosen calls: every fault ends in an
//! error that says what happened, or in a try that succeeds. Nothing hangs, and what was confirmed
//! has come.

use lapis_testing::{Finished, Job};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");
const TASKS: u32 = 3;
/// Addresses of two rails.
const RAILS: &str = "127.0.0.1,127.0.0.2";
/// Rounds of traffic with puts that have pieces on both.
const LONG: &[&str] = &["40", "400000"];
/// Messages of each task for each other one, if nothing fails (`tasks/faults.rs`).
const MESSAGES: u64 = 40 * 2 + 5 * 2;

/// libfabric with faults, in a directory of this test's own, removed at its end.
struct Faulty(PathBuf);

impl Drop for Faulty {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Faulty {
    /// `None` where there is no libfabric to put faults into; says so.
    fn new(test: &str) -> Option<Self> {
        let found = Command::new("gcc").arg("-print-file-name=libfabric.so.1").output().ok();
        let path = found.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
        let Some(real) = path.filter(|path| Path::new(path).is_absolute()) else {
            let why = "gcc finds no libfabric.so.1 (cargo xtask setup installs both)";
            let _ = writeln!(std::io::stderr(), "SKIP {test}: {why}");
            return None;
        };
        let this = Self(lapis_testing::scratch(&format!("faults-{test}")));
        std::fs::create_dir_all(&this.0).expect("a directory for a library");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rdma_faults/libfabric.c");
        let mut gcc = Command::new("gcc");
        gcc.args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-Wl,-soname,libfabric.so.1"]);
        gcc.arg(format!("-DREAL=\"{real}\"")).arg("-o").arg(this.0.join("libfabric.so.1")).arg(source);
        let done = gcc.arg("-ldl").output().expect("gcc runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Some(this)
    }

    /// A job in which one task has faults.
    fn job(&self, faults: &str, task: u32) -> Job {
        self.job_of(TASKS, faults).var("LAPIS_TEST_FAULTS_TASK", &task.to_string())
    }

    /// A job of so many tasks, in which those have faults that the list names.
    fn job_of(&self, tasks: u32, faults: &str) -> Job {
        let job = Job::new(tasks).var("LD_LIBRARY_PATH", &self.0.to_string_lossy());
        let job = job.var("LAPIS_TRANSPORT", "rdma").var("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm");
        let job = job.var("LAPIS_RDMA_ADDR", "127.0.0.1").var("LAPIS_TIMEOUT", "10");
        job.var("LAPIS_TEST_FAULTS", faults)
    }

    /// Runs the traffic.
    fn run(&self, faults: &str, task: u32) -> Finished {
        self.run_job(faults, self.job(faults, task))
    }

    /// Runs the traffic over two rails.
    fn run_on_rails(&self, faults: &str, task: u32) -> Finished {
        self.run_job(faults, self.job(faults, task).var("LAPIS_RDMA_ADDR", RAILS))
    }

    fn run_job(&self, faults: &str, job: Job) -> Finished {
        self.run_rounds(faults, job, &[])
    }

    /// Runs the traffic for so many rounds, with puts and gets of a length.
    fn run_rounds(&self, faults: &str, job: Job, rounds_and_length: &[&str]) -> Finished {
        let done = job.run(TASK, &[&["faults"], rounds_and_length].concat());
        assert!(done.err.contains("faults: "), "nothing failed at {faults}: {done:?}");
        assert!(!done.err.contains("panicked") && !done.out.contains("panicked"), "{faults}: {done:?}");
        done
    }
}

/// What a pair of tasks said at its end: confirmed messages of the first, and what the second got.
fn pair(done: &Finished, from: u32, to: u32) -> (u64, u64) {
    let sent = done.sum_of(&format!("task {from} with {to}: "));
    let said = format!("task {to} with {from}: ");
    let line = done.out.lines().find(|line| line.starts_with(&said));
    let got = line.and_then(|line| line.split(", ").nth(1)?.split(' ').next()?.parse().ok());
    (sent, got.unwrap_or_else(|| panic!("task {to} did not say what it got from {from}: {done:?}")))
}

/// Every task has come to its end, what was confirmed has come, and pairs that nobody told an error
/// of have everything. How many pairs are without error.
#[track_caller]
fn all_ended(faults: &str, done: Finished) -> usize {
    let done = done.expect(0);
    let mut whole = 0;
    for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
        let (sent, got) = pair(&done, from, to);
        assert!(sent <= got, "{faults}: {sent} of task {from} confirmed, {got} got by {to}: {done:?}");
        let said = |a: u32, b: u32| {
            [format!("task {a}: lost {b}: "), format!("task {a}: a call for {b}: ")]
                .iter()
                .any(|said| !done.lines_with(said).is_empty())
        };
        if !said(from, to) && !said(to, from) {
            assert_eq!((sent, got), (MESSAGES, MESSAGES), "{faults}, from {from} to {to}: {done:?}");
            whole += 1;
        }
    }
    whole
}

#[test]
fn what_does_not_open_is_named() {
    let Some(faulty) = Faulty::new("open") else { return };
    for (faults, parts) in [
        ("domain:1:0:12", ["opening the domain", "Cannot allocate memory"]),
        ("queue:1:0:5", ["opening the completion queue", "Input/output error"]),
        ("endpoint:1:0:38", ["opening the endpoint", "Function not implemented"]),
        ("post:1:0:5", ["posting receive buffers", "Input/output error"]),
    ] {
        let done = faulty.run(faults, 1).expect(3);
        for part in parts.into_iter().chain(["tcp;ofi_rxm"]) {
            assert!(done.out.contains(part), "{faults}: \"{part}\" is not in {done:?}");
        }
    }
}

#[test]
fn a_fault_before_the_job_is_together_ends_it_with_the_reason() {
    let Some(faulty) = Faulty::new("early") else { return };
    for faults in ["greet:1:0:5", "greet:2:1:104", "poll:1:0:5"] {
        let done = faulty.run(faults, 0).expect(3);
        assert!(done.out.contains("task ") && done.out.contains("error: "), "{faults}: {done:?}");
        assert!(!done.out.contains("did not complete"), "{faults}: nobody should wait: {done:?}");
    }
}

#[test]
fn memory_that_can_not_be_registered_is_reached_by_messages() {
    let Some(faulty) = Faulty::new("register") else { return };
    // One for good, one that the kernel says as if trying again would help, some now and then.
    for faults in ["register:1:0:12", "register:1:0:11", "register:2:3:12"] {
        assert_eq!(all_ended(faults, faulty.run(faults, 0)), 6, "{faults}");
    }
}

/// What the target would fetch, or put, comes in packets then.
#[test]
fn long_transfers_of_unregistered_memory_survive_what_is_refused() {
    let Some(faulty) = Faulty::new("lent") else { return };
    for faults in [
        "read:1:0:22",
        "write:1:0:22",
        "read:7:1:5,write:9:1:5",
        "moved:5:2:5",
        "moved:1:0:5",
        "register:1:0:12",
        "register:4:9:12",
        "read:3:40:11,write:5:40:11",
    ] {
        for rails in ["127.0.0.1", RAILS] {
            let job = faulty.job(faults, 0).var("LAPIS_RDMA_ADDR", rails);
            let done = job.run(TASK, &["unregistered"]).expect(0);
            assert_eq!(done.sorted(), vec!["unregistered: done"; TASKS as usize], "{faults}: {done:?}");
            // Nobody fetches over several rails of some libfabrics.
            let fails = !faults.starts_with("read:1:") || rails != RAILS;
            assert!(done.err.contains("faults: ") || !fails, "nothing failed at {faults}: {done:?}");
        }
    }
}

#[test]
fn puts_and_gets_that_fail_go_in_packets() {
    let Some(faulty) = Faulty::new("transfers") else { return };
    for faults in
        ["write:2:1:5", "write:1:0:22", "read:2:0:5", "moved:5:1:5", "moved:1:0:5", "moved:7:9:5,read:9:4:5"]
    {
        assert_eq!(all_ended(faults, faulty.run(faults, 0)), 6, "{faults}");
    }
}

#[test]
fn what_has_no_room_for_a_while_is_sent_later() {
    let Some(faulty) = Faulty::new("again") else { return };
    for faults in
        ["inject:5:200:11,send:3:200:11", "post:5:50:11", "post:5:50:12", "write:3:40:11,read:5:40:11"]
    {
        assert_eq!(all_ended(faults, faulty.run(faults, 0)), 6, "{faults}");
    }
}

#[test]
fn headers_are_whole_where_nothing_goes_beside_a_message() {
    let Some(faulty) = Faulty::new("marks") else { return };
    let faults = "mark:1:0:38";
    assert_eq!(all_ended(faults, faulty.run(faults, 0)), 6, "{faults}");
}

#[test]
fn a_send_that_fails_costs_its_peer_and_nobody_else() {
    let Some(faulty) = Faulty::new("sends") else { return };
    for what in ["inject", "send", "sent"] {
        for from in [30, 60] {
            // An error of the network's, and one of the provider's own.
            for error in [104, 5] {
                let faults = format!("{what}:{from}:1:{error}");
                let done = faulty.run(&faults, 0);
                let whole = all_ended(&faults, done);
                assert_eq!(whole, 4, "{faults}: pairs without error");
            }
        }
    }
}

#[test]
fn a_peer_that_no_message_reaches_is_lost_alone() {
    let Some(faulty) = Faulty::new("one-peer") else { return };
    let faults = "inject:20:0:5:1,send:10:0:5:1,write:1:0:5:1,read:1:0:5:1";
    let done = faulty.run(faults, 0);
    assert!(!done.lines_with("task 0: lost 2: ").is_empty(), "{done:?}");
    assert!(!done.lines_with("task 2: lost 0: ").is_empty(), "{done:?}");
    assert_eq!(all_ended(faults, done), 4);
}

#[test]
fn a_message_that_is_lost_on_the_way_is_missed() {
    let Some(faulty) = Faulty::new("lost") else { return };
    // Those that go to slots are few here, and the last ones may have none behind them.
    for faults in ["lose:30:1:1", "lose:60:1:1", "stray:5:1:1", "stray:8:3:1:0"] {
        let done = faulty.run(faults, 0);
        assert!(done.err.contains("fails"), "{faults}: {done:?}");
        assert!(done.lines_with(": lost 0: ").len() == 1, "{faults}: {done:?}");
        assert_eq!(all_ended(faults, done), 4, "{faults}");
    }
}

/// What is lost has nothing behind it: the sender waits for the answer. Nobody is asked for a sign
/// of life within this time.
#[test]
fn a_message_that_is_lost_last_is_missed() {
    let Some(faulty) = Faulty::new("lost-last") else { return };
    for faults in ["0/lose:60:0:1", "1/lose:90:0:1", "0/stray:30:0:1"] {
        let job = faulty.job_of(2, faults).var("LAPIS_TIMEOUT", "900");
        let done = job.run(TASK, &["pauses", "no such file"]).expect(3);
        assert!(done.err.contains("faults: ") && done.out.contains("error: task "), "{faults}: {done:?}");
    }
}

#[test]
fn a_short_put_that_is_lost_on_the_way_is_missed() {
    let Some(faulty) = Faulty::new("lost-put") else { return };
    let job = faulty.job("mislay:250:1:1", 0);
    let done = job.run(TASK, &["fenced-words"]).expect(0);
    assert!(done.err.contains("faults: mislay"), "{done:?}");
    assert_eq!(done.lines_with("task 0: round ").len(), 1, "{done:?}");
    assert!(done.lines_with("fenced-words: done").is_empty(), "{done:?}");
}

#[test]
fn an_endpoint_that_fails_costs_its_task_all_others() {
    let Some(faulty) = Faulty::new("endpoint") else { return };
    // Without registrations others' puts come in packets, enough of them to use up all buffers.
    for faults in ["poll:1000:0:5", "register:1:0:12,post:5:0:5"] {
        let done = faulty.run(faults, 0);
        for other in [1, 2] {
            assert!(!done.lines_with(&format!("task 0: lost {other}: ")).is_empty(), "{faults}: {done:?}");
            assert!(!done.lines_with(&format!("task {other}: lost 0: ")).is_empty(), "{faults}: {done:?}");
        }
        assert_eq!(all_ended(faults, done), 2, "{faults}");
    }
}

#[test]
fn with_two_rails_a_fault_costs_nobody_anything() {
    let Some(faulty) = Faulty::new("rails") else { return };
    for faults in [
        "inject:60:1:104",
        "send:40:1:104",
        "sent:30:1:104,sent:60:1:5",
        "lose:60:1:1",
        "lose:40:3:1",
        "moved:5:1:104",
        "moved:5:1:125",
        "moved:5:1:5",
        "write:7:1:104,read:9:1:104",
        "moved:3:1:104,sent:80:1:104",
        // No transfer ends well any more, with an error that may be the memory's.
        "moved:4:0:5",
        // A queue that can't be read: its rail stays closed, and whoever uses it must learn that.
        "poll:2000:1:5",
        "poll:2001:1:5",
    ] {
        let done = faulty.run_on_rails(faults, 0);
        assert_eq!(all_ended(faults, done), 6, "{faults}");
    }
}

/// Messages take the first path, whichever rail that is, and go over the other one then.
#[test]
fn a_job_starts_though_a_rail_takes_nothing() {
    let Some(faulty) = Faulty::new("silent") else { return };
    let said = [0, 1].map(|rail| {
        let faults = format!("cut@{rail}:1:100000000:11");
        let job = faulty.job_of(TASKS, &faults).var("LAPIS_RDMA_ADDR", RAILS).var("LAPIS_LOG", "warn");
        let done = faulty.run_job(&faults, job);
        let said = done.err.contains("does not answer over");
        assert_eq!(all_ended(&faults, done), 6, "{faults}");
        said
    });
    assert!(said.contains(&true), "no task has found its first rail silent");
}

/// What a task answers would take the path that its peer has left, until it is found silent. Where
/// tasks have no core for some milliseconds, the other path may be found silent at that moment, so
/// that nothing is left to say it over: so one of a few tries must hear it.
#[test]
fn a_peer_hears_that_a_path_was_left() {
    let Some(faulty) = Faulty::new("left") else { return };
    let faults = "inject:60:1:104";
    let hears = |line: &str| line.contains("the path to task 0 ") && line.contains(": the peer has left it;");
    let heard = (0..3).any(|_| {
        let job = faulty.job(faults, 0).var("LAPIS_RDMA_ADDR", RAILS).var("LAPIS_LOG", "info");
        let done = faulty.run_job(faults, job);
        let heard = done.err.lines().any(hears);
        assert_eq!(all_ended(faults, done), 6);
        heard
    });
    assert!(heard, "nobody was told in three tries");
}

#[test]
fn a_job_goes_on_when_all_its_rails_were_away_for_a_while() {
    let Some(faulty) = Faulty::new("rails-away") else { return };
    for faults in ["cut:200:50:101", "cut:300:50:101,cut:900:50:101", "moved:3:1:125,cut:250:50:101"] {
        let done = faulty.run_on_rails(faults, 0);
        assert_eq!(all_ended(faults, done), 6, "{faults}");
    }
}

/// If rails were closed while no other one leads to a peer, nobody would know where the others are.
#[test]
fn tasks_whose_rails_are_away_together_find_each_other_again() {
    let Some(faulty) = Faulty::new("blackout") else { return };
    let shared = faulty.0.join("ends");
    std::fs::write(&shared, [0; 4096]).expect("a file of zeroes");
    let faults = "blackout:20:100:101";
    let job = faulty.job_of(TASKS, faults).var("LAPIS_RDMA_ADDR", RAILS);
    let job = job.var("LAPIS_TEST_FAULTS_SHARED", &shared.to_string_lossy());
    assert_eq!(all_ended(faults, faulty.run_rounds(faults, job, LONG)), 6);
}

/// A task whose rail is reopened when nothing can be said over another one any more is found by
/// what its questions say. Now and then libfabric 1.17 makes no connection to the new rail, and the
/// tasks lose each other after their TIMEOUT (docs/rdma.md, *What is missing*): so one of a few
/// tries must come to its end.
#[test]
fn a_rail_that_moved_in_silence_says_itself_where_it_is() {
    let Some(faulty) = Faulty::new("lone") else { return };
    let faults = "0/lone:2:0:101,1/moved@0:3:1:5";
    let found = (0..4).any(|_| {
        let job = faulty.job_of(TASKS, faults).var("LAPIS_RDMA_ADDR", RAILS);
        let done = faulty.run_rounds(faults, job, LONG);
        assert!(done.err.contains("rail 0 of process ") && done.err.contains(" is alone"), "{done:?}");
        all_ended(faults, done) == 6
    });
    assert!(found, "nobody found the rail that had moved");
}

/// Has task 2 use the first rail alone.
const ONE_RAIL: &str = r#"[ "$LAPIS_TASK" = 2 ] && export LAPIS_RDMA_ADDR=127.0.0.1; exec "$0" "$@""#;

/// A put that failed between two tasks has one of them open the rail anew by which alone a third is
/// reached. As above, one of a few tries must come to its end.
#[test]
fn a_rail_that_is_opened_anew_costs_nobody_who_has_no_other() {
    let Some(faulty) = Faulty::new("third") else { return };
    let faults = "0/moved@0:3:6:5";
    let found = (0..4).any(|_| {
        let job = faulty.job_of(TASKS, faults).var("LAPIS_RDMA_ADDR", RAILS).var("LAPIS_LOG", "info");
        let done = job.run("sh", &[&["-c", ONE_RAIL, TASK, "faults"], LONG].concat());
        assert!(done.err.contains("rail 0 is opened anew: a peer has left it"), "{done:?}");
        assert!(!done.out.contains("panicked") && !done.err.contains("panicked"), "{done:?}");
        all_ended(faults, done) == 6
    });
    assert!(found, "the third task was lost each time");
}

/// When a line of the log was written, as text in the order of time.
fn time(line: &str) -> &str {
    line.split_whitespace().find(|word| word.contains('T') && word.ends_with('Z')).unwrap_or_default()
}

/// Three times a put takes another path; then its data goes in packets, but not while the target's
/// rails may still take what failed.
#[test]
fn a_put_that_failed_for_good_waits_for_the_target_to_close_its_rail() {
    let Some(faulty) = Faulty::new("stray") else { return };
    // The first four are of a message, together; the next are of puts, one after the other.
    let faults = "0/moved:5:0:5";
    let job = faulty.job_of(2, faults).var("LAPIS_RDMA_ADDR", RAILS).var("LAPIS_LOG", "debug");
    let done = faulty.run_job(faults, job).expect(0);
    let lines = |what: &str| -> Vec<&str> {
        let mut times: Vec<&str> = done.err.lines().filter(|line| line.contains(what)).map(time).collect();
        times.sort_unstable();
        times
    };
    let closed = lines("opened anew: a peer has left it");
    let refused = *lines("direct transfer refused").first().unwrap_or_else(|| panic!("none: {done:?}"));
    let before = closed.iter().filter(|closed| !closed.is_empty() && **closed < refused).count();
    assert!(before >= 4, "{before} of {closed:?} before {refused}");
}

/// Before 1.18 a get that fails on a rail could end the process: what is announced there is put by
/// its origin.
#[test]
fn nobody_gets_over_rails_of_an_old_libfabric() {
    let Some(faulty) = Faulty::new("old") else { return };
    let faults = "0/version:0:0:118,1/version:0:0:117,2/version:0:0:117,1/read:1:0:5,2/read:1:0:5";
    let job = faulty.job_of(TASKS, faults).var("LAPIS_RDMA_ADDR", RAILS).var("LAPIS_LOG", "debug");
    let done = faulty.run_job(faults, job);
    let said = |what: &str| done.err.lines().filter(|line| line.contains(what)).count();
    assert_eq!(said("targets put what this task would get"), 2, "{done:?}");
    assert_eq!(said("faults: read "), 0, "{done:?}");
    assert_eq!(said("refused; the data "), 0, "nothing was tried: {done:?}");
    assert_eq!(all_ended(faults, done), 6);
}

#[test]
fn a_peer_that_no_rail_reaches_is_lost() {
    let Some(faulty) = Faulty::new("no-rail") else { return };
    // Connecting takes any number of headers: those fail from a message on, when all are together.
    let faults = "dead:60:0:104,write:1:0:104,read:1:0:104";
    let done = faulty.run_on_rails(faults, 0);
    for other in [1, 2] {
        assert!(!done.lines_with(&format!("task 0: lost {other}: ")).is_empty(), "{done:?}");
        assert!(!done.lines_with(&format!("task {other}: lost 0: ")).is_empty(), "{done:?}");
    }
    assert_eq!(all_ended(faults, done), 2);
}
