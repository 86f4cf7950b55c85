//! The barrier of all tasks, and the end of collective calls.
//!
//! A barrier is a list of [acts](Act), computed from a schedule of `lapis_schedules` when the
//! context is created. A task announces a step by the number of the barrier: in a flag
//! (`core/src/context/flags.rs`) to tasks that poll it, in a packet to others. Tasks may be one
//! barrier ahead of each other, never two, and numbers only grow.
//!
//! A process that replaces a dead one has made none of the others' calls, and a purge during an
//! exchange may have lost some of its data. Collective calls are then *over*: present and later
//! ones fail at once. Barriers survive purges: their packets may arrive twice, so both sides send
//! the last ones again.

use crate::Context;
use crate::context::{Awaited, Checked, Locked};
use crate::error::{Error, Result};
use crate::state::{Act, PeerState};
use crate::status::Awaiting;
use crate::transport::PeerId;
use crate::wire::{Header, Kind};
use std::time::{Duration, Instant};

/// In place of the step: collective calls are over, because of the task in place of the barrier's
/// number.
const OVER: u64 = 0xff;

/// As long may the news of a death take to all tasks of a machine.
const NEWS_OF_DEATHS: Duration = Duration::from_millis(50);

/// A task that finds all flags set needs no progress for its barriers, but others may need it to
/// make some: it does so once in this many barriers.
const PROGRESS_EVERY: u64 = 16;

impl Context {
    /// Waits until all tasks of the job have called it. Moves no data and fences nothing.
    ///
    /// # Errors
    /// A task died or terminated its context without calling it; a task was restarted, after which
    /// the others' calls and its own don't match any more.
    pub fn barrier(&self) -> Result<()> {
        self.usable()?;
        self.may_wait("barrier")?;
        let mut locked = self.locked();
        locked.collectives.barrier.not_over().map_err(|e| *e)?;
        let number = locked.collectives.barrier.enter();
        let mut told = Ok(());
        for at in 0..locked.collectives.barrier.acts.len() {
            match locked.collectives.barrier.acts[at] {
                // Whoever can be told is told, whatever became of others.
                Act::Send { to, step } => {
                    let sent = locked.announce(to, step, number);
                    told = told.and(sent);
                }
                Act::Await { from, step, receipt } => {
                    std::mem::replace(&mut told, Ok(()))?;
                    if !locked.look_soon(from, |locked| locked.has_come(from, step, receipt, number)) {
                        drop(locked);
                        self.await_step(from, step, receipt, number)?;
                        locked = self.locked();
                    }
                }
            }
        }
        if number.is_multiple_of(PROGRESS_EVERY) {
            locked.progress();
        }
        told
    }

    /// Waits until a task has come to its step of a barrier.
    #[cold]
    fn await_step(&self, from: PeerId, step: u8, receipt: u32, number: u64) -> Result<()> {
        let mut ended = None;
        let arrived = |locked: &mut Locked<'_>| -> Checked<()> {
            if locked.has_come(from, step, receipt, number) {
                return Ok(Some(()));
            }
            locked.collectives.barrier.not_over()?;
            let peer = &locked.peers[from];
            match peer.state {
                PeerState::Up => Ok(None),
                // It has given up, because of another one's death as a rule, which the wait is to
                // hear of, too.
                PeerState::Ended if ended.get_or_insert_with(Instant::now).elapsed() < NEWS_OF_DEATHS => {
                    Ok(None)
                }
                _ => Err(peer.refusal(from).into()),
            }
        };
        // An exchange through memory is a barrier, too.
        let exchanges = self.locked().collectives.exchanges.under_way > 0;
        let what = if exchanges { Awaiting::Exchange } else { Awaiting::Barrier };
        let awaited = Awaited::of(what).from(from).shown_by_flag();
        self.await_peer(from, || self.wait_for(awaited, arrived))?;
        // A task whose waits are over at once answers no question for a sign of life.
        self.locked().gave_sign_of_life(from);
        Ok(())
    }

    /// Whether collective calls are still possible.
    ///
    /// # Errors
    /// They are over: a task was restarted.
    pub fn collectives_go_on(&self) -> Result<()> {
        self.locked().collectives.barrier.not_over().map_err(|e| *e)
    }

    /// Whether collective calls of some tasks, this one among them, are possible.
    ///
    /// # Errors
    /// One of them was restarted: it has not made the calls that the others have made.
    pub fn collectives_go_on_among(&self, tasks: impl IntoIterator<Item = PeerId>) -> Result<()> {
        let locked = self.locked();
        if locked.collectives.barrier.over.is_none() {
            return Ok(());
        }
        match tasks.into_iter().find(|task| *task < self.tasks() && locked.peers[*task].replaced) {
            None => Ok(()),
            Some(task) => Err(Error::CollectivesOver { task }),
        }
    }
}

impl Locked<'_> {
    /// Whether a task has come to its step. What it has shown counts even if it is gone by now, but
    /// not if it was purged.
    #[inline(always)]
    fn has_come(&self, from: PeerId, step: u8, receipt: u32, number: u64) -> bool {
        let shown = self.shared().flags.shown(from, step) >= number;
        shown && self.peers[from].state != PeerState::Purged
            || self.collectives.barrier.is_noted(receipt, number)
    }

    /// Says that this task has come to a step.
    fn announce(&mut self, to: PeerId, step: u8, number: u64) -> Result<()> {
        let sent = &mut self.collectives.barrier.sent[usize::from(step)];
        // The step may be sent to several tasks, which see one flag.
        if *sent != number {
            *sent = number;
            self.shared().flags.show(step, number);
        }
        if self.shared().flags.are_seen_by(to) && self.peers[to].state == PeerState::Up {
            return Ok(());
        }
        let sent = self.send_packet(to, &barrier_packet(number, step), &[], &[]);
        // One that was about to sleep may have seen the flag after all, and have left since.
        if self.shared().flags.are_seen_by(to) && self.peers[to].state != PeerState::Purged {
            return Ok(());
        }
        sent
    }

    /// Another process has taken a task's place, perhaps this one.
    #[cold]
    pub(crate) fn is_replaced(&mut self, task: PeerId) {
        self.peers[task].replaced = true;
        self.end_collectives(task);
    }

    /// Tasks do not count their calls alike any more: no collective call of all tasks can succeed.
    #[cold]
    pub(crate) fn end_collectives(&mut self, because_of: PeerId) {
        self.collectives.barrier.over.get_or_insert(because_of);
        self.shared().wake_sleepers();
    }

    /// A task was purged, or has purged this one: what an exchange under way needs may be lost. The
    /// others in it must not wait.
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
        for at in 0..self.collectives.barrier.acts.len() {
            let barrier = &self.collectives.barrier;
            let Act::Send { to, step } = barrier.acts[at] else { continue };
            let number = barrier.sent[usize::from(step)];
            if to == with && number > 0 && barrier.over.is_none() {
                self.reply_packet(with, &barrier_packet(number, step), &[]);
            }
        }
    }

    fn tell_over(&mut self, peer: PeerId, because_of: PeerId) {
        self.reply_packet(peer, &Header::new(Kind::Barrier, 0, u64::from(because_of) << 8 | OVER), &[]);
    }

    /// Whoever makes a collective call is told that they are over.
    pub(super) fn refused_as_over(&mut self, source: PeerId) -> bool {
        let over = self.collectives.barrier.over;
        if let Some(because_of) = over {
            self.tell_over(source, because_of);
        }
        over.is_some()
    }

    pub(crate) fn barrier_arrived(&mut self, source: PeerId, subject: u64) {
        let (number, step) = (subject >> 8, subject & OVER);
        if step == OVER {
            return self.end_collectives(number as PeerId);
        }
        if self.refused_as_over(source) {
            return;
        }
        let peer = &mut self.peers[source];
        peer.barriers = peer.barriers.wrapping_add(1);
        if !self.collectives.barrier.note(source, step as u8, number) {
            tracing::warn!(source, step, number, "step of a barrier that is not awaited dropped");
        }
    }
}

fn barrier_packet(number: u64, step: u8) -> Header {
    Header::new(Kind::Barrier, 0, number << 8 | u64::from(step))
}
