//! The choice between direct copies and packets for puts and gets of ordinary memory, where both
//! are fast: the one that has taken less time with this peer and with about this many bytes.
//!
//! Packets through shared memory keep both tasks' cores busy at the same time, so they are faster
//! than one copy by the kernel, unless the other task computes instead of polling. Which cores the
//! tasks run on, and what the peer does, can't be queried. So now and then some transfers take one
//! way and some the other. Their times, from the call until the bytes have arrived, decide about
//! those that follow.

use crate::buffers::Direction;
use crate::completion::{Completion, Notify};
use crate::error::Error;
use crate::sync::{AtomicU32, Ordering};
use crate::transport::PeerId;
use std::sync::Arc;
use std::time::Instant;

/// Transfers of one class from one trial to the next.
const PERIOD: u16 = 1024;

/// The first of them are copied by the transport, the next ones go in packets: many, for it takes a
/// while until the ring that they go through is in the caches, or in memory at all.
const TRIED: u16 = 8;
const TRIED_PACKETS: u16 = 32;

/// Classes of lengths: powers of two, the first of all below 32 KiB, the last of all from 4 MiB on.
const CLASSES: usize = 9;
const FIRST: u32 = 14;

/// How the bytes of a transfer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copier {
    /// The transport copies them from one memory to the other.
    Transport,
    /// Packets carry them.
    Packets,
}

/// The choices for one peer.
#[derive(Debug, Default)]
pub(crate) struct CopyChoice([[Class; CLASSES]; 2]);

#[derive(Debug, Default)]
struct Class {
    /// Transfers since the present trial began.
    since: u16,
    times: Arc<Times>,
}

/// The shortest times of the present trial, in nanoseconds, 0 for none yet.
#[derive(Debug, Default)]
struct Times {
    transport: AtomicU32,
    packets: AtomicU32,
}

/// A transfer whose time counts.
#[derive(Debug)]
pub(crate) struct Timed {
    copier: Copier,
    times: Arc<Times>,
    start: Instant,
}

impl CopyChoice {
    /// How `len` bytes go, and what wants to know when they are there. A trial begins only if the
    /// way is `idle`: behind other messages any takes long.
    pub(crate) fn next(&mut self, direction: Direction, len: u64, idle: bool) -> (Copier, Option<Timed>) {
        let class = len.max(1).ilog2().saturating_sub(FIRST) as usize;
        self.0[direction as usize][class.min(CLASSES - 1)].next(idle)
    }
}

impl Class {
    fn next(&mut self, idle: bool) -> (Copier, Option<Timed>) {
        if self.since >= PERIOD && idle {
            *self = Self::default();
        }
        let number = self.since;
        self.since = number.saturating_add(1);
        if number >= TRIED + TRIED_PACKETS {
            return (self.times.faster(), None);
        }
        let copier = if number < TRIED { Copier::Transport } else { Copier::Packets };
        (copier, Some(Timed { copier, times: Arc::clone(&self.times), start: Instant::now() }))
    }
}

impl Times {
    /// The transport where nothing is known of packets: they may still be on their way, for the
    /// peer does not look for them.
    fn faster(&self) -> Copier {
        let [transport, packets] = [&self.transport, &self.packets].map(|time| time.load(Ordering::Relaxed));
        if packets > 0 && packets < transport { Copier::Packets } else { Copier::Transport }
    }
}

impl Timed {
    /// All bytes are where they belong.
    pub(crate) fn done(self) {
        let took = u32::try_from(self.start.elapsed().as_nanos()).unwrap_or(u32::MAX).max(1);
        let time = match self.copier {
            Copier::Transport => &self.times.transport,
            Copier::Packets => &self.times.packets,
        };
        let before = time.load(Ordering::Relaxed);
        if before == 0 || took < before {
            time.store(took, Ordering::Relaxed);
        }
    }

    /// Joins a notification of the transfer's end. One that is more than a counter stays as it is,
    /// and the transfer does not count.
    pub(crate) fn with<C>(self, other: Notify<C>) -> Notify<C> {
        match other {
            Notify::None => Notify::Dyn(Box::new(self)),
            Notify::Counter(counter) => Notify::Both(counter, Box::new(Notify::Dyn(Box::new(self)))),
            other => other,
        }
    }
}

impl Completion for Timed {
    fn complete(self: Box<Self>, _: PeerId, outcome: Result<(), Error>) {
        if outcome.is_ok() {
            self.done();
        }
    }

    fn hears_why(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Runs a period; the peer takes `packets` microseconds for packets, and the transport 20.
    fn period(choice: &mut CopyChoice, packets: Option<u64>) -> Vec<Copier> {
        let mut next = || {
            let (copier, timed) = choice.next(Direction::Out, 100_000, true);
            let took = match copier {
                Copier::Transport => Some(20),
                Copier::Packets => packets,
            };
            if let (Some(mut timed), Some(took)) = (timed, took) {
                timed.start -= Duration::from_micros(took);
                timed.done();
            }
            copier
        };
        (0..PERIOD).map(|_| next()).collect()
    }

    #[test]
    fn what_took_less_time_in_the_trial_is_taken_until_the_next_one() {
        use Copier::{Packets, Transport};
        let mut choice = CopyChoice::default();
        for (packets, chosen) in [(Some(10), Packets), (Some(40), Transport), (None, Transport)] {
            let ways = period(&mut choice, packets);
            let (first, rest) = ways.split_at(TRIED.into());
            let (second, rest) = rest.split_at(TRIED_PACKETS.into());
            assert!(first.iter().all(|way| *way == Transport) && second.iter().all(|way| *way == Packets));
            assert!(rest.iter().all(|way| *way == chosen), "{packets:?}");
        }
    }

    #[test]
    fn a_trial_is_nobody_who_hears_why_a_transfer_failed() {
        let timed = || CopyChoice::default().next(Direction::Out, 100_000, true).1.expect("a trial");
        assert!(!timed().with(Notify::<()>::None).hears_why());
        let counter = crate::counter::Counter::default();
        assert!(!timed().with(Notify::<()>::counter(&counter)).hears_why());
        let told = Notify::<()>::Dyn(Box::new(|_: PeerId, _: Result<(), Error>| {}));
        assert!(timed().with(told).hears_why());
    }

    #[test]
    fn lengths_and_directions_are_judged_apart_and_trials_wait_until_the_way_is_idle() {
        let mut choice = CopyChoice::default();
        period(&mut choice, Some(1));
        let (copier, timed) = choice.next(Direction::Out, 100_000, false);
        assert_eq!(copier, Copier::Packets);
        assert!(timed.is_none(), "the way is not idle");
        for (direction, len) in
            [(Direction::In, 100_000), (Direction::Out, 16 << 10), (Direction::Out, u64::MAX)]
        {
            assert!(choice.next(direction, len, false).1.is_some(), "{direction:?} {len}");
        }
    }
}
