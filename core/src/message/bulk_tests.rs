//! A direct copy that the transport has under way while the peer is purged.

use super::super::two_tasks;
use crate::context::{Delivery, HandlerId, Notify};
use crate::error::Error;
use crate::message::{Destination, GetArgs};
use crate::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, RawSlice, RemoteAddr,
    Status, Transport, TransportError, Usage,
};
use crate::wire::{Encoded, Header, Kind};
use std::cell::Cell;
use std::ptr::NonNull;

const PEER: PeerId = 1;
const PURGES: HandlerId = HandlerId(1);
/// The poll that brings a message of the peer's, and that which brings the end of the copy.
const MESSAGE: u32 = 2;
const END: u32 = 5;

thread_local! {
    /// The copy that is under way, and the polls since it began.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static COPY: Cell<Option<(u64, u32)>> = const { Cell::new(None) };
}

/// A transport whose copies take a while.
#[derive(Default)]
struct Slow {
    packet: Option<Vec<u8>>,
}

impl Transport for Slow {
    const NAME: &'static str = "slow";
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
            zcopy_from: 1,
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

    fn am_short(&mut self, _: PeerId, _: &[u8], _: &[u8]) -> Status {
        Status::Done
    }

    unsafe fn get_zcopy(&mut self, _: PeerId, _: RawSlice, _: RemoteAddr, token: u64) -> Status {
        COPY.set(Some((token, 0)));
        Status::InProgress
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        let Some((token, polls)) = COPY.get() else { return 0 };
        COPY.set((polls < END).then_some((token, polls + 1)));
        events[0] = match polls {
            MESSAGE => {
                let mut head = Encoded::new();
                let len = Header::new(Kind::Am, 0, PURGES.0.into()).encode(&mut head);
                let packet = self.packet.insert(head.bytes(len).to_vec());
                Event::message(PEER, packet.as_mut_ptr(), packet.len() as u32)
            }
            END => Event::complete(PEER, token, Status::PeerDown),
            _ => return 0,
        };
        1
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    crate::export_transport!(super::Slow, "slow", "0");
}

#[test]
fn a_call_whose_copy_is_under_way_when_its_peer_is_purged_returns_when_the_copy_has_ended() {
    let context = two_tasks::context_over(linked::table());
    context
        .set_handler(PURGES, |context, _| {
            context.purge(PEER).unwrap();
            Delivery::bury()
        })
        .unwrap();
    let mut memory = vec![0u8; 1 << 16];
    let get = GetArgs {
        target: PEER,
        remote: 0x1000,
        len: memory.len() as u64,
        destination: Destination::Contiguous(NonNull::from(&mut memory[..]).cast()),
        target_counter: 0,
        origin: Notify::None,
        checked: false,
    };
    // SAFETY: nothing is written.
    let outcome = unsafe { context.get(get) };
    assert!(matches!(outcome, Err(Error::Purged { task: PEER })), "{outcome:?}");
    assert_eq!(COPY.get(), None, "the transport still uses the memory");
    context.resume(PEER).expect("the other task lives");
    context.purge(PEER).unwrap();
    context.terminate().unwrap();
}
