//! The transports that come with Lapis, as programs know them before any plugin is loaded.
//!
//! Core names no transport. Bindings and tools hand this list to it
//! ([`ContextBuilder::know`](lapis_core::ContextBuilder::know)): plugins of these names may be
//! loaded from the places that are searched, in the order of what they cost, and their variables
//! are known wherever the plugins are. Others are loaded only if the program gives them or the user
//! names them.
//!
//! Each declaration stands in its transport's crate. It is compiled here once more, from the same
//! file, so that the transports themselves need not be linked.

use lapis_core::transport::{Known, Reach};

#[path = "../../hps/src/declaration.rs"]
mod hps;
#[path = "../../loopback/src/declaration.rs"]
mod loopback;
#[path = "../../rdma/src/declaration.rs"]
mod rdma;
#[path = "../../shm/src/declaration.rs"]
mod shm;
#[path = "../../udp/src/declaration.rs"]
mod udp;

/// All of them. The cheapest that reaches a task carries its messages.
pub const TRANSPORTS: &[Known] = &[
    Known { name: "loopback", reach: Reach::Itself, declaration: loopback::DECLARATION },
    Known { name: "shm", reach: Reach::Host, declaration: shm::DECLARATION },
    Known { name: "udp", reach: Reach::Network, declaration: udp::DECLARATION },
    Known { name: "rdma", reach: Reach::Network, declaration: rdma::DECLARATION },
    Known { name: "hps", reach: Reach::Network, declaration: hps::DECLARATION },
];
