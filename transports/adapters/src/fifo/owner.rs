//! The owner's end.

use super::{Data, INLINE, NOTES, Places, READY, SKIPPED, SLEEPS, SPARES, is_of};
use lapis_core::sync::{Ordering, fence, membarrier};
use lapis_core::transport::copy::copy_long;
use std::time::{Duration, Instant};

/// For so long the owner waits for a claim to be completed while others lie behind it.
const PATIENCE: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_millis(2) };

/// What the owner found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A datagram of so many bytes, copied out.
    Datagram(usize),
    /// A datagram that does not fit into the memory that was offered; it stays.
    NoRoom,
    /// Nothing.
    Nothing,
}

/// The owner's end of a FIFO: there is one.
#[derive(Debug)]
pub struct Owner {
    at: Places,
    pub(super) next: u64,
    given_back: u64,
    /// Since when the next slot has been claimed and not complete.
    stuck: Option<Instant>,
    refused: u64,
    left: u64,
    garbage: u64,
    /// Senders by lanes put no fences.
    spares: bool,
}

impl Owner {
    /// The owner's end of the FIFO at these places.
    ///
    /// # Safety
    /// The FIFO outlives the result.
    pub unsafe fn attach(at: Places) -> Self {
        // SAFETY: the caller's promise.
        let control = unsafe { &*at.control };
        let next = control.tail.0.load(Ordering::Relaxed);
        let refused = control.refused.0.load(Ordering::Relaxed);
        Self { at, next, given_back: next, stuck: None, refused, left: 0, garbage: 0, spares: false }
    }

    /// Spares senders by lanes their fences, and takes longer to fall asleep for it: for owners
    /// that rarely sleep. To be called before anybody can send.
    pub fn spare_fences(&mut self) {
        self.spares = membarrier::register();
        if self.spares {
            // SAFETY: the FIFO is alive by the promise of `attach`.
            unsafe { (*self.at.control).attention.0.fetch_or(SPARES, Ordering::Relaxed) };
        }
    }

    /// Notes numbers for people to see, which the daemon tells whoever asks.
    pub fn note(&self, numbers: [u64; NOTES]) {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        let notes = unsafe { &(*self.at.control).notes.0 };
        for (note, number) in notes.iter().zip(numbers) {
            note.store(number, Ordering::Relaxed);
        }
    }

    #[inline]
    fn load(&self, position: u64) -> Option<u64> {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        // SYNC: pairs with the exchange of `Sender::publish` and with claims.
        let word = unsafe { self.at.word(position) }.load(Ordering::Acquire);
        is_of(word, position).then_some(word)
    }

    /// Copies the next datagram to `into`, which has room for `room` bytes.
    ///
    /// # Safety
    /// So many bytes can be written there, and nobody else does.
    #[inline]
    pub unsafe fn pop(&mut self, into: *mut u8, room: usize) -> Found {
        loop {
            let Some(word) = self.load(self.next) else { return Found::Nothing };
            if word & READY == 0 {
                if !self.leave(word) {
                    return Found::Nothing;
                }
                continue;
            }
            let len = (word >> 32) as usize & 0xffff;
            if len == 0 || len > self.at.geometry.longest() {
                self.garbage += 1;
                self.advance();
                continue;
            }
            if len > room {
                return Found::NoRoom;
            }
            // SAFETY: slot and chunk are alive and as long as the length that was checked; `into`
            // is by the caller's promise.
            unsafe {
                if len <= INLINE {
                    let from = Data::for_read(&raw const (*self.at.slot(self.next)).data);
                    std::ptr::copy_nonoverlapping(from, into, len);
                } else {
                    copy_long(self.at.chunk(self.next), into, len);
                }
            }
            self.advance();
            return Found::Datagram(len);
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.next = self.next.wrapping_add(1);
        self.stuck = None;
        if self.next.wrapping_sub(self.given_back) >= u64::from(self.at.geometry.chunks).div_ceil(8) {
            self.give_back();
        }
    }

    /// Tells senders how far the owner has come.
    #[inline]
    pub fn give_back(&mut self) {
        if self.given_back != self.next {
            self.given_back = self.next;
            // SAFETY: the FIFO is alive by the promise of `attach`.
            // SYNC: pairs with the Acquire load of the tail in `Sender::claim`.
            unsafe { (*self.at.control).tail.0.store(self.next, Ordering::Release) };
        }
    }

    /// The next slot is claimed and not complete. Goes on without it if that has lasted and others
    /// lie behind it. True: look again.
    #[cold]
    fn leave(&mut self, word: u64) -> bool {
        if word & SKIPPED == 0 {
            if self.load(self.next.wrapping_add(1)).is_none() {
                return false;
            }
            if self.stuck.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
                return false;
            }
            // SAFETY: the FIFO is alive by the promise of `attach`.
            let slot = unsafe { self.at.word(self.next) };
            // SYNC: pairs with the exchange of `Sender::publish`, of which one fails.
            if slot.compare_exchange(word, word | SKIPPED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                return true;
            }
        }
        self.left += 1;
        self.advance();
        true
    }

    /// Whether [`pop`](Self::pop) has something to do: a datagram waits, or a claim is to be left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.load(self.next)
            .is_some_and(|word| word & READY != 0 || self.load(self.next.wrapping_add(1)).is_some())
    }

    /// Announces sleep: from now on a sender rings the bell. False: something is there already.
    /// An announcement that stood before stays: somebody else may sleep on it.
    pub fn arm(&mut self) -> bool {
        self.give_back();
        // SAFETY: the FIFO is alive by the promise of `attach`.
        let attention = unsafe { &(*self.at.control).attention.0 };
        // SYNC: pairs with the exchange of `Sender::publish`.
        let before = attention.fetch_or(SLEEPS, Ordering::AcqRel);
        // SYNC: pairs with the SeqCst exchange of `Sender::publish`, and with the fence of
        // `Outgoing::look_again`, or what the barrier makes of a message and the look behind it
        // where senders put none: whoever sends what the look below misses sees SLEEPS.
        if self.spares {
            membarrier::heavy();
        } else {
            fence(Ordering::SeqCst);
        }
        if !self.is_full() {
            return true;
        }
        if before & SLEEPS == 0 {
            self.disarm();
        }
        false
    }

    /// Takes the announcement back.
    pub fn disarm(&mut self) {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        // SYNC: pairs with `Sender::publish`.
        unsafe { (*self.at.control).attention.0.fetch_and(!SLEEPS, Ordering::AcqRel) };
    }

    /// Datagrams that senders gave up for want of room since the last call. Anybody may have
    /// written the count: no more than a lap's worth is believed.
    pub fn take_refused(&mut self) -> u32 {
        // SAFETY: the FIFO is alive by the promise of `attach`.
        let now = unsafe { (*self.at.control).refused.0.load(Ordering::Relaxed) };
        let new = now.wrapping_sub(std::mem::replace(&mut self.refused, now));
        new.min(u64::from(self.at.geometry.slots)) as u32
    }

    /// Claims that the owner went on without, so far.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Datagrams of no possible length, so far.
    pub fn garbage(&self) -> u64 {
        self.garbage
    }
}
