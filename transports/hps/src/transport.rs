//! The contract: what core calls.

mod changes;
mod copies;
mod lanes;
mod reach;
mod sleep;

use crate::address::{Card, Entry, pairs};
use crate::direct::{Own, Parted, Process};
use crate::options::Options;
use crate::rail::{Arena, Rail, SUFFIX};
use crate::services::Services;
use crate::waiter::{HpsWaiter, Notifier};
use crate::way::{Link, Sent, Way};
use crate::windows::{self, Held, Rails, Share};
use lapis_adapters::client::identity;
use lapis_adapters::eth::port::Port;
use lapis_adapters::lanes::LONGEST;
use lapis_copies::Copies;
use lapis_core::sync::Arc;
use lapis_core::transport::{
    Attributes, Caps, DatagramBatch, Declaration, Event, EventKind, FailoverTrouble, Host, Limits,
    OpenParams, PeerId, RawSlice, RemoteAddr, Status, Transport, TransportError, Troubles,
};
use lapis_cross_memory::Access;
use lapis_lanes::ring_for;
use std::collections::VecDeque;

/// Bytes that a window's owner promises to hold for its senders, as the packet engine counts them:
/// some 500 for each datagram beside its own.
const RECEIVE_BUFFER: u32 = 1 << 20;

/// Polls between two looks whether the daemon is there; each costs a system call. A power of two.
const POLLS: u32 = 1 << 14;

/// The same while the daemon owes an answer.
const OFTEN: u32 = 1 << 6;

/// A task without a way through memory looks there in one poll of so many.
const SELDOM: u32 = 64;

/// Datagrams between windows.
pub struct Hps {
    host: Host,
    task: PeerId,
    tasks: u32,
    card: Card,
    services: Services,
    rails: Rails,
    /// Windows for another context of this process: given back when those of this one are closed.
    held: Option<Held>,
    /// Rails whose sockets end sleeps.
    watched: Vec<bool>,
    /// The states of next hops that this task has seen, by rail.
    hops: Vec<u32>,
    /// Rails over which somebody was looked for in vain, and nobody has answered since.
    silent: Vec<bool>,
    arena: Arena,
    /// Ways to each task, by path.
    ways: Vec<Option<Box<[Way]>>>,
    /// One of them leads through memory, so that arrivals may come there.
    near: bool,
    /// What peers touch to find this process: kept for them.
    #[expect(dead_code, reason = "read by other processes")]
    own: Own,
    /// Tasks whose memory can be copied from and to.
    processes: Vec<Option<Process>>,
    /// Former tasks' processes, whose lanes are taken as long as they live.
    parted: Parted,
    /// From where on which copies are taken.
    limits: Copies,
    /// Why no data goes past the windows' FIFOs.
    windows_only: Option<String>,
    /// Why the kernel copies none from process to process.
    no_copies: Option<String>,
    /// News of paths that core has not fetched.
    news: VecDeque<Event>,
    troubles: Troubles,
    /// The user knows that no path is left to anybody.
    cut_off: bool,
    /// The rail whose arrivals come first at the next poll.
    turn: usize,
    polls: u32,
    /// The daemon is looked at in polls whose numbers have none of these bits.
    looks: u32,
    refused: u32,
    /// Senders ring the bells.
    armed: bool,
    /// Some socket can't be watched: a clock ends sleeps.
    blind: bool,
    /// Somebody is to be woken by arrivals.
    awaited: bool,
    /// Messages in a row that found no room in a lane.
    held_up: u32,
    notifier: Arc<Notifier>,
}

// SAFETY: news carry no pointers; those of `troubles` and of the arena are shown to whoever polls.
unsafe impl Send for Hps {}

/// The adapter that all windows are on, if it is one.
fn one_adapter(entries: &[Entry]) -> Option<String> {
    let first = &entries.first()?.place.adapter;
    entries.iter().all(|entry| entry.place.adapter == *first).then(|| first.clone())
}

impl Hps {
    /// Makes the kernel send what lies in sockets' rings.
    #[inline]
    fn flush(&mut self) {
        for port in self.rails.work().iter_mut().filter_map(|rail| rail.port.as_mut()) {
            port.flush();
        }
    }

    /// Whether this poll looks for arrivals in memory. Where no way leads through memory there are
    /// none, but for those of a task that has just connected.
    #[inline]
    fn looks_in_memory(&self) -> bool {
        self.near || self.polls.is_multiple_of(SELDOM)
    }

    /// Notes whether a way leads through memory.
    fn note_near(&mut self) {
        let mut ways = self.ways.iter().flatten().flatten();
        self.near = ways.any(|way| matches!(way.link, Link::Memory(_)));
    }

    /// Makes events of what lies in this context's windows.
    #[inline]
    fn take_out(&mut self, memory: bool, events: &mut [Event]) -> usize {
        let Rails::Own(rails) = &mut self.rails else { return 0 };
        let (mut n, count) = (0, rails.len());
        for i in 0..count {
            if n == events.len() {
                break;
            }
            // Whose turn it is goes round without a division.
            let at = self.turn + i;
            let rail = &mut rails[if at < count { at } else { at - count }];
            n += rail.poll(memory, &mut self.arena, &mut events[n..]);
            self.refused += rail.refused();
        }
        self.turn = if self.turn + 1 < count { self.turn + 1 } else { 0 };
        n
    }

    /// The same with windows that contexts share: what belongs to others goes to their inboxes.
    fn take_out_for_all(&mut self, events: &mut [Event]) -> usize {
        let Rails::Shared(Share { all, context, inbox, .. }) = &self.rails else { return 0 };
        let (mut n, arena) = (0, &mut self.arena);
        inbox.empty(|datagram| {
            let event = if n < events.len() { arena.copy(datagram) } else { None };
            event.is_some_and(|event| {
                events[n] = event;
                n += 1;
                true
            })
        });
        for rail in all.rails().iter_mut() {
            n += rail.poll_for(*context, arena, &mut events[n..], |whose, data| all.deliver(whose, data));
            self.refused += rail.refused();
        }
        self.refused += inbox.take_refused();
        n
    }

    fn count_refused(&mut self) {
        if self.refused > 0 && self.news.is_empty() {
            let len = std::mem::take(&mut self.refused);
            self.news.push_back(Event { kind: EventKind::Overflow as u32, len, ..Event::EMPTY });
        }
    }
}

impl Drop for Hps {
    /// Shared windows are given back by their last context (`shared.rs`).
    fn drop(&mut self) {
        if let Rails::Own(rails) = &mut self.rails {
            self.services.give_back(rails);
        }
    }
}

impl Transport for Hps {
    const NAME: &'static str = "hps";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const CAPS: Caps = Caps::DATAGRAM
        .union(Caps::WAIT)
        .union(Caps::PUT_ZCOPY)
        .union(Caps::GET_ZCOPY)
        .union(Caps::ANY_ADDRESS)
        .union(Caps::AM_SHORT)
        .union(Caps::FAST_PACKETS)
        .union(Caps::QUIET_POLLS);
    const DECLARATION: Declaration = crate::declaration::DECLARATION;
    type Waiter = HpsWaiter;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, HpsWaiter), TransportError> {
        let options = Options::of(&host)?;
        let limits = lapis_copies::of_host(&host, params.tasks)?;
        let no_sleep = |e| TransportError::Exhausted(format!("no descriptors to sleep on: {e}"));
        let notifier = Arc::new(Notifier::new().map_err(no_sleep)?);
        let windows::Opened { services, mut rails, held } =
            windows::open(&options, params, &notifier, &host)?;
        rails.work().iter_mut().for_each(|rail| rail.window.lanes().divide(ring_for(params.tasks)));
        let looked = rails.look();
        looked.iter().try_for_each(|r| notifier.watch(r.window.bell())).map_err(no_sleep)?;
        let entries: Vec<Entry> = looked.iter().map(|rail| rail.entry.clone()).collect();
        let (count, one) = (entries.len(), one_adapter(&entries));
        drop(looked);
        let own = Own::new();
        let landmark = own.landmark(!options.windows_only);
        let mut transport = Self {
            host,
            task: params.task,
            tasks: params.tasks,
            card: Card {
                host: identity(&options.daemon),
                landmark,
                shared: rails.suffix().is_some(),
                entries,
            },
            services,
            rails,
            held,
            watched: vec![false; count],
            hops: vec![0; count],
            silent: vec![false; count],
            arena: Arena::new(),
            ways: (0..params.tasks).map(|_| None).collect(),
            near: false,
            own,
            processes: (0..params.tasks).map(|_| None).collect(),
            parted: Parted::default(),
            limits,
            windows_only: options.windows_only.then(|| "LAPIS_HPS_COPY=windows".to_owned()),
            no_copies: None,
            news: VecDeque::new(),
            troubles: Troubles::default(),
            cut_off: false,
            turn: 0,
            polls: 0,
            looks: POLLS - 1,
            refused: 0,
            armed: false,
            blind: false,
            awaited: false,
            held_up: 0,
            notifier: Arc::clone(&notifier),
        };
        transport.watch_daemon();
        if let Some(adapter) = one {
            let text = format!("All windows of this task are on one adapter, {adapter}.");
            transport.trouble(FailoverTrouble::SetUp, text);
        }
        Ok((transport, HpsWaiter(notifier)))
    }

    fn attributes(&self) -> Attributes {
        let ways = || self.ways.iter().flatten().flat_map(|ways| ways.iter());
        let rails = self.rails.look();
        let suffix = self.rails.suffix().map_or(0, |_| SUFFIX);
        let own = rails.iter().map(Rail::room).min().unwrap_or(0).saturating_sub(suffix);
        let limits = Limits {
            max_packed: ways().map(Way::room).max().unwrap_or(own) as u32,
            receive_buffer: RECEIVE_BUFFER * rails.len() as u32,
            paths: self.ways.iter().flatten().map(|ways| ways.len()).max().unwrap_or(0) as u32,
            max_peers: self.tasks.saturating_sub(1),
            max_short: if self.has_lanes() { LONGEST as u32 } else { 0 },
            max_zcopy: if self.copies() { u64::MAX } else { 0 },
            zcopy_from: self.limits.attach,
            ..Limits::default()
        };
        let tell = |(at, rail): (usize, &Rail)| {
            let of_rail = || ways().filter(|way| way.rail == at);
            let sent = of_rail().map(|way| way.sent).sum();
            let too_long = of_rail().map(|way| way.too_long).sum();
            let down = if rail.up { "" } else { " down" };
            let wire = rail.port.as_ref().map(Port::wire).map_or_else(String::new, |wire| {
                let how = if wire.zero_copy { ", zero-copy" } else { "" };
                format!(" at {}:{} by AF_XDP{how}", wire.address, wire.port)
            });
            format!(
                "{} network {}{wire}{down}{}",
                rail.entry.place,
                rail.entry.network,
                rail.told(sent, too_long)
            )
        };
        let mut note: Vec<String> = rails.iter().enumerate().map(tell).collect();
        if let Some(context) = self.rails.suffix() {
            note.push(format!("shared with other contexts as context {context} (MP_MSG_API=mpi_lapi)"));
        }
        note.extend(self.held.as_ref().and_then(Held::told));
        let mut caps = Self::CAPS;
        if !self.copies() {
            caps -= Caps::PUT_ZCOPY | Caps::GET_ZCOPY | Caps::ANY_ADDRESS;
        }
        note.extend(self.why_not_past());
        if !self.has_lanes() {
            caps -= Caps::AM_SHORT | Caps::FAST_PACKETS;
        }
        // An interface may be polled by calls (`--eth-busy-poll`). If it is not, a round trip takes
        // a hundredth longer where core looks at it more often (docs/performance.md).
        if rails.iter().any(|rail| rail.port.is_some()) {
            caps -= Caps::QUIET_POLLS;
        }
        Attributes { caps, limits, note: note.join(", ") }
    }

    fn address(&self) -> Vec<u8> {
        self.card.encode()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        if peer >= self.tasks || peer == self.task {
            return Err(TransportError::Invalid(format!("task {peer} is nobody to talk to over windows")));
        }
        let theirs = Card::parse(address).ok_or_else(|| {
            TransportError::Unreachable(format!("the windows of task {peer} are of another release"))
        })?;
        if theirs.shared != self.card.shared {
            return Err(TransportError::Invalid(format!(
                "MP_MSG_API=mpi_lapi is set for {} and not for the other: set it for all tasks, or for none",
                if theirs.shared { format!("task {peer}") } else { format!("task {}", self.task) }
            )));
        }
        let found = pairs(&self.card, &theirs);
        if found.is_empty() {
            return Err(self.unreachable(peer, &theirs));
        }
        let mut ways = Vec::with_capacity(found.len());
        for (here, there) in found {
            // Of another host's adapters this host's matrix knows nothing.
            let index = (theirs.host == self.card.host).then_some(theirs.entries[there].index as usize);
            let link = self.link(peer, here, &theirs, there)?;
            ways.push(Way::new(here, index, link, self.rails.suffix()));
        }
        self.find_hops(peer, &mut ways)?;
        let rails = self.rails.look();
        ways.iter_mut().for_each(|way| way.up = Self::is_up(&self.services, way, &rails[way.rail]));
        drop(rails);
        for (path, way) in ways.iter().enumerate() {
            self.news.push_back(Self::path_event(peer, path, way));
        }
        self.ways[peer as usize] = Some(ways.into());
        self.note_near();
        self.probe_direct(peer, &theirs);
        self.keep_lanes_of(peer);
        Ok(())
    }

    fn disconnect(&mut self, peer: PeerId) {
        if self.ways.get_mut(peer as usize).and_then(Option::take).is_some() {
            self.news.retain(|event| event.peer != peer);
            self.note_near();
            self.close_lanes_of(peer);
        }
    }

    #[inline]
    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        self.send_by_lane(peer, head, body)
    }

    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        // SAFETY: the data is readable by the promise of this function's caller.
        unsafe { self.copy_directly(Access::Write, peer, data, remote) }
    }

    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        // SAFETY: the place is writable by the promise of this function's caller.
        unsafe { self.copy_directly(Access::Read, peer, into, remote) }
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        let mut sent_all = batches.len();
        let mut rails = self.rails.work();
        for (done, batch) in batches.iter().enumerate() {
            let Some(ways) = self.ways.get_mut(batch.peer as usize).and_then(Option::as_mut) else {
                continue;
            };
            let Some(way) = ways.get_mut(batch.path as usize) else { continue };
            // SAFETY: the caller's promise.
            let sent = unsafe {
                let slices: &[RawSlice] = std::slice::from_raw_parts(batch.slices, batch.count as usize);
                way.send(rails[way.rail].port.as_mut(), slices, batch.segment as usize)
            };
            if sent == Sent::Again {
                sent_all = done;
                break;
            }
        }
        drop(rails);
        self.flush();
        sent_all
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.polls = self.polls.wrapping_add(1);
        if self.polls & self.looks == 0 {
            self.look_at_daemon();
            self.free_lanes_of_ended();
        }
        if self.services.take_change() {
            self.look_at_matrix();
        }
        let mut n = 0;
        while n < events.len()
            && let Some(event) = self.news.pop_front()
        {
            events[n] = event;
            n += 1;
        }
        if !self.troubles.is_empty() {
            n += self.troubles.show(&mut events[n..]);
        }
        self.arena.clear();
        n += match &self.rails {
            Rails::Own(_) => {
                let memory = self.looks_in_memory();
                let taken = self.take_out(memory, &mut events[n..]);
                if memory { taken + self.take_from_lanes(&mut events[n + taken..]) } else { taken }
            }
            Rails::Shared(_) => self.take_out_for_all(&mut events[n..]),
        };
        if n > 0 && self.armed && !self.awaited {
            self.ring_bells(false);
        }
        self.count_refused();
        self.flush();
        n
    }

    fn arm(&mut self) -> Status {
        if self.notifier.take_stirred() || self.services.is_gone() {
            self.look_at_daemon();
        }
        if !self.news.is_empty() || !self.troubles.is_empty() || self.services.has_changed() {
            return Status::Again;
        }
        self.flush();
        let has_arrivals = |rail: &Rail| rail.port.as_ref().is_some_and(Port::has_arrivals);
        // A socket wakes by itself for what comes from now on.
        if !self.ring_bells(true) || self.rails.look().iter().any(has_arrivals) || self.lanes_have_room() {
            self.ring_bells(false);
            return Status::Again;
        }
        self.awaited = true;
        Status::Done
    }

    fn disarm(&mut self) {
        self.awaited = false;
    }
}
