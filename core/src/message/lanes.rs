//! The shortest way of a short active message: written and read in place, in the lanes of [`crate::transport::lane`].

use super::State;
use crate::Context;
use crate::context::PeerState;
use crate::stats::Path;
use crate::transport::lane::{INLINE, ReceiveLanes};
use crate::transport::{Caps, Link, PeerId, Status};
use crate::wire::Kind;
use std::ptr::NonNull;

/// Longest data that goes this way: two words of header are before it.
pub(super) const LONGEST: usize = INLINE - 16;

/// Messages taken from a lane before the next one has its turn.
const BATCH: usize = 16;

/// Looks at the lanes alone between two at everything, which takes as long as a message needs to come: a microsecond later at most
/// is noticed what lanes don't carry.
const LOOKS: u32 = 512;

/// Messages between two looks at everything: slots must be given back before a lane is full.
const MESSAGES: u32 = 32;

/// The lanes that this task reads.
#[derive(Default)]
pub(crate) struct Inbound {
    lanes: Option<NonNull<ReceiveLanes>>,
    /// Looks and messages since the link was last polled.
    since: u32,
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
        self.inbound = Inbound { lanes: self.links.iter_mut().find_map(found), since: 0 };
    }

    /// Forgets the lanes: the links are about to be closed.
    pub(crate) fn forget_lanes(&mut self) {
        self.inbound = Inbound::default();
        self.peers.iter_mut().for_each(|peer| peer.lane = None);
    }

    /// Whether it is time to look at everything.
    #[inline(always)]
    pub(crate) fn wants_full_look(&self) -> bool {
        self.inbound.lanes.is_none()
            || self.with_engines
            || self.inbound.since >= LOOKS
            || self.self_pending > 0
            || self.has_work()
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
        self.shared.lock.leave_favoured(section);
        match sent {
            Some(0) => true,
            Some(news) => self.attend(target, news),
            None => false,
        }
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

    /// Handles what waits in the lanes; gives how many messages that were. The lock is held and nothing is being dispatched.
    #[inline(always)]
    pub(crate) fn take_from_lanes(&self) -> usize {
        // SAFETY: the lock is held; the reference ends before anything is dispatched.
        let state = unsafe { self.state() };
        let Some(lanes) = state.inbound.lanes else { return 0 };
        let lanes = lanes.as_ptr();
        let mut handled = 0;
        let mut index = 0;
        // SAFETY: the list and the lanes it names live as long as the link; they change within calls of the transport only,
        // which a handler may cause: hence the list is read anew after each message.
        unsafe {
            while index < (*lanes).count as usize {
                let mut left = BATCH;
                while index < (*lanes).count as usize && left > 0 {
                    let lane = (*lanes).lanes[index];
                    let Some((peer, data, len)) = (*lane).take() else { break };
                    self.state().dispatching += 1;
                    self.packet_arrived(Path::SharedMemory, peer, std::slice::from_raw_parts(data, len));
                    self.state().dispatching -= 1;
                    left -= 1;
                }
                handled += BATCH - left;
                index += 1;
            }
            self.state().inbound.since += 1 + handled as u32 * (LOOKS / MESSAGES);
        }
        handled
    }
}
