//! The network services daemon of a host, as a library: `lapis-nsd` runs it, lapirun runs it for a
//! job where there is none, and tests run it in a thread.
//!
//! It owns adapters, assigns windows of them to jobs, and reports which adapters are up. It is
//! needed to start, but no message passes through it. It stores no files: a restarted daemon learns
//! of open windows from the tasks that have them. `docs/hps.md` draws the conversation.
//!
//! | file | concern |
//! |---|---|
//! | `adapters.rs` | the adapters to create |
//! | `tables.rs` | the owners of windows: no sockets, no clocks |
//! | `remote_daemons.rs` | the ports of other hosts, as their daemons report them |
//! | `ports.rs` | GM's nodes and ports |
//! | `eth.rs`, `eth/` | interfaces of an Ethernet, taken by AF_XDP |
//! | `conversation.rs` | what one client says, and what it is answered |
//! | `closer.rs` | closes what clients have passed, their connections, and their windows |
//! | `process.rs` | the process behind a connection, and its end |
//! | `youth.rs` | how long a daemon does not know what tasks of one before it have |
//! | `shares.rs` | how much one user may take |
//! | `server.rs` | the socket, the clients, and the ends of their processes |

mod adapters;
mod caller;
mod closer;
mod conversation;
mod eth;
mod ports;
mod process;
mod remote_daemons;
mod server;
mod shares;
mod tables;
mod youth;

pub use adapters::{AdapterSpec, EthMode, eth_adapters, soft_adapters};
pub use caller::Caller;
pub use closer::Unused;
pub use conversation::{Answer, Conversation};
pub use process::Process;
pub use server::{Handle, Options, Server};
pub use tables::{Tables, Users};
pub use youth::YOUTH;
