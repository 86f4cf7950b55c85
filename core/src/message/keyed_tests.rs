//! Memory whose key a task still uses when its life begins anew.

use super::super::played::{Coming, Play, Played, last_sent};
use super::super::two_tasks::{self, bring};
use super::{COME, DROPPED, GONE, KNOWN};
use crate::transport::Caps;
use crate::wire::{Header, Kind};
use std::cell::Cell;
use std::ptr::NonNull;
use std::time::Duration;

thread_local! {
    /// Polls since the other task was told that a region is gone.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static POLLS: Cell<u32> = const { Cell::new(0) };
    /// What `POLLS` was when a registration was released.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static RELEASED: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Of what was sent about regions, the number of the last one of which this was said.
fn said(what: u16) -> Option<u64> {
    last_sent(|header| header.kind == Kind::Region && header.user_header == what)
        .map(|header| header.extra[1])
}

/// What the other task answers.
fn answer(what: u16, number: u64) -> Header {
    Header { user_header: what, extra: [0, number, 0], ..Header::new(Kind::Region, 0, 0) }
}

/// The other task reaches memory by keys. It drops a key a while after it was asked to.
struct Keyed;

impl Play for Keyed {
    const CAPS: Caps = Caps::REGISTER;

    fn releases() {
        RELEASED.set(Some(POLLS.get()));
    }

    fn coming() -> Option<Coming> {
        let number = said(GONE)?;
        POLLS.set(POLLS.get() + 1);
        (POLLS.get() == 3).then(|| Coming::Packet(answer(DROPPED, number)))
    }
}

#[expect(unreachable_pub, reason = "the macro is for plugins")]
mod linked {
    use super::Played;

    crate::export_transport!(Played<super::Keyed>, "keyed", "0");
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
