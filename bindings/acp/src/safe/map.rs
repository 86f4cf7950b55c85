//! Maps over several processes, with keys and values of plain types.

use super::{Job, Plain, global};
use crate::data::hashed::{Hashed, HashedIt};
use crate::data::table_words::Kind;
use crate::error::{Error, Result};
use std::marker::PhantomData;

/// A map whose keys are distributed over processes. The value can be sent to other processes; the
/// map exists until [`Job::destroy_map`].
#[doc(alias = "acp_map_t")]
pub struct GlobalMap<K, V> {
    of: Hashed,
    marker: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for GlobalMap<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for GlobalMap<K, V> {}

impl<K, V> std::fmt::Debug for GlobalMap<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GlobalMap({:#x})", self.of.ga)
    }
}

// SAFETY: three words of 8 bytes, any of which is one.
unsafe impl<K: Plain, V: Plain> Plain for GlobalMap<K, V> {}

impl Job {
    /// Creates a map whose keys are distributed over all processes, with `buckets` buckets in each.
    ///
    /// # Errors
    /// [`Error::Size`] without buckets, [`Error::Memory`], [`Error::Peer`].
    ///
    /// # Examples
    /// ```
    /// let job = acp::init()?;
    /// let squares = job.create_map::<u64, u64>(64)?;
    /// for n in 0..100 {
    ///     assert!(job.insert(squares, n, n * n)?);
    /// }
    /// assert_eq!(job.get(squares, 12)?, Some(144));
    /// assert_eq!(job.get(squares, 100)?, None);
    /// assert_eq!(job.map_len(squares)?, 100);
    /// job.destroy_map(squares)?;
    /// # Ok::<(), acp::Error>(())
    /// ```
    #[doc(alias = "acp_create_map")]
    pub fn create_map<K: Plain, V: Plain>(&self, buckets: u32) -> Result<GlobalMap<K, V>> {
        let ranks: Vec<i32> = (0..self.procs()).map(u32::cast_signed).collect();
        let buckets = i32::try_from(buckets).map_err(|_| Error::Size)?;
        let of = self.process.create_hashed(Kind::Map, &ranks, buckets, self.rank())?;
        Ok(GlobalMap { of, marker: PhantomData })
    }

    /// Inserts a key with its value unless the key exists. Returns whether it was inserted.
    ///
    /// # Errors
    /// [`Error::Structure`] for a map that was destroyed, [`Error::Memory`], [`Error::Peer`].
    #[doc(alias = "acp_insert_map")]
    pub fn insert<K: Plain, V: Plain>(&self, map: GlobalMap<K, V>, key: K, value: V) -> Result<bool> {
        let bytes = (global::bytes_of(&key), global::bytes_of(&value));
        self.process.insert_bytes(Kind::Map, map.of, bytes, size_of::<V>() as u64)
    }

    /// The value of a key, if it exists.
    ///
    /// # Errors
    /// [`Error::Structure`] for a map that was destroyed, or has values of another size;
    /// [`Error::Peer`].
    #[doc(alias = "acp_retrieve_map")]
    pub fn get<K: Plain, V: Plain>(&self, map: GlobalMap<K, V>, key: K) -> Result<Option<V>> {
        let found = self.process.value_of(map.of, global::bytes_of(&key), size_of::<V>() as u64)?;
        if found.elem == 0 {
            return Ok(None);
        }
        global::from_bytes(&found.data).map(Some).map_err(|_| Error::Structure)
    }

    /// Removes a key. Returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Structure`] for a map that was destroyed, [`Error::Peer`].
    #[doc(alias = "acp_remove_map")]
    pub fn remove<K: Plain, V: Plain>(&self, map: GlobalMap<K, V>, key: K) -> Result<bool> {
        self.process.remove_bytes(Kind::Map, map.of, global::bytes_of(&key), false)
    }

    /// The number of keys.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    #[doc(alias = "acp_size_map")]
    pub fn map_len<K: Plain, V: Plain>(&self, map: GlobalMap<K, V>) -> Result<u64> {
        self.process.count_of(Kind::Map, map.of, false)
    }

    /// The keys and values in the buckets of this process, in any order.
    ///
    /// # Errors
    /// As for [`get`](Self::get); [`Error::Iterator`] if a key is removed meanwhile.
    #[doc(alias = "acp_begin_local_map")]
    pub fn own_entries<K: Plain, V: Plain>(&self, map: GlobalMap<K, V>) -> Result<Vec<(K, V)>> {
        let mut it: HashedIt = self.process.begin_hashed(Kind::Map, map.of, true)?;
        // No element marks the end: others' come and go.
        let last = self.process.last_own_table(Kind::Map, map.of)?;
        let mut entries = Vec::new();
        while it.elem != 0 && last.is_some_and(|last| it.rank <= last) {
            let pair = self.process.dereference_hashed(Kind::Map, it)?;
            let bytes = |of: crate::data::Element| self.process.read_bytes(of.ga, of.size as u64);
            entries
                .push((global::from_bytes(&bytes(pair.first)?)?, global::from_bytes(&bytes(pair.second)?)?));
            it = self.process.next_hashed(Kind::Map, it)?;
        }
        Ok(entries)
    }

    /// Destroys a map and frees its memory.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    #[doc(alias = "acp_destroy_map")]
    pub fn destroy_map<K: Plain, V: Plain>(&self, map: GlobalMap<K, V>) -> Result {
        self.process.destroy_hashed(Kind::Map, map.of)
    }
}
