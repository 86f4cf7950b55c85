//! One window's sockets: what is sent goes into frames of its own, what arrives is copied out of
//! the shared ones. Many datagrams to one window may leave together ([`burst`](super::burst)).
//!
//! Where the interface has several receive queues, the window has a socket at each. It sends by one
//! of them, another one for each window, so that the windows' datagrams are spread.

use crate::eth::burst::Burst;
pub use crate::eth::counts::Counts;
use crate::eth::frame::{End, Template, Version};
use crate::eth::lane::{Lane, Ours};
use crate::eth::ring::{Descriptor, Ring};
use crate::eth::{Hop, MOST_QUEUES, Wire, WireParts};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::net::sockopt;
use rustix::net::xdp::{XDP_PGOFF_TX_RING, XdpDescOptions};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Most calls in a row that make the kernel send: it takes some 32 frames at each.
const CALLS: u32 = 64;

/// See the module.
#[derive(Debug)]
pub struct Port {
    /// A socket at each queue.
    lanes: Vec<Lane>,
    /// The lane that sends.
    home: usize,
    /// The lane whose arrivals come first at the next look.
    turn: usize,
    /// Keeps the steering program at the interface.
    _lease: OwnedFd,
    wire: Wire,
    ours: Ours,
    departures: Ring<Descriptor>,
    /// This window's places for datagrams that may be written, each of as many frames as the
    /// longest datagram takes.
    free: Vec<u32>,
    /// How many frames of each place are with the kernel.
    away: Vec<u8>,
    /// Frames lie in the ring that the kernel may not know of.
    waiting: bool,
    /// The kernel was called since frames that have been sent were looked for.
    called: bool,
    counts: Counts,
}

impl Port {
    /// Opens the socket of the window of this number, for the job of this tag.
    ///
    /// # Errors
    /// The parts aren't a window's.
    pub fn open(parts: WireParts, window: u32, tag: [u8; 8]) -> io::Result<Self> {
        let WireParts { wire, sockets, lease } = parts;
        let wrong = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if window >= wire.layout.windows {
            return wrong(format!("window {window} of an interface with {}", wire.layout.windows));
        }
        if !(1..=MOST_QUEUES).contains(&wire.queues) || sockets.len() != wire.queues as usize {
            return wrong(format!("{} sockets at {} queues", sockets.len(), wire.queues));
        }
        let home = (window % wire.queues) as usize;
        let open = |(socket, memory): (OwnedFd, OwnedFd)| Lane::open(&wire, window, socket, &memory);
        let lanes = sockets.into_iter().map(open).collect::<io::Result<Vec<_>>>()?;
        let at = sockopt::xdp_mmap_offsets(&lanes[home].socket)?;
        let departures = Ring::map(&lanes[home].socket, XDP_PGOFF_TX_RING, at.tx, wire.layout.send)?;
        Ok(Self {
            lanes,
            home,
            turn: 0,
            _lease: lease,
            ours: Ours { version: Version::of(wire.address), window, port: wire.port, tag },
            departures,
            free: Vec::with_capacity((wire.layout.send / wire.layout.parts) as usize),
            // All of them come back at first.
            away: vec![wire.layout.parts as u8; (wire.layout.send / wire.layout.parts) as usize],
            wire,
            waiting: false,
            called: false,
            counts: Counts::default(),
        })
    }

    /// What it is of.
    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Frames for which there was no room, as the kernel counts them.
    pub fn lost(&self) -> u64 {
        self.lanes.iter().map(Lane::lost).sum()
    }

    /// Datagrams that have arrived at each queue.
    pub fn arrived_at(&self) -> impl Iterator<Item = u64> + '_ {
        self.lanes.iter().map(|lane| lane.arrived)
    }

    /// The bytes before datagrams to the window at this address and UDP port, over the next hop.
    pub fn template(&self, hop: Hop, address: IpAddr, port: u16) -> Template {
        let from = End { mac: hop.from, address: self.wire.address, port: self.wire.port };
        Template::new(from, End { mac: hop.mac, address, port }, self.ours.tag)
    }

    /// Whether something has arrived.
    #[inline]
    pub fn has_arrivals(&self) -> bool {
        self.lanes.iter().any(Lane::has_arrivals)
    }

    /// Whether another datagram is likely to be there behind the one that was received last. With
    /// several queues only a look can tell.
    #[inline]
    pub fn has_more(&self) -> bool {
        if let [lane] = &self.lanes[..] { lane.has_more() } else { true }
    }

    /// Copies the next datagram to the beginning of `into`. One that is longer is lost. Queues have
    /// their turns.
    ///
    /// While nothing comes, frames that have been sent are taken back: the next datagram is written
    /// to the one that was sent last, whose lines are still in the nearest caches.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        for _ in 0..self.lanes.len() {
            let at = self.turn;
            self.turn = if at + 1 < self.lanes.len() { at + 1 } else { 0 };
            let len = self.lanes[at].receive(&self.ours, into, &mut self.counts);
            if len.is_some() {
                return len;
            }
        }
        if self.called && self.lanes[self.home].is_settled() {
            self.find_frames();
        }
        None
    }

    /// The lane that sends.
    #[inline]
    fn home(&mut self) -> &mut Lane {
        &mut self.lanes[self.home]
    }

    /// Datagrams that the kernel has taken so far; wraps.
    pub fn progress(&self) -> u32 {
        self.departures.consumer()
    }

    /// Sends a datagram of `len` bytes, which `write` writes to where it is told, with the next
    /// [`flush`](Self::flush). False: there is no room at present.
    #[inline]
    pub fn send(&mut self, template: &Template, len: usize, write: impl FnOnce(*mut u8)) -> bool {
        if self.free.is_empty() && !self.find_frames() {
            return false;
        }
        let layout = self.wire.layout;
        let position = self.departures.producer();
        let room = self.departures.capacity() - self.departures.len();
        if room < layout.parts {
            self.flush();
            return false;
        }
        let Some(place) = self.free.pop() else { return false };
        let address = layout.send_frame(self.ours.window, place * layout.parts);
        let total = template.overhead() + len;
        let fits = len <= self.wire.room as usize;
        let Some(bytes) = self.home().pool.bytes(address, total).filter(|_| fits) else {
            self.free.push(place);
            return false;
        };
        // SAFETY: the frame is this window's, and long enough for head and datagram.
        unsafe { template.put(bytes, len, write) };
        let parts = if layout.parts == 1 { 1 } else { (total as u32).div_ceil(layout.chunk) };
        self.away[place as usize] = parts as u8;
        for part in 0..parts {
            let before = part * layout.chunk;
            let goes_on = part + 1 < parts;
            let frame = Descriptor {
                addr: address + u64::from(before),
                len: if goes_on { layout.chunk } else { total as u32 - before },
                options: if goes_on { XdpDescOptions::XDP_PKT_CONTD } else { XdpDescOptions::empty() },
            };
            self.departures.write(position.wrapping_add(part), frame);
        }
        self.departures.publish(position.wrapping_add(parts));
        self.waiting = true;
        self.counts.sent += 1;
        true
    }

    #[cold]
    fn find_frames(&mut self) -> bool {
        self.flush();
        self.called = false;
        let pool = &mut self.lanes[self.home].pool;
        pool.collect();
        let (free, away) = (&mut self.free, &mut self.away);
        let parts = self.wire.layout.parts;
        pool.sent(self.ours.window, |frame| {
            let place = frame / parts;
            // A frame that came back twice, after somebody was killed, is one frame.
            match away.get_mut(place as usize) {
                Some(1) => {
                    away[place as usize] = 0;
                    free.push(place);
                }
                Some(count) => *count = count.saturating_sub(1),
                None => {}
            }
        });
        !self.free.is_empty()
    }

    /// A way for many datagrams at once to the window at this address and UDP port.
    ///
    /// # Errors
    /// The kernel's own stack does not send from this interface's address, or not there.
    pub fn burst(&self, address: IpAddr, port: u16) -> io::Result<Burst> {
        Burst::open(&self.wire, SocketAddr::new(address, port), self.ours.tag)
    }

    /// Sends the datagrams of a burst. Those before it leave before it.
    ///
    /// # Errors
    /// None of them has left.
    ///
    /// # Safety
    /// What was [added](Burst::add) is readable.
    pub unsafe fn send_burst(&mut self, burst: &mut Burst) -> io::Result<()> {
        self.flush();
        // SAFETY: the caller's promise.
        self.counts.sent += unsafe { burst.send() }?;
        Ok(())
    }

    /// Makes the kernel send what lies in the ring.
    #[inline]
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.waiting) {
            self.kick();
        }
    }

    /// Without a driver that looks by itself each call sends some frames.
    fn kick(&mut self) {
        self.called = true;
        if self.wire.zero_copy && !self.departures.must_wake() {
            // The driver is at it, and may stop before it has come to the end: the next flush
            // looks.
            self.waiting = !self.departures.is_empty();
            return;
        }
        for _ in 0..CALLS {
            match rustix::net::send(&self.home().socket, &[], SendFlags::DONTWAIT) {
                Err(Errno::AGAIN | Errno::BUSY | Errno::INTR) if !self.departures.is_empty() => {
                    // The kernel's room for what is under way may be used up by what has arrived.
                    self.home().pool.collect();
                }
                // An interface that is down or gone loses what comes, and the matrix tells of it.
                _ => break,
            }
        }
        // What the kernel has left there is sent with the next call; a driver that sends by itself
        // may stop before it has come to the end.
        self.waiting = !self.departures.is_empty();
    }

    /// The sockets: one becomes readable when something arrives.
    pub fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.lanes.iter().map(|lane| lane.socket.as_fd())
    }
}
