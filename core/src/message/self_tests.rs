//! A task alone, over a transport that brings its messages back to it: what can't be put into its
//! memory in any way, and how it fares with numbers and farewells.

use crate::Context;
use crate::HandlerId;
use crate::buffers::Direction;
use crate::completion::Notify;
use crate::context::Delivery;
use crate::counter::Counter;
use crate::error::{Access, Error, Reason, Refusal};
use crate::handlers::{CompletionHandler, Incoming, Verdict};
use crate::message::{AmSend, Gather, Operation, Share, Source, Waiting};
use crate::stats::Path;
use crate::status::Awaiting;
use crate::transport::{
    Attributes, Caps, Declaration, Event, EventKind, Host, Limits, NoWaiter, OpenParams, PeerId, RawSlice,
    RemoteAddr, Status, Transport, TransportError, Usage,
};
use crate::wire::{Encoded, Header, Kind};
use lapis_patience::Patience;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Brings this task's messages back to it, but carries neither puts nor their packets.
#[derive(Default)]
struct Fails {
    queue: VecDeque<Vec<u8>>,
    /// The bytes of the last event.
    shown: Vec<u8>,
}

impl Transport for Fails {
    const NAME: &'static str = "fails";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT
        .union(Caps::AM_PACKED)
        .union(Caps::PUT_ZCOPY)
        .union(Caps::RELIABLE)
        .union(Caps::SELF_ONLY);
    const DECLARATION: Declaration = Declaration { cost_ns: 1, usage: Usage::Always, variables: &[] };
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self::default(), NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits =
            Limits { max_short: 1 << 16, max_packed: 1 << 16, max_zcopy: 1 << 20, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_short(&mut self, _: PeerId, head: &[u8], body: &[u8]) -> Status {
        if head[0] == Kind::Put as u8 {
            return Status::Unsupported;
        }
        // Who has said farewell takes nothing more, read or not.
        if self.queue.iter().any(|packet| packet[0] == Kind::Goodbye as u8) {
            return Status::PeerDown;
        }
        self.queue.push_back([head, body].concat());
        Status::Done
    }

    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        let mut packet = vec![0; len];
        pack(&mut packet);
        self.am_short(peer, &packet, &[])
    }

    unsafe fn put_zcopy(&mut self, _: PeerId, _: RawSlice, _: RemoteAddr, _: u64) -> Status {
        Status::Unsupported
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        let Some(next) = self.queue.pop_front() else { return 0 };
        self.shown = next;
        events[0] = Event::message(0, self.shown.as_mut_ptr(), self.shown.len() as u32);
        1
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    crate::export_transport!(super::Fails, "fails", "0");
}

fn alone() -> Context {
    Context::builder()
        .environment(crate::config::Environment::default())
        .bootstrap(crate::bootstrap::singleton(0).unwrap())
        .transport(linked::table())
        .interrupts(false)
        .on_error(|_, _, _| true)
        .init()
        .unwrap()
}

#[test]
fn a_fence_is_answered_when_more_messages_have_been_sent_than_half_of_what_their_numbers_count() {
    let context = alone();
    let many = (1 << 31) + 5;
    let mut locked = context.locked();
    locked.peers[0].numbered = many;
    locked.peers[0].arrived.restart(many as u32);
    drop(locked);
    context.fence().unwrap();
    assert_eq!(context.locked().peers[0].confirmed, many);
}

#[test]
fn a_fence_reads_the_farewell_of_a_task_that_it_cant_ask_any_more() {
    for (done, sent) in [(2, 2), (1, 2)] {
        let context = alone();
        context.set_handler(HandlerId(1), |_, _| Delivery::bury()).unwrap();
        for _ in 0..sent {
            context.send(0, HandlerId(1), &[], &[]).unwrap();
        }
        while context.progress().unwrap().events > 0 {}
        context.locked().reply_packet(0, &Header::new(Kind::Goodbye, done, 0), &[]);
        for _ in 0..2 {
            let outcome = context.fence();
            assert_eq!(outcome.is_ok(), done == sent, "{done} of {sent} are done: {outcome:?}");
        }
    }
}

#[test]
fn whoever_is_asked_for_a_sign_of_life_gives_it_at_once_whatever_is_under_way() {
    let context = alone();
    let mut locked = context.locked();
    locked.peers[0].silence.asked = true;
    locked.peers[0].numbered = 7;
    locked.ask_for_sign_of_life(0);
    drop(locked);
    while context.progress().unwrap().events > 0 {}
    let locked = context.locked();
    assert!(!locked.peers[0].silence.asked, "none of the seven messages has come");
    assert_eq!(locked.peers[0].confirmed, 0, "nor is any taken for one that has");
}

/// Without an engine, as with one.
#[test]
fn what_a_handler_answers_that_purges_and_resumes_the_sender_is_dropped() {
    let collect: fn(&Incoming<'_>) -> Delivery = |message| Delivery::collect(message, |_| ());
    let later: fn(&Incoming<'_>) -> Delivery = |_| Delivery::later();
    for (kind, answer) in [(Kind::AmFirst, collect), (Kind::AmPull, collect), (Kind::Am, later)] {
        let context = alone();
        let purge = move |context: &Context, message: &Incoming<'_>| {
            context.purge(0).unwrap();
            context.resume(0).unwrap();
            answer(message)
        };
        context.set_handler(HandlerId(1), purge).unwrap();
        bring(&context, Header { total: 8, ..Header::new(kind, 0, 1) });
        let locked = context.locked();
        let receiving = &locked.receiving;
        let begun = receiving.reassemblies.has_begun((0, 0)) || receiving.waiting() > 0;
        assert!(!begun, "{kind:?}");
    }
}

/// Handles a packet as one that has come.
fn bring(context: &Context, header: Header) {
    let mut packet = Encoded::new();
    let len = header.encode(&mut packet);
    let mut locked = context.locked();
    locked.dispatching += 1;
    locked.packet_arrived(Path::Local, 0, packet.bytes(len));
    locked.dispatching -= 1;
}

#[test]
fn what_a_task_has_not_answered_ends_with_its_farewell() {
    let context = alone();
    let (tell, told) = mpsc::channel();
    let mut locked = context.locked();
    let sequence = locked.next_operation(0);
    locked.operations.insert(Operation {
        peer: 0,
        waiting: Waiting::Completion,
        origin: Notify::None,
        completion: Notify::Dyn(Box::new(move |_: PeerId, outcome| tell.send(outcome).unwrap())),
        target_counter: 0,
        sequence,
    });
    drop(locked);
    bring(&context, Header::new(Kind::Goodbye, 0, 0));
    let outcome = told.try_recv();
    assert!(matches!(outcome, Ok(Err(Error::TargetDown { task: 0, .. }))), "{outcome:?}");
}

#[test]
fn a_wait_ends_at_its_deadline_however_much_arrives_meanwhile() {
    let context = alone();
    // Each message sends the next one.
    let again = |context: &Context, _: &Incoming<'_>| {
        context.send(0, HandlerId(1), &[], &[]).expect("one more");
        Delivery::bury()
    };
    context.set_handler(HandlerId(1), again).unwrap();
    context.send(0, HandlerId(1), &[], &[]).unwrap();
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    let deadline = Some(Instant::now() + Duration::from_millis(50));
    let mut asked = false;
    let ended = context.locked().wait_before(Awaiting::End, deadline, |_| {
        asked = patience.is_over();
        asked
    });
    assert!(!ended && !asked, "the wait goes on as long as messages come");
}

#[test]
fn a_put_by_a_direct_copy_is_complete_when_its_target_has_counted() {
    let context = alone();
    let (at_target, complete) = (Counter::default(), Counter::default());
    let counter = (&raw const at_target).expose_provenance() as u64;
    let told = Notify::Counter(NonNull::from(&complete));
    context.locked().after_direct(0, counter, Notify::None, told);
    assert_eq!((at_target.value(), complete.value()), (0, 0));
    while context.progress().unwrap().events > 0 {
        assert!(complete.value() <= at_target.value());
    }
    assert_eq!((at_target.value(), complete.value()), (1, 1));
}

#[test]
fn who_polls_for_messages_hears_of_puts_and_gets_that_needed_none() {
    let context = alone();
    assert_eq!(context.poll_for_messages(3).unwrap(), Some((false, false)));
    context.count_direct(0, Direction::In, 8);
    assert_eq!(context.poll_for_messages(3).unwrap(), Some((false, true)));
    context.count_direct(0, Direction::Out, 8);
    assert_eq!(context.poll_for_messages(3).unwrap(), Some((true, false)));
    assert_eq!(context.poll_for_messages(3).unwrap(), Some((false, false)));
}

/// As over keys and windows: the data has been put, and only the counter is left to be counted.
#[test]
fn a_put_is_complete_though_its_target_has_ended_before_its_counter_could_be_counted() {
    let context = alone();
    let (at_target, complete) = (Counter::default(), Counter::default());
    let counter = (&raw const at_target).expose_provenance() as u64;
    context.locked().peer_ended(0, 0);
    let told = Notify::Counter(NonNull::from(&complete));
    context.locked().after_direct(0, counter, Notify::None, told);
    assert_eq!((at_target.value(), complete.value()), (0, 1));
}

/// Zeros that count as this.
struct Zeros(Share);

impl Gather for Zeros {
    unsafe fn read(&mut self, _: u64, out: &mut [u8]) {
        out.fill(0);
    }

    fn share(&self) -> Share {
        self.0
    }
}

/// In one packet, and in several of which the first or the second one has bytes of both kinds.
#[test]
fn what_an_interface_sends_beside_the_programs_data_does_not_count_as_such() {
    let context = alone();
    let meet = |_: &Context, _: &Incoming<'_>| {
        let met = CompletionHandler::Ask(Box::new(|_: &Context| Verdict::Met));
        Delivery { completion: Some(met), ..Delivery::bury() }
    };
    context.set_handler(HandlerId(1), |_, _| Delivery::bury()).unwrap();
    context.set_handler(HandlerId(2), meet).unwrap();
    let shares =
        [Share::All, Share::Behind(96), Share::Behind(50_000), Share::Behind(90_000), Share::Nothing];
    for (len, share) in [100_u64, 200_000].into_iter().flat_map(|len| shares.map(|share| (len, share))) {
        let (is_message, data) = match share {
            Share::All => (true, len),
            Share::Behind(before) => (true, len.saturating_sub(before)),
            Share::Nothing => (false, 0),
        };
        let before = *context.statistics().path(Path::Local);
        let message = AmSend {
            target: 0,
            handler: if is_message { 1 } else { 2 },
            user_header: &[0; 8],
            source: Source::Gather(Box::new(Zeros(share)), len),
            target_counter: 0,
            origin: Notify::None,
            completion: Notify::None,
        };
        // SAFETY: the source names no memory.
        unsafe { context.am_send(message) }.unwrap();
        context.fence().unwrap();
        let after = *context.statistics().path(Path::Local);
        let counted = [after.data_sent - before.data_sent, after.data_received - before.data_received];
        assert_eq!(counted, [data; 2], "{len} bytes, {share:?}");
        assert_eq!(context.poll_for_messages(1).unwrap(), Some((is_message, is_message)), "{share:?}");
    }
    context.terminate().unwrap();
}

#[test]
fn who_has_terminated_its_context_is_not_resumed_and_its_memory_is_out_of_reach() {
    let context = alone();
    let data = [0_u8; 8];
    let place = data.as_ptr().expose_provenance() as u64;
    assert!(context.direct(0, place, 8).is_some());
    let mut locked = context.locked();
    locked.peer_ended(0, 0);
    drop(locked);
    assert!(context.direct(0, place, 8).is_none());
    context.purge(0).unwrap();
    let outcome = context.resume(0);
    assert!(matches!(outcome, Err(Error::TargetDown { task: 0, .. })), "{outcome:?}");
}

#[test]
fn the_end_of_a_peer_that_is_none_is_nothing_to_act_upon() {
    let context = alone();
    let mut event = Event::message(7, std::ptr::null_mut(), 0);
    event.kind = EventKind::PeerDown as u32;
    context.locked().dispatch(Path::Local, &event);
    assert!(context.direct(0, 8, 0).is_some(), "this task is still there");
}

#[test]
fn a_get_whose_data_its_target_cant_put_in_any_way_ends_with_an_error() {
    let context = alone();
    let (data, mut into) = (vec![7_u8; 100], vec![0_u8; 100]);
    let addr = data.as_ptr().expose_provenance() as u64;
    let (tell, told) = mpsc::channel();
    let mut locked = context.locked();
    let origin = Notify::Dyn(Box::new(move |_: PeerId, outcome| tell.send(outcome).unwrap()));
    let sequence = locked.next_operation(0);
    let id = locked.operations.insert(Operation {
        peer: 0,
        waiting: Waiting::Push { lent: None },
        origin,
        completion: Notify::None,
        target_counter: 0,
        sequence,
    });
    let mut header = Header::new(Kind::GetPush, locked.next_message(0), addr);
    (header.total, header.extra) = (100, [into.as_mut_ptr().expose_provenance() as u64, id, 0]);
    drop(locked);
    bring(&context, header);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    let outcome = loop {
        context.progress().unwrap();
        if let Ok(outcome) = told.try_recv() {
            break outcome;
        }
        assert!(!patience.is_over(), "the get has not ended");
    };
    let expected = Refusal { task: 0, access: Access::Get, addr, len: 100, reason: Reason::NotCarried };
    assert!(matches!(outcome, Err(Error::Refused(refusal)) if refusal == expected), "{outcome:?}");
    context.fence().unwrap();
    assert_eq!(into, [0; 100]);
    context.terminate().unwrap();
}
