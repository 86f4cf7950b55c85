//! The shortest way of a short active message: written and read in place, in the lanes of [`crate::transport::lane`].

use super::{SHORT, State};
use crate::Context;
use crate::context::{Checked, Idle, PeerState};
use crate::stats::Path;
use crate::sync::spin_loop;
use crate::transport::lane::{INLINE, ReceiveLanes, Taken};
use crate::transport::{Caps, Link, PeerId, Status};
use crate::wire::Kind;
use std::ptr::NonNull;

/// Longest data that goes this way: two words of header are before it.
pub(super) const LONGEST: usize = INLINE - 16;

/// Looks at the lanes alone between two at everything, which takes as long as a message needs to come: a microsecond or two later at most
/// is noticed what lanes don't carry.
const LOOKS: u32 = 512;

/// Pauses before the first look for an answer; there is one after each look. A look fetches a line from the task that is about to
/// write it and must then take it back, so that an answer looked for too early, or too often, comes a third later. Whoever has sent
/// nothing looks as often as possible: what comes next of a stream is there already.
const REST: u32 = 2;
/// What a look and a pause count for.
const PAUSED_LOOK: u32 = 4;

/// Messages between two looks at everything: slots must be given back before a lane is full.
const MESSAGES: u32 = 32;

/// The lanes that this task reads.
#[derive(Default)]
pub(crate) struct Inbound {
    lanes: Option<NonNull<ReceiveLanes>>,
    /// Messages since the link was last polled.
    since: u32,
    /// Something was sent, and nothing has come since.
    answer_due: bool,
    /// Something was sent, and nothing has been looked for since.
    rest_due: bool,
}

impl State {
    /// Asks the transports for their lanes. To be called when the peers are connected.
    pub(super) fn find_lanes(&mut self) {
        for (task, peer) in self.peers.iter_mut().enumerate() {
            peer.lane =
                self.links.get_mut(peer.route.index()).and_then(|link| link.send_lane(task as PeerId));
        }
        let found =
            |link: &mut Link| link.caps().contains(Caps::LANES).then(|| link.receive_lanes()).flatten();
        self.inbound = Inbound { lanes: self.links.iter_mut().find_map(found), ..Inbound::default() };
    }

    /// Forgets the lanes: the links are about to be closed.
    pub(crate) fn forget_lanes(&mut self) {
        self.inbound = Inbound::default();
        self.peers.iter_mut().for_each(|peer| peer.lane = None);
    }

    /// The lanes, if nothing but what arrives in them is to be expected for a moment.
    #[inline(always)]
    fn lanes_alone(&self) -> Option<*mut ReceiveLanes> {
        let lanes = self.inbound.lanes?;
        let alone = !self.with_engines
            && self.inbound.since < MESSAGES
            && self.self_pending == 0
            && self.dispatching == 0
            && !self.has_work();
        alone.then_some(lanes.as_ptr())
    }

    /// Everything has been looked at.
    #[inline(always)]
    pub(crate) fn looked_at_everything(&mut self) {
        self.inbound.since = 0;
    }

    /// Sends a message in the lane to its target; gives what the target's attention word says. `None`: it can't go this way,
    /// nothing has happened.
    ///
    /// # Safety
    /// `handler` is what the target gave out.
    #[inline(always)]
    pub(super) unsafe fn send_in_lane(&mut self, target: PeerId, handler: u64, data: &[u8]) -> Option<u32> {
        let peer = self.peers.get_mut(target as usize)?;
        let lane = peer.lane?.as_ptr();
        if data.len() > LONGEST || peer.state != PeerState::Up {
            return None;
        }
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes us their only user.
        let news = unsafe {
            if !(*lane).has_room() {
                return None;
            }
            (*lane).send(Kind::Am as u64 | u64::from(peer.next_message) << 32, handler, data)
        };
        peer.next_message = peer.next_message.wrapping_add(1);
        self.ended_sends += 1;
        (self.inbound.answer_due, self.inbound.rest_due) = (true, true);
        let counts = self.statistics.path_mut(Path::SharedMemory);
        counts.packets_sent += 1;
        counts.data_sent += data.len() as u64;
        Some(news)
    }
}

impl Context {
    /// The whole way of a short message without user header, if nothing stands in it. False: something does, nothing has
    /// happened; the long way finds out what.
    ///
    /// # Safety
    /// `handler` is what the target gave out.
    #[inline(always)]
    pub(crate) unsafe fn send_at_once(&self, target: PeerId, handler: u64, data: &[u8]) -> bool {
        if !self.shared.alive.here() {
            return false;
        }
        let Some(section) = self.shared.lock.enter_favoured() else { return false };
        // SAFETY: the lock is held and nothing below calls out; the rest is the caller's promise.
        let sent = unsafe { self.state().send_in_lane(target, handler, data) };
        // SAFETY: as above.
        let otherwise = sent.is_none() && unsafe { self.send_without_lane(target, handler, data) };
        self.shared.lock.leave_favoured(section);
        match sent {
            Some(0) => true,
            Some(news) => self.attend(target, news),
            None => otherwise,
        }
    }

    /// The rest of it where no lane leads to the target. The lock is held.
    ///
    /// # Safety
    /// As for [`send_at_once`](Self::send_at_once).
    #[inline(never)]
    unsafe fn send_without_lane(&self, target: PeerId, handler: u64, data: &[u8]) -> bool {
        target < self.shared.tasks
            && data.len() as u64 <= SHORT
            && self.usable().is_ok()
            // SAFETY: the lock is held; the rest is the caller's promise.
            && unsafe { self.am_short_by_table(target, handler, data, 0) }
    }

    /// Does what the attention word of a task asked for. False: the task is gone.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&self, target: PeerId, news: u32) -> bool {
        let _held = self.guard();
        // SAFETY: the lock is held and nothing below calls out.
        let state = unsafe { self.state() };
        state.link_to(target).is_none_or(|link| link.attend(target, news) != Status::PeerDown)
    }

    /// Looks at the lanes alone, until `check` gives a result or for as long as that is wise. The lock is held.
    #[inline(always)]
    pub(crate) fn watch_lanes<R>(
        &self,
        check: &mut impl FnMut(&Self) -> Checked<R>,
        idle: &mut Idle,
    ) -> Checked<R> {
        // SAFETY: the lock is held; the references end before anything is dispatched.
        let alone = || unsafe { self.state() }.lanes_alone();
        let Some(mut lanes) = alone() else { return Ok(None) };
        let mut looks = 0;
        // SAFETY: the lock is held, and the reference ends here.
        let inbound = unsafe { &mut self.state().inbound };
        let mut for_answer = inbound.answer_due;
        // Once: a program that polls by calls comes here with each of them.
        if std::mem::take(&mut inbound.rest_due) {
            (0..REST).for_each(|_| spin_loop());
        }
        while looks < LOOKS && !self.is_wanted() {
            let mut index = 0;
            // SAFETY: the list and the lanes it names live as long as the link; they change within calls of the transport only,
            // which a handler may cause: hence the list is read anew each time.
            while index < unsafe { (*lanes).count } as usize {
                // SAFETY: as above.
                match unsafe { (*(*lanes).lanes[index]).take() } {
                    Taken::Nothing => {}
                    Taken::Left => return Ok(None),
                    Taken::Message { peer, data, len, turn } => {
                        // SAFETY: the lock is held; the message stays in place until the transport is polled, or the turn is
                        // given back; turns and lanes live as long as the link.
                        unsafe {
                            if turn.is_null() {
                                (*(*lanes).lanes[index]).look_ahead();
                            }
                            self.lane_message(peer, std::slice::from_raw_parts(data, len));
                            if !turn.is_null() {
                                (*turn).done();
                            }
                        }
                        // Here, too: after a message the answer is another one, which the processor learns branch by branch.
                        if let Some(result) = check(self)? {
                            return Ok(Some(result));
                        }
                        idle.reset();
                        (looks, for_answer) = (0, false);
                        let Some(now) = alone() else { return Ok(None) };
                        lanes = now;
                    }
                }
                index += 1;
            }
            if let Some(result) = check(self)? {
                return Ok(Some(result));
            }
            looks += 1;
            if for_answer {
                looks += PAUSED_LOOK - 1;
                spin_loop();
            }
        }
        idle.passed(looks);
        spin_loop();
        Ok(None)
    }

    /// Handles a message of a lane. A function of its own: the loops that wait keep their registers.
    ///
    /// # Safety
    /// The lock is held and nothing is being dispatched; the message stays in place until the transport is polled.
    #[inline(never)]
    unsafe fn lane_message(&self, peer: PeerId, packet: &[u8]) {
        // SAFETY: the caller's promise; references to the state end before anything is dispatched.
        unsafe {
            let state = self.state();
            state.inbound.since += 1;
            state.inbound.answer_due = false;
            state.dispatching = 1;
            self.packet_arrived(Path::SharedMemory, peer, packet);
            let state = self.state();
            state.dispatching = 0;
            if state.has_work() {
                self.advance();
            }
        }
        self.wake_sleepers();
    }
}
