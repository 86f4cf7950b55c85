//! Writing the status page: what a long wait is for, and everything else at intervals.

use super::tally::Fetch;
use super::{Locked, Shared, State};
use crate::counter::Counter;
use crate::state::{Peer, PeerState};
use crate::stats::Path;
use crate::status::{Awaiting, NOBODY, OPEN, Page, RAILS, RailSlot, WAITS, monotonic_ns, put_text};
use crate::sync::Ordering::Relaxed;
use crate::sync::placed::AtomicU32;
use crate::trace::EventKind;
use crate::transport::{PeerId, RailReport};

/// A wait is published after so many rounds that found nothing.
const ROUNDS: u32 = 64;

/// A wait for room counts as a new one if none was noted for so long.
const ROOM_PAUSE_NS: u64 = 1_000_000_000;

/// What a call waits for.
#[derive(Clone, Copy)]
pub(crate) struct Awaited<'a> {
    kind: Awaiting,
    peer: PeerId,
    counter: Option<(&'a Counter, i32)>,
    by_flag: bool,
}

impl<'a> Awaited<'a> {
    pub(crate) fn of(kind: Awaiting) -> Self {
        Self { kind, peer: NOBODY, counter: None, by_flag: false }
    }

    pub(crate) fn counter(counter: &'a Counter, value: i32) -> Self {
        Self { counter: Some((counter, value)), ..Self::of(Awaiting::Counter) }
    }

    /// The task that alone can end the wait.
    pub(crate) fn from(self, peer: PeerId) -> Self {
        Self { peer, ..self }
    }

    /// That task signals it by a flag, and wakes tasks that have announced that they sleep.
    pub(crate) fn shown_by_flag(self) -> Self {
        Self { by_flag: true, ..self }
    }

    /// The task that must know when the calling one sleeps.
    pub(super) fn must_wake(&self) -> Option<PeerId> {
        self.by_flag.then_some(self.peer)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.kind.name()
    }
}

/// What has been published of one wait.
#[derive(Default)]
pub(crate) struct PublishedWait {
    rounds: u32,
    /// Its slot on the page, counted from 1; 0: none.
    slot: u8,
}

impl PublishedWait {
    /// A round of polling found nothing.
    #[inline(always)]
    pub(crate) fn note_idle_round(&mut self, locked: &mut Locked<'_>, awaited: &Awaited<'_>) {
        self.rounds += 1;
        if self.rounds == ROUNDS {
            self.publish(locked, awaited);
        }
    }

    /// Publishes what the wait is for, or updates the value of its counter.
    #[cold]
    #[inline(never)]
    pub(crate) fn publish(&mut self, locked: &mut Locked<'_>, awaited: &Awaited<'_>) {
        let page = &locked.shared().status;
        let begins = self.slot == 0;
        if begins {
            let Some(free) = (0..WAITS).find(|n| page.waits[*n].since.load(Relaxed) == 0) else { return };
            self.slot = free as u8 + 1;
            self.rounds = ROUNDS;
        }
        let slot = &page.waits[usize::from(self.slot) - 1];
        if let Some((counter, wanted)) = awaited.counter {
            slot.value.store(counter.value().cast_unsigned(), Relaxed);
            slot.wanted.store(wanted.cast_unsigned(), Relaxed);
        }
        if begins {
            let address = awaited.counter.map_or(0, |(counter, _)| std::ptr::from_ref(counter).addr());
            slot.counter.store(address as u64, Relaxed);
            slot.kind.store(awaited.kind as u32, Relaxed);
            slot.peer.store(awaited.peer, Relaxed);
            slot.thread.store(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(), Relaxed);
            let now = monotonic_ns();
            // SYNC: Release: a reader that sees the time sees the fields stored before it.
            slot.since.store(now, crate::sync::Ordering::Release);
            add(&page.waits_begun, 1);
            if let Some(trace) = &locked.shared().trace {
                trace.note(EventKind::WaitBegins, awaited.kind as u8, awaited.peer, [now, 0]);
            }
        }
    }

    /// The wait is over.
    #[inline(always)]
    pub(crate) fn end(self, locked: &Locked<'_>) {
        self.end_in(locked.shared());
    }

    /// The same; the lock is held.
    #[inline(always)]
    pub(super) fn end_in(self, shared: &Shared) {
        if self.slot > 0 {
            self.forget(shared);
        }
    }

    #[cold]
    #[inline(never)]
    fn forget(&self, shared: &Shared) {
        let page = &shared.status;
        let slot = &page.waits[usize::from(self.slot) - 1];
        let lasted = monotonic_ns().saturating_sub(slot.since.swap(0, Relaxed));
        add(&page.waited_ns, lasted);
        if let Some(trace) = &shared.trace {
            let (kind, peer) = (slot.kind.load(Relaxed), slot.peer.load(Relaxed));
            trace.note(EventKind::WaitEnds, kind as u8, peer, [0; 2]);
        }
    }
}

/// Adds by a plain load and store, which suffice under the lock.
fn add(word: &crate::sync::placed::AtomicU64, n: u64) {
    word.store(word.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Page {
    /// Counts a failed compare-and-swap. Concurrent threads may lose counts.
    #[cold]
    #[inline(never)]
    pub(crate) fn swap_failed(&self, peer: PeerId, address: u64) {
        self.swap_peer.store(peer, Relaxed);
        self.swap_address.store(address, Relaxed);
        add(&self.swaps_failed, 1);
    }

    /// Notes that there has been no room for a packet to a task for some rounds.
    pub(crate) fn no_room(&self, peer: PeerId) {
        let now = monotonic_ns();
        let goes_on = now.saturating_sub(self.room_at.load(Relaxed)) < ROOM_PAUSE_NS;
        if !goes_on || self.room_peer.load(Relaxed) != peer {
            self.room_since.store(now, Relaxed);
        }
        self.room_peer.store(peer, Relaxed);
        self.room_at.store(now, Relaxed);
        self.told.store(now, Relaxed);
    }

    fn list(count: &crate::sync::placed::AtomicU64, list: &[AtomicU32], tasks: impl Iterator<Item = PeerId>) {
        let mut found = 0;
        for task in tasks {
            if let Some(slot) = list.get(found as usize) {
                slot.store(task, Relaxed);
            }
            found += 1;
        }
        count.store(found, Relaxed);
    }
}

impl Locked<'_> {
    /// Publishes everything but waits. The task is inside the library, and in no handler.
    #[cold]
    pub(crate) fn publish_status(&mut self) {
        let shared = self.shared();
        let page: &Page = &shared.status;
        let now = monotonic_ns();
        let (any, message) = self.last_heard();
        for (task, from, at) in
            [(any, &page.last_from, &page.last_at), (message, &page.message_from, &page.message_at)]
        {
            if let Some(task) = task {
                from.store(task, Relaxed);
                at.store(now, Relaxed);
            }
        }
        page.interrupts.store(u32::from(shared.interrupts()), Relaxed);
        self.publish_operations(page);
        self.publish_peers(page);
        self.publish_rails(page, shared.tasks);
        let mut direct = crate::stats::Statistics::default();
        shared.tallies.add_to(&mut direct, self, shared.task, Fetch::Next);
        for (n, path) in [Path::Network, Path::SharedMemory, Path::Local].into_iter().enumerate() {
            page.direct[2 * n].store(direct.path(path).data_sent, Relaxed);
            page.direct[2 * n + 1].store(direct.path(path).data_received, Relaxed);
        }
        page.told.store(now, Relaxed);
        self.trace_counts();
    }

    /// Writes the counts and the noted events to the trace.
    pub(super) fn trace_counts(&mut self) {
        let Some(trace) = &self.shared().trace else { return };
        let total = self.statistics.total();
        trace.note(EventKind::Sent, 0, NOBODY, [total.packets_sent, total.data_sent]);
        trace.note(EventKind::Received, 0, NOBODY, [total.packets_received, total.data_received]);
        trace.flush();
    }
}

impl State {
    /// The peer from which something has arrived since the last call, and the one from which a
    /// message has.
    fn last_heard(&mut self) -> (Option<PeerId>, Option<PeerId>) {
        let received: u64 = [Path::Network, Path::SharedMemory, Path::Local]
            .iter()
            .map(|path| self.statistics.path(*path).packets_received)
            .sum();
        if std::mem::replace(&mut self.peers.heard, received) == received {
            return (None, None);
        }
        let (mut any, mut message) = (None, None);
        for (task, peer) in (0..).zip(self.peers.iter_mut()) {
            let signs = peer.signs_of_life();
            let before = std::mem::replace(&mut peer.heard, signs);
            any = (before != signs).then_some(task).or(any);
            message = (before[0] != signs[0]).then_some(task).or(message);
        }
        (any, message)
    }

    fn publish_operations(&self, page: &Page) {
        let mut count = 0;
        for operation in self.operations.iter() {
            let Some(slot) = page.opened.get(count) else { break };
            let kind = operation.waiting.kind();
            slot.peer.store(operation.peer, Relaxed);
            slot.kind.store(kind as u32, Relaxed);
            count += 1;
        }
        debug_assert!(count <= OPEN);
        page.open.store(self.operations.len() as u64, Relaxed);
    }

    fn publish_peers(&self, page: &Page) {
        let tasks = || (0..self.peers.len()).map(|task| (task, &self.peers[task]));
        let owes = |p: &Peer| {
            p.state == PeerState::Up && (p.confirmed != p.numbered || !p.answered.reached(p.next_operation))
        };
        Page::list(&page.owing, &page.owers, tasks().filter(|(_, p)| owes(p)).map(|(task, _)| task));
        let down = tasks().filter(|(_, p)| p.state == PeerState::Down).map(|(task, _)| task);
        Page::list(&page.down, &page.downs, down);
    }

    fn publish_rails(&mut self, page: &Page, tasks: u32) {
        let (mut duplicates, mut retransmissions, mut refused) = (0, 0, 0);
        let mut next = 0;
        for (link, datagrams) in self.links.engines() {
            let (twice, again) = datagrams.repetitions(tasks);
            duplicates += twice;
            retransmissions += again;
            refused += datagrams.refused(tasks);
            for rail in datagrams.rails().into_iter().take(RAILS - next) {
                let name = link.standby().filter(|_| rail.standby).unwrap_or(link.name());
                publish_engine_rail(&page.rails[next], name, &rail);
                next += 1;
            }
        }
        let mut reports = [RailReport::default(); RAILS];
        for link in &mut self.links.open {
            let count = link.rails(&mut reports[..RAILS - next]);
            for report in &reports[..count] {
                publish_reported_rail(&page.rails[next], link.name(), report);
                next += 1;
            }
        }
        page.duplicates.store(duplicates, Relaxed);
        page.retransmissions.store(retransmissions, Relaxed);
        page.refused.store(refused, Relaxed);
    }
}

/// A rail that its transport reports.
fn publish_reported_rail(slot: &RailSlot, name: &str, report: &RailReport) {
    put_text(&slot.name, name);
    slot.number.store(report.number, Relaxed);
    slot.suspects.store(report.left, Relaxed);
    slot.suspect.store(NOBODY, Relaxed);
    slot.counted.store(1 + u64::from(report.up.min(1)), Relaxed);
    let &RailReport { messages_sent, messages_received, bytes_sent, bytes_received, .. } = report;
    let counts = [messages_sent, messages_received, bytes_sent, bytes_received];
    for (word, count) in
        slot.traffic.iter().zip(counts.into_iter().chain([report.transfers, report.renewals]))
    {
        word.store(count, Relaxed);
    }
    slot.peers.store(report.peers, Relaxed);
}

fn publish_engine_rail(slot: &RailSlot, name: &str, rail: &crate::reliable::RailStats) {
    put_text(&slot.name, name);
    slot.number.store(u32::from(rail.number), Relaxed);
    slot.suspects.store(rail.suspects, Relaxed);
    slot.suspect.store(rail.suspect.unwrap_or(NOBODY), Relaxed);
    slot.open.store(rail.open, Relaxed);
    slot.in_flight.store(rail.in_flight, Relaxed);
    slot.window.store(rail.window, Relaxed);
    slot.credit.store(rail.credit, Relaxed);
    slot.timeouts.store(rail.timeouts, Relaxed);
    slot.peers.store(rail.peers, Relaxed);
}
