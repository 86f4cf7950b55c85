//! In which order packets leave that have found no room.

use crate::Context;
use crate::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, Status, Transport,
    TransportError, Usage,
};
use crate::wire::{Header, Kind};
use std::cell::{Cell, RefCell};

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

#[test]
fn packets_that_were_deferred_stay_in_their_order() {
    let context = Context::builder()
        .environment(crate::config::Environment::default())
        .bootstrap(crate::bootstrap::singleton(0).unwrap())
        .transport(own())
        .interrupts(false)
        .init()
        .unwrap();
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
