//! Receiving from the lanes: messages are handled where they lie.

use super::sender::Told;
use crate::context::{AdaptiveWait, Checked, Locked};
use crate::stats::Path;
use crate::sync::spin_loop;
use crate::transport::lane::{INLINE, Mailbox, ReceiveLane, Taken};
use lapis_ablation::{Optimization, without};

/// What a look for an answer and the pause after it count for. Whoever has sent nothing looks as
/// often as possible: what comes next of a stream is there already.
const PAUSED_LOOK: u32 = 4;

impl Locked<'_> {
    /// Looks at the lanes alone, until `check` gives a result or for as long as that is wise. It is
    /// asked after each look and after each message, or after some of a stream.
    #[inline(always)]
    pub(crate) fn watch_lanes<R>(
        &mut self,
        check: &mut impl FnMut(&mut Self) -> Checked<R>,
        idle: &mut AdaptiveWait,
    ) -> Checked<R> {
        let Some(mut lanes) = self.lanes_alone() else { return Ok(None) };
        let mut looks = 0;
        let shared = self.shared();
        let enough = shared.crowding.lane_looks();
        let mut for_answer = self.pause_for_answer();
        while looks < enough && !shared.lock_is_wanted() {
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
                    Taken::Message { data, len, mailbox } => {
                        // SAFETY: what was just taken from this lane.
                        let worked = unsafe {
                            let lane = (*lanes).lanes[index];
                            self.handle_in_place(lane, (data, len), mailbox)
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
                        // The next one is looked for in the same lane. Others have their turn some
                        // messages later, when everything is looked at.
                        let Some(now) = self.lanes_of_idle() else { return Ok(None) };
                        (lanes, looks, for_answer) = (now, 0, false);
                        self.links.inbound.rest_behind_writer();
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

    /// Rests before the first look for an answer; says whether one is due.
    #[inline(always)]
    fn pause_for_answer(&mut self) -> bool {
        let crowded = self.shared().crowding.is_crowded();
        let inbound = &mut self.links.inbound;
        if !crowded {
            inbound.rest();
        }
        inbound.is_answer_due() && !without(Optimization::AnswerPauses)
    }

    /// Handles a message where it lies, and in a stream those behind it in the lane's slots. Goes
    /// on with work that they have left, and says whether there was any. Then gives back the
    /// mailbox that brought the first message, if one did. A function of its own: the loops that
    /// wait keep their registers.
    ///
    /// # Safety
    /// The message was just taken from the lane: it stays in place, and its sender leaves it alone,
    /// until the lane is looked at again, the transport is polled or the mailbox is given back.
    /// Nothing else is being dispatched. Lane and mailbox are alive.
    #[inline(never)]
    unsafe fn handle_in_place(
        &mut self,
        lane: *mut ReceiveLane,
        (mut data, mut len): (*const u8, usize),
        mailbox: *mut Mailbox,
    ) -> bool {
        // SAFETY: the lane is alive; nothing but its transport's own calls changes the sender.
        let peer = unsafe { (*lane).peer };
        // SAFETY: the message is there, by the contract above.
        let Some(from) = self.sender(peer, unsafe { std::slice::from_raw_parts(data, len) }) else {
            return false;
        };
        let mut told = Told::of(from);
        let most = self.links.inbound.begin_turn();
        let most = if mailbox.is_null() { most } else { 1 };
        let mut left = most;
        self.dispatching = 1;
        let mut locked = self.reborrow();
        // SAFETY: message and lane are alive and this task's, by the contract above. A lane that a
        // handler has taken out of use lives until its transport's next poll. What was taken before
        // a message is done with.
        unsafe {
            if mailbox.is_null() {
                (*lane).look_ahead();
            }
            loop {
                let packet = std::slice::from_raw_parts(data, len);
                locked.packet_arrived_from(Path::SharedMemory, from, &mut told, packet);
                left -= 1;
                if left == 0 || locked.shared().lock_is_wanted() {
                    break;
                }
                let Some(next) = (*lane).take_next() else { break };
                (data, len) = next;
            }
            (*lane).tell();
        }
        self.dispatching = 0;
        // What fits a slot is written as fast as it is looked for.
        self.links.inbound.end_turn(most - left, left > 0 && len > INLINE);
        let worked = self.has_work();
        if worked {
            self.advance();
        }
        if !mailbox.is_null() {
            // SAFETY: the mailbox is alive, and what it brought has been handled.
            let number = unsafe {
                (*mailbox).done();
                (*mailbox).count()
            };
            self.links.inbound.answered(number);
        }
        self.shared().wake_sleepers();
        worked
    }
}
