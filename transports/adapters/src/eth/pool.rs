//! The frames that all windows of an interface share, and the two rings that give them to the
//! kernel and bring them back.
//!
//! ```text
//!   │ lock of the fill ring │ lock of the completion ring │ … │ window 0: a bit for each of its
//!   │ frames that has come back │ window 1 │ … │ window 0: how many frames it has read, and which
//!   │ │ window 1 │ … │ up to a page's end
//!   │ frames to receive into │ frames of window 0 to send │ frames of window 1 │ …
//! ```
//!
//! The kernel has one fill ring and one completion ring for each receive queue, and so for all
//! windows of an interface. Whoever has something to do there tries the lock; who doesn't get it
//! does it at the next poll, so that nobody waits for a task that was put aside. A task that was
//! killed in between loses the lock (`lock.rs`).
//!
//! A frame to receive into is in exactly one place: in the fill ring, in the kernel's hands, in a
//! window's receiving ring, in a window's list of what it has read, or in the daemon's list of what
//! it has yet to give back. The rings' positions and the lists' counts say where. Who is killed
//! between two of these steps leaves a frame in none of them, or in two:
//!
//! * After taking from the receiving ring, before the note in the list: the frame is lost to the
//!   pool until that is made anew.
//! * Between writing to the fill ring and emptying the list: nothing was published, and the daemon
//!   gives the listed frames back.
//! * Between emptying the list and publishing the fill ring's position: the frames are lost. The
//!   other way round they would be used twice from then on.
//! * After publishing, with the lock: nothing. The next one goes on where the ring stands.
//! * Between setting the bits of sent frames and releasing the completion ring: the bits are set
//!   again. A frame may be sent and written at once, which costs a datagram that the authenticator
//!   refuses.
//!
//! The lists lie in the memory so that the daemon finds the frames of a task that was killed.

use crate::eth::lock::{self, Taker};
use crate::eth::ring::Ring;
use crate::memory::Memory;
use lapis_core::sync::prefetch::before_reading;
use lapis_core::sync::{AtomicU32, AtomicU64, Ordering};
use rustix::net::xdp::{XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING};
use rustix::net::{RecvFlags, sockopt};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd;

/// Where the bits begin: the locks have cache lines of their own.
const BITS_AT: usize = 128;
const FILL_LOCK_AT: usize = 0;
const DONE_LOCK_AT: usize = 64;
const PAGE: usize = 4096;
const LINE: usize = 64;
/// Positions of the fill ring in which a frame is looked for, and after how many searches without
/// success it is looked for in all of them.
const CLOSE: u32 = 16;
const SELDOM: u32 = 1024;
/// Frames that a window's list has room for, and where they begin in it, in words: the count has a
/// cache line of its own.
const LIST: u32 = 256;
const LIST_AT: u32 = 16;

/// Frames that a datagram may take up at most: what holds the longest one of an Ethernet with jumbo
/// frames, beside what the kernel keeps free in each.
pub const MOST_PARTS: u32 = 4;

/// How the pool's memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Bytes of a frame: 2048 or 4096, as the kernel wants it.
    pub chunk: u32,
    /// Frames that a datagram may take up, one after the other in memory when it is sent: a power
    /// of two.
    pub parts: u32,
    /// Frames to receive into, a power of two; the fill ring's length.
    pub receive: u32,
    /// Windows that the pool has room for.
    pub windows: u32,
    /// Frames of each window to send from, a power of two of at least 64; the sending ring's
    /// length.
    pub send: u32,
    /// Entries of each window's receiving ring, a power of two.
    pub arrivals: u32,
}

impl Layout {
    /// Whether memory can be divided like this.
    pub fn is_sound(&self) -> bool {
        let powers = [self.chunk, self.parts, self.receive, self.send, self.arrivals];
        powers.iter().all(|n| n.is_power_of_two())
            && (2048..=4096).contains(&self.chunk)
            && (1..=MOST_PARTS).contains(&self.parts)
            && (64..=1 << 16).contains(&self.receive)
            && (64..=1 << 12).contains(&self.send)
            && self.arrivals <= 1 << 16
            && (1..=1024).contains(&self.windows)
    }

    /// Where the lists begin.
    fn lists(&self) -> usize {
        (BITS_AT + self.windows as usize * self.send as usize / 8).next_multiple_of(64)
    }

    /// Bytes before the frames.
    pub fn control(&self) -> usize {
        let lists = self.windows as usize * (LIST_AT + LIST) as usize * 4;
        (self.lists() + lists).next_multiple_of(PAGE)
    }

    /// Bytes of the frames.
    pub fn frames(&self) -> usize {
        (self.receive as usize + self.windows as usize * self.send as usize) * self.chunk as usize
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.control() + self.frames()
    }

    /// Entries of the completion ring: so many as can be under way.
    pub fn completions(&self) -> u32 {
        (self.windows * self.send).next_power_of_two()
    }

    /// The frame of a window that is so many-th, as the kernel counts: in bytes from the first one.
    #[inline]
    pub fn send_frame(&self, window: u32, number: u32) -> u64 {
        u64::from(self.receive + window * self.send + number) * u64::from(self.chunk)
    }
}

/// The shared frames, as a task or the daemon sees them.
#[derive(Debug)]
pub struct Pool {
    memory: Memory,
    layout: Layout,
    fill: Ring<u64>,
    done: Ring<u64>,
    taker: Taker,
    /// A frame's position in the fill ring, and how many had been taken with it.
    known: (u32, u64),
    /// Searches that have not found a frame there.
    lost: u32,
}

impl Pool {
    /// Maps the pool behind a socket that is bound to it, for the task of a window, or with any for
    /// the daemon.
    ///
    /// # Errors
    /// The memory isn't such a pool's, or the kernel refuses.
    pub fn map(memory: impl AsFd, socket: impl AsFd, layout: Layout, window: u32) -> io::Result<Self> {
        if !layout.is_sound() {
            let why = format!("frames can't be divided into {layout:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let memory = Memory::map(memory, layout.bytes())?;
        let at = sockopt::xdp_mmap_offsets(&socket)?;
        let fill = Ring::map(&socket, XDP_UMEM_PGOFF_FILL_RING, at.fr, layout.receive)?;
        let done = Ring::map(&socket, XDP_UMEM_PGOFF_COMPLETION_RING, at.cr, layout.completions())?;
        let taker = Taker::new(window);
        Ok(Self { memory, layout, fill, done, taker, known: (0, 0), lost: 0 })
    }

    /// How it is divided.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The bytes of a frame from an address of the kernel's on, if there are so many.
    #[inline]
    pub fn bytes(&self, address: u64, len: usize) -> Option<*mut u8> {
        let end = usize::try_from(address).ok()?.checked_add(len)?;
        // SAFETY: the range lies within the mapping.
        (end <= self.layout.frames())
            .then(|| unsafe { self.memory.base().add(self.layout.control() + address as usize) })
    }

    fn lock_word(memory: &Memory, at: usize) -> &AtomicU64 {
        // SAFETY: the control pages are longer, and aligned; all processes use the word as an
        // atomic.
        unsafe { &*memory.base().add(at).cast() }
    }

    fn bits(&self, window: u32, word: u32) -> &AtomicU64 {
        let at = BITS_AT + (window * self.layout.send / 8 + word * 8) as usize;
        // SAFETY: windows and words are those of the layout, for which the control pages have room;
        // all processes use the words as atomics.
        unsafe { &*self.memory.base().add(at).cast() }
    }

    /// A word of a window's list: the first one is the count.
    fn list(&self, window: u32, word: u32) -> &AtomicU32 {
        let at = self.layout.lists() + (window * (LIST_AT + LIST) + word) as usize * 4;
        // SAFETY: windows and words are those of the layout, for which the control pages have room;
        // all processes use the words as atomics.
        unsafe { &*self.memory.base().add(at).cast() }
    }

    /// How many frames a window has read and not given back.
    #[inline]
    pub fn read(&self, window: u32) -> u32 {
        self.list(window, 0).load(Ordering::Relaxed).min(LIST)
    }

    /// Counts a datagram that a window has taken out of its frames.
    #[inline]
    pub fn count_taken(&self, window: u32) {
        let count = self.taken(window);
        // The window's task alone counts.
        self.taken_word(window).store(count.wrapping_add(1), Ordering::Relaxed);
    }

    /// Datagrams that a window has taken out, as its task counts them.
    pub fn taken(&self, window: u32) -> u64 {
        self.taken_word(window).load(Ordering::Relaxed)
    }

    fn taken_word(&self, window: u32) -> &AtomicU64 {
        // Behind the list's count, in the same cache line.
        let word: *const AtomicU32 = self.list(window, 2);
        // SAFETY: lists begin at multiples of 64 bytes, and the words before the first frame's are
        // the list's own: two of them are an aligned word of 64 bits.
        unsafe { &*word.cast() }
    }

    /// How many more frames a window can note.
    #[inline]
    pub fn room(&self, window: u32) -> u32 {
        LIST - self.read(window)
    }

    /// Notes that a window has read the frame at an address of the kernel's, to give it back. There
    /// must be [room](Self::room), or the frame is lost.
    #[inline]
    pub fn note_read(&self, window: u32, address: u64) {
        let count = self.read(window);
        if count == LIST {
            return;
        }
        let number = (address / u64::from(self.layout.chunk)) as u32;
        self.list(window, LIST_AT + count).store(number, Ordering::Relaxed);
        // SYNC: pairs with the swap in `take_read`.
        self.list(window, 0).store(count + 1, Ordering::Release);
    }

    /// Takes the frames that a window has read, by their addresses: for the daemon, after the
    /// window's task.
    pub fn take_read(&self, window: u32) -> Vec<u64> {
        // SYNC: pairs with the Release store in `note_read`.
        let count = self.list(window, 0).swap(0, Ordering::Acquire).min(LIST);
        let number = |at| self.list(window, LIST_AT + at).load(Ordering::Relaxed);
        (0..count).map(|at| u64::from(number(at)) * u64::from(self.layout.chunk)).collect()
    }

    fn try_lock(&mut self, at: usize) -> bool {
        let word = Self::lock_word(&self.memory, at);
        self.taker.try_lock(word)
    }

    fn unlock(&self, at: usize) {
        lock::unlock(Self::lock_word(&self.memory, at));
    }

    /// Frees locks that a window's task, which has ended or has finished, has left: for the daemon.
    pub fn break_locks_of(&self, window: u32) {
        for at in [FILL_LOCK_AT, DONE_LOCK_AT] {
            self.taker.break_lock_of(window, Self::lock_word(&self.memory, at));
        }
    }

    /// Gives the frames that a window has read back to receive into, or none if somebody else is
    /// about it.
    pub fn give_back(&mut self, window: u32, socket: impl AsFd) {
        if self.read(window) == 0 || !self.try_lock(FILL_LOCK_AT) {
            return;
        }
        let count = self.read(window);
        let number = |pool: &Self, at| pool.list(window, LIST_AT + at).load(Ordering::Relaxed);
        let position = self.write_fill(count, |pool, at| u64::from(number(pool, at)));
        // Who is killed between the two loses the frames. The other way round they would be used
        // twice from then on.
        self.list(window, 0).store(0, Ordering::Relaxed);
        self.publish_fill(position, socket);
    }

    /// The same with frames that are in no window's list, by their addresses: for the daemon.
    pub fn fill(&mut self, frames: &mut Vec<u64>, socket: impl AsFd) {
        if frames.is_empty() || !self.try_lock(FILL_LOCK_AT) {
            return;
        }
        let chunk = u64::from(self.layout.chunk);
        let position = self.write_fill(frames.len() as u32, |_, at| frames[at as usize] / chunk);
        frames.clear();
        self.publish_fill(position, socket);
    }

    /// Writes frames to the fill ring, by their numbers, and answers where the next one goes. There
    /// is room for all that there are: more are some that were given back twice.
    fn write_fill(&self, count: u32, number: impl Fn(&Self, u32) -> u64) -> u32 {
        let position = self.fill.producer();
        let count = count.min(self.fill.capacity() - self.fill.len());
        for at in 0..count {
            let address = number(self, at) * u64::from(self.layout.chunk);
            self.fill.write(position.wrapping_add(at), address);
        }
        position.wrapping_add(count)
    }

    fn publish_fill(&self, position: u32, socket: impl AsFd) {
        self.fill.publish(position);
        self.unlock(FILL_LOCK_AT);
        if self.fill.must_wake() {
            // A driver that moves frames itself looks at the ring when it is called.
            let _ = rustix::net::recv(socket, &mut [0u8; 0], RecvFlags::DONTWAIT);
        }
    }

    /// Where the next datagram is likely to lie if the last frame, which was counted as this one,
    /// was at this address of the kernel's: it takes frames in the order in which they were given
    /// to it.
    pub fn frame_after(&mut self, address: u64, taken: u64) -> u64 {
        let chunk = u64::from(self.layout.chunk);
        let (frame, within) = (address - address % chunk, address % chunk);
        let (position, count) = self.known;
        let guess = position.wrapping_add(taken.wrapping_sub(count) as u32);
        // Others' datagrams may have come in between.
        let nearby = if self.lost.is_multiple_of(SELDOM) { self.fill.capacity() } else { CLOSE };
        let found = (0..nearby).map(|at| guess.wrapping_add(at)).find(|at| self.fill.read(*at) == frame);
        match found {
            Some(at) => (self.known, self.lost) = ((at, taken), 1),
            None => self.lost = self.lost.wrapping_add(1),
        }
        self.fill.read(self.known.0.wrapping_add(1)).wrapping_add(within)
    }

    /// So many bytes from an address of the kernel's on are read soon.
    #[inline(always)]
    pub fn prefetch(&self, address: u64, len: usize) {
        // Others can write any address to the ring: nothing comes of a hint for one.
        let frames = self.memory.base().cast_const().wrapping_add(self.layout.control());
        let first = frames.wrapping_add(address as usize);
        (0..len).step_by(LINE).for_each(|at| before_reading(first.wrapping_add(at)));
    }

    /// Takes frames that have been sent out of the kernel's hands, whoever sent them.
    pub fn collect(&mut self) {
        if self.done.is_empty() || !self.try_lock(DONE_LOCK_AT) {
            return;
        }
        let (from, count) = (self.done.consumer(), self.done.len());
        for at in 0..count {
            let frame = self.done.read(from.wrapping_add(at)) / u64::from(self.layout.chunk);
            let number = (frame as u32).wrapping_sub(self.layout.receive);
            let (window, number) = (number / self.layout.send, number % self.layout.send);
            if window < self.layout.windows {
                // SYNC: pairs with the swap in `sent`: the kernel has read the frame's bytes.
                self.bits(window, number / 64).fetch_or(1 << (number % 64), Ordering::Release);
            }
        }
        self.done.release(from.wrapping_add(count));
        self.unlock(DONE_LOCK_AT);
    }

    /// Tells of each frame of a window that has come back, by its number.
    pub fn sent(&self, window: u32, mut back: impl FnMut(u32)) {
        for word in 0..self.layout.send / 64 {
            if self.bits(window, word).load(Ordering::Relaxed) == 0 {
                continue;
            }
            // SYNC: pairs with the bits set in `collect`.
            let mut bits = self.bits(window, word).swap(0, Ordering::Acquire);
            while bits != 0 {
                back(word * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// Makes all frames of a window its own: for the daemon, before it gives the window away.
    pub fn reset(&self, window: u32) {
        for word in 0..self.layout.send / 64 {
            // SYNC: pairs with the swap in `sent`.
            self.bits(window, word).store(u64::MAX, Ordering::Release);
        }
        self.list(window, 0).store(0, Ordering::Relaxed);
        self.taken_word(window).store(0, Ordering::Relaxed);
    }

    /// Has processes that this one makes by fork(2) not map it: a mapping keeps the kernel's rings.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hide_from_children(&self) -> io::Result<()> {
        self.memory.hide_from_children()?;
        self.fill.hide_from_children()?;
        self.done.hide_from_children()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_has_its_place_and_unsound_divisions_are_refused() {
        let layout = Layout { chunk: 2048, parts: 1, receive: 256, windows: 5, send: 128, arrivals: 256 };
        assert!(layout.is_sound());
        assert_eq!(layout.control() % PAGE, 0);
        assert!(layout.lists() >= BITS_AT + 5 * 128 / 8 && layout.lists().is_multiple_of(64));
        assert!(layout.control() >= layout.lists() + 5 * (LIST_AT + LIST) as usize * 4);
        assert_eq!(layout.send_frame(0, 0), 256 * 2048);
        assert_eq!(layout.send_frame(4, 127) as usize + 2048, layout.frames());
        assert_eq!(layout.completions(), 1024);
        for wrong in [
            Layout { chunk: 1024, ..layout },
            Layout { chunk: 8192, ..layout },
            Layout { parts: 0, ..layout },
            Layout { parts: 3, ..layout },
            Layout { parts: 8, ..layout },
            Layout { receive: 100, ..layout },
            Layout { send: 32, ..layout },
            Layout { windows: 0, ..layout },
            Layout { windows: 1 << 20, ..layout },
            Layout { arrivals: 3, ..layout },
        ] {
            assert!(!wrong.is_sound(), "{wrong:?}");
        }
    }
}
