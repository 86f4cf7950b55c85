//! Sending: into the peer's lane, or into its shared ring.

use crate::handshake;
use crate::peer::State;
use crate::sys;
use crate::transport::Shm;
use crate::wake::{self, BITMAP, CLOSED, FENCE, NEEDY, SLEEP};
use lapis_copies::StorePolicy;
use lapis_core::sync::Ordering;
use lapis_core::transport::lane::{INLINE, SendLane, store_message};
use lapis_core::transport::{PeerId, Status};
use std::os::fd::AsRawFd;

impl Shm {
    /// [`Transport::send_lane`](lapis_core::transport::Transport::send_lane).
    pub(crate) fn lane_to(&mut self, peer: PeerId) -> *mut SendLane {
        let met = self.outbox.find(peer).filter(|&dense| self.peers[dense].state != State::Known);
        met.map_or(std::ptr::null_mut(), |dense| self.outbox.outs[dense].lane.line())
    }

    /// [`Transport::attend`](lapis_core::transport::Transport::attend).
    pub(crate) fn attend_to(&mut self, peer: PeerId, attention: u32) -> Status {
        match self.outbox.find(peer) {
            Some(dense) => self.attend(dense, attention),
            None => Status::Invalid,
        }
    }

    /// [`Transport::am_short`](lapis_core::transport::Transport::am_short).
    #[inline(always)]
    pub(crate) fn send_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        let Some(dense) = self.outbox.find(peer) else { return Status::Invalid };
        let out = &mut self.outbox.outs[dense];
        let len = head.len() + body.len();
        if out.lane.takes(len) {
            // SAFETY: the lane takes as many bytes.
            let news = unsafe { out.lane.send(head, body) };
            return if news != 0 { self.attend(dense, news) } else { Status::Done };
        }
        let mut pack = |policy: &StorePolicy, into: &mut [u8]| {
            debug_assert_eq!(into.len(), len);
            // SAFETY: `into` has room for both. Long bodies get places in data rings, in which
            // messages begin at cache lines and have the last one to themselves.
            unsafe { store_message(head, body, into.as_mut_ptr(), policy.past()) };
        };
        self.send_slow(dense, len, &mut pack)
    }

    /// [`Transport::am_packed`](lapis_core::transport::Transport::am_packed).
    #[inline(always)]
    pub(crate) fn send_packed(
        &mut self,
        peer: PeerId,
        len: usize,
        pack: &mut dyn FnMut(&mut [u8]),
    ) -> Status {
        let Some(dense) = self.outbox.find(peer) else { return Status::Invalid };
        self.send_slow(dense, len, &mut |_, into| pack(into))
    }

    /// Everything but the short message in a lane with room.
    fn send_slow(
        &mut self,
        dense: usize,
        len: usize,
        pack: &mut dyn FnMut(&StorePolicy, &mut [u8]),
    ) -> Status {
        if len > crate::layout::MAX_MESSAGE {
            return Status::Invalid;
        }
        let out = &mut self.outbox.outs[dense];
        // The slices are references to shared memory only as far as the callback's contract demands
        // one; the receiver does not look at the bytes before they are published.
        let news = if let Some(many) = &mut out.many {
            let Some((pos, place)) = many.claim(len) else { return self.no_room(dense, len, pack) };
            // SAFETY: the place has `len` bytes which are ours until `publish`; the line lives as
            // long as the connection.
            unsafe {
                pack(&out.policy, std::slice::from_raw_parts_mut(place, len));
                many.publish(pos, len);
                wake::look(out.attention)
            }
        } else {
            if !out.lane.has_room() && !out.lane.refresh() {
                return self.no_room(dense, len, pack);
            }
            let policy = &mut out.policy;
            if len <= INLINE {
                // SAFETY: there is a slot, and the place has `len` bytes.
                unsafe {
                    out.lane.publish(len, |place| pack(policy, std::slice::from_raw_parts_mut(place, len)))
                }
            } else {
                // SAFETY: there is a slot; the place has `len` bytes.
                unsafe {
                    let Some(place) = out.lane.data_room(len, policy) else { return Status::Again };
                    pack(policy, std::slice::from_raw_parts_mut(place, len));
                    out.lane.publish_data(len)
                }
            }
        };
        if news != 0 { self.attend(dense, news) } else { Status::Done }
    }

    #[cold]
    fn no_room(&mut self, dense: usize, len: usize, pack: &mut dyn FnMut(&StorePolicy, &mut [u8])) -> Status {
        match self.peers[dense].state {
            State::Known => match self.meet_now(dense) {
                Ok(()) => self.send_slow(dense, len, pack),
                Err(status) => status,
            },
            State::Open | State::Greeting | State::Greeted => Status::Again,
            State::Down => Status::PeerDown,
            State::Gone => Status::Invalid,
        }
    }

    /// Does what the receiver's attention word asks for.
    #[cold]
    #[inline(never)]
    fn attend(&mut self, dense: usize, mut news: u32) -> Status {
        let out = &self.outbox.outs[dense];
        // SAFETY: both lines live as long as the connection.
        unsafe {
            if news & (FENCE | NEEDY) != 0 {
                news = wake::look_again(out.attention);
            }
            if news & BITMAP != 0 && out.bit != 0 {
                // SYNC: pairs with the receiver's Acquire swap: the slot is there when the bit is
                // seen.
                (*out.bitmap).fetch_or(out.bit, Ordering::AcqRel);
            }
            if news & SLEEP != 0 && wake::take_sleeper(out.attention) {
                sys::futex_wake((&raw const (*out.attention).wakes).cast());
                // SYNC: pairs with the Release store in the waiter's `fd`.
                if (*out.attention).on_descriptor.load(Ordering::Acquire) != 0 {
                    if self.outbox.ringer.is_none() {
                        self.outbox.ringer = handshake::ringer().ok();
                    }
                    if let Some(ringer) = &self.outbox.ringer {
                        handshake::ring(ringer.as_raw_fd(), &self.peers[dense].address.socket);
                    }
                }
            }
        }
        if news & CLOSED != 0 {
            self.lost(dense);
            return Status::PeerDown;
        }
        Status::Done
    }
}
