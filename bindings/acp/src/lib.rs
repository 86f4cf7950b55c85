//! Advanced Communication Primitives on Lapis: `libacp.so` for C programs (`acp.h`), and a safe
//! layer for Rust programs.
//!
//! Every process of a job sees the global memory of all others and may copy between any two places;
//! the order is given by what each access waits for:
//!
//! ```
//! use acp::After;
//!
//! let job = acp::init()?;
//! let next = (job.rank() + 1) % job.procs();
//! let there = job.alloc::<f64>(8, next)?;
//! let mine = job.register(vec![1.5; 8])?;
//! let data = job.copy(there, mine.global(), After::Nothing)?;
//! let flag = job.starter(next)?.cast::<u64>()?.at(0)?;
//! // Whoever sees the flag sees the data.
//! let raised = job.begin_add(flag, 1, data.after())?;
//! assert_eq!(raised.wait()?, 0);
//! # drop(mine);
//! job.finalize()?;
//! # Ok::<(), acp::Error>(())
//! ```
//!
//! `docs/acp.md` says how it works and what was chosen where the specification is silent.

mod access;
mod address;
mod channel;
mod channel_end;
mod channel_lane;
mod channel_messages;
mod channel_wait;
mod channel_words;
mod colours;
mod data;
mod diagnostics;
mod error;
#[doc(hidden)]
pub mod exports;
mod handles;
mod heap;
mod join;
mod messages;
mod operation;
mod order;
mod probe_schedule;
mod process;
mod protocol;
mod regions;
mod requests;
mod safe;
mod segbuf;
mod segbuf_ends;
mod settings;
mod waits;

pub use error::{Error, Result};
pub use safe::{
    Access, After, Fetch, Global, GlobalMap, GlobalSlice, Job, Plain, Registered, Word, init, with_memory,
};
