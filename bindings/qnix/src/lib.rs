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

mod abi;
mod api;
mod barrier;
mod board;
mod contexts;
mod diagnostics;
mod environment;
mod error;
#[doc(hidden)]
pub mod exports;
mod groups;
mod matching;
mod memory;
mod names;
mod node;
mod outbox;
mod post;
mod protocol;
mod tree;

pub use abi::{CONTEXTS, PACKET_SIZE, POOL_MAX, SEND_MAX, SHORT_MAX};
pub use api::{Process, Receiving, Sending};
pub use error::Error;
pub use names::Name;
