//! Short messages in a lane whose reader turns out to be gone.

use crate::Context;
use crate::HandlerId;
use crate::error::Error;
use crate::message::{InSlot, Short};
use crate::sync::AtomicU32;
use crate::transport::abi::TransportOps;
use crate::transport::lane::{SendLane, Slot};
use crate::transport::{
    Attributes, Caps, Event, Exported, Host, Limits, NoWaiter, OpenParams, PeerId, Status, Transport,
    TransportError,
};
use std::cell::Cell;

thread_local! {
    /// Whether the reader is gone.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static GONE: Cell<bool> = const { Cell::new(false) };
}

/// Slots of the lane.
const SLOTS: usize = 4;

/// A way of the task to itself by a lane that nobody reads. Its reader wants attention after each
/// message.
struct Unread {
    slots: Box<[Slot; SLOTS]>,
    attention: Box<AtomicU32>,
    lane: SendLane,
}

// SAFETY: the lane's pointers lead to what the transport owns, and may be used by any thread.
unsafe impl Send for Unread {}

impl Transport for Unread {
    const NAME: &'static str = "unread";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::SELF_ONLY).union(Caps::LANES);
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        let (slots, attention) = (Box::default(), Box::new(AtomicU32::new(1)));
        Ok((Self { slots, attention, lane: SendLane::closed() }, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_short: 1 << 16, max_packed: 1 << 16, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        self.lane.slots = self.slots.as_ptr();
        self.lane.attention = &raw const *self.attention;
        (self.lane.mask, self.lane.limit) = (SLOTS as u64 - 1, SLOTS as u64);
        Ok(())
    }

    fn send_lane(&mut self, _: PeerId) -> *mut SendLane {
        &raw mut self.lane
    }

    fn attend(&mut self, _: PeerId, _: u32) -> Status {
        if !GONE.get() {
            return Status::Done;
        }
        self.lane.limit = self.lane.position;
        Status::PeerDown
    }

    fn am_short(&mut self, _: PeerId, _: &[u8], _: &[u8]) -> Status {
        if GONE.get() { Status::PeerDown } else { Status::Done }
    }

    fn poll(&mut self, _: &mut [Event]) -> usize {
        0
    }
}

static UNREAD: TransportOps = Exported::<Unread>::table(c"unread", c"0", std::ptr::null());

fn alone() -> Context {
    GONE.set(false);
    Context::builder()
        .environment(crate::config::Environment::default())
        .bootstrap(crate::bootstrap::singleton(0).unwrap())
        .transport(&UNREAD)
        .set("LAPIS_TRANSPORT", "unread")
        .interrupts(false)
        .on_error(|_, _, _| true)
        .init()
        .unwrap()
}

/// Messages that were numbered, and those that LAPI_Msgpoll would tell of.
fn counts(context: &Context) -> (u64, u64) {
    let locked = context.locked();
    (locked.peers[0].numbered, locked.sending.ended)
}

type Call<'a> = &'a dyn Fn(&Context) -> Result<(), Error>;

#[test]
fn a_message_whose_reader_is_gone_takes_no_number_and_no_fence_waits_for_it() {
    let message = || Short::to_table(0, HandlerId(1), &[], &[7; 8]);
    let whole = |context: &Context| context.send(0, HandlerId(1), &[], &[7; 8]);
    let in_slot = |context: &Context| match context.send_in_slot(&message()) {
        InSlot::Sent => Ok(()),
        InSlot::Wanted(wanted) => context.attend(0, wanted),
        InSlot::Unfit => whole(context),
    };
    let calls: [Call<'_>; 2] = [&whole, &in_slot];
    for (way, send) in calls.into_iter().enumerate() {
        let context = alone();
        send(&context).unwrap();
        assert_eq!(counts(&context), (1, 1), "way {way}: the first one is in the lane");
        GONE.set(true);
        let outcome = send(&context);
        assert!(outcome.is_err(), "way {way}");
        assert_eq!(counts(&context), (1, 1), "way {way}: {outcome:?}");
        // It had done the first one when it took leave.
        context.locked().peer_ended(0, 1);
        context.fence().unwrap();
    }
}
