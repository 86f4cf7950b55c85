//! The server's state: spaces of keys, collective rounds, present and departed tasks. No sockets,
//! no clock: connections are numbers, time is an argument, answers are collected for the caller to
//! send.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::packed::Packed;
use super::protocol::{Failure, MAX_FRAME, Message};

/// How long the successor of a task that is restarted may take to come, on whatever machine. If it
/// ends before, that is said.
const SUCCESSOR: Duration = Duration::from_secs(60);

/// A connection, as the server numbers them.
pub(crate) type ConnId = u64;
/// Context number and how many times it was opened before.
pub(crate) type SpaceId = (u32, u32);

/// Most bytes of keys and values that a job may store at one time.
const MAX_STORED: usize = 256 << 20;
/// Names shown in a list of missing tasks.
const NAMES_SHOWN: usize = 8;

/// A member of one space, as a connection sees itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) space: SpaceId,
    pub(crate) task: u32,
    /// Collective operations that were over when it came, if it came after an earlier process of
    /// the same task.
    pub(crate) rounds: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Presence {
    Absent,
    Here {
        pid: u32,
    },
    /// The connection broke. How the task ended may become known a moment later.
    Broken {
        pid: u32,
        since: Instant,
    },
    Finalised {
        pid: u32,
    },
}

#[derive(Debug)]
struct Waiter {
    conn: ConnId,
    id: u32,
    task: u32,
    deadline: Instant,
}

#[derive(Debug)]
struct Get {
    waiter: Waiter,
    key: String,
}

/// One collective operation: `key` is absent for a fence.
#[derive(Debug)]
struct Round {
    key: Option<String>,
    opened_by: u32,
    values: BTreeMap<u32, Vec<u8>>,
    waiters: Vec<Waiter>,
    failed: Option<Failure>,
}

#[derive(Debug)]
struct Space {
    members: Vec<Presence>,
    keys: HashMap<String, Vec<u8>>,
    gets: Vec<Get>,
    rounds: BTreeMap<u32, Round>,
    /// Rounds that are over.
    completed: u32,
}

/// All spaces of a job.
pub(crate) struct Store {
    tasks: u32,
    /// How long a broken connection may wait for the news of how its task ended.
    linger: Duration,
    spaces: HashMap<SpaceId, Space>,
    opened: HashMap<(u32, u32), u32>,
    /// Tasks whose process has ended, and how.
    exited: HashMap<u32, String>,
    aborted: Option<Failure>,
    stored: usize,
    answers: Vec<(ConnId, Message)>,
}

impl Store {
    pub(crate) fn new(tasks: u32, linger: Duration) -> Self {
        Self {
            tasks,
            linger,
            spaces: HashMap::new(),
            opened: HashMap::new(),
            exited: HashMap::new(),
            aborted: None,
            stored: 0,
            answers: Vec::new(),
        }
    }

    /// The answers since the last call.
    pub(crate) fn take_answers(&mut self) -> Vec<(ConnId, Message)> {
        std::mem::take(&mut self.answers)
    }

    /// A task opens a context; refuses with a reason.
    pub(crate) fn open(&mut self, task: u32, context: u32, pid: u32) -> Result<Member, String> {
        if let Some(how) = self.exited.get(&task) {
            return Err(format!("task {task} of this job {how} before"));
        }
        let count = self.opened.get(&(task, context)).copied().unwrap_or(0);
        if let Some(member) = self.reopen(task, context, count, pid)? {
            return Ok(member);
        }
        if let Some(before) = count.checked_sub(1).and_then(|g| self.spaces.get(&(context, g)))
            && let Presence::Here { pid: other } = before.members[task as usize]
        {
            return Err(format!(
                "task {task} has context {context} open already, in process {other} (this is process {pid}): \
                 every task needs its own number, and a context is finalised before it is opened again"
            ));
        }
        self.opened.insert((task, context), count + 1);
        let id = (context, count);
        let space = self.spaces.entry(id).or_insert_with(|| Space {
            members: vec![Presence::Absent; self.tasks as usize],
            keys: HashMap::new(),
            gets: Vec::new(),
            rounds: BTreeMap::new(),
            completed: 0,
        });
        space.members[task as usize] = Presence::Here { pid };
        Ok(Member { space: id, task, rounds: 0 })
    }

    /// Lets a task that was restarted into the space that its former process was in, if others
    /// still are.
    fn reopen(&mut self, task: u32, context: u32, count: u32, pid: u32) -> Result<Option<Member>, String> {
        let Some(generation) = count.checked_sub(1) else { return Ok(None) };
        let id = (context, generation);
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(None) };
        let others = space.members.iter().any(|p| matches!(p, Presence::Here { .. }));
        let Presence::Broken { pid: former, .. } = space.members[task as usize] else { return Ok(None) };
        if !others {
            return Ok(None);
        }
        if space.completed == 0 || !space.rounds.is_empty() {
            return Err(format!(
                "task {task} (process {former}) ended before all tasks had initialised context {context}: a task can be \
                 restarted only after that; start the whole job again"
            ));
        }
        space.members[task as usize] = Presence::Here { pid };
        Ok(Some(Member { space: id, task, rounds: space.completed }))
    }

    /// A member asks for something.
    pub(crate) fn request(&mut self, conn: ConnId, member: Member, request: Message, now: Instant) {
        let task = member.task;
        let Some(space) = self.spaces.get_mut(&member.space) else {
            return;
        };
        let deadline = |ms: u32| now + Duration::from_millis(u64::from(ms));
        match request {
            Message::Put { id, key, value } => {
                let answer = if self.stored + key.len() + value.len() > MAX_STORED {
                    let detail = format!("the store holds {} bytes, the limit is {MAX_STORED}", self.stored);
                    Message::Failed { id, failure: Failure::Limit { detail } }
                } else {
                    self.stored += key.len() + value.len();
                    if let Some(old) = space.keys.insert(key.clone(), value) {
                        self.stored -= key.len() + old.len();
                    }
                    Message::Done { id }
                };
                self.answers.push((conn, answer));
            }
            Message::Get { id, timeout_ms, key } => {
                // A client asks one thing at a time: an older question of its own was given up.
                space.gets.retain(|get| get.waiter.conn != conn);
                let waiter = Waiter { conn, id, task, deadline: deadline(timeout_ms) };
                space.gets.push(Get { waiter, key });
            }
            Message::Fence { id, timeout_ms, epoch } => {
                let waiter = Waiter { conn, id, task, deadline: deadline(timeout_ms) };
                self.answers.extend(space.arrive(waiter, epoch, None, Vec::new()));
            }
            Message::Exchange { id, timeout_ms, epoch, key, value } => {
                let waiter = Waiter { conn, id, task, deadline: deadline(timeout_ms) };
                self.answers.extend(space.arrive(waiter, epoch, Some(key), value));
            }
            Message::Abort { id, code, message } => {
                self.aborted.get_or_insert(Failure::Aborted { task, code, message });
                self.answers.push((conn, Message::Done { id }));
            }
            Message::Finalize { id } => {
                if let Presence::Here { pid } = space.members[task as usize] {
                    space.members[task as usize] = Presence::Finalised { pid };
                }
                self.answers.push((conn, Message::Done { id }));
            }
            // Greetings and answers: the server has refused them before they come here.
            _ => {}
        }
        self.settle(now);
    }

    /// A member's connection has ended.
    pub(crate) fn disconnect(&mut self, conn: ConnId, member: Member, now: Instant) {
        if let Some(space) = self.spaces.get_mut(&member.space) {
            space.gets.retain(|get| get.waiter.conn != conn);
            for round in space.rounds.values_mut() {
                round.waiters.retain(|waiter| waiter.conn != conn);
            }
            if let Presence::Here { pid } = space.members[member.task as usize] {
                space.members[member.task as usize] = Presence::Broken { pid, since: now };
            }
        }
        self.settle(now);
        let over = |p: &Presence| matches!(p, Presence::Broken { .. } | Presence::Finalised { .. });
        if let Some(space) = self.spaces.get(&member.space)
            && space.members.iter().all(over)
            && let Some(space) = self.spaces.remove(&member.space)
        {
            self.stored -= space.keys.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
        }
    }

    /// Another process is about to take a task's place: until it has, nobody takes it for lost.
    pub(crate) fn restarts(&mut self, task: u32, now: Instant) {
        for space in self.spaces.values_mut() {
            if let Presence::Broken { since, .. } = &mut space.members[task as usize] {
                *since = now + SUCCESSOR;
            }
        }
    }

    /// Whether a task has finalised a context.
    pub(crate) fn has_left(&self, space: SpaceId, task: u32) -> bool {
        let members = self.spaces.get(&space).map_or(&[][..], |space| &space.members);
        matches!(members.get(task as usize), Some(Presence::Finalised { .. }))
    }

    /// A task's process has ended; `how` completes the sentence "task 3 …".
    pub(crate) fn exited(&mut self, task: u32, how: String, now: Instant) {
        self.exited.entry(task).or_insert(how);
        self.settle(now);
    }

    /// When [`Store::settle`] should be called next even if nothing happens.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        let mut consider = |at: Instant| next = Some(next.map_or(at, |n| n.min(at)));
        for space in self.spaces.values() {
            let rounds = space.rounds.values().flat_map(|r| &r.waiters);
            let mut waiting = false;
            for waiter in space.gets.iter().map(|g| &g.waiter).chain(rounds) {
                consider(waiter.deadline);
                waiting = true;
            }
            if waiting {
                for member in &space.members {
                    if let Presence::Broken { since, .. } = member {
                        consider(*since + self.linger);
                    }
                }
            }
        }
        next
    }

    /// Answers everything that can be answered now: values that came, rounds that are full or can
    /// never be.
    pub(crate) fn settle(&mut self, now: Instant) {
        let linger = self.linger;
        // Who is lost matters to those who wait: nobody looks for them where nobody does.
        for (id, space) in self.spaces.iter_mut().filter(|(_, space)| space.is_awaited()) {
            let gone = |task: u32, presence: &Presence| -> Option<String> {
                let exit = self.exited.get(&task);
                let pid = match presence {
                    Presence::Absent => return exit.map(|how| format!("{how} without initialising Lapis")),
                    Presence::Here { .. } => return None,
                    Presence::Finalised { .. } => return Some(format!("finalised context {}", id.0)),
                    Presence::Broken { pid, .. } => pid,
                };
                if let Some(how) = exit {
                    return Some(format!("(process {pid}) {how} without finalising"));
                }
                let Presence::Broken { since, .. } = presence else { return None };
                (now >= *since + linger)
                    .then(|| format!("(process {pid}) ended or closed its connection without finalising"))
            };
            let lost: Vec<(u32, String)> = (0u32..)
                .zip(&space.members)
                .filter_map(|(task, presence)| gone(task, presence).map(|how| (task, how)))
                .collect();
            self.answers.extend(space.settle_gets(now, &lost, self.aborted.as_ref()));
            self.answers.extend(space.settle_rounds(now, &lost, self.aborted.as_ref()));
        }
    }
}

impl Space {
    /// Whether somebody waits for an answer.
    fn is_awaited(&self) -> bool {
        !self.gets.is_empty() || self.rounds.values().any(|round| !round.waiters.is_empty())
    }

    /// A task comes to a round; the answers are those of a round that is over already.
    fn arrive(
        &mut self,
        waiter: Waiter,
        epoch: u32,
        key: Option<String>,
        value: Vec<u8>,
    ) -> Option<(ConnId, Message)> {
        let task = waiter.task;
        let round = self.rounds.entry(epoch).or_insert_with(|| Round {
            key: key.clone(),
            opened_by: task,
            values: BTreeMap::new(),
            waiters: Vec::new(),
            failed: None,
        });
        if round.failed.is_none() && round.key != key {
            let name = |key: &Option<String>| match key {
                Some(key) => format!("an exchange of {key:?}"),
                None => "a fence".to_owned(),
            };
            let (first, second) = (name(&round.key), name(&key));
            let detail = format!(
                "as operation {epoch}, task {} called {first} and task {task} called {second}",
                round.opened_by
            );
            round.fail(Failure::Mismatch { detail });
        }
        round.values.insert(task, value);
        round.waiters.push(waiter);
        None
    }

    fn settle_gets(
        &mut self,
        now: Instant,
        lost: &[(u32, String)],
        aborted: Option<&Failure>,
    ) -> Vec<(ConnId, Message)> {
        let mut answers = Vec::new();
        let (keys, members) = (&self.keys, &self.members);
        self.gets.retain(|Get { waiter, key }| {
            let answer = if let Some(value) = keys.get(key) {
                Message::Value { id: waiter.id, value: value.clone() }
            } else if let Some(failure) = aborted {
                Message::Failed { id: waiter.id, failure: failure.clone() }
            } else if let Some((task, how)) = hopeless(lost, members, waiter.task) {
                Message::Failed { id: waiter.id, failure: Failure::TaskLost { task, how } }
            } else if now >= waiter.deadline {
                let detail = "no task has put that key".to_owned();
                Message::Failed { id: waiter.id, failure: Failure::Timeout { detail } }
            } else {
                return true;
            };
            answers.push((waiter.conn, answer));
            false
        });
        answers
    }

    fn settle_rounds(
        &mut self,
        now: Instant,
        lost: &[(u32, String)],
        aborted: Option<&Failure>,
    ) -> Vec<(ConnId, Message)> {
        let mut answers = Vec::new();
        let Self { members, rounds, completed, .. } = self;
        rounds.retain(|&epoch, round| {
            if round.failed.is_none() {
                let absent = lost.iter().find(|(task, _)| !round.values.contains_key(task));
                if round.values.len() == members.len() {
                    round.complete(&mut answers);
                    *completed = (*completed).max(epoch + 1);
                    return false;
                } else if let Some(failure) = aborted {
                    round.fail(failure.clone());
                } else if let Some((task, how)) = absent {
                    round.fail(Failure::TaskLost { task: *task, how: how.clone() });
                } else if round.waiters.iter().any(|w| now >= w.deadline) {
                    let detail = round.missing(members);
                    round.fail(Failure::Timeout { detail });
                }
            }
            // A failed round stays, so that late comers hear the same answer.
            if let Some(failure) = &round.failed {
                for waiter in round.waiters.drain(..) {
                    answers.push((waiter.conn, Message::Failed { id: waiter.id, failure: failure.clone() }));
                }
            }
            true
        });
        answers
    }
}

impl Round {
    fn fail(&mut self, failure: Failure) {
        self.failed = Some(failure);
        // Nobody will ever read them.
        self.values.values_mut().for_each(|v| *v = Vec::new());
    }

    fn complete(&mut self, answers: &mut Vec<(ConnId, Message)>) {
        let values = std::mem::take(&mut self.values);
        let size: usize = values.values().map(|v| v.len() + 4).sum();
        let fits = self.key.is_some() && size <= MAX_FRAME - 64;
        let packed = fits.then(|| Packed::new(values.values().map(Vec::as_slice)));
        drop(values);
        for Waiter { conn, id, .. } in self.waiters.drain(..) {
            let answer = if self.key.is_none() {
                Message::Done { id }
            } else if let Some(values) = &packed {
                Message::Values { id, values: values.clone() }
            } else {
                let detail =
                    format!("the values of all tasks have {size} bytes, the limit is {}", MAX_FRAME - 64);
                Message::Failed { id, failure: Failure::Limit { detail } }
            };
            answers.push((conn, answer));
        }
    }

    /// Who has not come, for a person to read.
    fn missing(&self, members: &[Presence]) -> String {
        let missing: Vec<String> = (0u32..)
            .zip(members)
            .filter(|(task, _)| !self.values.contains_key(task))
            .map(|(task, presence)| match presence {
                Presence::Absent => format!("task {task} (never connected)"),
                Presence::Here { pid } => format!("task {task} (process {pid}, connected)"),
                Presence::Broken { pid, .. } => format!("task {task} (process {pid}, connection lost)"),
                Presence::Finalised { pid } => format!("task {task} (process {pid}, finalised)"),
            })
            .collect();
        let shown = missing.iter().take(NAMES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = missing.len().saturating_sub(NAMES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{} of {} tasks came; missing: {shown}{more}", self.values.len(), members.len())
    }
}

/// Whether no key can come any more: a task ended badly, or all others are gone.
fn hopeless(lost: &[(u32, String)], members: &[Presence], asker: u32) -> Option<(u32, String)> {
    let others = || lost.iter().filter(|(task, _)| *task != asker);
    let badly = others().find(|(task, _)| !matches!(members[*task as usize], Presence::Finalised { .. }));
    let all = others().count() + 1 == members.len();
    badly.or_else(|| others().next().filter(|_| all)).cloned()
}

#[cfg(test)]
mod tests;
