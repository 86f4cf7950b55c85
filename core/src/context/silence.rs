//! Peers that fall silent, and deaths that the launcher knows of.
//!
//! A task that waits, polls or has no room periodically asks each peer that owes it something for a
//! sign of life. A peer answers whenever it is within a call of the library, or in interrupt mode.
//! If it has not answered for TIMEOUT seconds, it counts as lost.
//!
//! A packet engine notices by itself that a peer acknowledges nothing, so it gives up a peer that
//! does not acknowledge the question, and nobody else does: an answer may wait behind a lot of
//! data. Over other links, and by the datagram bypass of a link with an engine, nothing is
//! acknowledged.
//!
//! *LAPI Guide, LAPI_Senv, TIMEOUT.*

use super::State;
use super::{Context, Locked};
use crate::error::Error;
use crate::state::{PeerState, Silence};
use crate::transport::{Caps, Link, PeerId};
use std::time::Duration;

/// Time between two checks of the peers.
const BETWEEN: Duration = Duration::from_millis(100);

/// Polls of the links between two readings of the clock, in loops that never sleep.
const LOOKS: u32 = 4096;

/// A sign of life is asked for after this part of TIMEOUT.
const ASK_AFTER: u32 = 4;

/// What is outstanding that only the peer can complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owed {
    Nothing,
    /// The peer must acknowledge a question, which its engine monitors.
    Acknowledged,
    /// It must answer one.
    Answered,
}

/// What a silence calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Wait,
    Ask,
    /// The peer was asked and has given no sign of life. If the program's error handler wants to go
    /// on, the wait starts again.
    Over,
}

impl Silence {
    /// Looks at the silence of a peer that owes something.
    fn look(&mut self, now: Duration, limit: Duration) -> Step {
        let silent = now.saturating_sub(*self.since.get_or_insert(now));
        if !self.asked && silent >= limit / ASK_AFTER {
            // However late that is, the rest of the time is the peer's.
            (self.asked, self.since) = (true, Some(now.saturating_sub(limit / ASK_AFTER)));
            return Step::Ask;
        }
        if self.asked && silent >= limit {
            self.since = Some(now);
            return Step::Over;
        }
        Step::Wait
    }
}

impl Context {
    /// A call waits for something that one task alone can send. The lock is not held.
    pub(crate) fn await_peer<R>(&self, peer: PeerId, wait: impl FnOnce() -> R) -> R {
        let count = |change: u32| {
            let p = &mut self.locked().peers[peer];
            p.awaited = p.awaited.wrapping_add(change);
        };
        count(1);
        let result = wait();
        count(u32::MAX);
        result
    }
}

impl Locked<'_> {
    /// Checks the peers every few thousand polls of the links, for loops that never sleep.
    #[inline(always)]
    pub(super) fn check_silence_periodically(&mut self) {
        let vigil = &mut self.peers.vigil;
        vigil.looks += 1;
        if vigil.looks >= LOOKS {
            vigil.looks = 0;
            self.check_silence();
        }
    }

    /// Asks silent peers for a sign of life, and gives up those that have given none for too long.
    #[cold]
    #[inline(never)]
    pub(super) fn check_silence(&mut self) {
        let now = self.shared().clock.elapsed();
        let state = &mut **self;
        if state.dispatching > 0 || now < state.peers.vigil.next {
            return;
        }
        state.peers.vigil.next = now + BETWEEN;
        self.publish_status();
        self.handle_reported_deaths();
        self.look_after_the_rest();
        if *self.shared().config.notimeout.get() {
            return;
        }
        let limit = self.shared().timeout();
        let waited_for = self.operations.peers();
        for peer in self.shared().other_tasks() {
            let state = &mut **self;
            let owed = state.owed_by(peer, waited_for.binary_search(&peer).is_ok());
            if owed == Owed::Nothing {
                state.peers[peer].silence = Silence::default();
                continue;
            }
            let silence = &mut state.peers[peer].silence;
            match silence.look(now, limit) {
                Step::Wait => {}
                Step::Ask => self.ask_for_sign_of_life(peer),
                // Asked again.
                Step::Over if owed == Owed::Acknowledged => silence.asked = false,
                Step::Over => self.fell_silent(peer, limit.as_secs(), "waiting for a sign of life"),
            }
        }
    }

    /// A peer has given a sign of life.
    pub(crate) fn gave_sign_of_life(&mut self, peer: PeerId) {
        let shared = self.shared();
        let silence = &mut self.peers[peer].silence;
        if silence.asked {
            *silence = Silence { since: Some(shared.clock.elapsed()), asked: false, ..*silence };
        }
    }

    /// Handles deaths that the launcher has reported, whatever transport leads to the tasks.
    fn handle_reported_deaths(&mut self) {
        // Another thread is using the store: the next check comes soon.
        let Ok(mut job) = self.shared().bootstrap.try_lock() else { return };
        let ended = job.ended();
        drop(job);
        let this_task = self.shared().task;
        for (task, how) in ended {
            let Some(p) = self.peers.get_mut(task) else { continue };
            if task == this_task || p.farewell {
                continue;
            }
            p.dead = true;
            match p.state {
                PeerState::Up => self.peer_down(task, &format!("its process {how}")),
                PeerState::Purged => self.end_loans(task),
                PeerState::Down | PeerState::Ended => {}
            }
            self.end_transfers(task);
        }
    }

    /// Informs a transport that can't detect deaths: its outstanding operations with the task would
    /// otherwise end when the network gives up, or never.
    fn end_transfers(&mut self, task: PeerId) {
        let ignorant = |link: &&mut Link| !link.caps().intersects(Caps::PEER_FAILURE | Caps::DATAGRAM);
        if let Some(link) = self.link_to(task).filter(ignorant) {
            link.disconnect(task);
        }
    }

    /// A peer has given no sign of life for as long as TIMEOUT allows. If the program's error
    /// handler says so, the wait goes on; else the peer counts as lost.
    ///
    /// *LAPI Guide, "Registering an error handler"; LAPI_Senv, TIMEOUT.*
    #[cold]
    pub(super) fn fell_silent(&mut self, peer: PeerId, seconds: u64, doing: &'static str) {
        match self.peers[peer].state {
            PeerState::Up => {}
            // What it had not answered, or not taken, when it took its leave ends now.
            PeerState::Ended => return self.lose(peer, "it has terminated its context"),
            PeerState::Down | PeerState::Purged => return,
        }
        let error = Error::Timeout { task: peer, seconds, doing };
        if !self.call_error_handler(&error, peer) {
            self.lose(peer, &format!("it has not answered for {seconds} s"));
        }
    }
}

impl State {
    /// What is outstanding with a peer. `waited_for`: an operation waits for it.
    fn owed_by(&mut self, peer: PeerId, waited_for: bool) -> Owed {
        let past = self.engine_to(peer).map(|(link, datagrams)| datagrams.can_bypass(link, peer));
        let p = &self.peers[peer];
        match p.state {
            PeerState::Up => {}
            PeerState::Down | PeerState::Purged => return Owed::Nothing,
            // It may have left without taking or answering what is still under way with it.
            PeerState::Ended if waited_for || p.awaited > 0 || self.sending.has_for(peer) => {
                return if past == Some(false) { Owed::Acknowledged } else { Owed::Answered };
            }
            PeerState::Ended => return Owed::Nothing,
        }
        let unanswered = waited_for || !p.answered.reached(p.next_operation);
        match past {
            None if p.awaited > 0
                || p.confirmed != p.numbered
                || unanswered
                || self.sending.has_for(peer) =>
            {
                Owed::Answered
            }
            // The engine monitors all but what bypasses it.
            Some(true) if p.silence.held_up || unanswered || p.unheard > 0 => Owed::Answered,
            // What a peer has acknowledged it may still have to answer.
            Some(_) if p.awaited > 0 || unanswered => Owed::Acknowledged,
            _ => Owed::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_asked_late_has_as_long_to_answer_as_one_that_is_asked_in_time() {
        let limit = Duration::from_secs(900);
        let (mut silence, mut now) = (Silence::default(), Duration::from_secs(7));
        for away in [BETWEEN, limit, 5 * limit] {
            assert_eq!(silence.look(now, limit), Step::Wait);
            // Nobody looks, and then again and again.
            now += away;
            while silence.look(now, limit) == Step::Wait {
                now += BETWEEN;
            }
            assert!(silence.asked);
            let asked_at = now;
            loop {
                now += BETWEEN;
                match silence.look(now, limit) {
                    Step::Wait => {}
                    step => break assert_eq!(step, Step::Over),
                }
            }
            assert_eq!(now - asked_at, limit / ASK_AFTER * (ASK_AFTER - 1), "away for {away:?}");
            silence = Silence::default();
        }
    }
}
