//! The transport that makes the faults: it passes calls on to the real one.

use super::{Chaos, Faults};
use crate::sync::{Arc, Mutex};
use crate::transport::abi::TransportOps;
use crate::transport::{
    Attributes, Caps, DatagramBatch, Event, EventKind, Exported, Host, Instance, Link, OpenParams,
    PeerAccess, PeerId, RailReport, RawSlice, RegionInfo, RemoteAddr, Sleeper, Status, Transport,
    TransportError, Waiter, Window,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Held datagrams beyond which no more are accepted: chaos has back-pressure, too.
const MOST_HELD: usize = 4096;
/// How many others overtake a reordered datagram at most, and how long it waits for them.
const OVERTAKERS: u64 = 8;
const PATIENCE: Duration = Duration::from_millis(2);

/// Paths whose cuts are told apart; a cut lasts at most a part in so many of the time on average.
const PATHS: usize = super::PATHS as usize;
const RARITY: u32 = 8;

/// Longest time for which a path is narrow, and for which it is not.
const NARROW: Duration = Duration::from_millis(20);

/// See the module above.
struct ChaosLink {
    inner: RefCell<Link>,
    chaos: Chaos,
    random: u64,
    /// Datagrams that are on their way, by the time and the number of sendings at which they go.
    out: Vec<Held>,
    sent: u64,
    /// When each path is cut.
    cuts: [Spell; PATHS],
    /// When only small datagrams pass over each path.
    narrows: [Spell; PATHS],
    /// What the inner transport said last of each path, and what is to be said instead.
    told: Vec<Event>,
    news: VecDeque<Event>,
    /// Arrivals that are held, in order, and the time at which each may be seen.
    late: VecDeque<(Instant, Event, Vec<u8>)>,
    /// The bytes of the last poll's events.
    shown: Vec<Vec<u8>>,
    /// Something is held: a sleeper must not sleep long.
    busy: Arc<Mutex<bool>>,
}

/// Something that is so for a while, then is not.
#[derive(Clone, Copy, Default)]
struct Spell {
    on: bool,
    /// Not before the first use.
    until: Option<Instant>,
}

struct Held {
    peer: PeerId,
    path: u32,
    bytes: Vec<u8>,
    due: Instant,
    /// Goes when this many were sent, even before it is due.
    after: Option<u64>,
}

/// Puts chaos between core and a link.
pub(in crate::transport) fn wrap(
    inner: Link,
    chaos: Chaos,
    task: u32,
) -> Result<Link, crate::transport::Unusable> {
    static TABLE: TransportOps = Exported::<ChaosLink>::table(c"chaos", c"0", std::ptr::null());
    if chaos.any(Faults::lose) && inner.caps().contains(Caps::RELIABLE) {
        tracing::info!(
            target: "lapis::transport",
            transport = inner.name(),
            "transport {} is reliable: of LAPIS_CHAOS only delay and again apply to it",
            inner.name()
        );
    }
    let (name, version) = (inner.name(), inner.version());
    let busy = Arc::new(Mutex::new(false));
    let waiter = ChaosWaiter { sleeper: inner.sleeper(), holds: chaos.any(Faults::hold), busy: busy.clone() };
    let random = (chaos.seed ^ (u64::from(task) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1;
    let link = ChaosLink {
        inner: RefCell::new(inner),
        chaos,
        random,
        out: Vec::new(),
        sent: 0,
        cuts: [Spell::default(); PATHS],
        narrows: [Spell::default(); PATHS],
        told: Vec::new(),
        news: VecDeque::new(),
        late: VecDeque::new(),
        shown: Vec::new(),
        busy,
    };
    Link::around(name, version, &TABLE, Instance::new_raw(link, waiter))
}

impl ChaosLink {
    fn inner(&mut self) -> &mut Link {
        self.inner.get_mut()
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn happens(&mut self, part: f64) -> bool {
        // The upper 53 bits are an even number from 0 to 1.
        part > 0.0 && ((self.random() >> 11) as f64 / (1u64 << 53) as f64) < part
    }

    fn delay(&mut self, most: Duration) -> Duration {
        let most = most.as_nanos() as u64;
        if most == 0 { Duration::ZERO } else { Duration::from_nanos(self.random() % (most + 1)) }
    }

    /// `Some(Again)` when the operation is to be refused for no reason.
    fn refuse(&mut self) -> Option<Status> {
        let part = self.chaos.again;
        self.happens(part).then_some(Status::Again)
    }

    /// Goes on with a spell that lasts at most `on`, and after that is over at most `off`.
    fn spell(&mut self, mut spell: Spell, on: Duration, off: Duration) -> Spell {
        let now = Instant::now();
        if spell.until.is_none_or(|until| now >= until) {
            spell.on = spell.until.is_some() && !spell.on;
            spell.until = Some(now + self.delay(if spell.on { on } else { off }));
        }
        spell
    }

    /// Whether nothing passes over a path at present.
    fn cut(&mut self, path: u32, most: Duration) -> bool {
        if most.is_zero() {
            return false;
        }
        let at = path as usize % PATHS;
        self.cuts[at] = self.spell(self.cuts[at], most, RARITY * most);
        self.cuts[at].on
    }

    /// Whether a datagram is too large for a path at present.
    fn too_large(&mut self, path: u32, len: usize, mtu: Option<usize>) -> bool {
        let Some(mtu) = mtu else { return false };
        let at = path as usize % PATHS;
        let before = self.narrows[at].on;
        self.narrows[at] = self.spell(self.narrows[at], NARROW, NARROW);
        let narrow = self.narrows[at].on;
        if narrow != before {
            let told = self.told.iter().filter(|event| event.token == u64::from(path));
            self.news.extend(told.map(|event| narrowed(*event, narrow.then_some(mtu))));
        }
        narrow && len > mtu
    }

    /// Takes one datagram: loses it, or puts it, once or twice, among those on their way.
    fn take(&mut self, peer: PeerId, path: u32, mut bytes: Vec<u8>) {
        let faults = self.chaos.on(path).clone();
        if self.too_large(path, bytes.len(), faults.mtu)
            || self.cut(path, faults.cut)
            || self.happens(faults.drop)
        {
            return;
        }
        if !bytes.is_empty() && self.happens(faults.corrupt) {
            let bit = self.random() as usize % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let copies = if self.happens(faults.dup) { 2 } else { 1 };
        for _ in 0..copies {
            let mut due = Instant::now() + self.delay(faults.delay);
            let mut after = None;
            if self.happens(faults.reorder) {
                due += PATIENCE;
                after = Some(self.sent + 2 + self.random() % OVERTAKERS);
            }
            self.out.push(Held { peer, path, bytes: bytes.clone(), due, after });
        }
    }

    /// Sends what is due.
    fn pump(&mut self) {
        let now = Instant::now();
        let mut i = 0;
        while i < self.out.len() {
            let held = &self.out[i];
            if held.due > now && held.after.is_none_or(|n| n > self.sent) {
                i += 1;
                continue;
            }
            let slice = RawSlice { ptr: held.bytes.as_ptr().cast_mut(), len: held.bytes.len() };
            let batch = DatagramBatch {
                peer: held.peer,
                path: held.path,
                slices: &slice,
                count: 1,
                segment: held.bytes.len() as u32,
            };
            // SAFETY: the slice is of a vector that stays through the call.
            match unsafe { self.inner.get_mut().send_datagrams(&[batch]) } {
                Ok(0) => break,
                Ok(_) => {}
                // What can't be sent is lost, like everything in here may be; the inner transport
                // has logged it.
                Err(_) => {}
            }
            self.out.remove(i);
            self.sent += 1;
        }
        self.tell();
    }

    /// Tells sleepers whether something is held.
    fn tell(&mut self) {
        let busy = !(self.out.is_empty() && self.late.is_empty());
        *self.busy.lock().unwrap_or_else(|e| e.into_inner()) = busy;
    }

    /// Polls a datagram transport, whose arrivals were held by their sender, and changes what it
    /// says of paths that are narrow.
    fn poll_datagrams(&mut self, events: &mut [Event]) -> usize {
        let mut n = 0;
        while n < events.len()
            && let Some(event) = self.news.pop_front()
        {
            events[n] = event;
            n += 1;
        }
        let more = self.inner().poll(&mut events[n..]).unwrap_or(0);
        for event in events[n..n + more].iter_mut().filter(|event| event.kind == EventKind::Path as u32) {
            self.told.retain(|told| (told.peer, told.token) != (event.peer, event.token));
            self.told.push(*event);
            let path = u32::try_from(event.token).unwrap_or(u32::MAX);
            if self.narrows[path as usize % PATHS].on {
                *event = narrowed(*event, self.chaos.on(path).mtu);
            }
        }
        n + more
    }

    /// Collects what arrives and holds it for a while.
    fn collect(&mut self) -> usize {
        let mut events = [Event::EMPTY; 32];
        let n = self.inner().poll(&mut events).unwrap_or(0);
        for mut event in events[..n].iter().copied() {
            let mut bytes = Vec::new();
            if event.kind == EventKind::Message as u32 && event.len > 0 {
                // SAFETY: by the contract the bytes are there until the next poll.
                bytes = unsafe { std::slice::from_raw_parts(event.data, event.len as usize) }.to_vec();
                event.data = bytes.as_mut_ptr();
            }
            let due = Instant::now() + self.delay(self.chaos.faults.delay);
            // In order: nothing is seen before what came first.
            let due = self.late.back().map_or(due, |(last, ..)| due.max(*last));
            self.late.push_back((due, event, bytes));
        }
        n
    }
}

/// What is said of a path over which nothing larger than `mtu` passes.
fn narrowed(mut event: Event, mtu: Option<usize>) -> Event {
    event.len = mtu.map_or(event.len, |mtu| event.len.min(mtu as u32));
    event
}

// SAFETY: the pointers in held events are to vectors held beside them.
unsafe impl Send for ChaosLink {}

impl Transport for ChaosLink {
    const NAME: &'static str = "chaos";
    const VERSION: &'static str = "0";
    /// Whatever the inner one has: the instance's attributes say.
    const CAPS: Caps = Caps::all();
    type Waiter = ChaosWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, ChaosWaiter), TransportError> {
        Err(TransportError::Unsupported)
    }

    fn attributes(&self) -> Attributes {
        let mut inner = self.inner.borrow_mut();
        // A failure shows at the next operation; what was known stays known.
        let _ = inner.refresh_attributes();
        let note = format!("{}; chaos: {}", inner.note(), self.chaos);
        Attributes {
            caps: inner.caps() - Caps::LANES - Caps::LENT_PAGES - Caps::LATE_CONTACT,
            limits: *inner.limits(),
            note,
        }
    }

    fn address(&self) -> Vec<u8> {
        self.inner.borrow_mut().address().unwrap_or_default()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        self.inner().connect(peer, address)
    }

    fn progress_connect(&mut self) -> Result<bool, TransportError> {
        self.inner().progress_connect()
    }

    fn disconnect(&mut self, peer: PeerId) {
        self.out.retain(|held| held.peer != peer);
        self.told.retain(|event| event.peer != peer);
        self.news.retain(|event| event.peer != peer);
        self.late.retain(|(_, event, _)| event.peer != peer || event.kind != EventKind::Message as u32);
        self.inner().disconnect(peer);
    }

    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        self.refuse().unwrap_or_else(|| self.inner().am_short(peer, head, body))
    }

    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        self.refuse().unwrap_or_else(|| self.inner().am_packed(peer, len, pack))
    }

    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        // SAFETY: the inner transport asks of its caller what this one does.
        self.refuse().unwrap_or_else(|| unsafe { self.inner().put_zcopy(peer, data, remote, token) })
    }

    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, token: u64) -> Status {
        // SAFETY: the inner transport asks of its caller what this one does.
        self.refuse().unwrap_or_else(|| unsafe { self.inner().get_zcopy(peer, into, remote, token) })
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        for (accepted, batch) in batches.iter().enumerate() {
            if self.out.len() >= MOST_HELD || self.refuse().is_some() {
                self.pump();
                return accepted;
            }
            let mut bytes = Vec::new();
            for i in 0..batch.count as usize {
                // SAFETY: the caller promises `count` slices in each batch.
                let slice = unsafe { *batch.slices.add(i) };
                if slice.len > 0 {
                    // SAFETY: the caller promises that each slice is readable.
                    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(slice.ptr, slice.len) });
                }
            }
            for datagram in bytes.chunks(batch.segment.max(1) as usize) {
                self.take(batch.peer, batch.path, datagram.to_vec());
            }
        }
        self.pump();
        batches.len()
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        if !self.out.is_empty() {
            self.pump();
        }
        let reliable = self.inner().caps().contains(Caps::RELIABLE);
        if !reliable {
            return self.poll_datagrams(events);
        }
        if self.chaos.faults.delay.is_zero() {
            return self.inner().poll(events).unwrap_or(0);
        }
        if events.is_empty() {
            return 0;
        }
        self.shown.clear();
        while self.late.len() < MOST_HELD && self.collect() > 0 {}
        let now = Instant::now();
        let mut n = 0;
        while n < events.len()
            && self.late.front().is_some_and(|(due, ..)| *due <= now)
            && let Some((_, event, bytes)) = self.late.pop_front()
        {
            events[n] = event;
            self.shown.push(bytes);
            n += 1;
        }
        self.tell();
        n
    }

    fn arm(&mut self) -> Status {
        if !self.out.is_empty() || !self.late.is_empty() || !self.news.is_empty() {
            return Status::Again;
        }
        self.inner().arm()
    }

    fn disarm(&mut self) {
        self.inner().disarm();
    }

    fn rails(&mut self, reports: &mut [RailReport]) -> usize {
        self.inner().rails(reports)
    }

    unsafe fn put_short(&mut self, peer: PeerId, data: &[u8], remote: RemoteAddr) -> Status {
        // SAFETY: the inner transport asks of its caller what this one does.
        self.refuse().unwrap_or_else(|| unsafe { self.inner().put_short(peer, data, remote) })
    }

    fn prefer_rail(&mut self, rail: u32) {
        self.inner().prefer_rail(u8::try_from(rail).ok());
    }

    fn set_interrupts(&mut self, on: bool) {
        self.inner().set_interrupts(on);
    }

    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        // SAFETY: the inner transport asks of its caller what this one does.
        unsafe { self.inner().mem_register(range) }
    }

    unsafe fn mem_lend(&mut self, range: RawSlice, access: PeerAccess) -> Result<RegionInfo, TransportError> {
        // SAFETY: the inner transport asks of its caller what this one does.
        unsafe { self.inner().mem_lend(range, access) }
    }

    fn mem_alloc(&mut self, len: usize) -> Result<RegionInfo, TransportError> {
        self.inner().mem_alloc(len)
    }

    fn mem_release(&mut self, id: u64) {
        // SAFETY: core's promise for every call of `mem_release`.
        unsafe { self.inner().mem_release(id) }
    }

    fn window(&mut self, peer: PeerId) -> Option<Window> {
        self.inner.borrow_mut().window(peer)
    }
}

/// The inner transport's sleeper; it sleeps briefly while something is held.
struct ChaosWaiter {
    sleeper: Sleeper,
    holds: bool,
    busy: Arc<Mutex<bool>>,
}

impl Waiter for ChaosWaiter {
    fn wait(&self, timeout_ns: u64) {
        let busy = *self.busy.lock().unwrap_or_else(|e| e.into_inner());
        self.sleeper.wait(if busy { timeout_ns.min(100_000) } else { timeout_ns });
    }

    fn wake(&self) {
        self.sleeper.wake();
    }

    fn fd(&self) -> i32 {
        // No descriptor becomes readable when held things are due.
        if self.holds { -1 } else { self.sleeper.fd() }
    }
}
