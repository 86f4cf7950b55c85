//! Advanced Communication Primitives on Lapis: `libacp.so` for C programs (`acp.h`).
//!
//! `docs/acp.md` says how it works and what was chosen where the specification is silent.

mod access;
mod address;
mod channel;
mod channel_messages;
mod data;
mod diagnostics;
mod error;
#[doc(hidden)]
pub mod exports;
mod heap;
mod order;
mod process;
mod protocol;
mod regions;
mod requests;
mod segbuf;
mod settings;

pub use error::Error;
