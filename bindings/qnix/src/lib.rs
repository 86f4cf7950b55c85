//! The QNIX interface on Lapis: `libqnix.so` for C programs (`qx.h`), and [`Process`] for Rust
//! programs.
//!
//! ```
//! use qnix::{Name, Process};
//!
//! let me = Name { application: 1, process: 0 };
//! let process = Process::join(me, 1)?; // An application of one process.
//! let receiving = process.receive(me, 7, vec![0; 100])?;
//! process.send(me, 7, vec![1, 2, 3])?.wait()?;
//! let (buffer, received) = receiving.wait()?;
//! assert_eq!(&buffer[..received], [1, 2, 3]);
//! process.barrier(1)?;
//! process.end()?;
//! # Ok::<(), qnix::Error>(())
//! ```
//!
//! `docs/qnix.md` says how it works and what was chosen where the API's text is silent.

// Under loom there is what is modelled alone: its atomics can't be statics, nor part of a layout.
#[cfg(loom)]
#[path = "board/flags.rs"]
#[allow(dead_code, reason = "the models use a part")]
mod flags;
#[cfg(loom)]
#[path = "board/order.rs"]
#[allow(dead_code, reason = "the models use a part")]
mod order;

#[cfg(not(loom))]
mod abi;
#[cfg(not(loom))]
mod api;
#[cfg(not(loom))]
mod barrier;
#[cfg(not(loom))]
mod board;
#[cfg(not(loom))]
mod contexts;
#[cfg(not(loom))]
mod environment;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
#[doc(hidden)]
pub mod exports;
#[cfg(not(loom))]
mod groups;
#[cfg(not(loom))]
mod locking;
#[cfg(not(loom))]
mod matching;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
mod node;
#[cfg(not(loom))]
mod outbox;
#[cfg(not(loom))]
mod place;
#[cfg(not(loom))]
mod post;
#[cfg(not(loom))]
mod protocol;
#[cfg(not(loom))]
mod segments;
#[cfg(not(loom))]
mod state;
#[cfg(not(loom))]
mod tree;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod wire;

#[cfg(not(loom))]
pub use abi::{CONTEXTS, PACKET_SIZE, POOL_MAX, SEND_MAX, SHORT_MAX};
#[cfg(not(loom))]
pub use api::{Process, Receiving, Sending};
#[cfg(not(loom))]
pub use error::Error;
#[cfg(not(loom))]
pub use names::Name;
