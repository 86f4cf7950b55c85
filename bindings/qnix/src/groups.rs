//! Groups of processes, as one of them sees them.

pub(crate) mod joining;

use crate::barrier::{Barrier, Sign};
use crate::board::Writer;
use crate::contexts::Key;
use crate::error::{Error, Result};
use lapis_collectives::Group as Members;
use std::collections::{HashMap, HashSet};

/// Who tells the next keeper of a group's name that the group is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Teller {
    /// Nobody: it is an application, which can't be joined.
    Nobody,
    /// The keeper, before it leaves.
    Keeper,
    /// The members: a keeper has died, and may have told nobody.
    Members,
}

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
    teller: Teller,
}

/// What a task knows that keeps the list of who joins.
struct Gathering {
    size: u32,
    tasks: Vec<u32>,
}

/// A command of this process that joins a group.
struct Join {
    key: Key,
    size: i32,
    /// The task that was told.
    keeper: u32,
}

/// The groups that a process knows, by name.
#[derive(Default)]
pub(crate) struct Known {
    /// In the order of their names.
    groups: Vec<Group>,
    /// Where the one is that was asked for last: commands come to the same group again.
    recent: usize,
}

impl Known {
    fn place(&self, name: i32) -> std::result::Result<usize, usize> {
        self.groups.binary_search_by_key(&name, |group| group.name)
    }

    fn insert(&mut self, group: Group) {
        match self.place(group.name) {
            Ok(at) => self.groups[at] = group,
            Err(at) => self.groups.insert(at, group),
        }
    }

    pub(crate) fn get(&self, name: i32) -> Option<&Group> {
        let recent = self.groups.get(self.recent).filter(|group| group.name == name);
        recent.or_else(|| Some(&self.groups[self.place(name).ok()?]))
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, name: i32) -> Option<&mut Group> {
        if self.groups.get(self.recent).is_none_or(|group| group.name != name) {
            self.recent = self.place(name).ok()?;
        }
        self.groups.get_mut(self.recent)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Group> {
        self.groups.iter_mut()
    }
}

#[derive(Default)]
pub(crate) struct Groups {
    pub(crate) known: Known,
    /// Those in whose barrier this process waits for words of others.
    pub(crate) waiting: Vec<i32>,
    /// The commands of this process that join groups.
    joining: HashMap<i32, Join>,
    gathering: HashMap<i32, Gathering>,
    /// Groups that were formed here.
    formed: HashSet<i32>,
    /// This process is about to leave, and keeps no list any more.
    closed: bool,
    /// What members of groups told that this process does not know to be complete yet.
    pub(crate) early: HashMap<i32, Vec<Sign>>,
}

impl Groups {
    /// A group is complete. `writer`: this process's board, if its host has boards.
    pub(crate) fn add(
        &mut self,
        name: i32,
        members: &[u32],
        task: u32,
        writer: Option<&mut Writer>,
        teller: Teller,
    ) {
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
        let mut group = Group { name, members, me, near, barrier, teller };
        for sign in self.early.remove(&name).unwrap_or_default() {
            group.note(sign);
        }
        self.known.insert(group);
    }

    pub(crate) fn get(&self, name: i32) -> Result<&Group> {
        self.known.get(name).ok_or(Error::Group)
    }

    /// Whether this process may ask to join a group.
    pub(crate) fn may_join(&self, name: i32, size: i32, tasks: u32) -> Result {
        if self.known.get(name).is_some() || self.joining.contains_key(&name) {
            return Err(Error::GroupExists);
        }
        if size < 1 || size.unsigned_abs() > tasks { Err(Error::GroupSize) } else { Ok(()) }
    }

    pub(crate) fn joins(&mut self, name: i32, size: i32, key: Key, keeper: u32) {
        self.joining.insert(name, Join { key, size, keeper });
    }
}
