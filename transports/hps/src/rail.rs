//! One window of this task, and what arrives in it.

use crate::address::Entry;
use crate::waiter::Notifier;
use lapis_adapters::eth::port::Port;
use lapis_adapters::fifo::Found;
use lapis_adapters::soft::{Parts, Window};
use lapis_core::transport::{Event, EventKind};
use std::io;

/// Bytes of arrivals that are handed out at once.
const ARENA: usize = 256 << 10;

/// Room in the arena without which no frame is taken, so that none is lost for want of it.
const LONGEST: usize = 16 << 10;

/// Copies begin at multiples of this.
const ALIGNED: usize = 64;

/// Looks between two at the count of what senders had to give up.
const LOOKS: u32 = 64;

/// What the events of one poll point to. A datagram is copied here before anybody looks at it.
pub(crate) struct Arena {
    bytes: Box<[u8]>,
    used: usize,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; ARENA].into(), used: 0 }
    }

    /// Forgets what the last poll handed out.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }
}

/// What a window has been through.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Datagrams taken out.
    received: u64,
    /// Datagrams that senders had to give up.
    refused: u64,
}

/// A window with what the daemon is told of it.
pub(crate) struct Rail {
    pub(crate) entry: Entry,
    /// For a daemon that comes after the one that made them.
    pub(crate) parts: Parts,
    pub(crate) window: Window,
    /// Its socket on an Ethernet.
    pub(crate) port: Option<Port>,
    /// The socket ends sleeps. The kernel then tells of each frame that comes and goes, which costs
    /// a round trip a twentieth (docs/performance.md): so it is asked to before a sleep only.
    watched: bool,
    /// Whether the adapter is up.
    pub(crate) up: bool,
    counts: Counts,
    looks: u32,
    /// The state of next hops that this task has seen.
    pub(crate) hops: u32,
}

impl Rail {
    pub(crate) fn open(entry: Entry, parts: Parts, port: Option<Port>) -> io::Result<Self> {
        let window = Window::open(parts.try_clone()?)?;
        Ok(Self {
            entry,
            parts,
            window,
            port,
            watched: false,
            up: true,
            counts: Counts::default(),
            looks: 0,
            hops: 0,
        })
    }

    /// The longest datagram.
    pub(crate) fn room(&self) -> usize {
        let memory = self.parts.geometry.longest();
        self.port.as_ref().map_or(memory, |port| memory.min(port.wire().room as usize))
    }

    /// Copies arrivals to the arena and makes events of them. Answers how many.
    #[inline]
    pub(crate) fn poll(&mut self, arena: &mut Arena, events: &mut [Event]) -> usize {
        let mut n = 0;
        while n < events.len() {
            let into = &mut arena.bytes[arena.used..];
            let len = match self.window.receive(into) {
                Found::Datagram(len) => len,
                Found::NoRoom => break,
                Found::Nothing => match self.port.as_mut().filter(|_| into.len() >= LONGEST) {
                    Some(port) => match port.receive(into) {
                        Some(len) => len,
                        None => break,
                    },
                    None => break,
                },
            };
            let data = arena.bytes[arena.used..].as_mut_ptr();
            arena.used = (arena.used + len).next_multiple_of(ALIGNED).min(ARENA);
            events[n] = Event { kind: EventKind::Datagram as u32, data, len: len as u32, ..Event::EMPTY };
            n += 1;
        }
        self.counts.received += n as u64;
        n
    }

    /// Has arrivals end sleeps from now on, or no more. False: nothing can be told of some.
    pub(crate) fn watch(&mut self, on: bool, notifier: &Notifier) -> bool {
        let fifo = self.window.fifo();
        let quiet = if on {
            fifo.arm()
        } else {
            fifo.disarm();
            true
        };
        let Some(port) = self.port.as_ref().filter(|_| self.watched != on) else { return quiet };
        let done = if on { notifier.watch(port) } else { notifier.unwatch(port) };
        self.watched = on;
        quiet && done.is_ok()
    }

    /// What has passed through it, for people; `sent` is what the ways from it have counted.
    /// Nothing, if that is nothing.
    pub(crate) fn told(&self, sent: u64) -> String {
        let Counts { received, refused } = self.counts;
        if sent + received == 0 {
            return String::new();
        }
        let mut text = format!(" ({sent} datagrams sent, {received} received");
        let lost = self.port.as_ref().and_then(|port| port.statistics().ok());
        let lost = lost.map_or(0, |s| s.rx_dropped + s.rx_ring_full.unwrap_or(0));
        for (count, what) in [(refused, "refused for want of room"), (lost, "lost for want of room")] {
            if count > 0 {
                text += &format!(", {count} {what}");
            }
        }
        text + ")"
    }

    /// Datagrams that senders had to give up, if it is time to look.
    #[inline]
    pub(crate) fn refused(&mut self) -> u32 {
        self.looks += 1;
        if self.looks < LOOKS {
            return 0;
        }
        self.looks = 0;
        let refused = self.window.fifo().take_refused();
        self.counts.refused += u64::from(refused);
        refused
    }
}
