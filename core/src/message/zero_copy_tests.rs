//! Memory that was given back while a copy of its packets waits for room in the kernel.

use crate::Context;
use crate::buffers::{Source, TrustedSource};
use crate::completion::Notify;
use crate::context::Outgoing;
use crate::datagrams::Datagrams;
use crate::datagrams::tests::{self as wire, packet, poll, set_full, under_way};
use crate::message::two_tasks;
use crate::transport::{Link, PeerId, RawSlice, Status};
use crate::wire::{Header, Kind};
use lapis_patience::Patience;
use std::time::Duration;

/// What the program sends, and what it writes there once it has been told that it may.
const SENT: u8 = 0x5a;
const CHANGED: u8 = 0xee;
const BYTES: usize = 1000;

/// A context, the other end of its wire, and memory of the program.
struct Setting {
    context: Context,
    link: Link,
    far: Datagrams,
    memory: Vec<u8>,
}

impl Setting {
    fn new() -> Self {
        let (context, link, far) = two_tasks::pair();
        Self { context, link, far, memory: vec![SENT; BYTES] }
    }

    fn address(&mut self) -> usize {
        self.memory.as_mut_ptr().expose_provenance()
    }

    /// Overwrites the memory as soon as it is said to be free.
    fn origin(&mut self) -> Notify<Context> {
        let at = self.address();
        Notify::Dyn(Box::new(move |_: PeerId, _| {
            // SAFETY: the memory outlives the message, and nothing refers to it.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(at).write_bytes(CHANGED, BYTES) };
        }))
    }

    fn is_free(&self) -> bool {
        self.memory[0] == CHANGED
    }

    /// Sends a packet from where it lies. Its first copy is on the way when it counts as lost, and
    /// the second finds no room.
    fn send_twice(&mut self) {
        let body = RawSlice { ptr: std::ptr::with_exposed_provenance_mut(self.address()), len: BYTES };
        let mut locked = self.context.locked();
        let token = locked.sending.zero_copy.begin_packet(1, 0, 0);
        let header = Header::new(Kind::Fragment, 0, 0);
        // SAFETY: the memory lives as long as the test, which does not write to it before it is
        // told.
        let status = unsafe { locked.send_zero_copy_datagram(1, &header, body, token) };
        assert_eq!(status, Status::Done);
        locked.links.flush_datagrams();
        drop(locked);
        assert_eq!(under_way(1).len(), 1);
        set_full(true);
        let mut patience = Patience::with_myself(Duration::from_secs(20));
        while !self.holds_back() {
            self.context.progress().unwrap();
            assert!(!patience.is_over(), "it never counts as lost");
        }
    }

    fn holds_back(&self) -> bool {
        self.context.locked().engine_to(1).expect("an engine").1.holds_back()
    }

    /// The other end takes what is under way and says so.
    fn acknowledge(&mut self) {
        poll(&mut self.link, &mut self.far);
        let now = self.far.now();
        self.far.flush(&mut self.link, now);
        assert!(under_way(1).is_empty() && !under_way(0).is_empty());
        self.context.progress().unwrap();
    }

    /// There is room again. Answers whether the second copy leaves; if so, with the right bytes.
    fn leaves(self) -> bool {
        assert!(self.is_free());
        set_full(false);
        self.context.progress().unwrap();
        assert!(!self.holds_back());
        let run = |byte| move |datagram: &Vec<u8>| datagram.windows(BYTES).any(|part| part == [byte; BYTES]);
        assert!(!under_way(1).iter().any(run(CHANGED)), "memory was read that is the program's again");
        let leaves = under_way(1).iter().any(run(SENT));
        self.context.purge(1).unwrap();
        self.context.terminate().unwrap();
        leaves
    }
}

#[test]
fn a_copy_that_waits_for_room_when_its_message_is_acknowledged_does_not_read_its_memory() {
    let mut setting = Setting::new();
    setting.send_twice();
    let mut origin = setting.origin();
    assert_eq!(
        setting.context.locked().sending.zero_copy.all_out(1, 0, &mut origin),
        crate::state::Left::Open
    );
    setting.acknowledge();
    assert!(setting.leaves());
}

#[test]
fn nor_does_one_whose_message_ends_with_a_packet_that_is_copied() {
    let mut setting = Setting::new();
    setting.send_twice();
    setting.acknowledge();
    assert!(!setting.is_free());
    let from = std::ptr::with_exposed_provenance(setting.address());
    // SAFETY: the memory is written to when the message has ended.
    let source = unsafe { TrustedSource::new(Source::Contiguous(from, BYTES as u64)) };
    let mut out = Outgoing::new(1, source, setting.origin());
    out.position = BYTES as u64;
    setting.context.locked().begin_outgoing(out);
    assert!(setting.leaves());
}

#[test]
fn nor_does_one_for_a_peer_that_has_started_anew() {
    let mut setting = Setting::new();
    setting.send_twice();
    let mut origin = setting.origin();
    assert_eq!(
        setting.context.locked().sending.zero_copy.all_out(1, 0, &mut origin),
        crate::state::Left::Open
    );
    (setting.link, setting.far) = wire::end_of(1, 2, None);
    assert_eq!(setting.far.send(&mut setting.link, 0, &packet(Kind::Am, 0), &[], false), Status::Done);
    let now = setting.far.now();
    setting.far.flush(&mut setting.link, now);
    // The same poll hears of the new life and sends what waits.
    set_full(false);
    setting.context.progress().unwrap();
    assert!(!setting.leaves(), "nobody wants it any more");
}

/// An answer has the number of the request, which the peer has given it.
#[test]
fn an_answer_with_the_number_of_a_message_leaves_that_message_alone() {
    let mut setting = Setting::new();
    let body = RawSlice { ptr: std::ptr::with_exposed_provenance_mut(setting.address()), len: BYTES };
    let mut origin = setting.origin();
    let mut locked = setting.context.locked();
    let token = locked.sending.zero_copy.begin_packet(1, 7, 0);
    // SAFETY: the memory lives as long as the test, which does not write to it before it is told.
    let status =
        unsafe { locked.send_zero_copy_datagram(1, &Header::new(Kind::Fragment, 7, 0), body, token) };
    assert_eq!(status, Status::Done);
    assert_eq!(locked.sending.zero_copy.all_out(1, 7, &mut origin), crate::state::Left::Open);
    // SAFETY: a static lives for good.
    let source = unsafe { TrustedSource::new(Source::Contiguous(b"answer".as_ptr().cast(), 6)) };
    let mut answer = Outgoing::new(1, source, Notify::None);
    (answer.message, answer.answer_to) = (7, Some(1));
    locked.begin_outgoing(answer);
    assert!(locked.sending.outgoing.is_empty());
    locked.links.flush_datagrams();
    drop(locked);
    assert!(!setting.is_free());
    setting.acknowledge();
    assert!(setting.is_free(), "nobody was told that the message's memory is free");
    setting.context.purge(1).unwrap();
    setting.context.terminate().unwrap();
}
