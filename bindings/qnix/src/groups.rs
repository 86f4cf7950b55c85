//! Groups of processes: joining one, and barriers in it.
//!
//! A process that joins a group tells the task that the group's name leads to. That task waits
//! until the group is complete, and then tells all members who the others are. A barrier takes
//! ⌈log₂ n⌉ rounds. In round r each member tells the one 2ʳ places further on.

use crate::contexts::Key;
use crate::error::{Error, Result};
use crate::matching::Bytes;
use crate::node::{Shared, State};
use crate::protocol::{FORMED, NOTICE, send_owned, send_words, then, with_data, words_of};
use lapis_core::{Context, Delivery, Incoming};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Most rounds of a barrier.
const ROUNDS: usize = 32;

/// A complete group.
pub(crate) struct Group {
    /// Its members in the order of their names.
    pub(crate) members: Vec<u32>,
    /// This process's place.
    me: Option<usize>,
    barrier: Barrier,
}

#[derive(Default)]
struct Barrier {
    /// Barriers that this process has begun.
    begun: u64,
    /// The command under way, and the round that it is in.
    now: Option<(usize, usize)>,
    /// Those that follow.
    next: VecDeque<usize>,
    /// Notices so far, by round.
    seen: [u64; ROUNDS],
}

/// What a task knows that keeps the list of who joins.
struct Gathering {
    size: u32,
    tasks: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Groups {
    known: HashMap<i32, Group>,
    /// The command of this process that joins a group.
    joining: HashMap<i32, Key>,
    gathering: HashMap<i32, Gathering>,
    /// Groups that were formed here.
    formed: HashSet<i32>,
    /// Notices of groups that this process does not know to be complete yet.
    early: HashMap<i32, Vec<usize>>,
}

/// Something to be sent: notices of a group's barrier, to a task in a round.
pub(crate) type Notices = Vec<(u32, i32, usize)>;

/// Sends notices. Whoever is gone needs none.
pub(crate) fn send_notices(context: &Context, notices: &Notices) {
    for (task, group, round) in notices {
        let _ = send_words(context, *task, NOTICE, [*group as u32, *round as u32]);
    }
}

impl Groups {
    pub(crate) fn add(&mut self, name: i32, members: Vec<u32>, task: u32) {
        let me = members.iter().position(|member| *member == task);
        let mut barrier = Barrier::default();
        for round in self.early.remove(&name).unwrap_or_default() {
            barrier.seen[round] += 1;
        }
        self.known.insert(name, Group { members, me, barrier });
    }

    pub(crate) fn get(&self, name: i32) -> Result<&Group> {
        self.known.get(&name).ok_or(Error::Group)
    }

    /// Whether this process may ask to join a group.
    pub(crate) fn may_join(&self, name: i32, size: i32, tasks: u32) -> Result {
        if self.known.contains_key(&name) || self.joining.contains_key(&name) {
            return Err(Error::GroupExists);
        }
        if size < 1 || size.unsigned_abs() > tasks { Err(Error::GroupSize) } else { Ok(()) }
    }

    pub(crate) fn joins(&mut self, name: i32, key: Key) {
        self.joining.insert(name, key);
    }

    /// Whether this process may enter a barrier.
    pub(crate) fn may_enter(&self, name: i32, size: i32) -> Result {
        let group = self.get(name)?;
        group.me.ok_or(Error::Member)?;
        if usize::try_from(size) == Ok(group.members.len()) { Ok(()) } else { Err(Error::GroupSize) }
    }
}

impl State {
    /// A barrier begins, when those before it have ended.
    pub(crate) fn enter_barrier(&mut self, name: i32, at: usize) -> Notices {
        let Some(group) = self.groups.known.get_mut(&name) else { return Notices::new() };
        group.barrier.next.push_back(at);
        self.go_on(name)
    }

    /// Does what can be done of a group's barriers.
    fn go_on(&mut self, name: i32) -> Notices {
        let mut notices = Notices::new();
        let Some(group) = self.groups.known.get_mut(&name) else { return notices };
        let (Some(me), n) = (group.me, group.members.len()) else { return notices };
        let rounds = n.next_power_of_two().ilog2() as usize;
        let barrier = &mut group.barrier;
        loop {
            let (at, round) = match barrier.now {
                Some((at, round)) if barrier.seen[round] >= barrier.begun => (at, round + 1),
                Some(_) => break,
                None => match barrier.next.pop_front() {
                    Some(at) => {
                        barrier.begun += 1;
                        (at, 0)
                    }
                    None => break,
                },
            };
            if round == rounds {
                barrier.now = None;
                self.sends.end(at, Ok(0));
                continue;
            }
            barrier.now = Some((at, round));
            notices.push((group.members[(me + (1 << round)) % n], name, round));
        }
        self.fail_barriers(name);
        notices
    }

    /// Ends barriers that wait for a process which has ended.
    fn fail_barriers(&mut self, name: i32) {
        let Some(group) = self.groups.known.get_mut(&name) else { return };
        let (Some(me), n) = (group.me, group.members.len()) else { return };
        let barrier = &mut group.barrier;
        let Some((at, round)) = barrier.now else { return };
        let rounds = n.next_power_of_two().ilog2() as usize;
        let missing = |round: usize| {
            let from = group.members[(me + n - (1 << round) % n) % n];
            barrier.seen[round] < barrier.begun && self.gone.contains(&from)
        };
        if !(round..rounds).any(missing) {
            return;
        }
        barrier.now = None;
        let failed: Vec<usize> = std::iter::once(at).chain(barrier.next.drain(..)).collect();
        for at in failed {
            self.sends.end(at, Err(Error::Peer));
        }
    }

    /// A process has ended: what it means for groups. Gives whom to tell that their group won't be.
    pub(crate) fn left_groups(&mut self, task: u32) -> Vec<(u32, i32)> {
        let with: Vec<i32> =
            self.groups.known.iter().filter(|(_, g)| g.members.contains(&task)).map(|(n, _)| *n).collect();
        for name in with {
            self.fail_barriers(name);
        }
        let mut told = Vec::new();
        self.groups.gathering.retain(|name, gathering| {
            if !gathering.tasks.contains(&task) {
                return true;
            }
            told.extend(gathering.tasks.iter().filter(|other| **other != task).map(|other| (*other, *name)));
            false
        });
        told
    }

    /// Commands that join a group whose list `task` keeps.
    pub(crate) fn joins_fail(&mut self, task: u32, tasks: u32) {
        let lost: Vec<i32> =
            self.groups.joining.keys().copied().filter(|name| keeper(*name, tasks) == task).collect();
        for name in lost {
            if let Some(key) = self.groups.joining.remove(&name) {
                self.sends.end_key(key, Err(Error::Peer));
            }
        }
    }
}

/// The task that keeps the list of a group which is being joined.
pub(crate) fn keeper(name: i32, tasks: u32) -> u32 {
    name as u32 % tasks
}

/// Tells a task what became of its wish to join.
pub(crate) fn refuse(context: &Context, task: u32, name: i32, error: Error) {
    let words = [name as u32, error.number() as u32];
    // Whoever is gone need not know.
    let _ = send_words(context, task, FORMED, words);
}

pub(crate) fn join_arrived(shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, size] = words_of(message.user_header)?;
    let (task, name, shared) = (message.source, name as i32, Arc::clone(shared));
    Some(then(move |context| {
        let joined = shared.lock().joined(task, name, size);
        let members = match joined {
            Ok(None) => return,
            Ok(Some(members)) => members,
            Err(error) => return refuse(context, task, name, error),
        };
        let list: Vec<u8> = members.iter().flat_map(|task| task.to_le_bytes()).collect();
        for member in members {
            let words = [name as u32, 0];
            let _ = send_owned(context, member, FORMED, &words, list.clone(), Bytes::default());
        }
    }))
}

impl State {
    /// A task wants to join a group whose list is kept here. Gives the members once all are there.
    fn joined(&mut self, task: u32, name: i32, size: u32) -> Result<Option<Vec<u32>>> {
        if self.groups.formed.contains(&name) {
            return Err(Error::GroupExists);
        }
        let gathering =
            self.groups.gathering.entry(name).or_insert_with(|| Gathering { size, tasks: Vec::new() });
        if gathering.size != size {
            return Err(Error::GroupSize);
        }
        if !gathering.tasks.contains(&task) {
            gathering.tasks.push(task);
        }
        if (gathering.tasks.len() as u32) < size {
            return Ok(None);
        }
        self.groups.formed.insert(name);
        Ok(self.groups.gathering.remove(&name).map(|gathering| gathering.tasks))
    }
}

pub(crate) fn formed_arrived(shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, error] = words_of(message.user_header)?;
    let (name, error, shared) = (name as i32, Error::of_number(error as i32), Arc::clone(shared));
    Some(with_data(message, move |context, list| {
        let mut members: Vec<u32> =
            list.chunks_exact(4).filter_map(|word| Some(words_of::<1>(word)?[0])).collect();
        let mut state = shared.lock();
        let Some(key) = state.groups.joining.remove(&name) else { return };
        if let Some(error) = error {
            return state.sends.end_key(key, Err(error));
        }
        if let Some(names) = &state.names {
            names.sort(&mut members);
        }
        state.groups.add(name, members, context.task());
        state.sends.end_key(key, Ok(0));
    }))
}

pub(crate) fn notice_arrived(shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, round] = words_of(message.user_header)?;
    let (name, round) = (name as i32, round as usize);
    if round >= ROUNDS {
        return None;
    }
    let mut state = shared.lock();
    let Some(group) = state.groups.known.get_mut(&name) else {
        state.groups.early.entry(name).or_default().push(round);
        return Some(Delivery::bury());
    };
    group.barrier.seen[round] += 1;
    let notices = state.go_on(name);
    drop(state);
    if notices.is_empty() {
        return Some(Delivery::bury());
    }
    Some(then(move |context| send_notices(context, &notices)))
}
