//! A direct copy that the transport has under way while the peer is purged.

use super::super::played::{Coming, Play, Played};
use super::super::two_tasks::{self, PEER};
use crate::context::{Delivery, HandlerId, Notify};
use crate::error::Error;
use crate::message::{Destination, GetArgs};
use crate::transport::{Caps, Status};
use crate::wire::{Header, Kind};
use std::cell::Cell;
use std::ptr::NonNull;

const PURGES: HandlerId = HandlerId(1);
/// The poll that brings a message of the peer's, and that which brings the end of the copy.
const MESSAGE: u32 = 2;
const END: u32 = 5;

thread_local! {
    /// The copy that is under way, and the polls since it began.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static COPY: Cell<Option<(u64, u32)>> = const { Cell::new(None) };
}

/// Copies take a while.
struct Slow;

impl Play for Slow {
    const CAPS: Caps = Caps::GET_ZCOPY.union(Caps::ANY_ADDRESS);

    fn copies(token: u64) {
        COPY.set(Some((token, 0)));
    }

    fn coming() -> Option<Coming> {
        let (token, polls) = COPY.get()?;
        COPY.set((polls < END).then_some((token, polls + 1)));
        match polls {
            MESSAGE => Some(Coming::Packet(Header::new(Kind::Am, 0, PURGES.0.into()))),
            END => Some(Coming::End(token, Status::PeerDown)),
            _ => None,
        }
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    use super::Played;

    crate::export_transport!(Played<super::Slow>, "slow", "0");
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
