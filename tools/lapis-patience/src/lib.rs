//! When a command counts as hanging: when it has written nothing for a given time, by a clock of
//! its own.
//!
//! That clock stands still while the command's threads wait for a processor that others use. On a
//! machine with ten times more work than processors, a command may take ten times as long. A
//! command that sleeps and is never woken is found just as soon as on an idle machine.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The least share of the clock that counts, however busy the machine: everything ends.
const LEAST: f64 = 0.05;
/// How often the threads are looked at.
const PERIOD: Duration = Duration::from_millis(500);

/// The patience with one command.
#[derive(Debug)]
pub struct Patience {
    root: u32,
    limit: Duration,
    looked: Instant,
    /// Its own time since it last wrote something.
    quiet: Duration,
    threads: HashMap<u32, Times>,
}

/// What the kernel says of a thread, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    ran: u64,
    /// Was ready to run, and waited for a processor.
    waited: u64,
}

impl Patience {
    /// With a process and all that it starts.
    pub fn new(root: u32, limit: Duration) -> Self {
        Self { root, limit, looked: Instant::now(), quiet: Duration::ZERO, threads: HashMap::new() }
    }

    /// Something has come from the command.
    pub fn heard(&mut self) {
        self.quiet = Duration::ZERO;
    }

    /// Whether it hangs. To be asked often.
    pub fn is_over(&mut self) -> bool {
        let clock = self.looked.elapsed();
        if clock >= PERIOD {
            self.looked = Instant::now();
            let now = threads(self.root);
            self.quiet += clock.mul_f64(share(&self.threads, &now).max(LEAST));
            self.threads = now;
        }
        self.quiet > self.limit
    }
}

/// The share of the time between two looks that the threads ran or slept.
fn share(before: &HashMap<u32, Times>, now: &HashMap<u32, Times>) -> f64 {
    let (mut ran, mut waited) = (0, 0);
    for (thread, times) in now {
        let before = before.get(thread).copied().unwrap_or_default();
        ran += times.ran.saturating_sub(before.ran);
        waited += times.waited.saturating_sub(before.waited);
    }
    // A moment's wait of one that sleeps all the time says little about how busy the machine is.
    let pause = PERIOD.as_nanos() as u64 / 100;
    (ran + pause) as f64 / (ran + pause + waited) as f64
}

/// The threads of a process and of all that it has started.
fn threads(root: u32) -> HashMap<u32, Times> {
    let mut found = HashMap::new();
    for process in crate::run::family(root) {
        for thread in crate::run::entries(&format!("/proc/{process}/task")) {
            let text = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat"));
            let text = text.unwrap_or_default();
            let mut numbers = text.split_whitespace().map(|n| n.parse().unwrap_or(0));
            // A kernel that does not count tells nothing: then the clock is what there is.
            let times = Times { ran: numbers.next().unwrap_or(0), waited: numbers.next().unwrap_or(0) };
            found.insert(thread.parse().unwrap_or(0), times);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn times(ran: u64, waited: u64) -> HashMap<u32, Times> {
        [(7, Times { ran: ran * 1_000_000, waited: waited * 1_000_000 })].into()
    }

    #[test]
    fn time_stands_nearly_still_for_those_who_wait_for_a_processor() {
        assert!(share(&times(0, 0), &times(500, 0)) > 0.99);
        assert!(share(&times(0, 0), &times(0, 0)) > 0.99, "sleepers get no time of grace");
        let starved = share(&times(100, 100), &times(150, 9100));
        assert!((LEAST..0.1).contains(&starved.max(LEAST)), "{starved}");
    }

    #[test]
    fn one_that_sleeps_is_found_and_one_that_writes_is_not() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let mut patience = Patience::new(child.id(), Duration::from_secs(2));
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            patience.heard();
            assert!(!patience.is_over());
            std::thread::sleep(Duration::from_millis(100));
        }
        while !patience.is_over() {
            assert!(start.elapsed() < crate::WATCHDOG, "nobody notices");
            std::thread::sleep(Duration::from_millis(100));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
