//! A path: one rail of this task to the rail of the same number of one peer.

use super::ack::Arrivals;
use super::config::{EngineConfig, Nanos};
use super::congestion::Congestion;
use super::loss_detection::{LossDetector, Rtt};
use super::path_mtu::PathMtu;
use super::sent::{Fate, MAX_SENT, Sent, SentRing};

/// A rail as the caller names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathInfo {
    /// Its number, below 8, the same on both sides.
    pub path_id: u8,
    /// The largest datagram that it carries: the path MTU less the headers of IP and UDP.
    pub max_datagram: usize,
    /// It carries data only while no other path does (`standby.rs`): its number among the standby
    /// paths, from 0, by which units prefer it then.
    pub standby: Option<u8>,
}

impl PathInfo {
    /// A path that carries data whenever it is up.
    #[must_use]
    pub fn new(path_id: u8, max_datagram: usize) -> Self {
        Self { path_id, max_datagram, standby: None }
    }

    /// The same path as standby number `rail`.
    #[must_use]
    pub fn standby(self, rail: u8) -> Self {
        Self { standby: Some(rail), ..self }
    }
}

/// Whether a path is trusted with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathState {
    /// It acknowledges, or has not been asked.
    Up,
    /// It stopped acknowledging; it gets probes, and data only if no other path is up.
    Suspect,
}

/// Whether a silent path is at fault, or its peer busy: one that is busy is silent on all paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    /// The others are asked whether the peer answers at all.
    Asked,
    /// On another path it did so, at this time; an answer on this one may be right behind.
    Answered(Nanos),
}

/// The last report of a path's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reported {
    /// There was none since the peer last answered on the path, or since the path was up.
    Nothing,
    Down,
    /// It was down, and the peer has not answered on the path since.
    UpAgain,
}

#[derive(Debug)]
pub(super) struct Path {
    pub(super) id: u8,
    /// The number by which units prefer it.
    pub(super) rail: u8,
    pub(super) standby: bool,
    pub(super) state: PathState,
    pub(super) doubt: Doubt,
    pub(super) reported: Reported,
    /// The first number that was not sent yet when the path was reported down: acknowledgements of
    /// earlier ones do not bring it back.
    pub(super) reported_at: u64,
    /// The largest datagram that is sent.
    pub(super) max_datagram: usize,
    pub(super) mtu: PathMtu,
    pub(super) next_number: u64,
    pub(super) sent: SentRing,
    pub(super) arrivals: Arrivals,
    pub(super) rtt: Rtt,
    pub(super) loss: LossDetector,
    pub(super) congestion: Congestion,
    /// Bytes and datagrams not yet acknowledged or given up.
    pub(super) in_flight: u64,
    pub(super) open: u32,
    /// Timeouts since the last news.
    pub(super) timeouts: u32,
    /// Datagrams that may be sent whatever the window says.
    pub(super) probes: u8,
    /// The caller still has the datagrams that were written last (`held.rs`).
    pub(super) held: bool,
    /// When the last datagram that asks was sent.
    last_asked: Nanos,
    /// When the path last acknowledged something new, or began to owe an answer.
    pub(super) progress: Nanos,
}

impl Path {
    pub(super) fn new(info: PathInfo, config: &EngineConfig) -> Self {
        Self {
            id: info.path_id,
            rail: info.standby.unwrap_or(info.path_id),
            standby: info.standby.is_some(),
            state: PathState::Up,
            doubt: Doubt::None,
            reported: Reported::Nothing,
            reported_at: 0,
            max_datagram: info.max_datagram,
            mtu: PathMtu::new(info.max_datagram),
            next_number: 0,
            sent: SentRing::default(),
            arrivals: Arrivals::new(),
            rtt: Rtt::new(config),
            loss: LossDetector::default(),
            congestion: Congestion::new(config, info.max_datagram),
            in_flight: 0,
            open: 0,
            timeouts: 0,
            probes: 0,
            held: false,
            last_asked: 0,
            progress: 0,
        }
    }

    pub(super) fn info(&self) -> PathInfo {
        PathInfo { path_id: self.id, max_datagram: self.mtu.told, standby: self.standby.then_some(self.rail) }
    }

    pub(super) fn is_up(&self) -> bool {
        self.state == PathState::Up
    }

    pub(super) fn heap(&self) -> usize {
        self.sent.heap() + self.arrivals.heap()
    }

    /// Changes the size of the largest datagram.
    pub(super) fn set_max_datagram(&mut self, bytes: usize) {
        self.max_datagram = bytes;
        self.congestion.set_datagram(bytes);
    }

    /// The distance that the next datagram's header announces.
    pub(super) fn span(&self) -> u16 {
        if self.sent.len() == 0 { 0 } else { (self.next_number - self.sent.base()) as u16 }
    }

    /// Notes a datagram that was just written; `asks`: it wants to be acknowledged.
    pub(super) fn on_sent(&mut self, now: Nanos, mut sent: Sent, len: usize, asks: bool) {
        sent.time = now;
        sent.size = len as u32;
        if asks {
            sent.fate = Fate::InFlight;
            if self.open == 0 {
                self.progress = now;
            }
            self.open += 1;
            self.in_flight += len as u64;
            self.last_asked = now;
        }
        self.sent.push(self.next_number, sent);
        self.next_number += 1;
    }

    /// Whether one more datagram can be kept track of.
    pub(super) fn has_place(&self) -> bool {
        self.sent.len() < MAX_SENT - 1
    }

    /// Forgets what no longer matters.
    pub(super) fn retire(&mut self, now: Nanos, config: &EngineConfig) {
        let crowded = self.sent.len() > MAX_SENT / 2;
        let age = 4 * self.rtt.pto(config);
        // While nothing comes back, the peer may just be busy, and what counts as lost may have
        // arrived.
        let quiet = self.timeouts > 0;
        self.sent.retire(|lost| crowded || (!quiet && lost.time + age < now));
    }

    /// When the probe timeout (PTO) ends: the retransmission timer of this path. It doubles from
    /// the second time on.
    pub(super) fn pto_deadline(&self, config: &EngineConfig) -> Option<Nanos> {
        if self.open == 0 || self.probes > 0 {
            return None;
        }
        let bound =
            if self.is_up() { config.retransmit_max } else { config.probe_max.min(config.retransmit_max) };
        // The second one as soon as the first: what is lost twice shall not wait for long.
        let wait = self.rtt.pto(config).saturating_mul(1 << self.timeouts.saturating_sub(1).min(20));
        Some(self.last_asked.max(self.progress) + wait.min(bound.max(config.retransmit_floor)))
    }

    /// Whether probes carry no data. The first one does, for a lost tail is what an answer mostly
    /// fails by. If that is not answered either, the peer may just be busy: then everything lies in
    /// its receive buffer, and more of it would find that full, for probes are beyond the credit.
    /// If it was lost after all, the answer says so.
    pub(super) fn asks_only(&self) -> bool {
        self.timeouts > 1
    }

    /// When a doubt becomes a suspicion.
    pub(super) fn doubted_until(&self, config: &EngineConfig) -> Option<Nanos> {
        match self.doubt {
            Doubt::Answered(at) => Some(at + config.retransmit_floor),
            _ => None,
        }
    }

    /// When an answer is late by the path's round trips alone, without the growth of the timer.
    pub(super) fn unanswered_at(&self, config: &EngineConfig) -> Option<Nanos> {
        if self.open == 0 || self.probes > 0 {
            return None;
        }
        Some(self.last_asked.max(self.progress) + self.rtt.pto(config))
    }

    /// The next time at which something is to be done.
    pub(super) fn deadline(&self, config: &EngineConfig) -> Nanos {
        let mut at = Nanos::MAX;
        let timers = [
            self.arrivals.due(),
            self.loss.timer,
            self.pto_deadline(config),
            self.doubted_until(config),
            self.mtu.due(),
        ];
        for timer in timers.into_iter().flatten() {
            at = at.min(timer);
        }
        at
    }

    /// How soon `bytes` more would be across: what data is striped by.
    pub(super) fn cost(&self, bytes: usize) -> u64 {
        let rtt = self.rtt.smoothed();
        let queue = (self.in_flight + bytes as u64).saturating_mul(1_000_000_000);
        rtt / 2 + queue / self.congestion.goodput(rtt).max(1)
    }
}
