//! The loss of a peer, and errors that no call can return.

use crate::Context;
use crate::context::{Locked, Notify, Operation};
use crate::error::Error;
use crate::state::{PeerLane, PeerState};
use crate::sync::Ordering;
use crate::transport::PeerId;

impl Context {
    /// Accepts that a peer is gone: waits no longer fail because of it.
    pub fn acknowledge_failure(&self, peer: PeerId) {
        self.locked().peers.unacknowledged.retain(|p| *p != peer);
    }

    /// Cancels what is under way with a task and sends nothing to it until it is
    /// [resumed](Self::resume).
    ///
    /// Whoever waits for an operation is told when its memory is free. Where the other task, or the
    /// transport, may still read or write that, this is later than the purge: over transports that
    /// work by keys (RDMA), for a long message, put or get that the other task carries out; over
    /// shared memory, for a message that the other task copies directly (bulk transfer). This call
    /// waits up to 1.5 s for such a transfer, unless it is made within a handler.
    ///
    /// Over windows of adapters (HPS) a purged task can't be asked: until it learns of the purge,
    /// by the next message after [`resume`](Self::resume), it may copy from the buffers of messages
    /// in bulk transfer.
    ///
    /// *LAPI Guide, LAPI_Purge_totask.*
    ///
    /// # Errors
    /// Bad target.
    #[doc(alias = "LAPI_Purge_totask")]
    pub fn purge(&self, target: PeerId) -> crate::Result<()> {
        self.usable()?;
        self.check_target(target)?;
        let mut locked = self.locked();
        let state = &mut *locked;
        let p = &mut state.peers[target];
        p.state = PeerState::Purged;
        p.life = p.life.wrapping_add(1);
        self.shared.beginnings.fetch_add(1, Ordering::Relaxed);
        if let Some((_, datagrams)) = state.engine_to(target) {
            datagrams.purge(target);
            state.peers.purged_in_turn.push(target);
        }
        state.end_epoch(target);
        self.shared.windows[target as usize].close();
        state.peers.unacknowledged.retain(|p| *p != target);
        state.receiving.forget_peer(target);
        locked.leave_regions(target);
        locked.give_up(target);
        locked.drop_withdrawn();
        let p = &mut locked.peers[target];
        p.confirmed = p.numbered;
        p.answered.restart(p.next_operation);
        locked.collectives_disturbed(target);
        locked.tell_watch(target);
        self.shared.wake_sleepers();
        locked.await_loans(target);
        Ok(())
    }

    /// Talks to a purged task again, be it the same process or one that was started in its place.
    ///
    /// If its process has ended, another link than that of shared memory is needed, which knows
    /// this process only. In a job whose program tells the addresses, nobody but the program knows
    /// whether a task has begun again: one that has not is silent until TIMEOUT.
    ///
    /// *LAPI Guide, LAPI_Resume_totask.*
    ///
    /// # Errors
    /// Bad target; the task's process has ended and none has taken its place yet, or can be reached
    /// if it has.
    #[doc(alias = "LAPI_Resume_totask")]
    pub fn resume(&self, target: PeerId) -> crate::Result<()> {
        self.usable()?;
        self.check_target(target)?;
        let mut locked = self.locked();
        if locked.peers[target].state != PeerState::Purged {
            return Ok(());
        }
        let replaced = locked.look_for(target);
        locked.believe_the_program(target);
        if let Some(reason) = locked.why_out_of_reach(target) {
            return Err(Error::TargetDown { task: target, reason: reason.into() });
        }
        let state = &mut *locked;
        state.peers[target].state = PeerState::Up;
        if !replaced {
            self.shared.windows[target as usize].open();
        }
        if let Some((_, datagrams)) = state.engine_to(target) {
            datagrams.resume(target);
        }
        locked.start_afresh(target);
        locked.begin_epoch(target);
        locked.advance();
        locked.same_or_unknown(target);
        locked.links.flush_datagrams();
        Ok(())
    }
}

/// What was under way with a peer, taken out to be given up.
struct GivenUp {
    /// Operations whose memory was lent to the peer, and asked for.
    loans: Vec<Operation>,
    operations: Vec<Operation>,
    /// Of messages on their way.
    origins: Vec<Notify>,
    /// How many operations wait for the peer's word that it leaves their memory alone.
    recalled: usize,
}

impl Locked<'_> {
    /// A peer is gone. Everything that waits for it ends; everything else goes on.
    #[cold]
    pub(crate) fn peer_down(&mut self, peer: PeerId, how: &str) {
        self.note_death(peer);
        self.lose(peer, how);
    }

    /// The same with a peer whose process may live.
    #[cold]
    pub(crate) fn lose(&mut self, peer: PeerId, how: &str) {
        let state = &mut **self;
        let ended = match state.peers[peer].state {
            PeerState::Down => return,
            PeerState::Ended => true,
            PeerState::Purged => return self.end_loans(peer),
            // Whoever has heard this task's farewell owes none.
            PeerState::Up => state.peers.parted,
        };
        if !ended {
            let p = &mut state.peers[peer];
            (p.state, p.cause) = (PeerState::Down, Some(how.into()));
            self.shared().windows[peer as usize].close();
        }
        let state = &mut **self;
        if let Some((_, datagrams)) = state.engine_to(peer) {
            datagrams.purge(peer);
        }
        state.unsettle(peer);
        let interrupted =
            if ended { state.receiving.end_peer(peer) } else { state.receiving.forget_peer(peer) };
        let pending = self.give_up(peer);
        self.tell_watch(peer);
        if ended && (pending == 0 && interrupted == 0 || self.peers.parted) {
            return;
        }
        let error = || Error::TargetDown { task: peer, reason: how.to_owned() };
        tracing::debug!(peer, pending, interrupted, "peer down: {how}");
        self.peers.unacknowledged.push(peer);
        self.report(error(), peer);
        self.shared().wake_sleepers();
    }

    /// Ends everything under way to a peer; returns how much that was.
    pub(crate) fn give_up(&mut self, peer: PeerId) -> usize {
        let given_up = self.take_all(peer);
        self.forget_regions(peer);
        self.tell_given_up(peer, given_up)
    }

    /// Takes out what is under way to a peer. Nobody has been told yet.
    fn take_all(&mut self, peer: PeerId) -> GivenUp {
        let (mut recalled, mut loans) = (Vec::new(), Vec::new());
        let landing = self.note_landing(peer);
        if self.may_use_loans(peer) {
            recalled = self.operations.recall(peer);
            self.ask_back(peer, landing.as_slice());
        } else {
            loans = self.take_loans(peer);
        }
        if self.receiving.dropped.is_empty() {
            self.shared().handlers.nothing_waits();
        }
        let state = &mut **self;
        let operations = state.operations.drain_peer(peer);
        let ours = state.sending.drop_peer(peer);
        // The engine has been told to forget the peer, so it does not read their memory any more.
        let zero_copy = state.sending.zero_copy.forget_peer(peer);
        let p = &mut state.peers[peer];
        p.fences.clear();
        self.ask_back(peer, &recalled);
        operations.iter().for_each(|operation| self.take_back(operation));
        let origins: Vec<_> = ours.into_iter().map(|out| out.origin).chain(zero_copy).collect();
        GivenUp { loans, operations, origins, recalled: recalled.len() }
    }

    /// Tells those who wait; returns how much was given up.
    fn tell_given_up(&mut self, peer: PeerId, given_up: GivenUp) -> usize {
        let GivenUp { loans, operations, origins, recalled } = given_up;
        let count = operations.len() + origins.len() + recalled;
        loans.into_iter().for_each(|operation| self.tell_loan_ended(operation));
        for operation in operations {
            let (first, second) = (self.refusal(peer), self.refusal(peer));
            operation.origin.notify(self, peer, Err(first));
            operation.completion.notify(self, peer, Err(second));
        }
        for origin in origins {
            let refusal = self.refusal(peer);
            origin.notify(self, peer, Err(refusal));
        }
        count
    }

    /// A peer has purged this task, or started anew: what was under way with it will not end.
    #[cold]
    pub(crate) fn peer_restarted(&mut self, peer: PeerId, lost: usize) {
        let state = &mut **self;
        if let Some((_, datagrams)) = state.engine_to(peer) {
            datagrams.drop_unsent(peer);
        }
        let interrupted = state.receiving.forget_peer(peer);
        let given_up = self.take_all(peer);
        self.start_afresh(peer);
        self.collectives_disturbed(peer);
        let replaced = self.look_for(peer);
        if replaced {
            self.forget_regions(peer);
        } else {
            self.same_or_unknown(peer);
            self.peers[peer].regions = None;
            self.regions.begin_anew(peer);
            self.tell_regions(peer);
        }
        // Last: what the program sends to the peer when it is told belongs to the new life.
        let pending = self.tell_given_up(peer, given_up);
        tracing::debug!(peer, pending, interrupted, lost, "the peer has purged this task or started anew");
        if replaced && pending + interrupted + lost > 0 {
            let reason = "its process has ended and was started anew; what was under way is lost".into();
            self.report(Error::TargetDown { task: peer, reason }, peer);
        }
        self.tell_watch(peer);
        self.shared().wake_sleepers();
    }

    /// Where the program tells the addresses, it alone knows whether a task has begun again, and
    /// says so by resuming it.
    fn believe_the_program(&mut self, peer: PeerId) {
        if self.shared().is_told_addresses() && self.engine_to(peer).is_some() {
            self.peers[peer].farewell = false;
        }
    }

    /// Why a purged peer can't be resumed, if it can't.
    fn why_out_of_reach(&self, peer: PeerId) -> Option<&'static str> {
        let is_told = self.shared().is_told_addresses();
        let p = &self.peers[peer];
        match p.process {
            _ if !p.dead && !p.farewell => None,
            _ if is_told => Some(
                "it has ended, and was reached over shared memory, which leads to no other process: set LAPI_USE_SHM=no \
                 in all tasks of a job that is to take up tasks that were restarted",
            ),
            _ if p.farewell => Some("it has terminated its context and no other process has taken its place"),
            Some(_) => Some(
                "its process has ended and no other has taken its place yet: resume it again when one has",
            ),
            None => Some("its process has ended, and this job's tasks can't be started anew"),
        }
    }

    /// Everything begins anew with what seems to be the same process, and is over a link that no
    /// other one could use. Where nobody can tell, it counts as another one.
    fn same_or_unknown(&mut self, peer: PeerId) {
        let over_an_engine = self.engine_to(peer).is_some();
        if !over_an_engine || self.shared().replacements_show() {
            self.renew_barriers(peer);
        } else {
            self.end_collectives(peer);
        }
    }

    /// Nothing before this moment is waited for, and both sides number from 0: nothing from before
    /// is taken.
    fn start_afresh(&mut self, peer: PeerId) {
        self.shared().beginnings.fetch_add(1, Ordering::Relaxed);
        let p = &mut self.peers[peer];
        p.life = p.life.wrapping_add(1);
        p.numbered = 0;
        p.confirmed = 0;
        p.arrived.restart(0);
        p.answered.restart(p.next_operation);
    }

    /// A peer has terminated its context in good order, after it had done so many of this task's
    /// messages, from the first on.
    pub(crate) fn peer_ended(&mut self, peer: PeerId, done: u32) {
        if self.peers[peer].state == PeerState::Up {
            self.farewell_confirms(peer, done);
        }
        let p = &mut self.peers[peer];
        p.farewell = true;
        if p.state == PeerState::Up {
            (p.state, p.lane) = (PeerState::Ended, PeerLane::none());
            self.shared().windows[peer as usize].close();
            self.tell_watch(peer);
        }
        self.regions.forget(peer);
        self.end_loans(peer);
        // Without an engine, which sends again what was lost, a farewell is the last packet: what
        // has not been answered never will be.
        if self.engine_to(peer).is_none() {
            self.peer_down(peer, "it has terminated its context");
        }
        self.shared().wake_sleepers();
    }

    /// Reports an error that no call can return to the registered error handler.
    ///
    /// *LAPI Guide, "Registering an error handler".*
    #[cold]
    pub(crate) fn report(&mut self, error: Error, peer: PeerId) {
        if self.call_error_handler(&error, peer) {
            // The program has been told and goes on without the peer: waits don't fail for it.
            self.peers.unacknowledged.retain(|p| *p != peer);
        }
    }

    /// Calls the program's error handler. True if there is one and it wants to continue.
    #[cold]
    pub(crate) fn call_error_handler(&mut self, error: &Error, peer: PeerId) -> bool {
        match &self.shared().hooks.error {
            Some(handler) => self.out(|context| handler(context, error, peer)),
            None => {
                tracing::error!(peer, "{}", error.with_causes());
                false
            }
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "purge_tests.rs"]
mod tests;
