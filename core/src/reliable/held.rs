//! Paths whose last datagrams the caller still has, because the system has no room for them.

use super::Engine;
use super::auth::Authenticator;
use super::peer::Peer;

impl<A: Authenticator> Engine<A> {
    /// The system has no room for the datagrams that [`poll_transmit`](Engine::poll_transmit) gave
    /// last for this path, and the caller keeps them: nothing more is written for it until it is
    /// [released](Self::release).
    #[cold]
    pub fn hold(&mut self, peer: u32, path: u8) {
        self.set_held(peer, path, true);
    }

    /// The datagrams that were kept have been sent, or given up.
    #[cold]
    pub fn release(&mut self, peer: u32, path: u8) {
        self.set_held(peer, path, false);
    }

    fn set_held(&mut self, peer: u32, path: u8, held: bool) {
        let Some(index) = self.index.get(peer) else { return };
        let state = &mut self.peers[index as usize];
        let Some(at) = state.path_at(path) else { return };
        state.paths[at].held = held;
        if !state.ready && state.wants_to_send() {
            state.ready = true;
            self.ready.push_back(index);
        }
    }
}

impl Peer {
    /// A path that is up and not held.
    pub(super) fn any_free(&self) -> Option<usize> {
        self.paths.iter().position(|path| path.is_up() && !path.held)
    }

    /// A path that may be written to, this one if possible: another one that is up otherwise.
    pub(super) fn free_or_other(&self, at: usize) -> Option<usize> {
        if self.paths[at].is_up() && !self.paths[at].held {
            return Some(at);
        }
        self.any_free().or_else(|| (!self.paths[at].held).then_some(at))
    }
}
