//! Failures of tasks and their consequences: the job ends, a task is restarted, or the others
//! continue.

use std::time::{Duration, Instant};

use super::{Again, Born, Running};
use crate::causes::{Abort, Cause};
use crate::remote::Remote;
use crate::spawn::Outcome;

/// Exit code of a job that outlived `--timeout`, as timeout(1) has it.
pub(super) const TIMED_OUT: u8 = 124;
/// How long a killed task on another machine may take to be reported before its host is given up.
const LAST_WORD: Duration = Duration::from_secs(10);

impl Running<'_> {
    /// Ends the job for what went wrong first, once that is known.
    pub(super) fn judge(&mut self) {
        let now = if self.all_ended() { Instant::now() + Duration::from_secs(3600) } else { Instant::now() };
        let runs = |task| self.tasks.get(&task).is_some_and(|t| t.outcome.is_none());
        match self.causes.judge(now, runs) {
            Some(Cause::Failed(task, outcome)) => {
                let line = self.describe(task, outcome);
                self.give_up(outcome.exit_code(), &line);
            }
            Some(Cause::Aborted(Abort { task, code, message })) => {
                // A code of 0 would hide the abort from whoever started the job.
                let ends_with = self.failed.unwrap_or((code as u8).max(1));
                let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                self.give_up(ends_with, &format!("task {task} aborted the job with code {code}: {message}"));
            }
            None => {}
        }
    }

    /// A failed task, and what becomes of the others.
    fn describe(&self, task: u32, outcome: Outcome) -> String {
        let others = self.tasks.values().filter(|t| t.outcome.is_none()).count();
        let rest = match others {
            n if n > 0 && self.spec.keep_going => "; the others go on".to_owned(),
            0 => String::new(),
            1 => "; ending the other task".to_owned(),
            n => format!("; ending the other {n} tasks"),
        };
        let shown = self.tasks.get(&task).map_or("", |t| t.shown.as_str());
        format!("task {task} ({shown}) {outcome}{rest}")
    }

    /// Restarts the tasks that are due.
    pub(super) fn start_anew(&mut self, again: &Again<'_>) {
        for (number, outcome) in std::mem::take(&mut self.reborn) {
            if self.verdict.is_some() || self.interrupts > 0 {
                // The job has begun to end since: its end is for good.
                self.record(&[(number, outcome)]);
                continue;
            }
            let Some(task) = self.tasks.get_mut(&number) else { continue };
            if let Some(former) = &mut task.local {
                // With all that it has started and left running.
                former.finish();
            }
            // What else has its connection to the store must not keep the successor out.
            self.server.task_restarts(number);
            match again(number, task.before + 1) {
                Ok(Born::Here(local)) => self.add_local(number, local),
                Ok(Born::There(remote)) => self.add_remote(remote),
                Err(fault) => {
                    task.outcome = Some(Outcome::Exited(fault.exit_code().into()));
                    self.server.task_exited(number, "cannot be restarted");
                    self.give_up(fault.exit_code(), &format!("task {number} cannot be restarted: {fault}"));
                }
            }
        }
    }

    /// Whether a task that failed is to be restarted; if so, notes it.
    fn is_reborn(&mut self, number: u32, outcome: Outcome) -> bool {
        if !outcome.failed() || self.restarts == 0 || self.verdict.is_some() || self.interrupts > 0 {
            return false;
        }
        self.restarts -= 1;
        self.reborn.push((number, outcome));
        // The input has gone by.
        self.feeding.gone(number);
        let shown = self.tasks.get(&number).map_or("", |t| t.shown.as_str());
        let left = self.restarts;
        self.say(&format!("task {number} ({shown}) {outcome}; starting it anew ({left} more times)"));
        true
    }

    /// Notes the ends of tasks; the first bad one ends the job, unless it is restarted or the
    /// others are to go on.
    pub(super) fn record(&mut self, ended: &[(u32, Outcome)]) {
        let for_good: Vec<_> = ended.iter().copied().filter(|(n, o)| !self.is_reborn(*n, *o)).collect();
        let ended = &for_good[..];
        for (number, outcome) in ended {
            if let Some(task) = self.tasks.get_mut(number) {
                task.outcome = Some(*outcome);
            }
            self.server.task_exited(*number, &outcome.to_string());
            self.feeding.gone(*number);
        }
        for &(number, outcome) in ended.iter().filter(|(_, outcome)| outcome.failed()) {
            if self.verdict.is_some() {
                return;
            }
            if !self.spec.keep_going {
                self.causes.failed(number, outcome, Instant::now());
                continue;
            }
            self.say(&self.describe(number, outcome));
            self.failed.get_or_insert(outcome.exit_code());
        }
    }

    pub(super) fn check_time_limit(&mut self) {
        let now = Instant::now();
        if self.deadline.is_some_and(|at| now >= at) {
            self.deadline = None;
            let seconds = self.spec.timeout.unwrap_or_default().as_secs_f64();
            let left: Vec<String> =
                self.tasks.iter().filter(|(_, t)| t.outcome.is_none()).map(|(n, _)| n.to_string()).collect();
            let shown = left.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            let more = if left.len() > 8 { format!(" and {} more", left.len() - 8) } else { String::new() };
            self.give_up(
                TIMED_OUT,
                &format!("the job did not end in {seconds} s; still running: task {shown}{more}"),
            );
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            // Again after a while: a task may have been between fork and exec of a child.
            self.kill_at = Some(now + Duration::from_secs(1));
            self.leave_at.get_or_insert(now + LAST_WORD);
            self.send(libc::SIGKILL);
        }
        if self.leave_at.is_some_and(|at| now >= at) {
            self.leave_at = None;
            let silent = std::mem::take(&mut self.remotes);
            for remote in &silent {
                let (host, tasks) = (&remote.host, remote.left());
                self.say(&format!("host {host} does not answer; leaving {} tasks to it", tasks.len()));
                let outcome = Outcome::Killed { signal: libc::SIGKILL, dumped: false };
                self.record(&tasks.iter().map(|&t| (t, outcome)).collect::<Vec<_>>());
            }
            Remote::finish_all(silent);
        }
    }

    /// The job has failed: says why, once, and ends the tasks that still run.
    pub(super) fn give_up(&mut self, code: u8, why: &str) {
        if self.verdict.is_some() {
            return;
        }
        self.verdict = Some(code);
        self.say(why);
        self.send(libc::SIGTERM);
        // A stopped task could not react.
        self.send(libc::SIGCONT);
        self.kill_at.get_or_insert(Instant::now() + self.spec.grace);
    }
}
