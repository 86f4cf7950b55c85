//! What sending needs: a place for each peer, which the fast path reads alone.

mod send;

use crate::layout::{ManyTx, Tx};
use crate::wake::Attention;
use lapis_copies::Copies;
use lapis_copies::StorePolicy;
use lapis_core::sync::AtomicU64;
use lapis_core::transport::PeerId;
use std::os::fd::OwnedFd;

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
