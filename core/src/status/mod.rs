//! What a context publishes about itself: a page of memory that launchers and tools read without
//! stopping any task.
//!
//! Each context has an anonymous file, `lapis-status`, of one page (`page::Page`). It can be opened
//! through `/proc/PID/fd` by the same user and root, sealed against writing by others, and is gone
//! with the process. Its statistics are those that the context counts with: they are exact at any
//! moment. Waits are recorded when they begin to last, everything else every tenth of a second
//! while the task is inside the library. If a task hangs in its own computation, or in a handler,
//! the age of its last update shows this.
//!
//! Writers hold the context's lock. Readers may see a half-changed state; they then read again.

mod page;
mod search;
mod snapshot;

pub(crate) use page::{
    Counts, NOBODY, OPEN, Page, RAILS, RailSlot, StatusPage, WAITS, monotonic_ns, put_text,
};
pub use search::{of_process, processes};
pub use snapshot::{Open, PathCounts, Rail, RailTraffic, Room, Snapshot, Swap, Wait};

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum Awaiting {
    /// A counter (LAPI_Waitcntr).
    Counter = 1,
    /// A condition of the program's or of a layer above core.
    Condition = 2,
    /// Its own messages and operations to arrive (LAPI_Fence, LAPI_Gfence).
    Fence = 3,
    /// The other tasks to come to the same call (LAPI_Gfence).
    Barrier = 4,
    /// The other tasks to give their part (LAPI_Address_init and other exchanges).
    Exchange = 5,
    /// Outstanding operations to end, before the context ends or a path changes.
    End = 6,
}

impl Awaiting {
    const ALL: [Self; 6] =
        [Self::Counter, Self::Condition, Self::Fence, Self::Barrier, Self::Exchange, Self::End];

    /// The kind with this number.
    pub fn of(word: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == word)
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Condition => "condition",
            Self::Fence => "fence",
            Self::Barrier => "barrier",
            Self::Exchange => "exchange",
            Self::End => "end",
        }
    }
}

/// An operation whose answer is outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum OpenKind {
    /// A message or put of whose completion the origin is to be notified.
    Completion = 1,
    /// A message whose data the target fetches.
    Pull = 2,
    /// A get.
    Get = 3,
    /// An atomic.
    Rmw = 4,
    /// A transfer that the transport carries by itself.
    Transfer = 5,
}

impl OpenKind {
    const ALL: [Self; 5] = [Self::Completion, Self::Pull, Self::Get, Self::Rmw, Self::Transfer];

    /// The kind with this number.
    pub fn of(word: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == word)
    }

    /// In a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completion => "completion of a message or put",
            Self::Pull => "message that the target fetches",
            Self::Get => "get",
            Self::Rmw => "atomic",
            Self::Transfer => "transfer",
        }
    }
}
