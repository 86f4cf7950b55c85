//! The link made of two: it passes each call on to the transport that it concerns.

use super::addresses::{joined, parted};
use super::waiter::StandbyWaiter;
use super::ways::{PRIMARY, STANDBY, Ways};
use crate::clock::Clock;
use crate::reliable::Nanos;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::transport::abi::TransportOps;
use crate::transport::{
    Attributes, Caps, DatagramBatch, Event, EventKind, Exported, Host, Instance, Link, OpenParams,
    PeerAccess, PeerId, RailReport, RawSlice, RegionInfo, RemoteAddr, Status, Transport, TransportError,
    Unusable, Window,
};
use std::cell::RefCell;
use std::collections::VecDeque;

/// So many polls after the standby had something, each poll looks at it.
const BUSY: u32 = 256;

/// The longest time from one look to the next if some peers are reached over the standby alone, and
/// if none is: then it may have something only when a peer has left the primary.
const NEEDED: Nanos = 20_000;
const SPARE: Nanos = 100_000;

/// See the module above.
struct StandbyLink {
    /// The primary and the standby.
    parts: [RefCell<Link>; 2],
    /// By task.
    ways: Vec<Ways>,
    /// The longest time from one look at the standby to the next.
    pause: Nanos,
    clock: Clock,
    /// Polls since the standby had something, and when it was looked at last.
    idle: u32,
    looked: Nanos,
    /// Whoever slept has found that the standby may have something.
    stirred: Arc<AtomicBool>,
    /// Paths that there are no more, of which the layers above have not been told.
    gone: VecDeque<Event>,
    /// Transports that have failed altogether.
    broken: [bool; 2],
}

// SAFETY: the events in `gone` have no pointers.
unsafe impl Send for StandbyLink {}

/// Makes one link of two.
pub(crate) fn join(primary: Link, standby: Link, tasks: u32) -> Result<Link, Unusable> {
    static TABLE: TransportOps = Exported::<StandbyLink>::table(c"standby", c"0", std::ptr::null());
    let (name, version, other) = (primary.name(), primary.version(), standby.name());
    let stirred = Arc::new(AtomicBool::new(true));
    let waiter =
        StandbyWaiter::new([primary.sleeper(), standby.sleeper()], Arc::clone(&stirred)).map_err(|e| {
            let text = format!("no descriptor to sleep on both {name} and {other}: {e}");
            Unusable::Open(TransportError::Exhausted(text))
        })?;
    let link = StandbyLink {
        parts: [primary, standby].map(RefCell::new),
        ways: vec![Ways::default(); tasks as usize],
        pause: SPARE,
        clock: Clock::new(),
        idle: 0,
        looked: 0,
        stirred,
        gone: VecDeque::new(),
        broken: [false; 2],
    };
    let mut link = Link::around(name, version, &TABLE, Instance::new_raw(link, waiter))?;
    link.standby = Some(other);
    Ok(link)
}

impl StandbyLink {
    #[inline]
    fn part(&mut self, part: usize) -> &mut Link {
        self.parts[part].get_mut()
    }

    /// The primary, unless it must leave the peer to the standby.
    #[inline]
    fn primary_to(&mut self, peer: PeerId) -> Option<&mut Link> {
        let leaves = self.ways.get(peer as usize).is_some_and(Ways::leaves);
        (!leaves).then(|| self.part(PRIMARY))
    }

    /// How many tasks are reached: by the primary, and by the standby alone.
    fn count_reached(&self) -> [usize; 2] {
        let count = |reaches: fn(&Ways) -> bool| self.ways.iter().filter(|ways| reaches(ways)).count();
        [count(|ways| ways.reached[PRIMARY]), count(|ways| ways.reached == [false, true])]
    }

    /// Who is reached has changed.
    fn set_pause(&mut self) {
        self.pause = match self.count_reached() {
            [_, 0] => SPARE,
            [0, _] => 0,
            _ => NEEDED,
        };
        // There is news.
        self.idle = 0;
    }

    /// Whether this poll looks at the standby. Each look may cost a system call.
    #[inline]
    fn looks_at_standby(&mut self) -> bool {
        self.idle = self.idle.saturating_add(1);
        if self.idle > BUSY && !self.stirred.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now - self.looked.min(now) < self.pause {
                return false;
            }
            self.looked = now;
        }
        true
    }

    /// Polls one of the two.
    fn poll_part(&mut self, part: usize, events: &mut [Event]) -> usize {
        let Ok(found) = self.part(part).poll(events) else {
            self.part_failed(part);
            return 0;
        };
        let mut kept = 0;
        for at in 0..found {
            let mut event = events[at];
            if event.kind == EventKind::Path as u32 && !self.renumber(part, &mut event) {
                continue;
            }
            events[kept] = event;
            kept += 1;
        }
        kept
    }

    /// Gives a path its number. False: there are too many.
    #[cold]
    fn renumber(&mut self, part: usize, event: &mut Event) -> bool {
        let Some(ways) = self.ways.get_mut(event.peer as usize) else { return false };
        let Some(number) = ways.number(part, event.token) else { return false };
        ways.tell(part, number, event.status != 0);
        let mark = if part == STANDBY { Event::STANDBY | event.token << 8 } else { 0 };
        event.token = u64::from(number) | mark;
        // A path that has the number of one that is gone takes its place.
        self.gone.retain(|gone| (gone.peer, gone.token & 0xff) != (event.peer, u64::from(number)));
        true
    }

    /// A transport has failed altogether: its paths are gone.
    ///
    /// # Panics
    /// It alone reaches some peers: then this link has failed, too.
    #[cold]
    fn part_failed(&mut self, part: usize) {
        if std::mem::replace(&mut self.broken[part], true) {
            return;
        }
        let [failed, other] = [part, 1 - part].map(|part| self.parts[part].get_mut().name());
        tracing::error!(
            transport = failed,
            "transport {failed} has failed: what can takes {other} from now on"
        );
        let alone = self.ways.iter().any(|ways| ways.reached[part] && !ways.reached[1 - part]);
        assert!(!alone, "transport {failed} has failed, and nothing stands by for some tasks");
        for peer in 0..self.ways.len() {
            let former = std::mem::take(&mut self.ways[peer].told[part]);
            self.ways[peer].reached[part] = false;
            self.ways[peer].up &= self.ways[peer].told[PRIMARY];
            self.forget(peer as PeerId, part, former);
        }
    }

    /// The paths with these numbers are gone.
    fn forget(&mut self, peer: PeerId, part: usize, numbers: u8) {
        let mark = if part == STANDBY { Event::STANDBY } else { 0 };
        for number in (0..8).filter(|number| numbers >> number & 1 == 1) {
            let token = number | mark;
            self.gone.push_back(Event { kind: EventKind::Path as u32, peer, token, ..Event::EMPTY });
        }
    }

    /// Shows what is gone, as far as there is room: when everything that is there was told.
    #[cold]
    fn show_gone(&mut self, events: &mut [Event]) -> usize {
        let n = self.gone.len().min(events.len());
        events.iter_mut().zip(self.gone.drain(..n)).for_each(|(event, gone)| *event = gone);
        n
    }

    /// Connects whichever of the two has an address. Answers who reaches the peer.
    fn connect_parts(&mut self, peer: PeerId, address: &[u8]) -> Result<[bool; 2], TransportError> {
        let both = parted(address).ok_or_else(|| {
            TransportError::Invalid(format!("no addresses of task {peer}: {} bytes", address.len()))
        })?;
        let (mut reached, mut reasons) = ([false; 2], Vec::new());
        for (part, address) in both.into_iter().enumerate() {
            let link = self.part(part);
            let outcome = match address {
                Some(address) => link.connect(peer, address),
                None => Err(TransportError::Unreachable(format!("task {peer} does not have it"))),
            };
            match outcome {
                Ok(()) => reached[part] = true,
                Err(TransportError::Unreachable(why)) => {
                    tracing::debug!(transport = link.name(), peer, "does not reach the task: {why}");
                    // Whoever reports this puts the name of the primary before it.
                    let name = if part == STANDBY { format!("{}: ", link.name()) } else { String::new() };
                    reasons.push(format!("{name}{why}"));
                }
                Err(e) => return Err(e),
            }
        }
        if reached == [false; 2] { Err(TransportError::Unreachable(reasons.join("; "))) } else { Ok(reached) }
    }
}

impl Transport for StandbyLink {
    const NAME: &'static str = "standby";
    const VERSION: &'static str = "0";
    /// Whatever the two have: the instance's attributes say.
    const CAPS: Caps = Caps::all();
    type Waiter = StandbyWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, StandbyWaiter), TransportError> {
        Err(TransportError::Unsupported)
    }

    fn attributes(&self) -> Attributes {
        let [mut primary, mut standby] = self.parts.each_ref().map(RefCell::borrow_mut);
        // A failure shows at the next operation; what was known stays known.
        let _ = (primary.refresh_attributes(), standby.refresh_attributes());
        let (mut caps, mut limits) = (primary.caps(), *primary.limits());
        // What holds of both only if it holds of each.
        let mut of_both = Caps::WAIT | Caps::LOCAL_ONLY | Caps::PEER_FAILURE;
        match self.count_reached() {
            [_, 0] => {}
            // The standby is all there is. What it has beside datagrams is not passed on.
            [0, _] => {
                caps = standby.caps() & (Caps::DATAGRAM | Caps::WAIT | Caps::LENT_PAGES | Caps::QUIET_POLLS);
                limits = *standby.limits();
            }
            _ => {
                of_both |= Caps::QUIET_POLLS;
                limits.receive_buffer = limits.receive_buffer.min(standby.limits().receive_buffer);
            }
        }
        caps -= (of_both - (primary.caps() & standby.caps())) | Caps::LANES | Caps::LATE_CONTACT;
        limits.max_packed = limits.max_packed.max(standby.limits().max_packed);
        limits.paths = (primary.limits().paths + standby.limits().paths).min(8);
        let note = format!("{}; standby {}: {}", primary.note(), standby.name(), standby.note());
        Attributes { caps, limits, note }
    }

    fn address(&self) -> Vec<u8> {
        let both = self.parts.each_ref().map(|part| part.borrow_mut().address().ok());
        joined(both.each_ref().map(Option::as_deref))
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        if peer as usize >= self.ways.len() {
            return Err(TransportError::Invalid(format!("there is no task {peer}")));
        }
        let reached = self.connect_parts(peer, address)?;
        let plain = parted(address).is_some_and(|both| both[PRIMARY].is_none());
        let ways = &mut self.ways[peer as usize];
        let renumbered = std::mem::replace(&mut ways.plain, plain) != plain;
        ways.reached = reached;
        for part in [PRIMARY, STANDBY].into_iter().filter(|part| renumbered || !reached[*part]) {
            let former = std::mem::take(&mut self.ways[peer as usize].told[part]);
            self.forget(peer, part, former);
        }
        self.set_pause();
        Ok(())
    }

    fn progress_connect(&mut self) -> Result<bool, TransportError> {
        let [primary, standby] = self.parts.each_mut().map(RefCell::get_mut);
        Ok(primary.progress_connect()? & standby.progress_connect()?)
    }

    fn disconnect(&mut self, peer: PeerId) {
        if let Some(ways) = self.ways.get_mut(peer as usize) {
            // What they have told is kept: it may be so, or be gone, when the peer is back.
            (ways.reached, ways.up) = ([false; 2], 0);
        }
        self.gone.retain(|event| event.peer != peer);
        self.parts.iter_mut().for_each(|part| part.get_mut().disconnect(peer));
    }

    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        self.primary_to(peer).map_or(Status::Unsupported, |link| link.am_short(peer, head, body))
    }

    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        self.primary_to(peer).map_or(Status::Unsupported, |link| link.am_packed(peer, len, pack))
    }

    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        let Some(link) = self.primary_to(peer) else { return Status::Unsupported };
        // SAFETY: the primary asks of its caller what this one does.
        unsafe { link.put_zcopy(peer, data, remote, token) }
    }

    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        let Some(link) = self.primary_to(peer) else { return Status::Unsupported };
        // SAFETY: the primary asks of its caller what this one does.
        unsafe { link.get_zcopy(peer, into, remote, token) }
    }

    unsafe fn put_short(&mut self, peer: PeerId, data: &[u8], remote: RemoteAddr) -> Status {
        let Some(link) = self.primary_to(peer) else { return Status::Unsupported };
        // SAFETY: the primary asks of its caller what this one does.
        unsafe { link.put_short(peer, data, remote) }
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        for (done, batch) in batches.iter().enumerate() {
            let Some(ways) = self.ways.get(batch.peer as usize) else { continue };
            let mut lent = batch.path & DatagramBatch::LENT;
            let (part, path) = ways.path(batch.path & !DatagramBatch::LENT);
            if part == STANDBY {
                self.idle = 0;
            }
            let link = self.part(part);
            if lent != 0 && !link.caps().contains(Caps::LENT_PAGES) {
                lent = 0;
            }
            let batch = DatagramBatch { path: path | lent, ..*batch };
            // SAFETY: the slices are readable by the promise of this function's caller.
            if unsafe { link.send_datagrams(std::slice::from_ref(&batch)) } == Ok(0) {
                return done;
            }
            // A transport that fails altogether says so at the next poll, too.
        }
        batches.len()
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        let looks = self.looks_at_standby();
        // What the primary has comes first, but leaves some room.
        let most = if looks { events.len() - events.len() / 4 } else { events.len() };
        let mut n = self.poll_part(PRIMARY, &mut events[..most]);
        if looks && n < events.len() {
            // Before it is looked at: whoever sleeps meanwhile may say so again.
            self.stirred.store(false, Ordering::Relaxed);
            let found = self.poll_part(STANDBY, &mut events[n..]);
            n += found;
            if found > 0 {
                self.idle = 0;
            }
            if !self.gone.is_empty() {
                n += self.show_gone(&mut events[n..]);
            }
        }
        n
    }

    fn arm(&mut self) -> Status {
        if !self.gone.is_empty() {
            return Status::Again;
        }
        let first = self.part(PRIMARY).arm();
        if first == Status::Again {
            return first;
        }
        let second = self.part(STANDBY).arm();
        if second == Status::Again {
            self.part(PRIMARY).disarm();
            // The next poll finds it.
            self.idle = 0;
        }
        second
    }

    fn disarm(&mut self) {
        self.parts.iter_mut().for_each(|part| part.get_mut().disarm());
    }

    fn set_interrupts(&mut self, on: bool) {
        self.parts.iter_mut().for_each(|part| part.get_mut().set_interrupts(on));
    }

    fn rails(&mut self, reports: &mut [RailReport]) -> usize {
        self.part(PRIMARY).rails(reports)
    }

    fn prefer_rail(&mut self, rail: u32) {
        self.part(PRIMARY).prefer_rail(u8::try_from(rail).ok());
    }

    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        // SAFETY: the primary asks of its caller what this one does.
        unsafe { self.part(PRIMARY).mem_register(range) }
    }

    unsafe fn mem_lend(&mut self, range: RawSlice, access: PeerAccess) -> Result<RegionInfo, TransportError> {
        // SAFETY: the primary asks of its caller what this one does.
        unsafe { self.part(PRIMARY).mem_lend(range, access) }
    }

    fn mem_alloc(&mut self, len: usize) -> Result<RegionInfo, TransportError> {
        self.part(PRIMARY).mem_alloc(len)
    }

    fn mem_release(&mut self, id: u64) {
        // SAFETY: core's promise for every call of `mem_release`.
        unsafe { self.part(PRIMARY).mem_release(id) }
    }

    fn window(&mut self, peer: PeerId) -> Option<Window> {
        self.part(PRIMARY).window(peer)
    }
}
