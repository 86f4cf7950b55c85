//! Paths that fail and come back. docs/rdma.md draws who tells whom what.

use super::Rdma;
use super::loss::Sign;
use crate::header::{Kind, RailLife};
use crate::send::Refused;
use lapis_core::transport::{FailoverTrouble, PeerId};
use std::time::Instant;

impl Rdma {
    /// The path to a peer over a rail of ours carries nothing any more: what is under way takes
    /// others. A peer to which none is left is lost if this one failed with an error; otherwise what
    /// is to be sent waits until one works again.
    #[cold]
    pub(super) fn leave(&mut self, peer: PeerId, rail: usize, why: &str, sign: Sign) {
        let now = Instant::now();
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        if !p.has_several() {
            return self.give_up(peer, why, true);
        }
        let Some(at) = p.paths.iter().position(|path| path.rail == rail && path.up) else { return };
        p.paths[at].leave(now);
        p.end_round();
        let others = p.paths.iter().position(|path| path.up);
        let left = p.paths.iter().filter(|path| path.up).count();
        self.rails[rail].sender.forget(peer);
        match others {
            None if sign == Sign::Error => return self.give_up(peer, why, true),
            Some(other) if p.current == at => p.turn_to(other),
            None => p.send_again(),
            Some(_) => {}
        }
        let device = self.rails[rail].endpoint.domain_name();
        self.host.info(format_args!(
            "the path to task {peer} over {device} (rail {rail}) has failed: {why}; {left} left"
        ));
        if left == 0 && !std::mem::replace(&mut self.cut_off, true) {
            self.trouble(
                FailoverTrouble::Halted,
                format!(
                    "No path to task {peer} is left. What is to be sent waits until one works again. (The last was over \
                     {device}: {why}.)"
                ),
            );
        }
        self.watch(peer);
        self.send_kept(peer);
    }

    /// A path has answered: it is used again.
    pub(super) fn take_back(&mut self, peer: PeerId, rail: usize) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        let Some(at) = p.paths.iter().position(|path| path.rail == rail) else { return };
        let was_left = p.paths[at].left.is_some();
        p.paths[at].take_back();
        if !p.path().up {
            p.turn_to(at);
        }
        if was_left {
            let device = self.rails[rail].endpoint.domain_name();
            self.host
                .info(format_args!("the path to task {peer} over {device} (rail {rail}) works again"));
        }
        self.cut_off = false;
        self.send_kept(peer);
    }

    /// Sends kept messages to a peer again, as far as there is room.
    pub(super) fn send_kept(&mut self, peer: PeerId) {
        loop {
            let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down && p.path().up) else { return };
            let (rail, to) = p.way();
            let Some((header, bytes)) = p.next_again(self.me.task) else { return };
            let r = &mut self.rails[rail];
            match r.sender.send(&mut r.endpoint, (peer, to), header, [bytes, &[]]) {
                Ok(()) => p.count_again(),
                Err(Refused::Busy) => return,
                Err(Refused::Failed(code)) => {
                    let why = self.rails[rail].endpoint.text(code);
                    return self.leave(peer, rail, &why, Sign::Error);
                }
            }
        }
    }

    /// Closes a rail of ours and opens it anew: nothing that is under way there reads or writes
    /// memory any more, whoever began it. Peers find it at another address.
    #[cold]
    pub(super) fn renew(&mut self, rail: usize, why: &str) {
        let mut ended = Vec::new();
        if !self.rails[rail].closed {
            self.host.info(format_args!("rail {rail} is opened anew: {why}"));
        }
        self.rails[rail].close(libc::ECONNABORTED, |one| ended.push(one));
        for peer in 0..self.peers.len() as u32 {
            self.leave(peer, rail, why, Sign::Other);
        }
        for one in ended {
            if let Some(event) = self.moved(rail, one) {
                self.early.push_back(event);
            }
        }
        if let Err(e) = self.rails[rail].reopen() {
            self.host.info(format_args!("rail {rail} does not open: {e}"));
            return;
        }
        self.post_buffers();
        for peer in 0..self.peers.len() as u32 {
            if self.peers.get_mut(peer).is_some_and(|p| p.has_several()) {
                self.say_where(peer, rail);
            }
        }
    }

    /// Tells a peer where a rail of ours is.
    fn say_where(&mut self, peer: PeerId, rail: usize) {
        let r = &self.rails[rail];
        if !r.closed {
            let life = RailLife { rail, life: r.life }.encode();
            let address = r.entry.address.clone();
            self.say(peer, Kind::Moved, [&life, &address]);
        }
    }

    /// Sends a message of this transport's own by the path that messages take. It may be lost with
    /// the path: whoever needs an answer asks again.
    fn say(&mut self, peer: PeerId, kind: Kind, parts: [&[u8]; 2]) {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down && p.path().up) else { return };
        let (rail, to) = p.way();
        let head = p.header(self.me.task, kind, (parts[0].len() + parts[1].len()) as u32);
        let r = &mut self.rails[rail];
        if let Err(Refused::Failed(code)) = r.sender.send(&mut r.endpoint, (peer, to), head, parts) {
            let why = self.rails[rail].endpoint.text(code);
            self.leave(peer, rail, &why, Sign::Error);
        }
    }

    /// Asks over one path whether it works.
    pub(super) fn probe(&mut self, peer: PeerId, at: usize) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        let (rail, to) = (p.paths[at].rail, p.paths[at].to);
        let r = &mut self.rails[rail];
        if r.closed {
            return;
        }
        let life = RailLife { rail, life: r.life }.encode();
        let mut head = p.header(self.me.task, Kind::Probe, life.len() as u32);
        head.number = p.round.number;
        let outcome = r.sender.slip(&mut r.endpoint, to, head, &life);
        if let Err(Refused::Failed(code)) = outcome
            && p.paths[at].up
        {
            let why = r.endpoint.text(code);
            self.leave(peer, rail, &why, Sign::Error);
        }
    }

    /// Asks a peer where its end of a path is, which is down. If puts of ours may be on their way to
    /// it, that end is to be closed first.
    pub(super) fn ask_where(&mut self, peer: PeerId, at: usize) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        let path = &p.paths[at];
        let kind = if path.unsafe_puts { Kind::Leave } else { Kind::Where };
        let life = RailLife { rail: path.theirs, life: path.life }.encode();
        self.say(peer, kind, [&life, &[]]);
    }

    /// A peer's message about paths, which came over a rail.
    #[cold]
    pub(super) fn hear(&mut self, peer: PeerId, rail: usize, kind: Kind, number: u32, payload: &[u8]) {
        if kind == Kind::Answer {
            return self.answered(peer, rail, number);
        }
        let Some((about, rest)) = RailLife::decode(payload) else { return };
        match kind {
            Kind::Probe => self.answer(peer, rail, number, about),
            Kind::Where | Kind::Leave => {
                let Some(r) = self.rails.get(about.rail) else { return };
                if kind == Kind::Leave && r.life == about.life && !r.closed {
                    self.renew(about.rail, &format!("task {peer} has left it"));
                }
                self.say_where(peer, about.rail);
            }
            Kind::Moved => self.peer_moved(peer, about, rest),
            _ => {}
        }
    }

    /// Answers a question over the path that it came by.
    fn answer(&mut self, peer: PeerId, rail: usize, number: u32, about: RailLife) {
        let now = Instant::now();
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        let mut head = p.header(self.me.task, Kind::Answer, 0);
        head.number = number;
        let Some(path) = p.over(rail) else { return };
        if !path.up {
            path.hurry(now);
        }
        let (to, known) = (path.to, path.life);
        let r = &mut self.rails[rail];
        if about.life > known {
            // What it asks over has another address than we know.
            let life = RailLife { rail: about.rail, life: known }.encode();
            self.say(peer, Kind::Where, [&life, &[]]);
        } else if !r.closed {
            // If it gets lost the question comes again.
            let _ = r.sender.slip(&mut r.endpoint, to, head, &[]);
        }
        self.watch(peer);
    }

    fn answered(&mut self, peer: PeerId, rail: usize, number: u32) {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        if number != p.round.number {
            return;
        }
        let is_current = p.path().rail == rail;
        if p.round.asked.is_some() && p.round.first.is_none() {
            p.round.first = Some(Instant::now());
        }
        // What was sent before the question has come, or never will.
        let lost = is_current && p.round.asked.is_some() && p.has_lost_some() && !p.is_behind();
        let Some(path) = p.over(rail) else { return };
        path.answered = number;
        if !path.up && self.links.is_up(rail) {
            return self.take_back(peer, rail);
        }
        if lost && !self.rails[rail].sender.has_under_way(peer) {
            self.host.debug(format_args!("messages to task {peer} were lost on the way: they go again"));
            p.send_again();
            self.send_kept(peer);
        }
    }

    /// A peer has opened a rail of its anew.
    fn peer_moved(&mut self, peer: PeerId, about: RailLife, address: &[u8]) {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        let RailLife { rail: theirs, life } = about;
        let Some(path) = p.paths.iter().find(|path| path.theirs == theirs) else { return };
        if life <= path.life || self.rails[path.rail].closed {
            return;
        }
        let rail = path.rail;
        self.leave(peer, rail, "the peer has opened its end anew", Sign::Other);
        let r = &mut self.rails[rail];
        let Ok(to) = r.endpoint.insert(address) else { return };
        let is_used = r.transfers.has_with(peer) || r.sender.has_under_way(peer);
        let Some(path) = self.peers.get_mut(peer).and_then(|p| p.over(rail)) else { return };
        let old = std::mem::replace(&mut path.to, to);
        (path.life, path.greeted, path.unsafe_puts) = (life, false, false);
        path.hurry(Instant::now());
        if !is_used {
            self.rails[rail].endpoint.remove(old);
        }
    }
}
