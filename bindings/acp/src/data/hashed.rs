//! Sets, multisets and maps: elements by key, in tables of several processes.
//!
//! The control block's body says how many tables there are, how many buckets each has, and the
//! number that names the structure. Behind it are the tables' addresses, which stay as they are.
//! A key's bytes alone say which table and which bucket it belongs to. So a key costs two round
//! trips at most: one for the table's address, one for the work, which the table's owner does where
//! the table is not mapped here (`table_messages.rs`).
//!
//! Calls that concern one key are done as a whole. Those that concern many do one key after the
//! other: others may see them half done. Tables of one process follow each other, so that its own
//! elements do, too.

use super::bucket::{BYTES, padded};
use super::control::{size_of_block, sum};
use super::list::fresh_number;
use super::table_words::{Found, Kind, Order, Task};
use super::{Element, Pair};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;

/// A set, multiset or map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Hashed {
    /// Its control block; 0 is none.
    pub ga: u64,
    /// How many tables there are.
    pub ranks: u64,
    /// How many buckets each of them has.
    pub slots: u64,
}

/// An iterator: an element and where it is. Behind the last element, `elem` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HashedIt {
    /// The structure.
    pub of: Hashed,
    /// The number of the table.
    pub rank: i32,
    /// The bucket.
    pub slot: i32,
    /// The element.
    pub elem: u64,
}

/// Words of the control block's body: tables, buckets, number.
pub(super) const WORDS: usize = 3;
const DIRECTORY: u64 = size_of_block(WORDS);

/// A number that all processes find for a key.
fn hash(key: &[u8]) -> u64 {
    key.chunks(8).fold(sum(key.len() as u64, &[]), |seed, chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        sum(seed, &[u64::from_le_bytes(word)])
    })
}

impl HashedIt {
    /// Says that this is no element's.
    fn is_none<T>(self) -> Result<T> {
        Err(Error::Iterator).at("the iterator's element", self.elem)
    }
}

impl Hashed {
    fn end(self) -> HashedIt {
        HashedIt { of: self, rank: self.ranks as i32, slot: 0, elem: 0 }
    }

    /// Table and bucket of a key.
    fn place(self, key: &[u8]) -> Result<(u64, u64)> {
        if self.ranks == 0 || self.slots == 0 {
            return Err(Error::Structure);
        }
        let hash = hash(key);
        Ok((hash / self.slots % self.ranks, hash % self.slots))
    }

    fn order(self, kind: Kind, task: Task, table: u64) -> Order {
        let structure = self.ga;
        Order { task, kind, table, structure, slot: 0, elem: 0, extra: 0, key: 0, data: Vec::new() }
    }
}

/// Key and value of an element, apart.
pub(super) fn apart(found: &Found) -> Result<(&[u8], &[u8])> {
    found.data.split_at_checked(found.key as usize).ok_or(Error::Internal)
}

/// Tables.
impl Process {
    fn check_hashed(&self, kind: Kind, of: Hashed) -> Result {
        let [ranks, slots, _]: [u64; WORDS] = self.load(of.ga, kind.mark())?;
        if ranks != of.ranks {
            return Err(Error::Structure).size_of("the structure's num_ranks", of.ranks);
        }
        if slots != of.slots {
            return Err(Error::Structure).size_of("the structure's num_slots", of.slots);
        }
        Ok(())
    }

    /// The address of one table. That of another process's structure is checked by who has it.
    fn table_of(&self, kind: Kind, of: Hashed, index: u64) -> Result<u64> {
        if self.world().mapped(of.ga, DIRECTORY).is_some() || of.ga == 0 || !of.ga.is_multiple_of(16) {
            self.check_hashed(kind, of)?;
        }
        if index >= of.ranks {
            return Err(Error::Iterator);
        }
        let entry = index.checked_mul(8).and_then(|at| of.ga.checked_add(DIRECTORY)?.checked_add(at));
        let mut table = [0];
        self.read_words(entry.ok_or(Error::Structure)?, &mut table)?;
        Ok(table[0])
    }

    /// The tables from one index to before another one.
    pub(super) fn tables(&self, kind: Kind, of: Hashed, local: bool) -> Result<Vec<(u64, u64)>> {
        self.check_hashed(kind, of)?;
        let mut tables = vec![0; of.ranks as usize];
        self.read_words(of.ga + DIRECTORY, &mut tables)?;
        let mine = self.world().rank;
        let mut chosen = Vec::new();
        for (index, table) in (0..).zip(tables) {
            if !local || self.world().rank_of(table)? == mine {
                chosen.push((index, table));
            }
        }
        Ok(chosen)
    }

    /// Makes a structure with a table for each of the ranks, and its control block with another.
    pub(crate) fn create_hashed(&self, kind: Kind, ranks: &[i32], slots: i32, rank: u32) -> Result<Hashed> {
        let known = u64::try_from(slots).ok().filter(|slots| *slots > 0);
        let slots = known.ok_or(Error::Size).of("num_slots", slots)?;
        if ranks.is_empty() {
            return Err(Error::Size);
        }
        let mut wanted = Vec::new();
        for rank in ranks {
            let known = u32::try_from(*rank).ok().filter(|rank| *rank < self.context.tasks());
            wanted.push(known.ok_or(Error::Rank).of("ranks", *rank)?);
        }
        wanted.sort_unstable();
        let number = fresh_number(self);
        let body = [wanted.len() as u64, slots, number];
        let at = self.allocate(DIRECTORY + 8 * body[0], rank)?;
        let mut tables = Vec::new();
        let made = wanted.iter().try_for_each(|rank| {
            let table = self.create_table(kind, slots, number, *rank)?;
            tables.push(table);
            self.name_table(table, at)
        });
        let mut words = vec![kind.mark(), 0, sum(kind.mark(), &body)];
        words.extend_from_slice(&body);
        words.extend_from_slice(&tables);
        made.and_then(|()| self.write_words(at, &words)).inspect_err(|_| {
            tables.iter().for_each(|table| {
                let _ = self.free(*table);
            });
            let _ = self.free(at);
        })?;
        Ok(Hashed { ga: at, ranks: body[0], slots })
    }

    /// Gives a structure's memory back.
    pub(crate) fn destroy_hashed(&self, kind: Kind, of: Hashed) -> Result {
        let tables = self.tables(kind, of, false)?;
        let held = self.hold::<WORDS>(of.ga, kind.mark())?;
        for &(_, table) in &tables {
            self.clear_table(kind, of, table)?;
            self.write_words(table, &[0, 0])?;
            self.free(table)?;
        }
        held.destroy()
    }

    fn clear_table(&self, kind: Kind, of: Hashed, table: u64) -> Result {
        let mut order = of.order(kind, Task::Clear, table);
        loop {
            let found = self.on_table(&order)?;
            if found.done {
                return Ok(());
            }
            order.slot = found.slot;
        }
    }
}

/// One key.
impl Process {
    fn key_order(&self, kind: Kind, task: Task, of: Hashed, key: Vec<u8>) -> Result<Order> {
        if key.is_empty() {
            return Err(Error::Size);
        }
        let (index, slot) = of.place(&key)?;
        let table = self.table_of(kind, of, index)?;
        Ok(Order { slot, key: key.len() as u64, data: key, ..of.order(kind, task, table) })
    }

    fn key_bytes(&self, key: Element) -> Result<Vec<u8>> {
        if key.size == 0 {
            return Err(Error::Size).of("the key's size", 0);
        }
        self.read_bytes(key.ga, key.size as u64).at("the key's address", key.ga)
    }

    /// Looks for a key; gives its place, or the end.
    pub(crate) fn find_hashed(&self, kind: Kind, of: Hashed, key: Element) -> Result<HashedIt> {
        let key = self.key_bytes(key)?;
        let (rank, slot) = of.place(&key)?;
        let found = self.on_table(&self.key_order(kind, Task::Find, of, key)?)?;
        if found.elem == 0 {
            return Ok(of.end());
        }
        Ok(HashedIt { of, rank: rank as i32, slot: slot as i32, elem: found.elem })
    }

    /// How often a key is there.
    pub(crate) fn count_hashed(&self, of: Hashed, key: Element) -> Result<u64> {
        let order = self.key_order(Kind::Multiset, Task::Find, of, self.key_bytes(key)?)?;
        self.on_table(&order).map(|found| found.extra)
    }

    /// Looks for a key, with so many bytes of its value.
    pub(crate) fn value_of(&self, of: Hashed, key: &[u8], room: u64) -> Result<Found> {
        let order = self.key_order(Kind::Map, Task::Find, of, key.to_vec())?;
        self.on_table(&Order { extra: room, ..order })
    }

    /// Copies a key's value to where `pair` says; gives the bytes copied, 0 without such a key.
    pub(crate) fn retrieve(&self, of: Hashed, pair: Pair) -> Result<u64> {
        let found = self.value_of(of, &self.key_bytes(pair.first)?, pair.second.size as u64)?;
        if !found.data.is_empty() {
            let ga = pair.second.ga;
            self.write_bytes(ga, &found.data).at("the value's address", ga)?;
        }
        Ok(found.data.len() as u64)
    }

    /// Inserts a key if it is not there, or once more into a multiset; says whether it did.
    pub(crate) fn insert_hashed(&self, kind: Kind, of: Hashed, pair: Pair) -> Result<bool> {
        let key = self.key_bytes(pair.first)?;
        let (value, extra) = match kind {
            Kind::Set => (Vec::new(), 0),
            Kind::Multiset => (Vec::new(), 1),
            Kind::Map if pair.second.size == 0 => (Vec::new(), 0),
            Kind::Map => {
                let Element { ga, size } = pair.second;
                (self.read_bytes(ga, size as u64).at("the value's address", ga)?, size as u64)
            }
        };
        self.insert_bytes(kind, of, (&key, &value), extra)
    }

    /// Inserts a key with its value; `extra` is the value's length, or how often.
    pub(crate) fn insert_bytes(
        &self,
        kind: Kind,
        of: Hashed,
        (key, value): (&[u8], &[u8]),
        extra: u64,
    ) -> Result<bool> {
        let mut order = self.key_order(kind, Task::Insert, of, key.to_vec())?;
        order.data.extend_from_slice(value);
        order.extra = extra;
        self.on_table(&order).map(|found| found.done)
    }

    /// Removes a key, or one of its occurrences in a multiset, or all of them.
    pub(crate) fn remove_hashed(&self, kind: Kind, of: Hashed, key: Element, all: bool) -> Result {
        self.remove_bytes(kind, of, &self.key_bytes(key)?, all).map(drop)
    }

    /// As [`remove_hashed`](Self::remove_hashed); says whether the key was there.
    pub(crate) fn remove_bytes(&self, kind: Kind, of: Hashed, key: &[u8], all: bool) -> Result<bool> {
        let order = self.key_order(kind, Task::Remove, of, key.to_vec())?;
        self.on_table(&Order { extra: u64::from(all), ..order }).map(|found| found.done)
    }
}

/// Iterators.
impl Process {
    /// The first element from a table on, or the end.
    fn first_from(&self, kind: Kind, of: Hashed, index: u64) -> Result<HashedIt> {
        let tables = self.tables(kind, of, false)?;
        for &(index, table) in tables.iter().skip(index as usize) {
            let found = self.on_table(&of.order(kind, Task::Next, table))?;
            if found.elem != 0 {
                return Ok(HashedIt { of, rank: index as i32, slot: found.slot as i32, elem: found.elem });
            }
        }
        Ok(of.end())
    }

    /// The first element, or with `local` the first of this process's own.
    pub(crate) fn begin_hashed(&self, kind: Kind, of: Hashed, local: bool) -> Result<HashedIt> {
        match self.tables(kind, of, local)?.first() {
            Some(&(index, _)) => self.first_from(kind, of, index),
            None => Ok(of.end()),
        }
    }

    /// The last of this process's own tables, which follow each other.
    pub(crate) fn last_own_table(&self, kind: Kind, of: Hashed) -> Result<Option<i32>> {
        Ok(self.tables(kind, of, true)?.last().map(|&(index, _)| index as i32))
    }

    /// What is behind the last element, or behind the last one of this process's own.
    pub(crate) fn end_hashed(&self, kind: Kind, of: Hashed, local: bool) -> Result<HashedIt> {
        match self.tables(kind, of, local)?.last() {
            Some(&(index, _)) if local => self.first_from(kind, of, index + 1),
            _ => Ok(of.end()),
        }
    }

    /// The next element, or the end.
    pub(crate) fn next_hashed(&self, kind: Kind, it: HashedIt) -> Result<HashedIt> {
        let (index, slot) = (u64::try_from(it.rank), u64::try_from(it.slot));
        let (Ok(index), Ok(slot), true) = (index, slot, it.elem != 0) else { return it.is_none() };
        let table = self.table_of(kind, it.of, index).at("the iterator's element", it.elem)?;
        let order = Order { slot, elem: it.elem, ..it.of.order(kind, Task::Next, table) };
        let found = self.on_table(&order).at("the iterator's element", it.elem)?;
        if found.elem == 0 {
            return self.first_from(kind, it.of, index + 1);
        }
        Ok(HashedIt { slot: found.slot as i32, elem: found.elem, ..it })
    }

    /// Where an element's key and value are.
    pub(crate) fn dereference_hashed(&self, kind: Kind, it: HashedIt) -> Result<Pair> {
        let [_, _, number]: [u64; WORDS] = self.load(it.of.ga, kind.mark())?;
        if it.elem == 0 || !it.elem.is_multiple_of(16) {
            return it.is_none();
        }
        let mut words = [0; 4];
        self.read_words(it.elem, &mut words).at("the iterator's element", it.elem)?;
        let [owner, _, key, extra] = words;
        if owner != number {
            return it.is_none();
        }
        let first = Element { ga: it.elem + BYTES, size: key as usize };
        let second = match kind {
            Kind::Map if extra > 0 => Element { ga: first.ga + padded(key), size: extra as usize },
            _ => Element::default(),
        };
        Ok(Pair { first, second })
    }
}

/// Many keys.
impl Process {
    /// How many elements there are; with `local`, of this process's own.
    pub(crate) fn count_of(&self, kind: Kind, of: Hashed, local: bool) -> Result<u64> {
        self.tables(kind, of, local)?.iter().map(|&(_, table)| self.elements_of_table(table)).sum()
    }

    /// Frees all elements, or this process's own.
    pub(crate) fn clear_hashed(&self, kind: Kind, of: Hashed, local: bool) -> Result {
        self.tables(kind, of, local)?.iter().try_for_each(|&(_, table)| self.clear_table(kind, of, table))
    }

    /// Inserts copies of another's elements; those whose keys are there stay as they are, and are
    /// counted up in multisets.
    pub(crate) fn merge_hashed(&self, kind: Kind, to: Hashed, from: Hashed, local: bool) -> Result {
        self.check_hashed(kind, to)?;
        let tables = self.tables(kind, from, local)?;
        if to.ga == from.ga {
            return Ok(());
        }
        tables.iter().try_for_each(|&(_, table)| {
            self.each_of_table(kind, from, table, |found| {
                self.insert_bytes(kind, to, apart(found)?, found.extra).map(drop)
            })
        })
    }

    /// Shows `f` a table's elements with their bytes. They stay where they are. The elements of a
    /// bucket are read at once, so that what others insert and remove meanwhile neither ends this
    /// nor has it meet an element twice.
    pub(super) fn each_of_table(
        &self,
        kind: Kind,
        of: Hashed,
        table: u64,
        mut f: impl FnMut(&Found) -> Result,
    ) -> Result {
        let mut order = of.order(kind, Task::Bucket, table);
        loop {
            let bucket = self.on_table(&order)?;
            if !bucket.done {
                return Ok(());
            }
            bucket.all()?.iter().try_for_each(&mut f)?;
            order.slot = bucket.slot + 1;
        }
    }

    /// Makes a structure equal to another one, or to what this process has of it.
    pub(crate) fn assign_hashed(&self, kind: Kind, to: Hashed, from: Hashed, local: bool) -> Result {
        self.check_hashed(kind, from)?;
        if to.ga == from.ga {
            return self.check_hashed(kind, to);
        }
        self.clear_hashed(kind, to, false)?;
        self.merge_hashed(kind, to, from, local)
    }

    /// Moves elements from another structure; those whose keys are there already are freed.
    pub(crate) fn move_hashed(&self, kind: Kind, to: Hashed, from: Hashed, local: bool) -> Result {
        self.check_hashed(kind, to)?;
        let tables = self.tables(kind, from, local)?;
        if to.ga == from.ga {
            return Ok(());
        }
        tables.iter().try_for_each(|&(_, table)| {
            self.drain(kind, from, table, |found| {
                self.insert_bytes(kind, to, apart(found)?, found.extra).map(drop)
            })
        })
    }

    /// Takes a table's elements out one by one. One that `f` fails with goes back.
    fn drain(&self, kind: Kind, of: Hashed, table: u64, mut f: impl FnMut(&Found) -> Result) -> Result {
        let mut order = of.order(kind, Task::Take, table);
        loop {
            let found = self.on_table(&order)?;
            if !found.done {
                return Ok(());
            }
            f(&found).inspect_err(|_| {
                let _ = apart(&found).and_then(|bytes| self.insert_bytes(kind, of, bytes, found.extra));
            })?;
            order.slot = found.slot;
        }
    }

    /// Exchanges what two structures have.
    pub(crate) fn swap_hashed(&self, kind: Kind, one: Hashed, other: Hashed) -> Result {
        self.check_hashed(kind, other)?;
        let tables = self.tables(kind, one, false)?;
        if one.ga == other.ga {
            return Ok(());
        }
        let mut aside = Vec::new();
        for &(_, table) in &tables {
            self.drain(kind, one, table, |found| {
                aside.push(found.clone());
                Ok(())
            })?;
        }
        let moved = self.move_hashed(kind, one, other, false);
        // What did not fit elsewhere fits where it was: others may see the two half exchanged.
        let target = if moved.is_ok() { other } else { one };
        let mut outcome = moved;
        for found in &aside {
            let inserted = apart(found).and_then(|bytes| self.insert_bytes(kind, target, bytes, found.extra));
            outcome = outcome.and(inserted.map(drop));
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spread_over_tables_and_buckets() {
        let of = Hashed { ga: 16, ranks: 3, slots: 7 };
        let mut hits = [0_u32; 21];
        for key in 0..21_000_u32 {
            let (table, slot) = of.place(&key.to_le_bytes()).unwrap();
            hits[(table * 7 + slot) as usize] += 1;
        }
        assert!(hits.iter().all(|hits| (800..1200).contains(hits)), "{hits:?}");
        assert_ne!(hash(b"a"), hash(b"a\0"));
        assert_ne!(hash(b"12345678a"), hash(b"a12345678"));
        assert_eq!(Hashed::default().place(b"a"), Err(Error::Structure));
    }
}
