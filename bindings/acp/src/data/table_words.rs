//! Orders to operate on a table of a set, multiset or map, and their results.

use super::mark;

/// Which structure a table belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Set = 0,
    Multiset = 1,
    Map = 2,
}

impl Kind {
    /// The mark of its control blocks.
    pub(crate) fn mark(self) -> u64 {
        match self {
            Self::Set => mark::SET,
            Self::Multiset => mark::MULTISET,
            Self::Map => mark::MAP,
        }
    }

    /// The mark of its tables.
    pub(crate) fn table_mark(self) -> u64 {
        !self.mark()
    }

    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::Set, Self::Multiset, Self::Map].into_iter().find(|kind| *kind as u64 == number)
    }
}

/// What is to be done with a bucket, or from a bucket on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Look for a key; `extra` says how many bytes of the value are wanted.
    Find = 0,
    /// Insert a key; `extra` is the value's length, or how often.
    Insert = 1,
    /// Remove a key once; with `extra`, however often it is there.
    Remove = 2,
    /// The element after one, or the first from a bucket on; with `extra`, its bytes.
    Next = 3,
    /// Take out the first element from a bucket on, with its bytes.
    Take = 4,
    /// Free elements from a bucket on; says at which bucket to continue.
    Clear = 5,
}

impl Task {
    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::Find, Self::Insert, Self::Remove, Self::Next, Self::Take, Self::Clear]
            .into_iter()
            .find(|task| *task as u64 == number)
    }
}

/// A task with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) task: Task,
    pub(crate) kind: Kind,
    /// The table's address.
    pub(crate) table: u64,
    /// The structure's.
    pub(crate) structure: u64,
    pub(crate) slot: u64,
    /// An element, for [`Task::Next`].
    pub(crate) elem: u64,
    pub(crate) extra: u64,
    pub(crate) key: u64,
    /// The key, then the value.
    pub(crate) data: Vec<u8>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The element; 0 if there is none.
    pub(crate) elem: u64,
    pub(crate) slot: u64,
    /// Bytes of its key.
    pub(crate) key: u64,
    /// Bytes of its value, or how often it is there.
    pub(crate) extra: u64,
    /// Whether something was inserted or removed.
    pub(crate) done: bool,
    /// The value as far as it was wanted, or key and value.
    pub(crate) data: Vec<u8>,
}
