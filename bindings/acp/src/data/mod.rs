//! The data library: structures in global memory that every process reaches by the same handle.
//!
//! A structure is memory of acp_malloc and nothing else; no process serves it. Calls read and write
//! it as programs could (`memory.rs`). It begins with a *control block*, which identifies it and
//! the process that changes it (`control.rs`). Writers hold its lock; readers take none, and read
//! again what changed meanwhile.
//!
//! | file | structures |
//! |---|---|
//! | `sequence.rs` | vector and deque: bytes in one block, which may go round |
//! | `list.rs`, `list_order.rs` | list: elements anywhere, linked both ways |
//! | `numbered.rs` | the iterators of release 1.0's lists, which are numbers |
//! | `hashed.rs`, `table.rs`, `bucket.rs` | set, multiset and map: tables of buckets on several processes |
//! | `collapse.rs` | sets that become lists, multisets that become sets |
//! | `table_words.rs` | what is to be done with a table, and what came of it |
//! | `table_messages.rs` | work on tables that are not mapped here |
//! | `workspace.rs`, `workspace_plan.rs` | workspaces: bytes over the memory of several processes |
//!
//! A bucket whose memory is not mapped here is its owner's to work on, so that a key needs one
//! message and one answer; that is the one exception.

pub(crate) mod bucket;
mod collapse;
pub(crate) mod control;
pub(crate) mod hashed;
pub(crate) mod list;
pub(crate) mod list_order;
mod mark;
pub(crate) mod memory;
pub(crate) mod numbered;
pub(crate) mod sequence;
pub(crate) mod table;
pub(crate) mod table_messages;
pub(crate) mod table_words;
pub(crate) mod workspace;
mod workspace_plan;

use crate::requests::Requests;
use lapis_core::sync::blocking::Mutex;
use numbered::Iterators;
use table_words::Found;
use workspace_plan::Workspaces;

/// What this process knows of structures beside what global memory says.
#[derive(Default)]
pub(crate) struct Data {
    pub(crate) iterators: Mutex<Iterators>,
    /// What owners of tables were asked.
    pub(crate) finds: Requests<Found>,
    pub(crate) workspaces: Workspaces,
}

/// A piece of global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Element {
    /// Its address; 0 is none.
    pub ga: u64,
    /// Its bytes.
    pub size: usize,
}

/// Two pieces of global memory: key and value, or the two parts of what goes round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Pair {
    /// The key, or the first part.
    pub first: Element,
    /// The value, or the second part.
    pub second: Element,
}
