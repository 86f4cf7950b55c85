//! What is done with a table of a set, multiset or map that is mapped here: by the caller, or by
//! the table's owner for one to whom it is not mapped. `bucket.rs` says how tables lie in memory.
//!
//! Nothing here waits for a message, but for the allocation in another process's heap.

use super::bucket::{BYTES, ELEMENTS, EXTRA, Entry, NEXT, Patience, Table, Taken, padded};
use super::table_words::{Found, Kind, Order, Task};
use crate::error::{Error, Result};
use crate::process::Process;

/// Buckets that one call clears.
const AT_ONCE: u64 = 256;

impl Process {
    /// Does a task; the table is mapped here.
    pub(crate) fn do_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        match order.task {
            Task::Find => self.find_near(order, patience),
            Task::Insert => self.insert_near(order, patience),
            Task::Remove => self.remove_near(order, patience),
            Task::Next => self.next_near(order, patience),
            Task::Take => self.take_near(order, patience),
            Task::Clear => self.clear_near(order, patience),
            Task::Bucket => self.bucket_near(order, patience),
        }
    }

    fn find_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        let key = order.data.get(..order.key as usize).ok_or(Error::Internal)?;
        self.look((self.table(order)?, order.slot), patience, |bucket| {
            let Some((entry, _)) = bucket.find(key)? else { return Ok(Found::default()) };
            let mut found = bucket.found(entry, order.slot);
            let wanted = order.extra.min(bucket.value(entry));
            bucket.same()?;
            found.data = self.near_bytes(entry.at + BYTES + padded(entry.key), wanted)?;
            Ok(found)
        })
    }

    fn insert_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        let (key, value) = order.data.split_at_checked(order.key as usize).ok_or(Error::Internal)?;
        let counts = order.kind == Kind::Multiset;
        let mut fresh = 0;
        let outcome = loop {
            let table = self.table(order)?;
            let there = match self.look((table, order.slot), patience, |bucket| {
                Ok(bucket.find(key)?.map(|(entry, _)| bucket.found(entry, order.slot)))
            }) {
                Ok(Some(found)) if !counts => break Ok(found),
                Ok(there) => there,
                Err(error) => break Err(error),
            };
            if there.is_none() && fresh == 0 {
                fresh = self.make_entry(table, order.extra, (key, value))?;
            }
            let mut taken = match self.take_bucket(order, order.slot, patience) {
                Ok(taken) => taken,
                Err(error) => break Err(error),
            };
            match taken.0.find(key) {
                Ok(Some((mut entry, _))) => {
                    entry.extra = entry.extra.saturating_add(if counts { order.extra } else { 0 });
                    let done = taken.change(|_| self.near_write(entry.at + EXTRA, &[entry.extra]));
                    let found = taken.0.found(entry, order.slot);
                    break done.map(|()| Found { done: counts, ..found });
                }
                Ok(None) if fresh == 0 => {}
                Ok(None) => {
                    let linked = self.link_entry(&mut taken, fresh);
                    let entry = Entry { at: fresh, next: 0, key: order.key, extra: order.extra };
                    fresh = 0;
                    break linked.map(|()| Found { done: true, ..taken.0.found(entry, order.slot) });
                }
                Err(error) => break Err(error),
            }
        };
        if fresh != 0 {
            self.free(fresh)?;
        }
        outcome
    }

    /// Makes an element that no bucket has yet.
    fn make_entry(&self, table: Table, extra: u64, (key, value): (&[u8], &[u8])) -> Result<u64> {
        let rank = self.world().rank_of(table.at)?;
        let key_len = key.len() as u64;
        let at = self.allocate(BYTES + padded(key_len) + value.len() as u64, rank)?;
        self.near_write(at, &[table.number, 0, key_len, extra])
            .and_then(|()| self.near_store(at + BYTES, key))
            .and_then(|()| self.near_store(at + BYTES + padded(key_len), value))
            .inspect_err(|_| {
                let _ = self.free(at);
            })?;
        Ok(at)
    }

    fn link_entry(&self, taken: &mut Taken<'_>, fresh: u64) -> Result {
        self.near_write(fresh + NEXT, &[taken.0.first])?;
        taken.change(|bucket| {
            bucket.first = fresh;
            bucket.elements += 1;
            Ok(())
        })?;
        self.near_add(taken.0.table.at + ELEMENTS, 1)
    }

    fn remove_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        let key = order.data.get(..order.key as usize).ok_or(Error::Internal)?;
        let mut taken = self.take_bucket(order, order.slot, patience)?;
        let Some((entry, before)) = taken.0.find(key)? else { return Ok(Found::default()) };
        let found = Found { done: true, ..taken.0.found(entry, order.slot) };
        if order.kind == Kind::Multiset && order.extra == 0 && entry.extra > 1 {
            taken.change(|_| self.near_write(entry.at + EXTRA, &[entry.extra - 1]))?;
            return Ok(found);
        }
        taken.unlink(entry, before)?;
        drop(taken);
        self.free(entry.at)?;
        Ok(found)
    }

    fn next_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        let table = self.table(order)?;
        let after = |slot: u64, elem: u64| {
            self.look((table, slot), patience, |bucket| {
                let at = if elem == 0 { bucket.first } else { bucket.entry(elem)?.next };
                if at == 0 {
                    return Ok(None);
                }
                Ok(Some(bucket.found(bucket.entry(at)?, slot)))
            })
        };
        let mut elem = order.elem;
        for slot in order.slot..table.slots {
            if let Some(found) = after(slot, std::mem::take(&mut elem))? {
                return Ok(found);
            }
        }
        Ok(Found::default())
    }

    fn bucket_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        let table = self.table(order)?;
        for slot in order.slot..table.slots {
            let data = self.look((table, slot), patience, |bucket| bucket.all(slot))?;
            if !data.is_empty() {
                return Ok(Found { slot, done: true, data, ..Found::default() });
            }
        }
        Ok(Found::default())
    }

    fn take_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        let table = self.table(order)?;
        for slot in order.slot..table.slots {
            if self.bucket(table, slot)?.0.first == 0 {
                continue;
            }
            let mut taken = self.take_bucket(order, slot, patience)?;
            if taken.0.first == 0 {
                continue;
            }
            let entry = taken.0.entry(taken.0.first)?;
            let found = Found { data: taken.0.bytes(entry)?, done: true, ..taken.0.found(entry, slot) };
            taken.unlink(entry, 0)?;
            drop(taken);
            self.free(entry.at)?;
            return Ok(found);
        }
        Ok(Found::default())
    }

    fn clear_near(&self, order: &Order, patience: Patience) -> Result<Found> {
        let table = self.table(order)?;
        let end = table.slots.min(order.slot.saturating_add(AT_ONCE));
        for slot in order.slot..end {
            loop {
                if self.bucket(table, slot)?.0.first == 0 {
                    break;
                }
                let mut taken = self.take_bucket(order, slot, patience)?;
                if taken.0.first == 0 {
                    break;
                }
                let entry = taken.0.entry(taken.0.first)?;
                taken.unlink(entry, 0)?;
                drop(taken);
                self.free(entry.at)?;
            }
        }
        Ok(Found { slot: end, done: end == table.slots, ..Found::default() })
    }
}
