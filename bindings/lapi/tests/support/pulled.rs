//! Jobs in user-space mode whose adapters are pulled and put back in turns while they run. One of
//! the two is up at any time, so nothing may fail.

use crate::support::Job;
use crate::support::adapters::Adapters;
use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// So often at least an adapter is pulled and put back while tasks have windows of it.
const PULLS: u32 = 4;

/// So often a program is run at most until it has seen that.
const RUNS: u32 = 20;

/// How long an adapter is down. The others are up all the time, and this one for half as long
/// until the next one is pulled.
const DOWN: Duration = Duration::from_millis(2);

/// Ends the pulling, also if the job hangs and its watchdog panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a job until adapters were pulled in the middle of it; all runs must succeed. Gives what
/// each of them printed.
pub(crate) fn succeeds(job: &Job, program: &Path) -> Vec<String> {
    let adapters = Adapters::new(2);
    let mut job = job.clone();
    for (name, value) in adapters.variables() {
        job = job.env(name, &value);
    }
    let address = Address::new(adapters.name());
    let (mut pulls, mut printed) = (0, Vec::new());
    for _ in 0..RUNS {
        let has_ended = AtomicBool::new(false);
        let (done, pulled) = std::thread::scope(|scope| {
            let puller = scope.spawn(|| pull(&address, job.tasks as usize, &has_ended));
            let done = {
                let _ends = Ends(&has_ended);
                job.run(program)
            };
            (done, puller.join().expect("no panic"))
        });
        printed.push(done.success().stdout());
        pulls += pulled;
        if pulls >= PULLS {
            return printed;
        }
    }
    panic!("{} ended {RUNS} times, and adapters were pulled {pulls} times only", program.display());
}

/// Pulls the adapters in turns, as soon as all tasks have windows of both and as long as some have,
/// until the job has ended. How often that was in the middle of the job.
fn pull(address: &Address, tasks: usize, has_ended: &AtomicBool) -> u32 {
    let control = Daemon::connect(address).expect("the daemon runs");
    let open = |adapter| control.windows(adapter).expect("the daemon runs").len();
    let (mut wanted, mut pulls) = (tasks, 0);
    for adapter in ["sn0", "sn1"].into_iter().cycle() {
        while open("sn0").min(open("sn1")) < wanted {
            if has_ended.load(Ordering::Relaxed) {
                return pulls;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        wanted = 1;
        let before = control.matrix().changes();
        control.set(adapter, false).expect("the daemon's user may");
        std::thread::sleep(DOWN);
        control.set(adapter, true).expect("the daemon's user may");
        if control.matrix().changes() != before && open(adapter) > 0 {
            pulls += 1;
        }
        std::thread::sleep(DOWN / 2);
    }
    pulls
}
