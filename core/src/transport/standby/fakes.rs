//! Two datagram transports for tests: wires between tasks 0 and 1 that do as they are told.

use crate::transport::abi::TransportOps;
use crate::transport::{
    Attributes, Caps, DatagramBatch, Event, EventKind, Exported, Host, Instance, Limits, Link, OpenParams,
    PeerId, RawSlice, RemoteAddr, Status, Transport, TransportError, Waiter,
};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};

thread_local! {
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static WIRES: RefCell<[Wire; 2]> = RefCell::default();
}

/// What one of the transports does.
#[derive(Default)]
pub(crate) struct Wire {
    /// Datagrams and messages on their way to each task.
    pub(crate) datagrams: [VecDeque<Vec<u8>>; 2],
    pub(crate) messages: [VecDeque<Vec<u8>>; 2],
    /// What each task hears at its next poll.
    pub(crate) news: [Vec<Event>; 2],
    /// Datagrams get lost.
    pub(crate) cut: bool,
    /// Why nobody is reached.
    pub(crate) refuses: Option<TransportError>,
    /// It has failed.
    pub(crate) broken: bool,
    /// Batches: which path, and whether lent.
    pub(crate) sent: Vec<(u32, bool)>,
    pub(crate) polls: u32,
    pub(crate) disconnected: u32,
    pub(crate) lends: bool,
}

/// Uses the wire of the first or second transport.
pub(crate) fn wire<T>(which: usize, f: impl FnOnce(&mut Wire) -> T) -> T {
    WIRES.with_borrow_mut(|wires| f(&mut wires[which]))
}

/// News of a path to the other task, for a task.
pub(crate) fn tell(which: usize, task: PeerId, path: u64, up: bool, room: u32) {
    let (peer, status) = (1 - task, i32::from(up));
    let kind = EventKind::Path as u32;
    let event = Event { kind, peer, token: path, status, len: room, ..Event::EMPTY };
    wire(which, |wire| wire.news[task as usize].push(event));
}

/// A task's end of one of the wires.
pub(crate) struct Fake<const WHICH: usize> {
    task: usize,
    shown: Vec<Vec<u8>>,
}

/// The link of a task over the first or second wire.
pub(crate) fn link(which: usize, task: usize) -> Link {
    static FIRST: TransportOps = Exported::<Fake<0>>::table(c"first", c"0", std::ptr::null());
    static SECOND: TransportOps = Exported::<Fake<1>>::table(c"second", c"0", std::ptr::null());
    let waiter =
        FakeWaiter(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).expect("a descriptor"));
    let shown = Vec::new();
    match which {
        0 => Link::around("first", "0", &FIRST, Instance::new_raw(Fake::<0> { task, shown }, waiter)),
        _ => Link::around("second", "0", &SECOND, Instance::new_raw(Fake::<1> { task, shown }, waiter)),
    }
    .expect("a good table")
}

/// Both, joined, for each of two tasks that are connected.
pub(crate) fn pair() -> [Link; 2] {
    let mut links = [0, 1].map(|task| super::join(link(0, task), link(1, task), 2).expect("two links"));
    let addresses = links.each_mut().map(|link| link.address().expect("two addresses"));
    for (task, link) in links.iter_mut().enumerate() {
        link.connect(1 - task as PeerId, &addresses[1 - task]).expect("connects");
        link.refresh_attributes().expect("it lives");
    }
    links
}

impl<const WHICH: usize> Transport for Fake<WHICH> {
    const NAME: &'static str = if WHICH == 0 { "first" } else { "second" };
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::DATAGRAM
        .union(Caps::AM_SHORT)
        .union(Caps::PUT_ZCOPY)
        .union(Caps::WAIT)
        .union(Caps::LENT_PAGES)
        .union(Caps::QUIET_POLLS);
    type Waiter = FakeWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, FakeWaiter), TransportError> {
        Err(TransportError::Unsupported)
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits {
            max_short: 4096,
            max_packed: 1400 + 100 * WHICH as u32,
            receive_buffer: 1 << (20 - WHICH),
            paths: 1,
            max_peers: 1,
            ..Limits::default()
        };
        let lends = if wire(WHICH, |wire| wire.lends) { Caps::LENT_PAGES } else { Caps::empty() };
        let quiet = if WHICH == 0 { Caps::QUIET_POLLS } else { Caps::empty() };
        let caps = (Self::CAPS - Caps::LENT_PAGES - Caps::QUIET_POLLS) | lends | quiet;
        Attributes { caps, limits, note: Self::NAME.to_owned() }
    }

    fn address(&self) -> Vec<u8> {
        vec![WHICH as u8; 512]
    }

    fn connect(&mut self, _: PeerId, address: &[u8]) -> Result<(), TransportError> {
        assert_eq!(address, [WHICH as u8; 512]);
        wire(WHICH, |wire| wire.refuses.clone()).map_or(Ok(()), Err)
    }

    fn disconnect(&mut self, _: PeerId) {
        wire(WHICH, |wire| wire.disconnected += 1);
    }

    fn am_short(&mut self, _: PeerId, head: &[u8], body: &[u8]) -> Status {
        wire(WHICH, |wire| wire.messages[1 - self.task].push_back([head, body].concat()));
        Status::Done
    }

    unsafe fn put_zcopy(&mut self, _: PeerId, _: RawSlice, _: RemoteAddr, _: u64) -> Status {
        Status::Done
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        for batch in batches {
            // SAFETY: a batch names as many slices as it says, which the sender keeps for the call.
            let slices = unsafe { std::slice::from_raw_parts(batch.slices, batch.count as usize) };
            // SAFETY: each slice is readable, as the caller promises of a batch.
            let bytes = slices.iter().flat_map(|s| unsafe { std::slice::from_raw_parts(s.ptr, s.len) });
            let bytes: Vec<u8> = bytes.copied().collect();
            wire(WHICH, |wire| {
                let lent = batch.path & DatagramBatch::LENT != 0;
                wire.sent.push((batch.path & !DatagramBatch::LENT, lent));
                if !wire.cut {
                    let datagrams = bytes.chunks(batch.segment as usize).map(<[u8]>::to_vec);
                    wire.datagrams[1 - self.task].extend(datagrams);
                }
            });
        }
        batches.len()
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.shown.clear();
        wire(WHICH, |wire| {
            assert!(!wire.broken, "it is meant to fail");
            wire.polls += 1;
            let mut n = 0;
            for news in wire.news[self.task].drain(..events.len().min(wire.news[self.task].len())) {
                events[n] = news;
                n += 1;
            }
            while n < events.len() {
                let (kind, next) = match wire.messages[self.task].pop_front() {
                    None => (EventKind::Datagram, wire.datagrams[self.task].pop_front()),
                    some => (EventKind::Message, some),
                };
                let Some(mut bytes) = next else { break };
                let (data, len, peer) = (bytes.as_mut_ptr(), bytes.len() as u32, 1 - self.task as PeerId);
                events[n] = Event { kind: kind as u32, peer, data, len, ..Event::EMPTY };
                self.shown.push(bytes);
                n += 1;
            }
            n
        })
    }

    fn arm(&mut self) -> Status {
        let busy =
            |wire: &mut Wire| !wire.news[self.task].is_empty() || !wire.datagrams[self.task].is_empty();
        if wire(WHICH, busy) { Status::Again } else { Status::Done }
    }
}

/// Sleeps until it is woken.
pub(crate) struct FakeWaiter(OwnedFd);

impl Waiter for FakeWaiter {
    fn wait(&self, timeout_ns: u64) {
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as _,
            tv_nsec: (timeout_ns % 1_000_000_000) as _,
        };
        let _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout));
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}
