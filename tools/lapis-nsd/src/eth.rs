//! Ethernet interfaces as adapters: the part that needs privileges.
//!
//! | file | concern |
//! |---|---|
//! | `netlink.rs` | interfaces, addresses, routes and neighbours, as the kernel tells of them |
//! | `announce.rs` | telling the neighbours that the interface has another hardware address |
//! | `program.rs` | the program at the interface that steers frames to windows |
//! | `attachment.rs` | that program at the interface, in its driver or not |
//! | `bpf.rs` | the few calls of bpf(2) that it takes to put it there |
//! | `holder.rs` | the process that keeps it there when the daemon has died |
//! | `frames.rs` | sockets and the memory that they share |
//! | `lanes.rs` | the same at all receive queues of an interface |
//! | `queues.rs` | how many queues an interface has |
//! | `network.rs` | numbers of networks |
//! | `hops.rs` | the next hops that tasks were told |
//! | `refusal.rs` | why an interface gives no window, and what helps |
//! | `interface.rs` | an interface that the daemon has taken |
//!
//! The program is some thirty instructions without relocations. Libraries that load programs want
//! object files, which need a compiler for BPF to be made: so it is handed to the kernel as it is.

pub(crate) mod announce;
mod attachment;
pub(crate) mod bpf;
pub(crate) mod frames;
pub(crate) mod holder;
mod hops;
pub(crate) mod interface;
mod lanes;
pub(crate) mod netlink;
pub(crate) mod network;
pub(crate) mod program;
pub(crate) mod queues;
mod refusal;
