//! Translation between the names of processes, which are pairs of numbers, and task numbers.

use crate::error::{Error, Result};
use std::collections::HashMap;

/// The name of a process: its application and its place in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// AI, the application's number, not negative. It is the name of the group of all its
    /// processes, too.
    pub application: i32,
    /// PI, the number of the process in it, from 0.
    pub process: i32,
}

/// Bytes that a process tells of itself.
pub(crate) const CARD: usize = 20;

/// What a process tells the others: its name, the size of its application, and where its board is.
pub(crate) fn card(name: Name, size: i32, board: u64) -> [u8; CARD] {
    let words = [name.application, name.process, size].map(i32::to_le_bytes);
    let board = board.to_le_bytes();
    std::array::from_fn(|at| if at < 12 { words[at / 4][at % 4] } else { board[at - 12] })
}

/// Where the boards of all tasks are.
pub(crate) fn boards_of_cards(cards: &[u8]) -> Vec<u64> {
    let board = |card: &[u8]| u64::from_le_bytes(std::array::from_fn(|at| card[12 + at]));
    cards.chunks_exact(CARD).map(board).collect()
}

/// All processes of the job.
pub(crate) struct Names {
    by_task: Vec<Name>,
    /// Sorted by their numbers.
    applications: Vec<Application>,
}

struct Application {
    number: i32,
    /// The tasks of its processes, in their order.
    tasks: Vec<u32>,
}

impl Names {
    /// From everybody's cards, in the order of the tasks.
    pub(crate) fn of_cards(cards: &[u8]) -> Result<Self> {
        let word =
            |card: &[u8], at: usize| i32::from_le_bytes(std::array::from_fn(|byte| card[at * 4 + byte]));
        let mut by_task = Vec::new();
        let mut tasks = HashMap::new();
        let mut sizes: HashMap<i32, (i32, i32)> = HashMap::new();
        for card in cards.chunks_exact(CARD) {
            let (name, size) = (Name { application: word(card, 0), process: word(card, 1) }, word(card, 2));
            let sound = name.application >= 0 && (0..size).contains(&name.process);
            let (agreed, count) = sizes.entry(name.application).or_insert((size, 0));
            *count += 1;
            if !sound || *agreed != size || tasks.insert(name, by_task.len() as u32).is_some() {
                tracing::error!(
                    target: "lapis::qnix",
                    "qx_init: process ({}, {}) of an application of {size}: names are pairs of an application (0 or more) and a number \
                     below its size, each once, and all processes of an application tell the same size",
                    name.application, name.process,
                );
                return Err(Error::Name);
            }
            by_task.push(name);
        }
        if let Some((application, (size, count))) = sizes.iter().find(|(_, (size, count))| size != count) {
            tracing::error!(
                target: "lapis::qnix",
                "qx_init: application {application} is to have {size} processes; the job has {count} of them"
            );
            return Err(Error::Name);
        }
        let mut by_name: Vec<_> = tasks.into_iter().collect();
        by_name.sort_unstable();
        // Without gaps: each number below the size is somebody's.
        let applications = by_name.chunk_by(|a, b| a.0.application == b.0.application).map(|of_one| {
            let tasks = of_one.iter().map(|(_, task)| *task).collect();
            Application { number: of_one[0].0.application, tasks }
        });
        Ok(Self { by_task, applications: applications.collect() })
    }

    /// The task behind a name.
    #[inline(always)]
    pub(crate) fn task(&self, name: Name) -> Result<u32> {
        self.find(name).ok_or(Error::Process)
    }

    /// The task behind a name, if it is somebody's.
    #[inline(always)]
    pub(crate) fn find(&self, name: Name) -> Option<u32> {
        let application = match &self.applications[..] {
            // As a rule.
            [first, ..] if first.number == name.application => first,
            several => several.iter().find(|one| one.number == name.application)?,
        };
        // Seen so, a negative number is a large one.
        application.tasks.get(name.process as u32 as usize).copied()
    }

    #[inline]
    pub(crate) fn of_task(&self, task: u32) -> Name {
        self.by_task.get(task as usize).copied().unwrap_or_default()
    }

    /// The processes of an application, in their order; empty if there is no such application.
    pub(crate) fn of_application(&self, application: i32) -> Vec<u32> {
        let mut tasks: Vec<u32> = (0..self.by_task.len() as u32)
            .filter(|task| self.by_task[*task as usize].application == application)
            .collect();
        self.sort(&mut tasks);
        tasks
    }

    /// Sorts tasks by their names.
    pub(crate) fn sort(&self, tasks: &mut [u32]) {
        tasks.sort_unstable_by_key(|task| self.of_task(*task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[(i32, i32, i32)]) -> Result<Names> {
        let cards: Vec<u8> = of
            .iter()
            .flat_map(|(application, process, size)| {
                card(Name { application: *application, process: *process }, *size, 0)
            })
            .collect();
        Names::of_cards(&cards)
    }

    #[test]
    fn applications_may_be_mixed_in_any_order() {
        let names = names(&[(2, 1, 2), (7, 0, 1), (2, 0, 2)]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(names.task(Name { application: 2, process: 0 }), Ok(2));
        assert_eq!(names.task(Name { application: 2, process: 2 }), Err(Error::Process));
        assert_eq!(names.of_application(2), [2, 0]);
        assert_eq!(names.of_application(3), []);
    }

    #[test]
    fn names_that_contradict_each_other_are_refused() {
        for bad in [
            &[(1, 0, 2), (1, 0, 2)][..],
            &[(1, 0, 2), (1, 1, 3)],
            &[(1, 0, 2)],
            &[(1, 1, 1)],
            &[(1, -1, 1)],
            &[(-1, 0, 1)],
        ] {
            assert_eq!(names(bad).err(), Some(Error::Name), "{bad:?}");
        }
    }
}
