//! Engines from the configuration and from what transports say about their paths.

use super::departures::Held;
use super::{BATCH, Datagrams, path_in, trouble};
use crate::clock::Clock;
use crate::config::{Config, Origin};
use crate::error::{Error, Result};
use crate::reliable::{Engine, EngineConfig, JobAuth, Nanos, PathInfo, Transmit};
use crate::transport::{Event, EventKind, FailoverTrouble, Link, PeerId, Status};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Timings that the user may set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// TIMEOUT; `None`: never.
    pub(crate) timeout: Option<Duration>,
    /// MP_ACK_THRESH.
    pub(crate) ack_threshold: u32,
    /// MP_POLLING_INTERVAL, if it is set.
    pub(crate) retransmit_max: Option<Duration>,
    /// MP_RETRANSMIT_INTERVAL.
    pub(crate) polls_between_checks: u64,
}

impl Timing {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            timeout: (!*config.notimeout.get()).then_some(*config.timeout.get()),
            ack_threshold: *config.ack_thresh.get(),
            retransmit_max: match config.polling_interval.origin() {
                Origin::Default => None,
                _ => Some(*config.polling_interval.get()),
            },
            polls_between_checks: *config.retransmit_interval.get(),
        }
    }
}

/// This life of a task's context: later than the `former` one, whatever the clock says. Counts four
/// milliseconds each, so that it goes round in half a year.
pub(crate) fn epoch(former: Option<u32>) -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    epoch_at(since, former)
}

/// Epochs that a life may go on to: one for each time that it purges a peer and resumes it.
const RESUMPTIONS: u32 = 1 << 12;

fn epoch_at(now: Duration, former: Option<u32>) -> u32 {
    let now = ((now.as_millis() / 4) as u32).max(1);
    match former.map(|former| former.wrapping_add(RESUMPTIONS).max(1)) {
        // The clock is behind, or was ahead before. Epochs are compared as the packet engine does
        // it.
        Some(least) if now.wrapping_sub(least).cast_signed() < 0 => least,
        _ => now,
    }
}

/// Who takes part.
pub(crate) struct Parties<'a> {
    pub(crate) task: PeerId,
    pub(crate) job: &'a str,
    /// The context's number, and how often it was opened before.
    pub(crate) context: (u32, u32),
    pub(crate) secret: &'a [u8; 32],
    pub(crate) epoch: u32,
    /// All other tasks are behind this link.
    pub(crate) alone: bool,
    /// The tasks that the link leads to, with their epochs.
    pub(crate) peers: Vec<(PeerId, Option<u32>)>,
}

impl Datagrams {
    /// An engine on a link whose peers are connected.
    pub(crate) fn new(link: &mut Link, timing: Timing, parties: &Parties<'_>) -> Result<Self> {
        let name = link.name();
        let failed = |what: String| Error::Transport { transport: name.into(), what, source: None };
        let Found { paths, troubles, messages } =
            Found::over(link).map_err(|s| failed(format!("polling it failed ({s:?})")))?;
        let config = engine_config(timing, link.limits().receive_buffer);
        let (batch_datagrams, batch_bytes) = (config.batch_datagrams, config.batch_bytes);
        let key = job_key(parties.job, parties.context);
        let mut engine = Engine::new(config, parties.task, key, JobAuth::new(parties.secret))
            .map_err(|e| failed(e.to_string()))?;
        let mut datagram = 0;
        for &(peer, epoch) in &parties.peers {
            let theirs = || paths.iter().filter(|path| path.peer == peer);
            let told: Vec<PathInfo> = theirs().map(|path| path.info).collect();
            let to = if told.is_empty() { paths_of_limits(link) } else { told };
            datagram = largest(&to).max(datagram);
            let added = engine.add_peer(0, peer, parties.epoch, epoch, &to);
            // One that is down now may be up later.
            let down = || theirs().filter(|path| !path.up).map(|path| path.info.path_id);
            let hinted = added.and_then(|()| down().try_for_each(|path| engine.hint_path(peer, path, false)));
            hinted.and_then(|()| engine.greet(peer)).map_err(|e| failed(e.to_string()))?;
        }
        let batch = (batch_bytes / datagram.max(1)).clamp(1, batch_datagrams);
        let mut datagrams = Self {
            engine,
            clock: Clock::new(),
            out: Transmit::default(),
            slices: Vec::new(),
            held: Held::default(),
            // Greetings, if there are any.
            waiting: usize::from(parties.peers.iter().any(|(_, epoch)| epoch.is_none())),
            flushed: 0,
            looked: 0,
            unlooked: 0,
            looks: 0,
            events: Box::new([Event::EMPTY; BATCH]),
            units: Vec::new(),
            joined: Vec::new(),
            bypass_head: Vec::new(),
            early_past: Vec::new(),
            adopted: Vec::new(),
            said: VecDeque::new(),
            troubles,
            datagram,
            batch,
            // Packets of long messages are a little shorter than datagrams.
            enough: batch * datagram - datagram.div_ceil(if batch > 1 { 2 } else { 8 }),
            together: 0,
            few: 0,
            alone: parties.alone,
            idle: 0,
            looked_beside: 0,
            untimed: 0,
            timers_seen: 0,
            checks: Checks::every(timing.polls_between_checks),
        };
        datagrams.set_datagram(datagram);
        messages.into_iter().for_each(|(peer, bytes)| datagrams.store_bypassed(peer, bytes));
        Ok(datagrams)
    }
}

/// The largest datagram that goes to a peer, unless standby paths have to carry its data.
fn largest(paths: &[PathInfo]) -> usize {
    let only_standby = paths.iter().all(|path| path.standby.is_some());
    let counts = paths.iter().filter(|path| only_standby || path.standby.is_none());
    counts.map(|path| path.max_datagram).max().unwrap_or(0)
}

/// The paths to a peer of which a link has said nothing.
fn paths_of_limits(link: &Link) -> Vec<PathInfo> {
    let limits = link.limits();
    let max_datagram = limits.max_packed as usize;
    (0..limits.paths.clamp(1, 8) as u8).map(|path_id| PathInfo::new(path_id, max_datagram)).collect()
}

/// What a link says of its paths when its peers are connected.
struct Found {
    paths: Vec<FoundPath>,
    troubles: Vec<(FailoverTrouble, String)>,
    /// What has come past the datagrams already: unlike datagrams it does not come again.
    messages: Vec<(PeerId, Box<[u8]>)>,
}

struct FoundPath {
    peer: PeerId,
    info: PathInfo,
    up: bool,
}

impl Found {
    fn over(link: &mut Link) -> Result<Self, Status> {
        let mut found = Self { paths: Vec::new(), troubles: Vec::new(), messages: Vec::new() };
        loop {
            let mut events = [Event::EMPTY; BATCH];
            let n = link.poll(&mut events)?;
            for event in events.iter().take(n).filter(|e| e.kind == EventKind::Path as u32) {
                let (peer, info, up) = (event.peer, path_in(event), event.status != 0);
                found.note(FoundPath { peer, info, up });
            }
            let failover = events.iter().take(n).filter(|e| e.kind == EventKind::Failover as u32);
            found.troubles.extend(failover.filter_map(trouble));
            let messages = events.iter().take(n).filter(|e| e.kind == EventKind::Message as u32 && e.len > 0);
            found.messages.extend(messages.map(|event| {
                // SAFETY: the transport keeps the bytes valid until its next poll.
                let bytes = unsafe { std::slice::from_raw_parts(event.data, event.len as usize) };
                (event.peer, bytes.into())
            }));
            if n == 0 {
                return Ok(found);
            }
        }
    }

    /// Notes what was said of a path. It may have changed since the link said so first: the last
    /// word counts.
    fn note(&mut self, said: FoundPath) {
        let is_it = |path: &&mut FoundPath| path.peer == said.peer && path.info.path_id == said.info.path_id;
        match self.paths.iter_mut().find(is_it) {
            Some(path) => *path = said,
            None => self.paths.push(said),
        }
    }
}

/// How an engine is told what the user set.
fn engine_config(timing: Timing, receive_buffer: u32) -> EngineConfig {
    let default = EngineConfig::default();
    let nanos = |t: Duration| Nanos::try_from(t.as_nanos()).unwrap_or(Nanos::MAX);
    EngineConfig {
        ack_threshold: timing.ack_threshold.clamp(1, 31) as u8,
        // A user who sets hours means "hardly ever": a minute is what the engine knows.
        retransmit_max: timing.retransmit_max.map_or(default.retransmit_max, |t| nanos(t).min(LONGEST_PAUSE)),
        peer_timeout: timing.timeout.map(nanos),
        receive_buffer: receive_buffer.max(64 << 10),
        ..default
    }
}

/// The longest pause between two retransmissions that an engine takes.
const LONGEST_PAUSE: Nanos = 60_000_000_000;

/// Says at which polls the engine looks for what is unanswered, as MP_RETRANSMIT_INTERVAL wants it.
#[derive(Debug)]
pub(super) struct Checks {
    every: u64,
    polls: u64,
}

impl Checks {
    fn every(polls: u64) -> Self {
        Self { every: polls.max(1), polls: 0 }
    }

    /// Counts a poll. True: it is time for a check.
    #[inline]
    pub(super) fn count(&mut self) -> bool {
        self.polls += 1;
        if self.polls < self.every {
            return false;
        }
        self.polls = 0;
        true
    }
}

/// Tells this job's context from others' datagrams before any cryptography. A context that is
/// opened again is another one, whatever its epoch: the clock may have been set back since.
fn job_key(job: &str, (number, generation): (u32, u32)) -> u32 {
    let context = [number.to_le_bytes(), generation.to_le_bytes()].concat();
    let hash = Sha256::new().chain_update(context).chain_update(job).finalize();
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_life_has_a_later_epoch_whatever_the_clock_says() {
        let then = Duration::from_secs(1_790_000_000);
        let hour = Duration::from_secs(3600);
        let second = Duration::from_secs(1);
        let first = epoch_at(then, None);
        for now in [then, then - second, then - hour, then + hour, then + second, Duration::ZERO] {
            let later = epoch_at(now, Some(first));
            assert!(later.wrapping_sub(first).cast_signed() >= RESUMPTIONS.cast_signed(), "{now:?}");
            // And the life after that, whose clock is right again.
            assert!(epoch_at(then, Some(later)).wrapping_sub(later).cast_signed() > 0, "{now:?}");
        }
        assert_eq!(
            epoch_at(then + hour, Some(first)),
            epoch_at(then + hour, None),
            "the clock leads if it can"
        );
        assert_eq!(epoch_at(Duration::ZERO, Some(u32::MAX - RESUMPTIONS + 1)), 1, "0 means unknown");
    }

    #[test]
    fn the_longest_pause_is_what_the_user_set_or_the_engines_own() {
        let timing = |text: Option<&str>| {
            let mut config = Config::default();
            if let Some(text) = text {
                config.set("MP_POLLING_INTERVAL", text, Origin::Environment).expect("a number in the range");
            }
            engine_config(Timing::of(&config), 1 << 20)
        };
        assert_eq!(timing(None).retransmit_max, EngineConfig::default().retransmit_max);
        for (text, nanos) in [("20000", 20_000_000), ("400000", 400_000_000), ("2147483647", LONGEST_PAUSE)] {
            let config = timing(Some(text));
            assert_eq!(config.retransmit_max, nanos);
            config.check().expect("what the table allows, the engine takes");
        }
    }

    #[test]
    fn a_check_comes_after_every_so_many_polls() {
        let mut checks = Checks::every(1000);
        let due: Vec<_> = (1..=3500).filter(|_| checks.count()).collect();
        assert_eq!(due, [1000, 2000, 3000]);
    }

    #[test]
    fn jobs_contexts_and_their_generations_have_different_keys() {
        let all = [("a", (0, 0)), ("a", (1, 0)), ("a", (0, 1)), ("b", (0, 0))];
        let keys: std::collections::HashSet<u32> = all.map(|(job, context)| job_key(job, context)).into();
        assert_eq!(keys.len(), all.len());
        assert!(keys.contains(&job_key("a", (0, 0))));
    }
}
