//! The UDP transport of Lapis: datagrams between tasks over one or several network interfaces.
//!
//! It moves datagrams and nothing else: what gets lost, doubled, reordered or forged is the
//! business of core's packet engine (`docs/reliable.md`).
//!
//! | file | concern |
//! |---|---|
//! | `sys.rs`, `sys/` | every system call |
//! | `declaration.rs` | cost, usage and variables |
//! | `options.rs` | what the environment says |
//! | `links.rs` | news of the links under the rails |
//! | `interfaces.rs` | the interfaces of this machine |
//! | `address.rs` | what a task publishes about itself |
//! | `pairing.rs` | which of two tasks' interfaces reach each other |
//! | `rail.rs` | one interface's socket: sending |
//! | `offload.rs` | whether the kernel cuts batches into datagrams |
//! | `inbox.rs` | what arrives on a socket |
//! | `waiter.rs` | sleeping |
//! | `transport.rs` | the contract |

mod address;
mod declaration;
mod inbox;
mod interfaces;
mod links;
mod offload;
mod options;
mod pairing;
mod rail;
mod sys;
mod transport;
mod waiter;

pub use transport::Udp;
pub use waiter::UdpWaiter;

lapis_core::export_transport!(Udp, "udp", env!("CARGO_PKG_VERSION"));
