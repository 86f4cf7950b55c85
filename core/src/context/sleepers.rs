//! Who sleeps inside a context, and on which links.

use crate::state::Peer;
use crate::sync::futex::{wait_on, wake_all};
use crate::sync::placed::AtomicU32 as Word;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use crate::transport::{Caps, Link, Sleeper};
use std::time::Duration;

/// Longest sleep of a thread while another one sleeps in the transport.
const BESIDE: Duration = Duration::from_millis(1);

/// Threads of this process that sleep inside the context.
pub(crate) struct Sleepers {
    /// How many: the one that sleeps in the transport and those that wait for it.
    pub(super) count: AtomicU32,
    /// 1 if somebody sleeps in the transport. No lock: a signal handler that comes in between may
    /// sleep here as well.
    asleep: Word,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU32::new(0), asleep: Word::new(0) }
    }

    /// Runs `sleep`, which sleeps in the transport, unless another thread does so: then this one
    /// sleeps for a moment, or until the other one has found something.
    pub(super) fn one_at_a_time(&self, limit: Duration, sleep: impl FnOnce()) {
        // SYNC: Acquire pairs with the Release below: one sleeper comes after the other.
        if self.asleep.swap(1, Ordering::Acquire) != 0 {
            return wait_on(&self.asleep, 1, limit.min(BESIDE));
        }
        sleep();
        // SYNC: pairs with the Acquire above.
        self.asleep.store(0, Ordering::Release);
        self.changed();
    }

    /// Something may have changed for those who wait for the one in the transport.
    pub(super) fn changed(&self) {
        wake_all(&self.asleep);
    }
}

/// How threads sleep on the links over which something may come. With one of them a thread sleeps
/// as that link has it, with several on their descriptors, which takes longer to begin and to end.
pub(crate) struct LinkSleepers(Box<[LinkSleeper]>);

struct LinkSleeper {
    link: usize,
    sleeper: Sleeper,
    /// Some peer is reached over the link.
    used: AtomicBool,
}

impl LinkSleepers {
    /// To a link that leads to this task alone nothing comes while all its threads sleep: it counts
    /// only if there is no other.
    pub(super) fn new(links: &[Link], peers: &[Peer]) -> Self {
        let waits = || links.iter().enumerate().filter(|(_, link)| link.caps().contains(Caps::WAIT));
        let far = |link: &Link| !link.caps().contains(Caps::SELF_ONLY);
        let leads = |index: usize| peers.iter().any(|peer| peer.route.index() == index);
        let some_far = waits().any(|(_, link)| far(link));
        let some_lead = waits().any(|(index, link)| far(link) && leads(index));
        let of = |(link, open): (usize, &Link)| LinkSleeper {
            link,
            sleeper: open.sleeper(),
            used: AtomicBool::new(leads(link) || !some_lead),
        };
        Self(waits().filter(|(_, link)| far(link) || !some_far).map(of).collect())
    }

    /// Those on which something may come.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Sleeper> + Clone {
        self.0.iter().filter(|s| s.used.load(Ordering::Relaxed)).map(|s| &s.sleeper)
    }

    /// Some peer is reached over a link from now on. Whoever sleeps finds out when the present
    /// piece of its sleep has ended.
    pub(super) fn begin_to_use(&self, link: usize) {
        for s in self.0.iter().filter(|s| s.link == link) {
            s.used.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the sleep of whoever sleeps.
    pub(crate) fn wake(&self) {
        self.used().for_each(Sleeper::wake);
    }
}
