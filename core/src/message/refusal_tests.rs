//! What a target can't put into its origin's memory in any way.

use crate::Context;
use crate::completion::Notify;
use crate::error::{Access, Error, Reason, Refusal};
use crate::message::{Operation, Waiting};
use crate::stats::Path;
use crate::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, RawSlice, RemoteAddr,
    Status, Transport, TransportError, Usage,
};
use crate::wire::{Encoded, Header, Kind};
use lapis_patience::Patience;
use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::Duration;

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
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::PUT_ZCOPY).union(Caps::RELIABLE).union(Caps::SELF_ONLY);
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
        self.queue.push_back([head, body].concat());
        Status::Done
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

#[test]
fn a_get_whose_data_its_target_cant_put_in_any_way_ends_with_an_error() {
    let context = Context::builder()
        .environment(crate::config::Environment::default())
        .bootstrap(crate::bootstrap::singleton(0).unwrap())
        .transport(linked::table())
        .interrupts(false)
        .init()
        .unwrap();
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
    let mut packet = Encoded::new();
    let len = header.encode(&mut packet);
    locked.dispatching += 1;
    locked.packet_arrived(Path::Local, 0, packet.bytes(len));
    locked.dispatching -= 1;
    drop(locked);
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
