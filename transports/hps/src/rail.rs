//! One window of this task, and what arrives in it.

use crate::address::Entry;
use crate::waiter::Notifier;
use lapis_adapters::eth::port::Port;
use lapis_adapters::fifo::Found;
use lapis_adapters::protocol::Place;
use lapis_adapters::soft::{Parts, Window};
use lapis_adapters::turns::Turns;
use lapis_core::transport::{Event, EventKind};
use std::io;

/// Bytes behind each datagram of windows that contexts share: the number of its context.
pub(crate) const SUFFIX: usize = 4;

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

    /// Where the next datagram goes.
    #[inline]
    fn free(&mut self) -> &mut [u8] {
        &mut self.bytes[self.used..]
    }

    /// The event of a datagram of `len` bytes that lies where the next one goes.
    #[inline]
    fn keep(&mut self, len: usize) -> Event {
        let data = self.free().as_mut_ptr();
        self.used = (self.used + len).next_multiple_of(ALIGNED).min(ARENA);
        Event { kind: EventKind::Datagram as u32, data, len: len as u32, ..Event::EMPTY }
    }

    /// Copies a datagram that others have taken out, if there is room.
    pub(crate) fn copy(&mut self, datagram: &[u8]) -> Option<Event> {
        self.free().get_mut(..datagram.len())?.copy_from_slice(datagram);
        Some(self.keep(datagram.len()))
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
    /// Whether the adapter is up.
    pub(crate) up: bool,
    /// Of memory and socket.
    turns: Turns,
    counts: Counts,
    looks: u32,
}

impl Rail {
    pub(crate) fn open(entry: Entry, parts: Parts, port: Option<Port>) -> io::Result<Self> {
        let window = Window::open(parts.try_clone()?)?;
        let (turns, counts) = (Turns::default(), Counts::default());
        Ok(Self { entry, parts, window, port, up: true, turns, counts, looks: 0 })
    }

    /// The longest datagram.
    pub(crate) fn room(&self) -> usize {
        let memory = self.parts.geometry.longest();
        self.port.as_ref().map_or(memory, |port| memory.min(port.wire().room as usize))
    }

    /// Copies the next arrival to the front of `into` and answers its length, if there is one and
    /// room for it. Without `memory` it is the socket's, if there is one.
    #[inline]
    fn receive(&mut self, memory: bool, into: &mut [u8]) -> Option<usize> {
        let in_memory = |window: &mut Window, into: &mut [u8]| match window.receive(into) {
            Found::Datagram(len) => Some(len),
            Found::NoRoom | Found::Nothing => None,
        };
        let Some(port) = &mut self.port else { return in_memory(&mut self.window, into) };
        // A socket's datagram that is longer than its place would be lost.
        let has_room = into.len() >= LONGEST;
        if !memory {
            return if has_room { port.receive(into) } else { None };
        }
        self.turns.next(
            &mut (&mut self.window, port, into),
            |(window, _, into)| in_memory(window, into),
            |(_, port, into)| if has_room { port.receive(into) } else { None },
        )
    }

    /// Copies arrivals to the arena and makes events of them. Answers how many. Without `memory`
    /// they are the socket's, if there is one.
    #[inline]
    pub(crate) fn poll(&mut self, memory: bool, arena: &mut Arena, events: &mut [Event]) -> usize {
        let mut n = 0;
        while n < events.len()
            && let Some(len) = self.receive(memory, arena.free())
        {
            events[n] = arena.keep(len);
            n += 1;
            // A single datagram is about to be answered: another look would only delay that.
            if !memory && self.port.as_ref().is_some_and(|port| !port.has_more()) {
                break;
            }
        }
        self.counts.received += n as u64;
        n
    }

    /// The same for a window that contexts share: the arrivals of others go to `deliver`.
    pub(crate) fn poll_for(
        &mut self,
        context: u32,
        arena: &mut Arena,
        events: &mut [Event],
        mut deliver: impl FnMut(u32, &[u8]),
    ) -> usize {
        // However much comes for others, this context's poll ends.
        let (mut n, mut left) = (0, 2 * events.len());
        while n < events.len()
            && left > 0
            && let Some(len) = self.receive(true, arena.free())
        {
            left -= 1;
            self.counts.received += 1;
            // One that names no context has not come from a task of this job.
            let Some((data, whose)) = arena.free()[..len].split_last_chunk::<SUFFIX>() else { continue };
            let whose = u32::from_le_bytes(*whose);
            if whose == context {
                events[n] = arena.keep(len - SUFFIX);
                n += 1;
            } else {
                deliver(whose, data);
            }
        }
        n
    }

    /// Has arrivals end sleeps from now on, or no more. False: something has arrived.
    /// `watched` says whether the sockets end this context's sleeps. The kernel then tells of each
    /// frame that comes and goes, which costs a round trip a twentieth (docs/performance.md): so it
    /// is asked to before a sleep only. Others may sleep who are `shared` with: their bell is left.
    /// Sockets that can't be watched are passed to `blind`, with the reason; the others are.
    pub(crate) fn watch(
        &mut self,
        on: bool,
        notifier: &Notifier,
        (watched, shared): (&mut bool, bool),
        mut blind: impl FnMut(&Place, io::Error),
    ) -> bool {
        let quiet = !on || self.window.arm();
        if !on && !shared {
            self.window.fifo().disarm();
        }
        let Some(port) = self.port.as_ref().filter(|_| *watched != on) else { return quiet };
        if on {
            notifier.watch_each(port.sockets(), |e| blind(&self.entry.place, e));
        } else {
            // One that stays watched ends a sleep too many at most.
            port.sockets().for_each(|socket| _ = notifier.unwatch(socket));
        }
        *watched = on;
        quiet
    }

    /// What has passed through it, for people; `sent` and `too_long` are what the ways from it have
    /// counted. Nothing, if that is nothing.
    pub(crate) fn told(&self, sent: u64, too_long: u64) -> String {
        let Counts { received, refused } = self.counts;
        if sent + too_long + received == 0 {
            return String::new();
        }
        let mut text = format!(" ({sent} datagrams sent, {received} received");
        let lost = self.port.as_ref().map_or(0, Port::lost);
        for (count, what) in [
            (too_long, "dropped because the network became narrower"),
            (refused, "refused for want of room"),
            (lost, "lost for want of room"),
        ] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_adapters::fifo::Geometry;
    use lapis_adapters::soft::Sender;
    use lapis_copies::Copies;

    #[test]
    fn a_poll_ends_however_much_comes_for_other_contexts() {
        let geometry = Geometry { slots: 64, chunks: 16, chunk: 1024, lanes: 0 };
        let parts = Parts::make("test", geometry).expect("memory");
        let mut sender = Sender::open(parts.try_clone().expect("descriptors"), Copies::USUAL).expect("maps");
        let place = Place { adapter: "sn0".to_owned(), window: 0 };
        let entry = Entry { network: 0, index: 0, place, wire: None };
        let mut rail = Rail::open(entry, parts, None).expect("maps");
        for _ in 0..40 {
            // SAFETY: there is room for so many bytes: data, and the number of context 2.
            assert!(sender.send(8 + SUFFIX, |to| unsafe {
                to.cast::<[u8; 8]>().write([7; 8]);
                to.add(8).cast::<[u8; SUFFIX]>().write(2u32.to_le_bytes());
            }));
        }
        let (mut arena, mut events, mut delivered) = (Arena::new(), [Event::EMPTY; 4], 0);
        let n = rail.poll_for(1, &mut arena, &mut events, |whose, data| {
            assert_eq!((whose, data), (2, &[7; 8][..]));
            delivered += 1;
        });
        assert_eq!((n, delivered), (0, 8));
    }
}
