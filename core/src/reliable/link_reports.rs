//! What the caller reports of the links behind paths.

use super::Engine;
use super::auth::Authenticator;
use super::events::Event;
use super::path::{Path, PathState, Reported};
use super::peer::Peer;
use super::shared::Shared;
use super::submission::PeerError;

impl<A: Authenticator> Engine<A> {
    /// News of a path from elsewhere, such as the link state: it is down and to be left at once, or
    /// up again. Then it is worth a probe, or, if no other path is up, trusted at once.
    pub fn hint_path(&mut self, peer: u32, path: u8, up: bool) -> Result<(), PeerError> {
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let state = &mut self.peers[index as usize];
        let at = state.path_at(path).ok_or(PeerError::Paths { peer, count: state.paths.len() })?;
        if up {
            state.link_is_up(at);
        } else {
            state.link_is_down(at, &mut self.shared);
        }
        state.trust_reports(&mut self.shared);
        if !state.ready {
            state.ready = true;
            self.ready.push_back(index);
        }
        Ok(())
    }
}

impl Peer {
    fn link_is_up(&mut self, at: usize) {
        let path = &mut self.paths[at];
        if !path.is_up() {
            path.probes = path.probes.max(1);
            if path.reported == Reported::Down {
                path.reported = Reported::UpAgain;
            }
        }
    }

    fn link_is_down(&mut self, at: usize, shared: &mut Shared) {
        self.suspect(at, shared);
        let path = &mut self.paths[at];
        path.reported = Reported::Down;
        path.reported_at = path.next_number;
    }

    /// Without a path that is up, those whose links came back are taken at their word. Links may
    /// change faster than the peer answers; then no probe's answer would ever count.
    fn trust_reports(&mut self, shared: &mut Shared) {
        if self.paths.iter().any(Path::is_up) {
            return;
        }
        for at in 0..self.paths.len() {
            if self.paths[at].reported == Reported::UpAgain {
                // Timeouts while it was down say nothing of how soon it answers now.
                self.paths[at].timeouts = 0;
                self.comes_back(at, shared);
            }
        }
    }

    /// Whether data and acknowledgements may take a path: one that is up; or any while none is, but
    /// one whose link is down only where all are.
    #[inline]
    pub(super) fn may_carry(&self, at: usize) -> bool {
        let is_down = |path: &Path| path.reported == Reported::Down;
        let path = &self.paths[at];
        path.is_up()
            || !self.paths.iter().any(Path::is_up) && (!is_down(path) || self.paths.iter().all(is_down))
    }

    /// A path that was left is up.
    pub(super) fn comes_back(&mut self, at: usize, shared: &mut Shared) {
        let before = (self.max_payload(), self.is_on_standby());
        let path = &mut self.paths[at];
        path.state = PathState::Up;
        path.reported = Reported::Nothing;
        shared.events.push_back(Event::PathUp { peer: self.task, path: path.id });
        self.tell_carriers(before, shared);
        // What waits on paths that are still down can now go this way.
        for other in 0..self.paths.len() {
            if !self.paths[other].is_up() {
                self.give_up_all(other, shared);
            }
        }
    }
}
