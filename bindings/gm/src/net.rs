//! Datagrams: the packet engine, this port's window, and the ways to other ports' windows.

use crate::wire::{Head, SHORT};
use lapis_adapters::fifo::Found;
use lapis_adapters::soft::{Sender, Window};
use lapis_core::reliable::wire::Header;
use lapis_core::reliable::{
    Body, Channel, Delivery, Engine, EngineConfig, Event, JobAuth, Memory, NO_TOKEN, Nanos, PathInfo,
    Segment, SubmitError, Transmit, Verdict,
};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// What the engine is told of this port's window, as the transport hps does it.
const RECEIVE_BUFFER: u32 = 1 << 20;

/// Tells GM's datagrams from those of jobs before any cryptography.
const GM: u32 = 0x674d_0002;

/// So many times in a row a full window is waited for while its owner takes nothing out.
const PATIENCE: u32 = 64;

/// Units to the port itself that may wait.
const OWN_UNITS: usize = 256;

/// Bytes of a unit to the port itself.
const OWN_ROOM: usize = 16 << 10;

/// The longest datagram there can be.
pub(crate) const DATAGRAM: usize = 1 << 16;

/// The bytes of a unit.
#[derive(Clone, Copy)]
pub(crate) enum Bytes<'a> {
    /// They are copied.
    Copy(&'a [u8]),
    /// They stay where they are until the token is settled, or the peer given up.
    Lent { at: u64, len: usize, token: u64 },
}

/// Units that came in one datagram, with whom each is from.
pub(crate) type Units = Vec<(u32, Unit)>;

/// Where a unit's bytes are: in the datagram, or, joined from parts, apart.
pub(crate) enum Unit {
    Within(std::ops::Range<usize>),
    Apart(Box<[u8]>),
}

/// The way to a peer.
struct Outlet {
    sender: Sender,
    /// Both adapters are up: one that is down carries nothing.
    up: bool,
}

impl Outlet {
    fn new(sender: Sender) -> Self {
        Self { sender, up: true }
    }
}

/// See the module.
pub(crate) struct Net {
    pub(crate) engine: Engine<JobAuth>,
    pub(crate) window: Window,
    own: u32,
    own_units: VecDeque<Vec<u8>>,
    outlets: HashMap<u32, Outlet>,
    start: Instant,
    out: Transmit,
    /// Datagrams of `out` from this one on are still to be sent.
    unsent: Option<usize>,
    full: u32,
    tail: u64,
    next_token: u64,
    /// Of a hundred datagrams so many are thrown away.
    loss: u32,
    random: u64,
}

impl Net {
    pub(crate) fn new(own: u32, window: Window, secret: &[u8; 32], loss: u32) -> Result<Self, String> {
        let config =
            EngineConfig { receive_buffer: RECEIVE_BUFFER, peer_timeout: None, ..EngineConfig::default() };
        let engine = Engine::new(config, own, GM, JobAuth::new(secret)).map_err(|e| e.to_string())?;
        Ok(Self {
            engine,
            window,
            own,
            own_units: VecDeque::new(),
            outlets: HashMap::new(),
            start: Instant::now(),
            out: Transmit::default(),
            unsent: None,
            full: 0,
            tail: 0,
            next_token: 1,
            loss,
            random: u64::from(own) | 1 << 40,
        })
    }

    /// Nanoseconds since the port was opened, and one more: 0 is never.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.start.elapsed().as_nanos() as Nanos + 1
    }

    /// A name for memory that is lent.
    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// A way to a peer: from now on it is sent to.
    pub(crate) fn connect(&mut self, task: u32, outlet: Sender, epoch: u32) -> Result<(), String> {
        let now = self.now();
        let path = PathInfo { path_id: 0, max_datagram: outlet.longest() };
        self.outlets.insert(task, Outlet::new(outlet));
        let known = self.engine.max_payload(task).is_some();
        let done = if known {
            self.engine.resume(now, task)
        } else {
            self.engine.add_peer(now, task, epoch, None, &[path])
        };
        done.and_then(|()| self.engine.greet(task)).map_err(|e| e.to_string())
    }

    /// A new way to a peer that the engine already knows to have started anew.
    pub(crate) fn replace(&mut self, task: u32, outlet: Sender) {
        self.forget_unsent(task);
        self.outlets.insert(task, Outlet::new(outlet));
    }

    /// Whether the adapters of both ends are up.
    pub(crate) fn set_up(&mut self, task: u32, up: bool) {
        if let Some(outlet) = self.outlets.get_mut(&task) {
            outlet.up = up;
        }
    }

    /// Gives a peer up: lent memory is left alone from here on.
    pub(crate) fn disconnect(&mut self, task: u32) {
        self.forget_unsent(task);
        self.outlets.remove(&task);
        if let Err(e) = self.engine.purge(task) {
            tracing::debug!("{e}");
        }
    }

    fn forget_unsent(&mut self, task: u32) {
        if self.out.peer == task {
            self.unsent = None;
        }
    }

    /// Whether the peer's port has been closed.
    pub(crate) fn is_closed(&self, task: u32) -> bool {
        self.outlets.get(&task).is_some_and(|outlet| outlet.sender.fifo().is_closed())
    }

    /// Bytes that fit one unit, its head included.
    pub(crate) fn room(&self, task: u32) -> usize {
        if task == self.own { OWN_ROOM } else { self.engine.max_payload(task).unwrap_or(SHORT) }
    }

    /// Takes a unit. False: there is no room at present.
    pub(crate) fn submit(&mut self, task: u32, channel: Channel, head: &Head, bytes: Bytes<'_>) -> bool {
        let (first, len) = head.encode();
        if task == self.own {
            return self.submit_own(&first[..len], bytes);
        }
        let (body, token) = match bytes {
            Bytes::Copy(bytes) => (Body::Copy(bytes), NO_TOKEN),
            Bytes::Lent { at, len, token } => {
                (Body::External { buffer: at, offset: 0, len: len as u32 }, token)
            }
        };
        match self.engine.submit(self.now(), task, channel, &first[..len], body, token) {
            Ok(()) => true,
            Err(SubmitError::Again) => false,
            Err(e) => {
                tracing::debug!("{e}");
                false
            }
        }
    }

    fn submit_own(&mut self, head: &[u8], bytes: Bytes<'_>) -> bool {
        if self.own_units.len() >= OWN_UNITS {
            return false;
        }
        let mut unit = head.to_vec();
        match bytes {
            Bytes::Copy(bytes) => unit.extend_from_slice(bytes),
            Bytes::Lent { at, len, .. } => {
                Bodies.read(at, 0, len as u32, &mut |bytes| unit.extend_from_slice(bytes))
            }
        }
        self.own_units.push_back(unit);
        true
    }

    /// The next unit that this port has sent to itself.
    pub(crate) fn own_unit(&mut self) -> Option<Vec<u8>> {
        self.own_units.pop_front()
    }

    /// Memory lent under a token is left alone from here on. Units of it that were not sent yet are
    /// those of a message that the target drops.
    pub(crate) fn settle(&mut self, task: u32, token: u64) {
        if task != self.own {
            self.forget_unsent(task);
            self.engine.withdraw(task, token);
        }
    }

    /// Sends what may be sent.
    pub(crate) fn flush(&mut self) {
        if self.unsent.is_none() && !self.engine.has_ready() {
            return;
        }
        let now = self.now();
        loop {
            if let Some(from) = self.unsent
                && !self.push(from)
            {
                return;
            }
            if !self.engine.poll_transmit(now, &mut Bodies, &mut self.out) {
                return;
            }
            self.unsent = Some(0);
        }
    }

    /// Sends the datagrams that the engine made, from one of them on. False: there is no room.
    fn push(&mut self, from: usize) -> bool {
        self.unsent = None;
        for index in from..self.out.datagrams() {
            if self.is_lost() {
                continue;
            }
            let Some(outlet) = self.outlets.get_mut(&self.out.peer) else { return true };
            if !outlet.up {
                continue;
            }
            let outlet = &mut outlet.sender;
            let segments = self.out.datagram(index);
            let bytes = &self.out.bytes;
            let len = segments.iter().map(length).sum();
            // SAFETY: the outlet has found room for so many bytes.
            if outlet.send(len, |to| unsafe { gather(segments, bytes, to) }) {
                self.full = 0;
                continue;
            }
            // A full window is waited for while its owner empties it; one that nobody empties loses
            // what comes.
            let tail = outlet.fifo().tail();
            if std::mem::replace(&mut self.tail, tail) != tail {
                self.full = 0;
            }
            self.full += 1;
            if self.full <= PATIENCE {
                self.unsent = Some(index);
                return false;
            }
            outlet.fifo().count_refused();
        }
        true
    }

    fn is_lost(&mut self) -> bool {
        if self.loss == 0 {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 100 < u64::from(self.loss)
    }

    /// Copies the next datagram out of the window; answers its length.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        match self.window.receive(into) {
            Found::Datagram(len) => Some(len),
            Found::NoRoom | Found::Nothing => None,
        }
    }

    /// Whose datagram it is, if it is for this port and there is no way to its sender.
    pub(crate) fn stranger(&self, datagram: &[u8]) -> Option<u32> {
        let (header, _) = Header::parse(datagram).ok()?;
        let ours = header.job == GM && header.destination == self.own && header.source != self.own;
        (ours && !self.outlets.contains_key(&header.source)).then_some(header.source)
    }

    /// Takes a datagram; what it brings is put into `units`.
    pub(crate) fn arrived(&mut self, datagram: &[u8], units: &mut Units) {
        let now = self.now();
        let base = datagram.as_ptr().addr();
        self.engine.on_datagram(now, datagram, |Delivery { peer, packet, .. }| {
            let at = packet.as_ptr().addr().wrapping_sub(base);
            let unit = if at < datagram.len() {
                Unit::Within(at..at + packet.len())
            } else {
                Unit::Apart(packet.into())
            };
            units.push((peer, unit));
            Verdict::Accept
        });
    }

    /// What the engine has to say of peers: those that have started anew, and whether what was
    /// under way to their former life is lost.
    pub(crate) fn restarted(&mut self) -> Option<(u32, bool)> {
        while let Some(event) = self.engine.poll_event() {
            match event {
                Event::PeerRestarted { peer, .. } => return Some((peer, true)),
                Event::PeerRenewed { peer, .. } => return Some((peer, false)),
                _ => {}
            }
        }
        None
    }

    /// Runs what is due.
    pub(crate) fn run_timers(&mut self, now: Nanos) {
        let refused = self.window.fifo().take_refused();
        if refused > 0 {
            self.engine.note_overflow(now, refused);
        }
        if self.engine.next_timeout().is_some_and(|at| at <= now) {
            self.engine.on_timeout(now);
        }
    }

    /// Whether something waits that a flush would send, or a message to the port itself.
    pub(crate) fn holds_back(&self) -> bool {
        self.unsent.is_some() || self.engine.has_ready() || !self.own_units.is_empty()
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
struct Bodies;

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
