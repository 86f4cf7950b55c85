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
use crate::process::Process;
use crate::settings::Settings;
use std::marker::PhantomData;

/// This process's part of a job, from [`init`] to [`Job::finalize`] or its end.
///
/// It may be shared with other threads. Dropping it leaves the job as [`finalize`](Self::finalize)
/// does, which waits for the other processes; a panic does not wait.
pub struct Job {
    process: &'static Process,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("rank", &self.rank()).field("procs", &self.procs()).finish()
    }
}

/// Joins the job that the environment announces; returns when all processes have. Sizes of memory
/// are those that acprun added to the command line, where they stay, or the usual ones.
///
/// # Errors
/// [`Error::Option`]: a word of the command line begins with `--acp-` and means nothing.
/// [`Error::Initialized`]: this process is in one. [`Error::Job`]: it can't be joined; a line of
/// the log says why.
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
    enter(Settings::of_command_line).map(|process| Job { process })
}

/// Joins a job with so many bytes of starter memory, and for [`Job::alloc`].
///
/// # Errors
/// As for [`init`], whatever the command line says; [`Error::Size`] for 0 and for what no machine
/// has.
#[doc(alias = "acp_init")]
pub fn with_memory(starter: u64, heap: u64) -> Result<Job> {
    if [starter, heap].iter().any(|bytes| !(1..1 << 44).contains(bytes)) {
        return Err(Error::Size);
    }
    enter(|| Ok(Settings { starter, heap, ..Settings::default() })).map(|process| Job { process })
}

impl Job {
    /// The rank of this process.
    #[doc(alias = "acp_rank")]
    pub fn rank(&self) -> u32 {
        self.process.world().rank
    }

    /// How many processes there are.
    #[doc(alias = "acp_procs")]
    pub fn procs(&self) -> u32 {
        self.process.context.tasks()
    }

    /// Waits until all processes have come here, and for nothing else.
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

    /// Takes memory for `len` values from a process, for everybody. Its bytes are zero.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Memory`], [`Error::Peer`]; [`Error::Size`] for more bytes than
    /// there are.
    #[doc(alias = "acp_malloc")]
    pub fn alloc<T: Plain>(&self, len: u64, rank: u32) -> Result<GlobalSlice<T>> {
        let bytes = len.checked_mul(size_of::<T>() as u64).ok_or(Error::Size)?;
        let address = self.process.allocate(bytes, rank)?;
        self.process.write_zeros(address, bytes).inspect_err(|_| {
            let _ = self.process.free(address);
        })?;
        Ok(GlobalSlice { address, len, marker: PhantomData })
    }

    /// Gives memory back. Others' accesses to it find other memory then, or none; none of them
    /// reaches memory of Rust's.
    ///
    /// # Errors
    /// [`Error::Address`]: [`alloc`](Self::alloc) gave no such memory, or it was freed before.
    #[doc(alias = "acp_free")]
    pub fn free<T: Plain>(&self, memory: GlobalSlice<T>) -> Result {
        self.process.free(memory.address)
    }

    /// Lets everybody reach memory of this process's, with colour 0.
    ///
    /// # Errors
    /// [`Error::Size`] for none, [`Error::Memory`] without addresses left.
    #[doc(alias = "acp_register_memory")]
    pub fn register<T: Plain>(&self, memory: Vec<T>) -> Result<Registered<'_, T>> {
        self.register_with_color(memory, 0)
    }

    /// [`register`](Self::register) for accesses of a colour: they take the rail of that number, if
    /// it works. `color`: from 0, below [`colors`](Self::colors).
    ///
    /// # Errors
    /// As for `register`; [`Error::Color`]: there is no such colour.
    #[doc(alias = "acp_register_memory")]
    pub fn register_with_color<T: Plain>(&self, memory: Vec<T>, color: u32) -> Result<Registered<'_, T>> {
        Registered::new(self, memory, color)
    }

    /// How many colours there are: the fewest rails that a process has, 1 at least.
    #[doc(alias = "acp_colors")]
    pub fn colors(&self) -> u32 {
        self.process.space.colours()
    }

    /// Tells everybody a value, and gives those of all processes, by rank. Collective.
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

    /// Gives everybody the value that one process has; the others' are not looked at. Collective.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::Null`] where that process gave none; [`Error::Peer`]: a process
    /// has died.
    pub fn share<T: Plain>(&self, rank: u32, value: Option<T>) -> Result<T> {
        self.process.world().block(rank)?;
        let bytes = value.as_ref().map_or_else(|| vec![0; size_of::<T>()], |v| global::bytes_of(v).to_vec());
        let mine = [bytes, vec![u8::from(value.is_some() && self.rank() == rank)]].concat();
        let all = self.process.context.all_gather(&mine).map_err(crate::error::of_core)?;
        let given = all.chunks_exact(mine.len()).find(|card| card.last() == Some(&1)).ok_or(Error::Null)?;
        global::from_bytes(given.get(..size_of::<T>()).unwrap_or_default())
    }

    /// Leaves the job when all processes do.
    ///
    /// # Errors
    /// [`Error::Peer`]: a process has died; this one has left, too.
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
