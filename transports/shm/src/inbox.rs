//! The receiving side: the lanes of senders, and ended lanes that are kept for a while.
//!
//! A lane that has ended keeps its memory until the next poll, because events of the last one may
//! name what lies in it.

mod receive;
mod senders;

use crate::layout::{self, LANES, ManyRx, Rx};
use crate::segment::Segment;
use crate::waiter::Notifier;
use lapis_core::sync::{Arc, Ordering};
use lapis_core::transport::lane::{Mailbox, ReceiveLanes};
use lapis_core::transport::{Event, PeerId};
use lapis_lanes::Corrupt;
use std::cell::UnsafeCell;
use std::time::Instant;

/// Polls between looks at the clock.
const POLLS_PER_LOOK: u32 = 256;
/// How far ahead of the slot being read the cache is asked for slots.
const AHEAD: u64 = 4;

/// One sender's lane.
struct InLane {
    rx: Rx,
    peer: PeerId,
    dense: usize,
    number: u8,
    notifier: Arc<Notifier>,
}

/// The list for core, at a place of its own.
struct Direct(UnsafeCell<ReceiveLanes>);

// SAFETY: it names lanes that move with the inbox that owns both.
unsafe impl Send for Direct {}

/// What was found wrong while collecting.
struct Broken {
    dense: usize,
    corrupt: Corrupt,
}

impl InLane {
    /// Moves what waits into `events[n..]`; answers the new `n`.
    #[inline(always)]
    fn collect(&mut self, events: &mut [Event], from: usize, broken: &mut Option<Broken>) -> usize {
        self.rx.release();
        let mut n = from;
        while n < events.len() {
            match self.rx.take_next() {
                None => break,
                Some(Ok((data, len))) => {
                    self.rx.prefetch(AHEAD);
                    events[n] = Event::message(self.peer, data, len as u32);
                    n += 1;
                }
                Some(Err(corrupt)) => {
                    *broken = Some(Broken { dense: self.dense, corrupt });
                    break;
                }
            }
        }
        if n != from {
            self.rx.tell_position(&self.notifier.progress.next[usize::from(self.number) % LANES]);
        }
        n
    }
}

/// Everything that arrives.
pub(crate) struct Inbox {
    lanes: Vec<InLane>,
    /// Where the next poll begins, so that no lane starves the others.
    next: usize,
    seen_claims: Option<u32>,
    /// The receiver reads the bitmap.
    marked: bool,
    /// Lanes that may hold something, by bit, beside those in the bitmap.
    pending: u64,
    /// Lanes that held nonsense; never read again.
    poisoned: u64,
    /// Lanes of disconnected peers, which are emptied now and then.
    discarded: Vec<InLane>,
    /// Lanes that nobody uses any more, with the word of the member that has ended; to be freed by
    /// the next poll.
    graves: Vec<(InLane, Option<u64>)>,
    /// From a lane's number to its place in `lanes`.
    place: [u8; LANES],
    many: ManyRx,
    many_used: bool,
    /// The next poll begins with the shared ring, for which lanes left no room.
    shared_first: bool,
    /// The lanes that core reads itself.
    direct: Box<Direct>,
    /// By member number: the peer's place, or `u32::MAX`.
    members: Vec<u32>,
    /// Peers that are down and whose last messages are being delivered.
    pub(crate) dying: Vec<usize>,
    pub(crate) scratch: Vec<u64>,
    polls: u32,
    next_check: Instant,
    segment: Arc<Segment>,
    notifier: Arc<Notifier>,
}

impl Inbox {
    pub(crate) fn new(segment: Arc<Segment>, notifier: Arc<Notifier>) -> Self {
        Self {
            lanes: Vec::new(),
            next: 0,
            seen_claims: None,
            marked: false,
            pending: 0,
            poisoned: 0,
            discarded: Vec::new(),
            graves: Vec::new(),
            place: [u8::MAX; LANES],
            // SAFETY: the segment lives as long as this.
            many: unsafe { ManyRx::attach(layout::shared(segment.base())) },
            many_used: false,
            shared_first: false,
            direct: Box::new(Direct(UnsafeCell::new(ReceiveLanes::none()))),
            members: Vec::new(),
            dying: Vec::new(),
            scratch: Vec::new(),
            polls: POLLS_PER_LOOK,
            next_check: Instant::now(),
            segment,
            notifier,
        }
    }

    /// Makes the next poll look at the table of senders.
    pub(crate) fn look_again(&mut self) {
        self.seen_claims = None;
    }

    /// [`Transport::receive_lanes`](lapis_core::transport::Transport::receive_lanes).
    pub(crate) fn direct(&self) -> *const ReceiveLanes {
        self.direct.0.get()
    }

    /// Has the newest lane of a peer, and no other, look at a line that is written alternately.
    pub(crate) fn set_mailbox(&mut self, dense: usize, mut mailbox: *mut Mailbox) {
        for lane in self.lanes.iter_mut().rev().chain(&mut self.discarded).filter(|l| l.dense == dense) {
            lane.rx.set_mailbox(std::mem::replace(&mut mailbox, std::ptr::null_mut()));
        }
    }

    /// How far senders have claimed the shared ring.
    pub(crate) fn claimed(&self) -> u64 {
        self.many.claimed()
    }

    #[inline(always)]
    fn claims(&self) -> u32 {
        // SYNC: pairs with the increment in `open_peer`: the member's word is there.
        self.segment.header().claims.0.load(Ordering::Acquire)
    }

    /// Moves what waits in lanes into `events[from..]`; answers the new number.
    #[inline(always)]
    fn collect_lanes(&mut self, events: &mut [Event], from: usize, broken: &mut Option<Broken>) -> usize {
        if self.marked {
            return self.collect_marked(events, from, broken);
        }
        let mut n = from;
        let lanes = self.lanes.len();
        let mut i = self.next;
        for _ in 0..lanes {
            if i >= lanes {
                i = 0;
            }
            n = self.lanes[i].collect(events, n, broken);
            i += 1;
            if n == events.len() {
                self.next = i;
                break;
            }
        }
        n
    }

    fn collect_marked(&mut self, events: &mut [Event], from: usize, broken: &mut Option<Broken>) -> usize {
        let bitmap = &self.segment.header().bitmap.0;
        if bitmap.load(Ordering::Relaxed) != 0 {
            // SYNC: pairs with the senders' `fetch_or`: the slots are there.
            self.pending |= bitmap.swap(0, Ordering::AcqRel);
        }
        let mut n = from;
        // From `next` upwards, then from 0.
        let mut todo = self.pending.rotate_right(self.next as u32);
        while todo != 0 && n < events.len() {
            let number = (todo.trailing_zeros() as usize + self.next) % LANES;
            todo &= todo - 1;
            if let Some(lane) = self.lanes.get_mut(self.place[number] as usize) {
                n = lane.collect(events, n, broken);
                if n == events.len() {
                    // It may hold more.
                    self.next = (number + 1) % LANES;
                    break;
                }
            }
            self.pending &= !(1 << number);
        }
        n
    }

    fn publish_shared_ring(&self) {
        let next = if self.many_used { self.many.position() } else { u64::MAX };
        self.notifier.progress.shared.store(next, Ordering::Relaxed);
    }

    /// Says which lanes core reads itself: all, or none where there is more to look at than lanes.
    fn share_lanes(&mut self) {
        let mut shared = ReceiveLanes::none();
        if !self.marked && !self.many_used && self.lanes.len() <= shared.lanes.len() {
            shared.count = self.lanes.len() as u32;
            for (to, lane) in shared.lanes.iter_mut().zip(&self.lanes) {
                *to = lane.rx.line();
            }
        }
        // SAFETY: core reads it between our calls only.
        unsafe { *self.direct.0.get() = shared };
    }

    fn reindex(&mut self) {
        self.place = [u8::MAX; LANES];
        let mut bits = 0;
        for (i, lane) in self.lanes.iter().enumerate() {
            self.place[lane.number as usize] = i as u8;
            bits |= 1 << lane.number;
        }
        self.notifier.progress.lanes.store(bits, Ordering::Relaxed);
        self.next = 0;
        self.share_lanes();
    }

    /// Takes a peer's lanes out of use, until the next poll frees them: events may name what they
    /// hold. `word`: the peer has ended, and so named, so that the next sender may have them.
    fn lay_aside(&mut self, dense: usize, word: Option<u64>) {
        self.graves.extend(self.lanes.extract_if(.., |l| l.dense == dense).map(|lane| (lane, word)));
        self.reindex();
    }

    /// Drops what a disconnected peer has sent and what it will send. `word`: it has ended, so its
    /// lane is free.
    pub(crate) fn discard(&mut self, dense: usize, word: Option<u64>) {
        for lane in self.lanes.iter_mut().filter(|l| l.dense == dense) {
            while let Some(Ok(_)) = lane.rx.take_next() {}
        }
        if word.is_none() {
            self.discarded.extend(self.lanes.extract_if(.., |l| l.dense == dense));
        }
        self.lay_aside(dense, word);
    }

    /// Frees what was laid aside.
    #[inline(always)]
    fn clear_graves(&mut self) {
        if !self.graves.is_empty() {
            self.free_lanes();
        }
    }

    #[cold]
    fn free_lanes(&mut self) {
        for (mut lane, word) in self.graves.drain(..) {
            lane.rx.release_now();
            if let Some(word) = word {
                let entry = &self.segment.header().members[usize::from(lane.number)];
                // SYNC: pairs with the claim in `open_peer`: the lane's position is published.
                let _ = entry.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }
}
