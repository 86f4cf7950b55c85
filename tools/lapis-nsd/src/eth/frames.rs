//! Sockets of an interface, and the memory of frames that they share.

use lapis_adapters::eth::pool::{Layout, Pool};
use lapis_adapters::eth::ring::{Descriptor, Ring};
use lapis_adapters::memory::{self, Memory};
use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, SocketAddrXdpWithSharedUmem, XDP_PGOFF_RX_RING, XdpStatistics,
    XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// So often, and so long apart, memory is offered to a queue whose last users have just ended: the
/// kernel lets go of them some moments later.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// A window's socket, as the daemon keeps it to clear up after its task.
#[derive(Debug)]
struct Held {
    socket: OwnedFd,
    arrivals: Ring<Descriptor>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Frames {
    interface: u32,
    layout: Layout,
    memory: OwnedFd,
    /// Has memory and rings; no frames are steered to it.
    keeper: OwnedFd,
    pool: Pool,
    pub(crate) zero_copy: bool,
    held: BTreeMap<u32, Held>,
}

fn socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?)
}

/// A socket with the memory of `layout`, bound to the interface's queue.
fn keeper(interface: u32, memory: &Memory, layout: Layout, zero_copy: bool) -> io::Result<OwnedFd> {
    let keeper = socket()?;
    let region = XdpUmemReg {
        addr: memory.base().expose_provenance() as u64 + layout.control() as u64,
        len: layout.frames() as u64,
        chunk_size: layout.chunk,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    sockopt::set_xdp_umem_reg(&keeper, region)?;
    sockopt::set_xdp_umem_fill_ring_size(&keeper, layout.receive)?;
    sockopt::set_xdp_umem_completion_ring_size(&keeper, layout.completions())?;
    sockopt::set_xdp_rx_ring_size(&keeper, 2)?;
    let how = if zero_copy { SocketAddrXdpFlags::XDP_ZEROCOPY } else { SocketAddrXdpFlags::XDP_COPY };
    bind(&keeper, &SocketAddrXdp::new(how | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP, interface, 0))?;
    Ok(keeper)
}

impl Frames {
    /// Memory of frames for the first queue of an interface: zero-copy where a native program runs
    /// and the driver can.
    pub(crate) fn make(interface: u32, layout: Layout, native: bool) -> io::Result<Self> {
        let file = memory::sealed("lapis-frames", layout.bytes())?;
        let memory = Memory::map(&file, layout.bytes())?;
        let mut tries = 0;
        let (keeper, zero_copy) = loop {
            let made = match keeper(interface, &memory, layout, native) {
                Err(e) if native && !is_busy(&e) => {
                    keeper(interface, &memory, layout, false).map(|k| (k, false))
                }
                made => made.map(|k| (k, native)),
            };
            match made {
                Err(e) if is_busy(&e) && tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                made => break made?,
            }
        };
        let mut pool = Pool::map(&file, &keeper, layout)?;
        let mut all = (0..u64::from(layout.receive)).map(|n| n * u64::from(layout.chunk)).collect();
        pool.give_back(&mut all, &keeper);
        Ok(Self { interface, layout, memory: file, keeper, pool, zero_copy, held: BTreeMap::new() })
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The memory, for a task.
    pub(crate) fn memory(&self) -> io::Result<OwnedFd> {
        self.memory.try_clone()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// A window's socket, bound.
    pub(crate) fn open(&mut self, window: u32) -> io::Result<OwnedFd> {
        let socket = socket()?;
        sockopt::set_xdp_rx_ring_size(&socket, self.layout.arrivals)?;
        sockopt::set_xdp_tx_ring_size(&socket, self.layout.send)?;
        let addr = SocketAddrXdp::new(SocketAddrXdpFlags::XDP_SHARED_UMEM, self.interface, 0);
        bind(&socket, &SocketAddrXdpWithSharedUmem { addr, shared_umem_fd: self.keeper.as_fd() })?;
        let at = sockopt::xdp_mmap_offsets(&socket)?;
        let arrivals = Ring::map(&socket, XDP_PGOFF_RX_RING, at.rx, self.layout.arrivals)?;
        self.pool.reset(window);
        let theirs = socket.try_clone()?;
        self.held.insert(window, Held { socket, arrivals });
        Ok(theirs)
    }

    /// Frames to a window for which there was no room.
    pub(crate) fn lost(&self, window: u32) -> u64 {
        let counts = self.held.get(&window).and_then(|held| sockopt::xdp_statistics(&held.socket).ok());
        let sum = |c: XdpStatistics| {
            c.rx_dropped + c.rx_ring_full.unwrap_or(0) + c.rx_fill_ring_empty_descs.unwrap_or(0)
        };
        counts.map_or(0, sum)
    }

    /// Gives back what lay in a window's ring: its task, to which nothing is steered any more, is
    /// gone or has finished.
    pub(crate) fn close(&mut self, window: u32) {
        let Some(Held { socket, arrivals }) = self.held.remove(&window) else { return };
        let mut frames = Vec::new();
        let (from, count) = (arrivals.consumer(), arrivals.len());
        for at in 0..count {
            let address = arrivals.read(from.wrapping_add(at)).addr;
            frames.push(address & !(u64::from(self.layout.chunk) - 1));
        }
        arrivals.release(from.wrapping_add(count));
        // The lock's holder is a task that is about to let go of it, or has ended.
        for _ in 0..TRIES {
            self.pool.give_back(&mut frames, &socket);
            if frames.is_empty() {
                break;
            }
            std::thread::yield_now();
        }
    }
}

fn is_busy(e: &io::Error) -> bool {
    e.raw_os_error() == Some(Errno::BUSY.raw_os_error())
}
