//! Tables of buckets, as they lie in memory: what sets, multisets and maps have in the memory of
//! each of their processes.
//!
//! A table is a head of six words (mark, structure, buckets, number, elements, 0) and its buckets
//! of four: lock, version, first element, elements. An element is four words (the table's number,
//! the next one, bytes of the key, and bytes of the value or how often the key is there), then the
//! key, padded to words, then the value.
//!
//! Whoever changes a bucket holds its lock, and its version is odd meanwhile. Readers take no lock:
//! what they read while the version changed is read again. All of it is memory that is mapped here.

use super::table_words::{Found, Kind, Order};
use crate::error::{Error, Result};
use crate::operation::{Atomic, Operator, apply, move_bytes};
use crate::process::Process;
use lapis_core::sync::{Ordering, fence};

/// Words of a table's head, and of a bucket.
const HEAD: u64 = 6;
const BUCKET: u64 = 4;
pub(super) const ELEMENTS: u64 = 4 * 8;
const VERSION: u64 = 8;
const FIRST: u64 = 16;
/// Bytes before an element's key.
pub(crate) const BYTES: u64 = 32;
pub(super) const NEXT: u64 = 8;
pub(super) const EXTRA: u64 = 24;
/// How often a bucket is read again that nobody seems to change.
const TRIES: u32 = 2000;

/// Bytes of a table.
pub(crate) fn size_of_table(slots: u64) -> Result<u64> {
    slots.checked_mul(BUCKET).and_then(|words| (words + HEAD).checked_mul(8)).ok_or(Error::Size)
}

/// How far an element's value is from its key.
pub(crate) fn padded(key: u64) -> u64 {
    key.next_multiple_of(8)
}

/// Who waits while others change a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A caller, until its turn has come.
    Caller,
    /// A handler, which must not: the origin asks again.
    Handler,
}

impl Patience {
    pub(super) fn pause(self, process: &Process, tries: u32) -> Result {
        match self {
            Self::Caller => process.pause(tries),
            Self::Handler if tries < 50 => {
                std::thread::yield_now();
                Ok(())
            }
            Self::Handler => Err(Error::Busy),
        }
    }
}

/// A table that was found to be one.
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub(super) at: u64,
    pub(super) kind: Kind,
    pub(super) slots: u64,
    pub(super) number: u64,
}

impl Table {
    fn bucket(&self, slot: u64) -> Result<u64> {
        if slot < self.slots { Ok(self.at + 8 * (HEAD + BUCKET * slot)) } else { Err(Error::Iterator) }
    }
}

/// A bucket as it was read: whole if `version` is still the same.
pub(super) struct Bucket<'a> {
    pub(super) process: &'a Process,
    pub(super) table: Table,
    pub(super) at: u64,
    pub(super) version: u64,
    pub(super) first: u64,
    pub(super) elements: u64,
}

/// What precedes an element's key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) at: u64,
    pub(super) next: u64,
    pub(super) key: u64,
    pub(super) extra: u64,
}

impl Bucket<'_> {
    /// Fails if the bucket was changed since it was read.
    pub(super) fn same(&self) -> Result {
        let [version] = self.process.near_words(self.at + VERSION)?;
        if version == self.version { Ok(()) } else { Err(Error::Busy) }
    }

    pub(super) fn entry(&self, at: u64) -> Result<Entry> {
        if at == 0 || !at.is_multiple_of(16) {
            return Err(Error::Iterator);
        }
        let [number, next, key, extra] = self.process.near_words(at)?;
        if number == self.table.number { Ok(Entry { at, next, key, extra }) } else { Err(Error::Iterator) }
    }

    /// The element with a key, and the one before it or 0.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<(Entry, u64)>> {
        let (mut at, mut before) = (self.first, 0);
        for _ in 0..self.elements {
            let entry = self.entry(at)?;
            if entry.key == key.len() as u64 && self.process.near_equals(at + BYTES, key)? {
                return Ok(Some((entry, before)));
            }
            (before, at) = (at, entry.next);
        }
        Ok(None)
    }

    /// What callers get of an element.
    pub(super) fn found(&self, entry: Entry, slot: u64) -> Found {
        Found { elem: entry.at, slot, key: entry.key, extra: entry.extra, ..Found::default() }
    }

    pub(super) fn value(&self, entry: Entry) -> u64 {
        if self.table.kind == Kind::Map { entry.extra } else { 0 }
    }

    /// Key and value.
    pub(super) fn bytes(&self, entry: Entry) -> Result<Vec<u8>> {
        // Lengths that were being written are no lengths.
        self.same()?;
        let mut data = self.process.near_bytes(entry.at + BYTES, entry.key)?;
        data.extend(self.process.near_bytes(entry.at + BYTES + padded(entry.key), self.value(entry))?);
        Ok(data)
    }

    /// All elements with key and value, one behind the other.
    pub(super) fn all(&self, slot: u64) -> Result<Vec<u8>> {
        let (mut at, mut all) = (self.first, Vec::new());
        for _ in 0..self.elements {
            let entry = self.entry(at)?;
            Found { data: self.bytes(entry)?, ..self.found(entry, slot) }.put(&mut all);
            at = entry.next;
        }
        Ok(all)
    }
}

/// A bucket that others can't change until this is dropped.
pub(super) struct Taken<'a>(pub(super) Bucket<'a>);

impl Taken<'_> {
    /// Makes a change that readers don't see the half of.
    pub(super) fn change(&mut self, f: impl FnOnce(&mut Bucket<'_>) -> Result) -> Result {
        let bucket = &mut self.0;
        let process = bucket.process;
        process.near_write(bucket.at + VERSION, &[bucket.version + 1])?;
        // SYNC: Release, with the Acquire of `near_words`: who sees a word of the change sees that
        // the version is odd, or has changed.
        fence(Ordering::Release);
        let outcome = f(bucket);
        process.near_write(bucket.at + FIRST, &[bucket.first, bucket.elements])?;
        bucket.version += 2;
        process.near_write(bucket.at + VERSION, &[bucket.version])?;
        outcome
    }

    /// Takes an element out.
    pub(super) fn unlink(&mut self, entry: Entry, before: u64) -> Result {
        self.change(|bucket| {
            if before == 0 {
                bucket.first = entry.next;
            } else {
                bucket.process.near_write(before + NEXT, &[entry.next])?;
            }
            bucket.elements -= 1;
            bucket.process.near_write(entry.at, &[0])
        })?;
        self.0.process.near_add(self.0.table.at + ELEMENTS, u64::MAX)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // It was mapped when the lock was taken, and is.
        let _ = self.0.process.near_write(self.0.at, &[0]);
    }
}

/// Memory that is mapped here.
impl Process {
    fn near(&self, at: u64, len: u64) -> Result<*mut u8> {
        self.world().mapped(at, len).ok_or(Error::Structure)
    }

    fn near_words<const N: usize>(&self, at: u64) -> Result<[u64; N]> {
        let from = self.near(at, 8 * N as u64)?;
        let mut words = [0; N];
        // SAFETY: both have this length.
        unsafe { move_bytes(words.as_mut_ptr().cast(), from, 8 * N) };
        // SYNC: Acquire pairs with the release of whoever wrote: what a word that was just read
        // speaks of is seen by the reads that follow, and those precede the next reading.
        fence(Ordering::Acquire);
        Ok(words)
    }

    pub(super) fn near_write(&self, at: u64, words: &[u64]) -> Result {
        let to = self.near(at, size_of_val(words) as u64)?;
        // SAFETY: both have this length.
        unsafe { move_bytes(to, words.as_ptr().cast(), size_of_val(words)) };
        Ok(())
    }

    pub(super) fn near_store(&self, at: u64, bytes: &[u8]) -> Result {
        let to = self.near(at, bytes.len() as u64)?;
        // SAFETY: both have this length.
        unsafe { move_bytes(to, bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    pub(super) fn near_bytes(&self, at: u64, len: u64) -> Result<Vec<u8>> {
        let from = self.near(at, len)?;
        let mut bytes = vec![0; len as usize];
        // SAFETY: both have this length.
        unsafe { move_bytes(bytes.as_mut_ptr(), from, bytes.len()) };
        // SYNC: Acquire: precedes the next reading of the version.
        fence(Ordering::Acquire);
        Ok(bytes)
    }

    fn near_equals(&self, at: u64, bytes: &[u8]) -> Result<bool> {
        let from = self.near(at, bytes.len() as u64)?;
        let mut part = [0_u8; 64];
        for (at, wanted) in (0..).step_by(part.len()).zip(bytes.chunks(part.len())) {
            // SAFETY: within the bytes that are mapped, and within the part.
            unsafe { move_bytes(part.as_mut_ptr(), from.add(at), wanted.len()) };
            if part.get(..wanted.len()) != Some(wanted) {
                return Ok(false);
            }
        }
        // SYNC: Acquire: precedes the next reading of the version.
        fence(Ordering::Acquire);
        Ok(true)
    }

    pub(super) fn near_add(&self, at: u64, operand: u64) -> Result {
        let word = self.near(at, 8)?;
        // SAFETY: mapped, and aligned as tables are.
        unsafe { apply(word, Atomic { operator: Operator::Add, width: 8, operand, compare: 0 }) };
        Ok(())
    }

    fn near_swap(&self, at: u64, old: u64, new: u64) -> Result<u64> {
        let word = self.near(at, 8)?;
        let atomic = Atomic { operator: Operator::CompareAndSwap, width: 8, operand: new, compare: old };
        // SAFETY: mapped, and aligned as tables are.
        Ok(unsafe { apply(word, atomic) })
    }
}

/// Tables that are mapped here.
impl Process {
    /// Makes a table in a process's memory.
    pub(crate) fn create_table(&self, kind: Kind, slots: u64, number: u64, rank: u32) -> Result<u64> {
        let size = size_of_table(slots)?;
        let at = self.allocate(size, rank)?;
        let head = [kind.table_mark(), 0, slots, number, 0, 0];
        self.write_zeros(at + 8 * HEAD, size - 8 * HEAD)
            .and_then(|()| self.write_words(at, &head))
            .inspect_err(|_| {
                let _ = self.free(at);
            })?;
        Ok(at)
    }

    /// Says which structure a table belongs to.
    pub(crate) fn name_table(&self, at: u64, structure: u64) -> Result {
        self.write_words(at + 8, &[structure])
    }

    /// How many elements a table has, wherever it is.
    pub(crate) fn elements_of_table(&self, at: u64) -> Result<u64> {
        let mut word = [0];
        self.read_words(at + ELEMENTS, &mut word)?;
        Ok(word[0])
    }

    pub(super) fn table(&self, order: &Order) -> Result<Table> {
        if order.table == 0 || !order.table.is_multiple_of(16) {
            return Err(Error::Structure);
        }
        let [mark, structure, slots, number, ..] = self.near_words::<6>(order.table)?;
        if mark != order.kind.table_mark() || structure != order.structure {
            return Err(Error::Structure);
        }
        Ok(Table { at: order.table, kind: order.kind, slots, number })
    }

    pub(super) fn bucket(&self, table: Table, slot: u64) -> Result<(Bucket<'_>, u64)> {
        let at = table.bucket(slot)?;
        // The version precedes what it stands for: one copy might read it last.
        let [lock, version] = self.near_words(at)?;
        let [first, elements] = self.near_words(at + FIRST)?;
        Ok((Bucket { process: self, table, at, version, first, elements }, lock))
    }

    /// Reads a bucket until nobody changed it meanwhile.
    pub(super) fn look<T>(
        &self,
        (table, slot): (Table, u64),
        patience: Patience,
        mut f: impl FnMut(&Bucket<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut quiet = 0;
        for tries in 0.. {
            let (bucket, lock) = self.bucket(table, slot)?;
            if bucket.version.is_multiple_of(2) {
                let outcome = f(&bucket);
                if bucket.same().is_ok() {
                    return outcome;
                }
            }
            quiet = if lock == 0 { quiet + 1 } else { 0 };
            if quiet > TRIES && !bucket.version.is_multiple_of(2) {
                return Err(Error::Structure);
            }
            self.check_holder(lock)?;
            patience.pause(self, tries)?;
        }
        Err(Error::Internal)
    }

    pub(super) fn take_bucket(&self, order: &Order, slot: u64, patience: Patience) -> Result<Taken<'_>> {
        let at = self.table(order)?.bucket(slot)?;
        let mine = u64::from(self.world().rank) + 1;
        for tries in 0.. {
            let holder = self.near_swap(at, 0, mine)?;
            if holder == 0 {
                // The structure may have been destroyed meanwhile, and the memory be another's.
                let taken = self.table(order).and_then(|table| self.bucket(table, slot));
                return match taken {
                    Ok((bucket, _)) => Ok(Taken(bucket)),
                    Err(error) => self.near_write(at, &[0]).and(Err(error)),
                };
            }
            self.check_holder(holder)?;
            patience.pause(self, tries)?;
            self.table(order)?;
        }
        Err(Error::Internal)
    }
}
