//! Lapis core: contexts, operations, dispatcher, counters, handlers, transports and their loader.

pub mod completion;
pub mod config;
pub mod counter;
pub mod error;
mod lock;
mod message;
pub mod sync;
pub mod transport;
pub mod wire;
