//! How workspaces are divided into pieces, and this process's table of them.

use lapis_core::sync::blocking::Mutex;
use std::sync::PoisonError;

/// Where the next workspace begins, and how it is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    pub(crate) start: u64,
    pub(crate) piece: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { start: 0, piece: 1 << 20 }
    }
}

/// What this process knows of workspaces: the parameters, and which descriptors it has given.
#[derive(Default)]
pub(crate) struct Workspaces {
    known: Mutex<(Parameters, Vec<usize>)>,
}

impl Workspaces {
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Parameters, &mut Vec<usize>) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (parameters, given) = &mut *known;
        f(parameters, given)
    }

    /// Nothing is any more.
    pub(crate) fn reset(&self) {
        self.with(|parameters, given| {
            *parameters = Parameters::default();
            given.clear();
        });
    }
}

/// How a workspace is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) size: u64,
    pub(crate) start: u64,
    pub(crate) piece: u64,
    pub(crate) procs: u64,
}

impl Plan {
    pub(crate) fn count(self) -> u64 {
        self.size.div_ceil(self.piece)
    }

    pub(crate) fn len(self, at: u64) -> u64 {
        self.piece.min(self.size - at * self.piece)
    }

    pub(crate) fn rank_of(self, at: u64) -> u64 {
        (self.start + at) % self.procs
    }

    /// A rank's pieces.
    pub(crate) fn of(self, rank: u64) -> impl Iterator<Item = u64> {
        let first = (rank + self.procs - self.start) % self.procs;
        (first..self.count()).step_by(self.procs as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_dealt_round_and_make_up_the_whole() {
        for (size, start, piece, procs) in [(1, 0, 5, 1), (7300, 2, 1000, 3), (10, 1, 1, 4), (64, 3, 8, 5)] {
            let plan = Plan { size, start, piece, procs };
            assert_eq!((0..plan.count()).map(|at| plan.len(at)).sum::<u64>(), size);
            for rank in 0..procs {
                let own = (0..plan.count()).filter(|at| plan.rank_of(*at) == rank);
                assert!(plan.of(rank).eq(own), "{plan:?} {rank}");
            }
        }
    }
}
