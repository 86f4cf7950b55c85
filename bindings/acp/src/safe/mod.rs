//! The safe layer for Rust programs: a [`Job`], typed places in global memory, and accesses whose
//! order is given by values.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the job: joining, ranks, barriers, allocation |
//! | `global.rs` | places: [`Global`] and [`GlobalSlice`], registered memory |
//! | `access.rs` | copies and atomic operations, their order, and their futures |
//! | `map.rs` | [`GlobalMap`]: keys and values of plain types, over several processes |
//!
//! Nothing in Rust borrows global memory: it is read and written by copies and atomic operations
//! alone, so that whatever other processes do to it breaks no rule of the language. What they may
//! do is tear a value that is longer than a word: order is the program's part, as in C.

mod access;
mod global;
mod map;

pub use access::{Access, After, Fetch, Word};
pub use global::{Global, GlobalSlice, Plain, Registered};
pub use map::GlobalMap;

use crate::error::{Error, Result};
use crate::exports::{enter, leave};
use crate::process::{Lifetime, Process};
use crate::settings::Settings;
use std::marker::PhantomData;

/// This process's membership in a job, from [`init`] to [`Job::finalize`] or drop.
///
/// It can be shared with other threads. Dropping it leaves the job like
/// [`finalize`](Self::finalize), which waits for the other processes; during a panic it does not
/// wait.
pub struct Job {
    process: &'static Process,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("rank", &self.rank()).field("procs", &self.procs()).finish()
    }
}

/// Joins the job that the environment announces. Returns when all processes have called it. Memory
/// sizes are those that acprun added to the command line, where they remain, or the defaults.
///
/// # Errors
/// [`Error::Option`]: the command line has an unknown word that begins with `--acp-`.
/// [`Error::Initialized`]: this process is already in a job. [`Error::Job`]: the job can't be
/// joined; a line of the log gives the reason.
///
/// # Examples
/// A process that no launcher started is a job of one:
/// ```
/// let job = acp::init()?;
/// let numbers = job.alloc::<u64>(100, job.rank())?;
/// job.write(numbers.at(7)?, 42)?;
/// assert_eq!(job.fetch_add(numbers.at(7)?, 1)?, 42);
/// assert_eq!(job.read(numbers.at(7)?)?, 43);
/// job.free(numbers)?;
/// job.finalize()?;
/// # Ok::<(), acp::Error>(())
/// ```
#[doc(alias = "acp_init")]
pub fn init() -> Result<Job> {
    enter(Lifetime::ForEver, Settings::of_command_line).map(|process| Job { process })
}

/// Joins a job with the given sizes, in bytes, of starter memory and of the heap of [`Job::alloc`].
///
/// # Errors
/// As for [`init`], apart from the command line; [`Error::Size`] for 0 and for impossible sizes.
#[doc(alias = "acp_init")]
pub fn with_memory(starter: u64, heap: u64) -> Result<Job> {
    if [starter, heap].iter().any(|bytes| !(1..1 << 44).contains(bytes)) {
        return Err(Error::Size);
    }
    enter(Lifetime::ForEver, || Ok(Settings { starter, heap, ..Settings::default() }))
        .map(|process| Job { process })
}

impl Job {
    /// The rank of this process.
    #[doc(alias = "acp_rank")]
    pub fn rank(&self) -> u32 {
        self.process.world().rank
    }

    /// The number of processes.
    #[doc(alias = "acp_procs")]
    pub fn procs(&self) -> u32 {
        self.process.context.tasks()
    }

    /// Barrier: waits until all processes have called this. It does not wait for accesses.
    ///
    /// # Errors
    /// [`Error::Peer`]: one has died.
    #[doc(alias = "acp_sync")]
    pub fn sync(&self) -> Result {
        self.process.sync()
    }

    /// The starter memory of a process.
    ///
    /// # Errors
    /// [`Error::Rank`].
    #[doc(alias = "acp_query_starter_ga")]
    pub fn starter(&self, rank: u32) -> Result<GlobalSlice<u8>> {
        let world = self.process.world();
        world.block(rank)?;
        let len = world.starter_len(rank)?;
        Ok(GlobalSlice { address: world.space.address(rank, 0), len, marker: PhantomData })
    }

    /// Allocates zeroed memory for `len` values in the heap of process `rank`, accessible to all.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Memory`], [`Error::Peer`]; [`Error::Size`] for sizes beyond the
    /// address space.
    #[doc(alias = "acp_malloc")]
    pub fn alloc<T: Plain>(&self, len: u64, rank: u32) -> Result<GlobalSlice<T>> {
        let bytes = len.checked_mul(size_of::<T>() as u64).ok_or(Error::Size)?;
        let address = self.process.allocate(bytes, rank)?;
        self.process.write_zeros(address, bytes).inspect_err(|_| {
            let _ = self.process.free(address);
        })?;
        Ok(GlobalSlice { address, len, marker: PhantomData })
    }

    /// Frees memory. Later accesses of others to it find other allocations, or fail; they never
    /// reach memory of safe Rust.
    ///
    /// # Errors
    /// [`Error::Address`]: the memory is not of [`alloc`](Self::alloc), or was freed before.
    #[doc(alias = "acp_free")]
    pub fn free<T: Plain>(&self, memory: GlobalSlice<T>) -> Result {
        self.process.free(memory.address)
    }

    /// Registers memory of this process, with colour 0, so that all processes can access it.
    ///
    /// # Errors
    /// [`Error::Size`] for no values, [`Error::Memory`] if no addresses are left.
    #[doc(alias = "acp_register_memory")]
    pub fn register<T: Plain>(&self, memory: Vec<T>) -> Result<Registered<'_, T>> {
        self.register_with_color(memory, 0)
    }

    /// [`register`](Self::register) with a colour: accesses take the rail of that number, if it
    /// works. `color` is at least 0 and below [`colors`](Self::colors).
    ///
    /// # Errors
    /// As for `register`; [`Error::Color`]: there is no such colour.
    #[doc(alias = "acp_register_memory")]
    pub fn register_with_color<T: Plain>(&self, memory: Vec<T>, color: u32) -> Result<Registered<'_, T>> {
        Registered::new(self, memory, color)
    }

    /// The number of colours: the smallest number of rails of any process, at least 1.
    #[doc(alias = "acp_colors")]
    pub fn colors(&self) -> u32 {
        self.process.space.colours()
    }

    /// Allgather: returns the values of all processes, by rank. Collective.
    ///
    /// # Errors
    /// [`Error::Peer`]: a process has died.
    pub fn exchange<T: Plain>(&self, value: T) -> Result<Vec<T>> {
        let mine = [global::bytes_of(&value), &self.rank().to_le_bytes()].concat();
        let all = self.process.context.all_gather(&mine).map_err(crate::error::of_core)?;
        let mut values = vec![value; self.procs() as usize];
        for card in all.chunks_exact(mine.len()) {
            let (bytes, rank) = card.split_at(size_of::<T>());
            let rank = rank.try_into().map_or(u32::MAX, u32::from_le_bytes);
            *values.get_mut(rank as usize).ok_or(Error::Internal)? = global::from_bytes(bytes)?;
        }
        Ok(values)
    }

    /// Broadcast: returns the value of process `rank` at all processes; the others' are ignored.
    /// Collective.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::Null`] if that process passed none; [`Error::Peer`]: a process has
    /// died.
    pub fn share<T: Plain>(&self, rank: u32, value: Option<T>) -> Result<T> {
        self.process.world().block(rank)?;
        let bytes = value.as_ref().map_or_else(|| vec![0; size_of::<T>()], |v| global::bytes_of(v).to_vec());
        let mine = [bytes, vec![u8::from(value.is_some() && self.rank() == rank)]].concat();
        let all = self.process.context.all_gather(&mine).map_err(crate::error::of_core)?;
        let given = all.chunks_exact(mine.len()).find(|card| card.last() == Some(&1)).ok_or(Error::Null)?;
        global::from_bytes(given.get(..size_of::<T>()).unwrap_or_default())
    }

    /// Leaves the job. Collective: waits for all processes.
    ///
    /// # Errors
    /// [`Error::Peer`]: a process has died; this one has left nevertheless.
    #[doc(alias = "acp_finalize")]
    pub fn finalize(self) -> Result {
        std::mem::forget(self);
        leave()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // What failed is in the log; `finalize` is for those who want to know.
            let _ = leave();
        }
    }
}
