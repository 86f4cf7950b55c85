//! One window's socket: what is sent goes into frames of its own, what arrives is copied out of the
//! shared ones.

use crate::eth::frame::{self, End, LONGEST, Template, Version};
use crate::eth::pool::Pool;
use crate::eth::ring::{Descriptor, Ring};
use crate::eth::{Hop, Wire, WireParts};
use rustix::io::Errno;
use rustix::net::xdp::{XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XdpDescOptions, XdpStatistics};
use rustix::net::{RecvFlags, SendFlags, sockopt};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Frames that are given back at once while many arrive.
const BATCH: u32 = 32;
/// Most calls in a row that make the kernel send: it takes some 32 frames at each.
const CALLS: u32 = 64;

/// What a port has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub arrived: u64,
    /// Frames that were not for this window's job, or torn.
    pub refused: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Port {
    socket: OwnedFd,
    /// Keeps the steering program at the interface.
    _lease: OwnedFd,
    wire: Wire,
    version: Version,
    window: u32,
    tag: [u8; 8],
    arrivals: Ring<Descriptor>,
    departures: Ring<Descriptor>,
    pool: Pool,
    /// This window's places for datagrams that may be written, each of as many frames as the
    /// longest datagram takes.
    free: Vec<u32>,
    /// How many frames of each place are with the kernel.
    away: Vec<u8>,
    /// Frames lie in the ring that the kernel may not know of.
    waiting: bool,
    counts: Counts,
}

impl Port {
    /// Opens the socket of the window of this number, for the job of this tag.
    ///
    /// # Errors
    /// The parts aren't a window's.
    pub fn open(parts: WireParts, window: u32, tag: [u8; 8]) -> io::Result<Self> {
        let WireParts { wire, socket, memory, lease } = parts;
        let pool = Pool::map(&memory, &socket, wire.layout)?;
        let at = sockopt::xdp_mmap_offsets(&socket)?;
        let arrivals = Ring::map(&socket, XDP_PGOFF_RX_RING, at.rx, wire.layout.arrivals)?;
        let departures = Ring::map(&socket, XDP_PGOFF_TX_RING, at.tx, wire.layout.send)?;
        if window >= wire.layout.windows {
            let why = format!("window {window} of an interface with {}", wire.layout.windows);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Self {
            socket,
            _lease: lease,
            version: Version::of(wire.address),
            window,
            tag,
            arrivals,
            departures,
            pool,
            free: Vec::with_capacity((wire.layout.send / wire.layout.parts) as usize),
            // All of them come back at first.
            away: vec![wire.layout.parts as u8; (wire.layout.send / wire.layout.parts) as usize],
            wire,
            waiting: false,
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

    /// What the kernel counts: frames for which there was no room, among others.
    ///
    /// # Errors
    /// The socket is of no use.
    pub fn statistics(&self) -> io::Result<XdpStatistics> {
        Ok(sockopt::xdp_statistics(&self.socket)?)
    }

    /// The bytes before datagrams to the window at this address and UDP port, over the next hop.
    pub fn template(&self, hop: Hop, address: IpAddr, port: u16) -> Template {
        let from = End { mac: hop.from, address: self.wire.address, port: self.wire.port };
        Template::new(from, End { mac: hop.mac, address, port }, self.tag)
    }

    /// Whether something has arrived.
    #[inline]
    pub fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// Copies the next datagram to the beginning of `into`. One that is longer is lost.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        // A flood of others' frames keeps nobody here for long.
        for _ in 0..BATCH {
            let position = self.arrivals.consumer();
            let Some(parts) = self.whole(position) else {
                self.give_back();
                return None;
            };
            if self.pool.room(self.window) < parts {
                self.give_back();
                return None;
            }
            // Noted before they leave the ring: if this task is killed in between, the daemon finds
            // them in both.
            for part in 0..parts {
                let frame = self.arrivals.read(position.wrapping_add(part));
                self.pool.note_read(self.window, frame.addr);
            }
            let len = self.take(position, parts, into);
            self.arrivals.release(position.wrapping_add(parts));
            if self.pool.read(self.window) >= BATCH {
                self.give_back();
            }
            match len {
                Some(len) => {
                    self.counts.arrived += 1;
                    self.pool.count_taken(self.window);
                    return Some(len);
                }
                None => self.counts.refused += 1,
            }
        }
        None
    }

    /// How many frames the next arrival has, if all of it is there.
    #[inline]
    fn whole(&mut self, position: u32) -> Option<u32> {
        let mut there = self.arrivals.len();
        if there == 0 && self.wire.busy_poll {
            // The kernel looks for what has come, in this task's own time.
            let _ = rustix::net::recv(&self.socket, &mut [0u8; 0], RecvFlags::DONTWAIT);
            there = self.arrivals.len();
        }
        let goes_on = |part: u32| {
            let frame = self.arrivals.read(position.wrapping_add(part));
            frame.options.contains(XdpDescOptions::XDP_PKT_CONTD)
        };
        (0..there).find(|part| !goes_on(*part)).map(|last| last + 1)
    }

    /// The bytes of a frame, as the kernel describes it.
    #[inline]
    fn bytes(&self, position: u32) -> Option<(*mut u8, usize)> {
        let frame = self.arrivals.read(position);
        let len = (frame.len as usize).min(self.wire.layout.chunk as usize);
        // A short frame is looked at with what lies behind it, which its length then excludes.
        Some((self.pool.bytes(frame.addr, len.max(LONGEST))?, len))
    }

    /// Copies a datagram out of the frames from `position` on. Other tasks of the user can write to
    /// frames at any time: they are copied, and then looked at.
    #[inline]
    fn take(&self, position: u32, parts: u32, into: &mut [u8]) -> Option<usize> {
        let (bytes, len) = self.bytes(position)?;
        let more = |part: u32| self.bytes(position.wrapping_add(part));
        let all = if parts == 1 {
            len
        } else {
            len + (1..parts).map(|part| Some(more(part)?.1)).sum::<Option<usize>>()?
        };
        let mut head = [0; LONGEST];
        // SAFETY: the memory has at least so many bytes there.
        unsafe { bytes.copy_to_nonoverlapping(head.as_mut_ptr(), LONGEST) };
        let datagram = frame::parse(&head, all, self.version, self.wire.port, self.tag)?;
        let into = into.get_mut(..datagram)?;
        let from = self.version.overhead();
        let here = datagram.min(len.checked_sub(from)?);
        // SAFETY: so many bytes lie in the frame behind the head, and `into` has as many.
        unsafe { bytes.add(from).copy_to_nonoverlapping(into.as_mut_ptr(), here) };
        let mut done = here;
        for part in 1..parts {
            let (bytes, len) = more(part)?;
            let here = len.min(datagram - done);
            let into = into.get_mut(done..done + here)?;
            // SAFETY: so many bytes lie in the frame, and `into` has as many.
            unsafe { bytes.copy_to_nonoverlapping(into.as_mut_ptr(), here) };
            done += here;
        }
        // A task of the user that changes lengths meanwhile spoils its own datagrams.
        (done == datagram).then_some(datagram)
    }

    fn give_back(&mut self) {
        self.pool.give_back(self.window, &self.socket);
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
        let address = layout.send_frame(self.window, place * layout.parts);
        let total = template.overhead() + len;
        let Some(bytes) = self.pool.bytes(address, total).filter(|_| len <= self.wire.room as usize) else {
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
        self.pool.collect();
        let (free, away) = (&mut self.free, &mut self.away);
        let parts = self.wire.layout.parts;
        self.pool.sent(self.window, |frame| {
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

    /// Makes the kernel send what lies in the ring.
    #[inline]
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.waiting) {
            self.kick();
        }
    }

    /// Without a driver that looks by itself each call sends some frames.
    fn kick(&mut self) {
        if self.wire.zero_copy && !self.departures.must_wake() {
            return;
        }
        for _ in 0..CALLS {
            match rustix::net::send(&self.socket, &[], SendFlags::DONTWAIT) {
                Err(Errno::AGAIN | Errno::BUSY | Errno::INTR) if !self.departures.is_empty() => {
                    // The kernel's room for what is under way may be used up by what has arrived.
                    self.pool.collect();
                }
                // An interface that is down or gone loses what comes, and the matrix tells of it.
                _ => break,
            }
        }
        // What the kernel has left there is sent with the next call.
        self.waiting = !self.departures.is_empty() && !self.wire.zero_copy;
    }
}

impl AsFd for Port {
    /// Becomes readable when something arrives.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
