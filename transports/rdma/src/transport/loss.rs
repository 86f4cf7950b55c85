//! Peers that can't be reached any more, and an endpoint that can't be used any more.

use super::Rdma;
use crate::endpoint::is_busy;
use crate::header::Kind;
use crate::send::Refused;
use lapis_core::transport::PeerId;
use std::time::{Duration, Instant};

/// How often receive buffers are refused, all of them and one poll after the other, until that
/// counts as the end of the endpoint.
const REFUSALS: u32 = 1000;

/// How it is known that a path has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Something that went over it failed.
    Error,
    /// Its link is down, or it is silent.
    Dead,
    /// The peer has left it or closed its end; or this end is closed, of which the peer hears by
    /// itself.
    Told,
}

/// How long a peer is tried to be told that it was given up.
const NEWS: Duration = Duration::from_millis(500);

impl Rdma {
    /// A peer can't be reached any more, with libfabric's error number.
    #[cold]
    pub(super) fn lose(&mut self, peer: PeerId, code: i32) {
        let text = self.text(code);
        self.give_up(peer, &text, true);
    }

    /// A message to a peer has failed on a rail: the path, or the peer if it has no other, is lost.
    #[cold]
    pub(super) fn send_failed(&mut self, peer: PeerId, rail: usize, code: i32) {
        let text = self.text(code);
        self.leave(peer, rail, &text, Sign::Error);
    }

    /// Whether another process has taken the place of the peer to which this cookie of ours was.
    pub(super) fn was_replaced(&self, peer: PeerId, cookie: u64) -> bool {
        self.peers.get(peer).is_some_and(|p| p.our_cookie != cookie)
    }

    /// libfabric's words for an error number.
    pub(super) fn text(&self, code: i32) -> String {
        self.rails[0].endpoint.text(code)
    }

    /// Nothing is sent to a peer any more; it is `told` so, as far as it can be, because it may
    /// wait for messages that will not come.
    #[cold]
    pub(super) fn give_up(&mut self, peer: PeerId, why: &str, told: bool) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        if std::mem::replace(&mut p.down, true) {
            return;
        }
        p.why = Some(why.into());
        p.to_be_told = told.then(|| Instant::now() + NEWS);
        self.host.info(format_args!("task {peer} is lost: {why}"));
        self.lost.push_back(peer);
        // What waits must not go behind what failed.
        self.rails.iter_mut().for_each(|rail| rail.sender.forget(peer));
        self.to_tell.retain(|behind| *behind != peer);
        if told {
            self.news.push(peer);
        }
        self.abandon_stripes(peer);
    }

    /// Tells peers that they were given up. libfabric may be making a connection for that, which is
    /// waited for a moment; a peer that can't be told learns of it by its TIMEOUT.
    #[inline]
    pub(super) fn spread_news(&mut self) {
        if !self.news.is_empty() {
            self.try_news();
        }
    }

    #[cold]
    fn try_news(&mut self) {
        let Self { news, peers, rails, me, .. } = self;
        news.retain(|&peer| {
            let Some(p) = peers.get_mut(peer) else { return false };
            let head = p.header(me.task, Kind::GivenUp, 0);
            let (rail, to) = p.way();
            let r = &mut rails[rail];
            let busy = !r.closed && r.sender.slip_header(&mut r.endpoint, to, head) == Err(Refused::Busy);
            busy && p.to_be_told.is_some_and(|end| Instant::now() < end)
        });
    }

    /// A message of a peer is missing: nothing behind it may be taken.
    #[cold]
    pub(super) fn tear(&mut self, peer: PeerId, number: u32) {
        let Some(p) = self.peers.get_mut(peer) else { return };
        p.torn = true;
        let why = format!("messages of its before number {number} were lost on the way");
        self.give_up(peer, &why, true);
    }

    /// A rail can't be used any more: everything under way there ends, and peers that it alone
    /// reaches are lost.
    #[cold]
    pub(super) fn fail(&mut self, rail: usize, what: &str, code: i32) {
        if std::mem::replace(&mut self.rails[rail].broken, true) {
            return;
        }
        let text = self.text(code);
        let r = &self.rails[rail];
        let all = self.rails.iter().all(|rail| rail.broken);
        let whom = if all { "no task can be reached over it any more" } else { "other rails take its place" };
        self.host.error(format_args!(
            "{what} of provider {}, domain {}, failed: {text}: {whom}",
            r.endpoint.provider(),
            r.endpoint.domain_name()
        ));
        for peer in 0..self.peers.len() as u32 {
            self.leave(peer, rail, &text, Sign::Error);
            if all {
                self.give_up(peer, &text, true);
            }
        }
        if all {
            // There will be no other time.
            self.try_news();
            self.news.clear();
        }
        // Nothing uses the program's memory from here on.
        for one in self.close_rail(rail) {
            let event = self.moved(rail, one);
            self.early.extend(event);
        }
        // What peers send to it would not come, and nothing may tell them so.
        self.announce_address_to_all(rail);
    }

    /// Forgets a peer. Transfers with it still end, at the latest when there has been time enough
    /// for what is on the wire.
    pub(super) fn forget(&mut self, peer: PeerId) {
        let Some(old) = self.peers.slot(peer).and_then(Option::take) else { return };
        self.lost.retain(|lost| *lost != peer);
        self.to_tell.retain(|behind| *behind != peer);
        self.news.retain(|given_up| *given_up != peer);
        self.watched.retain(|watched| *watched != peer);
        self.slots.forget(peer);
        self.vouching.forget(peer);
        self.abandon_stripes(peer);
        let now = Instant::now();
        for path in &old.paths {
            let rail = &mut self.rails[path.rail];
            rail.sender.forget(peer);
            let transfers = rail.transfers.doom(peer, now);
            // An address that stays known does no harm; one that goes from under an operation may.
            if transfers == 0 && !rail.sender.has_in_flight(peer) && !rail.closed {
                rail.endpoint.remove(path.to);
            }
        }
    }

    /// Ends transfers with forgotten peers whose time is over.
    #[inline]
    pub(super) fn end_doomed(&mut self) {
        for rail in 0..self.rails.len() {
            if !self.rails[rail].transfers.has_doomed() {
                continue;
            }
            let now = Instant::now();
            while let Some(ended) = self.rails[rail].transfers.end_doomed(now) {
                let event = self.moved(rail, ended);
                self.early.extend(event);
            }
        }
    }

    /// Gives libfabric the receive buffers that it is done with.
    #[inline]
    pub(super) fn post_buffers(&mut self) {
        // Bytes of messages that were not given out yet lie in released buffers, too.
        if !self.early.is_empty() {
            return;
        }
        self.slots.let_go();
        for at in 0..self.rails.len() {
            let rail = &mut self.rails[at];
            if rail.closed || !rail.batch.is_empty() {
                continue;
            }
            match rail.receiver.post(&mut rail.endpoint) {
                Ok(()) => rail.refusals = 0,
                Err(code) => self.buffers_refused(at, code),
            }
        }
    }

    #[cold]
    fn buffers_refused(&mut self, at: usize, code: i32) {
        let rail = &mut self.rails[at];
        if is_busy(code) || !rail.receiver.is_stopped() {
            return;
        }
        rail.refusals += 1;
        if rail.refusals == REFUSALS {
            self.fail(at, "giving receive buffers to the endpoint", code);
        }
    }
}

/// Whether an error of a transfer says that an end of it refuses the memory, whatever the path.
pub(super) fn is_refusal(code: i32) -> bool {
    matches!(code, libc::EACCES | libc::EINVAL | libc::EPERM | libc::EFAULT | libc::ENOKEY)
}

/// Whether an error of a transfer says that the peer is gone, rather than that its memory can't be
/// reached.
pub(super) fn means_loss(code: i32) -> bool {
    use libc::{
        ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ENOTCONN, EPIPE,
        ESHUTDOWN, ETIMEDOUT,
    };
    matches!(
        code,
        ECONNABORTED
            | ECONNREFUSED
            | ECONNRESET
            | EHOSTDOWN
            | EHOSTUNREACH
            | ENETUNREACH
            | ENOTCONN
            | EPIPE
            | ESHUTDOWN
            | ETIMEDOUT
    )
}
