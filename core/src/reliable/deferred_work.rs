//! Deferred work: timers, and acknowledgements that are not urgent.

use super::Engine;
use super::auth::Authenticator;
use super::config::Nanos;

impl<A: Authenticator> Engine<A> {
    /// When [`on_timeout`](Self::on_timeout) is to be called at the latest, if nothing else
    /// happens. May be too early, never too late.
    #[must_use]
    pub fn next_timeout(&mut self) -> Option<Nanos> {
        self.set_timers();
        self.timers.next()
    }

    /// The peer's deadline may have changed.
    #[inline]
    pub(super) fn retime(&mut self, index: u32) {
        let peer = &mut self.peers[index as usize];
        if !peer.untimed {
            peer.untimed = true;
            self.untimed.push(index);
        }
    }

    fn set_timers(&mut self) {
        while let Some(index) = self.untimed.pop() {
            let peer = &mut self.peers[index as usize];
            peer.untimed = false;
            let deadline = peer.deadline(&self.shared.config);
            self.timers.set(deadline, index, &mut peer.scheduled);
        }
    }

    /// Whether acknowledgements may be put off while little is under way, for a caller who is in a
    /// hurry to see what else arrived and will [catch up](Self::catch_up) soon.
    pub fn postpone_acks(&mut self, may: bool) {
        self.shared.postpones_acks = may;
    }

    /// Whether an acknowledgement was put off.
    #[must_use]
    #[inline]
    pub fn is_behind(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Takes what was put off.
    pub fn catch_up(&mut self) {
        while let Some(index) = self.behind.pop() {
            let peer = &mut self.peers[index as usize];
            peer.catch_up(&mut self.shared);
            if peer.wants_to_send() && !peer.ready {
                peer.ready = true;
                self.ready.push_back(index);
            }
            self.retime(index);
        }
    }

    /// Runs the timers that are due.
    pub fn on_timeout(&mut self, now: Nanos) {
        self.catch_up();
        self.set_timers();
        while let Some((at, index)) = self.timers.pop(now) {
            let peer = &mut self.peers[index as usize];
            if peer.scheduled != at {
                continue;
            }
            peer.scheduled = Nanos::MAX;
            if peer.on_timeout(now, &mut self.shared) && peer.wants_to_send() && !peer.ready {
                peer.ready = true;
                self.ready.push_back(index);
            }
            // What is due at this moment was done; whatever is left waits for the next one.
            let deadline = peer.deadline(&self.shared.config).max(now + 1);
            self.timers.set(deadline, index, &mut peer.scheduled);
        }
        let peers = &self.peers;
        self.timers.tidy(peers.len(), |index| peers[index as usize].scheduled);
    }

    /// Asks again for what is unanswered for longer than the round trips explain, however far the
    /// timers have grown.
    pub fn check_unanswered(&mut self, now: Nanos) {
        self.catch_up();
        for (index, peer) in (0..).zip(&mut self.peers) {
            if peer.check_unanswered(now, &mut self.shared) && !peer.ready {
                peer.ready = true;
                self.ready.push_back(index);
            }
        }
    }
}
