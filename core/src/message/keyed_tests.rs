//! Memory whose key a task still uses when its life begins anew.

use super::super::two_tasks;
use super::{COME, DROPPED, GONE, KNOWN};
use crate::Context;
use crate::stats::Path;
use crate::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, RawSlice, RegionInfo,
    Status, Transport, TransportError, Usage,
};
use crate::wire::{Encoded, Header, Kind};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::time::Duration;

const PEER: PeerId = 1;

thread_local! {
    /// What the other task has been sent.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static SENT: RefCell<Vec<Header>> = const { RefCell::new(Vec::new()) };
    /// Polls since the other task was told that a region is gone.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static POLLS: Cell<u32> = const { Cell::new(0) };
    /// What `POLLS` was when a registration was released.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static RELEASED: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Of what was sent about regions, the number of the last one of which this was said.
fn said(what: u16) -> Option<u64> {
    let of = |header: &&Header| header.kind == Kind::Region && header.user_header == what;
    SENT.with_borrow(|sent| sent.iter().rfind(of).map(|header| header.extra[1]))
}

/// What the other task answers.
fn answer(what: u16, number: u64) -> Header {
    Header { user_header: what, extra: [0, number, 0], ..Header::new(Kind::Region, 0, 0) }
}

/// A way to a task that reaches memory by keys. It drops a key a while after it was asked to.
#[derive(Default)]
struct Keyed {
    packet: Option<Vec<u8>>,
}

impl Transport for Keyed {
    const NAME: &'static str = "keyed";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::ORDERED).union(Caps::REGISTER);
    const DECLARATION: Declaration = Declaration { cost_ns: 2, usage: Usage::Always, variables: &[] };
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self::default(), NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits {
            max_short: 1 << 16,
            max_packed: 1 << 16,
            max_zcopy: 1 << 30,
            max_peers: 2,
            ..Limits::default()
        };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_short(&mut self, _: PeerId, head: &[u8], _: &[u8]) -> Status {
        let (header, _) = Header::parse(head).expect("a packet");
        SENT.with_borrow_mut(|sent| sent.push(header));
        Status::Done
    }

    unsafe fn mem_register(&mut self, range: RawSlice) -> Result<RegionInfo, TransportError> {
        Ok(RegionInfo { addr: range.ptr.addr() as u64, len: range.len as u64, id: 3, key: 9 })
    }

    fn mem_release(&mut self, _: u64) {
        RELEASED.set(Some(POLLS.get()));
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        let Some(number) = said(GONE) else { return 0 };
        POLLS.set(POLLS.get() + 1);
        if POLLS.get() != 3 {
            return 0;
        }
        let mut head = Encoded::new();
        let len = answer(DROPPED, number).encode(&mut head);
        let packet = self.packet.insert(head.bytes(len).to_vec());
        events[0] = Event::message(PEER, packet.as_mut_ptr(), packet.len() as u32);
        1
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    crate::export_transport!(super::Keyed, "keyed", "0");
}

/// Handles a packet as one that has come from the other task.
fn bring(context: &Context, header: Header) {
    let mut packet = Encoded::new();
    let len = header.encode(&mut packet);
    let mut locked = context.locked();
    locked.dispatching += 1;
    locked.packet_of_present(Path::Network, PEER, packet.bytes(len));
    locked.dispatching -= 1;
}

/// What the other task had under way when it purged this one may take longer than its purge.
#[test]
fn a_key_is_taken_back_from_a_task_that_has_purged_and_resumed_its_owner_when_that_task_has_dropped_it() {
    let context = two_tasks::context_over(linked::table());
    context.set_timeout(Duration::from_secs(60));
    let mut memory = [0u8; 64];
    // SAFETY: nobody else uses the memory, which stays until the region is dropped.
    let given = unsafe { context.register(NonNull::from(&mut memory[..]).cast(), 64) }.unwrap();
    bring(&context, Header::new(Kind::Regions, 0, 0));
    let number = said(COME).expect("whoever asks is told");
    bring(&context, answer(KNOWN, number));
    // Another life of the other task, which knows this one.
    bring(&context, Header::new(Kind::Epoch, 1, 1));
    drop(given);
    assert_eq!(RELEASED.get(), Some(3), "released before the other task has dropped the key");
    context.terminate().unwrap();
}
