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

/// How long a peer is tried to be told that it was given up.
const NEWS: Duration = Duration::from_millis(500);

impl Rdma {
    /// A peer can't be reached any more, with libfabric's error number.
    #[cold]
    pub(super) fn lose(&mut self, peer: PeerId, code: i32) {
        let text = self.endpoint.text(code);
        self.give_up(peer, &text, true);
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
        self.sender.forget(peer);
        self.to_tell.retain(|behind| *behind != peer);
        if told {
            self.news.push(peer);
        }
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
        let Self { news, peers, sender, endpoint, me, .. } = self;
        news.retain(|&peer| {
            let Some(p) = peers.get_mut(peer) else { return false };
            let head = p.header(me.task, Kind::GivenUp, 0);
            let busy = sender.greet(endpoint, p.to, head) == Err(Refused::Busy);
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

    /// The endpoint can't be used any more: every peer is lost, and everything under way ends.
    #[cold]
    pub(super) fn fail(&mut self, what: &str, code: i32) {
        if std::mem::replace(&mut self.broken, true) {
            return;
        }
        let text = self.endpoint.text(code);
        self.host.error(format_args!(
            "{what} of provider {}, domain {}, failed: {text}: no task can be reached over it any more",
            self.endpoint.provider(),
            self.endpoint.domain_name()
        ));
        for peer in 0..self.peers.len() as u32 {
            self.give_up(peer, &text, true);
        }
        // There will be no other time.
        self.try_news();
        self.news.clear();
        // Nothing uses the program's memory from here on.
        self.endpoint.stop();
        while let Some(ended) = self.transfers.end_any(code) {
            let event = self.moved(ended);
            self.early.push_back(event);
        }
    }

    /// Forgets a peer. Transfers with it still end, at the latest when there has been time enough
    /// for what is on the wire.
    pub(super) fn forget(&mut self, peer: PeerId) {
        let Some(old) = self.peers.slot(peer).and_then(Option::take) else { return };
        self.sender.forget(peer);
        self.lost.retain(|lost| *lost != peer);
        self.to_tell.retain(|behind| *behind != peer);
        self.news.retain(|given_up| *given_up != peer);
        let transfers = self.transfers.doom(peer, Instant::now());
        // An address that stays known does no harm; one that goes from under an operation may.
        if transfers == 0 && !self.sender.has_under_way(peer) && !self.broken {
            self.endpoint.remove(old.to);
        }
    }

    /// Ends transfers with forgotten peers whose time is over.
    #[inline]
    pub(super) fn end_doomed(&mut self) {
        if !self.transfers.has_doomed() {
            return;
        }
        let now = Instant::now();
        while let Some(ended) = self.transfers.end_doomed(now) {
            let event = self.moved(ended);
            self.early.push_back(event);
        }
    }

    /// Gives libfabric the receive buffers that it is done with.
    #[inline]
    pub(super) fn post_buffers(&mut self) {
        // Bytes of messages that were not given out yet lie in released buffers, too.
        if self.broken || !self.early.is_empty() {
            return;
        }
        match self.receiver.post(&mut self.endpoint) {
            Ok(()) => self.refusals = 0,
            Err(code) => self.buffers_refused(code),
        }
    }

    #[cold]
    fn buffers_refused(&mut self, code: i32) {
        if is_busy(code) || !self.receiver.is_stopped() {
            return;
        }
        self.refusals += 1;
        if self.refusals == REFUSALS {
            self.fail("giving receive buffers to the endpoint", code);
        }
    }
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
