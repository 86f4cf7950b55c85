//! Set operations on groups.

use super::{Group, GroupError, Run};

/// What a member says when a group is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Members of equal colour come together; `None` comes to no group.
    pub colour: Option<u32>,
    /// Their order; equal keys stay in the order that they have.
    pub key: i64,
}

impl Group {
    /// The members at these ranks, in this order.
    ///
    /// # Errors
    /// A rank beyond the end, or named twice.
    pub fn include(&self, ranks: &[usize]) -> Result<Self, GroupError> {
        let tasks: Vec<u32> = ranks.iter().map(|rank| self.at(*rank)).collect::<Result<_, _>>()?;
        Self::from_list(&tasks)
    }

    /// All members but those at these ranks.
    ///
    /// # Errors
    /// A rank beyond the end.
    pub fn exclude(&self, ranks: &[usize]) -> Result<Self, GroupError> {
        let mut out: Vec<usize> = ranks.to_vec();
        out.sort_unstable();
        if let Some(last) = out.last() {
            self.at(*last)?;
        }
        let kept = self.iter().enumerate().filter(|(rank, _)| out.binary_search(rank).is_err());
        Ok(Self::gather(kept.map(|(_, task)| task)))
    }

    /// The members at ranks `first`, `first + stride`, … up to `last`, which is included if it is
    /// hit.
    ///
    /// # Errors
    /// A rank beyond the end; a stride of 0.
    pub fn range(&self, first: usize, last: usize, stride: i64) -> Result<Self, GroupError> {
        self.at(first)?;
        self.at(last)?;
        if stride == 0 {
            return Err(GroupError::Stride { first: first as u32 });
        }
        let apart = last as i64 - first as i64;
        let len = if apart != 0 && (apart < 0) != (stride < 0) { 0 } else { apart / stride + 1 };
        if let [Run { first: task, stride: step, .. }] = &*self.runs
            && len > 0
        {
            let begin = i64::from(*task) + step * first as i64;
            // The last member is a task, so that only the stride of a single one can be too long.
            return Self::strided(begin as u32, step.saturating_mul(stride), len as u32);
        }
        let ranks: Vec<usize> = (0..len).map(|i| (first as i64 + i * stride) as usize).collect();
        self.include(&ranks)
    }

    /// All members of this one, then those of `other` that are not.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let more = other.iter().filter(|task| self.rank(*task).is_none());
        Self::gather(self.iter().chain(more))
    }

    /// The members that `other` has, too, in the order of this one.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::gather(self.iter().filter(|task| other.rank(*task).is_some()))
    }

    /// The members that `other` does not have.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self::gather(self.iter().filter(|task| other.rank(*task).is_none()))
    }

    /// The group of the member at `rank` when all members have said what `told` has by rank. `None`
    /// if it wanted none.
    ///
    /// # Errors
    /// As many entries as members are needed.
    pub fn split(&self, told: &[Split], rank: usize) -> Result<Option<Self>, GroupError> {
        self.at(rank)?;
        if told.len() != self.len() {
            return Err(GroupError::Rank { rank: told.len() as u64, members: self.len() });
        }
        let Some(colour) = told[rank].colour else { return Ok(None) };
        let mine = told.iter().zip(self.iter()).filter(|(said, _)| said.colour == Some(colour));
        let mut members: Vec<(i64, u32)> = mine.map(|(said, task)| (said.key, task)).collect();
        members.sort_by_key(|(key, _)| *key);
        Ok(Some(Self::gather(members.into_iter().map(|(_, task)| task))))
    }

    fn at(&self, rank: usize) -> Result<u32, GroupError> {
        self.task(rank).ok_or(GroupError::Rank { rank: rank as u64, members: self.len() })
    }
}
