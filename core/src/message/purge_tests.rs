//! Peers over a packet engine that are purged, begin anew, or leave while something is under way.

use super::super::two_tasks::{self, PEER, bring};
use crate::Context;
use crate::context::{Delivery, HandlerId, Notify, Operation, RemoteMemory};
use crate::datagrams::Datagrams;
use crate::datagrams::tests::{end_of, poll, under_way};
use crate::error::Error;
use crate::handlers::Incoming;
use crate::state::Waiting;
use crate::sync::{AtomicU32, Ordering};
use crate::transport::{Link, PeerId, Status};
use crate::wire::{Encoded, Header, Kind};
use lapis_patience::Patience;
use std::ffi::c_void;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Counts messages;
const COUNTS: HandlerId = HandlerId(1);
/// this one also purges their sender, and resumes it.
const PURGES: HandlerId = HandlerId(2);

/// The other task sends a message.
fn send(link: &mut Link, far: &mut Datagrams, number: u32, handler: HandlerId) {
    let mut head = Encoded::new();
    let n = Header::new(Kind::Am, number, handler.0.into()).encode(&mut head);
    assert_eq!(far.send(link, 0, head.bytes(n), &[7; 8], true), Status::Done);
}

/// Counts the messages that come for the handler that counts.
fn counting(context: &Context) -> Arc<AtomicU32> {
    let came = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&came);
    let count = move |_: &Context, _: &Incoming<'_>| {
        counts.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    };
    context.set_handler(COUNTS, count).unwrap();
    came
}

/// Both learn of each other by a message, which is counted.
fn meet(context: &Context, link: &mut Link, far: &mut Datagrams, came: &AtomicU32) {
    send(link, far, 0, COUNTS);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while came.load(Ordering::Relaxed) == 0 {
        let now = far.now();
        far.flush(link, now);
        context.progress().unwrap();
        poll(link, far);
        assert!(!patience.is_over(), "the first message never comes");
    }
}

#[test]
fn a_task_that_is_resumed_is_greeted_at_once() {
    let (context, mut link, mut far) = two_tasks::pair();
    let came = counting(&context);
    meet(&context, &mut link, &mut far, &came);
    context.purge(PEER).unwrap();
    poll(&mut link, &mut far);
    assert!(under_way(PEER).is_empty());
    context.resume(PEER).unwrap();
    assert_eq!(under_way(PEER).len(), 1, "without another call that makes progress");
    context.purge(PEER).unwrap();
    context.terminate().unwrap();
}

#[test]
fn what_one_poll_brought_with_the_message_whose_handler_purges_belongs_to_the_former_life() {
    let (context, mut link, mut far) = two_tasks::pair();
    let came = counting(&context);
    let purges = Arc::clone(&came);
    let purge = move |context: &Context, _: &Incoming<'_>| {
        purges.fetch_add(1, Ordering::Relaxed);
        context.purge(PEER).unwrap();
        context.resume(PEER).unwrap();
        Delivery::bury()
    };
    context.set_handler(PURGES, purge).unwrap();
    meet(&context, &mut link, &mut far, &came);
    (1..4).for_each(|number| send(&mut link, &mut far, number, PURGES));
    let now = far.now();
    far.flush(&mut link, now);
    assert_eq!(under_way(0).len(), 1, "one datagram brings all of them");
    context.progress().unwrap();
    assert_eq!(came.load(Ordering::Relaxed), 2, "messages of the former life were handled");
    let locked = context.locked();
    let arrived = &locked.peers[PEER].arrived;
    assert!(arrived.reached(0) && !arrived.reached(1), "they count as some of the new life");
    drop(locked);
    context.purge(PEER).unwrap();
    context.terminate().unwrap();
}

/// It has begun again, as the same process or as another one: the program alone knows that.
#[test]
fn a_task_that_took_its_leave_is_resumed_where_the_program_tells_the_addresses() {
    for is_told in [false, true] {
        let (context, mut link, mut far) =
            if is_told { two_tasks::pair_of_told_addresses() } else { two_tasks::pair() };
        let came = counting(&context);
        meet(&context, &mut link, &mut far, &came);
        context.locked().peer_ended(PEER, 0);
        context.purge(PEER).unwrap();
        let outcome = context.resume(PEER);
        if is_told {
            outcome.unwrap();
            context.reachable(PEER).unwrap();
            assert!(!context.has_left(PEER));
            came.store(0, Ordering::Relaxed);
            let (mut link, mut far) = end_of(PEER, 2, None);
            meet(&context, &mut link, &mut far, &came);
            context.purge(PEER).unwrap();
        } else {
            assert!(matches!(outcome, Err(Error::TargetDown { task: PEER, .. })), "{outcome:?}");
        }
        context.terminate().unwrap();
    }
}

/// What a handler answers that purges the sender of its message, and perhaps resumes it, would
/// begin something of the former life.
#[test]
fn whoever_purges_the_sender_of_the_message_being_handled_gets_no_more_of_it() {
    let collect: fn(&Incoming<'_>) -> Delivery = |message| Delivery::collect(message, |_| ());
    let later: fn(&Incoming<'_>) -> Delivery = |_| Delivery::later();
    let mut cases = vec![(Kind::Am, later)];
    for kind in [Kind::AmFirst, Kind::AmPull] {
        cases.extend([(kind, collect), (kind, later)]);
    }
    for (number, (kind, answer)) in cases.into_iter().enumerate() {
        for resumes in [false, true] {
            let (context, _link, _far) = two_tasks::pair();
            let purge = move |context: &Context, message: &Incoming<'_>| {
                context.purge(PEER).unwrap();
                if resumes {
                    context.resume(PEER).unwrap();
                }
                answer(message)
            };
            context.set_handler(PURGES, purge).unwrap();
            bring(&context, Header { total: 8, ..Header::new(kind, 0, PURGES.0.into()) });
            let locked = context.locked();
            let receiving = &locked.receiving;
            let begun = receiving.reassemblies.has_begun((PEER, 0)) || receiving.waiting() > 0;
            assert!(!begun, "case {number}, resumes: {resumes}");
            drop(locked);
            context.purge(PEER).unwrap();
            context.terminate().unwrap();
        }
    }
}

#[test]
fn a_message_that_was_put_off_and_whose_handler_purges_its_sender_counts_as_none_of_the_new_life() {
    let (context, _link, _far) = two_tasks::pair();
    let calls = AtomicU32::new(0);
    let purge = move |context: &Context, _: &Incoming<'_>| {
        if calls.fetch_add(1, Ordering::Relaxed) == 0 {
            return Delivery::later();
        }
        context.purge(PEER).unwrap();
        context.resume(PEER).unwrap();
        Delivery::bury()
    };
    context.set_handler(PURGES, purge).unwrap();
    bring(&context, Header::new(Kind::Am, 0, PURGES.0.into()));
    assert_eq!(context.locked().receiving.dropped.len(), 1);
    context.progress().unwrap();
    let locked = context.locked();
    assert!(locked.receiving.dropped.is_empty(), "it has been handled");
    assert!(!locked.peers[PEER].arrived.reached(1), "message 0 of the new life has not come");
    drop(locked);
    context.purge(PEER).unwrap();
    context.terminate().unwrap();
}

/// # Safety
/// None is needed.
unsafe fn sends_more(context: &Context, peer: PeerId, _: usize, _: *mut c_void, ok: bool) {
    assert!(!ok, "the operation was given up");
    context.send(peer, COUNTS, &[], &[1]).unwrap();
}

/// The other task purges this one and goes on, while this one waits for an answer. What this one
/// sends as soon as it is told counts as the first message of the new life.
#[test]
fn what_is_sent_by_those_who_are_told_of_a_new_life_belongs_to_it() {
    let (context, mut link, mut far) = two_tasks::pair();
    let came = counting(&context);
    meet(&context, &mut link, &mut far, &came);
    let mut locked = context.locked();
    locked.peers[PEER].numbered = 1000;
    let sequence = locked.next_operation(PEER);
    locked.operations.insert(Operation {
        peer: PEER,
        waiting: Waiting::Completion,
        origin: Notify::Call { call: sends_more, function: 0, argument: std::ptr::null_mut() },
        completion: Notify::None,
        target_counter: 0,
        sequence,
    });
    drop(locked);
    far.purge(0);
    far.resume(0);
    send(&mut link, &mut far, 0, COUNTS);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while context.locked().peers[PEER].numbered == 1000 {
        let now = far.now();
        far.flush(&mut link, now);
        context.progress().unwrap();
        poll(&mut link, &mut far);
        assert!(!patience.is_over(), "the new life is never noticed");
    }
    assert_eq!(context.locked().peers[PEER].numbered, 1, "the message counts as one of the former life");
    context.purge(PEER).unwrap();
    context.terminate().unwrap();
}

/// The answer to an operation was lost, or the other task left without one: the engine has nothing
/// to send again, and nobody will answer a question.
#[test]
fn what_a_task_that_has_left_never_answers_ends_after_the_timeout() {
    let (context, mut link, mut far) = two_tasks::pair();
    let came = counting(&context);
    context.set_timeout(Duration::from_secs(1));
    meet(&context, &mut link, &mut far, &came);
    let (tell, told) = mpsc::channel();
    let mut locked = context.locked();
    let sequence = locked.next_operation(PEER);
    locked.operations.insert(Operation {
        peer: PEER,
        waiting: Waiting::Completion,
        origin: Notify::None,
        completion: Notify::Dyn(Box::new(move |_: PeerId, outcome| tell.send(outcome).unwrap())),
        target_counter: 0,
        sequence,
    });
    drop(locked);
    let mut head = Encoded::new();
    let n = Header::new(Kind::Goodbye, 1, 0).encode(&mut head);
    assert_eq!(far.send(&mut link, 0, head.bytes(n), &[], true), Status::Done);
    let now = far.now();
    far.flush(&mut link, now);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    let outcome = loop {
        context.progress().unwrap();
        if let Ok(outcome) = told.try_recv() {
            break outcome;
        }
        assert!(!patience.is_over(), "nobody is told that the task has left");
    };
    assert!(matches!(outcome, Err(Error::TargetDown { task: PEER, .. })), "{outcome:?}");
    context.terminate().unwrap();
}

/// One thread of the program waits for an answer that does not come; another one ends the context.
#[test]
fn a_call_that_waits_returns_when_another_thread_ends_the_context() {
    let (context, _link, _far) = two_tasks::pair();
    let caller = context.clone();
    let get = move || caller.get_bytes(RemoteMemory { task: PEER, addr: 0x1000, len: 8 }, &mut [0; 8]);
    let waiting = std::thread::spawn(get);
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    while context.locked().operations.peers().is_empty() {
        assert!(!waiting.is_finished() && !patience.is_over(), "the get has not begun");
        std::thread::yield_now();
    }
    context.terminate().unwrap();
    while !waiting.is_finished() {
        assert!(!patience.is_over(), "the call still waits");
        std::thread::yield_now();
    }
    let outcome = waiting.join().unwrap();
    assert!(matches!(outcome, Err(Error::HandleInvalid { .. })), "{outcome:?}");
}

/// A completion handler on its thread waits for an answer that does not come, while the context is
/// ended: its thread is waited for.
#[test]
fn the_end_of_a_context_ends_the_waits_of_its_handler_threads() {
    let (context, _link, _far) = two_tasks::pair();
    let (tell, told) = mpsc::channel();
    let wait = move |_: &Context, _: &Incoming<'_>| {
        let tell = tell.clone();
        Delivery::bury().then(move |context: &Context| {
            let far = RemoteMemory { task: PEER, addr: 0x1000, len: 8 };
            tell.send(context.get_bytes(far, &mut [0; 8])).unwrap();
        })
    };
    context.set_handler(COUNTS, wait).unwrap();
    bring(&context, Header::new(Kind::Am, 0, COUNTS.0.into()));
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    while context.locked().operations.peers().is_empty() {
        assert!(!patience.is_over(), "the get has not begun");
        std::thread::yield_now();
    }
    let ended = context.clone();
    let ending = std::thread::spawn(move || ended.terminate());
    while !ending.is_finished() {
        assert!(!patience.is_over(), "the context never ends");
        std::thread::yield_now();
    }
    ending.join().unwrap().unwrap();
    let outcome = told.try_recv();
    assert!(matches!(outcome, Ok(Err(Error::HandleInvalid { .. }))), "{outcome:?}");
}
