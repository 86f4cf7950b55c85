//! Lanes of a window: the way of data between processes of one host, past the FIFO.
//!
//! ```text
//!   behind the FIFO's chunks, one behind the other, as many as there is room for:
//!
//!   ┌───────┬───────┬───────┬────────────┬───────────────────────────────────┬──
//!   │ owner │ needy │ tails │ slots      │ data ring                         │ the next lane
//!   └───────┴───────┴───────┴────────────┴───────────────────────────────────┴──
//! ```
//!
//! A lane is what tasks have between each other over shared memory ([`lapis_lanes`]): one writer,
//! one reader, both copying at the same time, nothing lost and everything in order. A sender takes
//! one with its first long message, by a compare-and-swap on `owner`, and counts that in the
//! window's `claims`, which the receiver looks at. It leaves by a mark in `owner`; the receiver
//! gives the lane to the next one when it has read what lies there.
//!
//! **Trust.** Who has a window's memory may write into any of its lanes, as into its FIFO: a
//! process of the same user that holds the job's key. Nobody vouches for the bytes, and they are
//! read where they lie, so they may change while they are read. What comes here is therefore as
//! good as what the same process could write into the reader's memory itself (cross-memory attach):
//! places and lengths are checked, contents are the job's own business.

mod layout;

use crate::fifo::{Places, SLEEPS, SPARES};
use lapis_copies::{Copies, StorePolicy};
use lapis_core::sync::{Ordering, fence, membarrier};
use lapis_core::transport::lane::{INLINE, RingLayout, copy_short, store_message};
use lapis_lanes::{LONGEST_RING, LaneRx, LaneTx, is_ring};
use layout::{Head, SLOTS, ring_of};
use rustix::process::{Pid, getpid};

/// The longest message, in bytes: 32 KiB of data behind any head of core's.
pub const LONGEST: usize = (32 << 10) + 512;
const _: () = assert!(LONGEST <= lapis_lanes::SHORTEST_RING / 4);

/// So many slots behind the one that is read the cache is asked for.
const AHEAD: u64 = 3;

/// Who has found no lane free looks again after so many messages.
const SELDOM: u32 = 256;

/// In `owner`: the sender has left, and writes no more.
const LEFT: u64 = 1 << 63;

/// A message that has come.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Who sent it, by the name under which it took the lane. Any process of the job can have
    /// written any name.
    pub sender: u64,
    /// Its first byte; it stays in place until [`Incoming::begin`].
    pub data: *mut u8,
    /// Its length in bytes.
    pub len: usize,
}

/// A lane that somebody has taken.
struct Lane {
    index: usize,
    sender: u64,
    head: *const Head,
    rx: LaneRx<SLOTS>,
    /// Something stands there that no sender writes: nothing more is read.
    broken: bool,
}

/// The lanes of a window, as its owner sees them.
pub struct Incoming {
    at: Places,
    ring: usize,
    /// The window's count of claims when owners were looked at last. Another number has them looked
    /// at once more.
    claims_seen: u32,
    lanes: Vec<Lane>,
    turn: usize,
    /// Something was taken since [`begin`](Self::begin).
    taken: bool,
}

// SAFETY: the pointers lead to memory that is shared between processes anyway, and one thread at a
// time has this, the only reader.
unsafe impl Send for Incoming {}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("ring", &self.ring).field("lanes", &self.lanes.len()).finish()
    }
}

impl Incoming {
    /// The owner's end of a window's lanes, with the longest rings.
    ///
    /// # Safety
    /// The window's memory outlives the result, which is the only one.
    pub(crate) unsafe fn attach(at: Places) -> Self {
        let mut incoming = Self { at, ring: 0, claims_seen: 0, lanes: Vec::new(), turn: 0, taken: false };
        incoming.divide(LONGEST_RING);
        incoming
    }

    /// Says how many bytes the data rings have, as [`lapis_lanes::ring_for`] gives them. To be
    /// called before anybody can send.
    pub fn divide(&mut self, ring: usize) {
        debug_assert!(is_ring(ring as u64));
        self.ring = if self.at.lane_count(ring) == 0 { 0 } else { ring };
        // SYNC: pairs with the Acquire load of `Outgoing::claim`.
        self.control().ring.0.store(self.ring as u64, Ordering::Release);
    }

    fn control(&self) -> &crate::fifo::Control {
        // SAFETY: the memory is alive by the promise of `attach`.
        unsafe { &*self.at.control }
    }

    /// Gives back what was taken, finds lanes that were taken or left, and tells `wake` of senders
    /// who sleep until there is room.
    #[inline]
    pub fn begin(&mut self, mut wake: impl FnMut(u64)) {
        if self.control().claims.0.load(Ordering::Relaxed) != self.claims_seen {
            self.look_for_senders();
        }
        if !std::mem::take(&mut self.taken) {
            return;
        }
        self.lanes.iter_mut().for_each(|lane| lane.rx.release());
        // SYNC: pairs with the fence of `Outgoing::await_room`: either that sees what was given
        // back, or this sees that it waits.
        fence(Ordering::SeqCst);
        for lane in &self.lanes {
            // SAFETY: the memory is alive by the promise of `attach`.
            let needy = unsafe { &(*lane.head).needy.0 };
            if needy.load(Ordering::Relaxed) != 0 && needy.swap(0, Ordering::Relaxed) != 0 {
                wake(lane.sender);
            }
        }
    }

    #[cold]
    fn look_for_senders(&mut self) {
        // SYNC: pairs with the Release additions of `Outgoing`: owners are seen as they were then.
        self.claims_seen = self.control().claims.0.load(Ordering::Acquire);
        if self.ring == 0 {
            return;
        }
        self.find_taken();
        let mut unread = false;
        self.lanes.retain_mut(|lane| {
            // SAFETY: the memory is alive by the promise of `attach`.
            let owner = unsafe { &(*lane.head).owner.0 };
            // SYNC: pairs with the Release of `Outgoing`'s end: all that it sent is seen.
            let gone = owner.load(Ordering::Acquire) & LEFT != 0;
            if !gone || lane.broken || lane.rx.is_full() {
                unread |= gone && !lane.broken;
                return true;
            }
            lane.rx.release_now();
            // SYNC: pairs with the Acquire of the next claim, which goes on where this one stood.
            owner.store(0, Ordering::Release);
            false
        });
        self.turn = 0;
        if unread {
            self.look_again();
        }
    }

    /// Finds lanes that have been taken since the last look.
    fn find_taken(&mut self) {
        let count = if self.ring == 0 { 0 } else { self.at.lane_count(self.ring) };
        for index in 0..count {
            let head = self.at.lane_head(index, self.ring);
            // SAFETY: the memory is alive by the promise of `attach`.
            // SYNC: pairs with the claim of `Outgoing::claim`.
            let owner = unsafe { (*head).owner.0.load(Ordering::Acquire) };
            if owner == 0 || self.lanes.iter().any(|lane| lane.index == index) {
                continue;
            }
            // SAFETY: the lane lies within the memory, and has one reader: this one.
            let rx = unsafe {
                let (slots, control) = (&raw const (*head).slots, &raw const (*head).control);
                LaneRx::attach(slots.cast(), control, ring_of(head), RingLayout::of(self.ring), LONGEST)
            };
            self.lanes.push(Lane { index, sender: owner & !LEFT, head, rx, broken: false });
        }
    }

    /// The next message, if one has come.
    #[inline]
    pub fn take(&mut self) -> Option<Arrival> {
        for _ in 0..self.lanes.len() {
            let at = self.turn;
            self.turn = if at + 1 < self.lanes.len() { at + 1 } else { 0 };
            let lane = &mut self.lanes[at];
            if lane.broken {
                continue;
            }
            match lane.rx.take_next() {
                None => {}
                Some(Ok((data, len))) => {
                    lane.rx.prefetch(AHEAD);
                    self.taken = true;
                    return Some(Arrival { sender: lane.sender, data, len });
                }
                Some(Err(_)) => lane.broken = true,
            }
        }
        None
    }

    /// Whether there is something to take, or somebody to be found.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.control().claims.0.load(Ordering::Relaxed) != self.claims_seen
            || self.lanes.iter().any(|lane| !lane.broken && lane.rx.is_full())
    }

    /// Who sent under this name has ended, and nobody else has the name: its lanes are free once
    /// they are empty.
    pub fn sender_ended(&mut self, sender: u64) {
        // Also those that it took after the last look. What others have left may be in use until
        // the next beginning.
        self.find_taken();
        for lane in self.lanes.iter().filter(|lane| lane.sender == sender) {
            // SAFETY: the memory is alive by the promise of `attach`.
            unsafe { (*lane.head).owner.0.fetch_or(LEFT, Ordering::Relaxed) };
        }
        self.look_again();
    }

    /// Owners are to be looked at once more: the count is not the one that was seen.
    fn look_again(&mut self) {
        self.claims_seen = self.claims_seen.wrapping_sub(1);
    }
}

/// What became of a message for a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is there.
    There,
    /// It is there, and the owner's bell is to be rung by this sender.
    Wake,
    /// There is no room at present.
    NoRoom,
    /// There is no lane for this sender.
    NoLane,
}

/// A lane of this sender's.
struct Claimed {
    head: *const Head,
    tx: LaneTx<SLOTS>,
    policy: StorePolicy,
    /// The length of a message that found no room.
    wanted: usize,
    /// A child of this process must not leave it.
    process: Pid,
    /// Owners' barriers reach this process.
    registered: bool,
}

/// A sender's end: of one lane, from the first message on.
pub struct Outgoing {
    at: Places,
    limits: Copies,
    lane: Option<Claimed>,
    /// So many messages more go without a look for a lane.
    unlooked: u32,
}

// SAFETY: the pointers lead to memory that is shared between processes anyway, and one thread at a
// time has this, the only writer of its lane.
unsafe impl Send for Outgoing {}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing").field("has a lane", &self.lane.is_some()).finish()
    }
}

impl Outgoing {
    /// An end for the window at these places, which copies by these limits.
    ///
    /// # Safety
    /// The window's memory outlives the result.
    pub(crate) unsafe fn attach(at: Places, limits: Copies) -> Self {
        Self { at, limits, lane: None, unlooked: 0 }
    }

    /// Sends a message of two parts, of [`LONGEST`] bytes together at most, under a name that is
    /// not 0 and below 2^63.
    #[inline]
    pub(crate) fn send(&mut self, name: u64, head: &[u8], body: &[u8]) -> Sent {
        let len = head.len() + body.len();
        debug_assert!(len <= LONGEST);
        if len > INLINE {
            return self.send_long(name, head, body);
        }
        self.send_short(name, len, |place| {
            // SAFETY: the place has room for both parts.
            unsafe {
                copy_short(head.as_ptr(), place, head.len());
                copy_short(body.as_ptr(), place.add(head.len()), body.len());
            }
        })
    }

    /// Sends a message of at most [`INLINE`] bytes, which `write` writes to where it is told.
    #[inline]
    pub(crate) fn send_short(&mut self, name: u64, len: usize, write: impl FnOnce(*mut u8)) -> Sent {
        debug_assert!(len <= INLINE);
        let lane = match self.lane_with_slot(name, len) {
            Ok(lane) => lane,
            Err(why) => return why,
        };
        lane.wanted = 0;
        // SAFETY: there is a slot, in which the message has room.
        let attention = unsafe { lane.tx.publish(len, write) };
        let spared = lane.registered;
        self.sent(attention, spared)
    }

    #[inline]
    fn send_long(&mut self, name: u64, head: &[u8], body: &[u8]) -> Sent {
        let len = head.len() + body.len();
        let lane = match self.lane_with_slot(name, len) {
            Ok(lane) => lane,
            Err(why) => return why,
        };
        // SAFETY: there is a slot; the place begins at a cache line, and has `len` bytes and the
        // last line to itself.
        let attention = unsafe {
            let Some(place) = lane.tx.data_room(len, &mut lane.policy) else {
                lane.wanted = len;
                return Sent::NoRoom;
            };
            store_message(head, body, place, lane.policy.past());
            lane.tx.publish_data(len)
        };
        lane.wanted = 0;
        let spared = lane.registered;
        self.sent(attention, spared)
    }

    /// The lane, in which there is a slot for a message of `len` bytes.
    #[inline(always)]
    fn lane_with_slot(&mut self, name: u64, len: usize) -> Result<&mut Claimed, Sent> {
        if self.lane.is_none() {
            self.look_for_lane(name);
        }
        let lane = self.lane.as_mut().ok_or(Sent::NoLane)?;
        if !lane.tx.has_room() && !lane.tx.refresh() {
            lane.wanted = len;
            return Err(Sent::NoRoom);
        }
        Ok(lane)
    }

    /// A message is there, and then the owner's attention word was this.
    #[inline(always)]
    fn sent(&self, attention: u32, spared: bool) -> Sent {
        if attention == SPARES && spared { Sent::There } else { self.look_again() }
    }

    /// Looks at the attention word behind a fence.
    #[inline]
    fn look_again(&self) -> Sent {
        // SAFETY: the memory is alive by the promise of `attach`.
        let attention = unsafe { &(*self.at.control).attention.0 };
        // SYNC: pairs with the fence of the owner's `arm`: either that sees the message, or this
        // sees that the owner sleeps.
        fence(Ordering::SeqCst);
        if attention.load(Ordering::Relaxed) & SLEEPS == 0 {
            return Sent::There;
        }
        // SYNC: pairs with `Owner::arm`; one sender gets the bit.
        let before = attention.fetch_and(!SLEEPS, Ordering::AcqRel);
        if before & SLEEPS != 0 { Sent::Wake } else { Sent::There }
    }

    /// Takes a lane if one is free. Now and then only: each look takes lines away from those who
    /// have lanes.
    #[cold]
    fn look_for_lane(&mut self, name: u64) {
        if self.unlooked > 0 {
            self.unlooked -= 1;
            return;
        }
        self.lane = self.claim(name);
        self.unlooked = SELDOM;
    }

    /// Takes a lane that nobody has.
    #[cold]
    fn claim(&self, name: u64) -> Option<Claimed> {
        debug_assert!(name != 0 && name & LEFT == 0);
        // SAFETY: the memory is alive by the promise of `attach`.
        let control = unsafe { &*self.at.control };
        // SYNC: pairs with the Release store of `Incoming::divide`.
        let ring = control.ring.0.load(Ordering::Acquire);
        let ring = if is_ring(ring) { ring as usize } else { return None };
        let free = |head: &*const Head| {
            // SAFETY: the memory is alive by the promise of `attach`.
            let owner = unsafe { &(**head).owner.0 };
            // SYNC: pairs with the Release store by which the owner gave the lane back.
            owner.compare_exchange(0, name, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let mut heads = (0..self.at.lane_count(ring)).map(|index| self.at.lane_head(index, ring));
        let head = heads.find(free)?;
        // SAFETY: the lane lies within the memory, and has one writer from now on: this one.
        let mut tx = unsafe {
            let (slots, tails) = (&raw const (*head).slots, &raw const (*head).control);
            LaneTx::attach(slots.cast(), tails, ring_of(head), RingLayout::of(ring), LONGEST)
        };
        tx.set_attention(&raw const control.attention.0);
        // SYNC: pairs with the Acquire load of `Incoming::look_for_senders`.
        control.claims.0.fetch_add(1, Ordering::Release);
        let policy = StorePolicy::new(self.limits);
        let (process, registered) = (getpid(), membarrier::register());
        Some(Claimed { head, tx, policy, wanted: 0, process, registered })
    }

    /// Whether a message found no room, and none has been sent since.
    #[inline]
    pub(crate) fn is_held_up(&self) -> bool {
        self.lane.as_ref().is_some_and(|lane| lane.wanted > 0)
    }

    /// Has the owner wake this sender when there is room again for what found none. False: there is
    /// room, or nothing waits for it.
    pub(crate) fn await_room(&mut self) -> bool {
        let Some(Claimed { head, tx, policy, wanted, .. }) = &mut self.lane else { return false };
        if *wanted == 0 {
            return false;
        }
        // SAFETY: the memory is alive by the promise of `attach`.
        let needy = unsafe { &(**head).needy.0 };
        needy.store(1, Ordering::Relaxed);
        // SYNC: pairs with the fence of `Incoming::begin`.
        fence(Ordering::SeqCst);
        // SAFETY: the lane is attached.
        let has_room = unsafe {
            (tx.has_room() || tx.refresh()) && (*wanted <= INLINE || tx.data_room(*wanted, policy).is_some())
        };
        if has_room {
            needy.store(0, Ordering::Relaxed);
            // Nobody need be kept awake for a message that is not sent after all.
            *wanted = 0;
        }
        !has_room
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let Some(lane) = self.lane.take().filter(|lane| lane.process == getpid()) else { return };
        // SAFETY: the memory is alive by the promise of `attach`.
        unsafe {
            // SYNC: pairs with the Acquire load of `Incoming::look_for_senders`: all that was sent
            // is seen.
            (*lane.head).owner.0.fetch_or(LEFT, Ordering::Release);
            (*self.at.control).claims.0.fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests;
