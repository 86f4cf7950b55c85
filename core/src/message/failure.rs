//! The loss of a peer, and errors that belong to no call.

use crate::Context;
use crate::context::PeerState;
use crate::error::Error;
use crate::transport::PeerId;
use crate::wire::{Header, Kind};

impl Context {
    /// A peer is gone. Everything that waits for it ends; everything else goes on.
    #[cold]
    pub(crate) fn peer_down(&self, peer: PeerId, how: &str) {
        // SAFETY: the lock is held; the reference ends before anybody is told.
        let state = unsafe { self.state() };
        let ended = match state.peers[peer as usize].state {
            PeerState::Down => return,
            PeerState::Ended => true,
            PeerState::Purged => {
                state.peers[peer as usize].state = PeerState::Purged;
                return;
            }
            PeerState::Up => false,
        };
        if !ended {
            state.peers[peer as usize].state = PeerState::Down;
        }
        if let Some((_, datagrams)) = state.engine_to(peer) {
            datagrams.purge(peer);
        }
        let interrupted = state.assemblies.forget_peer(peer);
        let pending = self.give_up(peer);
        if ended && pending == 0 && interrupted == 0 {
            return;
        }
        let error = || Error::TargetDown { task: peer, reason: how.to_owned() };
        tracing::debug!(peer, pending, interrupted, "peer down: {how}");
        // SAFETY: as above.
        unsafe { self.state() }.unacknowledged.push(peer);
        self.report(error(), peer);
        self.wake_sleepers();
    }

    /// Ends everything under way with a peer; returns how much that was.
    pub(crate) fn give_up(&self, peer: PeerId) -> usize {
        // SAFETY: the lock is held; the reference is renewed after anybody is told.
        let state = unsafe { self.state() };
        let operations = state.operations.drain_peer(peer);
        let (mut ours, rest): (Vec<_>, Vec<_>) = state.outgoing.drain(..).partition(|o| o.peer == peer);
        state.outgoing.extend(rest);
        state.pulls.retain(|p| p.peer != peer);
        state.deferred.retain(|(p, _)| *p != peer);
        state.dropped.retain(|(p, _)| *p != peer);
        // The engine has been told to forget the peer, so it does not read their memory any more.
        let lent = state.loans.forget_peer(peer);
        let p = &mut state.peers[peer as usize];
        p.fences.clear();
        let count = operations.len() + ours.len() + lent.len();
        // SAFETY: as above.
        let refusal = || unsafe { self.state() }.peers[peer as usize].refusal(peer);
        for operation in operations {
            operation.origin.tell(self, peer, Err(refusal()));
            operation.completion.tell(self, peer, Err(refusal()));
        }
        let origins = ours.drain(..).map(|out| out.origin).chain(lent);
        for origin in origins {
            origin.tell(self, peer, Err(refusal()));
        }
        count
    }

    /// A peer has purged this task, or started anew: what was under way with it will not end.
    #[cold]
    pub(crate) fn peer_restarted(&self, peer: PeerId) {
        // SAFETY: the lock is held; the reference is renewed after operations are told.
        let state = unsafe { self.state() };
        let interrupted = state.assemblies.forget_peer(peer);
        let pending = self.give_up(peer);
        tracing::debug!(peer, pending, interrupted, "the peer has purged this task or started anew");
        self.start_afresh(peer);
        self.wake_sleepers();
    }

    /// Nothing before this moment is waited for, here or at the peer.
    fn start_afresh(&self, peer: PeerId) {
        // SAFETY: the lock is held and the reference ends before the packet is sent.
        let p = unsafe { &mut self.state().peers[peer as usize] };
        p.confirmed = p.next_message;
        p.answered.restart(p.next_operation);
        let next = u64::from(p.next_message);
        if p.state == PeerState::Up {
            self.reply_packet(peer, &Header::new(Kind::Skip, 0, next), &[]);
        }
    }

    /// What a peer sent before a purge and has not come by now will not come.
    pub(crate) fn skipped(&self, source: PeerId, next: u32) {
        // SAFETY: the lock is held and the reference ends here.
        unsafe { self.state() }.peers[source as usize].arrived.skip_to(next);
        self.answer_fences(source);
    }

    /// A peer has terminated its context in good order.
    pub(crate) fn peer_ended(&self, peer: PeerId) {
        // SAFETY: the lock is held and the reference ends here.
        let p = unsafe { &mut self.state().peers[peer as usize] };
        if p.state == PeerState::Up {
            p.state = PeerState::Ended;
        }
        self.wake_sleepers();
    }

    /// Hands an error that belongs to no call to whoever registered for them.
    ///
    /// *LAPI Guide, "Registering an error handler".*
    #[cold]
    pub(crate) fn report(&self, error: Error, peer: PeerId) {
        if self.tell(&error, peer) {
            // The program has been told and goes on without the peer: waits don't fail for it.
            // SAFETY: the lock is held and the reference ends here.
            unsafe { self.state() }.unacknowledged.retain(|p| *p != peer);
        }
    }

    /// Tells the program's error handler; true if there is one and it wants to go on.
    #[cold]
    pub(crate) fn tell(&self, error: &Error, peer: PeerId) -> bool {
        match &self.shared.hooks.error {
            Some(handler) => handler(self, error, peer),
            None => {
                tracing::error!(peer, "{}", error.with_causes());
                false
            }
        }
    }

    /// Accepts that a peer is gone: waits no longer fail because of it.
    pub fn acknowledge_failure(&self, peer: PeerId) {
        let _held = self.guard();
        // SAFETY: the lock is held and the reference ends here.
        unsafe { self.state() }.unacknowledged.retain(|p| *p != peer);
    }

    /// Cancels what is under way with a task and sends nothing to it until it is [resumed](Self::resume).
    ///
    /// *LAPI Guide, LAPI_Purge_totask.*
    ///
    /// # Errors
    /// Bad target.
    #[doc(alias = "LAPI_Purge_totask")]
    pub fn purge(&self, target: PeerId) -> crate::Result<()> {
        self.usable()?;
        self.check_target(target)?;
        let _held = self.guard();
        // SAFETY: the lock is held; the reference ends before anybody is told.
        let state = unsafe { self.state() };
        state.peers[target as usize].state = PeerState::Purged;
        if let Some((_, datagrams)) = state.engine_to(target) {
            datagrams.purge(target);
        }
        state.unacknowledged.retain(|p| *p != target);
        state.assemblies.forget_peer(target);
        self.give_up(target);
        // SAFETY: as above.
        let p = unsafe { &mut self.state().peers[target as usize] };
        p.confirmed = p.next_message;
        p.answered.restart(p.next_operation);
        self.wake_sleepers();
        Ok(())
    }

    /// Talks to a purged task again.
    ///
    /// *LAPI Guide, LAPI_Resume_totask.*
    ///
    /// # Errors
    /// Bad target.
    #[doc(alias = "LAPI_Resume_totask")]
    pub fn resume(&self, target: PeerId) -> crate::Result<()> {
        self.usable()?;
        self.check_target(target)?;
        let _held = self.guard();
        // SAFETY: the lock is held and nothing below calls out.
        let state = unsafe { self.state() };
        let p = &mut state.peers[target as usize];
        if p.state == PeerState::Purged {
            p.state = PeerState::Up;
            if let Some((_, datagrams)) = state.engine_to(target) {
                datagrams.resume(target);
                self.start_afresh(target);
                self.flush_datagrams();
            }
        }
        Ok(())
    }
}
