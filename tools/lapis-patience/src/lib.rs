//! Detecting processes that hang: those without a sign of progress for a given time, by a clock of
//! their own.
//!
//! That clock stands still while their threads wait for a processor that others use. On a machine
//! with ten times more work than processors, a test may take ten times as long. A process that
//! sleeps and is never woken is found just as soon as on an idle machine.
//!
//! ```
//! # use lapis_patience::Patience;
//! # use std::time::Duration;
//! let (tell, told) = std::sync::mpsc::channel();
//! std::thread::spawn(move || tell.send("it is done").unwrap());
//! let mut patience = Patience::with_myself(Duration::from_secs(60));
//! assert_eq!(patience.receive(&told), Ok("it is done"));
//! assert!(!patience.is_over());
//! ```

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The least share of the clock that counts, however busy the machine: everything ends.
const LEAST: f64 = 0.05;
/// How often the threads are looked at.
const PERIOD: Duration = Duration::from_millis(500);
/// How often one who receives asks whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// The patience with a process and all that it has started.
#[derive(Debug)]
pub struct Patience {
    root: u32,
    limit: Duration,
    looked: Instant,
    /// Their own time since something last came of them.
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
    /// With this process: its threads, and the processes that they start.
    pub fn with_myself(limit: Duration) -> Self {
        Self::with(std::process::id(), limit)
    }

    /// With another process and all that it starts.
    pub fn with(root: u32, limit: Duration) -> Self {
        Self { root, limit, looked: Instant::now(), quiet: Duration::ZERO, threads: HashMap::new() }
    }

    /// Something has come of them: the time starts again.
    pub fn heard(&mut self) {
        self.quiet = Duration::ZERO;
    }

    /// Whether they hang. To be asked often; it costs a reading of the clock, and each half second
    /// one at the threads.
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

    /// What the next message says, which may take until the patience is over.
    ///
    /// # Errors
    /// It is over, or nobody is left who could send.
    pub fn receive<T>(&mut self, from: &Receiver<T>) -> Result<T, RecvTimeoutError> {
        loop {
            match from.recv_timeout(LOOK.min(self.limit)) {
                Ok(message) => {
                    self.heard();
                    return Ok(message);
                }
                Err(RecvTimeoutError::Timeout) if !self.is_over() => {}
                Err(e) => return Err(e),
            }
        }
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
    for process in family(root) {
        for thread in entries(&format!("/proc/{process}/task")) {
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

/// A process and all that it has started, directly and not, as far as they run.
pub fn family(root: u32) -> Vec<String> {
    let parent_of = |pid: String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|s| s.split_whitespace().nth(1)).map(str::to_owned);
        parent.map(|parent| (pid, parent))
    };
    let all: Vec<(String, String)> = entries("/proc").filter_map(parent_of).collect();
    let mut family = vec![root.to_string()];
    let mut at = 0;
    while let Some(parent) = family.get(at).cloned() {
        at += 1;
        family.extend(all.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| pid.clone()));
    }
    family
}

/// The numbered entries of a folder, as `/proc` has for processes and threads.
pub fn entries(dir: &str) -> impl Iterator<Item = String> + use<> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().into_string().ok()).filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
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
        let mut patience = Patience::with(child.id(), Duration::from_secs(2));
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            patience.heard();
            assert!(!patience.is_over());
            std::thread::sleep(Duration::from_millis(100));
        }
        while !patience.is_over() {
            assert!(start.elapsed() < Duration::from_secs(120), "nobody notices");
            std::thread::sleep(Duration::from_millis(100));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_receives_is_told_of_silence_and_of_an_end() {
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let mut patience = Patience::with_myself(Duration::ZERO);
        assert_eq!(patience.receive(&told), Err(RecvTimeoutError::Timeout));
        drop(tell);
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        assert_eq!(patience.receive(&told), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn a_family_has_the_children_of_children() {
        let mut shell = Command::new("sh").args(["-c", "sleep 100 & wait"]).spawn().unwrap();
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        let family = loop {
            let family = family(shell.id());
            if family.len() == 2 {
                break family;
            }
            assert!(!patience.is_over(), "{family:?}");
        };
        for process in family.iter().rev() {
            Command::new("kill").args(["-9", process]).status().unwrap();
        }
        shell.wait().unwrap();
    }
}
