//! The shortest way of a short active message: written and read in place, in the lanes of [`crate::transport::lane`].

use super::State;
use crate::Context;
use crate::context::PeerState;
use crate::transport::lane::{INLINE, ReceiveLanes};
use crate::transport::{Caps, Link, PeerId, Status};
use crate::wire::Kind;
use std::ptr::NonNull;

/// Longest data that goes this way: two words of header are before it.
pub(super) const LONGEST: usize = INLINE - 16;

/// Messages taken from a lane before the next one has its turn.
const BATCH: usize = 16;

/// Looks at the lanes alone between two at everything: that much later is noticed what lanes don't carry.
const LOOKS: u32 = 64;

/// The lanes that this task reads.
#[derive(Default)]
pub(crate) struct Inbound {
    lanes: Option<NonNull<ReceiveLanes>>,
    /// Which link they are of.
    link: usize,
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
        let first = self.links.iter_mut().enumerate().find_map(|(at, link)| Some((at, found(link)?)));
        if let Some((link, lanes)) = first
            && !self.with_engines
        {
            self.inbound = Inbound { lanes: Some(lanes), link, since: 0 };
        }
    }

    /// Whether it is time to look at everything.
    #[inline(always)]
    pub(crate) fn wants_full_look(&self) -> bool {
        self.inbound.lanes.is_none()
            || self.inbound.since >= LOOKS
            || self.self_pending > 0
            || self.has_work()
    }

    /// Everything has been looked at.
    #[inline(always)]
    pub(crate) fn looked_at_everything(&mut self) {
        self.inbound.since = 0;
    }

    /// Sends a message in the lane to its target. `None`: it can't go this way, nothing has happened.
    ///
    /// # Safety
    /// `handler` is what the target gave out.
    #[inline(always)]
    pub(super) unsafe fn send_in_lane(
        &mut self,
        target: PeerId,
        handler: u64,
        data: &[u8],
    ) -> Option<Status> {
        let peer = &mut self.peers[target as usize];
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
        let index = peer.route.index();
        self.ended_sends += 1;
        let counts = self.statistics.path_mut(self.paths[index]);
        counts.packets_sent += 1;
        counts.data_sent += data.len() as u64;
        if news == 0 { Some(Status::Done) } else { Some(self.links[index].attend(target, news)) }
    }
}

impl Context {
    /// Handles what waits in the lanes; gives how many messages that were. The lock is held and nothing is being dispatched.
    #[inline(always)]
    pub(crate) fn take_from_lanes(&self) -> usize {
        // SAFETY: the lock is held; the reference ends before anything is dispatched.
        let state = unsafe { self.state() };
        let Some(lanes) = state.inbound.lanes else { return 0 };
        let (lanes, link) = (lanes.as_ptr(), state.inbound.link);
        let mut handled = 0;
        let mut index = 0;
        // SAFETY: the list and the lanes it names live as long as the link; they change within calls of the transport only,
        // which a handler may cause: hence the list is read anew after each message.
        unsafe {
            while index < (*lanes).count as usize {
                let mut left = BATCH;
                while index < (*lanes).count as usize && left > 0 {
                    let lane = (*lanes).lanes[index];
                    let Some((data, len)) = (*lane).peek() else { break };
                    let peer = (*lane).peer;
                    (*lane).take();
                    self.state().dispatching += 1;
                    self.packet_arrived(link, peer, std::slice::from_raw_parts(data, len));
                    self.state().dispatching -= 1;
                    left -= 1;
                }
                handled += BATCH - left;
                index += 1;
            }
            self.state().inbound.since += 1 + handled as u32;
        }
        handled
    }
}
