//! Flags in mapped memory by which the tasks of a machine signal their progress in a barrier.
//!
//! Each task has an area that its peers map:
//!
//! ```text
//! | a line for each step | a word for each task | the first task's: rows of an exchange (row.rs) |
//! ```
//!
//! In the line of a step, its owner stores the number of the last barrier in which it has reached
//! that step. A peer that polls these lines sets its word: then it needs no packet. Every line and
//! every word has one writer. A peer that is about to sleep clears its word, so that it is sent a
//! packet, which wakes it. The owner stores, then reads the word; the peer clears its word, then
//! polls once more: at least one of them sees the other's store.

mod look;
mod row;

pub(crate) use row::{AT as ROWS_AT, have_rows};

use super::card::address_in;
use super::tally::allocate_for_peers;
use crate::state::STEPS;
use crate::sync::membarrier;
use crate::sync::placed::{AtomicU32, AtomicU64};
use crate::sync::{AtomicPtr, Ordering};
use crate::transport::{Link, PeerId, Window};
use std::ptr::NonNull;

/// What a word says: its task looks at the lines.
const LOOKS: u32 = 1;
/// It has not said so, or sleeps.
const NEEDS_PACKETS: u32 = 0;

/// What a task has shown for one step.
#[repr(C, align(64))]
struct Line(AtomicU64);

/// Bytes of the lines, behind which the words are.
const LINES: usize = STEPS * size_of::<Line>();

/// An area, this task's or a peer's, which stays mapped as long as the links are open.
#[derive(Clone, Copy)]
struct Area(NonNull<Line>);

// SAFETY: an area is atomics, which any thread may reach.
unsafe impl Send for Area {}
// SAFETY: shared, an area is changed and read as atomics only.
unsafe impl Sync for Area {}

impl Area {
    /// Bytes of a task's area.
    fn len(of: PeerId, tasks: u32) -> usize {
        let words = LINES + tasks as usize * size_of::<AtomicU32>();
        if of == row::AT { row::end(words, tasks) } else { words }
    }

    #[inline(always)]
    fn line(&self, step: u8) -> &AtomicU64 {
        assert!(usize::from(step) < STEPS);
        // SAFETY: an area begins with a line for each step, holds zeroes or what was stored as
        // atomics, and outlives the calls of its context.
        unsafe { &self.0.add(usize::from(step)).as_ref().0 }
    }

    /// The word of a task of the job.
    #[inline(always)]
    fn word(&self, task: PeerId) -> &AtomicU32 {
        // SAFETY: behind the lines stands a word for each task of the job, which lives as long as
        // the lines.
        unsafe { self.0.add(STEPS).cast::<AtomicU32>().add(task as usize).as_ref() }
    }
}

/// Where a peer's area is.
struct PeerArea {
    /// In the peer's address space, as its card says; 0 if it has none.
    at: u64,
    /// Here; null as long as it is not mapped.
    first: AtomicPtr<Line>,
}

/// The areas of all tasks whose memory is mapped here.
pub(crate) struct Flags {
    me: PeerId,
    own: Option<Area>,
    /// By task.
    peers: Box<[PeerArea]>,
    /// Threads that sleep until a packet wakes them.
    asleep: AtomicU32,
    /// The kernel can't put this process's fences for it.
    fences: bool,
}

/// Where this task's area is, as its card says; 0 if it has none.
pub(super) fn place(links: &mut [Link], me: PeerId, tasks: u32) -> u64 {
    allocate_for_peers(links, tasks, Area::len(me, tasks)).unwrap_or(0)
}

/// Where a task's area is in its own address space, as its card says; 0 if it has none.
fn place_in(card: &[u8]) -> u64 {
    let field = address_in(card, "flags").and_then(|at| at.try_into().ok());
    field.map_or(0, u64::from_le_bytes)
}

impl Flags {
    /// The cards say where the others' areas are, and the windows what is mapped; `None`: of a peer
    /// with which there is no contact yet.
    pub(super) fn new(me: PeerId, own: u64, cards: &[Vec<u8>], windows: &[Option<Window>]) -> Self {
        let at = |(task, card): (usize, &Vec<u8>)| {
            let at = if task == me as usize { 0 } else { place_in(card) };
            PeerArea { at, first: AtomicPtr::default() }
        };
        let peers: Box<[PeerArea]> = cards.iter().enumerate().map(at).collect();
        let own = NonNull::new(std::ptr::with_exposed_provenance_mut::<Line>(own as usize));
        let own = own.filter(|first| first.is_aligned()).map(Area);
        let flags = Self { me, own, peers, asleep: AtomicU32::new(0), fences: !membarrier::register() };
        for (peer, window) in (0..).zip(windows) {
            window.iter().for_each(|window| flags.met(peer, window));
        }
        flags
    }

    /// A peer's memory is mapped from now on. The lock is held, or there is one thread.
    pub(super) fn met(&self, peer: PeerId, window: &Window) {
        let Some(place) = self.peers.get(peer as usize).filter(|place| place.at != 0) else { return };
        let Some(offset) = place.at.checked_sub(window.remote_base) else { return };
        let end = offset.checked_add(Area::len(peer, self.peers.len() as u32) as u64);
        let first = window.local_base.wrapping_add(offset as usize).cast::<Line>();
        if end.is_none_or(|end| end > window.len) || !first.is_aligned() {
            return;
        }
        place.first.store(first, Ordering::Relaxed);
        // A thread that sleeps already does not look: it is sent packets until it sleeps again.
        if self.asleep.load(Ordering::Relaxed) == 0 {
            self.say(peer, LOOKS);
        }
    }

    #[inline(always)]
    fn area(&self, peer: PeerId) -> Option<Area> {
        NonNull::new(self.peers.get(peer as usize)?.first.load(Ordering::Relaxed)).map(Area)
    }

    /// Says in this task's word of a peer's area whether it looks there.
    fn say(&self, peer: PeerId, what: u32) {
        if let Some(area) = self.area(peer) {
            area.word(self.me).store(what, Ordering::Relaxed);
        }
    }

    /// This task has come to a step of the barrier with this number.
    #[inline(always)]
    pub(crate) fn show(&self, step: u8, barrier: u64) {
        let Some(own) = &self.own else { return };
        // SYNC: pairs with the Acquire load in `shown`: what this task has done before the barrier
        // comes before what the others do after it.
        own.line(step).store(barrier, Ordering::Release);
        membarrier::light(self.fences);
    }

    /// The last barrier for which a task has shown that it has come to a step, as far as this task
    /// can see.
    #[inline(always)]
    pub(crate) fn shown(&self, by: PeerId, step: u8) -> u64 {
        match self.area(by) {
            // SYNC: pairs with the Release store in `show`.
            Some(area) => area.line(step).load(Ordering::Acquire),
            None => 0,
        }
    }

    /// Whether a task sees what this one shows, and does not sleep. Asked after showing.
    #[inline(always)]
    pub(crate) fn are_seen_by(&self, task: PeerId) -> bool {
        self.own.as_ref().is_some_and(|own| own.word(task).load(Ordering::Relaxed) == LOOKS)
    }

    /// This task is going to sleep until another one wakes it by a packet. Its flags are looked at
    /// once more before.
    #[cold]
    pub(super) fn sleep(&self, wakes: PeerId) -> Asleep<'_> {
        self.asleep.fetch_add(1, Ordering::Relaxed);
        if self.area(wakes).is_some() {
            self.say(wakes, NEEDS_PACKETS);
            membarrier::heavy();
        }
        Asleep { flags: self, wakes }
    }
}

/// While it lives, a task is sent packets by another one.
pub(super) struct Asleep<'a> {
    flags: &'a Flags,
    wakes: PeerId,
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.flags.asleep.fetch_sub(1, Ordering::Relaxed);
        self.flags.say(self.wakes, LOOKS);
    }
}
