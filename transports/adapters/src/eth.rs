//! Windows of an Ethernet interface, by the kernel's AF_XDP sockets.
//!
//! The daemon takes the interface, and makes a socket for each window. A task gets its window's
//! socket by descriptor and needs no rights of its own. All windows of an interface share one pool
//! of frames, because the kernel gives each receive queue one: so an interface belongs to one user
//! at a time, whose tasks could read each other's memory anyway. Where an interface has several
//! queues, a window has a socket at each, and each has a pool.
//!
//! | file | concern |
//! |---|---|
//! | `frame.rs` | what goes over the wire |
//! | `ring.rs` | the kernel's rings |
//! | `pool.rs` | the frames that an interface's windows share |
//! | `lane.rs` | a window's socket at one receive queue: receiving |
//! | `burst.rs` | many datagrams to one peer at once, through the kernel's UDP |
//! | `port.rs` | one window's sockets: sending, and receiving from all queues |

pub mod burst;
mod counts;
pub mod frame;
mod lane;
mod lock;
pub mod pool;
pub mod port;
pub mod ring;

use pool::Layout;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// The most receive queues of an interface at which windows have sockets.
pub const MOST_QUEUES: u32 = 16;

/// What a window of an Ethernet interface is, beside its memory and bell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// The interface's own address.
    pub mac: [u8; 6],
    /// The interface's address of the Internet protocol.
    pub address: IpAddr,
    /// The window's UDP port.
    pub port: u16,
    /// The longest datagram, in bytes.
    pub room: u32,
    /// How the frames' memory is divided, at each queue.
    pub layout: Layout,
    /// Receive queues of the interface, from 1 to [`MOST_QUEUES`]: a socket is at each.
    pub queues: u32,
    /// Whoever waits at the window's socket makes the driver look for arrivals itself.
    pub busy_poll: bool,
    /// The interface's number.
    pub index: u32,
    /// Datagrams that left together may arrive in one piece.
    pub joins: bool,
    /// The driver moves frames without copying them, and says itself when it must be woken.
    pub zero_copy: bool,
}

/// The next hop to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// The address of the next hop's interface.
    pub mac: [u8; 6],
    /// The own interface's address at present.
    pub from: [u8; 6],
}

/// A [`Wire`] with its descriptors.
#[derive(Debug)]
pub struct WireParts {
    /// What they are of.
    pub wire: Wire,
    /// The window's AF_XDP sockets, bound to one queue each, in their order, and the memory of the
    /// queue's frames.
    pub sockets: Vec<(OwnedFd, OwnedFd)>,
    /// As long as somebody has it, the steering program stays at the interface, though the daemon
    /// dies. Nothing else can be done with it.
    pub lease: OwnedFd,
}
