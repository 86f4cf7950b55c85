//! Barriers and allgathers under way. How they work is said in `core/src/message/collective.rs`.

use crate::error::Error;
use crate::transport::PeerId;
use std::collections::HashMap;

/// Most rounds: jobs have at most 2³¹ tasks.
const ROUNDS: usize = 32;

/// In place of the round: a task has come to a barrier at a root; the root says that all have.
pub(crate) const COME: usize = ROUNDS;
pub(crate) const ALL_HAVE_COME: usize = ROUNDS + 1;

/// The collective calls under way.
#[derive(Default)]
pub(crate) struct Collectives {
    pub(crate) barrier: Barrier,
    pub(crate) exchanges: Exchanges,
}

/// Arrivals of the barrier.
pub(crate) struct Barrier {
    /// Collective calls are over because of this task.
    pub(crate) over: Option<PeerId>,
    /// The last barrier that each round's packet was sent for.
    pub(crate) sent: [u64; ROUNDS + 2],
    /// Barriers this task has entered.
    pub(crate) entered: u64,
    /// Notices received per round, over all barriers.
    pub(crate) seen: [u64; ROUNDS + 2],
}

/// Data of allgathers.
#[derive(Default)]
pub(crate) struct Exchanges {
    /// Allgathers this task has entered.
    pub(crate) entered: u64,
    /// Allgathers that this task is in.
    pub(crate) under_way: u32,
    pub(crate) inbox: HashMap<(u64, u32), Blocks>,
}

#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) bytes: Vec<u8>,
    pub(crate) received: usize,
}

impl Exchanges {
    /// This task enters one more; gives its number.
    pub(crate) fn enter(&mut self) -> u64 {
        self.entered += 1;
        self.entered
    }
}

impl Default for Barrier {
    fn default() -> Self {
        Self { over: None, sent: [0; ROUNDS + 2], entered: 0, seen: [0; ROUNDS + 2] }
    }
}

impl Barrier {
    /// This task enters one more; gives its number.
    pub(crate) fn enter(&mut self) -> u64 {
        self.entered += 1;
        self.entered
    }

    /// Boxed, so that the answer of a check in a loop that polls travels in registers.
    #[inline]
    pub(crate) fn not_over(&self) -> Result<(), Box<Error>> {
        self.over.map_or(Ok(()), |task| Err(Box::new(Error::CollectivesOver { task })))
    }
}
