//! Memory that a purged task may still copy from directly, over a link without keys.

use super::super::two_tasks;
use crate::context::Notify;
use crate::error::Error;
use crate::message::{AmSend, Bulk, Source};
use crate::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, Status, Transport,
    TransportError, Usage,
};
use crate::wire::{Encoded, Header, Kind};
use std::cell::{Cell, RefCell};
use std::sync::mpsc;

const PEER: PeerId = 1;
const BYTES: usize = 1 << 20;

thread_local! {
    /// What the other task has been sent.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static SENT: RefCell<Vec<Header>> = const { RefCell::new(Vec::new()) };
    /// How often this task has polled since a question for which it waits.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static POLLS: Cell<u32> = const { Cell::new(0) };
}

/// A way to a task that can copy from this one's memory. It leaves memory alone when asked to.
#[derive(Default)]
struct Direct {
    answer: Option<Vec<u8>>,
}

impl Transport for Direct {
    const NAME: &'static str = "direct";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT
        .union(Caps::RELIABLE)
        .union(Caps::ORDERED)
        .union(Caps::GET_ZCOPY)
        .union(Caps::ANY_ADDRESS);
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

    fn poll(&mut self, events: &mut [Event]) -> usize {
        let asked = |header: &Header| (header.kind == Kind::Recall).then_some(header.subject);
        let Some(operation) = SENT.with_borrow(|sent| sent.iter().find_map(asked)) else { return 0 };
        POLLS.set(POLLS.get() + 1);
        if POLLS.get() != 3 {
            return 0;
        }
        let mut head = Encoded::new();
        let left_alone = Header { user_header: super::LEFT_ALONE, ..Header::new(Kind::Recall, 0, operation) };
        let len = left_alone.encode(&mut head);
        let packet = self.answer.insert(head.bytes(len).to_vec());
        events[0] = Event::message(PEER, packet.as_mut_ptr(), packet.len() as u32);
        1
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    crate::export_transport!(super::Direct, "direct", "0");
}

#[test]
fn memory_that_a_purged_task_may_copy_from_is_free_when_that_task_has_said_so() {
    let context = two_tasks::context_over(linked::table());
    let memory = vec![7_u8; BYTES];
    let (tell, told) = mpsc::channel();
    let origin: Notify = Notify::Dyn(Box::new(move |_: PeerId, outcome| {
        tell.send((POLLS.get(), outcome)).expect("the test listens");
    }));
    let message = AmSend {
        target: PEER,
        handler: 1,
        user_header: &[],
        source: Source::Contiguous(memory.as_ptr(), BYTES as u64),
        target_counter: 0,
        origin,
        completion: Notify::None,
    };
    // SAFETY: the memory outlives the context; the handler is a number.
    unsafe { context.am_send_by(message, Bulk::Use).unwrap() };
    SENT.with_borrow(|sent| {
        assert!(sent.iter().any(|header| header.kind == Kind::AmPull), "the other task is to fetch it");
    });
    context.purge(PEER).unwrap();
    let (polls, outcome): (u32, Result<(), Error>) = told.try_recv().expect("the purge waits for the answer");
    assert!(matches!(outcome, Err(Error::Purged { task: PEER })), "{outcome:?}");
    assert_eq!(polls, 3, "told before the other task has answered");
    context.terminate().unwrap();
}
