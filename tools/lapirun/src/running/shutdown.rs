//! The end of a job: kills what the tasks have started, and prints the remaining output.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::Running;
use super::failures::TIMED_OUT;
use crate::output::Sink;
use crate::remote::Remote;

/// How long agents that have reported all their tasks may be silent before their output is given
/// up. What comes slowly is waited for.
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
        self.heard = start;
        while !self.remotes.is_empty() && self.all_ended() && self.expects_output(start) {
            let mut fds: Vec<PollFd<'_>> =
                self.remotes.iter().map(|r| PollFd::new(r, PollFlags::IN)).collect();
            fds.push(PollFd::new(&self.signals, PollFlags::IN));
            let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let _ = rustix::event::poll(&mut fds, Some(&timeout));
            drop(fds);
            for at in (0..self.remotes.len()).rev() {
                self.handle_agent(at);
            }
        }
        Remote::finish_all(std::mem::take(&mut self.remotes));
        self.sinks.values_mut().for_each(Sink::finish);
        self.sinks.clear();
        self.outlets.unpile(&self.pile);
        self.deliver();
        // The guard is sent away after this, by its own drop.
    }

    /// Whether agents that have reported all their tasks may still hand in output, since `start`.
    /// Notes why not.
    fn expects_output(&mut self, start: Instant) -> bool {
        let now = Instant::now();
        let since = if self.ends_early() { start } else { self.heard };
        let code = if let Some(signal) = self.asked_to_end() {
            self.interrupts += 1;
            (128 + signal) as u8
        } else if self.deadline.is_some_and(|at| now >= at) {
            TIMED_OUT
        } else if now < since + LAST_OUTPUT {
            return true;
        } else {
            let hosts: Vec<&str> = self.remotes.iter().map(|remote| &*remote.host).collect();
            self.say(&format!("giving up the last output of the tasks on {}", hosts.join(", ")));
            return false;
        };
        self.verdict.get_or_insert(code);
        false
    }

    /// A signal with which the user has asked for the end.
    fn asked_to_end(&self) -> Option<i32> {
        let ends = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
        self.signals.read().into_iter().find(|signal| ends.contains(signal))
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
            if let Some(signal) = self.asked_to_end() {
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
