//! The steering program at an interface.

use crate::adapters::EthMode;
use crate::eth::bpf::Sockets;
use crate::eth::holder;
use crate::eth::program::{self, Steering};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// See the module.
#[derive(Debug)]
pub(crate) struct Attachment {
    /// Whoever has it can take the program away: the daemon, and nobody else.
    _link: OwnedFd,
    /// What tasks get in its place.
    pub(crate) lease: OwnedFd,
    pub(crate) sockets: Sockets,
    pub(crate) native: bool,
}

impl Attachment {
    /// Puts the program at an interface: native if the driver can, and unless it only says so.
    /// `is_pair`: it is one end of a virtual wire. `try_frames` says whether frames can be had
    /// there, in the driver or not.
    pub(crate) fn put(
        interface: u32,
        (steering, mode): (Steering, EthMode),
        is_pair: bool,
        try_frames: impl FnOnce(bool) -> io::Result<()>,
    ) -> io::Result<Self> {
        let sockets = Sockets::new(steering.windows * steering.queues)?;
        let attach = |native| {
            // A driver wants to be told that the program takes datagrams of several frames. The
            // general code shows it all of a datagram in one piece, and makes a new buffer of the
            // kernel's for each if the program says that it could do with several.
            let program = program::load(steering, &sockets, native)?;
            program.attach(interface, native).map(|link| (link, native))
        };
        let attached = match mode {
            EthMode::Native => attach(true),
            EthMode::Generic => attach(false),
            // A virtual wire carries the kernel's own buffers. The general code runs the program on
            // them sooner than the driver, which makes frames of them first (docs/performance.md).
            // Of several queues it tells the wrong one (Linux 6.18), and nothing comes by the last.
            EthMode::Auto if is_pair && steering.queues == 1 => attach(false),
            EthMode::Auto => attach(true).or_else(|e| match e.raw_os_error() {
                Some(libc::EBUSY | libc::EEXIST | libc::EPERM) => Err(e),
                _ => attach(false),
            }),
        };
        let (link, native) = attached?;
        try_frames(native)?;
        let lease = holder::start(link.as_fd())?;
        Ok(Self { _link: link, lease, sockets, native })
    }
}
