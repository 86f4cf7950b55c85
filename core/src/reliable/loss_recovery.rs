//! Loss recovery: handling acknowledgements, and their absence.
//!
//! Retransmission is driven by two timers of each path: that of loss detection
//! (`loss_detection.rs`), and the probe timeout (PTO, which other protocols call retransmission
//! timeout, RTO), which doubles each time ([`Path::pto_deadline`](super::path::Path)).

use super::config::Nanos;
use super::events::Event;
use super::path::{Doubt, PathState};
use super::peer::Peer;
use super::sent::{Fate, Span, WHOLE};
use super::shared::Shared;
use super::standby::OthersUp;
use super::wire::Ack;

/// Timeouts of a path after which silence means suspicion.
const SUSPECT_TIMEOUTS: u32 = 2;
/// Where there is another path, it is asked whether the peer answers after this part of that span.
const DOUBT_PART: Nanos = 8;
/// A path that is silent for so many times the span of suspicion is at fault even if no other path
/// answers.
const BUSY_FACTOR: Nanos = 10;
/// Greetings to a peer for which there is nothing else.
const IDLE_GREETINGS: u32 = 10;
/// Timeouts after which a path starts over with the smallest window.
const RESTART_TIMEOUTS: u32 = 4;

impl Peer {
    /// Takes an acknowledgement.
    pub(super) fn on_ack(&mut self, now: Nanos, ack: &Ack<'_>, shared: &mut Shared) {
        let Some(at) = self.path_at(ack.path) else { return };
        let path = &self.paths[at];
        let bitmap_end = ack.settled.saturating_add(64 * ack.words().len() as u64);
        if ack.settled > path.next_number || bitmap_end > path.next_number.saturating_add(63) {
            // Nothing of the kind was sent.
            return;
        }
        let (base, end) = (path.sent.base(), path.sent.end());
        let mut highest = ack.settled.checked_sub(1);
        for (index, word) in (0..).zip(ack.words()) {
            if word != 0 {
                highest = Some(ack.settled + 64 * index + 63 - u64::from(word.leading_zeros()));
            }
        }
        // The round trip is measured first, for what the rest does depends on it.
        if let Some(highest) = highest
            && let Some(sent) = path.sent.get(highest)
            && sent.fate == Fate::InFlight
        {
            let total = now.saturating_sub(sent.time);
            let path = &mut self.paths[at];
            let rtt = path.rtt.sample(total, ack.delay.into());
            path.congestion.on_rtt(now, highest, rtt);
        }
        let mut news = false;
        for number in base..ack.settled.min(end) {
            news |= self.acked(now, at, number, shared);
        }
        for (index, mut word) in (0..).zip(ack.words()) {
            while word != 0 {
                let number = ack.settled + 64 * index + u64::from(word.trailing_zeros());
                word &= word - 1;
                news |= self.acked(now, at, number, shared);
            }
        }
        if news {
            self.on_news(now, at, highest, shared);
        }
    }

    /// One number was acknowledged. Returns whether that is news.
    #[inline]
    fn acked(&mut self, now: Nanos, at: usize, number: u64, shared: &mut Shared) -> bool {
        let path = &mut self.paths[at];
        let Some(entry) = path.sent.get_mut(number) else { return false };
        let fate = std::mem::take(&mut entry.fate);
        if fate == Fate::Settled {
            return false;
        }
        let entry = *entry;
        path.loss.arrived(number, entry.time);
        if fate == Fate::Sizing {
            self.size_passes(now, at, number, shared);
            return true;
        }
        path.mtu.on_acked(entry.size as usize);
        if fate == Fate::InFlight {
            path.open -= 1;
            path.in_flight -= u64::from(entry.size);
            self.charged -= u64::from(entry.size + shared.config.datagram_overhead);
            path.congestion.on_acked(now, entry.size.into(), number, path.next_number);
        } else {
            self.stats.losses_undone += 1;
            if path.timeouts == 0 {
                path.loss.was_early();
            }
        }
        for &span in entry.spans() {
            self.units_acked(span, shared);
        }
        true
    }

    pub(super) fn units_acked(&mut self, span: Span, shared: &mut Shared) {
        let span = if span.part != WHOLE {
            let Some(whole) = self.splits.acked(span) else { return };
            whole
        } else {
            if !self.splits.is_empty() {
                self.splits.whole_acked(span);
            }
            span
        };
        let (task, events) = (self.task, &mut shared.events);
        let tell = |token| events.push_back(Event::Acked { peer: task, token });
        let news = self.queues[usize::from(span.channel)].acked(span, tell);
        shared.units -= news;
        self.stats.units_acked += news as u64;
    }

    /// Something new was acknowledged, among others the datagram with the number `highest`.
    fn on_news(&mut self, now: Nanos, at: usize, highest: Option<u64>, shared: &mut Shared) {
        let path = &mut self.paths[at];
        path.timeouts = 0;
        path.progress = now;
        path.doubt = Doubt::None;
        let returns = !path.is_up() && highest.is_some_and(|number| number >= path.reported_at);
        // One that is down and owes nothing must be asked, or nothing would find out that it is
        // back.
        path.probes = u8::from(!path.is_up() && !returns && path.open == 0);
        if returns {
            self.comes_back(at, shared);
        }
        if self.paths.iter().any(|path| path.doubt != Doubt::None) {
            self.settle_doubts(now, shared);
        }
        self.detect_losses(now, at, shared);
        self.paths[at].retire(now, &shared.config);
    }

    /// The peer answers on one path: those that stay silent are at fault.
    #[cold]
    fn settle_doubts(&mut self, now: Nanos, shared: &mut Shared) {
        for at in 0..self.paths.len() {
            let path = &mut self.paths[at];
            if path.doubt == Doubt::Asked {
                path.doubt = Doubt::Answered(now);
            }
            if path.doubted_until(&shared.config).is_some_and(|until| until <= now) {
                self.suspect(at, shared);
            }
        }
    }

    fn detect_losses(&mut self, now: Nanos, at: usize, shared: &mut Shared) {
        loop {
            let path = &mut self.paths[at];
            let Some(number) = path.loss.next_lost(now, &path.rtt, &path.sent) else { return };
            let size = path.sent.get(number).map_or(0, |sent| sent.size as usize);
            self.give_up(at, number, true, shared);
            let path = &mut self.paths[at];
            if let Some(size) = path.mtu.on_lost(number, size, path.next_number) {
                self.fall_back(at, size, shared);
            }
        }
    }

    /// The datagram counts as lost: what it carried is sent again.
    pub(super) fn give_up(&mut self, at: usize, number: u64, congestion: bool, shared: &Shared) {
        let path = &mut self.paths[at];
        let Some(entry) = path.sent.get_mut(number) else { return };
        if entry.fate != Fate::InFlight {
            return;
        }
        entry.fate = Fate::Lost;
        let entry = *entry;
        path.open -= 1;
        path.in_flight -= u64::from(entry.size);
        self.charged -= u64::from(entry.size + shared.config.datagram_overhead);
        if path.open == 0 {
            if !path.is_up() {
                // Nothing else would find out that it is back.
                path.probes = path.probes.max(1);
            }
            if !path.has_place() {
                // No answer is to come that would make room for what goes again.
                path.sent.retire(|_| true);
            }
        }
        self.stats.datagrams_lost += 1;
        if congestion {
            path.congestion.on_lost(entry.size.into(), number, path.next_number);
        }
        for &span in entry.spans() {
            self.stats.units_resent += u64::from(if span.part == WHOLE {
                self.queues[usize::from(span.channel)].lost(span, path.id, number)
            } else {
                self.splits.lost(span)
            });
        }
    }

    /// Everything on this path counts as lost.
    pub(super) fn give_up_all(&mut self, at: usize, shared: &Shared) {
        let sent = &self.paths[at].sent;
        for number in sent.base()..sent.end() {
            self.give_up(at, number, false, shared);
        }
    }

    /// Datagrams of more than `len` bytes on this path count as lost.
    pub(super) fn give_up_larger(&mut self, at: usize, len: usize, shared: &Shared) {
        for number in self.paths[at].sent.base()..self.paths[at].sent.end() {
            if self.paths[at].sent.get(number).is_some_and(|sent| sent.size as usize > len) {
                self.give_up(at, number, false, shared);
            }
        }
    }

    /// Runs the timers that are due. Returns whether there may be something to send.
    pub(super) fn on_timeout(&mut self, now: Nanos, shared: &mut Shared) -> bool {
        if self.purged {
            return false;
        }
        for at in 0..self.paths.len() {
            let path = &mut self.paths[at];
            path.arrivals.on_timeout(now);
            if path.loss.timer.is_some_and(|timer| timer <= now) {
                self.detect_losses(now, at, shared);
            }
            if self.paths[at].doubted_until(&shared.config).is_some_and(|until| until <= now) {
                self.suspect(at, shared);
            }
            if self.paths[at].mtu.due().is_some_and(|timer| timer <= now) {
                self.size_is_due(now, at, shared);
            }
            if self.paths[at].pto_deadline(&shared.config).is_some_and(|timer| timer <= now) {
                self.probe(now, at, shared);
            }
        }
        if self.greet_at.is_some_and(|at| at <= now) {
            self.greet_at = None;
            // Without anything to send, one that does not answer is left alone after a while.
            self.greet_now = self.outstanding() > 0 || self.greetings < IDLE_GREETINGS;
        }
        if self.silent_at(&shared.config) <= now {
            let silence = now - self.last_heard.min(now);
            self.owing_since = now;
            shared.events.push_back(Event::PeerTimeout { peer: self.task, silence });
        }
        true
    }

    /// Asks again, on each path that has owed an answer for longer than its round trips explain,
    /// however far the timer has grown. Returns whether there may be something to send.
    pub(super) fn check_unanswered(&mut self, now: Nanos, shared: &mut Shared) -> bool {
        if self.purged {
            return false;
        }
        let mut asked = false;
        for at in 0..self.paths.len() {
            if self.paths[at].unanswered_at(&shared.config).is_some_and(|at| at <= now) {
                self.probe(now, at, shared);
                asked = true;
            }
        }
        asked
    }

    /// A path that owes an answer is asked again: with the oldest data on it if there is some.
    fn probe(&mut self, now: Nanos, at: usize, shared: &mut Shared) {
        self.stats.timeouts += 1;
        let others = self.others_up(at);
        let path = &mut self.paths[at];
        path.timeouts = path.timeouts.saturating_add(1);
        path.probes = if path.timeouts > 1 { 2 } else { 1 };
        if path.timeouts == RESTART_TIMEOUTS {
            path.congestion.on_silence(path.next_number);
        }
        let silence = now.saturating_sub(path.progress);
        if path.is_up() && path.timeouts >= SUSPECT_TIMEOUTS {
            // A peer that is busy is silent on all paths. If another one answers, this one is at
            // fault.
            let span = shared.config.suspect_after;
            let bound = match others {
                OthersUp::None => span,
                OthersUp::Alike => span.saturating_mul(BUSY_FACTOR),
                // A peer that is busy does not answer on a standby path either.
                OthersUp::Unlike => Nanos::MAX,
            };
            if silence >= bound {
                self.suspect(at, shared);
            } else if others != OthersUp::None && path.doubt == Doubt::None && silence >= span / DOUBT_PART {
                path.doubt = Doubt::Asked;
                self.ask_others(at);
            }
        }
        let path = &self.paths[at];
        if !path.is_up() && others != OthersUp::None {
            self.paths[at].probes = 1;
            self.give_up_all(at, shared);
            return;
        }
        let (base, end) = (path.sent.base(), path.sent.end());
        if path.asks_only() {
            // The questions before this one no longer count, so that they add up to nothing.
            for number in (base..end).rev() {
                let Some(sent) = self.paths[at].sent.get(number) else { break };
                if !sent.spans().is_empty() {
                    break;
                }
                self.give_up(at, number, false, shared);
            }
            return;
        }
        // The oldest datagram goes again; should it arrive, the acknowledgement tells about the
        // others.
        let open = |number: &u64| path.sent.get(*number).is_some_and(|sent| sent.fate == Fate::InFlight);
        if let Some(oldest) = (base..end).find(open) {
            self.give_up(at, oldest, false, shared);
        }
    }

    /// Has the other paths answer.
    fn ask_others(&mut self, at: usize) {
        for (other, path) in self.paths.iter_mut().enumerate() {
            if other != at && path.is_up() && path.doubt == Doubt::None {
                path.probes = path.probes.max(1);
            }
        }
    }

    /// Data leaves this path if there is another one.
    pub(super) fn suspect(&mut self, at: usize, shared: &mut Shared) {
        if !self.paths[at].is_up() {
            return;
        }
        let before = (self.max_payload(), self.is_on_standby());
        let path = &mut self.paths[at];
        path.state = PathState::Suspect;
        path.doubt = Doubt::None;
        path.congestion.on_silence(path.next_number);
        path.probes = path.probes.max(1);
        shared.events.push_back(Event::PathSuspect { peer: self.task, path: path.id });
        self.tell_carriers(before, shared);
        if self.paths.iter().any(|path| path.is_up()) {
            self.give_up_all(at, shared);
        } else {
            // The paths that failed before may be no worse than this one now.
            for path in &mut self.paths {
                path.probes = path.probes.max(1);
            }
        }
    }
}
