//! Fences: waiting until earlier operations have moved their data.
//!
//! Messages to a peer are numbered. The peer knows which are done; a fence asks it to answer when
//! the first so many are. The origin counts in 64 bits. Packets carry the low 32, by which the peer
//! knows messages that are under way: far fewer than 2³¹. Operations that are answered anyway
//! (gets, atomics, rendezvous) have numbers of their own and are counted here.

use crate::Context;
use crate::context::Awaited;
use crate::context::Locked;
use crate::error::{Error, Result};
use crate::state::{Begun, PeerState};
use crate::status::Awaiting;
use crate::sync::{Ordering, fence};
use crate::transport::PeerId;
use crate::wire::{Header, Kind};
use std::time::{Duration, Instant};

/// What a fence says that asks for a sign of life.
const ARE_YOU_THERE: u64 = u64::MAX;

/// How long a fence waits to hear how a peer has ended that can't be asked: its link says so when
/// it is looked at next.
const FAREWELL: Duration = Duration::from_secs(1);

/// What a fence waits for from one peer.
#[derive(Clone, Copy)]
struct Mark {
    peer: PeerId,
    life: u32,
    messages: u64,
    operations: u32,
}

/// With whom to fence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    All,
    Reachable,
}

impl Context {
    /// Waits until the data of all operations that this task has begun is at its destination.
    ///
    /// Completion handlers may still be running.
    ///
    /// *LAPI Guide, LAPI_Fence.*
    ///
    /// # Errors
    /// A target died, or has purged this task meanwhile; the call was made from within a handler
    /// that runs inline.
    #[doc(alias = "LAPI_Fence")]
    pub fn fence(&self) -> Result<()> {
        self.fence_with(Whom::All)
    }

    /// The same for the tasks that can be reached: tasks that have ended, or end meanwhile, are
    /// left out.
    ///
    /// # Errors
    /// The context can't be used, or may not wait here.
    pub fn fence_reachable(&self) -> Result<()> {
        self.fence_with(Whom::Reachable)
    }

    fn fence_with(&self, whom: Whom) -> Result<()> {
        self.usable()?;
        self.may_wait("fence")?;
        // SYNC: SeqCst: direct stores to windows are globally visible before anything that follows.
        fence(Ordering::SeqCst);
        let marks = self.locked().mark_all(whom)?;
        if marks.is_empty() {
            return Ok(());
        }
        self.wait_for(Awaited::of(Awaiting::Fence), |state| {
            for mark in &marks {
                let peer = &state.peers[mark.peer];
                let done = peer.confirmed >= mark.messages && peer.answered.reached(mark.operations);
                let lives = peer.state == PeerState::Up && peer.life == mark.life;
                if !done && (lives || whom == Whom::All) {
                    return match peer.state {
                        PeerState::Up if peer.life == mark.life => Ok(None),
                        // It has purged this task, or was started anew: nobody will answer.
                        PeerState::Up => Err(Error::PurgedBy { task: mark.peer }.into()),
                        _ => Err(peer.refusal(mark.peer).into()),
                    };
                }
            }
            Ok(Some(()))
        })
    }

    /// Fences, then waits until all tasks have done the same.
    ///
    /// *LAPI Guide, LAPI_Gfence.*
    ///
    /// # Errors
    /// As for [`barrier`](Self::barrier).
    #[doc(alias = "LAPI_Gfence")]
    pub fn gfence(&self) -> Result<()> {
        self.usable()?;
        self.collectives_go_on()?;
        self.fence()?;
        self.barrier()
    }
}

impl Locked<'_> {
    /// Asks every peer that has something of ours to do, and says what to wait for.
    fn mark_all(&mut self, whom: Whom) -> Result<Vec<Mark>> {
        let (mut marks, mut left_out) = (Vec::new(), false);
        // Looking at all peers takes longer than the barrier of a global fence.
        let begun = Begun { packets: self.packets_sent(), operations: self.peers.operations_begun };
        if self.peers.all_done_at == Some(begun) && self.sending.keeps_nothing() {
            return Ok(marks);
        }
        for peer in 0..self.shared().tasks {
            if self.peers[peer].state == PeerState::Up {
                self.ask_for_landing(peer);
            }
            let p = &self.peers[peer];
            let (life, messages, operations) = (p.life, p.numbered, p.next_operation);
            let unconfirmed = p.confirmed != messages;
            if !unconfirmed && p.answered.reached(operations) {
                continue;
            }
            if p.state == PeerState::Purged {
                continue; // What was purged is given up; nobody waits for it.
            }
            if whom == Whom::Reachable && p.state != PeerState::Up {
                left_out = true;
                continue;
            }
            if unconfirmed {
                match self.ask_when_done(peer, messages) {
                    Err(_) if whom == Whom::Reachable => left_out = true,
                    sent => sent?,
                }
            }
            marks.push(Mark { peer, life, messages, operations });
        }
        // What was begun but waits for room is no packet yet.
        if marks.is_empty() && !left_out && self.sending.keeps_nothing() {
            self.peers.all_done_at = Some(begun);
        }
        Ok(marks)
    }

    /// Asks a peer to say when its first `messages` messages are done. One that can't be asked any
    /// more may have left a farewell that nobody has read yet, and that says so.
    fn ask_when_done(&mut self, peer: PeerId, messages: u64) -> Result<()> {
        let header = Header::new(Kind::Fence, 0, messages);
        let Err(refusal) = self.send_packet(peer, &header, &[], &[]) else { return Ok(()) };
        let deadline = Some(Instant::now() + FAREWELL);
        self.wait_before(Awaiting::Fence, deadline, |locked| locked.peers[peer].state != PeerState::Up);
        if self.peers[peer].confirmed >= messages { Ok(()) } else { Err(refusal) }
    }

    /// A peer wants to know when its first `upto` messages are done, or whether this task lives.
    pub(crate) fn fence_arrived(&mut self, source: PeerId, upto: u64) {
        if upto == ARE_YOU_THERE {
            return self.reply_packet(source, &Header::new(Kind::FenceReply, 0, upto), &[]);
        }
        self.peers[source].fences.push(upto);
        self.answer_fences(source);
    }

    /// Asks a peer for a sign of life, which it gives at once.
    pub(crate) fn ask_for_sign_of_life(&mut self, peer: PeerId) {
        self.reply_packet(peer, &Header::new(Kind::Fence, 0, ARE_YOU_THERE), &[]);
    }

    /// Answers the fences of a peer that have been reached.
    #[inline]
    pub(crate) fn answer_fences(&mut self, source: PeerId) {
        loop {
            let peer = &mut self.peers[source];
            let Some(at) = peer.fences.iter().position(|upto| peer.arrived.reached(*upto as u32)) else {
                return peer.arrived.watch(!peer.fences.is_empty());
            };
            let upto = peer.fences.swap_remove(at);
            self.reply_packet(source, &Header::new(Kind::FenceReply, 0, upto), &[]);
        }
    }

    pub(crate) fn fence_reply_arrived(&mut self, source: PeerId, upto: u64) {
        self.gave_sign_of_life(source);
        self.confirm(source, upto);
    }

    /// A peer says in its farewell how many of this task's messages it has done, of which it can
    /// answer no fence any more. The number has 32 bits.
    pub(super) fn farewell_confirms(&mut self, source: PeerId, done: u32) {
        let peer = &self.peers[source];
        // A farewell is taken whatever epochs are agreed, and may count messages of a former one.
        if peer.epochs.settled {
            let further = done.wrapping_sub(peer.confirmed as u32);
            self.confirm(source, peer.confirmed + u64::from(further));
        }
    }

    /// The first `upto` messages to a peer are done.
    fn confirm(&mut self, source: PeerId, upto: u64) {
        let peer = &mut self.peers[source];
        if (peer.confirmed..=peer.numbered).contains(&upto) {
            peer.confirmed = upto;
            self.end_zero_copy_sends(source, |send| {
                (upto as u32).wrapping_sub(send.message).wrapping_sub(1) < 1 << 31
            });
        }
    }
}
