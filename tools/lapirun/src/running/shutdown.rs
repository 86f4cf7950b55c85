//! The end of a job: kills what the tasks have started, and prints the remaining output.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::Running;
use super::failures::TIMED_OUT;
use crate::output::Sink;

/// How long an agent that has reported all its tasks may take to hand in their output.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

impl Running<'_> {
    /// Ends what still runs and hands on what is still to be read. A second call does nothing.
    pub(crate) fn part(&mut self) {
        for local in self.tasks.values_mut().filter_map(|t| t.local.as_mut()) {
            local.finish();
        }
        for stream in self.streams.drain(..) {
            stream.drain();
        }
        let start = Instant::now();
        while !self.remotes.is_empty() && start.elapsed() < LAST_OUTPUT && self.all_ended() {
            let mut fds: Vec<PollFd<'_>> =
                self.remotes.iter().map(|r| PollFd::new(r, PollFlags::IN)).collect();
            let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let _ = rustix::event::poll(&mut fds, Some(&timeout));
            drop(fds);
            for at in (0..self.remotes.len()).rev() {
                self.handle_agent(at);
            }
        }
        for remote in self.remotes.drain(..) {
            remote.finish();
        }
        self.sinks.values_mut().for_each(Sink::finish);
        self.sinks.clear();
        self.outlets.unpile(&self.pile);
        self.deliver();
        // The guard is sent away after this, by its own drop.
    }

    /// Waits until the output has been read, for as long as the user and `--timeout` allow.
    fn deliver(&mut self) {
        // Whoever has asked for the end, or set a time for it, does not want to wait for a reader
        // who has gone to sleep.
        let grace = self.ends_early().then(|| Instant::now() + self.spec.grace);
        while !self.outlets.idle() {
            let until = grace.or(self.deadline);
            let left = until.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return self.leave_output(TIMED_OUT);
            }
            let timeout = left.map(|left| {
                let millis = left.as_millis() as i64 + 1;
                Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 }
            });
            let mut fds = [
                PollFd::new(&self.signals, PollFlags::IN),
                PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN),
            ];
            let _ = rustix::event::poll(&mut fds, timeout.as_ref());
            let mut counter = [0u8; 8];
            let _ = rustix::io::read(&*self.wake, &mut counter);
            let ends = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
            if let Some(signal) = self.signals.read().into_iter().find(|s| ends.contains(s)) {
                return self.leave_output((128 + signal) as u8);
            }
        }
    }

    fn ends_early(&self) -> bool {
        self.verdict == Some(TIMED_OUT) || self.interrupts > 0
    }

    /// Gives up output that nobody reads.
    fn leave_output(&mut self, code: u8) {
        self.verdict.get_or_insert(code);
        self.outlets.close();
    }
}
