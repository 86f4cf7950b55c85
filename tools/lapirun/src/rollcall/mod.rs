//! The roll call: what each task of a running job does, and which tasks wait for which.
//!
//! Tasks are observed from outside, through their [status pages](lapis_core::status) and the
//! kernel, so that hanging tasks are included. Agents observe those of other machines. This takes a
//! quarter of a second and is done by a thread, so that the launcher continues meanwhile.

mod diagnosis;
mod kernel;
mod picture;
mod report;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

pub(crate) use picture::Member;
pub(crate) use report::Report;

/// How long the looks may take, those on other machines and the one here: on a machine with far
/// more to do than processors they can take a while.
const PATIENCE: Duration = Duration::from_secs(15);

/// A roll call that has begun.
pub(crate) struct Call {
    /// Whether anybody asked for it: then the picture is shown in any case.
    asked: bool,
    /// Agents that have not answered.
    missing: usize,
    until: Instant,
    reports: BTreeMap<u32, Report>,
}

/// Roll calls of a running job.
pub(crate) struct RollCalls {
    /// Every so often one is held by itself.
    every: Option<Duration>,
    next: Option<Instant>,
    present: Option<Call>,
    sender: mpsc::Sender<Vec<Report>>,
    reports: mpsc::Receiver<Vec<Report>>,
}

impl RollCalls {
    pub(crate) fn new(every: Option<Duration>) -> Self {
        let (sender, reports) = mpsc::channel();
        let next = every.map(|every| Instant::now() + every);
        Self { every, next, present: None, sender, reports }
    }

    /// When something is to be done though nothing has happened.
    pub(crate) fn due(&self) -> Option<Instant> {
        match &self.present {
            Some(call) => Some(call.until),
            None => self.next,
        }
    }

    /// Whether it is time for one that nobody asked for.
    pub(crate) fn is_time(&mut self) -> bool {
        let now = Instant::now();
        if self.present.is_some() || self.next.is_none_or(|next| now < next) {
            return false;
        }
        self.next = self.every.map(|every| now + every);
        true
    }

    /// Begins one: tasks of this machine are looked at by a thread, which rings the bell; `agents`
    /// have been asked. False: one is under way.
    pub(crate) fn begin(
        &mut self,
        asked: bool,
        job: &str,
        here: BTreeMap<u32, u32>,
        agents: usize,
        bell: &Arc<OwnedFd>,
    ) -> bool {
        if let Some(call) = &mut self.present {
            call.asked |= asked;
            return false;
        }
        let missing = agents + usize::from(!here.is_empty());
        self.present =
            Some(Call { asked, missing, until: Instant::now() + PATIENCE, reports: BTreeMap::new() });
        if !here.is_empty() {
            observe_in_thread(job, here, &self.sender, bell);
        }
        true
    }

    /// An agent has answered, or this machine's thread.
    pub(crate) fn answer(&mut self, reports: Vec<Report>) {
        if let Some(call) = &mut self.present {
            call.missing = call.missing.saturating_sub(1);
            call.reports.extend(reports.into_iter().map(|report| (report.task, report)));
        }
    }

    /// The reports, when all have answered or the time is over, and whether anybody asked.
    pub(crate) fn finished(&mut self) -> Option<(bool, BTreeMap<u32, Report>)> {
        while let Ok(reports) = self.reports.try_recv() {
            self.answer(reports);
        }
        let over = |call: &mut Call| call.missing == 0 || Instant::now() >= call.until;
        let call = self.present.take_if(over)?;
        Some((call.asked, call.reports))
    }

    /// Whether what was seen is worth showing to somebody who did not ask.
    pub(crate) fn is_alarming(&self, members: &BTreeMap<u32, Member>) -> bool {
        let longest = picture::longest(members).unwrap_or(0);
        self.every.is_some_and(|every| u128::from(longest) >= every.as_millis())
    }
}

/// The picture, line by line.
pub(crate) fn draw(members: &BTreeMap<u32, Member>) -> Vec<String> {
    picture::draw(members)
}

/// Looks at the tasks of this machine in a thread, which rings the bell when it has.
pub(crate) fn observe_in_thread(
    job: &str,
    tasks: BTreeMap<u32, u32>,
    to: &mpsc::Sender<Vec<Report>>,
    bell: &Arc<OwnedFd>,
) {
    let (job, to, bell) = (job.to_owned(), to.clone(), Arc::clone(bell));
    let look = move || {
        // Whoever has gone away does not want to know.
        let _ = to.send(report::examine(&job, &tasks));
        let _ = rustix::io::write(&*bell, &1u64.to_ne_bytes());
    };
    // Without the thread the roll call ends with its time, and says who did not answer.
    let _ = std::thread::Builder::new().name("lapirun-look".into()).spawn(look);
}
