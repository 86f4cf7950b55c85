//! The data library: structures in global memory that every process reaches by the same handle.
//!
//! A structure is memory of acp_malloc and nothing else; no process serves it. Calls read and write
//! it as programs could (`memory.rs`). It begins with a *control block*, which says what it is and
//! who changes it (`control.rs`). Whoever changes a structure holds its lock; whoever reads it
//! takes none, and reads again what changed meanwhile.
//!
//! | file | structures |
//! |---|---|
//! | `sequence.rs` | vector and deque: bytes in one block, which may go round |
//! | `list.rs`, `list_order.rs` | list: elements anywhere, linked both ways |
//! | `numbered.rs` | the iterators of release 1.0's lists, which are numbers |

pub(crate) mod control;
pub(crate) mod list;
pub(crate) mod list_order;
pub(crate) mod memory;
pub(crate) mod numbered;
pub(crate) mod sequence;

use lapis_core::sync::blocking::Mutex;
use numbered::Iterators;

/// What this process knows of structures beside what global memory says.
#[derive(Default)]
pub(crate) struct Data {
    pub(crate) iterators: Mutex<Iterators>,
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
