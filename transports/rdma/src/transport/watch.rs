//! Monitoring peers with several paths: silence, probing paths that are down, the links.

use super::Rdma;
use super::loss::Sign;
use crate::header::RailLife;
use crate::path::Path;
use crate::peers::Peer;
use lapis_core::transport::{FailoverTrouble, PeerId};
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(1);
/// So long nothing is heard of a peer that owes something, then all paths are asked.
const QUIET: Duration = Duration::from_millis(10);
/// So much later than another path one may answer, besides the time that what is under way on it
/// takes.
const GRACE: Duration = Duration::from_millis(5);
/// So long a connection may take before all paths are asked.
const CONNECTED: Duration = Duration::from_secs(1);
/// After so long without any answer all are asked again: the peer computes.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// So long after a path was left its transfers may end by themselves.
const LINGER: Duration = Duration::from_millis(2);
/// So long a rail that a peer has left stays open for others that no other rail reaches.
const NEEDED: Duration = Duration::from_secs(1);
/// So long all paths fail until that counts as the peer's end.
const LOSS: Duration = Duration::from_millis(500);

impl Rdma {
    /// From now on a peer with several paths is looked after, until nothing is under way and all
    /// are up.
    #[inline]
    pub(super) fn watch(&mut self, peer: PeerId) {
        if let Some(p) = self.peers.get_mut(peer)
            && p.fails_over()
            && p.met
            && !std::mem::replace(&mut p.watched, true)
        {
            p.news = None;
            self.watched.push(peer);
        }
    }

    /// Something is to be exchanged with a peer, or is `asked` to be.
    #[cold]
    pub(super) fn meet(&mut self, peer: PeerId, asked: bool) {
        if let Some(p) = self.peers.get_mut(peer).filter(|_| asked) {
            p.met = true;
            self.watch(peer);
        }
    }

    /// Checks the peers that need it, if it is time.
    #[inline]
    pub(super) fn check_paths(&mut self) {
        if self.links.is_due() {
            self.check_links();
        }
        if self.stripes.has_ready() {
            self.begin_pieces();
        }
        if self.watched.is_empty() {
            return;
        }
        let now = Instant::now();
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.check_watched(now);
        }
    }

    #[cold]
    fn check_watched(&mut self, now: Instant) {
        for (about, since) in std::mem::take(&mut self.to_renew) {
            let RailLife { rail, life } = about;
            if self.rails[rail].closed || self.rails[rail].life != life {
                continue;
            }
            if self.is_needed(rail) && now < since + NEEDED {
                self.to_renew.push((about, since));
            } else {
                self.renew(rail, "a peer has left it");
            }
        }
        let is_time = now >= self.next_opening;
        for rail in 0..self.rails.len() {
            let shut = self.rails[rail].closed && !self.rails[rail].broken;
            if shut && self.links.is_up(rail) && is_time {
                self.next_opening = now + Duration::from_millis(100);
                self.renew(rail, "it is tried again");
            }
        }
        for at in (0..self.watched.len()).rev() {
            let peer = self.watched[at];
            if !self.check_peer(peer, now) {
                self.watched.swap_remove(at);
                if let Some(p) = self.peers.get_mut(peer) {
                    p.watched = false;
                }
            }
        }
    }

    /// Whether a rail may be the only way for a peer to reach this task: no path over another one
    /// is up. If both ends of all paths were closed at the same time, neither could announce its
    /// address.
    fn is_needed(&self, rail: usize) -> bool {
        let alive = |p: &&Peer| p.met && !p.down && p.fails_over();
        let mut peers = (0..self.peers.len() as u32).filter_map(|peer| self.peers.get(peer)).filter(alive);
        let has_other = |p: &Peer| p.paths.iter().any(|path| path.up && path.rail != rail);
        peers.any(|p| !has_other(p))
    }

    /// Whether the peer is to be monitored any longer.
    fn check_peer(&mut self, peer: PeerId, now: Instant) -> bool {
        self.send_kept(peer);
        let paths = self.peers.get_mut(peer).map_or(0, |p| p.paths.len());
        for at in 0..paths {
            self.announce_departure(peer, at);
            self.check_path(peer, at, now);
            self.send_pending_answer(peer, at);
        }
        self.check_for_silence(peer, now);
        self.check_for_loss(peer, now);
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return false };
        let connects = |path: &Path| path.connecting.is_some();
        let unsettled = |path: &Path| !path.up || path.unsafe_puts || path.owed.is_some() || connects(path);
        p.is_owed() || p.is_behind() || p.paths.iter().any(unsettled) || self.stripes.wait_for(peer)
    }

    /// A peer to which all paths have failed for a while is lost.
    fn check_for_loss(&mut self, peer: PeerId, now: Instant) {
        let Some(p) = self.peers.get(peer).filter(|p| !p.down) else { return };
        // A path that leads nowhere can't fail: one that does must be among them.
        let is_gone = |path: &Path| path.failed || path.address.is_empty() || self.rails[path.rail].broken;
        let has_failed = |path: &Path| {
            let long_ago = path.left.is_none_or(|left| now >= left + LOSS);
            !path.up && is_gone(path) && long_ago
        };
        if p.paths.iter().all(has_failed) && p.paths.iter().any(|path| path.failed) {
            self.give_up(peer, "all paths to it fail", true);
        }
    }

    /// What is under way on a path that is down must end; then it is tried. Puts that may still be
    /// carried out are ended by the peer, even if the path works again.
    fn check_path(&mut self, peer: PeerId, at: usize, now: Instant) {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        // A rail without another path stays where peers know it to be.
        let another = p.paths.iter().any(|path| path.up);
        let path = &mut p.paths[at];
        if path.up && !path.unsafe_puts {
            return;
        }
        let (rail, up, due) = (path.rail, path.up, now >= path.next_try);
        let lingers = !up && another && path.left.is_some_and(|left| now >= left + LINGER);
        if lingers && path.under_way > 0 && self.rails[rail].transfers.has_with(peer) {
            return self.renew(rail, "what is under way there does not end");
        }
        if !due {
            return;
        }
        let asked = !path.unsafe_puts && path.left.is_none() || self.request_address(peer, at);
        let Some(path) = self.peers.get_mut(peer).and_then(|p| p.paths.get_mut(at)) else { return };
        if asked {
            path.tried(now);
        } else {
            path.put_off(now);
        }
        if !up && self.links.is_up(rail) {
            self.probe(peer, at);
        }
    }

    fn check_for_silence(&mut self, peer: PeerId, now: Instant) {
        let connects = |p: &Peer| p.path().connecting.is_some_and(|since| now >= since + CONNECTED);
        let is_owed = self.peers.get(peer).is_some_and(|p| p.is_owed() || connects(p));
        let waits = is_owed || self.stripes.wait_for(peer);
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        if !waits {
            p.round.asked = None;
            p.news = None;
            return;
        }
        let Some(asked) = p.round.asked else {
            if now >= *p.news.get_or_insert(now) + QUIET {
                self.ask(peer, now);
            }
            return;
        };
        let number = p.round.number;
        let silent = |path: &&Path| path.up && path.answered != number;
        if p.paths.iter().filter(silent).count() == 0 {
            (p.round.asked, p.news) = (None, None);
            return;
        }
        let Some(first) = p.round.first else {
            if now >= asked + ASK_AGAIN {
                self.ask(peer, now);
            }
            return;
        };
        let late = |path: &&Path| {
            let time = path.finish(0, path.speed(now).unwrap_or(1.0));
            let needed = Duration::from_secs_f64(2e-6 * time.min(1e7));
            silent(path) && now >= first + GRACE + needed
        };
        if let Some(path) = p.paths.iter().find(late) {
            let (rail, connects) = (path.rail, path.connecting.is_some());
            if connects {
                self.say_silent(peer, rail);
            }
            self.leave(peer, rail, "it is silent while others answer", Sign::Dead);
        }
    }

    fn ask(&mut self, peer: PeerId, now: Instant) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        p.ask(now);
        for at in 0..p.paths.len() {
            if self.peers.get_mut(peer).is_some_and(|p| p.paths[at].up) {
                self.probe(peer, at);
            }
        }
    }

    /// Whether messages are under way that a path's failure would have to be sent again.
    pub(super) fn owes_anybody(&self) -> bool {
        let mut watched = self.watched.iter().filter_map(|peer| self.peers.get(*peer));
        watched.any(|p| !p.down && p.is_owed())
    }

    /// The kernel says that links went down or came back.
    #[cold]
    pub(super) fn check_links(&mut self) {
        let changes = match self.links.changes() {
            Ok(changes) => changes,
            Err(e) => {
                let text = format!(
                    "The kernel's news of the network links have ended ({e}). Paths that fail are left when they are silent."
                );
                return self.trouble(FailoverTrouble::Halted, text);
            }
        };
        for (rail, up) in changes {
            let state = if up { "up again" } else { "down" };
            let device = self.rails[rail].endpoint.domain_name();
            self.host.info(format_args!("{device} (rail {rail}): the link is {state}"));
            let now = Instant::now();
            for peer in 0..self.peers.len() as u32 {
                let several = self.peers.get_mut(peer).is_some_and(|p| p.fails_over());
                if several && !up {
                    self.leave(peer, rail, "the link is down", Sign::Dead);
                } else if let Some(path) = self.peers.get_mut(peer).and_then(|p| p.over(rail)) {
                    path.hurry(now);
                }
            }
        }
    }

    /// Has the user told of trouble with failover, if failover is wanted at all.
    pub(super) fn trouble(&mut self, trouble: FailoverTrouble, text: String) {
        if self.rails.len() > 1 {
            self.troubles.push(trouble, text);
        }
    }
}
