//! The open transports, and what belongs to each of them.

use super::inbound::Inbound;
use crate::datagrams::Datagrams;
use crate::stats::Path;
use crate::transport::{Caps, Event, Link, Status};
use std::time::Duration;

/// Events taken from a link at once.
const BATCH: usize = 16;

/// The open transports.
pub(crate) struct Links {
    /// In order of preference.
    pub(crate) open: Vec<Link>,
    /// The packet engine of each link that needs one.
    pub(crate) datagrams: Vec<Option<Box<Datagrams>>>,
    /// Whether any does, and whether polling for datagrams asks the system.
    pub(crate) with_engines: bool,
    asks_system: bool,
    /// What each link counts for in the statistics.
    pub(crate) paths: Vec<Path>,
    /// What a link's last poll found.
    pub(crate) polled: [Event; BATCH],
    /// Packets to ourselves that have not come back yet: the self transport is polled only for
    /// them.
    pub(crate) self_pending: u32,
    /// Arrivals interrupt, as far as the links know.
    pub(crate) interrupts: bool,
    /// Somebody sleeps, and the links may not be armed for him any more.
    pub(crate) unarmed: bool,
    /// Calls that have polled in interrupt mode, one after the other, and since when.
    pub(crate) polls: u32,
    pub(crate) polls_since: Duration,
    /// The lanes that this task reads.
    pub(crate) inbound: Inbound,
}

impl Links {
    pub(super) fn new(open: Vec<Link>, datagrams: Vec<Option<Box<Datagrams>>>) -> Self {
        let asks = |(link, engine): (&Link, &Option<_>)| {
            engine.is_some() && !link.caps().contains(Caps::QUIET_POLLS)
        };
        Self {
            with_engines: datagrams.iter().any(Option::is_some),
            asks_system: open.iter().zip(&datagrams).any(asks),
            datagrams,
            paths: open.iter().map(path_of).collect(),
            open,
            polled: [Event::EMPTY; BATCH],
            self_pending: 0,
            interrupts: false,
            unarmed: false,
            polls: 0,
            polls_since: Duration::ZERO,
            inbound: Inbound::default(),
        }
    }

    /// The links are closed. No thread sleeps or polls any more.
    pub(crate) fn close(&mut self) {
        self.with_engines = false;
        self.datagrams.clear();
        self.open.clear();
    }

    /// Whether any link has an engine.
    #[inline(always)]
    pub(crate) fn has_engines(&self) -> bool {
        self.with_engines
    }

    /// Whether a look for datagrams is a call of the system.
    #[inline(always)]
    pub(crate) fn ask_system(&self) -> bool {
        self.asks_system
    }

    /// The link at `index` and its engine, if it has one.
    #[inline(always)]
    pub(crate) fn engine_at(&mut self, index: usize) -> Option<(&mut Link, &mut Datagrams)> {
        let datagrams = self.datagrams.get_mut(index)?.as_deref_mut()?;
        Some((&mut self.open[index], datagrams))
    }

    /// All links with engines.
    pub(crate) fn engines(&mut self) -> impl Iterator<Item = (&mut Link, &mut Datagrams)> {
        let both = self.open.iter_mut().zip(&mut self.datagrams);
        both.filter_map(|(link, datagrams)| Some((link, datagrams.as_deref_mut()?)))
    }

    /// Sends what waits for other packets. Called before the lock is let go for long.
    pub(crate) fn flush_datagrams(&mut self) {
        for (link, datagrams) in self.engines() {
            if datagrams.has_to_send() {
                let now = datagrams.now();
                datagrams.flush(link, now);
            }
        }
    }

    /// Cuts a sleep so that it ends when an engine's timer is due; `None` if one is due now or
    /// something can't be sent at present.
    pub(crate) fn until_timers(&mut self, limit: Duration) -> Option<Duration> {
        let mut limit = limit;
        for (_, datagrams) in self.engines() {
            if datagrams.has_to_send() {
                return None;
            }
            if let Some(due) = datagrams.until_timer() {
                limit = limit.min(due);
            }
        }
        (!limit.is_zero()).then_some(limit)
    }

    /// Prepares every link to wake whoever sleeps. False when something is there already.
    pub(super) fn arm(&mut self) -> bool {
        if self.self_pending > 0 {
            return false;
        }
        let mut quiet = true;
        for link in &mut self.open {
            if link.caps().contains(Caps::WAIT) && link.arm() == Status::Again {
                quiet = false;
            }
        }
        quiet && (!self.has_engines() || self.until_timers(Duration::MAX).is_some())
    }

    /// No thread sleeps, so none need be woken.
    pub(crate) fn disarm(&mut self) {
        for link in &mut self.open {
            if link.caps().contains(Caps::WAIT) {
                link.disarm();
            }
        }
    }
}

/// The statistics path that a link counts for.
fn path_of(link: &Link) -> Path {
    let caps = link.caps();
    if caps.contains(Caps::SELF_ONLY) {
        Path::Local
    } else if caps.contains(Caps::LOCAL_ONLY) {
        Path::SharedMemory
    } else {
        Path::Network
    }
}
