//! Jobs over windows for which UDP stands by: all adapters are pulled while messages, puts and gets
//! are under way, and put back.

use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use lapis_testing::{Job, Running, folder};
use std::path::PathBuf;

fn daemon(name: &str) -> (Address, Handle) {
    let address = Address::new(&format!("lapis-test-standby-{name}-{}", std::process::id()));
    let adapters = soft_adapters(2, 2, 16).expect("possible");
    let options = Options { address: address.clone(), adapters, share: Some(16), ..Options::default() };
    (address, Server::open(options).and_then(Server::spawn).expect("a daemon"))
}

/// Two tasks that exchange data in rounds, and the folder in which the test tells them what to do.
struct Rounds {
    running: Running,
    folder: PathBuf,
    marks: u32,
}

impl Rounds {
    fn start(job: Job, address: &Address) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(address.as_str());
        std::fs::create_dir_all(&folder).expect("the target directory can be written");
        let job = job.var("LAPIS_NSD", address.as_str()).var("LAPIS_LOG", "info");
        let program = self::folder().join("examples/hps_standby");
        let mut running = job.start(program, &[&folder.to_string_lossy()]);
        running.read_line("ready");
        Self { running, folder, marks: 0 }
    }

    /// Waits for some rounds that have begun since this call.
    fn go_on(&mut self) {
        self.marks += 1;
        std::fs::write(self.folder.join(format!("mark-{}", self.marks)), "").expect("it can be written");
        self.running.read_line(&format!("mark {}", self.marks));
    }

    /// Ends the tasks when all paths are up. Answers what they wrote.
    fn finish(self) -> lapis_testing::Finished {
        std::fs::write(self.folder.join("end"), "").expect("it can be written");
        let done = self.running.wait();
        std::fs::remove_dir_all(&self.folder).expect("it was made here");
        let done = done.expect(0);
        assert_eq!(done.lines_with("done").len(), 2, "{done:?}");
        done
    }
}

#[test]
fn a_job_goes_on_over_udp_while_all_adapters_are_down_and_returns_to_its_windows() {
    const TIMES: usize = 3;
    for (windows, interrupts) in [("1", "no"), ("2", "yes")] {
        let (address, _daemon) = daemon(&format!("all-{windows}"));
        let control = Daemon::connect(&address).expect("a daemon");
        let job = Job::new(2).var("LAPIS_TRANSPORT", "hps,udp").var("MP_INSTANCES", windows);
        let mut rounds = Rounds::start(job.var("LAPIS_INTERRUPT", interrupts), &address);
        rounds.go_on();
        for _ in 0..TIMES {
            for up in [false, true] {
                ["sn0", "sn1"].iter().for_each(|sn| control.set(sn, up).expect("the daemon's user may"));
                // No window carries anything now, or all do.
                rounds.go_on();
            }
        }
        let done = rounds.finish();
        assert_eq!(done.lines_with("; standby udp: ").len(), 2, "{done:?}");
        let said = |what: &str| done.err.lines().filter(|line| line.contains(what)).count();
        assert!(said("is left: its packets take udp") >= 2 * TIMES, "{done:?}");
        assert!(said("answers again: its packets leave udp") >= 2 * TIMES, "{done:?}");
        if windows == "2" {
            assert!(said("No adapter is left to some tasks") >= 2 * TIMES, "{done:?}");
        }
    }
}

/// UDP first, windows stand by: nothing needs them on one host.
#[test]
fn windows_may_stand_by_for_udp() {
    let (address, _daemon) = daemon("udp");
    let mut rounds = Rounds::start(Job::new(2).var("LAPIS_TRANSPORT", "udp,hps"), &address);
    rounds.go_on();
    let done = rounds.finish();
    assert_eq!(done.lines_with("; standby hps: ").len(), 2, "{done:?}");
}

/// Tasks without one of the two transports are reached over the other one.
#[test]
fn tasks_with_different_transports_reach_each_other_by_what_they_share() {
    for second in ["hps", "udp"] {
        let (address, _daemon) = daemon(second);
        let script = format!(
            "[ \"$MP_CHILD\" = 0 ] && LAPIS_TRANSPORT=hps,udp || LAPIS_TRANSPORT={second}; export LAPIS_TRANSPORT; \
             exec \"$0\" all-to-all"
        );
        let job = Job::new(2).var("LAPIS_NSD", address.as_str());
        let task = lapis_testing::program("lapis-testing", "lapis-job-task");
        let done = job.run("sh", &["-c", &script, &task.to_string_lossy()]).expect(0);
        assert_eq!(done.lines_with("all-to-all: 48 messages").len(), 2, "{done:?}");
    }
}
