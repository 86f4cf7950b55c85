//! Ways to other ports' windows, and the copying of datagrams into these.

use lapis_adapters::eth::frame::Template;
use lapis_adapters::eth::port::Port as Wire;
use lapis_adapters::soft::Sender;
use lapis_core::reliable::{Index, Memory, Segment, Transmit};
use std::net::IpAddr;

/// So many times in a row a full window is waited for while its owner takes nothing out.
const PATIENCE: u32 = 64;

/// The longest datagram there can be.
pub(crate) const DATAGRAM: usize = 1 << 16;

/// How datagrams get to a peer's window.
pub(crate) enum Link {
    /// Through memory of this host.
    Memory(Sender),
    /// As frames of this port's window, to another host.
    Frames(Far),
}

/// A window of another host.
pub(crate) struct Far {
    pub(crate) template: Template,
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    /// The longest datagram.
    pub(crate) room: usize,
}

impl Link {
    /// The longest datagram.
    pub(crate) fn longest(&self) -> usize {
        match self {
            Self::Memory(sender) => sender.longest(),
            Self::Frames(far) => far.room,
        }
    }

    /// Sends a datagram. False: there is no room.
    #[inline]
    fn send(&mut self, wire: Option<&mut Wire>, len: usize, write: impl FnOnce(*mut u8)) -> bool {
        match self {
            Self::Memory(sender) => sender.send(len, write),
            Self::Frames(far) => wire.is_some_and(|wire| wire.send(&far.template, len, write)),
        }
    }

    /// How far whoever empties what is full has come.
    fn progress(&self, wire: Option<&Wire>) -> u64 {
        match self {
            Self::Memory(sender) => sender.fifo().tail(),
            Self::Frames(_) => wire.map_or(0, |wire| u64::from(wire.progress())),
        }
    }
}

/// The way to a peer.
struct Outlet {
    link: Link,
    /// Both adapters are up: one that is down carries nothing.
    up: bool,
}

/// The ways to all peers.
pub(crate) struct Outlets {
    /// Where a peer is in the list, by the packet engine's number.
    index: Index,
    list: Vec<Option<Outlet>>,
    /// Times in a row that a window was full, and how far its owner had come then.
    full: u32,
    tail: u64,
    /// Of a hundred datagrams so many are thrown away.
    loss: u32,
    random: u64,
}

impl Outlets {
    pub(crate) fn new(loss: u32, seed: u64) -> Self {
        Self { index: Index::default(), list: Vec::new(), full: 0, tail: 0, loss, random: seed }
    }

    /// The place of a peer in the list, if it has one.
    #[inline]
    pub(crate) fn place(&self, task: u32) -> Option<usize> {
        self.index.get(task).map(|place| place as usize)
    }

    /// Gives a peer that has none a place.
    pub(crate) fn add(&mut self, task: u32) -> usize {
        let place = self.list.len();
        self.index.insert(task, place as u32);
        self.list.push(None);
        place
    }

    fn of(&self, task: u32) -> Option<&Outlet> {
        self.list.get(self.place(task)?)?.as_ref()
    }

    fn slot(&mut self, task: u32) -> &mut Option<Outlet> {
        let place = match self.place(task) {
            Some(place) => place,
            None => self.add(task),
        };
        &mut self.list[place]
    }

    /// Sets the way to a peer.
    pub(crate) fn open(&mut self, task: u32, link: Link) {
        *self.slot(task) = Some(Outlet { link, up: true });
    }

    /// The ways to other hosts.
    pub(crate) fn far(&mut self) -> impl Iterator<Item = &mut Far> {
        self.list.iter_mut().flatten().filter_map(|outlet| match &mut outlet.link {
            Link::Frames(far) => Some(far),
            Link::Memory(_) => None,
        })
    }

    /// Whether a peer is reached by frames.
    pub(crate) fn is_far(&self, task: u32) -> bool {
        self.of(task).is_some_and(|outlet| matches!(outlet.link, Link::Frames(_)))
    }

    /// The window of the peer at this place in the list, if it is on this host and the adapters of
    /// both ends are up.
    #[inline]
    pub(crate) fn near(&mut self, place: usize) -> Option<&mut Sender> {
        match self.list.get_mut(place)?.as_mut()? {
            Outlet { link: Link::Memory(sender), up: true } => Some(sender),
            Outlet { .. } => None,
        }
    }

    /// Ends the sleep of the peer at this place in the list, if it is on this host.
    pub(crate) fn wake(&self, place: usize) {
        if let Some(Some(Outlet { link: Link::Memory(sender), .. })) = self.list.get(place) {
            sender.wake();
        }
    }

    /// Whether some datagrams are thrown away.
    #[inline]
    pub(crate) fn loses(&self) -> bool {
        self.loss > 0
    }

    /// Whether there is room again for what found none in its lane. If not, the sleep that
    /// is about to begin ends when there is.
    pub(crate) fn lanes_have_room(&mut self) -> bool {
        let mut has_room = false;
        for outlet in self.list.iter_mut().flatten() {
            if let Link::Memory(sender) = &mut outlet.link
                && sender.is_held_up()
            {
                has_room |= !sender.await_room();
            }
        }
        has_room
    }

    /// Gives the way to a peer up.
    pub(crate) fn close(&mut self, task: u32) {
        *self.slot(task) = None;
    }

    /// Whether the adapters of both ends are up.
    pub(crate) fn set_up(&mut self, task: u32, up: bool) {
        if let Some(outlet) = self.slot(task) {
            outlet.up = up;
        }
    }

    /// Whether there is a way, and the window at its end has been closed. Of other hosts' windows
    /// this is not seen.
    pub(crate) fn is_closed(&self, task: u32) -> bool {
        self.place(task).is_some_and(|place| self.is_closed_at(place))
    }

    /// The same by the peer's place in the list.
    #[inline]
    pub(crate) fn is_closed_at(&self, place: usize) -> bool {
        self.list.get(place).and_then(Option::as_ref).is_some_and(|outlet| match &outlet.link {
            Link::Memory(sender) => sender.fifo().is_closed(),
            Link::Frames(_) => false,
        })
    }

    /// Sends the datagrams that the engine made, from one of them on. Answers the one for which
    /// there is no room, if so. `wire` is that of this port's window.
    pub(crate) fn push(&mut self, out: &Transmit, from: usize, wire: &mut Option<Wire>) -> Option<usize> {
        self.push_to(self.place(out.peer)?, out, from, wire)
    }

    /// The same to the peer at this place in the list.
    #[inline]
    pub(crate) fn push_to(
        &mut self,
        place: usize,
        out: &Transmit,
        from: usize,
        wire: &mut Option<Wire>,
    ) -> Option<usize> {
        let unsent = self.push_all(place, out, from, wire);
        if let Some(wire) = wire {
            wire.flush();
        }
        unsent
    }

    #[inline]
    fn push_all(
        &mut self,
        place: usize,
        out: &Transmit,
        from: usize,
        wire: &mut Option<Wire>,
    ) -> Option<usize> {
        for index in from..out.datagrams() {
            if self.is_lost() {
                continue;
            }
            let outlet = self.list[place].as_mut()?;
            if !outlet.up {
                continue;
            }
            let link = &mut outlet.link;
            let segments = out.datagram(index);
            let len = segments.iter().map(length).sum();
            // SAFETY: the link has found room for so many bytes.
            if link.send(wire.as_mut(), len, |to| unsafe { gather(segments, &out.bytes, to) }) {
                self.full = 0;
                continue;
            }
            // A full window is waited for while its owner empties it; one that nobody empties loses
            // what comes.
            let tail = link.progress(wire.as_ref());
            if std::mem::replace(&mut self.tail, tail) != tail {
                self.full = 0;
            }
            self.full += 1;
            if self.full <= PATIENCE {
                return Some(index);
            }
            if let Link::Memory(sender) = link {
                sender.fifo().count_refused();
            }
        }
        None
    }

    #[inline]
    fn is_lost(&mut self) -> bool {
        if self.loss == 0 {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 100 < u64::from(self.loss)
    }
}

fn length(segment: &Segment) -> usize {
    match *segment {
        Segment::Owned { start, end } => (end - start) as usize,
        Segment::External { len, .. } => len as usize,
    }
}

/// Copies a datagram's pieces one behind the other.
///
/// # Safety
/// There is room for all of them at `to`.
unsafe fn gather(segments: &[Segment], bytes: &[u8], mut to: *mut u8) {
    let mut put = |from: &[u8]| {
        // SAFETY: there is room for all pieces at `to`: so asks `gather`; they are as long as was
        // summed up.
        unsafe {
            to.copy_from_nonoverlapping(from.as_ptr(), from.len());
            to = to.add(from.len());
        }
    };
    for segment in segments {
        match *segment {
            Segment::Owned { start, end } => put(&bytes[start as usize..end as usize]),
            Segment::External { buffer, offset, len } => Bodies.read(buffer, offset, len, &mut put),
        }
    }
}

/// Memory that is lent: its name is its address.
pub(crate) struct Bodies;

impl Memory for Bodies {
    fn read(&mut self, buffer: u64, offset: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        if buffer == 0 {
            // Withdrawn: the target drops them.
            return read(&[0; DATAGRAM][..len as usize]);
        }
        let at = std::ptr::with_exposed_provenance::<u8>((buffer + offset) as usize);
        // SAFETY: the program leaves a message alone until its send has completed, and before that
        // its token is settled or its peer given up.
        read(unsafe { std::slice::from_raw_parts(at, len as usize) });
    }
}
