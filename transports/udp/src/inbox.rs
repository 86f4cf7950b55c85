//! What arrives on a socket: taken off in batches, handed out datagram by datagram.

use crate::sys::{Arrival, Slots, Socket};
use lapis_core::transport::{Event, EventKind};
use std::io;

/// Arrivals taken off a socket in one call.
const SLOTS: usize = 16;

/// Room for one arrival: the largest datagram, and the most that the kernel joins.
const ROOM: usize = 1 << 16;

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
    /// What the kernel counted as dropped so far.
    overflow: u32,
    /// An earlier datagram met nobody.
    pub(crate) refused: bool,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(SLOTS, ROOM),
            filled: 0,
            next: 0,
            open: None,
            batch: 1,
            overflow: 0,
            refused: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_none() && self.next == self.filled
    }

    /// Fills `events` from what is there; if nothing is, takes what the socket has first. Answers how many, and counts
    /// what got lost for want of room in the kernel into `dropped`.
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
        let found = loop {
            match self.slots.receive(socket, self.batch) {
                Ok(n) => break n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break 0,
                // An error that an earlier send met, told by ICMP: the engine finds out what is lost.
                Err(e) if told_of_a_send(&e) => {
                    self.refused |= e.raw_os_error() == Some(libc::ECONNREFUSED);
                }
                Err(_) => break 0,
            }
        };
        if found == self.batch {
            self.batch = (self.batch * 2).min(self.slots.count());
        } else {
            self.batch = found.max(1);
        }
        (self.filled, self.next) = (found, 0);
        found > 0
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

fn told_of_a_send(e: &io::Error) -> bool {
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
