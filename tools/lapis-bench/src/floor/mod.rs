//! Floors: what the machine itself allows, with no library in between.
//!
//! The processes are forked from this small program, share an anonymous mapping, and are pinned to
//! a core each.

mod atomics;
mod cma;
mod copy;
mod copy_add;
mod core_handover;
mod futex;
mod pingpong;
mod process_pair;
mod ring;
mod tcp;
mod udp;
mod udp_stream;
mod xdp;
mod xdp_socket;

use anyhow::Result;
use lapis_bench::record::Record;
use std::time::Duration;

pub(crate) use copy_add::of_two as copy_add;
pub(crate) use core_handover::{among as hand_on, copies_among};
pub(crate) use pingpong::{line, probe};

/// What a floor is asked for.
pub(crate) struct Ask {
    /// Sizes, for floors that depend on them.
    pub(crate) sizes: Vec<u64>,
    /// Time for each figure.
    pub(crate) budget: Duration,
}

/// One floor.
pub(crate) struct Floor {
    /// Its name on the command line, and in the records that it prints.
    pub(crate) name: &'static str,
    /// `shm`, `udp`, `tcp` or `xdp`: which transports it is a floor of.
    pub(crate) transport: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn(&Ask) -> Result<Vec<Record>>,
}

/// All floors.
pub(crate) const ALL: &[Floor] = &[
    Floor {
        name: "line_lat",
        transport: "shm",
        what: "a cache line between two processes, one way",
        run: pingpong::run,
    },
    Floor {
        name: "mailbox_lat",
        transport: "shm",
        what: "payload and flag through a mailbox, one way",
        run: pingpong::mailbox,
    },
    Floor {
        name: "ring_rate",
        transport: "shm",
        what: "a ring of 64-byte slots, one writer, one reader",
        run: ring::run,
    },
    Floor { name: "copy_own", transport: "shm", what: "memcpy within the own cache", run: copy::own },
    Floor {
        name: "copy_shared",
        transport: "shm",
        what: "memcpy into lines that the other core holds",
        run: copy::shared,
    },
    Floor {
        name: "copy_add",
        transport: "shm",
        what: "two processes that copy their doubles and add the other one's",
        run: copy_add::run,
    },
    Floor { name: "cma_read", transport: "shm", what: "process_vm_readv", run: cma::read },
    Floor { name: "cma_write", transport: "shm", what: "process_vm_writev", run: cma::write },
    Floor { name: "atomic_add", transport: "shm", what: "fetch-and-add on an own line", run: atomics::run },
    Floor { name: "futex_lat", transport: "shm", what: "futex wake and sleep, one way", run: futex::run },
    Floor {
        name: "hand_on",
        transport: "shm",
        what: "8, 16 and 64 processes that give their core away until all have come",
        run: core_handover::run,
    },
    Floor {
        name: "copy_among",
        transport: "shm",
        what: "the same, each of which writes and reads as much as an alltoall gives all others",
        run: core_handover::run_copies,
    },
    Floor { name: "udp_lat", transport: "udp", what: "connected sockets, polled, one way", run: udp::run },
    Floor {
        name: "udp_stream",
        transport: "udp",
        what: "a stream with segmentation offload (GSO, GRO)",
        run: udp_stream::run,
    },
    Floor {
        name: "xdp_rtt",
        transport: "xdp",
        what: "bare AF_XDP sockets over veth, polled, there and back",
        run: xdp::round_trip,
    },
    Floor {
        name: "xdp_rtt_native",
        transport: "xdp",
        what: "the same with the steering program in the driver",
        run: xdp::round_trip_native,
    },
    Floor {
        name: "xdp_stream",
        transport: "xdp",
        what: "a stream of full frames, copied out, between bare AF_XDP sockets over veth",
        run: xdp::stream,
    },
    Floor {
        name: "xdp_stream_native",
        transport: "xdp",
        what: "the same with the steering program in the driver",
        run: xdp::stream_native,
    },
    Floor { name: "tcp_lat", transport: "tcp", what: "TCP_NODELAY, polled, one way", run: tcp::latency },
    Floor { name: "tcp_stream", transport: "tcp", what: "a stream of 1 MiB writes", run: tcp::stream },
];
