//! Roll calls of the running job.

use std::collections::BTreeMap;

use super::Running;
use crate::remote::Remote;
use crate::rollcall::{self, Member, Report};
use crate::spawn::Local;

fn process(local: &Local) -> u32 {
    local.pid.as_raw_nonzero().get().cast_unsigned()
}

impl Running<'_> {
    /// Begins a roll call. `asked`: somebody wants to see it, whatever it finds.
    pub(super) fn begin_roll_call(&mut self, asked: bool) {
        let running = self.tasks.iter().filter(|(_, task)| task.outcome.is_none());
        let here =
            running.filter_map(|(number, task)| Some((*number, process(task.local.as_ref()?)))).collect();
        let agents = self.remotes.iter().map(Remote::machines_left).sum();
        if self.calls.begin(asked, &self.job, here, agents, &self.wake) {
            self.remotes.iter_mut().for_each(Remote::call_roll);
        }
    }

    /// Begins one whose time has come, and shows one that is finished.
    pub(super) fn call_roll(&mut self) {
        if self.calls.is_time() {
            self.begin_roll_call(false);
        }
        let Some((asked, mut reports)) = self.calls.finished() else { return };
        let mut members = BTreeMap::new();
        for (number, task) in &self.tasks {
            let process = task.local.as_ref().map_or(0, process);
            let unknown = || Report { task: *number, process, state: 'Z', ..Report::default() };
            let report = reports.remove(number).unwrap_or_else(unknown);
            let ended = task.outcome.map(|outcome| outcome.to_string());
            members.insert(*number, Member { report, ended });
        }
        if !asked && !self.calls.is_alarming(&members) {
            return;
        }
        let age = self.started.elapsed().as_secs_f64();
        self.say(&format!("roll call of {} tasks after {age:.1} s", members.len()));
        for line in rollcall::draw(&members) {
            self.say(&line);
        }
    }
}
