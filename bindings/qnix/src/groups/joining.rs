//! Joining a group.
//!
//! A process that joins a group sends a request to the task to which the group's name is assigned,
//! its *keeper*. That task waits until the group is complete, and then sends all members the list.
//!
//! The keeper need not be a member, so it may call qx_end while others wait. Then it drops its
//! list, sends the next keeper the names of complete groups, and ends. If the next keeper leaves
//! as well, it passes these names on to the one behind it. Processes that had sent the keeper a
//! request send it to the next one when they learn of the end, as they do with a request that
//! came too late.
//!
//! A keeper that dies leaves nothing behind. Requests that it had been sent fail, and the members
//! of complete groups tell the next keeper of them, which refuses who has begun to join meanwhile.

use super::{Gathering, Groups, Join, Teller};
use crate::error::{Error, Result};
use crate::matching::Bytes;
use crate::outbox::{self, Letter, Outbox};
use crate::state::{Shared, State};
use crate::wire::{FORMED, send_owned, then, with_data, words_of};
use lapis_core::{Context, Delivery, Incoming, Notify};
use std::sync::Arc;

impl State {
    /// A process has ended: groups that it was about to join don't come about.
    pub(crate) fn left_gatherings(&mut self, task: u32, out: &mut Outbox) {
        self.groups.gathering.retain(|name, gathering| {
            if !gathering.tasks.contains(&task) {
                return true;
            }
            let others = gathering.tasks.iter().filter(|other| **other != task);
            out.extend(others.map(|to| Letter::Refusal { to: *to, group: *name, error: Error::Peer }));
            false
        });
    }

    /// The keeper of some lists has died, and nobody knows whom it has told of complete groups:
    /// commands that join them fail.
    pub(crate) fn keeper_died(&mut self, task: u32, tasks: u32, out: &mut Outbox) {
        let Self { groups, sends, .. } = self;
        for (_, join) in groups.joining.extract_if(|_, join| join.keeper == task) {
            sends.end_key(join.key, Err(Error::Peer));
        }
        self.names_move(task, true, tasks, out);
    }

    /// A task is gone. If it has kept the name of a complete group of this process, and a keeper of
    /// that name has died, this process tells the next one.
    fn names_move(&mut self, task: u32, died: bool, tasks: u32, out: &mut Outbox) {
        let Self { groups, gone, .. } = self;
        for group in groups.known.iter_mut().filter(|group| group.me.is_some()) {
            let was_gone = |other| other != task && gone.contains(&other);
            if group.teller == Teller::Nobody || keeper(group.name, tasks, was_gone) != task {
                continue;
            }
            if died {
                group.teller = Teller::Members;
            }
            if group.teller == Teller::Members {
                let to = keeper(group.name, tasks, |task| gone.contains(&task));
                out.push(Letter::Join { to, group: group.name, size: COMPLETE });
            }
        }
    }

    /// The keeper of some lists has left in good order: the next ones keep them.
    pub(crate) fn joins_move(&mut self, task: u32, tasks: u32, out: &mut Outbox) {
        for (group, join) in self.groups.joining.iter_mut().filter(|(_, join)| join.keeper == task) {
            join.keeper = keeper(*group, tasks, |task| self.gone.contains(&task));
            out.push(Letter::Join { to: join.keeper, group: *group, size: join.size });
        }
        self.names_move(task, false, tasks, out);
    }

    /// A request could not be sent: the command fails, unless it was sent to another keeper
    /// meanwhile.
    pub(crate) fn join_fails(&mut self, group: i32, task: u32, error: Error) {
        let Self { groups, sends, .. } = self;
        for (_, join) in groups.joining.extract_if(|name, join| *name == group && join.keeper == task) {
            sends.end_key(join.key, Err(error));
        }
    }

    /// This process is about to leave. Others keep its lists: they hear which groups are complete.
    pub(crate) fn leaves_lists(&mut self, me: u32, tasks: u32, out: &mut Outbox) {
        self.groups.closed = true;
        for group in std::mem::take(&mut self.groups.formed) {
            self.name_moves_on(group, me, tasks, out);
        }
    }

    /// The name of a complete group goes to the first task behind this one, in the order of its
    /// keepers, that is not gone. Each passes it on to later ones alone, so that it does not go
    /// round among several that leave at once.
    fn name_moves_on(&self, group: i32, me: u32, tasks: u32, out: &mut Outbox) {
        let mut behind = keepers(group, tasks).skip_while(|task| *task != me).skip(1);
        if let Some(to) = behind.find(|task| !self.gone.contains(task)) {
            out.push(Letter::Join { to, group, size: COMPLETE });
        }
    }
}

/// The size by which a keeper hears that a group is complete.
const COMPLETE: i32 = 0;

/// The task that keeps the list of a group which is being joined: the one that its name leads to,
/// or the first one behind it that is not gone.
pub(crate) fn keeper(name: i32, tasks: u32, is_gone: impl Fn(u32) -> bool) -> u32 {
    keepers(name, tasks).find(|task| !is_gone(*task)).unwrap_or(name as u32 % tasks)
}

/// All tasks, in the order in which they keep the list of a group if those before them are gone.
fn keepers(name: i32, tasks: u32) -> impl Iterator<Item = u32> {
    let first = name as u32 % tasks;
    (first..tasks).chain(0..first)
}

pub(crate) fn join_arrived(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, size] = words_of(message.user_header)?;
    let (task, name, shared) = (message.source, name as i32, Arc::clone(shared));
    Some(then(move |context| {
        let mut out = Outbox::new();
        let members = if size == COMPLETE as u32 {
            shared.lock(context).is_complete(name, (context.task(), context.tasks()), &mut out);
            Vec::new()
        } else {
            shared.lock(context).joined(task, name, size).unwrap_or_else(|error| {
                out.push(Letter::Refusal { to: task, group: name, error });
                Vec::new()
            })
        };
        outbox::send(context, &out);
        let list: Vec<u8> = members.iter().flat_map(|task| task.to_le_bytes()).collect();
        for member in members {
            let words = [name as u32, 0];
            let list = (list.clone(), Bytes::default());
            let _ = send_owned(context, member, FORMED, &words, list, Notify::None);
        }
    }))
}

impl State {
    /// A group whose name is kept here is complete: who wants to join it comes too late.
    fn is_complete(&mut self, name: i32, (me, tasks): (u32, u32), out: &mut Outbox) {
        if self.groups.closed {
            return self.name_moves_on(name, me, tasks, out);
        }
        let Groups { formed, gathering, .. } = &mut self.groups;
        formed.insert(name);
        let late = gathering.remove(&name).into_iter().flat_map(|gathering| gathering.tasks);
        out.extend(late.map(|to| Letter::Refusal { to, group: name, error: Error::GroupExists }));
    }

    /// A task wants to join a group whose list is kept here. Gives the members once all are there.
    fn joined(&mut self, task: u32, name: i32, size: u32) -> Result<Vec<u32>> {
        if self.groups.closed {
            return Ok(Vec::new());
        }
        // A member knows of the group what no keeper may have told.
        if self.groups.formed.contains(&name) || self.groups.known.get(name).is_some() {
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
            return Ok(Vec::new());
        }
        self.groups.formed.insert(name);
        Ok(self.groups.gathering.remove(&name).map_or_else(Vec::new, |gathering| gathering.tasks))
    }
}

pub(crate) fn formed_arrived(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, error] = words_of(message.user_header)?;
    let (name, error, shared) = (name as i32, Error::of_number(error as i32), Arc::clone(shared));
    Some(with_data(message, move |context, list| {
        let mut members: Vec<u32> =
            list.chunks_exact(4).filter_map(|word| Some(words_of::<1>(word)?[0])).collect();
        let mut state = shared.lock(context);
        let Some(Join { key, .. }) = state.groups.joining.remove(&name) else { return };
        if let Some(error) = error {
            return state.sends.end_key(key, Err(error));
        }
        if let Some(names) = &state.names {
            names.sort(&mut members);
        }
        let state = &mut *state;
        state.groups.add(name, &members, context.task(), state.board.as_mut(), Teller::Keeper);
        state.sends.end_key(key, Ok(0));
    }))
}
