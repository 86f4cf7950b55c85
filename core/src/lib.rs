//! Lapis core: contexts, operations, dispatcher, counters, handlers, transports and their loader.

mod api;
pub mod bootstrap;
pub mod completion;
pub mod config;
pub mod context;
pub mod counter;
mod datagrams;
pub mod error;
pub mod handlers;
mod lock;
pub mod message;
pub mod pending;
pub mod reliable;
mod state;
pub mod stats;
pub mod sync;
pub mod threads;
pub mod transport;
mod universal_hash;
pub mod wire;

pub use completion::{Completion, Notify};
pub use context::{Attached, Context, ContextBuilder, HandlerId, Memory, MemoryRegion, RemoteMemory};
pub use counter::Counter;
pub use error::{Error, LapiCode, Result};
pub use handlers::{CompletionHandler, Delivery, Incoming, Run};
pub use message::{Destination, Source};
pub use pending::Pending;
