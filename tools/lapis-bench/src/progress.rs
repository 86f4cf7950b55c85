//! Progress of long runs, on standard error: a line that rewrites itself on a terminal, a line now
//! and then elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// How often a terminal is written to at most.
const PAUSE: Duration = Duration::from_millis(100);

/// How often anything else (a launcher's pipe, a log) is written to at most: short runs stay
/// silent.
const LONG_PAUSE: Duration = Duration::from_secs(10);

/// Counts steps and shows how many are left.
pub struct Progress {
    total: usize,
    done: usize,
    start: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

impl Progress {
    /// Expects so many steps.
    pub fn new(total: usize) -> Self {
        Self { total, done: 0, start: Instant::now(), shown: None, terminal: stderr().is_terminal() }
    }

    /// Says what begins now.
    pub fn begin(&mut self, what: &str) {
        let quiet = match (self.terminal, self.shown) {
            (true, None) => false,
            (true, Some(shown)) => shown.elapsed() < PAUSE,
            (false, shown) => shown.unwrap_or(self.start).elapsed() < LONG_PAUSE,
        };
        if quiet {
            return;
        }
        self.shown = Some(Instant::now());
        let line = line(self.done, self.total, self.start.elapsed(), what);
        // Progress is a courtesy: a closed terminal must not end the run.
        let _ = match self.terminal {
            true => write!(stderr(), "\r\x1b[K{line}"),
            false => writeln!(stderr(), "{line}"),
        };
    }

    /// Takes the line away, so that something else can be printed.
    pub fn clear(&mut self) {
        if self.terminal && self.shown.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    /// A step is over.
    pub fn step(&mut self) {
        self.done += 1;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(done: usize, total: usize, elapsed: Duration, what: &str) -> String {
    let left = match done {
        0 => String::new(),
        _ => {
            format!(", {:.0} s left", elapsed.as_secs_f64() / done as f64 * total.saturating_sub(done) as f64)
        }
    };
    format!("[{done}/{total}{left}] {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_estimated_from_what_was_done() {
        assert_eq!(line(0, 4, Duration::from_secs(1), "am_lat"), "[0/4] am_lat");
        assert_eq!(line(1, 4, Duration::from_secs(2), "am_lat"), "[1/4, 6 s left] am_lat");
    }
}
