//! Datagrams: the packet engine, this port's window, and when datagrams leave.

use crate::abi::FAST_MAX;
use crate::memory::memory;
use crate::outlets::{Bodies, Link, Outlets};
use crate::settings::Settings;
use crate::wire::{Head, SHORT};
use lapis_adapters::eth::port::Port as Wire;
use lapis_adapters::fifo::Found;
use lapis_adapters::soft::Window;
use lapis_adapters::turns::Turns;
use lapis_core::clock::Clock;
use lapis_core::reliable::wire::Header;
use lapis_core::reliable::{
    Body, Channel, Delivery, Engine, EngineConfig, Event, FastUnit, JobAuth, Memory, NO_TOKEN, Nanos,
    PathInfo, SubmitError, Transmit, Verdict,
};
use std::collections::VecDeque;

pub(crate) use crate::outlets::DATAGRAM;

/// What the engine is told of this port's window, as the transport hps does it.
const RECEIVE_BUFFER: u32 = 1 << 20;

/// Tells GM's datagrams from those of jobs before any cryptography.
const GM: u32 = 0x674d_0002;

/// Units to the port itself that may wait.
const OWN_UNITS: usize = 256;

/// Bytes of a unit to the port itself.
const OWN_ROOM: usize = 16 << 10;

/// So many bytes are enough: they leave while the program makes more.
const ENOUGH: usize = 1 << 10;

/// A unit leaves at once if no more than this many are not acknowledged, itself included. Others
/// follow each other closely, and wait for others.
pub(crate) const FEW: usize = 4;

/// A unit leaves at once if the last datagrams left longer ago than this.
const CLOSE: Nanos = 20_000;

/// The bytes of a unit.
#[derive(Clone, Copy)]
pub(crate) enum Bytes<'a> {
    /// They are copied.
    Copy(&'a [u8]),
    /// They stay where they are until the token is settled, or the peer given up.
    Lent { at: u64, len: usize, token: u64 },
}

impl Bytes<'_> {
    /// The bytes themselves.
    pub(crate) fn here(&self) -> &[u8] {
        match *self {
            Self::Copy(bytes) => bytes,
            // SAFETY: the program's message is readable until its send has completed.
            Self::Lent { at, len, .. } => unsafe { memory(at, len) },
        }
    }

    fn len(&self) -> usize {
        match *self {
            Self::Copy(bytes) => bytes.len(),
            Self::Lent { len, .. } => len,
        }
    }
}

/// Units that came in one datagram, with whom each is from.
pub(crate) type Units = Vec<(u32, Unit)>;

/// What a datagram has brought.
pub(crate) struct Arrived {
    /// Its first unit, and whom it is from.
    pub(crate) first: Option<(u32, Unit)>,
    /// A sender whom the engine does not know.
    pub(crate) stranger: Option<u32>,
}

/// Where a unit's bytes are: in the datagram, or, joined from parts, apart.
pub(crate) enum Unit {
    Within(std::ops::Range<usize>),
    Apart(Box<[u8]>),
}

/// The name under which a life of a port takes lanes.
pub(crate) fn name_of(task: u32, life: u32) -> u64 {
    (u64::from(life & 0x7fff_ffff) << 32 | u64::from(task)) + 1
}

/// See the module.
pub(crate) struct Net {
    pub(crate) engine: Engine<JobAuth>,
    pub(crate) window: Window,
    /// What the window has on an Ethernet.
    pub(crate) wire: Option<Wire>,
    /// Of the window's memory and socket.
    turns: Turns,
    own: u32,
    own_units: VecDeque<Vec<u8>>,
    pub(crate) outlets: Outlets,
    clock: Clock,
    out: Transmit,
    /// Datagrams of `out` from this one on are still to be sent.
    unsent: Option<usize>,
    /// Bytes that wait for others, and when datagrams left last.
    waiting: usize,
    flushed: Nanos,
    next_token: u64,
    /// The name under which this port takes lanes, and whether it does.
    pub(crate) name: u64,
    pub(crate) lanes: bool,
}

impl Net {
    pub(crate) fn new(
        (own, life): (u32, u32),
        (window, wire): (Window, Option<Wire>),
        secret: &[u8; 32],
        settings: &Settings,
    ) -> Result<Self, String> {
        let config =
            EngineConfig { receive_buffer: RECEIVE_BUFFER, peer_timeout: None, ..EngineConfig::default() };
        let mut engine = Engine::new(config, own, GM, JobAuth::new(secret)).map_err(|e| e.to_string())?;
        // What was put off is taken at the next poll, or before a sleep.
        engine.postpone_acks(true);
        Ok(Self {
            engine,
            window,
            wire,
            turns: Turns::default(),
            own,
            own_units: VecDeque::new(),
            outlets: Outlets::new(settings.loss, u64::from(own) | 1 << 40),
            clock: Clock::new(),
            out: Transmit::default(),
            unsent: None,
            waiting: 0,
            flushed: 0,
            next_token: 1,
            name: name_of(own, life),
            lanes: settings.copies,
        })
    }

    /// Nanoseconds since the port was opened, and one more: 0 is never.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.clock.now() + 1
    }

    /// A name for memory that is lent.
    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// A way to a peer: from now on it is sent to.
    pub(crate) fn connect(&mut self, task: u32, link: Link, epoch: u32) -> Result<(), String> {
        let now = self.now();
        let path = PathInfo::new(0, link.longest());
        self.outlets.open(task, link);
        let known = self.engine.max_payload(task).is_some();
        let done = if known {
            self.engine.resume(now, task)
        } else {
            self.engine.add_peer(now, task, epoch, None, &[path])
        };
        done.and_then(|()| self.engine.greet(task)).map_err(|e| e.to_string())
    }

    /// A new way to a peer that the engine already knows to have started anew.
    pub(crate) fn replace(&mut self, task: u32, link: Link) {
        self.forget_unsent(task);
        self.outlets.open(task, link);
    }

    /// Gives a peer up: lent memory is left alone from here on.
    pub(crate) fn disconnect(&mut self, task: u32) {
        self.forget_unsent(task);
        self.outlets.close(task);
        if let Err(e) = self.engine.purge(task) {
            tracing::debug!("{e}");
        }
    }

    fn forget_unsent(&mut self, task: u32) {
        if self.out.peer == task {
            self.unsent = None;
        }
    }

    /// Bytes that fit one unit, its head included.
    pub(crate) fn room(&self, task: u32) -> usize {
        if task == self.own { OWN_ROOM } else { self.engine.max_payload(task).unwrap_or(SHORT) }
    }

    /// Takes a unit, by whichever way. False: there is no room at present.
    pub(crate) fn submit(&mut self, task: u32, channel: Channel, head: &Head, bytes: Bytes<'_>) -> bool {
        let place = self.outlets.place(task);
        place
            .and_then(|place| self.submit_to_lane((task, place), head, bytes.here()))
            .unwrap_or_else(|| self.submit_to_engine(task, channel, head, bytes))
    }

    /// Takes a unit for the engine. False: there is no room at present.
    pub(crate) fn submit_to_engine(
        &mut self,
        task: u32,
        channel: Channel,
        head: &Head,
        bytes: Bytes<'_>,
    ) -> bool {
        let (first, len) = head.encode();
        self.submit_at(self.now(), (task, channel), &first[..len], bytes)
    }

    #[inline]
    fn submit_at(
        &mut self,
        now: Nanos,
        (task, channel): (u32, Channel),
        head: &[u8],
        bytes: Bytes<'_>,
    ) -> bool {
        if task == self.own {
            return self.submit_own(head, bytes);
        }
        let all = head.len() + bytes.len();
        let (body, token) = match bytes {
            Bytes::Copy(bytes) => (Body::Copy(bytes), NO_TOKEN),
            Bytes::Lent { at, len, token } => {
                (Body::External { buffer: at, offset: 0, len: len as u32 }, token)
            }
        };
        match self.engine.submit(now, task, channel, head, body, token) {
            Ok(()) => {
                self.waiting += all;
                true
            }
            Err(SubmitError::Again) => false,
            Err(e) => {
                tracing::debug!("{e}");
                false
            }
        }
    }

    /// Takes a message's unit that nothing of its stream waits in front of, for the engine and a
    /// peer of this number and place. It leaves at once, or, if it is short, waits for others
    /// where it follows others closely. False: nothing has happened.
    #[inline]
    pub(crate) fn submit_next(&mut self, (task, place): (u32, usize), head: &Head, body: &[u8]) -> bool {
        // Looking at the clock costs as much as a hundred instructions: once must do.
        let now = self.now();
        let (first, len) = head.encode();
        let head = &first[..len];
        if self.submit_fast(now, (task, place), head, body) {
            return true;
        }
        // Every path carries units of so few bytes.
        let taken =
            body.len() <= FAST_MAX && self.submit_at(now, (task, Channel::Request), head, Bytes::Copy(body));
        if taken {
            self.flush_unless_close(now, task);
        }
        taken
    }

    /// Takes a unit that nothing waits in front of, and sends it. False: nothing has happened.
    #[inline]
    fn submit_fast(&mut self, now: Nanos, (task, place): (u32, usize), head: &[u8], body: &[u8]) -> bool {
        // There is no peer of the port's own number in the engine.
        if self.unsent.is_some() {
            return false;
        }
        let unit = FastUnit { peer: task, channel: Channel::Request, head, body, token: NO_TOKEN, few: FEW };
        let (outlets, unsent, wire) = (&mut self.outlets, &mut self.unsent, &mut self.wire);
        let send = |out: &mut Transmit| {
            *unsent = outlets.push_to(place, out, 0, wire);
            if unsent.is_some() {
                out.copy_in(&mut { unit });
            }
        };
        let taken = self.engine.submit_fast(now, unit, &mut self.out, send);
        if taken {
            self.flushed = now;
        }
        taken
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
    #[inline]
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
    #[inline]
    pub(crate) fn flush(&mut self) {
        if self.unsent.is_some() || self.engine.has_ready() {
            self.flush_at(self.now());
        }
    }

    /// The same unless what was submitted to a peer may wait for others.
    #[inline]
    pub(crate) fn flush_unless_close(&mut self, now: Nanos, task: u32) {
        if self.unsent.is_none() && !self.engine.has_ready() {
            return;
        }
        let single = self.engine.outstanding(task).is_none_or(|units| units <= FEW);
        if single || self.waiting >= ENOUGH || now.saturating_sub(self.flushed) > CLOSE {
            self.flush_at(now);
        }
    }

    fn flush_at(&mut self, now: Nanos) {
        if let Some(from) = self.unsent {
            self.unsent = self.outlets.push(&self.out, from, &mut self.wire);
        }
        while self.unsent.is_none() {
            self.waiting = 0;
            self.flushed = now;
            if !self.engine.poll_transmit(now, &mut Bodies, &mut self.out) {
                return;
            }
            self.unsent = self.outlets.push(&self.out, 0, &mut self.wire);
        }
    }

    /// Copies the next datagram out of the window; answers its length.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        let in_memory = |window: &mut Window, into: &mut [u8]| match window.receive(into) {
            Found::Datagram(len) => Some(len),
            Found::NoRoom | Found::Nothing => None,
        };
        let Some(wire) = &mut self.wire else { return in_memory(&mut self.window, into) };
        self.turns.next(
            &mut (&mut self.window, wire, into),
            |(window, _, into)| in_memory(window, into),
            |(_, wire, into)| wire.receive(into),
        )
    }

    /// Whether a poll would find nothing here: nothing has arrived, and nothing is to be sent or
    /// caught up with.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        !self.window.has_arrivals() && !self.engine.is_behind() && !self.holds_back() && !self.has_frames()
    }

    /// Whether something has arrived as frames.
    #[inline]
    pub(crate) fn has_frames(&self) -> bool {
        self.wire.as_ref().is_some_and(Wire::has_arrivals)
    }

    /// Datagrams that came from a peer so far, acknowledgements included.
    pub(crate) fn heard(&self, task: u32) -> u64 {
        self.engine.stats(task).map_or(0, |stats| stats.datagrams_received)
    }

    /// Takes a datagram. Answers the first unit that it brings, and puts the others into `units`;
    /// or its sender if that is nobody whom the engine knows.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Nanos, datagram: &[u8], units: &mut Units) -> Arrived {
        let unknown = self.engine.engine_stats().unknown_peer;
        let mut first = None;
        let base = datagram.as_ptr().addr();
        self.engine.on_datagram(now, datagram, |Delivery { peer, packet, .. }| {
            let at = packet.as_ptr().addr().wrapping_sub(base);
            let unit = if at < datagram.len() {
                Unit::Within(at..at + packet.len())
            } else {
                Unit::Apart(packet.into())
            };
            if first.is_none() {
                first = Some((peer, unit));
            } else {
                units.push((peer, unit));
            }
            Verdict::Accept
        });
        let is_strange = self.engine.engine_stats().unknown_peer != unknown;
        let stranger = if is_strange { self.source_of(datagram) } else { None };
        Arrived { first, stranger }
    }

    /// Who has sent a datagram, if that is another port.
    #[cold]
    fn source_of(&self, datagram: &[u8]) -> Option<u32> {
        let (header, _) = Header::parse(datagram).ok()?;
        (header.source != self.own).then_some(header.source)
    }

    /// What the engine has to say of peers: those that have started anew, and whether what was
    /// under way to their former life is lost.
    #[inline]
    pub(crate) fn restarted(&mut self) -> Option<(u32, bool)> {
        while self.engine.has_events() {
            match self.engine.poll_event()? {
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
