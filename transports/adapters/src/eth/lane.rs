//! A window's socket at one receive queue of its interface: what arrives there is copied out of the
//! frames that all of the queue's sockets share.

use crate::eth::Wire;
use crate::eth::counts::Counts;
use crate::eth::frame::{self, Found, LONGEST, OURS, Version};
use crate::eth::pool::Pool;
use crate::eth::ring::{Descriptor, Ring};
use lapis_ablation::{Optimization, without};
use rustix::net::xdp::{XDP_PGOFF_RX_RING, XdpDescOptions};
use rustix::net::{RecvFlags, sockopt};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Frames that are given back at once while many arrive.
const BATCH: u32 = 32;

/// What tells a window's frames from those of others.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) version: Version,
    pub(super) window: u32,
    pub(super) port: u16,
    pub(super) tag: [u8; 8],
}

/// Bytes of a frame that are fetched ahead: a short datagram, with all that stands before it.
const SHORT: usize = 192;

/// An arrival that is being copied out of its frames.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    /// The first frame's position, and how many there are.
    position: u32,
    parts: u32,
    /// The frame that is read from, and where in it.
    part: u32,
    at: usize,
    /// Bytes that are left of it, and of each datagram in it.
    left: usize,
    each: usize,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) socket: OwnedFd,
    pub(super) pool: Pool,
    arrivals: Ring<Descriptor>,
    busy_poll: bool,
    /// Something was taken since the last look that found nothing.
    fresh: bool,
    /// All that was taken has been given back, and `next` is known.
    settled: bool,
    /// The addresses of the last frame that was taken, and of the one that is expected next.
    last: u64,
    next: u64,
    /// Frames that have been taken.
    frames: u64,
    /// What is left of datagrams that arrived together.
    more: Option<Cursor>,
    /// When the last arrival was taken, another one lay behind it.
    another: bool,
    /// Datagrams that have arrived.
    pub(super) arrived: u64,
}

impl Lane {
    /// The lane of a window's socket and its queue's frames.
    pub(super) fn open(wire: &Wire, window: u32, socket: OwnedFd, memory: impl AsFd) -> io::Result<Self> {
        let pool = Pool::map(&memory, &socket, wire.layout, window)?;
        let at = sockopt::xdp_mmap_offsets(&socket)?;
        let arrivals = Ring::map(&socket, XDP_PGOFF_RX_RING, at.rx, wire.layout.arrivals)?;
        Ok(Self {
            socket,
            pool,
            arrivals,
            busy_poll: wire.busy_poll,
            fresh: false,
            settled: false,
            last: 0,
            next: 0,
            frames: 0,
            more: None,
            another: false,
            arrived: 0,
        })
    }

    /// Frames for which there was no room, as the kernel counts them.
    pub(super) fn lost(&self) -> u64 {
        let counts = sockopt::xdp_statistics(&self.socket);
        counts.map_or(0, |s| s.rx_dropped + s.rx_ring_full.unwrap_or(0))
    }

    /// Whether something has arrived.
    #[inline]
    pub(super) fn has_arrivals(&self) -> bool {
        self.more.is_some() || !self.arrivals.is_empty()
    }

    /// Whether more lay behind the datagram that was received last.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.more.is_some() || self.another
    }

    /// Whether looks have found nothing for a while.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Copies the next datagram to the beginning of `into`. One that is longer is lost.
    #[inline]
    pub(super) fn receive(&mut self, ours: &Ours, into: &mut [u8], counts: &mut Counts) -> Option<usize> {
        // A flood of others' frames keeps nobody here for long.
        for _ in 0..BATCH {
            let len = match self.more.take() {
                Some(more) => self.take_next(ours, more, into),
                None => {
                    let position = self.arrivals.consumer();
                    let Some(parts) = self.whole(position) else {
                        self.nothing_more(ours);
                        return None;
                    };
                    if self.pool.room(ours.window) < parts {
                        self.give_back(ours);
                        return None;
                    }
                    self.note(ours, position, parts);
                    self.take_first(ours, position, parts, into)
                }
            };
            match len {
                Some(len) => {
                    self.fresh = true;
                    counts.arrived += 1;
                    self.arrived += 1;
                    self.pool.count_taken(ours.window);
                    return Some(len);
                }
                None => counts.refused += 1,
            }
        }
        None
    }

    /// Notes the frames of an arrival before they leave the ring: if this task is killed in
    /// between, the daemon finds them in both.
    #[inline]
    fn note(&mut self, ours: &Ours, position: u32, parts: u32) {
        for part in 0..parts {
            let frame = self.arrivals.read(position.wrapping_add(part));
            self.pool.note_read(ours.window, frame.addr);
            (self.last, self.settled) = (frame.addr, false);
        }
        self.frames += u64::from(parts);
    }

    /// Copies the first or only datagram of an arrival.
    #[inline]
    fn take_first(&mut self, ours: &Ours, position: u32, parts: u32, into: &mut [u8]) -> Option<usize> {
        let Some(found) = self.look(ours, position, parts) else {
            self.finish(ours, position, parts);
            return None;
        };
        let at = ours.version.overhead();
        let first = Cursor { position, parts, part: 0, at, left: found.len, each: found.each };
        self.take_next(ours, first, into)
    }

    /// Copies the datagram at a cursor, and keeps the place of the next one, if there is one.
    #[inline]
    fn take_next(&mut self, ours: &Ours, mut cursor: Cursor, into: &mut [u8]) -> Option<usize> {
        let len = cursor.each.min(cursor.left);
        let copied = into.get_mut(..len).and_then(|into| self.copy(&mut cursor, into));
        // Between two of them lies the second one's mark.
        if copied.is_some() && cursor.left > OURS && self.copy(&mut cursor, &mut [0; OURS]).is_some() {
            self.more = Some(cursor);
        } else {
            self.finish(ours, cursor.position, cursor.parts);
        }
        copied.map(|()| len)
    }

    /// Lets go of an arrival.
    #[inline]
    fn finish(&mut self, ours: &Ours, position: u32, parts: u32) {
        self.arrivals.release(position.wrapping_add(parts));
        if self.pool.read(ours.window) >= BATCH {
            self.give_back(ours);
        }
    }

    /// How many frames the next arrival has, if all of it is there.
    #[inline]
    fn whole(&mut self, position: u32) -> Option<u32> {
        if self.settled {
            self.fetch_ahead(position);
        }
        let mut there = self.arrivals.len();
        if there == 0 && self.busy_poll {
            // The kernel looks for what has come, in this task's own time.
            let _ = rustix::net::recv(&self.socket, &mut [0u8; 0], RecvFlags::DONTWAIT);
            there = self.arrivals.len();
        }
        let goes_on = |part: u32| {
            let frame = self.arrivals.read(position.wrapping_add(part));
            frame.options.contains(XdpDescOptions::XDP_PKT_CONTD)
        };
        let parts = (0..there).find(|part| !goes_on(*part)).map(|last| last + 1);
        self.another = parts.is_some_and(|parts| parts < there);
        parts
    }

    /// The bytes of a frame, as the kernel describes it.
    #[inline]
    fn bytes(&self, position: u32) -> Option<(*mut u8, usize)> {
        let frame = self.arrivals.read(position);
        let len = (frame.len as usize).min(self.pool.layout().chunk as usize);
        // A short frame is looked at with what lies behind it, which its length then excludes.
        Some((self.pool.bytes(frame.addr, len.max(LONGEST))?, len))
    }

    /// What the frames from `position` on hold. Other tasks of the user can write to frames at any
    /// time: what is looked at here is a copy.
    #[inline]
    fn look(&self, ours: &Ours, position: u32, parts: u32) -> Option<Found> {
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
        frame::parse(&head, all, ours.version, ours.port, ours.tag)
    }

    /// Copies the next bytes of an arrival out of its frames.
    #[inline]
    fn copy(&self, cursor: &mut Cursor, mut into: &mut [u8]) -> Option<()> {
        cursor.left = cursor.left.checked_sub(into.len())?;
        while !into.is_empty() {
            if cursor.part == cursor.parts {
                return None;
            }
            let (bytes, len) = self.bytes(cursor.position.wrapping_add(cursor.part))?;
            let here = into.len().min(len.checked_sub(cursor.at)?);
            let (to, rest) = into.split_at_mut(here);
            // SAFETY: so many bytes lie in the frame from there on, and `to` has as many.
            unsafe { bytes.add(cursor.at).copy_to_nonoverlapping(to.as_mut_ptr(), here) };
            into = rest;
            cursor.at += here;
            if cursor.at == len {
                (cursor.part, cursor.at) = (cursor.part + 1, 0);
            }
        }
        Some(())
    }

    /// Gives frames back at the second look in a row that finds nothing: after the first one what
    /// has been taken is handled, and often answered, which then waits for less.
    #[inline]
    fn nothing_more(&mut self, ours: &Ours) {
        if !std::mem::take(&mut self.fresh) && !self.settled {
            self.settle(ours);
        }
    }

    /// Gives back what has been taken, and finds out where the next arrival will lie.
    #[inline(never)]
    fn settle(&mut self, ours: &Ours) {
        self.give_back(ours);
        if !without(Optimization::FramePrefetch) {
            self.next = self.pool.frame_after(self.last, self.frames);
        }
        self.settled = self.pool.read(ours.window) == 0;
    }

    /// Fetches the lines in which the next arrival will lie, at each look for it. Otherwise the
    /// ring's positions, the entry and the frame would come from the kernel's core one after the
    /// other.
    #[inline(always)]
    fn fetch_ahead(&self, position: u32) {
        if without(Optimization::FramePrefetch) {
            return;
        }
        self.arrivals.prefetch(position);
        self.pool.prefetch(self.next, SHORT);
    }

    fn give_back(&mut self, ours: &Ours) {
        self.pool.give_back(ours.window, &self.socket);
    }
}
