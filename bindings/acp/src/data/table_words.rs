//! Orders to operate on a table of a set, multiset or map, and their results.

use super::mark;
use crate::error::{Error, Result};

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
    /// The element after one, or the first from a bucket on.
    Next = 3,
    /// Take out the first element from a bucket on, with its bytes.
    Take = 4,
    /// Free elements from a bucket on; says at which bucket to continue.
    Clear = 5,
    /// All elements of the first bucket from one on that has any, as [`Found::all`] reads them.
    Bucket = 6,
}

impl Task {
    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::Find, Self::Insert, Self::Remove, Self::Next, Self::Take, Self::Clear, Self::Bucket]
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
    /// The value as far as it was wanted, or key and value, or a bucket's elements.
    pub(crate) data: Vec<u8>,
}

/// Words in front of an element's bytes, where several elements follow each other.
const WORDS: usize = 4;

impl Found {
    /// Appends an element to those of its bucket.
    pub(super) fn put(&self, all: &mut Vec<u8>) {
        let words: [u64; WORDS] = [self.elem, self.key, self.extra, self.data.len() as u64];
        all.extend(words.into_iter().flat_map(u64::to_le_bytes));
        all.extend_from_slice(&self.data);
    }

    /// The elements of a bucket that was found, each with key and value.
    pub(super) fn all(&self) -> Result<Vec<Self>> {
        let (mut elements, mut rest) = (Vec::new(), self.data.as_slice());
        while !rest.is_empty() {
            let (head, bytes) = rest.split_first_chunk::<{ 8 * WORDS }>().ok_or(Error::Internal)?;
            let mut words = [0; WORDS];
            for (word, bytes) in words.iter_mut().zip(head.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            let [elem, key, extra, len] = words;
            let (data, more) = bytes.split_at_checked(len as usize).ok_or(Error::Internal)?;
            elements.push(Self { elem, slot: self.slot, key, extra, done: false, data: data.to_vec() });
            rest = more;
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elements_of_a_bucket_are_read_as_they_were_put() {
        let element = |elem, key, extra, data: &[u8]| Found {
            elem,
            slot: 3,
            key,
            extra,
            done: false,
            data: data.to_vec(),
        };
        let elements = vec![element(16, 3, 2, b"abcde"), element(32, 1, 7, b"x"), element(48, 0, 0, b"")];
        let mut bucket = Found { slot: 3, ..Found::default() };
        elements.iter().for_each(|element| element.put(&mut bucket.data));
        assert_eq!(bucket.all(), Ok(elements));
        bucket.data.truncate(bucket.data.len() - 1);
        assert_eq!(bucket.all(), Err(Error::Internal));
    }
}
