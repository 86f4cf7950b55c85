//! What arrives on a socket: taken off in batches, handed out datagram by datagram.

use crate::sys::{Arrival, Slots, Socket};
use lapis_ablation::{Optimization, without};
use lapis_core::transport::{Event, EventKind};
use std::io;

/// Arrivals taken off a socket in one call.
const SLOTS: usize = 16;

/// Room for one arrival: the largest datagram, and the most that the kernel joins.
const ROOM: usize = 1 << 16;

/// After so many looks in a row that each found something, datagrams come in a stream.
const STREAM: u32 = 4;

/// After so many that each found a single datagram and nothing behind it, they come one by one.
const SINGLES: u32 = 64;

/// How datagrams come. A single one is had at a fifth less cost by a call that can't tell joined
/// ones apart, and a poll that finds nothing likewise; a stream needs them joined, and needs to
/// know what the buffer had no room for. So the kernel is told to join and to count only while they
/// stream: the count alone costs whoever sends a single datagram a twentieth, for it lies on a
/// cache line that the receiver writes. What gets lost meanwhile is told later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// One by one; so many looks in a row found one.
    Single { found: u32 },
    /// Many; so many looks in a row found a single one.
    Stream { single: u32 },
    /// One by one again, but what is queued may still be joined.
    Ebb,
}

/// The arrivals of one socket.
pub(crate) struct Inbox {
    slots: Slots,
    /// Slots that hold something, and which is next.
    filled: usize,
    next: usize,
    /// The arrival being handed out, and how far.
    open: Option<(Arrival, usize)>,
    /// How many to ask for: one while little arrives, for each further slot costs a look at it.
    batch: usize,
    flow: Flow,
    /// What the kernel counted as dropped so far.
    overflow: u32,
    /// An earlier datagram met nobody.
    pub(crate) refused: bool,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let slots = Slots::new(SLOTS, ROOM);
        let flow = Flow::Stream { single: 0 };
        Self { slots, filled: 0, next: 0, open: None, batch: 1, flow, overflow: 0, refused: false }
    }

    #[cfg(test)]
    pub(crate) fn comes_alone(&self) -> bool {
        matches!(self.flow, Flow::Single { .. })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_none() && self.next == self.filled
    }

    /// Fills `events` from what is there; if nothing is, takes what the socket has first. Answers
    /// how many, and counts what got lost for want of room in the kernel into `dropped`.
    ///
    /// The bytes stay until the next call.
    #[inline]
    pub(crate) fn poll(&mut self, socket: &Socket, events: &mut [Event], dropped: &mut u32) -> usize {
        if self.is_empty() && !self.receive(socket) {
            return 0;
        }
        let mut n = 0;
        for event in events {
            let Some((bytes, len)) = self.pop(dropped) else { break };
            *event = Event { kind: EventKind::Datagram as u32, data: bytes, len: len as u32, ..Event::EMPTY };
            n += 1;
        }
        n
    }

    #[inline]
    fn receive(&mut self, socket: &Socket) -> bool {
        match self.flow {
            Flow::Single { found } => self.receive_one(socket, found),
            _ => self.receive_many(socket),
        }
    }

    #[inline]
    fn receive_one(&mut self, socket: &Socket, found: u32) -> bool {
        loop {
            match self.slots.receive_one(socket) {
                Ok(Some(arrival)) => {
                    self.flow = Flow::Single { found: found + 1 };
                    if found + 1 == STREAM {
                        // Refused: they come apart, or uncounted, for ever.
                        let _ = socket.join(true);
                        let _ = socket.report_overflow(true);
                        self.flow = Flow::Stream { single: 0 };
                    }
                    // Datagrams without a byte are nobody's.
                    self.open = (arrival.len > 0).then_some((arrival, 0));
                    return self.open.is_some();
                }
                Ok(None) => {
                    self.flow = Flow::Single { found: 0 };
                    return false;
                }
                Err(e) if is_error_of_a_send(&e) => {
                    self.refused |= e.raw_os_error() == Some(libc::ECONNREFUSED);
                }
                Err(_) => return false,
            }
        }
    }

    #[inline]
    fn receive_many(&mut self, socket: &Socket) -> bool {
        let found = loop {
            match self.slots.receive(socket, self.batch) {
                Ok(n) => break n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break 0,
                // An error that an earlier send met, told by ICMP: the engine finds out what is
                // lost.
                Err(e) if is_error_of_a_send(&e) => {
                    self.refused |= e.raw_os_error() == Some(libc::ECONNREFUSED);
                }
                Err(_) => break 0,
            }
        };
        self.note_flow(socket, found);
        if found == self.batch {
            self.batch = (self.batch * 2).min(self.slots.count());
        } else {
            self.batch = found.max(1);
        }
        (self.filled, self.next) = (found, 0);
        found > 0
    }

    #[inline]
    fn note_flow(&mut self, socket: &Socket, found: usize) {
        let Flow::Stream { single } = self.flow else {
            if found == 0 {
                self.flow = Flow::Single { found: 0 };
            }
            return;
        };
        if found > 1 || (found == 1 && self.slots.arrival(0).is_joined()) {
            self.flow = Flow::Stream { single: 0 };
        } else if found == 1 {
            self.flow = Flow::Stream { single: single + 1 };
        } else if single >= SINGLES && !without(Optimization::Flow) && socket.join(false).is_ok() {
            let _ = socket.report_overflow(false);
            self.flow = Flow::Ebb;
        }
    }

    #[inline]
    fn pop(&mut self, dropped: &mut u32) -> Option<(*mut u8, usize)> {
        loop {
            if let Some((arrival, at)) = &mut self.open {
                let len = (arrival.len - *at).min(arrival.segment);
                let bytes = arrival.bytes.wrapping_add(*at);
                *at += len;
                if *at == arrival.len {
                    self.open = None;
                }
                return Some((bytes, len));
            }
            if self.next == self.filled {
                return None;
            }
            let arrival = self.slots.arrival(self.next);
            self.next += 1;
            if let Some(count) = arrival.overflow {
                *dropped += count.wrapping_sub(self.overflow);
                self.overflow = count;
            }
            // Datagrams without a byte are nobody's.
            if arrival.len > 0 {
                self.open = Some((arrival, 0));
            }
        }
    }
}

fn is_error_of_a_send(e: &io::Error) -> bool {
    matches!(
        e.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EMSGSIZE
                | libc::EHOSTDOWN
                | libc::EINTR
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::EACCES
        )
    )
}
