//! Windows of adapters, in user space.
//!
//! A *window* is the unit of protection and of choice: a receive FIFO with a number, on one adapter
//! of one network, that belongs to one job (its key) and one user. Who holds the key, as the same
//! user, may send to it; nobody else can map, read or fill it. `docs/hps.md` draws the whole.
//!
//! A *soft* adapter is memory of one host: the window's owner and its senders map one sealed file,
//! and senders write datagrams into the FIFO as an adapter would by DMA. The owner trusts nothing
//! that it reads there: it copies each datagram out once, by a length that it has checked, and what
//! the bytes mean is for an authenticator to say.
//!
//! | file | concern |
//! |---|---|
//! | `memory.rs` | sealed memory, and mappings of it |
//! | `bell.rs` | a descriptor that ends a window's sleep |
//! | `fifo.rs`, `fifo/` | the receive FIFO: how it is laid out, its senders, its owner |
//! | `lanes.rs` | lanes beside the FIFO: data between processes of one host |
//! | `soft.rs` | a window of a soft adapter, as its owner and as a sender see it |
//! | `turns.rs` | which of a window's memory and socket is read first |
//! | `eth.rs`, `eth/` | a window of an Ethernet interface, by AF_XDP |
//! | `key.rs` | the key of a job |
//! | `matrix.rs` | which adapters are up |
//! | `protocol.rs` | what is said to the daemon of the windows, and by it |
//! | `channel.rs` | messages with descriptors over a UNIX socket |
//! | `listener.rs` | the daemon's socket, and the name that only one daemon has |
//! | `client.rs` | a connection to the daemon |
//! | `status.rs` | what people and scripts are shown of adapters and windows |

pub mod bell;
#[cfg(not(loom))]
pub mod channel;
#[cfg(not(loom))]
pub mod client;
#[cfg(not(loom))]
pub mod eth;
pub mod fifo;
pub mod key;
#[cfg(not(loom))]
pub mod lanes;
#[cfg(not(loom))]
pub mod listener;
#[cfg(not(loom))]
pub mod matrix;
pub mod memory;
#[cfg(not(loom))]
pub mod protocol;
#[cfg(not(loom))]
pub mod soft;
#[cfg(not(loom))]
pub mod status;
pub mod turns;

#[cfg(all(test, loom))]
mod loom_tests;
