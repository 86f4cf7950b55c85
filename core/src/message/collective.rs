//! The two collective operations that core itself needs: a barrier and an allgather of small
//! values.
//!
//! Both go in ⌈log₂ n⌉ rounds. In round r a task talks to the tasks 2ʳ away: the dissemination
//! pattern. Tasks may be one call ahead of each other, never two, so arrivals are counted per round
//! and data is kept by call number.
//!
//! Where the tasks of one machine outnumber its cores, each round would take as many switches as
//! there are tasks on a core. There all tell task 0 that they have come, and it tells them when all
//! have: each task has the core once in a barrier.
//!
//! A process that takes a dead one's place has made none of the calls that the others have made,
//! and a purge in the midst of an allgather may have lost some of its data. Collective calls are
//! then *over*: they fail at once, those under way included, and whoever still makes one is told
//! so. Barriers survive purges: their packets may come twice, so that both sides send the last ones
//! again.

use crate::Context;
use crate::context::Awaited;
use crate::context::Checked;
use crate::context::{Locked, State};
use crate::error::{Error, Result};
use crate::state::{ALL_HAVE_COME, Blocks, COME, PeerState};
use crate::status::Awaiting;
use crate::transport::PeerId;
use crate::wire::{Header, Kind, MAX_HEADER};

/// The task at which barriers meet where tasks outnumber cores.
const ROOT: PeerId = 0;

/// In place of the round: collective calls are over, because of the task in place of the call's
/// number.
const OVER: u64 = 0xff;

impl Context {
    /// Waits until all tasks of the job are here. Moves no data and fences nothing.
    ///
    /// # Errors
    /// A task died or terminated its context without coming here; a task was started anew, after
    /// which the others' calls and its own don't match any more.
    pub fn barrier(&self) -> Result<()> {
        self.usable()?;
        self.may_wait("barrier")?;
        self.collectives_go_on()?;
        let (me, n) = (self.shared.task, self.shared.tasks);
        let epoch = self.locked().collectives.barrier.enter();
        if self.shared.barriers_at_root {
            return self.barrier_at_root(epoch);
        }
        for round in 0..rounds(n) {
            let to = (me + (1 << round)) % n;
            let from = (me + n - (1 << round) % n) % n;
            self.locked().announce_step(to, round as usize, epoch)?;
            self.await_step(from, epoch, |state| state.collectives.barrier.seen[round as usize])?;
        }
        Ok(())
    }

    fn barrier_at_root(&self, epoch: u64) -> Result<()> {
        if self.shared.task != ROOT {
            self.locked().announce_step(ROOT, COME, epoch)?;
            return self.await_step(ROOT, epoch, |state| state.collectives.barrier.seen[ALL_HAVE_COME]);
        }
        for peer in self.shared.other_tasks() {
            if self.locked().peers[peer].came_to < epoch {
                self.await_step(peer, epoch, |state| state.peers[peer].came_to)?;
            }
        }
        let mut locked = self.locked();
        // Whoever can be told is told, whatever became of others.
        let told = self.shared.other_tasks().map(|peer| locked.announce_step(peer, ALL_HAVE_COME, epoch));
        told.fold(Ok(()), Result::and)
    }

    /// Waits until a task has announced its step of a barrier.
    fn await_step(&self, from: PeerId, epoch: u64, seen: impl Fn(&State) -> u64) -> Result<()> {
        let arrived = |state: &mut Locked<'_>| -> Checked<()> {
            if seen(state) >= epoch {
                return Ok(Some(()));
            }
            state.collectives.barrier.not_over()?;
            let peer = &state.peers[from];
            if peer.state == PeerState::Up { Ok(None) } else { Err(peer.refusal(from).into()) }
        };
        self.await_peer(from, || self.wait_for(Awaited::of(Awaiting::Barrier).from(from), arrived))
    }

    /// Whether collective calls are still possible.
    ///
    /// # Errors
    /// They are over: a task was started anew.
    pub fn collectives_go_on(&self) -> Result<()> {
        self.locked().collectives.barrier.not_over().map_err(|e| *e)
    }

    /// Gives everybody everybody's value, by task. All values have the same length.
    ///
    /// # Errors
    /// As for [`barrier`](Self::barrier).
    pub fn all_gather(&self, value: &[u8]) -> Result<Vec<u8>> {
        self.usable()?;
        self.may_wait("all_gather")?;
        self.collectives_go_on()?;
        self.count_exchange(1);
        let all = self.run_all_gather(value);
        self.count_exchange(u32::MAX);
        all
    }

    fn count_exchange(&self, change: u32) {
        let exchanges = &mut self.locked().collectives.exchanges;
        exchanges.under_way = exchanges.under_way.wrapping_add(change);
    }

    fn run_all_gather(&self, value: &[u8]) -> Result<Vec<u8>> {
        let (me, n) = (self.shared.task, self.shared.tasks);
        let epoch = self.locked().collectives.exchanges.enter();
        // Blocks of the tasks me, me + 1, … as far as known: Bruck's order.
        let mut known = value.to_vec();
        for round in 0..rounds(n) {
            let distance = 1u32 << round;
            let blocks = distance.min(n - distance) as usize;
            let to = (me + n - distance) % n;
            let from = (me + distance) % n;
            self.locked().send_blocks(to, epoch, round, &known[..blocks * value.len()])?;
            let all_there = |locked: &mut Locked<'_>| -> Checked<Blocks> {
                let state = &mut **locked;
                let key = (epoch, round);
                if state.collectives.exchanges.inbox.get(&key).is_some_and(|b| b.received >= b.bytes.len()) {
                    return Ok(state.collectives.exchanges.inbox.remove(&key));
                }
                state.collectives.barrier.not_over()?;
                let peer = &state.peers[from];
                if peer.state == PeerState::Up { Ok(None) } else { Err(peer.refusal(from).into()) }
            };
            let arrived = self
                .await_peer(from, || self.wait_for(Awaited::of(Awaiting::Exchange).from(from), all_there))?;
            if arrived.bytes.len() != blocks * value.len() {
                return Err(Error::Internal {
                    what: format!(
                        "task {from} gave {} bytes to an exchange that needs {}",
                        arrived.bytes.len(),
                        blocks * value.len()
                    ),
                });
            }
            known.extend_from_slice(&arrived.bytes);
        }
        known.rotate_right(me as usize * value.len());
        Ok(known)
    }
}

impl Locked<'_> {
    fn announce_step(&mut self, to: PeerId, round: usize, epoch: u64) -> Result<()> {
        self.collectives.barrier.sent[round] = epoch;
        self.send_packet(to, &Header::new(Kind::Barrier, 0, epoch << 8 | round as u64), &[], &[])
    }

    /// Another process has taken a task's place, perhaps this one: no collective call can succeed
    /// any more.
    #[cold]
    pub(crate) fn end_collectives(&mut self, because_of: PeerId) {
        self.collectives.barrier.over.get_or_insert(because_of);
        self.shared().wake_sleepers();
    }

    /// A task was purged, or has purged this one: what an allgather under way needs may be lost.
    /// The others in it must not wait.
    #[cold]
    pub(crate) fn collectives_disturbed(&mut self, because_of: PeerId) {
        let state = &mut **self;
        if state.collectives.exchanges.under_way == 0 || state.collectives.barrier.over.is_some() {
            return;
        }
        self.end_collectives(because_of);
        for peer in self.shared().other_tasks() {
            if self.peers[peer].state == PeerState::Up {
                self.tell_over(peer, because_of);
            }
        }
    }

    /// Everything begins anew with a task, but barriers: what they need may have been lost.
    #[cold]
    pub(crate) fn renew_barriers(&mut self, with: PeerId) {
        let (me, n) = (self.shared().task, self.shared().tasks);
        let at_root = [(COME, with == ROOT), (ALL_HAVE_COME, me == ROOT)];
        let steps = (0..rounds(n)).map(|round| (round as usize, (me + (1 << round)) % n == with));
        for (round, concerned) in steps.chain(at_root) {
            let barrier = &self.collectives.barrier;
            let epoch = barrier.sent[round];
            if epoch > 0 && barrier.over.is_none() && concerned {
                let header = Header::new(Kind::Barrier, 0, epoch << 8 | round as u64);
                self.reply_packet(with, &header, &[]);
            }
        }
    }

    fn tell_over(&mut self, peer: PeerId, because_of: PeerId) {
        self.reply_packet(peer, &Header::new(Kind::Barrier, 0, u64::from(because_of) << 8 | OVER), &[]);
    }

    /// Whoever makes a collective call is told that they are over.
    fn refused_as_over(&mut self, source: PeerId) -> bool {
        let over = self.collectives.barrier.over;
        if let Some(because_of) = over {
            self.tell_over(source, because_of);
        }
        over.is_some()
    }

    pub(crate) fn barrier_arrived(&mut self, source: PeerId, subject: u64) {
        let (epoch, round) = (subject >> 8, subject & 0xff);
        if round == OVER {
            return self.end_collectives(epoch as PeerId);
        }
        if self.refused_as_over(source) {
            return;
        }
        let peer = &mut self.peers[source];
        peer.barriers = peer.barriers.wrapping_add(1);
        if round as usize == COME {
            peer.came_to = peer.came_to.max(epoch);
        }
        if let Some(seen) = self.collectives.barrier.seen.get_mut(round as usize) {
            *seen = (*seen).max(epoch);
        }
    }

    fn send_blocks(&mut self, to: PeerId, epoch: u64, round: u32, bytes: &[u8]) -> Result<()> {
        let mut offset = 0;
        loop {
            let room = self.room_to(to).saturating_sub(MAX_HEADER).max(1);
            let n = room.min(bytes.len() - offset);
            let mut header = Header::new(Kind::Gather, 0, epoch << 8 | u64::from(round));
            header.total = bytes.len() as u64;
            header.extra[0] = offset as u64;
            self.send_packet(to, &header, &[], &bytes[offset..offset + n])?;
            offset += n;
            if offset == bytes.len() {
                return Ok(());
            }
        }
    }

    pub(crate) fn gather_arrived(&mut self, source: PeerId, header: &Header, data: &[u8]) {
        if self.refused_as_over(source) {
            return;
        }
        let key = (header.subject >> 8, (header.subject & 0xff) as u32);
        let (total, offset) = (header.total, header.extra[0]);
        // 16384 tasks × 8 bytes is what an address table needs; this leaves room for larger values.
        if total > 1 << 26 || offset.checked_add(data.len() as u64).is_none_or(|end| end > total) {
            return tracing::warn!(source, total, offset, len = data.len(), "block of an exchange dropped");
        }
        let blocks = self.collectives.exchanges.inbox.entry(key).or_default();
        blocks.bytes.resize(total as usize, 0);
        blocks.bytes[offset as usize..offset as usize + data.len()].copy_from_slice(data);
        blocks.received += data.len();
    }
}

fn rounds(tasks: u32) -> u32 {
    tasks.next_power_of_two().trailing_zeros()
}
