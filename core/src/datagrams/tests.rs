//! Two engines with a wire between them that does as it is told.

mod full;
mod polls;
#[cfg(not(any(miri, loom)))]
mod standby;

use super::{Datagrams, Fragments, Parties, Timing, Unit};
use crate::config::Config;
use crate::transport::{
    Attributes, Caps, DatagramBatch, Declaration, Event, EventKind, Host, Limits, Link, NoWaiter, OpenParams,
    PeerId, Plugin, Status, Transport, TransportError, Usage,
};
use crate::wire::Kind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Says of a datagram whether it is lost.
type Loss = Box<dyn FnMut(&[u8]) -> bool>;

thread_local! {
    /// What is on its way to each task; task 2 reads nothing.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static WIRES: RefCell<[VecDeque<Vec<u8>>; 3]> = RefCell::default();
    /// What is on its way to each of them past the datagrams.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static PAST: RefCell<[VecDeque<Vec<u8>>; 2]> = RefCell::default();
    /// What is lost of what task 0 sends.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static LOST: RefCell<Loss> = RefCell::new(Box::new(|_| false));
    /// For which peer and path the wire has no room for what task 0 sends.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static FULL: Cell<fn(PeerId, u32) -> bool> = const { Cell::new(|_, _| false) };
    /// What the link says of its paths at its next poll.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static NEWS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

#[cfg(not(any(miri, loom)))]
pub(crate) fn set_full(full: bool) {
    FULL.set(if full { |_, _| true } else { |_, _| false });
}

/// The datagrams that are on their way to a task.
pub(crate) fn under_way(task: PeerId) -> Vec<Vec<u8>> {
    WIRES.with_borrow(|wires| wires[task as usize].iter().cloned().collect())
}

/// One end of the wire.
pub(crate) struct Wire {
    task: usize,
    shown: Vec<Vec<u8>>,
}

impl Transport for Wire {
    const NAME: &'static str = "wire";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::DATAGRAM.union(Caps::AM_SHORT);
    const DECLARATION: Declaration = Declaration { cost_ns: 1, usage: Usage::Always, variables: &[] };
    type Waiter = NoWaiter;

    fn open(_: Host, params: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self { task: params.task as usize, shown: Vec::new() }, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits {
            max_short: 4096,
            max_packed: 1400,
            receive_buffer: 1 << 20,
            paths: 1,
            max_peers: 1,
            ..Limits::default()
        };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        vec![0]
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_short(&mut self, _: PeerId, head: &[u8], body: &[u8]) -> Status {
        PAST.with_borrow_mut(|past| past[1 - self.task].push_back([head, body].concat()));
        Status::Done
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        for (done, batch) in batches.iter().enumerate() {
            if self.task == 0 && FULL.get()(batch.peer, batch.path & !DatagramBatch::LENT) {
                return done;
            }
            // SAFETY: a batch names as many slices as it says, which core's own loan keeps.
            let slices = unsafe { std::slice::from_raw_parts(batch.slices, batch.count as usize) };
            // SAFETY: each slice is readable, as the caller promises of a batch.
            let bytes = slices.iter().flat_map(|s| unsafe { std::slice::from_raw_parts(s.ptr, s.len) });
            let bytes: Vec<u8> = bytes.copied().collect();
            for datagram in bytes.chunks(batch.segment as usize) {
                if self.task == 1 || !LOST.with_borrow_mut(|lost| lost(datagram)) {
                    WIRES.with_borrow_mut(|wires| wires[batch.peer as usize].push_back(datagram.to_vec()));
                }
            }
        }
        batches.len()
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.shown.clear();
        let news = NEWS.take();
        if !news.is_empty() {
            events[..news.len()].copy_from_slice(&news);
            return news.len();
        }
        for (n, event) in events.iter_mut().enumerate() {
            let (kind, bytes) = match PAST.with_borrow_mut(|past| past[self.task].pop_front()) {
                Some(bytes) => (EventKind::Message, Some(bytes)),
                None => (EventKind::Datagram, WIRES.with_borrow_mut(|wires| wires[self.task].pop_front())),
            };
            let Some(mut bytes) = bytes else { return n };
            let (data, len, peer) = (bytes.as_mut_ptr(), bytes.len() as u32, 1 - self.task as PeerId);
            *event = Event { kind: kind as u32, peer, data, len, ..Event::EMPTY };
            self.shown.push(bytes);
        }
        events.len()
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    crate::export_transport!(super::Wire, "wire", "0");
}

pub(crate) use linked::table;

pub(crate) fn end(task: PeerId) -> (Link, Datagrams) {
    end_of(task, 1, Some(1))
}

/// An end with an epoch of its own, and that of the other one if it is known.
pub(crate) fn end_of(task: PeerId, epoch: u32, other: Option<u32>) -> (Link, Datagrams) {
    end_with(task, epoch, other, &Config::default())
}

fn end_with(task: PeerId, epoch: u32, other: Option<u32>, config: &Config) -> (Link, Datagrams) {
    end_to(vec![(1 - task, other)], task, epoch, config)
}

fn end_to(peers: Vec<(PeerId, Option<u32>)>, task: PeerId, epoch: u32, config: &Config) -> (Link, Datagrams) {
    let secret = [7; 32];
    let params = OpenParams {
        task,
        tasks: 2,
        context: 0,
        incarnation: 0,
        job: "j",
        secret: &secret,
        interrupts: false,
    };
    let mut link = Plugin::from_table(table()).expect("a good table").open(&params).expect("opens");
    let parties = Parties { task, job: "j", context: (0, 0), secret: &secret, epoch, alone: true, peers };
    let timing = Timing::of(config);
    let datagrams = Datagrams::new(&mut link, timing, &parties).expect("an engine");
    (link, datagrams)
}

#[cfg(not(any(miri, loom)))]
impl Datagrams {
    /// TIMEOUT in nanoseconds and ACK_THRESHOLD, as the engine has them.
    pub(crate) fn timeout_and_ack_threshold(&self) -> (Option<u64>, u8) {
        let config = self.engine.config();
        (config.peer_timeout, config.ack_threshold)
    }
}

/// A packet of this kind with a number.
pub(crate) fn packet(kind: Kind, number: u32) -> Vec<u8> {
    let mut bytes = vec![kind as u8; 64];
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn read(unit: Unit) -> (u8, u32) {
    // SAFETY: the link was not polled since the unit came, and nobody was restarted.
    let bytes = unsafe { unit.bytes() };
    (bytes[0], u32::from_le_bytes(bytes[4..8].try_into().expect("four bytes")))
}

/// So many fragments are taken.
pub(crate) fn places(early_room: usize) -> Fragments<'static> {
    Fragments { early_room, is_known: &|_, _| false }
}

/// The packets of one poll, without the news of lives that have begun.
pub(crate) fn poll(link: &mut Link, datagrams: &mut Datagrams) -> Vec<(u8, u32)> {
    datagrams.poll(link, places(usize::MAX), false).expect("polls");
    let units = datagrams.take_units();
    let packets = units.iter().filter(|unit| unit.new_life_after().is_none());
    let read = packets.map(|unit| read(*unit)).collect();
    datagrams.give_back(units);
    read
}

/// What a link says of a path to task 1.
fn news(token: u64, up: bool) -> Event {
    Event { kind: EventKind::Path as u32, peer: 1, token, status: i32::from(up), len: 1400, ..Event::EMPTY }
}

#[test]
fn a_path_that_is_down_at_the_start_carries_nothing_until_it_is_up() {
    NEWS.set(vec![news(0, true), news(1, false)]);
    let (_, datagrams) = end(0);
    assert_eq!(datagrams.paths(1), [true, false]);
}

#[test]
fn of_a_path_that_changes_before_the_engine_is_there_the_last_word_counts() {
    NEWS.set(vec![news(0, true), news(1, true), news(0, false), news(1, false), news(1, true)]);
    let (_, datagrams) = end(0);
    assert_eq!(datagrams.paths(1), [false, true]);
}

#[test]
fn packets_past_the_datagrams_come_once_in_order_and_in_the_life_that_they_were_sent_in() {
    let (mut near_link, mut near) = end(0);
    let first = |n| packet(Kind::AmFirst, n);
    let send = |near: &mut Datagrams, link: &mut Link, n| near.send_bypassing(link, 1, &first(n), &[7; 2000]);
    assert!(near.can_bypass(&near_link, 1));
    // The other end is made only now: what came before its first poll is not lost.
    assert_eq!(send(&mut near, &mut near_link, 0), Status::Done);
    let (mut far_link, mut far) = end(1);
    for n in 1..4 {
        assert_eq!(send(&mut near, &mut near_link, n), Status::Done);
    }
    let begun = Kind::AmFirst as u8;
    assert_eq!(poll(&mut far_link, &mut far), [(begun, 0), (begun, 1), (begun, 2), (begun, 3)]);
    assert!(poll(&mut far_link, &mut far).is_empty());
    // Too long, and of a kind that waits for nothing: neither goes that way.
    assert_eq!(near.send_bypassing(&mut near_link, 1, &first(4), &[7; 4096]), Status::Unsupported);
    assert_eq!(near.send_bypassing(&mut near_link, 1, &packet(Kind::Complete, 4), &[]), Status::Done);
    assert!(poll(&mut far_link, &mut far).is_empty());
    // What was sent to an earlier incarnation of the other end is dropped.
    assert_eq!(send(&mut near, &mut near_link, 5), Status::Done);
    far.purge(0);
    assert!(poll(&mut far_link, &mut far).is_empty());
    far.resume(0);
    assert_eq!(send(&mut near, &mut near_link, 6), Status::Done, "nobody has told this end");
    assert!(poll(&mut far_link, &mut far).is_empty());
    assert!(!far.can_bypass(&far_link, 0), "nobody knows of the new life yet");
    // When both know of it, packets go that way again.
    let mut rounds = 0;
    while !(near.can_bypass(&near_link, 1) && far.can_bypass(&far_link, 0)) {
        for (link, datagrams) in [(&mut near_link, &mut near), (&mut far_link, &mut far)] {
            poll(link, datagrams);
            let now = datagrams.now();
            datagrams.flush(link, now);
            while datagrams.event().is_some() {}
        }
        rounds += 1;
        assert!(rounds < 1_000_000, "they never agree");
    }
    assert_eq!(send(&mut near, &mut near_link, 7), Status::Done);
    assert_eq!(poll(&mut far_link, &mut far), [(begun, 7)]);
}

#[test]
fn a_short_message_goes_past_the_datagrams_unless_many_are_under_way() {
    let (mut near_link, mut near) = end(0);
    let (mut far_link, mut far) = end(1);
    let short = |kind, n| packet(kind, n)[..16].to_vec();
    let past = || PAST.with_borrow(|past| past[1].len());
    assert!(near.send_alone(&mut near_link, 1, &short(Kind::Am, 0), &[7; 32]));
    assert_eq!(past(), 1);
    // Longer, of another kind, with a rail of its own: none goes that way.
    assert!(!near.send_alone(&mut near_link, 1, &short(Kind::Am, 1), &[7; 33]));
    assert!(!near.send_alone(&mut near_link, 1, &short(Kind::Complete, 1), &[]));
    let mut over_rail = short(Kind::Am, 1);
    over_rail[1] = 1 << 4;
    assert!(!near.send_alone(&mut near_link, 1, &over_rail, &[]));
    // Behind some of the engine's, until they are acknowledged.
    for n in 1..6 {
        assert_eq!(near.send(&mut near_link, 1, &short(Kind::Am, n), &[], false), Status::Done);
    }
    assert!(!near.send_alone(&mut near_link, 1, &short(Kind::Am, 6), &[]));
    assert_eq!(past(), 1);
    let whole = Kind::Am as u8;
    let now = near.now();
    near.flush(&mut near_link, now);
    let mut came = poll(&mut far_link, &mut far);
    came.sort_unstable();
    assert_eq!(came, [0, 1, 2, 3, 4, 5].map(|n| (whole, n)));
    let mut rounds = 0;
    while !near.send_alone(&mut near_link, 1, &short(Kind::Am, 6), &[]) {
        for (link, datagrams) in [(&mut near_link, &mut near), (&mut far_link, &mut far)] {
            poll(link, datagrams);
            let now = datagrams.now();
            datagrams.flush(link, now);
            while datagrams.event().is_some() {}
        }
        rounds += 1;
        assert!(rounds < 1_000_000, "it is never acknowledged");
    }
    assert_eq!(poll(&mut far_link, &mut far), [(whole, 6)]);
}

/// The first packet of a message is lost again and again. Of those that belong to it only so many
/// are taken as there is room for, whatever the peer sends; when it has come, all the others come
/// too, each once.
#[test]
fn packets_before_their_messages_first_are_taken_as_far_as_there_is_room_and_none_is_lost() {
    const ROOM: usize = 16;
    const PACKETS: u32 = 20_000;
    const LOSSES: u32 = 5;
    let (mut near_link, mut near) = end(0);
    let (mut far_link, mut far) = end(1);
    let first = packet(Kind::AmFirst, 0);
    let mut losses = 0;
    let wanted = first.clone();
    LOST.set(Box::new(move |datagram| {
        let lost = losses < LOSSES && datagram.windows(wanted.len()).any(|part| part == wanted);
        losses += u32::from(lost);
        lost
    }));
    assert_eq!(near.send(&mut near_link, 1, &first, &[], false), Status::Done);

    let (mut sent, mut begun, mut kept) = (0, false, 0);
    let mut times = vec![0u32; PACKETS as usize];
    let mut most_memory = 0;
    while !begun || times.contains(&0) || near.owes(1) {
        while sent < PACKETS
            && near.send(&mut near_link, 1, &packet(Kind::Fragment, sent), &[], true) == Status::Done
        {
            sent += 1;
        }
        let now = near.now();
        near.flush(&mut near_link, now);

        let room = if begun { usize::MAX } else { ROOM - kept };
        far.poll(&mut far_link, places(room), false).expect("polls");
        let units = far.take_units();
        for unit in &units {
            match read(*unit) {
                (kind, _) if kind == Kind::AmFirst as u8 => begun = true,
                (_, number) => {
                    times[number as usize] += 1;
                    kept += usize::from(!begun);
                }
            }
        }
        assert!(kept <= ROOM, "{kept} packets were taken before their message had begun");
        far.give_back(units);
        most_memory = most_memory.max(far.engine.memory());
        let now = far.now();
        far.flush(&mut far_link, now);
        near.poll(&mut near_link, places(ROOM), false).expect("polls");
        let none = near.take_units();
        assert!(none.is_empty());
        near.give_back(none);
        while near.event().is_some() || far.event().is_some() {}
    }
    assert_eq!(kept, ROOM, "the room was used");
    assert!(times.iter().all(|n| *n == 1), "each once");
    assert!(near.repetitions(2).1 >= u64::from(LOSSES));
    // What is refused is not kept anywhere.
    assert!(most_memory < 64 << 10, "{most_memory} bytes");
}

/// What comes past the datagrams can't be refused. So nothing is taken from datagrams behind it
/// that there is no room for any more: it would be lost.
#[test]
fn packets_past_the_datagrams_take_room_from_those_in_datagrams() {
    const ROOM: usize = 8;
    let (mut near_link, mut near) = end(0);
    let (mut far_link, mut far) = end(1);
    let fragment = |n| packet(Kind::Fragment, n);
    let past: Vec<u32> = (0..ROOM as u32 - 1).collect();
    for n in &past {
        assert_eq!(near.send_bypassing(&mut near_link, 1, &fragment(*n), &[]), Status::Done);
    }
    let others = [100, 101];
    for n in others {
        assert_eq!(near.send(&mut near_link, 1, &fragment(n), &[], false), Status::Done);
    }
    let mut taken = Vec::new();
    let mut room = ROOM;
    while taken.len() < past.len() + others.len() || near.owes(1) {
        near.flush(&mut near_link, near.now());
        far.poll(&mut far_link, places(room), false).expect("polls");
        let units = far.take_units();
        assert!(units.len() <= room, "{} packets where {room} have room", units.len());
        taken.extend(units.iter().map(|unit| read(*unit).1));
        far.give_back(units);
        if room == ROOM {
            assert_eq!(taken, [&past[..], &others[..1]].concat());
        }
        room = usize::MAX;
        far.flush(&mut far_link, far.now());
        poll(&mut near_link, &mut near);
        while near.event().is_some() || far.event().is_some() {}
    }
    assert_eq!(taken[past.len()..], others, "each once");
}

/// A stream's packets look at the clock now and then: what waits leaves all the same once the last
/// datagrams are long gone.
#[test]
fn packets_that_wait_leave_when_the_last_datagrams_are_long_gone() {
    let (mut link, mut near) = end(0);
    let (mut far_link, mut far) = end(1);
    let mut number = 0;
    let mut send = |near: &mut Datagrams, link: &mut Link| {
        number += 1;
        assert_eq!(near.send(link, 1, &packet(Kind::Am, number), &[7; 8], false), Status::Done);
    };
    // Nobody acknowledges: from some packet on they wait.
    (0..64).for_each(|_| send(&mut near, &mut link));
    std::thread::sleep(std::time::Duration::from_millis(1));
    (0..super::departures::LOOKS_DENSE).for_each(|_| send(&mut near, &mut link));
    let sent = poll(&mut far_link, &mut far).len();
    assert!(sent >= 65, "{sent} of {} have left", 64 + super::departures::LOOKS_DENSE);
}
