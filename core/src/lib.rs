//! Lapis core: contexts, operations, dispatcher, counters, handlers, transports and their loader.

mod api;
pub mod bootstrap;
mod buffers;
pub mod clock;
mod code;
pub mod completion;
pub mod config;
pub mod context;
pub mod counter;
mod crowding;
mod datagrams;
pub mod error;
pub mod handlers;
pub mod lock;
pub mod message;
pub mod pending;
pub mod process;
pub mod reliable;
mod state;
pub mod stats;
pub mod status;
pub mod sync;
pub mod threads;
pub mod trace;
pub mod transport;
mod universal_hash;
pub mod wire;

pub use buffers::{Destination, Source};
pub use completion::Completion;
pub use context::{
    Attached, CompletionHandler, Context, ContextBuilder, Delivery, HandlerId, Memory, MemoryRegion, Notify,
    RegisteredMemory, RemoteMemory,
};
pub use counter::Counter;
pub use error::{Error, LapiCode, Result};
pub use handlers::{Incoming, Run};
pub use pending::Pending;
