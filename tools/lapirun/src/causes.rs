//! Which of several failures came first. Its task gives the job's exit code, and its line is the
//! one that is printed.
//!
//! A task that dies takes others with it: they notice that it is gone, report it, abort the job or
//! exit. Their reports may reach the launcher before the kernel reports the death. The order of the
//! ends of the tasks' connections to the store tells which was first, since nobody can notice a
//! death before that. So a report waits a moment for the deaths of tasks whose connections ended
//! earlier.

use std::time::{Duration, Instant};

use crate::spawn::Outcome;

/// How long a complaint waits for the report of a task whose connection had ended before it.
const REPORT: Duration = Duration::from_secs(1);
/// How long an abort waits where nobody's connection had ended: a dying task's sockets close one
/// after the other.
const SETTLE: Duration = Duration::from_millis(50);

/// A task's wish that the job end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Abort {
    pub(crate) task: u32,
    pub(crate) code: i32,
    pub(crate) message: String,
}

/// What ended the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    Failed(u32, Outcome),
    Aborted(Abort),
}

/// What has gone wrong and is not judged yet.
#[derive(Default)]
pub(crate) struct Causes {
    /// Tasks whose connection ended before they finalised, in that order.
    lost: Vec<u32>,
    /// Tasks that failed, as their ends were reported.
    failed: Vec<(u32, Outcome)>,
    /// The first abort, and how many of `lost` were gone when it came.
    abort: Option<(Abort, usize)>,
    /// When the first of these was heard of.
    since: Option<Instant>,
}

impl Causes {
    pub(crate) fn connected(&mut self, task: u32) {
        self.lost.retain(|t| *t != task);
    }

    pub(crate) fn lost(&mut self, task: u32) {
        if !self.lost.contains(&task) {
            self.lost.push(task);
        }
    }

    pub(crate) fn aborted(&mut self, abort: Abort, now: Instant) {
        self.since.get_or_insert(now);
        self.abort.get_or_insert((abort, self.lost.len()));
    }

    pub(crate) fn failed(&mut self, task: u32, outcome: Outcome, now: Instant) {
        self.since.get_or_insert(now);
        self.failed.push((task, outcome));
    }

    /// When [`judge`](Self::judge) is to be called though nothing has happened.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        let since = self.since?;
        let settled = self.abort.is_none() || now >= since + SETTLE;
        Some(since + if settled { REPORT } else { SETTLE })
    }

    /// The first cause, once it is known; `runs` says whether a task's end has not been reported.
    pub(crate) fn judge(&mut self, now: Instant, runs: impl Fn(u32) -> bool) -> Option<Cause> {
        let since = self.since?;
        let aborter = self.abort.as_ref().map(|(abort, _)| abort.task);
        let waits = now < since + REPORT && self.lost.iter().any(|t| runs(*t) && Some(*t) != aborter)
            || self.abort.is_some() && now < since + SETTLE;
        if waits && !self.failed.iter().any(|(t, outcome)| killed(outcome) && Some(*t) != aborter) {
            return None;
        }
        let place = |task: u32| self.lost.iter().position(|t| *t == task).unwrap_or(usize::MAX);
        let first = self
            .failed
            .iter()
            .filter(|(task, outcome)| match &self.abort {
                None => true,
                Some((abort, gone)) => *task != abort.task && (killed(outcome) || place(*task) < *gone),
            })
            .min_by_key(|(task, outcome)| {
                (!killed(outcome), place(*task), matches!(outcome, Outcome::Exited(_)))
            })
            .copied();
        let abort = self.abort.take();
        self.since = None;
        self.failed.clear();
        match (first, abort) {
            (Some((task, outcome)), _) => Some(Cause::Failed(task, outcome)),
            (None, Some((abort, _))) => Some(Cause::Aborted(abort)),
            (None, None) => None,
        }
    }
}

/// Whether a task was killed; `sh -c` and the like report that as an exit code.
fn killed(outcome: &Outcome) -> bool {
    let signal = match outcome {
        Outcome::Killed { signal, .. } => *signal,
        Outcome::Exited(code) => code - 128,
    };
    // SIGABRT, which a task sends itself, may be its answer to what others have done.
    [libc::SIGKILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGXCPU, libc::SIGSYS]
        .contains(&signal)
        || matches!(outcome, Outcome::Killed { .. }) && signal != libc::SIGABRT
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: Outcome = Outcome::Killed { signal: libc::SIGKILL, dumped: false };
    const ABORTED: Outcome = Outcome::Killed { signal: libc::SIGABRT, dumped: false };

    fn abort(task: u32) -> Abort {
        Abort { task, code: 1, message: "task 2 does not answer".into() }
    }

    #[test]
    fn an_abort_waits_for_the_report_of_a_task_that_was_gone_before() {
        let now = Instant::now();
        let mut causes = Causes::default();
        causes.lost(2);
        causes.aborted(abort(0), now);
        assert_eq!(causes.judge(now + SETTLE, |_| true), None);
        causes.failed(2, Outcome::Exited(7), now);
        assert_eq!(causes.judge(now + SETTLE, |t| t != 2), Some(Cause::Failed(2, Outcome::Exited(7))));
        assert_eq!(causes.due(now), None);
    }

    #[test]
    fn an_abort_stands_when_those_who_left_before_did_so_in_order_or_are_not_reported() {
        let now = Instant::now();
        let mut causes = Causes::default();
        causes.lost(2);
        causes.aborted(abort(0), now);
        assert_eq!(causes.judge(now + SETTLE, |t| t != 2), Some(Cause::Aborted(abort(0))));
        causes.aborted(abort(1), now);
        assert_eq!(causes.judge(now + REPORT, |_| true), Some(Cause::Aborted(abort(1))));
    }

    #[test]
    fn what_follows_an_abort_is_not_its_cause() {
        let now = Instant::now();
        let mut causes = Causes::default();
        causes.aborted(abort(0), now);
        causes.lost(1);
        for (task, outcome) in [(0, KILLED), (1, Outcome::Exited(9)), (3, ABORTED)] {
            causes.failed(task, outcome, now);
        }
        assert_eq!(causes.judge(now + REPORT, |_| false), Some(Cause::Aborted(abort(0))));
    }

    #[test]
    fn a_killed_task_is_the_cause_whatever_was_reported_first() {
        let now = Instant::now();
        let mut causes = Causes::default();
        causes.aborted(abort(0), now);
        causes.failed(0, Outcome::Exited(1), now);
        causes.failed(3, KILLED, now);
        assert_eq!(causes.judge(now, |_| true), Some(Cause::Failed(3, KILLED)));
        // A shell in between.
        causes.aborted(abort(0), now);
        causes.lost(4);
        assert_eq!(causes.judge(now + SETTLE, |t| t == 4), None);
        causes.failed(4, Outcome::Exited(137), now);
        assert_eq!(causes.judge(now, |_| true), Some(Cause::Failed(4, Outcome::Exited(137))));
    }

    #[test]
    fn of_several_exits_the_one_whose_connection_ended_first_counts() {
        let now = Instant::now();
        let mut causes = Causes::default();
        causes.lost(5);
        causes.lost(1);
        causes.failed(1, ABORTED, now);
        assert_eq!(causes.judge(now, |t| t == 5), None);
        causes.failed(5, Outcome::Exited(77), now);
        assert_eq!(causes.judge(now, |_| false), Some(Cause::Failed(5, Outcome::Exited(77))));
    }
}
