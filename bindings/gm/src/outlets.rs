//! Ways to other ports' windows, and the copying of datagrams into these.

use lapis_adapters::soft::Sender;
use lapis_core::reliable::{Index, Memory, Segment, Transmit};

/// So many times in a row a full window is waited for while its owner takes nothing out.
const PATIENCE: u32 = 64;

/// The longest datagram there can be.
pub(crate) const DATAGRAM: usize = 1 << 16;

/// The way to a peer.
struct Outlet {
    sender: Sender,
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
    pub(crate) fn open(&mut self, task: u32, sender: Sender) {
        *self.slot(task) = Some(Outlet { sender, up: true });
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

    /// Whether there is a way, and the window at its end has been closed.
    #[inline]
    pub(crate) fn is_closed(&self, task: u32) -> bool {
        self.of(task).is_some_and(|outlet| outlet.sender.fifo().is_closed())
    }

    /// Sends the datagrams that the engine made, from one of them on. Answers the one for which
    /// there is no room, if so.
    pub(crate) fn push(&mut self, out: &Transmit, from: usize) -> Option<usize> {
        let place = self.place(out.peer)?;
        for index in from..out.datagrams() {
            if self.is_lost() {
                continue;
            }
            let outlet = self.list[place].as_mut()?;
            if !outlet.up {
                continue;
            }
            let sender = &mut outlet.sender;
            let segments = out.datagram(index);
            let len = segments.iter().map(length).sum();
            // SAFETY: the sender has found room for so many bytes.
            if sender.send(len, |to| unsafe { gather(segments, &out.bytes, to) }) {
                self.full = 0;
                continue;
            }
            // A full window is waited for while its owner empties it; one that nobody empties loses
            // what comes.
            let tail = sender.fifo().tail();
            if std::mem::replace(&mut self.tail, tail) != tail {
                self.full = 0;
            }
            self.full += 1;
            if self.full <= PATIENCE {
                return Some(index);
            }
            sender.fifo().count_refused();
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
        // SAFETY: the caller's promise; the pieces are as long as was summed up.
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
