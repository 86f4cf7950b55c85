//! Groups of processes, and joining one.
//!
//! A process that joins a group tells the task that the group's name leads to. That task waits
//! until the group is complete, and then tells all members who the others are.

use crate::barrier::{Barrier, Sign};
use crate::board::Writer;
use crate::contexts::Key;
use crate::error::{Error, Result};
use crate::matching::Bytes;
use crate::node::{Shared, State};
use crate::outbox::{Letter, Outbox};
use crate::protocol::{FORMED, send_owned, send_words, then, with_data, words_of};
use lapis_collectives::Group as Members;
use lapis_core::{Context, Delivery, Incoming};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A complete group.
pub(crate) struct Group {
    pub(crate) name: i32,
    /// Its members in the order of their names.
    pub(crate) members: Members,
    /// This process's rank.
    pub(crate) me: Option<usize>,
    /// The other members' places on this host, if all members are on it and it has boards.
    pub(crate) near: u64,
    pub(crate) barrier: Barrier,
}

/// What a task knows that keeps the list of who joins.
struct Gathering {
    size: u32,
    tasks: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Groups {
    pub(crate) known: BTreeMap<i32, Group>,
    /// Those in whose barrier this process waits for words of others.
    pub(crate) waiting: Vec<i32>,
    /// The command of this process that joins a group.
    joining: HashMap<i32, Key>,
    gathering: HashMap<i32, Gathering>,
    /// Groups that were formed here.
    formed: HashSet<i32>,
    /// What members of groups told that this process does not know to be complete yet.
    pub(crate) early: HashMap<i32, Vec<Sign>>,
}

impl Groups {
    /// A group is complete. `writer`: this process's board, if its host has boards.
    pub(crate) fn add(&mut self, name: i32, members: &[u32], task: u32, writer: Option<&mut Writer>) {
        let Ok(members) = Members::from_list(members) else { return };
        let me = members.rank(task);
        let boards = writer.as_deref().map(|writer| &**writer.boards());
        let places: Option<Vec<usize>> =
            boards.and_then(|boards| members.iter().map(|member| boards.place(member)).collect());
        let here = boards.and_then(|boards| boards.place(task));
        let others = places.iter().flatten().filter(|place| Some(**place) != here);
        let near = others.fold(0, |near, place| near | 1 << place);
        let mine = writer.filter(|_| me.is_some() && places.is_some()).and_then(|writer| writer.claim(name));
        let barrier = Barrier::new(places.map(|places| (places, mine)));
        let mut group = Group { name, members, me, near, barrier };
        for sign in self.early.remove(&name).unwrap_or_default() {
            group.note(sign);
        }
        self.known.insert(name, group);
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
}

impl State {
    /// A process has ended: what it means for groups.
    pub(crate) fn left_groups(&mut self, task: u32, out: &mut Outbox) {
        self.left_barriers(task, out);
        self.groups.gathering.retain(|name, gathering| {
            if !gathering.tasks.contains(&task) {
                return true;
            }
            let others = gathering.tasks.iter().filter(|other| **other != task);
            out.extend(others.map(|to| Letter::Refusal { to: *to, group: *name, error: Error::Peer }));
            false
        });
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

pub(crate) fn join_arrived(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, size] = words_of(message.user_header)?;
    let (task, name, shared) = (message.source, name as i32, Arc::clone(shared));
    Some(then(move |context| {
        let joined = shared.lock(context).joined(task, name, size);
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
        //= QNIX API, qx_join_group, a group is complete with as many processes as its size says
        if (gathering.tasks.len() as u32) < size {
            return Ok(None);
        }
        self.groups.formed.insert(name);
        Ok(self.groups.gathering.remove(&name).map(|gathering| gathering.tasks))
    }
}

pub(crate) fn formed_arrived(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, error] = words_of(message.user_header)?;
    let (name, error, shared) = (name as i32, Error::of_number(error as i32), Arc::clone(shared));
    Some(with_data(message, move |context, list| {
        let mut members: Vec<u32> =
            list.chunks_exact(4).filter_map(|word| Some(words_of::<1>(word)?[0])).collect();
        let mut state = shared.lock(context);
        let Some(key) = state.groups.joining.remove(&name) else { return };
        if let Some(error) = error {
            return state.sends.end_key(key, Err(error));
        }
        if let Some(names) = &state.names {
            names.sort(&mut members);
        }
        let state = &mut *state;
        state.groups.add(name, &members, context.task(), state.board.as_mut());
        state.sends.end_key(key, Ok(0));
    }))
}
