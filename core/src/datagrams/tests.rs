//! Two engines with a wire between them that does as it is told.

use super::{Datagrams, Parties, Timing, Unit};
use crate::config::Config;
use crate::transport::{
    Attributes, Caps, DatagramBatch, Event, EventKind, Exported, Host, Limits, Link, NoWaiter, OpenParams,
    PeerId, Plugin, Status, Transport, TransportError, abi::TransportOps,
};
use crate::wire::Kind;
use std::cell::RefCell;
use std::collections::VecDeque;

/// Says of a datagram whether it is lost.
type Loss = Box<dyn FnMut(&[u8]) -> bool>;

thread_local! {
    /// What is on its way to each of the two tasks.
    // tidy-allow(statics): of the test that runs on this thread.
    static WIRES: RefCell<[VecDeque<Vec<u8>>; 2]> = RefCell::default();
    /// What is lost of what task 0 sends.
    // tidy-allow(statics): as above.
    static LOST: RefCell<Loss> = RefCell::new(Box::new(|_| false));
}

/// One end of the wire.
struct Wire {
    task: usize,
    shown: Vec<Vec<u8>>,
}

impl Transport for Wire {
    const NAME: &'static str = "wire";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::DATAGRAM;
    type Waiter = NoWaiter;

    fn open(_: Host, params: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self { task: params.task as usize, shown: Vec::new() }, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits =
            Limits { max_packed: 1400, receive_buffer: 1 << 20, paths: 1, max_peers: 1, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        vec![0]
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        for batch in batches {
            // SAFETY: a batch names as many slices as it says, which core's own loan keeps.
            let slices = unsafe { std::slice::from_raw_parts(batch.slices, batch.count as usize) };
            // SAFETY: each slice is readable, as the caller promises of a batch.
            let bytes = slices.iter().flat_map(|s| unsafe { std::slice::from_raw_parts(s.ptr, s.len) });
            let bytes: Vec<u8> = bytes.copied().collect();
            for datagram in bytes.chunks(batch.segment as usize) {
                if self.task == 1 || !LOST.with_borrow_mut(|lost| lost(datagram)) {
                    WIRES.with_borrow_mut(|wires| wires[1 - self.task].push_back(datagram.to_vec()));
                }
            }
        }
        batches.len()
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.shown.clear();
        for (n, event) in events.iter_mut().enumerate() {
            let Some(mut bytes) = WIRES.with_borrow_mut(|wires| wires[self.task].pop_front()) else {
                return n;
            };
            let (data, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
            *event = Event { kind: EventKind::Datagram as u32, data, len, ..Event::EMPTY };
            self.shown.push(bytes);
        }
        events.len()
    }
}

static TABLE: TransportOps = Exported::<Wire>::table(c"wire", c"0", std::ptr::null());

fn end(task: PeerId) -> (Link, Datagrams) {
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
    let mut link = Plugin::from_table(&TABLE).expect("a good table").open(&params).expect("opens");
    let peers = vec![(1 - task, Some(1))];
    let parties = Parties { task, job: "j", context: (0, 0), secret: &secret, epoch: 1, alone: true, peers };
    let timing = Timing::of(&Config::default());
    let datagrams = Datagrams::new(&mut link, timing, &parties).expect("an engine");
    (link, datagrams)
}

/// A packet of this kind with a number.
fn packet(kind: Kind, number: u32) -> Vec<u8> {
    let mut bytes = vec![kind as u8; 64];
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn read(unit: Unit) -> (u8, u32) {
    // SAFETY: the link was not polled since the unit came, and nobody was started anew.
    let bytes = unsafe { unit.bytes() };
    (bytes[0], u32::from_le_bytes(bytes[4..8].try_into().expect("four bytes")))
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
        far.poll(&mut far_link, room, false).expect("polls");
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
        near.poll(&mut near_link, ROOM, false).expect("polls");
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
