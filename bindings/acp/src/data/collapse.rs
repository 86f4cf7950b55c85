//! Converting sets to lists, and multisets to sets. The original structure ceases to exist.
//!
//! An element of a bucket and one of a list are laid out alike: four words, then the bytes. So a
//! set's keys become a list's elements where they are, and no memory is needed but the list's
//! control block. A multiset's keys become longer, and are copied.
//!
//! As with [`destroy_hashed`](Process::destroy_hashed), nobody else may use the structure
//! meanwhile.

use super::hashed::{Hashed, WORDS, apart};
use super::table_words::Kind;
use crate::error::{Error, Result};
use crate::process::Process;

impl Process {
    /// Makes a list of a set's keys, each in the process that has it; gives the list.
    pub(crate) fn collapse_set(&self, of: Hashed) -> Result<u64> {
        let tables = self.tables(Kind::Set, of, false)?;
        let held = self.hold::<WORDS>(of.ga, Kind::Set.mark())?;
        let mut keys = Vec::new();
        for &(_, table) in &tables {
            self.each_of_table(Kind::Set, of, table, |found| {
                keys.push((found.elem, found.key));
                Ok(())
            })?;
        }
        // What can fail while everybody lives is done before anything changes.
        let list = self.create_list(0, self.world().rank_of(of.ga)?)?;
        for &(_, table) in &tables {
            self.write_words(table, &[0, 0])?;
        }
        for &(elem, size) in &keys {
            self.write_words(elem, &[0, 0, 0, size])?;
        }
        let elements: Vec<u64> = keys.iter().map(|key| key.0).collect();
        self.relink(&mut self.hold_list(list)?, &elements)?;
        for (_, table) in tables {
            self.free(table)?;
        }
        held.destroy()?;
        Ok(list)
    }

    /// Makes a set of a multiset's keys, with how often each was there in front of it: eight bytes,
    /// the highest first, so that keys sort by it. If it fails, the multiset is as it was.
    pub(crate) fn collapse_multiset(&self, of: Hashed) -> Result<Hashed> {
        let tables = self.tables(Kind::Multiset, of, false)?;
        let rank_of = |ga| self.world().rank_of(ga);
        let ranks = tables.iter().map(|&(_, table)| rank_of(table).map(u32::cast_signed));
        let ranks: Vec<i32> = ranks.collect::<Result<_>>()?;
        let slots = i32::try_from(of.slots).map_err(|_| Error::Structure)?;
        let set = self.create_hashed(Kind::Set, &ranks, slots, rank_of(of.ga)?)?;
        let filled = tables.iter().try_for_each(|&(_, table)| {
            self.each_of_table(Kind::Multiset, of, table, |found| {
                let key = [&found.extra.to_be_bytes(), apart(found)?.0].concat();
                self.insert_bytes(Kind::Set, set, (&key, &[]), 0).map(drop)
            })
        });
        filled.inspect_err(|_| {
            let _ = self.destroy_hashed(Kind::Set, set);
        })?;
        self.destroy_hashed(Kind::Multiset, of)?;
        Ok(set)
    }
}
