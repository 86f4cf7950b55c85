//! Joining a group.
//!
//! A process that joins a group tells the task that the group's name leads to. That task waits
//! until the group is complete, and then tells all members who the others are.

use super::Gathering;
use crate::error::{Error, Result};
use crate::matching::Bytes;
use crate::outbox::{self, Letter, Outbox};
use crate::state::{Shared, State};
use crate::wire::{FORMED, send_owned, then, with_data, words_of};
use lapis_core::{Context, Delivery, Incoming};
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

pub(crate) fn join_arrived(_: &Context, shared: &Arc<Shared>, message: &Incoming<'_>) -> Option<Delivery> {
    let [name, size] = words_of(message.user_header)?;
    let (task, name, shared) = (message.source, name as i32, Arc::clone(shared));
    Some(then(move |context| {
        let joined = shared.lock(context).joined(task, name, size);
        let members = match joined {
            Ok(None) => return,
            Ok(Some(members)) => members,
            Err(error) => {
                let refusal = Letter::Refusal { to: task, group: name, error };
                return outbox::send(context, &vec![refusal]);
            }
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
