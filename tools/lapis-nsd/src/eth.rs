//! Interfaces of an Ethernet as adapters: the part that needs rights.
//!
//! | file | concern |
//! |---|---|
//! | `netlink.rs` | interfaces, addresses, routes and neighbours, as the kernel tells of them |
//! | `program.rs` | the program at the interface that steers frames to windows |
//! | `bpf.rs` | the few calls of bpf(2) that it takes to put it there |
//! | `frames.rs` | sockets and the memory that they share |
//! | `interface.rs` | an interface that the daemon has taken |
//!
//! The program is some thirty instructions without relocations. Libraries that load programs want
//! object files, which need a compiler for BPF to be made: so it is handed to the kernel as it is.

pub(crate) mod bpf;
pub(crate) mod frames;
pub(crate) mod interface;
pub(crate) mod netlink;
pub(crate) mod program;
