//! Handling arrivals and timers.

use super::{Datagrams, Fragments, Unit, path_in};
use crate::reliable::{Delivery, Event as EngineEvent, Nanos, PeerError, Verdict};
use crate::transport::{Event, EventKind, FailoverTrouble, Link, Status};
use lapis_ablation::{Optimization, without};

/// After so many polls that found nothing, a link that shares the context with others is polled
/// every so many times, if polls follow each other closely.
pub(super) const BUSY: u32 = 256;
const SELDOM: u32 = 16;

/// So long after a look the next one is not left out.
const LONG_AGO: Nanos = 20_000;

/// Who has not looked for this part of TIMEOUT knows nothing of its peers' silence meanwhile.
const AWAY_PART: Nanos = 4;

/// Of the polls of a waiting thread that find nothing, one in so many looks at the clock and the
/// timers.
const CLOCK: u32 = 8;

impl Datagrams {
    /// Looks what has arrived and what is due. Answers how many units and news there are; the units
    /// are in [`take_units`](Self::take_units), and when they are dealt with,
    /// [`flush`](Self::flush) is to be called.
    ///
    /// `spinning`: the next call follows at once, so that timers need not be looked at in this one.
    pub(crate) fn poll(
        &mut self,
        link: &mut Link,
        mut fragments: Fragments<'_>,
        spinning: bool,
    ) -> Result<usize, Status> {
        self.idle = self.idle.wrapping_add(1);
        let behind = self.engine.is_behind();
        if behind {
            self.engine.catch_up();
        }
        if !self.alone && self.idle > BUSY && !behind && self.leaves_out() {
            return Ok(0);
        }
        let n = link.poll(&mut self.events[..])?;
        let check = self.checks.count();
        self.untimed += 1;
        // A single datagram is about to be answered: that goes first.
        let timed = !spinning || check || n > 1 || self.untimed >= if n == 0 { CLOCK } else { 2 * CLOCK };
        let kept = usize::from(!self.early_past.is_empty());
        if n + kept == 0 && !timed {
            return Ok(usize::from(behind || self.has_to_send()));
        }
        self.engine.postpone_acks(spinning && !without(Optimization::DeferredAcks));
        let now = self.now();
        if kept > 0 {
            self.take_stored_bypassed(&mut fragments);
        }
        for i in 0..n {
            let event = self.events[i];
            if event.kind == EventKind::Datagram as u32 {
                self.arrived(now, &event, &mut fragments);
            } else if event.kind == EventKind::Message as u32 {
                // SAFETY: the transport has not been polled since.
                unsafe { self.arrived_by_bypass(&event, &mut fragments) };
            } else {
                self.told(now, &event);
            }
        }
        let due = timed && self.run_timers(now);
        if check {
            self.engine.check_unanswered(now);
        }
        if n > 0 {
            self.idle = 0;
        }
        Ok(n + kept + usize::from(due || behind || self.has_to_send()))
    }

    /// Runs the timers that are due. Returns whether there were any.
    ///
    /// After the arrivals: a task that was stopped, or did not come here for long, must not take
    /// that for its peers' silence. More may have arrived than one poll takes.
    #[inline]
    fn run_timers(&mut self, now: Nanos) -> bool {
        let away = now.saturating_sub(std::mem::replace(&mut self.timers_seen, now));
        if self.engine.config().peer_timeout.is_some_and(|timeout| away > timeout / AWAY_PART) {
            self.engine.was_away(now);
        }
        self.untimed = 0;
        let due = self.engine.next_timeout().is_some_and(|at| at <= now);
        if due {
            self.engine.on_timeout(now);
        }
        due
    }

    /// Whether a look that hardly finds anything is left out: all but one in so many, unless the
    /// last one is long ago. What arrives must not wait for sixteen polls of a program that polls
    /// now and then.
    fn leaves_out(&mut self) -> bool {
        let now = self.now();
        let looks = self.idle.is_multiple_of(SELDOM) || now - self.looked_beside.min(now) >= LONG_AGO;
        if looks {
            self.looked_beside = now;
        }
        !looks
    }

    #[inline]
    fn arrived(&mut self, now: Nanos, event: &Event, fragments: &mut Fragments<'_>) {
        // SAFETY: the transport keeps the bytes valid until its next poll.
        let datagram = unsafe { std::slice::from_raw_parts(event.data, event.len as usize) };
        let (units, joined) = (&mut self.units, &mut self.joined);
        let before = units.len();
        self.engine.on_datagram(now, datagram, |Delivery { peer, packet, .. }| {
            if !fragments.take(peer, packet) {
                // It comes again.
                return Verdict::Drop;
            }
            let ptr = if datagram.as_ptr_range().contains(&packet.as_ptr()) {
                packet.as_ptr()
            } else {
                let copy: Box<[u8]> = packet.into();
                let ptr = copy.as_ptr();
                joined.push(copy);
                ptr
            };
            units.push(Unit { peer, ptr, len: packet.len() });
            Verdict::Accept
        });
        while let Some(event) = self.engine.poll_event() {
            if let EngineEvent::PeerRestarted { peer, outstanding, .. } = event {
                self.units.insert(before, Unit::new_life(peer, outstanding));
            }
            self.said.push_back(event);
        }
    }

    /// News of paths and losses from the transport.
    #[cold]
    pub(super) fn told(&mut self, now: Nanos, event: &Event) {
        let outcome = match event.kind {
            k if k == EventKind::Path as u32 => self.path_told(event),
            k if k == EventKind::Overflow as u32 => {
                self.engine.note_overflow(now, event.len);
                Ok(())
            }
            k if k == EventKind::Failover as u32 => {
                self.troubles.extend(trouble(event));
                Ok(())
            }
            kind => {
                tracing::debug!(kind, "unknown event of a datagram transport ignored");
                Ok(())
            }
        };
        if let Err(e) = outcome {
            tracing::debug!("news of a path ignored: {e}");
        }
    }

    /// A path is there, has changed, or is gone: then it has no room for datagrams.
    fn path_told(&mut self, event: &Event) -> Result<(), PeerError> {
        let (peer, info) = (event.peer, path_in(event));
        let (path, room) = (info.path_id, info.max_datagram);
        if room == 0 {
            return self.engine.remove_path(peer, path);
        }
        if self.engine.path_state(peer, path).is_some() {
            self.engine.set_kind(peer, info)?;
            self.engine.set_max_datagram(peer, path, room)?;
        } else {
            self.engine.add_path(peer, info)?;
        }
        if let Some(at) = self.adopted.iter().position(|adopted| *adopted == peer) {
            self.adopted.swap_remove(at);
            if path != 0 {
                // The peer was taken up with a path 0, which it may not have.
                self.engine.remove_path(peer, 0)?;
            }
        }
        if info.standby.is_none() || self.engine.has_only_standby(peer) {
            self.set_datagram(self.datagram.max(room));
        }
        self.engine.hint_path(peer, path, event.status != 0)
    }
}

/// What an event says about failover. The transport has not been polled since.
#[cold]
pub(crate) fn trouble(event: &Event) -> Option<(FailoverTrouble, String)> {
    let text = if event.len == 0 || event.data.is_null() {
        String::new()
    } else {
        // SAFETY: the transport keeps the bytes valid until its next poll.
        let bytes = unsafe { std::slice::from_raw_parts(event.data, event.len as usize) };
        String::from_utf8_lossy(bytes).into_owned()
    };
    Some((FailoverTrouble::from_raw(event.status)?, text))
}
