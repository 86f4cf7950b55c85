//! What the user is told while the job starts and runs: progress of a long start, agents that fall
//! silent.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use super::Running;

/// A start that takes longer is told of, so often.
const START: Duration = Duration::from_secs(1);
/// Silence of an agent after which the user hears of it, and after which it is given up.
const SUSPICIOUS: Duration = Duration::from_secs(1);
const HOPELESS: Duration = Duration::from_secs(30);

/// How far the start is.
pub(super) struct Progress {
    began: Instant,
    next: Instant,
    /// Nobody wants to know, or all have joined.
    over: bool,
    started: u32,
    joined: Vec<bool>,
    told: (u32, usize),
    /// When agents' silence was measured last.
    listened: Instant,
}

impl Progress {
    pub(super) fn new(tasks: u32) -> Self {
        let began = Instant::now();
        let over = !std::io::stderr().is_terminal();
        let joined = vec![false; tasks as usize];
        Self { began, next: began + START, over, started: 0, joined, told: (0, 0), listened: began }
    }

    /// A task runs.
    pub(super) fn started(&mut self) {
        self.started += 1;
    }

    /// A task has joined the job.
    pub(super) fn joined(&mut self, task: u32) {
        if let Some(joined) = self.joined.get_mut(task as usize) {
            *joined = true;
        }
        self.over |= self.joined.iter().all(|joined| *joined);
    }

    /// A line for the user, if it is time for one and something has changed.
    fn line(&mut self, now: Instant) -> Option<String> {
        if self.over || now < self.next {
            return None;
        }
        self.next = now + START;
        let joined = self.joined.iter().filter(|joined| **joined).count();
        let told = (self.started, joined);
        if std::mem::replace(&mut self.told, told) == told {
            return None;
        }
        let (tasks, seconds) = (self.joined.len(), now.duration_since(self.began).as_secs());
        Some(format!("starting: {} of {tasks} tasks run, {joined} have joined ({seconds} s)", self.started))
    }
}

impl Running<'_> {
    /// Tells how far the start is, if it takes long and somebody looks.
    pub(crate) fn tell_progress(&mut self) {
        if let Some(line) = self.progress.line(Instant::now()) {
            self.say(&line);
        }
    }

    /// When agents are to be looked at again.
    pub(super) fn next_beat(&self) -> Option<Instant> {
        (!self.remotes.is_empty()).then(|| self.progress.listened + SUSPICIOUS / 2)
    }

    /// Notices agents that give no sign of life. `listening`: they could have been heard.
    pub(super) fn mind_agents(&mut self, listening: bool) {
        // A launcher that did not run itself, for however long, has not listened.
        let passed = self.progress.listened.elapsed().min(SUSPICIOUS / 2);
        self.progress.listened = Instant::now();
        let mut lines = Vec::new();
        for remote in self.remotes.iter_mut().filter(|remote| remote.beats()) {
            let host = &remote.host;
            if remote.silence.is_zero() && std::mem::take(&mut remote.suspected) {
                lines.push(format!("host {host}: its agent answers again"));
            }
            if listening {
                remote.silence += passed;
            }
            if remote.silence >= HOPELESS {
                remote.cut();
            } else if remote.silence >= SUSPICIOUS && !std::mem::replace(&mut remote.suspected, true) {
                lines.push(format!("host {host}: its agent has given no sign of life for a second"));
            }
        }
        lines.iter().for_each(|line| self.say(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_start_is_told_when_something_changes() {
        let mut progress = Progress::new(3);
        progress.over = false;
        let began = progress.began;
        progress.started();
        assert_eq!(progress.line(began), None);
        let line = progress.line(began + Duration::from_secs(2)).unwrap();
        assert_eq!(line, "starting: 1 of 3 tasks run, 0 have joined (2 s)");
        assert_eq!(progress.line(began + Duration::from_secs(4)), None);
        progress.joined(1);
        progress.joined(1);
        let line = progress.line(began + Duration::from_secs(6)).unwrap();
        assert_eq!(line, "starting: 1 of 3 tasks run, 1 have joined (6 s)");
        (0..3).for_each(|task| progress.joined(task));
        assert_eq!(progress.line(began + Duration::from_secs(9)), None);
    }
}
