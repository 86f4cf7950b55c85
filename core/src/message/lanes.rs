//! The shortest way of a short active message: it is written and read in place, in the lanes of
//! [`crate::transport::lane`], without a call of the transport.

use super::{Aside, Attempt, Short};
use crate::Context;
use crate::context::State;
use crate::context::{AdaptiveWait, Checked, Locked, ShortSection};
use crate::state::PeerState;
use crate::stats::Path;
use crate::sync::spin_loop;
use crate::transport::lane::{INLINE, Mailbox, ReceiveLane, Taken, copy_short};
use crate::transport::{PeerId, Status};
use crate::wire::short_head;
use lapis_ablation::{Optimization, without};

/// Pauses before the first look for an answer; there is one after each look. A look fetches a line
/// from the task that is about to write it and must then take it back, so that an answer looked for
/// too early, or too often, comes a third later. Whoever has sent nothing looks as often as
/// possible: what comes next of a stream is there already.
const REST: u32 = 2;
/// What a look and a pause count for.
const PAUSED_LOOK: u32 = 4;

impl State {
    /// Sends a message in the lane to its target; gives what the target's attention word says.
    /// `None`: it can't go this way, nothing has happened.
    ///
    /// # Safety
    /// `handler` and `target_counter` are what the target gave out.
    #[inline(always)]
    pub(super) unsafe fn send_in_lane(&mut self, message: &Short<'_>) -> Option<u32> {
        let &Short { target, handler, user_header, data, target_counter } = message;
        let peer = self.peers.get_mut(target)?;
        let lane = peer.lane?.as_ptr();
        let words = if target_counter == 0 { 16 } else { 24 };
        let len = words + user_header.len() + data.len();
        if len > INLINE || !user_header.len().is_multiple_of(4) || peer.state != PeerState::Up {
            return None;
        }
        let head = short_head(peer.next_message, user_header.len(), target_counter != 0);
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user. As much is written as was counted.
        let news = unsafe {
            if !(*lane).has_room() {
                return None;
            }
            let reserved = (*lane).reserve(len);
            let place = reserved.bytes;
            place.cast::<u64>().write(head.to_le());
            place.add(8).cast::<u64>().write(handler.to_le());
            if target_counter != 0 {
                place.add(16).cast::<u64>().write(target_counter.to_le());
            }
            copy_short(user_header.as_ptr(), place.add(words), user_header.len());
            copy_short(data.as_ptr(), place.add(words + user_header.len()), data.len());
            (*lane).commit(reserved)
        };
        peer.next_message = peer.next_message.wrapping_add(1);
        self.sending.ended += 1;
        self.links.inbound.expect_answer();
        let counts = self.statistics.path_mut(Path::SharedMemory);
        counts.packets_sent += 1;
        counts.data_sent += data.len() as u64;
        Some(news)
    }

    /// Sends a packet in the lane to its target, through the table only what that lane's receiver
    /// asks for. `None`: it can't go this way, nothing has happened.
    #[inline(always)]
    pub(super) fn packet_in_lane(&mut self, target: PeerId, head: &[u8], data: &[u8]) -> Option<Status> {
        let peer = &self.peers[target];
        let lane = peer.lane?.as_ptr();
        // SAFETY: lanes live as long as the link, which lives as long as the state; the lock makes
        // us their only user.
        let news = unsafe {
            if head.len() + data.len() > INLINE || !(*lane).has_room() {
                return None;
            }
            (*lane).send(head, data)
        };
        if self.dispatching == 0 {
            // What is sent while something is handled is an answer, not a question.
            self.links.inbound.expect_answer();
        }
        if news == 0 {
            return Some(Status::Done);
        }
        self.link_to(target).map(|link| link.attend(target, news))
    }
}

impl Context {
    /// The whole way of a short message, if nothing stands in it.
    ///
    /// # Safety
    /// `handler` and `target_counter` are what the target gave out.
    #[inline(always)]
    pub(crate) unsafe fn send_at_once(&self, message: &Short<'_>) -> Attempt {
        if !self.shared.alive.here() {
            return Attempt::Unfit;
        }
        let Some(mut section) = self.short_section() else { return Attempt::None };
        // SAFETY: this function demands what `send_in_lane` does.
        match unsafe { section.send_in_lane(message) } {
            Some(0) => Attempt::Sent,
            sent => self.send_at_once_slow(section, &message.aside(), sent),
        }
    }

    /// The rest of it where no lane leads to the target, or the lane's reader wants something.
    #[inline(never)]
    fn send_at_once_slow(
        &self,
        section: ShortSection<'_>,
        message: &Aside<'_>,
        sent: Option<u32>,
    ) -> Attempt {
        let message = &message.short();
        let mut locked = section.keep();
        match sent {
            Some(news) => locked.attend(message.target, news),
            None if self.usable().is_ok() => locked.am_short_by_table(message),
            None => Attempt::Unfit,
        }
    }
}

impl Locked<'_> {
    /// Does what the attention word of a task asked for after a message in its lane.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&mut self, target: PeerId, news: u32) -> Attempt {
        let gone = self.link_to(target).is_some_and(|link| link.attend(target, news) == Status::PeerDown);
        if gone { Attempt::Unfit } else { Attempt::Sent }
    }

    /// Looks at the lanes alone, until `check` gives a result or for as long as that is wise.
    #[inline(always)]
    pub(crate) fn watch_lanes<R>(
        &mut self,
        check: &mut impl FnMut(&mut Self) -> Checked<R>,
        idle: &mut AdaptiveWait,
    ) -> Checked<R> {
        let Some(mut lanes) = self.lanes_alone() else { return Ok(None) };
        let mut looks = 0;
        let shared = self.shared();
        let most = shared.crowding.lane_looks();
        let inbound = &mut self.links.inbound;
        let mut for_answer = inbound.answer_due > 0 && !without(Optimization::AnswerPauses);
        // Once: a program that polls by calls comes here with each of them.
        if std::mem::take(&mut inbound.rest_due) {
            (0..REST).for_each(|_| spin_loop());
        }
        while looks < most && !shared.lock_is_wanted() {
            let mut index = 0;
            // SAFETY: the list and the lanes it names live as long as the link; they change within
            // calls of the transport only, which a handler may cause: hence the list is read anew
            // each time.
            while index < unsafe { (*lanes).count } as usize {
                // SAFETY: one of the first `count`, each of which is alive and read by the lock's
                // holder only.
                match unsafe { (*(*lanes).lanes[index]).take() } {
                    Taken::Nothing => index += 1,
                    Taken::Left => return Ok(None),
                    Taken::Message { peer, data, len, mailbox } => {
                        // SAFETY: what was just taken from this lane.
                        let worked = unsafe {
                            self.handle_in_place((*lanes).lanes[index], peer, (data, len), mailbox)
                        };
                        // Here, too: after a message the answer is another one, which the processor
                        // learns branch by branch.
                        if let Some(result) = check(self)? {
                            return Ok(Some(result));
                        }
                        idle.reset();
                        if worked || shared.lock_is_wanted() {
                            return Ok(None);
                        }
                        // The next one is looked for in the same lane. Others have their turn when
                        // everything is looked at, which some messages later is the case.
                        let Some(now) = self.lanes_of_idle() else { return Ok(None) };
                        (lanes, looks, for_answer) = (now, 0, false);
                    }
                }
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

    /// Handles a message where it lies, then gives back the mailbox that brought it, if one did.
    /// Says whether that left work to do, with which it has gone on, too.
    ///
    /// # Safety
    /// It was just taken from the lane: it stays in place, and its sender leaves it alone, until
    /// the transport is polled or the mailbox is given back. Lanes and mailboxes live as long as
    /// the link.
    #[inline(always)]
    unsafe fn handle_in_place(
        &mut self,
        lane: *mut ReceiveLane,
        peer: PeerId,
        (data, len): (*const u8, usize),
        mailbox: *mut Mailbox,
    ) -> bool {
        // SAFETY: lane, bytes and mailbox are alive and this task's, by the contract above.
        unsafe {
            if mailbox.is_null() {
                (*lane).look_ahead();
            }
            let worked = self.lane_message(peer, std::slice::from_raw_parts(data, len));
            if !mailbox.is_null() {
                (*mailbox).done();
            }
            worked
        }
    }

    /// Handles a message of a lane; says whether that left work to do, with which it has gone on,
    /// too. A function of its own: the loops that wait keep their registers.
    ///
    /// Nothing else is being dispatched.
    #[inline(never)]
    fn lane_message(&mut self, peer: PeerId, packet: &[u8]) -> bool {
        self.links.inbound.since += 1;
        self.links.inbound.answer_due = 0;
        self.dispatching = 1;
        self.packet_arrived(Path::SharedMemory, peer, packet);
        self.dispatching = 0;
        let work = self.has_work();
        if work {
            self.advance();
        }
        self.shared().wake_sleepers();
        work
    }
}
