//! Failover: paths that fail and return. docs/rdma.md draws the messages.

use super::Rdma;
use super::loss::Sign;
use crate::header::{Kind, LAST_NUMBER, RailLife};
use crate::send::Refused;
use crate::transfer::Ended;
use lapis_core::transport::{FailoverTrouble, PeerId, TransportError};
use std::time::Instant;

impl Rdma {
    /// The path to a peer over a rail of ours carries nothing any more: what is under way takes
    /// others. If none is left, what is to be sent waits until one works again, or until all have
    /// failed for a while.
    #[cold]
    pub(super) fn leave(&mut self, peer: PeerId, rail: usize, why: &str, sign: Sign) {
        let now = Instant::now();
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        if !p.fails_over() {
            return self.give_up(peer, why, true);
        }
        let Some(at) = p.paths.iter().position(|path| path.rail == rail && path.up) else { return };
        p.paths[at].leave(now, sign == Sign::Error);
        p.paths[at].to_say = sign != Sign::Told;
        p.end_round();
        p.paths[at].since = p.round.number;
        let others = p.paths.iter().position(|path| path.up);
        let left = p.paths.iter().filter(|path| path.up).count();
        // A rail of one end that is opened anew is found again at once.
        let halts = left == 0 && (p.has_several() || sign != Sign::Told);
        self.rails[rail].sender.forget(peer);
        match others {
            Some(other) if p.current == at => p.turn_to(other),
            None => p.send_again(),
            Some(_) => {}
        }
        let device = self.rails[rail].endpoint.domain_name();
        self.host.info(format_args!(
            "the path to task {peer} over {device} (rail {rail}) has failed: {why}; {left} left"
        ));
        if halts && !std::mem::replace(&mut self.cut_off, true) {
            self.trouble(
                FailoverTrouble::Halted,
                format!(
                    "No path to task {peer} is left. What is to be sent waits until one works again. (The last was over \
                     {device}: {why}.)"
                ),
            );
        }
        self.watch(peer);
        // Before what goes again: its answers should not take the path that was left.
        self.announce_departure(peer, at);
        self.send_kept(peer);
    }

    /// Tells a peer that the path was left, if that is still to be said: it may have no sign of its
    /// own, and would send over it until it finds it silent.
    pub(super) fn announce_departure(&mut self, peer: PeerId, at: usize) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        let Some(path) = p.paths.get_mut(at).filter(|path| path.to_say) else { return };
        let life = RailLife { rail: path.theirs, life: path.life }.encode();
        path.to_say = false;
        if !self.say(peer, Kind::Left, [&life, &[]])
            && let Some(p) = self.peers.get_mut(peer)
        {
            p.paths[at].to_say = !p.paths[at].up;
        }
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
            self.host.info(format_args!("the path to task {peer} over {device} (rail {rail}) works again"));
        }
        self.cut_off = false;
        self.send_kept(peer);
        self.tell_later(peer);
    }

    /// Sends kept messages to a peer again, as far as there is room.
    pub(super) fn send_kept(&mut self, peer: PeerId) {
        loop {
            let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down && p.path().up) else { return };
            let (rail, to) = p.way();
            let Some((header, bytes)) = p.next_again(self.me.task) else { return };
            let r = &mut self.rails[rail];
            match r.sender.send(&mut r.endpoint, (peer, to), &header, [bytes, &[]]) {
                Ok(()) => p.count_again(),
                Err(Refused::Busy) => return,
                Err(Refused::Failed(code)) => {
                    let why = self.rails[rail].endpoint.text(code);
                    return self.leave(peer, rail, &why, Sign::Error);
                }
            }
        }
    }

    /// Closes a rail of ours and opens it again: nothing that is under way there reads or writes
    /// memory any more, whoever began it. Peers find it at another address.
    #[cold]
    pub(super) fn renew(&mut self, rail: usize, why: &str) {
        if !self.rails[rail].closed {
            self.host.info(format_args!("rail {rail} is opened anew: {why}"));
        }
        let ended = self.close_rail(rail);
        for peer in 0..self.peers.len() as u32 {
            self.leave(peer, rail, why, Sign::Told);
        }
        for one in ended {
            if let Some(event) = self.moved(rail, one) {
                self.early.push_back(event);
            }
        }
        if let Err(e) = self.open_anew(rail) {
            self.host.debug(format_args!("rail {rail} does not open: {e}"));
        }
        self.announce_address_to_all(rail);
    }

    /// Closes a rail of ours; what was under way there. Its descriptor is open elsewhere, too, if
    /// the program has forked, and would end sleeps for ever.
    pub(super) fn close_rail(&mut self, rail: usize) -> Vec<Ended> {
        let (r, mut ended) = (&mut self.rails[rail], Vec::new());
        if let Some(fd) = r.endpoint.queue().fd() {
            self.bell.leave(fd);
        }
        if r.endpoint.holds_registrations() {
            self.memory.leave(rail);
        }
        r.close(libc::ECONNABORTED, |one| ended.push(one));
        ended
    }

    /// Tells all peers that have another path where a rail of ours is.
    pub(super) fn announce_address_to_all(&mut self, rail: usize) {
        for peer in 0..self.peers.len() as u32 {
            if self.peers.get_mut(peer).is_some_and(|p| p.fails_over()) {
                self.announce_address(peer, rail);
            }
        }
    }

    /// Opens a closed rail, which is to know the peers and to end sleeps again.
    fn open_anew(&mut self, rail: usize) -> Result<(), TransportError> {
        let tasks = self.peers.len();
        let r = &mut self.rails[rail];
        r.reopen(tasks)?;
        if let Some(fd) = r.endpoint.queue().fd().filter(|_| self.listens)
            && let Err(e) = self.bell.watch(fd)
        {
            // Nobody would be woken by what comes over it.
            self.close_rail(rail);
            return Err(TransportError::Io(format!("sleeping on the completion queue: {e}")));
        }
        for peer in 0..tasks as u32 {
            let path = self.peers.get_mut(peer).and_then(|p| p.over(rail));
            if let Some(path) = path.filter(|path| !path.address.is_empty()) {
                match r.insert(&path.address) {
                    Ok(to) => path.to = to,
                    // The peer is asked again where it is.
                    Err(_) => path.address = Box::default(),
                }
            }
        }
        Ok(())
    }

    /// Tells a peer where a rail of ours is.
    fn announce_address(&mut self, peer: PeerId, rail: usize) {
        let r = &self.rails[rail];
        let life = RailLife { rail, life: r.life }.encode();
        let address = if r.closed { Vec::new() } else { r.entry.address.clone() };
        self.say(peer, Kind::Moved, [&life, &address]);
    }

    /// Sends a message of this transport's own by the path that messages take. It may be lost with
    /// the path: whoever needs an answer asks again. False: there was no room.
    fn say(&mut self, peer: PeerId, kind: Kind, parts: [&[u8]; 2]) -> bool {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down && p.path().up) else { return true };
        let (rail, to) = p.way();
        let head = p.header(self.me.task, kind, (parts[0].len() + parts[1].len()) as u32);
        let r = &mut self.rails[rail];
        match r.sender.send(&mut r.endpoint, (peer, to), &head, parts) {
            Ok(()) => true,
            Err(Refused::Busy) => false,
            Err(Refused::Failed(code)) => {
                let why = self.rails[rail].endpoint.text(code);
                self.leave(peer, rail, &why, Sign::Error);
                true
            }
        }
    }

    /// Asks over one path whether it works.
    pub(super) fn probe(&mut self, peer: PeerId, at: usize) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        let (rail, to) = (p.paths[at].rail, p.paths[at].to);
        let r = &mut self.rails[rail];
        if r.closed || p.paths[at].address.is_empty() {
            return;
        }
        let life = RailLife { rail, life: r.life }.encode();
        let payload = [&life[..], &r.entry.address].concat();
        let mut head = p.header(self.me.task, Kind::Probe, payload.len() as u32);
        head.number = p.round.number;
        match r.sender.slip(&mut r.endpoint, to, head, &payload) {
            Ok(()) => p.paths[at].was_asked(),
            Err(Refused::Busy) => p.paths[at].excuse(p.round.number),
            Err(Refused::Failed(code)) => {
                p.paths[at].failed = true;
                let why = r.endpoint.text(code);
                self.leave(peer, rail, &why, Sign::Error);
            }
        }
    }

    /// Asks a peer where its end of a path is. If puts of ours may be on their way
    /// to it, that end is to be closed first. False: there was no room.
    pub(super) fn request_address(&mut self, peer: PeerId, at: usize) -> bool {
        let Some(p) = self.peers.get_mut(peer) else { return true };
        let path = &p.paths[at];
        let kind = if path.unsafe_puts { Kind::Leave } else { Kind::Where };
        let life = RailLife { rail: path.theirs, life: path.life }.encode();
        self.say(peer, kind, [&life, &[]])
    }

    /// Handles a peer's message about paths, which arrived over a rail.
    #[cold]
    pub(super) fn path_message_arrived(
        &mut self,
        peer: PeerId,
        rail: usize,
        kind: Kind,
        number: u32,
        payload: &[u8],
    ) {
        self.meet(peer, true);
        if kind == Kind::Answer {
            return self.probe_answered(peer, rail, number);
        }
        let Some((about, rest)) = RailLife::decode(payload) else { return };
        match kind {
            Kind::Probe => self.answer_probe(peer, rail, number, (about, rest)),
            Kind::Where | Kind::Leave => {
                let Some(r) = self.rails.get(about.rail) else { return };
                if kind == Kind::Leave && r.life == about.life {
                    // Events of this poll may lie in its buffers: it is closed at the next.
                    let is_known = self.to_renew.iter().any(|(known, _)| *known == about);
                    if !is_known {
                        self.to_renew.push((about, Instant::now()));
                    }
                    self.watch(peer);
                } else {
                    self.announce_address(peer, about.rail);
                }
            }
            Kind::Moved => self.peer_moved(peer, about, rest),
            Kind::Left if self.rails.get(about.rail).is_some_and(|r| r.life == about.life) => {
                self.leave(peer, about.rail, "the peer has left it", Sign::Told);
            }
            _ => {}
        }
    }

    /// Answers a probe over the path that it came by. The probe contains the peer's address, which
    /// may have changed.
    fn answer_probe(&mut self, peer: PeerId, rail: usize, number: u32, (about, address): (RailLife, &[u8])) {
        let Some(path) = self.peers.get_mut(peer).and_then(|p| p.over(rail)) else { return };
        if path.theirs == about.rail && !address.is_empty() {
            self.peer_moved(peer, about, address);
        }
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        let Some(at) = p.paths.iter().position(|path| path.rail == rail) else { return };
        let path = &mut p.paths[at];
        if !path.up {
            path.hurry(Instant::now());
        }
        // A probe of an older incarnation needs no answer.
        if about.life >= path.life && !path.address.is_empty() {
            path.owed = Some(number);
            self.send_pending_answer(peer, at);
        }
        self.watch(peer);
    }

    /// Answers a pending probe, if there is room.
    pub(super) fn send_pending_answer(&mut self, peer: PeerId, at: usize) {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        let Some(number) = p.paths[at].owed.take() else { return };
        let mut head = p.header(self.me.task, Kind::Answer, 0);
        head.number = number;
        let path = &mut p.paths[at];
        let r = &mut self.rails[path.rail];
        // If it gets lost, the probe is repeated.
        if !r.closed && r.sender.slip(&mut r.endpoint, path.to, head, &[]) == Err(Refused::Busy) {
            path.owed = Some(number);
        }
    }

    fn probe_answered(&mut self, peer: PeerId, rail: usize, number: u32) {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        let (round, is_current) = (p.round.number, p.path().rail == rail);
        let Some(path) = p.over(rail) else { return };
        if !path.up {
            // Numbers go round.
            let is_late = number.wrapping_sub(path.since) & LAST_NUMBER > LAST_NUMBER / 2;
            if !is_late && self.links.is_up(rail) {
                self.take_back(peer, rail);
            }
            return;
        }
        if number != round || p.round.asked.is_none() {
            return;
        }
        if let Some(path) = p.over(rail) {
            path.answered = number;
        }
        p.round.first.get_or_insert_with(Instant::now);
        // What was sent before the question has come, or never will.
        if is_current && p.has_lost_some() && !p.is_behind() && !self.rails[rail].sender.has_in_flight(peer) {
            self.host.debug(format_args!("messages to task {peer} were lost on the way: they go again"));
            p.send_again();
            self.send_kept(peer);
        }
    }

    /// A peer has closed a rail of its, or opened it again.
    fn peer_moved(&mut self, peer: PeerId, about: RailLife, address: &[u8]) {
        let Some(p) = self.peers.get_mut(peer).filter(|p| !p.down) else { return };
        let RailLife { rail: theirs, life } = about;
        let Some(path) = p.paths.iter().find(|path| path.theirs == theirs) else { return };
        let is_news = life > path.life || life == path.life && path.address.is_empty();
        if !is_news || (life, address) == (path.life, &path.address) {
            return;
        }
        let rail = path.rail;
        self.leave(peer, rail, "the peer has closed its end", Sign::Told);
        let Some(path) = self.peers.get_mut(peer).and_then(|p| p.over(rail)) else { return };
        let (old, was_known) = (path.to, !path.address.is_empty());
        (path.life, path.greeted, path.unsafe_puts) = (life, false, false);
        path.owed = None;
        path.address = address.into();
        path.hurry(Instant::now());
        let r = &mut self.rails[rail];
        if r.closed {
            return;
        }
        let is_used = r.transfers.has_with(peer) || r.sender.has_in_flight(peer);
        if !address.is_empty() {
            let Ok(to) = r.insert(address) else {
                path.address = Box::default();
                return;
            };
            path.to = to;
        }
        if was_known && !is_used {
            r.endpoint.remove(old);
        }
    }
}
