//! What one task was seen to do: read from outside, and sent by agents to the launcher.

use std::collections::BTreeMap;
use std::time::Duration;

use lapis_core::status::{self, Snapshot, Wait};
use serde::{Deserialize, Serialize};

use super::kernel::{self, Process};

/// Between two looks at a task: what goes on moves meanwhile.
const BETWEEN: Duration = Duration::from_millis(250);

/// Who runs the library has told within this time.
const FRESH_MS: u64 = 1000;

/// Threads that have waited so long for a processor between the looks may have had no time to tell
/// anything. Whoever has told nothing for `STARVED_MS` is stuck even so.
const STARVED: Duration = Duration::from_millis(50);
const STARVED_MS: u64 = 8000;

/// One task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) task: u32,
    /// The process that was started for it, or the one with its context.
    pub(crate) process: u32,
    /// As the kernel has it: R runs, S sleeps, T is stopped, Z has ended.
    pub(crate) state: char,
    /// Whether it has used a processor between the looks.
    pub(crate) ran: bool,
    /// Whether it would have used one, and got none: others had them.
    pub(crate) starved: bool,
    /// Where it sleeps in the kernel, if that is known.
    pub(crate) place: String,
    pub(crate) contexts: Vec<Seen>,
}

/// One context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) number: u32,
    /// Threads in calls that poll.
    pub(crate) polling: u32,
    /// It has told nothing for so long although it should have.
    pub(crate) stuck_ms: Option<u64>,
    /// It has run the library lately.
    pub(crate) fresh: bool,
    pub(crate) told_ms: u64,
    pub(crate) interrupts: bool,
    /// From whom something came last, and how long ago.
    pub(crate) heard: Option<(u32, u64)>,
    /// The same for messages alone.
    pub(crate) message: Option<(u32, u64)>,
    /// For whom there is no room, and for how long.
    pub(crate) room: Option<(u32, u64)>,
    /// Whose variable it tries to change, where, and how often it failed between the looks.
    pub(crate) swap: Option<(u32, u64, u64)>,
    pub(crate) waits: Vec<Waits>,
    /// Operations without an answer: how many, and whom the first ones are with.
    pub(crate) open: u64,
    pub(crate) opened: Vec<(u32, String)>,
    pub(crate) owing: Vec<u32>,
    pub(crate) down: Vec<u32>,
    /// Packets sent and received, altogether and between the looks.
    pub(crate) packets: [u64; 2],
    pub(crate) moved: [u64; 2],
    /// Rails on which a task does not acknowledge: name, which task, how often it was asked.
    pub(crate) rails: Vec<(String, u32, u64)>,
}

/// One wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waits {
    pub(crate) kind: String,
    pub(crate) ms: u64,
    pub(crate) peer: Option<u32>,
    /// Address, value, value waited for.
    pub(crate) counter: Option<(u64, i32, i32)>,
    /// The thread runs completion handlers.
    pub(crate) handler: bool,
}

/// Looks at the tasks of this machine, twice. `tasks`: by number, the process started for each.
pub(crate) fn examine(job: &str, tasks: &BTreeMap<u32, u32>) -> Vec<Report> {
    let first = look(job, tasks);
    std::thread::sleep(BETWEEN);
    let second = look(job, tasks);
    let report = |(task, leader): (&u32, &u32)| {
        let was = first.get(task).map_or(&[][..], Vec::as_slice);
        let is = second.get(task).map_or(&[][..], Vec::as_slice);
        report(*task, *leader, was, is)
    };
    tasks.iter().map(report).collect()
}

/// One process of a task, and what its contexts show.
type Look = (Process, Vec<Snapshot>);

/// The processes of each task. They are in the group of the one that was started.
fn look(job: &str, tasks: &BTreeMap<u32, u32>) -> BTreeMap<u32, Vec<Look>> {
    let leaders: BTreeMap<u32, u32> = tasks.iter().map(|(task, leader)| (*leader, *task)).collect();
    let mut found: BTreeMap<u32, Vec<Look>> = BTreeMap::new();
    for process in status::processes().into_iter().filter_map(Process::read) {
        let Some(task) = leaders.get(&process.group) else { continue };
        let mut contexts = status::of_process(process.number);
        // A task may run a job of its own.
        contexts.retain(|context| job.starts_with(&context.job) && context.task == *task);
        contexts.sort_by_key(|context| context.context);
        found.entry(*task).or_default().push((process, contexts));
    }
    found
}

fn report(task: u32, leader: u32, was: &[Look], is: &[Look]) -> Report {
    let with_context = is.iter().find(|(_, contexts)| !contexts.is_empty());
    let chosen = with_context.or_else(|| is.iter().find(|(process, _)| process.number == leader));
    let Some((process, contexts)) = chosen else {
        return Report { task, process: leader, state: 'Z', ..Report::default() };
    };
    let before = was.iter().find(|(former, _)| former.number == process.number);
    let ran = before.is_none_or(|(former, _)| former.used != process.used);
    let starved = before.is_some_and(|(former, _)| process.queued.saturating_sub(former.queued) >= STARVED);
    let seen = |now: &Snapshot| {
        let former = before.and_then(|(_, all)| all.iter().find(|c| c.context == now.context));
        Seen::of(process.number, former.unwrap_or(now), now, starved)
    };
    Report {
        task,
        process: process.number,
        state: process.state,
        ran,
        starved,
        place: kernel::place(process.number),
        contexts: contexts.iter().map(seen).collect(),
    }
}

impl Seen {
    fn of(process: u32, was: &Snapshot, now: &Snapshot, starved: bool) -> Self {
        let told_ms = millis(now.told);
        // Whoever polls or waits tells every tenth of a second, and so does the thread that serves
        // arrivals; later if others have the processors.
        let should = now.polling > 0 || now.interrupts;
        let silent = told_ms > if starved { STARVED_MS } else { FRESH_MS };
        let packets = [now.total().packets_sent, now.total().packets_received];
        let former = [was.total().packets_sent, was.total().packets_received];
        let failures = |seen: &Snapshot| seen.swap.map_or(0, |s| s.failed);
        // A context of the same number that was made since counts from 0.
        let failed = failures(now).saturating_sub(failures(was));
        Self {
            number: now.context,
            polling: now.polling,
            stuck_ms: (should && silent).then_some(told_ms),
            fresh: told_ms <= FRESH_MS,
            told_ms,
            interrupts: now.interrupts,
            heard: now.last_heard.map(|(peer, age)| (peer, millis(age))),
            message: now.last_message.map(|(peer, age)| (peer, millis(age))),
            room: now.room.filter(|r| r.seen < 2 * BETWEEN).map(|r| (r.peer, millis(r.age))),
            swap: now.swap.filter(|_| failed > 0).map(|s| (s.peer, s.address, failed)),
            waits: now.waits.iter().map(|wait| Waits::of(process, wait)).collect(),
            open: now.open,
            opened: now.opened.iter().map(|open| (open.peer, open.kind.name().to_owned())).collect(),
            owing: now.owing.clone(),
            down: now.down.clone(),
            packets,
            moved: [packets[0].wrapping_sub(former[0]), packets[1].wrapping_sub(former[1])],
            rails: now
                .rails
                .iter()
                .filter_map(|rail| {
                    Some((format!("{}/{}", rail.transport, rail.number), rail.suspect?, rail.timeouts))
                })
                .collect(),
        }
    }
}

impl Waits {
    fn of(process: u32, wait: &Wait) -> Self {
        Self {
            kind: wait.kind.name().to_owned(),
            ms: millis(wait.age),
            peer: wait.peer,
            counter: wait.counter,
            handler: kernel::thread_name(process, wait.thread) == "lapis-handler",
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
