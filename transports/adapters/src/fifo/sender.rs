//! A sending end.

use super::{Data, INLINE, Places, READY, SLEEPS, claimed, is_before, is_of};
use lapis_core::sync::{Ordering, fence};

/// Tries before a claim that others keep winning is given up as "no room".
const TRIES: usize = if cfg!(loom) { 3 } else { 256 };

/// A place for one datagram, to be written and then [published](Sender::publish).
#[derive(Debug)]
#[must_use = "an unpublished claim holds the FIFO up until its owner leaves it"]
pub struct Claim {
    /// Where the datagram goes.
    pub bytes: *mut u8,
    position: u64,
    len: usize,
}

/// What became of a datagram that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is there, and the owner will look.
    There,
    /// It is there, and the owner's bell is to be rung by this sender.
    Wake,
    /// It took too long, and the owner went on without it: lost.
    Late,
}

/// A sending end. Any number of them, in any number of processes, may send at a time.
#[derive(Debug)]
pub struct Sender {
    at: Places,
    /// The owner's tail as last seen.
    tail: u64,
}

impl Sender {
    /// An end for the FIFO at these places.
    ///
    /// # Safety
    /// The FIFO outlives the result.
    pub unsafe fn attach(at: Places) -> Self {
        // SAFETY: the caller's promise.
        let tail = unsafe { (*at.control).tail.0.load(Ordering::Relaxed) };
        Self { at, tail }
    }

    /// The longest datagram that it takes, in bytes.
    pub fn longest(&self) -> usize {
        self.at.geometry.longest()
    }

    /// Claims a place for `len` bytes. `None`: there is no room, or no such length.
    #[inline]
    pub fn claim(&mut self, len: usize) -> Option<Claim> {
        if len > self.longest() {
            return None;
        }
        let geometry = self.at.geometry;
        let depth = u64::from(if len <= INLINE { geometry.slots } else { geometry.chunks });
        for _ in 0..TRIES {
            // SAFETY: the FIFO is alive by the promise of `attach`.
            let (control, position) = unsafe {
                let control = &*self.at.control;
                // SYNC: pairs with the compare-and-swap of `push_head`: a head that was seen
                // implies the claims before it.
                (control, control.head.0.load(Ordering::Acquire))
            };
            // SAFETY: the FIFO is alive by the promise of `attach`.
            let word = unsafe { self.at.word(position) };
            // SYNC: pairs with others' claims.
            let old = word.load(Ordering::Acquire);
            if is_of(old, position) {
                // Claimed by somebody who has not come round to pushing the hint on.
                self.push_head(position);
                continue;
            }
            if !is_before(old, position, geometry.slots) {
                continue;
            }
            if position.wrapping_sub(self.tail) >= depth {
                // SYNC: pairs with the Release store of `Owner::give_back`: the old bytes were
                // read.
                self.tail = control.tail.0.load(Ordering::Acquire);
                if position.wrapping_sub(self.tail) >= depth {
                    return None;
                }
            }
            // SYNC: Acquire pairs with the claim of the lap before; Release lets the owner, which
            // may go on without this claim, order itself after it.
            let won = word.compare_exchange(old, claimed(position, len), Ordering::AcqRel, Ordering::Relaxed);
            if won.is_ok() {
                self.push_head(position);
                let bytes = if len <= INLINE {
                    // SAFETY: the slot is alive, and now ours.
                    unsafe { Data::for_write(&raw const (*self.at.slot(position)).data) }
                } else {
                    self.at.chunk(position)
                };
                return Some(Claim { bytes, position, len });
            }
        }
        None
    }

    #[inline]
    fn push_head(&self, position: u64) {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        let head = unsafe { &(*self.at.control).head.0 };
        // SYNC: pairs with the Acquire load in `claim`. Failure means that somebody else pushed it.
        let _ =
            head.compare_exchange(position, position.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Declares a claimed datagram complete.
    #[inline]
    pub fn publish(&mut self, claim: Claim) -> Outcome {
        let held = claimed(claim.position, claim.len);
        // SAFETY: the FIFO is alive by the promise of `attach`.
        let (word, attention) = unsafe { (self.at.word(claim.position), &(*self.at.control).attention.0) };
        // SYNC: pairs with the Acquire load of `Owner::pop`; SeqCst with the fence of `Owner::arm`:
        // on most processors it costs no more than the exchange alone.
        if word.compare_exchange(held, held | READY, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return Outcome::Late;
        }
        if cfg!(loom) {
            // SYNC: what the two SeqCst accesses mean, in the model's terms.
            fence(Ordering::SeqCst);
        }
        // SYNC: SeqCst with the fence of `Owner::arm`: the owner sees the word, or this its wish.
        if attention.load(Ordering::SeqCst) & SLEEPS == 0 {
            return Outcome::There;
        }
        // SYNC: pairs with `Owner::arm`; one sender gets the bit.
        let before = attention.fetch_and(!SLEEPS, Ordering::AcqRel);
        if before & SLEEPS != 0 { Outcome::Wake } else { Outcome::There }
    }

    /// Counts a datagram that found no room and was given up.
    pub fn count_refused(&self) {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        unsafe { (*self.at.control).refused.0.fetch_add(1, Ordering::Relaxed) };
    }

    /// Whether the window has been closed, by its owner or because that has ended. Anybody who may
    /// send can have written it: it says no more than a look at the daemon's tables would be worth.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        unsafe { (*self.at.control).closed.0.load(Ordering::Relaxed) != 0 }
    }

    /// How far the owner has come: grows while it reads.
    pub fn tail(&self) -> u64 {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        unsafe { (*self.at.control).tail.0.load(Ordering::Relaxed) }
    }
}
