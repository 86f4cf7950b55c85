//! In which order packets leave that have found no room.

use crate::Context;
use crate::context::Notify;
use crate::error::Error;
use crate::message::{AmSend, RmwArgs, Source};
use crate::sync::{AtomicU32, Ordering};
use crate::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, RmwOp, Status,
    Transport, TransportError, Usage,
};
use crate::wire::{Header, Kind};
use lapis_patience::Patience;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    /// So many packets find no room.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static REFUSALS: Cell<u32> = const { Cell::new(0) };
    /// The kinds of those that found it.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static SENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A way of the task to itself that notes what is sent.
struct Own;

impl Transport for Own {
    const NAME: &'static str = "own";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::SELF_ONLY);
    const DECLARATION: Declaration = Declaration { cost_ns: 1, usage: Usage::Always, variables: &[] };
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_short: 1 << 16, max_packed: 1 << 16, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_short(&mut self, _: PeerId, head: &[u8], _: &[u8]) -> Status {
        let refusals = REFUSALS.get();
        if refusals > 0 {
            REFUSALS.set(refusals - 1);
            return Status::Again;
        }
        SENT.with_borrow_mut(|sent| sent.push(head[0]));
        Status::Done
    }

    fn poll(&mut self, _: &mut [Event]) -> usize {
        0
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    crate::export_transport!(super::Own, "own", "0");
}

pub(in crate::message) use linked::table as own;

fn alone() -> Context {
    Context::builder()
        .environment(crate::config::Environment::default())
        .bootstrap(crate::bootstrap::singleton(0).unwrap())
        .transport(own())
        .interrupts(false)
        .init()
        .unwrap()
}

type Call<'a> = &'a dyn Fn(&Context) -> Result<(), Error>;

/// The call tells of the purge, by another thread, so nobody else is told.
#[test]
fn the_end_of_a_call_that_waits_for_room_is_told_once() {
    let told = Arc::new(AtomicU32::new(0));
    let tell = || -> Notify {
        let told = Arc::clone(&told);
        Notify::Dyn(Box::new(move |_: PeerId, _| _ = told.fetch_add(1, Ordering::Relaxed)))
    };
    let (data, mut previous) = ([7_u8; 8], 0_u64);
    let message = |context: &Context| {
        let source = Source::Contiguous(data.as_ptr(), 8);
        let (handler, user_header, target_counter) = (1, &[][..], 0);
        let (origin, completion) = (tell(), tell());
        let send = AmSend { target: 0, handler, user_header, source, target_counter, origin, completion };
        // SAFETY: the data outlives the context.
        unsafe { context.am_send(send) }
    };
    let previous = &raw mut previous;
    let atomic = |context: &Context| {
        let args = RmwArgs {
            target: 0,
            op: RmwOp::FetchAndAdd,
            width: 8,
            remote: 64,
            operand: 1,
            compare: 0,
            previous: previous.cast(),
            swap_answers_success: false,
            origin: tell(),
            checked: true,
        };
        // SAFETY: the variable outlives the context, and the target is never asked.
        unsafe { context.rmw_by_message(args) }
    };
    let calls: [Call<'_>; 2] = [&message, &atomic];
    for (number, call) in calls.into_iter().enumerate() {
        let context = alone();
        REFUSALS.set(u32::MAX);
        let outcome = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut patience = Patience::with_myself(Duration::from_secs(60));
                while context.locked().operations.peers().is_empty() {
                    assert!(!patience.is_over(), "the call has not begun");
                    std::thread::yield_now();
                }
                context.purge(0).unwrap();
            });
            let outcome = call(&context);
            other.join().expect("it purges the task");
            outcome
        });
        REFUSALS.set(0);
        assert!(matches!(outcome, Err(Error::Purged { task: 0 })), "call {number}: {outcome:?}");
        assert_eq!(told.load(Ordering::Relaxed), 0, "call {number} has told of it");
    }
}

#[test]
fn packets_that_were_deferred_stay_in_their_order() {
    let context = alone();
    let mut locked = context.locked();
    REFUSALS.set(2);
    for kind in [Kind::Refused, Kind::FenceReply, Kind::Region] {
        locked.reply_packet(0, &Header::new(kind, 0, 0), &[]);
    }
    let sent = || SENT.take();
    assert_eq!(sent(), [], "the first has found no room");
    locked.send_deferred();
    assert_eq!(sent(), [], "nor has it now");
    locked.send_deferred();
    assert_eq!(sent(), [Kind::Refused as u8, Kind::FenceReply as u8, Kind::Region as u8]);
    drop(locked);
    context.terminate().unwrap();
}
