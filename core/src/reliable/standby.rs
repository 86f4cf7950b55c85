//! Standby paths: they carry data only while no other path to their peer does.
//!
//! A peer's paths are its regular ones, then the standby ones. Its *carriers* are those that data
//! may take: the regular paths while one of them is up, the standby ones otherwise. If a peer has
//! only standby paths there is nothing to stand in for, and they count as regular ones.
//!
//! A standby path is asked for nothing as long as it is not needed. If a regular path is silent, it
//! is asked as other paths are, whether the peer answers at all (`loss_recovery.rs`). Without an
//! answer there data stays where it is: a peer that is busy is silent everywhere.

use super::Engine;
use super::auth::Authenticator;
use super::config::EngineConfig;
use super::events::Event;
use super::path::{Path, PathInfo, PathState};
use super::peer::Peer;
use super::shared::Shared;
use super::submission::PeerError;
use std::ops::Range;

/// Which paths beside one are up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OthersUp {
    None,
    /// Among others, one of the same kind: regular, or standby.
    Alike,
    /// Only such of the other kind.
    Unlike,
}

impl Peer {
    /// The paths that data may take, as far as they are up.
    #[inline]
    pub(super) fn carriers(&self) -> Range<usize> {
        if self.is_on_standby() { self.regular..self.paths.len() } else { 0..self.regular }
    }

    /// Whether there are standby paths, and no other one is up.
    #[inline]
    pub(super) fn is_on_standby(&self) -> bool {
        self.regular < self.paths.len() && !self.paths[..self.regular].iter().any(Path::is_up)
    }

    /// Adds a path.
    pub(super) fn insert_path(&mut self, info: PathInfo, config: &EngineConfig) {
        self.put_path(Path::new(info, config));
    }

    fn put_path(&mut self, path: Path) {
        let at = if path.standby { self.paths.len() } else { self.count_regular() };
        self.paths.insert(at, path);
        self.set_regular();
    }

    fn count_regular(&self) -> usize {
        self.paths.iter().take_while(|path| !path.standby).count()
    }

    fn set_regular(&mut self) {
        let regular = self.count_regular();
        self.regular = if regular == 0 { self.paths.len() } else { regular };
    }

    pub(super) fn others_up(&self, at: usize) -> OthersUp {
        let regular = at < self.regular;
        let mut others = OthersUp::None;
        for (other, path) in self.paths.iter().enumerate() {
            if other != at && path.is_up() {
                if (other < self.regular) == regular {
                    return OthersUp::Alike;
                }
                others = OthersUp::Unlike;
            }
        }
        others
    }

    /// Says so if other paths carry data than `before`, or if units may be larger or smaller:
    /// [`max_payload`](Self::max_payload) and [`is_on_standby`](Self::is_on_standby) as they were.
    pub(super) fn tell_carriers(&mut self, before: (usize, bool), shared: &mut Shared) {
        let on = self.is_on_standby();
        if on != before.1 {
            shared.events.push_back(Event::Standby { peer: self.task, on });
        }
        self.tell_room(before.0, shared);
    }
}

impl<A: Authenticator> Engine<A> {
    /// Takes a path away from a peer that keeps others. What was on its way there is sent again.
    pub fn remove_path(&mut self, peer: u32, path: u8) -> Result<(), PeerError> {
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let state = &mut self.peers[index as usize];
        let found = state.path_at(path).filter(|_| state.paths.len() > 1);
        let at = found.ok_or(PeerError::Paths { peer, count: state.paths.len() })?;
        let before = (state.max_payload(), state.is_on_standby());
        state.give_up_all(at, &self.shared);
        state.paths.remove(at);
        state.set_regular();
        state.tell_carriers(before, &mut self.shared);
        if !state.ready {
            state.ready = true;
            self.ready.push_back(index);
        }
        Ok(())
    }

    /// Makes a path a regular or a standby one, as its peer has it in a new life.
    pub fn set_kind(&mut self, peer: u32, info: PathInfo) -> Result<(), PeerError> {
        let index = self.index.get(peer).ok_or(PeerError::Unknown(peer))?;
        let state = &mut self.peers[index as usize];
        let at = state.path_at(info.path_id).ok_or(PeerError::Paths { peer, count: state.paths.len() })?;
        if state.paths[at].info().standby == info.standby {
            return Ok(());
        }
        let before = (state.max_payload(), state.is_on_standby());
        let mut path = state.paths.remove(at);
        path.standby = info.standby.is_some();
        path.rail = info.standby.unwrap_or(info.path_id);
        state.put_path(path);
        state.tell_carriers(before, &mut self.shared);
        if !state.ready {
            state.ready = true;
            self.ready.push_back(index);
        }
        Ok(())
    }

    /// Whether the path that units prefer by this number is trusted with data. Standby paths are
    /// not among these, unless there are no others.
    #[must_use]
    pub fn rail_state(&self, peer: u32, rail: u8) -> Option<PathState> {
        let peer = &self.peers[self.index.get(peer)? as usize];
        let found = peer.paths[..peer.regular].iter().find(|path| path.rail == rail);
        found.map(|path| path.state)
    }

    /// Whether a path stands in for others.
    #[must_use]
    pub fn stands_in(&self, peer: u32, path: u8) -> bool {
        let Some(index) = self.index.get(peer) else { return false };
        let peer = &self.peers[index as usize];
        peer.path_at(path).is_some_and(|at| at >= peer.regular)
    }

    /// Whether a peer has no other paths than standby ones.
    #[must_use]
    pub fn has_only_standby(&self, peer: u32) -> bool {
        let place = self.index.get(peer);
        place.is_some_and(|index| self.peers[index as usize].paths.iter().all(|path| path.standby))
    }
}
