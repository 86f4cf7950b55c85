//! How the tasks of a job find each other before any transport exists.
//!
//! A job has a small key-value store with two collective operations, [`Bootstrap::fence`] and
//! [`Bootstrap::exchange`]. The launcher `lapirun` serves it; tasks that another launcher has
//! started (PMIx, PMI-1, PMI-2), or that were started by hand with the guide's standalone variables
//! (LAPI Guide, Chapter 16), serve it among themselves; a program started alone is a job of one
//! task.
//!
//! [`detect()`] reads the environment and joins the job that it announces. An environment that
//! announces several tasks which cannot be reached is an error that names the remedy, never a job
//! of one.
//!
//! ```no_run
//! use std::time::Duration;
//! use lapis_core::bootstrap::{self, Bootstrap};
//!
//! let mut job = bootstrap::detect(&bootstrap::Options::default())?;
//! let wait = Duration::from_secs(30);
//! let cards = job.exchange("card", format!("task {}", job.task()).as_bytes(), wait)?;
//! assert_eq!(cards.len(), job.tasks() as usize);
//! job.finalize()?;
//! # Ok::<(), bootstrap::BootstrapError>(())
//! ```

mod address;
mod auth;
mod client;
mod detect;
mod environment;
mod error;
mod foreign;
mod frame;
mod hosted;
mod key;
mod listed;
mod options;
mod packed;
mod protocol;
mod server;
mod singleton;
mod standalone;
mod store;
mod user_secret;

use std::time::Duration;

pub use address::{Address, Listener, peer_credentials};
pub use auth::random_secret;
pub(crate) use detect::refuse_elevated;
pub use detect::{Announcement, announcement, detect, detect_in, sources};
pub use environment::Environment;
pub use error::BootstrapError;
pub use listed::{Told, listed};
pub use options::Options;
pub use protocol::{MAX_KEY, MAX_TASKS, MAX_VALUE, MOST_MEMORY, ProtocolError};
pub use server::{Server, ServerConfig, ServerEvent};
pub use user_secret::of_user as user_secret;

/// A job of this one task, whatever the environment says.
///
/// # Errors
/// The system gives no random numbers for the job's secret.
pub fn singleton(context: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
    Ok(Box::new(singleton::Singleton::new(context)?))
}

/// Environment variables by which a launcher tells its tasks where the store is.
pub mod variables {
    /// Address of the launcher's store: `unix:@name` or `tcp:host:port`.
    pub const KVS: &str = "LAPIS_KVS";
    /// Identity of the job, different for every run.
    pub const JOB_ID: &str = "LAPIS_JOB_ID";
    /// Secret of the job, 64 hexadecimal digits.
    pub const JOB_SECRET: &str = "LAPIS_JOB_SECRET";
    /// Number of this task, from 0.
    pub const TASK: &str = "LAPIS_TASK";
    /// Number of tasks of the job.
    pub const TASKS: &str = "LAPIS_TASKS";
    /// How many times this task was restarted; not set in its first process.
    pub const RESTARTS: &str = "LAPIS_JOB_RESTARTS";
    /// Seconds that the search for the other tasks may take.
    pub const INIT_TIMEOUT: &str = "LAPIS_INIT_TIMEOUT";
    /// The guide's number of this task.
    pub const MP_CHILD: &str = "MP_CHILD";
    /// The guide's number of tasks.
    pub const MP_PROCS: &str = "MP_PROCS";
    /// The guide's job key.
    pub const MP_PARTITION: &str = "MP_PARTITION";
    /// The guide's list of the other tasks on this node, `count:task:task…`.
    pub const MP_COMMON_TASKS: &str = "MP_COMMON_TASKS";
}

/// Who started the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A launcher that serves the store (`lapirun`, `poe`).
    Launcher,
    /// The guide's standalone variables, set by hand.
    Standalone,
    /// A launcher that speaks PMI-1 or PMI-2 (hydra, Slurm).
    Pmi,
    /// A launcher that speaks PMIx (Open MPI, PRRTE, Slurm).
    Pmix,
    /// The program itself, which knows the addresses of all tasks.
    Listed,
    /// None: a job of one task.
    Singleton,
}

/// What a job's tasks have in common.
#[derive(Clone)]
#[non_exhaustive]
pub struct JobInfo {
    /// Identity, different for every run of a job; the same in all its tasks.
    pub id: String,
    /// The job's secret, the same in all its tasks; keys the authenticators of datagrams.
    pub secret: [u8; 32],
    /// Who started the tasks.
    pub origin: Origin,
    /// The tasks on this task's node, itself included, ascending; `None` if the environment does
    /// not say. A hint: who is really near is for the transports to find out.
    pub local_tasks: Option<Vec<u32>>,
}

impl std::fmt::Debug for JobInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret stays out of logs.
        f.debug_struct("JobInfo")
            .field("id", &self.id)
            .field("origin", &self.origin)
            .field("local_tasks", &self.local_tasks)
            .finish_non_exhaustive()
    }
}

/// How a task came into a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// With all others; a task that dies can't come back.
    Once,
    /// With all others; a task that dies may be restarted and finds what the others have put.
    First,
    /// Into a context that the others are in already, because an earlier process of this task died:
    /// collective operations are over, what the others have put is there.
    Again,
}

/// A task's membership in its job, for one context.
///
/// Every context has its own keys and its own sequence of collective operations, so contexts never
/// mix. A context number that was finalised may be opened again: the job counts how often each task
/// opened it, and the n-th opening of one task meets the n-th opening of the others.
///
/// After an error from [`fence`](Self::fence) or [`exchange`](Self::exchange) the handle is
/// unusable except for [`abort`](Self::abort) and [`finalize`](Self::finalize).
pub trait Bootstrap: Send {
    /// Number of this task, from 0.
    fn task(&self) -> u32;

    /// Number of tasks in the job.
    fn tasks(&self) -> u32;

    /// What the tasks have in common.
    fn job(&self) -> &JobInfo;

    /// Number of the context this handle belongs to.
    fn context_number(&self) -> u32;

    /// How often the context of this number was opened before, by all tasks; 0 if unknown.
    fn generation(&self) -> u32 {
        0
    }

    /// Opens the handle of another context of the same task.
    fn context(&self, number: u32) -> Result<Box<dyn Bootstrap>, BootstrapError>;

    /// Stores `value` under `key`; every task of the context sees it. A second value replaces the
    /// first.
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError>;

    /// The value under `key`; waits until some task has put it.
    fn get(&mut self, key: &str, timeout: Duration) -> Result<Vec<u8>, BootstrapError>;

    /// Waits until every task of the context is here.
    fn fence(&mut self, timeout: Duration) -> Result<(), BootstrapError>;

    /// The values of all tasks, by number: collective, one round trip, and a fence. All tasks give
    /// the same `key`.
    fn exchange(
        &mut self,
        key: &str,
        value: &[u8],
        timeout: Duration,
    ) -> Result<Vec<Vec<u8>>, BootstrapError>;

    /// Tells the launcher to end the whole job with `code`. Returns: ending this process is the
    /// caller's.
    fn abort(&mut self, code: i32, message: &str) -> Result<(), BootstrapError>;

    /// How this task came into the context.
    fn entry(&self) -> Entry {
        Entry::Once
    }

    /// Tasks of which the launcher has said since the last call that their processes have ended for
    /// good, and how, in words that complete "its process …". Does not wait.
    fn ended(&mut self) -> Vec<(u32, String)> {
        Vec::new()
    }

    /// Leaves the context in good order. Others may still read what this task put. A second call
    /// does nothing.
    fn finalize(&mut self) -> Result<(), BootstrapError>;
}
