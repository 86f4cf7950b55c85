//! What a port does whenever its program calls: it reads its window, runs what is due, and looks
//! after peers that have gone.

use crate::abi::Status;
use crate::lane::{FromLane, PART};
use crate::net::Unit;
use crate::port::{Counters, Ending, Port};
use crate::stream::{InStream, Link, OutStream};
use lapis_core::reliable::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Datagrams, or units of lanes, that are read at once.
const AT_ONCE: usize = 64;

/// Nothing is taken from lanes while so many events wait for the program: what comes faster than
/// the program takes it would find no buffer, and be copied.
const ENOUGH_EVENTS: usize = 16;

/// A window's lanes have room for less than what is taken in so many rounds.
const MOST_ROUNDS: usize = 256;

/// Bytes of lanes that are taken at once, and some more: meanwhile their senders fill the next
/// places.
const BYTES_AT_ONCE: usize = 3 * PART;

/// Polls that found nothing from one look at the clock to the next.
const LOOKS: u32 = 8;

/// Where polls are further apart, each looks at the clock: what is due would be late otherwise.
const SELDOM_POLLED: Nanos = 50_000;

/// A program that has events waiting is busy with them. Of the calls that take one, one in so many
/// polls, so that peers don't starve meanwhile.
const SELDOM: u32 = 16;

/// Between two looks at peers and waiting messages.
const HOUSEKEEPING: Nanos = 1_000_000;

/// Between two looks at the daemon; each costs a system call.
const ASK: Nanos = 50_000_000;

/// A sleeper who is owed something looks so often whether those who owe it are still there.
const DOZE: Duration = Duration::from_millis(50);

impl Port {
    /// Polls if no event waits, and now and then.
    #[inline]
    pub(crate) fn look(&mut self) {
        self.pace.unpolled += 1;
        if self.events.is_empty() || self.pace.unpolled >= SELDOM {
            self.poll();
        } else {
            self.send_bundle();
        }
    }

    /// Reads what has arrived, and does what is due.
    #[inline(always)]
    pub(crate) fn poll(&mut self) {
        self.pace.unpolled = 0;
        self.send_bundle();
        // A program that waits calls again and again: how soon it finds what has come depends on
        // how little the calls take that find nothing.
        if self.pace.untimed + 1 < LOOKS && !self.urgent && self.stirred.is_empty() && self.net.is_quiet() {
            self.pace.untimed += 1;
            self.polls = self.polls.wrapping_add(1);
            return;
        }
        self.work();
    }

    #[inline(never)]
    fn work(&mut self) {
        if self.ending == Ending::Due {
            self.end();
        }
        let busy = !self.events.is_empty();
        if self.net.engine.is_behind() {
            self.net.engine.catch_up();
        }
        // Lanes first: the first messages of many take them, and the others datagrams.
        let mut found = self.take_from_lanes(ENOUGH_EVENTS);
        found += self.take_datagrams();
        while let Some(unit) = self.net.own_unit() {
            found += 1;
            let own = self.peer(self.node, self.number);
            self.unit(own, &unit);
            self.stir(own);
        }
        self.polls = self.polls.wrapping_add(1);
        // What has come may be about to be answered: that goes first.
        self.pace.untimed += 1;
        if self.pace.untimed >= if found == 0 { LOOKS } else { 2 * LOOKS } {
            self.look_at_clock();
        }
        // The program goes first, unless somebody waits.
        if (busy || self.urgent || self.events.is_empty()) && !self.stirred.is_empty() {
            self.tend(found == 0 && self.events.is_empty());
        }
        self.net.flush();
    }

    /// Does what is due by now.
    fn look_at_clock(&mut self) {
        let now = self.net.now();
        // More than so many are no count: a poll before has asked for this look.
        let polls = if self.pace.untimed > 2 * LOOKS { 1 } else { self.pace.untimed };
        let is_seldom = now - self.pace.timed > Nanos::from(polls) * SELDOM_POLLED;
        self.pace.timed = now;
        self.pace.untimed = 0;
        if is_seldom {
            // The next call polls, events or not, and looks, too.
            (self.pace.untimed, self.pace.unpolled) = (2 * LOOKS, SELDOM);
        }
        self.net.run_timers(now);
        self.ring_alarms(now);
        if now - self.looked >= HOUSEKEEPING {
            self.looked = now;
            self.keep_house(now);
        }
    }

    /// Takes the datagrams that have come.
    #[inline]
    fn take_datagrams(&mut self) -> usize {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut found = 0;
        while found < AT_ONCE
            && let Some(len) = self.net.receive(&mut scratch)
        {
            found += 1;
            self.datagram_arrived(&scratch[..len]);
        }
        self.scratch = scratch;
        found
    }

    /// Takes all that has come by lanes, whatever waits for the program.
    pub(crate) fn empty_lanes(&mut self) {
        let mut rounds = 0;
        while rounds < MOST_ROUNDS && self.take_from_lanes(usize::MAX) > 0 {
            rounds += 1;
        }
    }

    /// Takes the units that have come by lanes until `enough` events wait.
    #[inline]
    fn take_from_lanes(&mut self, enough: usize) -> usize {
        self.net.begin_with_lanes();
        let (mut found, mut bytes) = (0, 0);
        while found < AT_ONCE
            && self.events.len() < enough
            && bytes < BYTES_AT_ONCE
            && let Some(arrival) = self.net.next_in_lane()
        {
            found += 1;
            match arrival {
                FromLane::Unit(task, unit) => {
                    // SAFETY: it stays in place until the next beginning.
                    let unit = unsafe { &*unit };
                    bytes += unit.len();
                    let peer = self.peer_of(task);
                    if self.unit(peer, unit) { self.stir_plainly(peer) } else { self.stir(peer) }
                }
                FromLane::Stale(task) => self.stale_arrived(task),
            }
        }
        found
    }

    /// Something of a former life has come by a lane. If this port has given its sender up, and
    /// that has not heard of it, it hears it now.
    #[cold]
    fn stale_arrived(&mut self, task: u32) {
        if let Some(peer) = self.net.outlets.place(task)
            && self.peers[peer].link == Link::Down
        {
            self.seek(peer, false);
        }
    }

    fn datagram_arrived(&mut self, datagram: &[u8]) {
        let now = self.net.now();
        let mut arrived = self.net.arrived(now, datagram, &mut self.units);
        if let Some(task) = arrived.stranger {
            // Somebody whom this port has not sent to. Its window is needed to answer.
            let peer = self.peer_of(task);
            self.seek(peer, false);
            if self.peers[peer].link == Link::Up {
                arrived = self.net.arrived(now, datagram, &mut self.units);
            }
        }
        while let Some((task, lost)) = self.net.restarted() {
            self.peer_restarted(task, lost);
        }
        let Some((task, first)) = arrived.first else { return };
        // All units of a datagram are its sender's.
        let peer = self.peer_of(task);
        let mut plain = self.take_unit(peer, datagram, first);
        if !self.units.is_empty() {
            let mut units = std::mem::take(&mut self.units);
            for (_, unit) in units.drain(..) {
                plain &= self.take_unit(peer, datagram, unit);
            }
            self.units = units;
        }
        if plain { self.stir_plainly(peer) } else { self.stir(peer) }
    }

    /// Takes a unit of a datagram. True: it was a short message that was delivered.
    #[inline]
    fn take_unit(&mut self, peer: usize, datagram: &[u8], unit: Unit) -> bool {
        match unit {
            Unit::Within(range) => self.unit(peer, &datagram[range]),
            Unit::Apart(bytes) => self.unit(peer, &bytes),
        }
    }

    /// Hands to the engine what peers are to be told and sent. `quiet`: there is nothing else to
    /// do.
    #[inline]
    pub(crate) fn tend(&mut self, quiet: bool) {
        self.urgent = false;
        let mut at = 0;
        while let Some(&peer) = self.stirred.get(at) {
            if self.peers[peer].link == Link::Up {
                self.take_heard(peer);
                if self.peers[peer].ins.iter().any(InStream::owes) {
                    self.pay(peer, quiet);
                }
                if self.peers[peer].out.iter().any(OutStream::has_work) {
                    self.pump(peer);
                }
            }
            // Who has no way is looked after when there is one.
            if self.peers[peer].link == Link::Up && self.peers[peer].has_work() {
                self.urgent |= self.peers[peer].is_urgent();
                at += 1;
            } else {
                self.peers[peer].stirred = false;
                self.stirred.swap_remove(at);
            }
        }
    }

    /// Looks after peers whose ports have been closed or opened, and messages that wait too long.
    fn keep_house(&mut self, now: Nanos) {
        if now - self.asked >= ASK {
            self.asked = now;
            self.look_at_daemon();
        }
        self.look_at_hops(now);
        for peer in 0..self.peers.len() {
            match self.peers[peer].link {
                Link::Up if self.net.outlets.is_closed(self.peers[peer].task()) => {
                    if std::mem::replace(&mut self.peers[peer].closing, true) {
                        self.peer_closed(peer);
                    }
                }
                Link::Up => {
                    self.look_at_adapters(peer, now);
                    self.look_at_other_host(peer, now);
                }
                Link::Seeking { again, .. } if again <= now => self.seek(peer, true),
                Link::Seeking { .. } | Link::Down => {}
            }
        }
        self.note_counts();
        let timeout = self.settings.timeout.as_nanos() as Nanos;
        let is_late = |stream: &InStream| stream.waiting.is_some_and(|since| now - since >= timeout);
        let late: Vec<(usize, usize)> = self
            .waiting
            .iter()
            .copied()
            .filter(|&(peer, priority)| is_late(&self.peers[peer].ins[priority]))
            .collect();
        for (peer, priority) in late {
            let (node, port) = (self.peers[peer].node, self.peers[peer].port);
            tracing::info!(
                target: "lapis::gm",
                "port {}: a message from port {port} of node {node} has waited {:?} for a buffer and is given up",
                self.number,
                self.settings.timeout
            );
            self.waiting.retain(|at| *at != (peer, priority));
            self.peers[peer].ins[priority].fail(priority, Status::SendTimedOut);
            self.stir(peer);
            self.lacks_buffers();
        }
    }

    /// Until when a sleep may last if nothing arrives.
    fn longest_sleep(&mut self) -> Option<Duration> {
        let now = self.net.now();
        let timer = self.net.engine.next_timeout().map(|at| Duration::from_nanos(at.saturating_sub(now)));
        let owed = self.peers.iter().any(|peer| peer.is_owed() || matches!(peer.link, Link::Seeking { .. }));
        let doze = (owed || self.is_alone || !self.waiting.is_empty()).then_some(DOZE);
        let alarm = self.next_alarm().map(|at| Duration::from_nanos(at.saturating_sub(now)));
        [timer, doze, alarm].into_iter().flatten().min()
    }

    /// Writes what gm_debug shows into the window.
    fn note_counts(&mut self) {
        let Counters { sent, received, failed, waited } = self.counters;
        let peers = self.peers.iter().filter_map(|peer| self.net.engine.stats(peer.task()));
        let resent = peers.map(|stats| stats.units_resent).sum();
        let [tokens, buffers] = [self.tokens_out, self.buffers.provided].map(u64::from);
        let events = self.events.len() as u64;
        self.net.window.fifo().note([sent, received, failed, waited, resent, tokens, buffers, events]);
    }

    /// What a sleep needs: whether there may be one, and how long it may be.
    pub(crate) fn before_sleep(&mut self) -> Option<Option<Duration>> {
        if self.ending == Ending::Due {
            return None;
        }
        self.send_bundle();
        if self.net.engine.is_behind() {
            self.net.engine.catch_up();
        }
        self.tend(true);
        self.net.flush();
        // Nobody wakes this port to go on with a copy of its own.
        let copies = |peer: &usize| self.peers[*peer].ins.iter().any(InStream::copies);
        if self.stirred.iter().any(copies) {
            return None;
        }
        if self.net.holds_back()
            || self.net.has_frames()
            || !self.net.window.arm()
            || self.net.outlets.lanes_have_room()
        {
            return None;
        }
        self.note_counts();
        Some(self.longest_sleep())
    }

    /// A thread is about to sleep that lets others call the port meanwhile.
    pub(crate) fn note_sleep(&mut self, longest: Option<Duration>) {
        self.sleeps_until = self.after(longest);
    }

    fn after(&mut self, longest: Option<Duration>) -> Nanos {
        let nanos = longest.map_or(Nanos::MAX, |time| Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX));
        self.net.now().saturating_add(nanos)
    }

    /// Another thread sleeps, and this one has called the port: does what the sleeper would do, and
    /// wakes it if there is something for it, or something is due before its sleep ends.
    #[cold]
    pub(crate) fn rouse(&mut self) {
        let sleeps_on = match self.before_sleep() {
            Some(longest) => self.events.is_empty() && self.after(longest) >= self.sleeps_until,
            None => false,
        };
        if !sleeps_on {
            self.sleeps_until = 0;
            self.net.window.bell().ring();
        }
    }

    /// Takes the announcement of sleep back.
    pub(crate) fn after_sleep(&mut self) {
        self.sleeps_until = 0;
        self.net.window.fifo().disarm();
        self.net.window.bell().quiet();
        // The clock is to be looked at, and the daemon, whose end ends a sleep.
        self.pace.untimed = 2 * LOOKS;
        (self.looked, self.asked) = (0, 0);
    }
}

/// Sleeps until one of two bells is rung, a frame arrives, the daemon says something or goes, or
/// the time is over.
pub(crate) fn sleep(
    (window, wake): (impl AsFd, impl AsFd),
    (wires, daemon): (&[BorrowedFd<'_>], Option<impl AsFd>),
    longest: Option<Duration>,
) {
    let mut fds = vec![PollFd::new(&window, PollFlags::IN), PollFd::new(&wake, PollFlags::IN)];
    fds.extend(wires.iter().map(|wire| PollFd::new(wire, PollFlags::IN)));
    fds.extend(daemon.as_ref().map(|daemon| PollFd::new(daemon, PollFlags::IN)));
    let timeout = longest.map(|time| Timespec {
        tv_sec: time.as_secs().min(i64::MAX as u64).cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    });
    // Whatever ended it, the caller looks again.
    let _ = poll(&mut fds, timeout.as_ref());
}
