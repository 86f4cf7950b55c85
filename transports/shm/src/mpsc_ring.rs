//! The MPSC ring: many senders share it. It serves those that came too late for a lane of their
//! own.
//!
//! A sender claims a slot by a compare-and-swap on the *slot's* header, which then names the
//! sender. If the sender dies before its message is complete, the receiver knows whose slot it is
//! and steps over it. The head counter is only a hint, which anybody may advance. Every slot has a
//! chunk of fixed size for messages longer than 56 bytes.
//!
//! Header: position plus one (bits 0–31), length (32–47), ready (48), the sender's member number
//! (49–63).

use lapis_core::sync::{AtomicU64, Ordering};
use lapis_core::transport::lane::{Area, INLINE, Payload, Slot};
use lapis_lanes::Corrupt;

const READY: u64 = 1 << 48;

/// Tries before a claim that others keep winning is given up as "no room".
const TRIES: usize = if cfg!(loom) { 2 } else { 256 };

fn header(pos: u64, len: usize, ready: bool, member: u16) -> u64 {
    u64::from(pos.wrapping_add(1) as u32)
        | (len as u64 & 0xffff) << 32
        | if ready { READY } else { 0 }
        | u64::from(member) << 49
}

/// What the slot of `pos` holds when nobody has claimed it in this lap: the position of the lap
/// before.
fn previous<const SLOTS: usize>(pos: u64) -> u32 {
    if pos < SLOTS as u64 { 0 } else { pos.wrapping_add(1).wrapping_sub(SLOTS as u64) as u32 }
}

/// The places of a shared ring.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) slots: *const Slot,
    pub(crate) head: *const AtomicU64,
    pub(crate) tail: *const AtomicU64,
    pub(crate) data: Area,
}

/// A sending end.
pub(crate) struct MpscTx<const SLOTS: usize, const CHUNK: usize> {
    at: Places,
    tail: u64,
    member: u16,
}

impl<const SLOTS: usize, const CHUNK: usize> MpscTx<SLOTS, CHUNK> {
    /// A sending end for the sender with number `member` (15 bits).
    ///
    /// # Safety
    /// The places name a ring of this layout that outlives the result; nobody else sends as
    /// `member`.
    pub(crate) unsafe fn attach(at: Places, member: u16) -> Self {
        const { assert!(SLOTS.is_power_of_two() && CHUNK < 1 << 16) };
        Self { at, tail: 0, member }
    }

    /// Claims a slot. Answers its position and the place for `len` bytes.
    pub(crate) fn claim(&mut self, len: usize) -> Option<(u64, *mut u8)> {
        if len > CHUNK {
            return None;
        }
        for _ in 0..TRIES {
            // SAFETY: the ring is alive by the promise of `attach`; indices are masked.
            unsafe {
                // SYNC: pairs with the compare-and-swap of the head below, so that a head that was
                // seen implies the claims before it.
                let pos = (*self.at.head).load(Ordering::Acquire);
                let index = pos as usize & (SLOTS - 1);
                let slot = self.at.slots.add(index);
                // SYNC: pairs with `publish` and with others' claims.
                let old = (*slot).head.load(Ordering::Acquire);
                if old as u32 == pos.wrapping_add(1) as u32 {
                    // Claimed by somebody who has not come round to pushing the hint on.
                    self.push_head(pos);
                    continue;
                }
                if old as u32 != previous::<SLOTS>(pos) {
                    continue;
                }
                if pos.wrapping_sub(self.tail) >= SLOTS as u64 {
                    // SYNC: pairs with the Release store of `MpscRx::release`: the slot's old bytes
                    // were read.
                    self.tail = (*self.at.tail).load(Ordering::Acquire);
                    if pos.wrapping_sub(self.tail) >= SLOTS as u64 {
                        return None;
                    }
                }
                let claimed = header(pos, len, false, self.member);
                // SYNC: Acquire pairs with the claim or publication of the lap before; Release lets
                // the receiver, which may step over the hole, order itself after the claim.
                if (*slot).head.compare_exchange(old, claimed, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    self.push_head(pos);
                    let place = if len <= INLINE {
                        Payload::for_write(&raw const (*slot).payload)
                    } else {
                        self.at.data.for_write(index * CHUNK, len)
                    };
                    return Some((pos, place));
                }
            }
        }
        None
    }

    fn push_head(&self, pos: u64) {
        // SYNC: pairs with the Acquire load in `claim`. Failure means that somebody else pushed it.
        // SAFETY: the ring is alive.
        let _ = unsafe {
            (*self.at.head).compare_exchange(pos, pos.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed)
        };
    }

    /// Hands over a claimed slot.
    ///
    /// # Safety
    /// `pos` came from [`claim`](Self::claim) with the same `len`, and the bytes are there.
    pub(crate) unsafe fn publish(&mut self, pos: u64, len: usize) {
        // SYNC: pairs with the Acquire load of `MpscRx::next`.
        // SAFETY: the index is masked; the slot is ours.
        unsafe {
            let slot = self.at.slots.add(pos as usize & (SLOTS - 1));
            (*slot).head.store(header(pos, len, true, self.member), Ordering::Release);
        }
    }
}

/// The header of `pos`, if somebody has claimed its slot in this lap.
///
/// # Safety
/// `slot` is alive.
unsafe fn claimed_header(slot: *const Slot, pos: u64) -> Option<u64> {
    // SYNC: pairs with the Release store of `publish` and with claims.
    // SAFETY: the caller's promise.
    let head = unsafe { (*slot).head.load(Ordering::Acquire) };
    (head as u32 == pos.wrapping_add(1) as u32).then_some(head)
}

/// Whether the message of `pos` is there. A slot that is only claimed has nothing to read.
///
/// # Safety
/// `slot` is alive.
pub(crate) unsafe fn is_ready(slot: *const Slot, pos: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { claimed_header(slot, pos) }.is_some_and(|head| head & READY != 0)
}

/// One message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    pub(crate) member: u16,
    pub(crate) data: *mut u8,
    pub(crate) len: usize,
}

/// The receiving end.
pub(crate) struct MpscRx<const SLOTS: usize, const CHUNK: usize> {
    at: Places,
    next: u64,
    released: u64,
}

impl<const SLOTS: usize, const CHUNK: usize> MpscRx<SLOTS, CHUNK> {
    /// The receiving end.
    ///
    /// # Safety
    /// The places name a ring of this layout that outlives the result, and nobody else receives
    /// from it.
    pub(crate) unsafe fn attach(at: Places) -> Self {
        // SAFETY: the caller's promise. The tail is written by this side only.
        let next = unsafe { (*at.tail).load(Ordering::Relaxed) };
        Self { at, next, released: next }
    }

    fn slot(&self) -> *const Slot {
        // SAFETY: the index is masked.
        unsafe { self.at.slots.add(self.next as usize & (SLOTS - 1)) }
    }

    fn load(&self) -> Option<u64> {
        // SAFETY: the slot is alive.
        unsafe { claimed_header(self.slot(), self.next) }
    }

    /// Whether a message waits, or a hole that `dead` lets us step over.
    pub(crate) fn is_full(&self, dead: impl Fn(u16) -> bool) -> bool {
        self.load().is_some_and(|h| h & READY != 0 || dead((h >> 49) as u16))
    }

    /// Who has claimed the next slot, if anybody has.
    pub(crate) fn claimant(&self) -> Option<u16> {
        self.load().map(|h| (h >> 49) as u16)
    }

    /// How far senders have claimed: when [`position`](Self::position) is here, all of it has been
    /// seen.
    pub(crate) fn claimed(&self) -> u64 {
        // SYNC: pairs with `push_head`.
        // SAFETY: the ring is alive.
        let hint = unsafe { (*self.at.head).load(Ordering::Acquire) };
        // The hint may lag behind a claim whose maker died before pushing it on.
        hint.wrapping_add(1)
    }

    /// The position of the next message.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    /// The next message, in place until [`release`](Self::release). Steps over holes whose makers
    /// are `dead`.
    pub(crate) fn next(&mut self, dead: impl Fn(u16) -> bool) -> Option<Result<Shared, Corrupt>> {
        loop {
            let mut head = self.load()?;
            let member = (head >> 49) as u16;
            if head & READY == 0 {
                if !dead(member) {
                    return None;
                }
                // It was known to be dead before this load, so the header will not change any more.
                head = self.load()?;
                if head & READY == 0 {
                    self.next = self.next.wrapping_add(1);
                    continue;
                }
            }
            let len = (head >> 32) as usize & 0xffff;
            if len > CHUNK {
                self.next = self.next.wrapping_add(1);
                return Some(Err(Corrupt { len }));
            }
            // SAFETY: the slot is alive, the chunk belongs to it, the length was checked.
            let data = unsafe {
                if len <= INLINE {
                    Payload::for_read(&raw const (*self.slot()).payload)
                } else {
                    self.at.data.for_read((self.next as usize & (SLOTS - 1)) * CHUNK, len)
                }
            };
            self.next = self.next.wrapping_add(1);
            return Some(Ok(Shared { member, data, len }));
        }
    }

    /// Gives back everything returned so far, if it is worth telling the senders.
    pub(crate) fn release(&mut self) {
        if self.next.wrapping_sub(self.released) >= (SLOTS as u64).div_ceil(4) {
            self.released = self.next;
            // SYNC: pairs with the Acquire load of the tail in `claim`.
            // SAFETY: the ring is alive.
            unsafe { (*self.at.tail).store(self.next, Ordering::Release) };
        }
    }
}

// SAFETY: the ends are used by one thread at a time; the memory behind them is shared by design.
unsafe impl<const S: usize, const C: usize> Send for MpscTx<S, C> {}
// SAFETY: an end is used by one thread at a time; the memory behind it is shared by design.
unsafe impl<const S: usize, const C: usize> Send for MpscRx<S, C> {}
