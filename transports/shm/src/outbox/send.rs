//! The sending side.

use crate::connect::State;
use crate::handshake;
use crate::layout::{ManyTx, Tx};
use crate::store_policy::StorePolicy;
use crate::sys;
use crate::transport::Shm;
use crate::wake::{self, Attention, BITMAP, CLOSED, FENCE, NEEDY, SLEEP};
use lapis_copies::Copies;
use lapis_core::sync::{AtomicU64, Ordering};
use lapis_core::transport::lane::{Head, INLINE, SendLane, store_message};
use lapis_core::transport::{PeerId, Status};
use std::os::fd::{AsRawFd, OwnedFd};

/// What sending to one peer needs. A peer that can't be sent to at present has a closed lane, so
/// that the fast path asks one question only.
#[repr(C, align(64))]
pub(crate) struct Out {
    pub(crate) lane: Tx,
    pub(crate) attention: *const Attention,
    pub(crate) bitmap: *const AtomicU64,
    /// Our lane's bit.
    pub(crate) bit: u64,
    /// In place of a lane.
    pub(crate) many: Option<ManyTx>,
    pub(crate) policy: StorePolicy,
}

// SAFETY: the pointers name shared memory made for many threads.
unsafe impl Send for Out {}

impl Out {
    pub(crate) fn closed(limits: Copies) -> Self {
        Self {
            lane: Tx::closed(),
            attention: std::ptr::null(),
            bitmap: std::ptr::null(),
            bit: 0,
            many: None,
            policy: StorePolicy::new(limits),
        }
    }
}

/// All peers' [`Out`]s.
pub(crate) struct Outbox {
    /// From task to place in `outs`; `u32::MAX` for none.
    index: Vec<u32>,
    pub(crate) outs: Vec<Out>,
    /// By which each decides how bytes are stored.
    limits: Copies,
    /// Made when the first wake-up by socket is due.
    ringer: Option<OwnedFd>,
}

impl Outbox {
    pub(crate) fn new(limits: Copies) -> Self {
        Self { index: Vec::new(), outs: Vec::new(), limits, ringer: None }
    }

    /// The place of a task, if it was ever connected.
    #[inline(always)]
    pub(crate) fn find(&self, peer: PeerId) -> Option<usize> {
        let dense = *self.index.get(peer as usize)? as usize;
        (dense < self.outs.len()).then_some(dense)
    }

    /// Makes a place for a task.
    pub(crate) fn add(&mut self, peer: PeerId) -> usize {
        let at = peer as usize;
        if self.index.len() <= at {
            self.index.resize(at + 1, u32::MAX);
        }
        self.index[at] = self.outs.len() as u32;
        self.outs.push(Out::closed(self.limits));
        self.outs.len() - 1
    }

    /// Changes how a peer is sent to.
    pub(crate) fn set(&mut self, dense: usize, new: Out) {
        let out = &mut self.outs[dense];
        let Out { mut lane, attention, bitmap, bit, many, policy } = new;
        lane.set_attention(if attention.is_null() {
            std::ptr::null()
        } else {
            // SAFETY: the line lives as long as the connection; only an address is computed.
            unsafe { &raw const (*attention).word }
        });
        out.lane.replace(lane);
        (out.attention, out.bitmap, out.bit, out.many, out.policy) = (attention, bitmap, bit, many, policy);
    }
}

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
            unsafe { store_message(Head::Bytes(head), body, into.as_mut_ptr(), policy.past()) };
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
