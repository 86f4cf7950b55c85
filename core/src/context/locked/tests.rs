//! The guard against Miri, which sees each reference to the state and when it ends: calls that come
//! back from `out`, short sections, and hand-overs among threads. All run natively, too.

use super::*;
use crate::bootstrap;
use crate::config::Config;
use crate::context::{ContextBuilder, HandlerId};
use crate::handlers::Incoming;
use crate::sync::Ordering;

/// A context of one task without any transport.
fn alone() -> Context {
    let job = bootstrap::singleton(0).unwrap();
    ContextBuilder::default().without_transports(job, Config::default()).unwrap()
}

/// More than it takes to get the lock's bias.
const OFTEN: usize = 300;

fn give_bias(context: &Context) {
    (0..OFTEN).for_each(|_| drop(context.locked()));
    assert!(context.short_section().is_some(), "the thread has the bias");
}

#[test]
fn calls_that_come_back_work_with_the_state_while_the_outer_guard_is_lent() {
    let context = alone();
    let mut outer = context.locked();
    outer.dispatching = 1;
    let inner = outer.out(|context| {
        let mut inner = context.locked();
        inner.dispatching += 1;
        inner.out(|context| context.locked().dispatching += 1);
        inner.dispatching
    });
    assert_eq!((inner, outer.dispatching), (3, 3));
    // A reference from before would have ended: this one is new.
    let state = &mut *outer;
    state.sending.ended += 1;
    assert_eq!(state.sending.ended, 1);
    outer.dispatching = 0;
}

#[test]
fn a_handler_may_look_up_send_and_count_in_its_own_context() {
    let context = alone();
    context.set_handler(HandlerId(1), |_, _| crate::Delivery::bury()).unwrap();
    let counter = crate::Counter::default();
    let mut locked = context.locked();
    let incoming = Incoming { source: 0, user_header: &[], len: 0, first: &[] };
    let shared = locked.shared();
    let delivery = locked.out(|context| {
        context.count(&counter, 0);
        assert!(context.send(0, HandlerId(1), &[], b"nowhere").is_err(), "there is no transport");
        match shared.handlers.get(1) {
            Some(handler) => (handler.call)(context, &incoming),
            _ => panic!("it was set"),
        }
    });
    assert!(delivery.is_none());
    crate::context::Notify::counter(&raw const counter).notify(&mut locked, 0, Ok(()));
    drop(locked);
    assert_eq!(counter.value(), 2);
}

#[test]
fn short_sections_and_guards_take_turns_at_the_state() {
    let context = alone();
    give_bias(&context);
    for round in 1..=10 {
        let mut section = context.short_section().expect("the bias stays");
        section.sending.ended += 1;
        if round % 2 == 0 {
            let mut kept = section.keep();
            kept.sending.ended += 1;
            kept.out(|context| context.locked().sending.ended += 1);
        } else {
            drop(section);
        }
    }
    assert_eq!(context.locked().sending.ended, 20);
}

#[test]
fn threads_that_wait_get_the_state_when_the_lock_is_let_go_or_handed_over() {
    let context = alone();
    give_bias(&context);
    const EACH: u64 = 20;
    std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| {
            scope.spawn(|| {
                for _ in 0..EACH {
                    context.locked().receiving.ended += 1;
                }
            })
        });
        let mut locked = context.locked();
        for turn in 0..EACH {
            locked.receiving.ended += 1;
            match turn % 2 {
                0 => locked.hand_over(),
                _ => locked.unlocked(|shared| assert!(!shared.terminated.load(Ordering::Relaxed))),
            }
        }
        drop(locked);
        // Joined one by one: ThreadSanitizer does not see how a scope waits.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(context.locked().receiving.ended, 3 * EACH);
}
