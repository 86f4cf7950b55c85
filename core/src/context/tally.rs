//! Statistics of bytes that move without packets: by stores through a window, or by a direct copy.
//!
//! The other task does nothing in such a copy, so it can't count it. Therefore each task keeps a
//! page or two that its peers have mapped, with one cache line for each peer. A peer that copies
//! counts there, in a line that nobody else writes. Both tasks read their statistics from these
//! lines. If a peer's memory is not mapped, only this side counts.

use super::card::address_in;
use crate::buffers::Direction;
use crate::stats::{Path, Statistics};
use crate::sync::{AtomicU64, Ordering};
use crate::transport::{Caps, Link, PeerId, Window};
use std::ptr::NonNull;
use std::sync::Arc;

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

/// A line in memory that outlives the context's calls: a peer's or this task's, mapped as long as
/// the links are open, or one of [`Tallies::own`].
struct LineRef(NonNull<Line>);

impl std::ops::Deref for LineRef {
    type Target = Line;

    #[inline(always)]
    fn deref(&self) -> &Line {
        // SAFETY: it lives as long as the links or `own`, and is written as atomics only.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: lines are atomics, which any thread may reach.
unsafe impl Send for LineRef {}
// SAFETY: shared, a line is changed and read as atomics only.
unsafe impl Sync for LineRef {}

/// Where this task counts for each task, and where the others count for this one.
pub(crate) struct Tallies {
    /// By task: in its memory, or in `own`.
    lines: Box<[LineRef]>,
    /// For tasks whose memory is not mapped, and this task itself. An `Arc`, for pointers into a
    /// `Box` end when it moves.
    own: Arc<[Line]>,
    /// What the others have counted, by task: in this task's memory; none where peers can't reach
    /// any.
    told: Box<[LineRef]>,
}

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
        let own: Arc<[Line]> = cards.iter().map(|_| Line::default()).collect();
        let at = |task: usize| -> Option<LineRef> {
            let card = address_in(&cards[task], "tally")?;
            let address = u64::from_le_bytes(card.try_into().ok()?).checked_add(u64::from(me) * 64)?;
            let window = &windows[task];
            let offset = address.checked_sub(window.remote_base)?;
            let fits = task != me as usize && offset.checked_add(64)? <= window.len;
            let line = window.local_base.wrapping_add(offset as usize).cast::<Line>();
            NonNull::new(line).filter(|line| fits && line.is_aligned()).map(LineRef)
        };
        let lines =
            (0..cards.len()).map(|task| at(task).unwrap_or(LineRef(NonNull::from(&own[task])))).collect();
        let told = NonNull::new(std::ptr::with_exposed_provenance_mut::<Line>(place as usize));
        let told_by = |first: NonNull<Line>| {
            // `place` took a line for each task.
            let line = |task| first.as_ptr().wrapping_add(task);
            (0..cards.len()).filter_map(|task| NonNull::new(line(task)).map(LineRef)).collect()
        };
        let told = told.map_or_else(Default::default, told_by);
        Self { lines, own, told }
    }

    /// Where copies to and from a task are counted.
    #[inline(always)]
    pub(crate) fn of(&self, task: PeerId) -> Option<&Line> {
        self.lines.get(task as usize).map(|line| &**line)
    }

    /// Adds what was counted, on both sides. The links are open.
    pub(crate) fn add_to(&self, statistics: &mut Statistics, me: PeerId) {
        for (task, line) in self.lines.iter().enumerate() {
            let [out, into] = line.get();
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
            if let Some(told) = self.told.get(task) {
                let [out, into] = told.get();
                counts.data_received += out;
                counts.data_sent += into;
            }
        }
        debug_assert_eq!(self.own.len(), self.lines.len());
    }
}
