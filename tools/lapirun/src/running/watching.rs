//! Showing the progress of a long start.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use super::Running;

/// A start that takes longer is told of, so often.
const START: Duration = Duration::from_secs(1);

/// How far the start is.
pub(super) struct Progress {
    began: Instant,
    next: Instant,
    /// Nobody wants to know, or all have joined.
    over: bool,
    started: u32,
    joined: Vec<bool>,
    told: (u32, usize),
}

impl Progress {
    pub(super) fn new(tasks: u32) -> Self {
        let began = Instant::now();
        let over = !std::io::stderr().is_terminal();
        let joined = vec![false; tasks as usize];
        Self { began, next: began + START, over, started: 0, joined, told: (0, 0) }
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

    /// When to look for the next line, whatever else happens.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.over).then_some(self.next)
    }

    /// A line for the user, if it is time for one and something has changed. Tasks that all run and
    /// of which none has joined may be of a program that never does.
    fn line(&mut self, now: Instant) -> Option<String> {
        if self.over || now < self.next {
            return None;
        }
        self.next = now + START;
        let joined = self.joined.iter().filter(|joined| **joined).count();
        let told = (self.started, joined);
        if joined == 0 && self.started as usize >= self.joined.len() {
            return None;
        }
        if std::mem::replace(&mut self.told, told) == told {
            return None;
        }
        let (tasks, seconds) = (self.joined.len(), now.duration_since(self.began).as_secs());
        Some(format!("starting: {} of {tasks} tasks run, {joined} have joined ({seconds} s)", self.started))
    }
}

impl Running<'_> {
    /// Tells how far the start is, if it takes long and somebody looks.
    pub(crate) fn show_progress(&mut self) {
        if let Some(line) = self.progress.line(Instant::now()) {
            self.say(&line);
        }
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
        assert_eq!(progress.due(), Some(began + Duration::from_secs(7)));
        (0..3).for_each(|task| progress.joined(task));
        assert_eq!(progress.line(began + Duration::from_secs(9)), None);
        assert_eq!(progress.due(), None);
    }

    #[test]
    fn a_program_that_never_joins_is_not_told_of_once_it_runs() {
        let mut progress = Progress::new(2);
        progress.over = false;
        (0..2).for_each(|_| progress.started());
        assert_eq!(progress.line(progress.began + Duration::from_secs(2)), None);
    }
}
