//! Groups: ordered sets of task numbers. No context, no communication.
//!
//! A member's place in a group is its *rank*. Groups are kept as runs of equal stride: all tasks, a
//! range, every eighth task cost a few words however many they are; a list without any order costs
//! a run for every two members and an index.

mod set;

pub use set::Split;

use std::sync::Arc;

/// So many runs are looked through one by one; more of them get an index.
const FEW: usize = 16;

/// What is wrong with a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// A team needs members.
    #[error("the group has no members")]
    Empty,
    /// A task is a member once.
    #[error("task {task} is a member twice, at ranks {first} and {second}")]
    Twice {
        /// Which.
        task: u32,
        /// Where it stands first.
        first: u32,
        /// Where it stands again.
        second: u32,
    },
    /// No task of the job.
    #[error("rank {rank} of the group is task {task}, but the job has {tasks} tasks")]
    Foreign {
        /// The task.
        task: u32,
        /// Its rank.
        rank: u32,
        /// Tasks of the job.
        tasks: u32,
    },
    /// No rank of the group.
    #[error("rank {rank} of a group of {members} members")]
    Rank {
        /// The rank.
        rank: u64,
        /// Members.
        members: usize,
    },
    /// The calling task is no member.
    #[error("task {task}, which calls, is none of the group's {members} members")]
    NotMember {
        /// The calling task.
        task: u32,
        /// Members.
        members: usize,
    },
    /// A stride of 0.
    #[error("a stride of 0 from rank {first} on names one member again and again")]
    Stride {
        /// First rank.
        first: u32,
    },
}

/// Tasks `first`, `first + stride`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    stride: i64,
    len: u32,
    /// Rank of the first one.
    rank: u32,
}

impl Run {
    fn task(&self, place: u32) -> u32 {
        (i64::from(self.first) + self.stride * i64::from(place)) as u32
    }

    fn place(&self, task: u32) -> Option<u32> {
        let off = i64::from(task) - i64::from(self.first);
        (off % self.stride == 0 && (0..i64::from(self.len)).contains(&(off / self.stride)))
            .then(|| (off / self.stride) as u32)
    }
}

/// An ordered set of tasks. Clones share it.
#[derive(Clone, Debug)]
pub struct Group {
    runs: Arc<[Run]>,
    /// Of many runs: task and rank, by task.
    index: Option<Arc<[(u32, u32)]>>,
    len: u32,
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for Group {}

impl Group {
    /// Tasks 0 … `tasks` − 1.
    pub fn all(tasks: u32) -> Self {
        Self::of_runs(vec![Run { first: 0, stride: 1, len: tasks, rank: 0 }])
    }

    /// No tasks.
    pub fn empty() -> Self {
        Self::of_runs(Vec::new())
    }

    /// `len` tasks from `first` on, `stride` apart.
    ///
    /// # Errors
    /// A stride of 0; a task below 0 or beyond the numbers that tasks have.
    pub fn strided(first: u32, stride: i64, len: u32) -> Result<Self, GroupError> {
        if len > 1 && stride == 0 {
            return Err(GroupError::Stride { first });
        }
        let steps = i64::from(len.max(1)) - 1;
        let last = if steps > 0 { stride.saturating_mul(steps).saturating_add(first.into()) } else { 0 };
        if !(0..=i64::from(u32::MAX)).contains(&last) {
            return Err(GroupError::Rank { rank: u64::from(len) - 1, members: 0 });
        }
        Ok(Self::of_runs(vec![Run { first, stride: if len > 1 { stride } else { 1 }, len, rank: 0 }]))
    }

    /// These tasks, in this order.
    ///
    /// # Errors
    /// A task that is named twice.
    pub fn from_list(tasks: &[u32]) -> Result<Self, GroupError> {
        let group = Self::gather(tasks.iter().copied());
        let mut sorted: Vec<(u32, u32)> = tasks.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(GroupError::Twice { task: pair[0].0, first: pair[0].1, second: pair[1].1 }),
            None => Ok(group),
        }
    }

    /// Distinct tasks, in runs.
    fn gather(tasks: impl Iterator<Item = u32>) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (rank, task) in (0..).zip(tasks) {
            match runs.last_mut() {
                Some(run) if run.len == 1 && task != run.first => {
                    run.stride = i64::from(task) - i64::from(run.first);
                    run.len = 2;
                }
                Some(run)
                    if run.len > 1
                        && i64::from(task) == i64::from(run.first) + run.stride * i64::from(run.len) =>
                {
                    run.len += 1;
                }
                _ => runs.push(Run { first: task, stride: 1, len: 1, rank }),
            }
        }
        Self::of_runs(runs)
    }

    fn of_runs(mut runs: Vec<Run>) -> Self {
        runs.retain(|run| run.len > 0);
        let len = runs.iter().map(|run| run.len).sum();
        let index = (runs.len() > FEW).then(|| {
            let mut index: Vec<(u32, u32)> =
                runs.iter().flat_map(|run| (0..run.len).map(|i| (run.task(i), run.rank + i))).collect();
            index.sort_unstable();
            index.into()
        });
        Self { runs: runs.into(), index, len }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The task at a rank.
    #[inline]
    pub fn task(&self, rank: usize) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|rank| *rank < self.len)?;
        let run = match &*self.runs {
            [only] => only,
            runs => &runs[runs.partition_point(|run| run.rank <= rank) - 1],
        };
        Some(run.task(rank - run.rank))
    }

    /// A task's rank.
    pub fn rank(&self, task: u32) -> Option<usize> {
        if let Some(index) = &self.index {
            let at = index.binary_search_by_key(&task, |entry| entry.0).ok()?;
            return Some(index[at].1 as usize);
        }
        self.runs.iter().find_map(|run| run.place(task).map(|place| (run.rank + place) as usize))
    }

    /// The rank in `other` of the member at `rank` here: `None` if it is no member there.
    pub fn translate(&self, rank: usize, other: &Self) -> Option<usize> {
        other.rank(self.task(rank)?)
    }

    /// Members, by rank.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|run| (0..run.len).map(|i| run.task(i)))
    }

    /// Bytes that the group occupies, however many handles there are.
    pub fn memory(&self) -> usize {
        let index = self.index.as_ref().map_or(0, |index| size_of_val(&**index));
        size_of::<Self>() + size_of_val(&*self.runs) + index
    }

    /// Whether it can be the group of a team in a job of so many tasks.
    ///
    /// # Errors
    /// No members; a task that the job does not have.
    pub fn check(&self, tasks: u32) -> Result<(), GroupError> {
        if self.is_empty() {
            return Err(GroupError::Empty);
        }
        let ends = |run: &Run| [(run.task(0), run.rank), (run.task(run.len - 1), run.rank + run.len - 1)];
        match self.runs.iter().flat_map(ends).find(|(task, _)| *task >= tasks) {
            Some((task, rank)) => Err(GroupError::Foreign { task, rank, tasks }),
            None => Ok(()),
        }
    }

    /// A number that the same members in the same order always have, and hardly any others.
    pub fn fingerprint(&self) -> u64 {
        let mix = |h: u64, word: u64| {
            let h = (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            h ^ (h >> 29)
        };
        // By members, not by runs: how a group was made must not matter.
        match &*self.runs {
            // Long regular groups are made alike wherever they are made: gathered runs are as long
            // as they can be.
            [run] => [u64::from(run.first), run.stride as u64, u64::from(run.len)].into_iter().fold(1, mix),
            _ => Self::gather(self.iter())
                .runs
                .iter()
                .flat_map(|run| [u64::from(run.first), run.stride as u64, u64::from(run.len)])
                .fold(2, mix),
        }
    }
}

#[cfg(test)]
mod tests;
