//! What the engine knows of one peer, and how incarnations are told apart.
//!
//! Both sides have an epoch, and a datagram is taken only if it names both as they are now. A
//! caller that knows the peer's epoch from the bootstrap sends data at once. One that does not
//! sends a greeting first, which names its own epoch and 0 for the peer's; the answer names both.
//! Epochs only grow (compared modulo 2^32): a greater one means that the peer was purged and
//! resumed, or restarted, and replaces all state; a smaller one is an old datagram. No pair of
//! epochs comes back, so nothing from before can be taken for new.

use super::Channel;
use super::UNIT_WINDOW;
use super::config::{EngineConfig, Nanos};
use super::events::{Event, PeerStats, RailStats};
use super::path::{Path, PathInfo, PathState};
use super::send_queue::{NO_TOKEN, SendQueue};
use super::shared::Shared;
use super::split::{Joins, Splits};
use super::window::Window;
use super::wire::{Ack, DATA_LEN, HEADER_LEN, MIN_DATAGRAM};

/// A peer in use.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) task: u32,
    pub(super) local_epoch: u32,
    /// 0 while unknown.
    pub(super) remote_epoch: u32,
    /// The peer is known to know our epoch (or was said to): data may be sent.
    pub(super) confirmed: bool,
    pub(super) purged: bool,
    pub(super) queues: [SendQueue; 2],
    pub(super) units: [Window; 2],
    pub(super) splits: Splits,
    pub(super) joins: Joins,
    /// Those that carry data whenever they are up, then the standby ones.
    pub(super) paths: Vec<Path>,
    /// How many are not standby ones; all of them, if there is nothing to stand in for.
    pub(super) regular: usize,
    /// What the peer is ready to take, and what of it is used.
    pub(super) credit: u64,
    pub(super) charged: u64,
    /// The peer has to be shown our epoch.
    pub(super) answer: bool,
    /// Before this time it is not shown again: what asks for it may be a replay.
    pub(super) answer_from: Nanos,
    pub(super) greet_now: bool,
    pub(super) greet_at: Option<Nanos>,
    pub(super) greetings: u32,
    pub(super) last_heard: Nanos,
    /// Since when it owes an answer, or when its silence was last reported, or since when somebody
    /// looks whether it is silent.
    pub(super) owing_since: Nanos,
    /// In the list of those that have something to send.
    pub(super) ready: bool,
    /// An acknowledgement that was put off, and when it came.
    pub(super) late_ack: Option<(Nanos, Ack<'static>)>,
    /// In the list of those whose timers are to be set.
    pub(super) untimed: bool,
    /// The earliest timer that is set for it.
    pub(super) scheduled: Nanos,
    /// The last interval in which it sent data, for sharing out credits.
    pub(super) active_in: u64,
    pub(super) stats: PeerStats,
}

/// Whether epoch `a` is later than `b`.
fn later(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

/// What a datagram's epochs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It belongs to the present incarnations.
    Current,
    /// Its frames are not for us, but the sender should be shown our epoch.
    Answer,
    /// Old.
    Stale,
}

impl Peer {
    pub(super) fn new(
        task: u32,
        local_epoch: u32,
        remote_epoch: Option<u32>,
        paths: &[PathInfo],
        config: &EngineConfig,
    ) -> Self {
        let mut peer = Self {
            task,
            local_epoch,
            remote_epoch: remote_epoch.unwrap_or(0),
            confirmed: remote_epoch.is_some(),
            purged: false,
            queues: [SendQueue::new(0), SendQueue::new(1)],
            units: [Window::new(UNIT_WINDOW), Window::new(UNIT_WINDOW)],
            splits: Splits::default(),
            joins: Joins::default(),
            paths: Vec::with_capacity(paths.len()),
            regular: 0,
            // As if the peer were configured like us and heard nobody else, until it says
            // otherwise.
            credit: u64::from(config.receive_buffer) / 4,
            charged: 0,
            answer: false,
            answer_from: 0,
            greet_now: false,
            greet_at: None,
            greetings: 0,
            last_heard: 0,
            owing_since: 0,
            ready: false,
            late_ack: None,
            untimed: false,
            scheduled: Nanos::MAX,
            active_in: 0,
            stats: PeerStats::default(),
        };
        paths.iter().for_each(|&info| peer.insert_path(info, config));
        peer
    }

    /// Units of both channels that are not acknowledged.
    pub(super) fn outstanding(&self) -> usize {
        self.queues[0].len() + self.queues[1].len()
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.has_unsent_in(Channel::Reply) || self.has_unsent_in(Channel::Request)
    }

    pub(super) fn has_unsent_in(&self, channel: Channel) -> bool {
        self.queues[channel as usize].has_unsent()
            || (!self.splits.is_empty() && self.splits.has_unsent(channel as u8))
    }

    pub(super) fn heap(&self) -> usize {
        let channels: usize = self.queues.iter().map(SendQueue::heap).sum();
        let units: usize = self.units.iter().map(Window::heap).sum();
        let paths: usize = self.paths.iter().map(Path::heap).sum();
        let own = size_of::<Self>() + self.paths.capacity() * size_of::<Path>();
        own + channels + units + paths + self.splits.heap() + self.joins.heap()
    }

    /// What it waits for, in words, for when a simulation hangs.
    #[cfg(any(test, feature = "sim"))]
    pub(super) fn summary(&self) -> String {
        let mut text = format!(
            "confirmed {} charged {} of {} ready {} scheduled {} unsent {} splits {}",
            self.confirmed,
            self.charged,
            self.credit,
            self.ready,
            self.scheduled,
            self.has_unsent(),
            self.splits.len(),
        );
        for path in &self.paths {
            text += &format!(
                "; path {} {:?} open {} in flight {} of {} probes {} timeouts {} sent {} deadline {}",
                path.id,
                path.state,
                path.open,
                path.in_flight,
                path.congestion.window(),
                path.probes,
                path.timeouts,
                path.sent.len(),
                path.deadline(&EngineConfig::default()),
            );
        }
        text
    }

    /// The largest unit that goes to it in one piece: by the narrowest of its paths that carry data
    /// at present, for any of them may carry it.
    pub(super) fn max_payload(&self) -> usize {
        let smallest =
            self.paths[self.carriers()].iter().map(|path| path.max_datagram).min().unwrap_or(MIN_DATAGRAM);
        smallest - HEADER_LEN - DATA_LEN
    }

    /// Says so if that is not what it was `before`.
    pub(super) fn tell_room(&self, before: usize, shared: &mut Shared) {
        let bytes = self.max_payload();
        if bytes != before {
            shared.events.push_back(Event::MaxPayload { peer: self.task, bytes });
        }
    }

    /// Adds one of its paths to the counts of a rail.
    pub(super) fn add_to(&self, rail: &mut RailStats, path: &Path) {
        rail.peers += 1;
        // One that was asked in vain has not been given up yet.
        if path.state == PathState::Suspect || path.timeouts > 1 {
            rail.suspects += 1;
            rail.suspect.get_or_insert(self.task);
        }
        rail.open += u64::from(path.open);
        rail.in_flight += path.in_flight;
        rail.window += path.congestion.window();
        rail.credit += self.credit.saturating_sub(self.charged);
        rail.timeouts += u64::from(path.timeouts);
    }

    pub(super) fn path_at(&self, id: u8) -> Option<usize> {
        self.paths.iter().position(|path| path.id == id)
    }

    /// Judges a datagram's epochs; a new incarnation of the peer replaces what was known.
    pub(super) fn judge(&mut self, source: u32, destination: u32, shared: &mut Shared) -> Standing {
        let known = self.remote_epoch != 0;
        if known && source != self.remote_epoch {
            if !later(source, self.remote_epoch) {
                return Standing::Stale;
            }
            if self.confirmed {
                let outstanding = self.outstanding();
                self.reset(shared);
                self.confirmed = false;
                shared.events.push_back(Event::PeerRestarted { peer: self.task, epoch: source, outstanding });
            } else {
                shared.events.push_back(Event::PeerRenewed { peer: self.task, epoch: source });
            }
        }
        self.remote_epoch = source;
        if destination != self.local_epoch {
            return Standing::Answer;
        }
        if !self.confirmed {
            self.confirmed = true;
            self.greet_at = None;
            self.greet_now = false;
        }
        Standing::Current
    }

    /// Drops everything of the present pair of epochs.
    pub(super) fn reset(&mut self, shared: &mut Shared) {
        let task = self.task;
        for channel in &mut self.queues {
            channel.purge(|token| {
                shared.units -= 1;
                if token != NO_TOKEN {
                    shared.events.push_back(Event::Purged { peer: task, token });
                }
            });
        }
        for units in &mut self.units {
            *units = Window::new(UNIT_WINDOW);
        }
        self.splits.clear();
        self.joins.clear();
        for path in &mut self.paths {
            *path = Path::new(path.info(), &shared.config);
        }
        self.late_ack = None;
        self.charged = 0;
        self.credit = u64::from(shared.config.receive_buffer) / 4;
        self.answer = false;
        self.answer_from = 0;
        self.greet_now = false;
        self.greet_at = None;
        self.greetings = 0;
        self.stats = PeerStats::default();
    }

    /// The next time at which something is to be done.
    pub(super) fn deadline(&self, config: &EngineConfig) -> Nanos {
        if self.purged {
            return Nanos::MAX;
        }
        let mut at = self.greet_at.unwrap_or(Nanos::MAX);
        for path in &self.paths {
            at = at.min(path.deadline(config));
        }
        at.min(self.silent_at(config))
    }

    /// When the peer's silence is to be reported.
    pub(super) fn silent_at(&self, config: &EngineConfig) -> Nanos {
        match config.peer_timeout {
            Some(timeout) if self.outstanding() > 0 => {
                self.last_heard.max(self.owing_since).saturating_add(timeout)
            }
            _ => Nanos::MAX,
        }
    }
}
