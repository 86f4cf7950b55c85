//! Sockets of an interface, and the memory that they share.
//!
//! ```text
//!   held ── close ──► closing ── a moment later ──► kept ── its last descriptor is closed ──►
//! ```
//!
//! Frames may arrive for a window for a moment after nothing is steered to it any more, so it is
//! emptied twice. A task can keep the socket of a closed window. The kernel lets nobody else have
//! the queue meanwhile, but the same memory serves the same user on.

use crate::eth::bpf::Sockets;
use crate::eth::holder::FORKING;
use crate::process::Process;
use lapis_adapters::eth::pool::{Layout, Pool};
use lapis_adapters::eth::ring::{Descriptor, Ring};
use lapis_adapters::memory::{self, Memory};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, SocketAddrXdpWithSharedUmem, XDP_PGOFF_RX_RING, XdpStatistics,
    XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// For so long frames may arrive for a window that is closed.
const MOMENT: Duration = Duration::from_millis(20);
/// So soon processes end whose connections end with them.
const ENDS: Duration = Duration::from_secs(1);
/// So often kept sockets are looked at, and who goes on with a window that is closed.
const LOOK: Duration = Duration::from_millis(250);
/// The most sockets of closed windows that tasks may keep.
const KEPT: u32 = 256;
/// So often the fill ring's lock is tried: until a holder that has ended is found.
const TRIES: u32 = 2048;

/// A window's socket, as the daemon keeps it to clear up after its task.
#[derive(Debug)]
struct Held {
    socket: OwnedFd,
    arrivals: Ring<Descriptor>,
}

/// A window that is closed, to which frames may still be on their way.
#[derive(Debug)]
struct Closing {
    window: u32,
    held: Held,
    since: Instant,
    /// Who may go on with it until he has ended: nothing of his is touched.
    lives: Option<Process>,
}

impl Closing {
    fn is_used(&self) -> bool {
        self.lives.as_ref().is_some_and(|process| !process.has_ended())
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Frames {
    interface: u32,
    queue: u32,
    layout: Layout,
    memory: OwnedFd,
    /// Has memory and rings; no frames are steered to it.
    keeper: OwnedFd,
    pool: Pool,
    pub(crate) zero_copy: bool,
    /// Sockets make the driver look for arrivals for so long, in microseconds; 0: they don't.
    busy_poll: u32,
    held: BTreeMap<u32, Held>,
    closing: Vec<Closing>,
    /// Sockets of closed windows leave this table when their last descriptor is closed; no program
    /// uses it.
    kept: Sockets,
    /// Places of the table that may be taken.
    places: BTreeSet<u32>,
    /// Shares of the frames to receive into that are in use.
    shares: u32,
    /// Frames that could not be given back yet.
    back: Vec<u64>,
}

fn socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?)
}

/// A socket with the memory of `layout`, bound to a queue of an interface.
fn keeper(
    (interface, queue): (u32, u32),
    memory: &Memory,
    layout: Layout,
    (zero_copy, in_parts): (bool, bool),
) -> io::Result<OwnedFd> {
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
    let parts = if in_parts { SocketAddrXdpFlags::XDP_USE_SG } else { SocketAddrXdpFlags::empty() };
    let how = how | parts | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
    bind(&keeper, &SocketAddrXdp::new(how, interface, queue))?;
    Ok(keeper)
}

/// Has a socket look for arrivals itself when its owner asks, for so many microseconds, rather than
/// wait for the device's interrupt.
///
/// # Errors
/// The kernel has no such socket options, or the daemon lacks CAP_NET_ADMIN.
fn poll_busily(socket: &OwnedFd, micros: u32) -> io::Result<()> {
    /// Frames that one look takes.
    const BUDGET: u32 = 64;
    let set = |option: libc::c_int, value: u32| {
        // SAFETY: the value is there for the call, with the length that is said.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const value).cast(),
                size_of_val(&value) as libc::socklen_t,
            )
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    set(libc::SO_PREFER_BUSY_POLL, 1)?;
    set(libc::SO_BUSY_POLL, micros)?;
    set(libc::SO_BUSY_POLL_BUDGET, BUDGET)
}

impl Frames {
    /// Memory of frames for a queue of an interface: zero-copy where a native program runs and the
    /// driver can. `in_parts`: an arrival may take up several frames. EBUSY says that somebody has
    /// the queue, or had it a moment ago.
    pub(crate) fn make(
        (interface, queue): (u32, u32),
        layout: Layout,
        (native, in_parts): (bool, bool),
        busy_poll: u32,
    ) -> io::Result<Self> {
        let _guard = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = memory::sealed("lapis-frames", layout.bytes())?;
        let memory = Memory::map(&file, layout.bytes())?;
        let (keeper, zero_copy) = match keeper((interface, queue), &memory, layout, (native, in_parts)) {
            Err(e) if native && e.raw_os_error() != Some(libc::EBUSY) => {
                (keeper((interface, queue), &memory, layout, (false, in_parts))?, false)
            }
            made => (made?, native),
        };
        let pool = Pool::map(&file, &keeper, layout, 0)?;
        pool.hide_from_children()?;
        let kept = Sockets::new(KEPT)?;
        let mut frames = Self {
            interface,
            queue,
            layout,
            memory: file,
            keeper,
            pool,
            zero_copy,
            busy_poll,
            held: BTreeMap::new(),
            closing: Vec::new(),
            kept,
            places: BTreeSet::new(),
            shares: 0,
            back: Vec::new(),
        };
        frames.use_share();
        Ok(frames)
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The memory, for a task.
    pub(crate) fn memory(&self) -> io::Result<OwnedFd> {
        self.memory.try_clone()
    }

    /// No window is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// Nobody but the daemon has a socket of these any more, as far as [`settle`](Self::settle) has
    /// found out.
    pub(crate) fn is_settled(&self) -> bool {
        self.held.is_empty() && self.closing.is_empty() && self.places.is_empty()
    }

    /// Some task keeps the socket of a closed window.
    pub(crate) fn is_kept(&self) -> bool {
        !self.places.is_empty()
    }

    /// Has the kernel receive into another share of the frames. With each window that is open one
    /// is in use: the fewer frames go round, the more of them are in caches.
    fn use_share(&mut self) {
        let shares = self.layout.windows.next_power_of_two();
        if self.shares < shares {
            let (share, chunk) = (self.layout.receive / shares, u64::from(self.layout.chunk));
            let numbers = self.shares * share..(self.shares + 1) * share;
            self.back.extend(numbers.map(|number| u64::from(number) * chunk));
            self.shares += 1;
            self.give_back();
        }
    }

    /// A window's socket, bound; one that `sends`, if it is to.
    pub(crate) fn open(&mut self, window: u32, sends: bool) -> io::Result<OwnedFd> {
        // Nobody is waited for: what still arrives for its task before is lost to the pool.
        self.finish(|closing| closing.window == window);
        if self.places.len() + self.closing.len() >= KEPT as usize {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let socket = socket()?;
        sockopt::set_xdp_rx_ring_size(&socket, self.layout.arrivals)?;
        if sends {
            sockopt::set_xdp_tx_ring_size(&socket, self.layout.send)?;
        }
        if self.busy_poll > 0 {
            poll_busily(&socket, self.busy_poll)?;
        }
        let addr = SocketAddrXdp::new(SocketAddrXdpFlags::XDP_SHARED_UMEM, self.interface, self.queue);
        bind(&socket, &SocketAddrXdpWithSharedUmem { addr, shared_umem_fd: self.keeper.as_fd() })?;
        let at = sockopt::xdp_mmap_offsets(&socket)?;
        let _guard = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
        let arrivals = Ring::map(&socket, XDP_PGOFF_RX_RING, at.rx, self.layout.arrivals)?;
        arrivals.hide_from_children()?;
        self.pool.reset(window);
        let theirs = socket.try_clone()?;
        self.held.insert(window, Held { socket, arrivals });
        // Who goes on with a window that is closed may have a share, too.
        if self.held.len() + self.closing.len() > self.shares as usize {
            self.use_share();
        }
        Ok(theirs)
    }

    /// Datagrams that a window's task says it has taken out.
    pub(crate) fn taken(&self, window: u32) -> u64 {
        if self.held.contains_key(&window) { self.pool.taken(window) } else { 0 }
    }

    /// Frames to a window for which there was no room.
    pub(crate) fn lost(&self, window: u32) -> u64 {
        let counts = self.held.get(&window).and_then(|held| sockopt::xdp_statistics(&held.socket).ok());
        let sum = |c: XdpStatistics| {
            c.rx_dropped + c.rx_ring_full.unwrap_or(0) + c.rx_fill_ring_empty_descs.unwrap_or(0)
        };
        counts.map_or(0, sum)
    }

    /// Gives back what a window has read or has in its ring: its task, to which nothing is steered
    /// any more, has ended or has finished. One that `lives` may go on with what it has.
    pub(crate) fn close(&mut self, window: u32, lives: Option<&Process>) {
        let Some(held) = self.held.remove(&window) else { return };
        if lives.is_none() {
            self.empty(window, &held);
        }
        self.closing.push(Closing { window, held, since: Instant::now(), lives: lives.cloned() });
    }

    /// The process that may go on with a window.
    pub(crate) fn still_used_by(&self, window: u32) -> Option<&Process> {
        let theirs = |closing: &&Closing| closing.window == window && closing.is_used();
        self.closing.iter().find(theirs)?.lives.as_ref()
    }

    /// A window with which somebody may go on is his as before: its socket.
    pub(crate) fn resume(&mut self, window: u32) -> Option<BorrowedFd<'_>> {
        let theirs = |closing: &Closing| closing.window == window && closing.is_used();
        let at = self.closing.iter().position(theirs)?;
        let held = self.closing.swap_remove(at).held;
        Some(self.held.entry(window).or_insert(held).socket.as_fd())
    }

    fn empty(&mut self, window: u32, held: &Held) {
        let mut frames = self.pool.take_read(window);
        let (from, count) = (held.arrivals.consumer(), held.arrivals.len());
        frames.extend((0..count).map(|at| held.arrivals.read(from.wrapping_add(at)).addr));
        held.arrivals.release(from.wrapping_add(count));
        let chunk = u64::from(self.layout.chunk);
        frames.iter_mut().for_each(|frame| *frame &= !(chunk - 1));
        // The task can have written anything there.
        frames.retain(|frame| *frame < u64::from(self.layout.receive) * chunk);
        self.back.append(&mut frames);
        self.back.sort_unstable();
        self.back.dedup();
        self.give_back();
    }

    fn give_back(&mut self) {
        for _ in 0..TRIES {
            self.pool.fill(&mut self.back, &self.keeper);
            if self.back.is_empty() {
                break;
            }
        }
    }

    /// Lets go of the closing windows of which this is true, and which nobody may go on with, after
    /// a last look at them.
    fn finish(&mut self, is_over: impl Fn(&Closing) -> bool) {
        for at in (0..self.closing.len()).rev() {
            if self.closing[at].is_used() || !is_over(&self.closing[at]) {
                continue;
            }
            let Closing { window, held, .. } = self.closing.swap_remove(at);
            // Who was killed with a lock does not need it any more, in whichever PID name space.
            self.pool.break_locks_of(window);
            self.empty(window, &held);
            let place = (0..KEPT).find(|place| !self.places.contains(place)).unwrap_or(0);
            if self.kept.set(place, Some(held.socket.as_fd())).is_ok() {
                self.places.insert(place);
            }
        }
    }

    /// Finds out which sockets tasks have let go of.
    pub(crate) fn settle(&mut self) {
        self.finish(|closing| closing.since.elapsed() >= MOMENT);
        let (kept, keeper) = (&self.kept, &self.keeper);
        self.places.retain(|place| kept.has(*place, keeper.as_fd()));
        self.give_back();
    }

    /// When [`settle`](Self::settle) may find something, if there is something to be found.
    pub(crate) fn settles_in(&self) -> Option<Duration> {
        // A process whose connection has ended usually ends then.
        let is_soon = |closing: &Closing| closing.lives.is_none() || closing.since.elapsed() < ENDS;
        if self.closing.iter().any(is_soon) || !self.back.is_empty() || self.is_settled() {
            Some(MOMENT)
        } else {
            (!self.places.is_empty() || !self.closing.is_empty()).then_some(LOOK)
        }
    }
}
