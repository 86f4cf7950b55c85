//! Unauthenticated connections, and how they become members.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use super::super::address::{own_uid, peer};
use super::super::auth::{Channel, ROLE_SERVER, Transcript, random_secret};
use super::super::frame::Framed;
use super::super::key::Key;
use super::super::protocol::{Message, Scheme};
use super::super::store::ConnId;
use super::{Conn, Loop, ServerEvent, State};

/// Most connections at a time that have not proved themselves.
const MAX_STRANGERS: usize = 256;
/// Age at which a stranger may be closed in favour of a new one.
const STRANGER_AGE: Duration = Duration::from_millis(500);

impl Loop {
    pub(super) fn accept(&mut self, now: Instant) {
        // A bounded number per round, so that a flood of connections cannot starve the members.
        for _ in 0..32 {
            let strangers = self.strangers();
            if strangers.len() >= MAX_STRANGERS && !self.evict(&strangers, now) {
                self.accept_again = Some(now + Duration::from_millis(20));
                return;
            }
            match self.listener.accept() {
                Ok(fd) => self.greet(fd, now),
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => {}
                Err(error) => {
                    // Out of descriptors, most likely: a stranger's place is the one to give up.
                    if !self.evict(&strangers, now) {
                        tracing::warn!(%error, "the bootstrap server cannot accept a connection");
                        self.accept_again = Some(now + Duration::from_millis(20));
                        return;
                    }
                }
            }
        }
    }

    fn strangers(&self) -> Vec<(Instant, ConnId)> {
        let since = |(id, conn): (&ConnId, &Conn)| match conn.state {
            State::Stranger { since, .. } => Some((since, *id)),
            _ => None,
        };
        self.conns.iter().filter_map(since).collect()
    }

    fn evict(&mut self, strangers: &[(Instant, ConnId)], now: Instant) -> bool {
        match strangers.iter().min() {
            Some((since, id)) if now.duration_since(*since) >= STRANGER_AGE => {
                self.conns.remove(id).is_some()
            }
            _ => false,
        }
    }

    fn greet(&mut self, fd: OwnedFd, now: Instant) {
        let uid = peer(fd.as_fd()).map(|(user, _)| user);
        let related = match uid {
            Some(uid) => uid == own_uid() || uid == 0,
            None => !self.config.same_user,
        };
        if !related {
            (self.events)(ServerEvent::Refused { reason: format!("a connection of user {uid:?}") });
            return;
        }
        let Ok(nonce) = random_secret() else { return };
        let scheme = if self.config.same_user { Scheme::SameUser } else { Scheme::Secret };
        let mut link = Framed::new(fd);
        if link.push(&Message::Challenge { scheme, nonce }).is_err() || link.flush().is_err() {
            return;
        }
        let id = self.next_conn;
        self.next_conn += 1;
        self.conns.insert(id, Conn { link, state: State::Stranger { nonce, since: now } });
    }

    pub(super) fn admit(&mut self, id: ConnId, transcript: &Transcript, key: &Key, pid: u32) {
        let task = transcript.task;
        let member = match self.store.open(task, transcript.context, pid) {
            Ok(member) => member,
            Err(reason) => return self.refuse(id, reason),
        };
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let welcome = Message::Welcome {
            proof: transcript.prove(key, ROLE_SERVER),
            generation: member.space.1,
            rounds: member.rounds,
            job: self.config.job_id.clone(),
            secret: self.config.same_user.then_some(self.config.secret),
        };
        // A failure to send shows as a closed connection in the next round.
        let _ = conn.link.push(&welcome);
        let (to_server, to_client) = Channel::pair(key, transcript);
        conn.link.seal(to_client, to_server);
        let _ = conn.link.flush();
        conn.state = State::Member(member);
        self.members.insert(id, member);
        (self.events)(ServerEvent::Connected { task, pid });
    }
}
