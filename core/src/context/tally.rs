//! Counts of bytes that move without packets, by stores through a window or a direct copy.
//!
//! The other side of such a copy does nothing, so nothing there could count. Hence each task has a
//! page or two in memory that its peers have mapped, with a line for each of them, and a peer that
//! copies counts there: a store to a line that nobody else writes. Both sides' statistics are read
//! from these lines. A peer whose memory is not mapped is counted on this side only.

use super::connect::address_in;
use super::{Context, Shared};
use crate::message::Direction;
use crate::stats::{Path, Statistics};
use crate::sync::{AtomicU64, Ordering};
use crate::transport::{Caps, Link, PeerId, Window};
use std::ptr::NonNull;

/// Bytes that one task has put to another and got from it, by [`Direction`]. A line of its own.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Line([AtomicU64; 2]);

impl Line {
    /// Counts. Threads that copy at the same time may lose each other's counts: an exact count
    /// would cost as much as a small put.
    #[inline(always)]
    pub(crate) fn add(&self, direction: Direction, bytes: u64) {
        let counter = &self.0[direction as usize];
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(bytes), Ordering::Relaxed);
    }

    fn get(&self) -> [u64; 2] {
        self.0.each_ref().map(|c| c.load(Ordering::Relaxed))
    }
}

/// Where this task counts for each task, and where the others count for this one.
pub(crate) struct Tallies {
    /// By task: in its memory, or in `own`.
    lines: Box<[NonNull<Line>]>,
    /// For tasks whose memory is not mapped, and this task itself.
    own: Box<[Line]>,
    /// What the others have counted, by task: in this task's memory; `None` where peers can't reach
    /// any.
    told: Option<NonNull<Line>>,
}

// SAFETY: lines are atomics, which live as long as the links.
unsafe impl Send for Tallies {}
// SAFETY: lines are changed and read as atomics only.
unsafe impl Sync for Tallies {}

/// Takes the memory in which peers are to count; its address is 0 if there is none.
pub(super) fn place(links: &mut [Link], tasks: u32) -> u64 {
    let mapped = |link: &&mut Link| link.caps().contains(Caps::ALLOCATE | Caps::WINDOW | Caps::LOCAL_ONLY);
    let Some(link) = links.iter_mut().find(mapped).filter(|_| tasks > 1) else { return 0 };
    match link.mem_alloc(tasks as usize * size_of::<Line>()) {
        Ok(region) => region.addr,
        Err(e) => {
            tracing::debug!("what peers copy here is not counted: {e}");
            0
        }
    }
}

impl Tallies {
    /// `place` is what [`place`] gave; the cards say where the others' is.
    pub(super) fn new(me: PeerId, place: u64, cards: &[Vec<u8>], windows: &[Window]) -> Self {
        let own: Box<[Line]> = cards.iter().map(|_| Line::default()).collect();
        let at = |task: usize| -> Option<NonNull<Line>> {
            let card = address_in(&cards[task], "tally")?;
            let address = u64::from_le_bytes(card.try_into().ok()?).checked_add(u64::from(me) * 64)?;
            let window = &windows[task];
            let offset = address.checked_sub(window.remote_base)?;
            let fits = task != me as usize && offset.checked_add(64)? <= window.len;
            let line = window.local_base.wrapping_add(offset as usize).cast::<Line>();
            NonNull::new(line).filter(|line| fits && line.is_aligned())
        };
        let lines = (0..cards.len()).map(|task| at(task).unwrap_or(NonNull::from(&own[task]))).collect();
        let told = NonNull::new(std::ptr::with_exposed_provenance_mut(place as usize));
        Self { lines, own, told }
    }

    /// Where copies to and from a task are counted.
    #[inline(always)]
    pub(crate) fn of(&self, task: PeerId) -> Option<&Line> {
        // SAFETY: the line lives as long as the link or `own`, and is never written but as atomics.
        self.lines.get(task as usize).map(|line| unsafe { line.as_ref() })
    }

    /// Adds what was counted, on both sides. The links are open.
    pub(super) fn add_to(&self, statistics: &mut Statistics, me: PeerId) {
        for (task, line) in self.lines.iter().enumerate() {
            // SAFETY: the line lives as long as the link or `own`, and is never written but as
            // atomics.
            let [out, into] = unsafe { line.as_ref() }.get();
            if task == me as usize {
                // What goes to oneself is received by oneself.
                let counts = statistics.path_mut(Path::Local);
                counts.data_sent += out + into;
                counts.data_received += out + into;
                continue;
            }
            let counts = statistics.path_mut(Path::SharedMemory);
            counts.data_sent += out;
            counts.data_received += into;
            if let Some(told) = self.told {
                // SAFETY: `place` took a line for each task.
                let [out, into] = unsafe { told.add(task).as_ref() }.get();
                counts.data_received += out;
                counts.data_sent += into;
            }
        }
        debug_assert_eq!(self.own.len(), self.lines.len());
    }
}

impl Context {
    /// Counts bytes that no packet carried.
    #[inline(always)]
    pub fn count_direct(&self, target: PeerId, direction: Direction, len: u64) {
        self.shared.count_direct(target, direction, len);
    }
}

impl Shared {
    /// [`Context::count_direct`].
    #[inline(always)]
    pub(crate) fn count_direct(&self, target: PeerId, direction: Direction, len: u64) {
        if let Some(line) = self.tallies.of(target) {
            line.add(direction, len);
        }
    }
}
