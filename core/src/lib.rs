//! Lapis core: contexts, operations, dispatcher, counters, handlers, transports and their loader.

pub mod sync;
pub mod transport;
