//! Statistics of bytes that move without packets: by stores through a window, or by a direct copy.
//!
//! The other task takes no part in such a copy, so it can't count it. Therefore each task has a
//! page or two that its peers map, with one cache line for each peer. A peer that copies counts
//! there, in a line that only it writes. Both tasks read their statistics from these lines. Where a
//! peer's memory is not mapped, this task counts in memory of its own, which the peer fetches by a
//! direct copy when it is asked for its statistics.

use super::card::{address_in, epoch_of};
use crate::buffers::Direction;
use crate::state::State;
use crate::stats::{Path, Statistics};
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
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

    fn set(&self, counts: [u64; 2]) {
        for (counter, count) in self.0.iter().zip(counts) {
            counter.store(count, Ordering::Relaxed);
        }
    }
}

/// A line in memory that outlives the context's calls: a peer's or this task's, mapped as long as
/// the links are open, or one of [`Tallies::own`].
struct LineRef(AtomicPtr<Line>);

impl From<NonNull<Line>> for LineRef {
    fn from(line: NonNull<Line>) -> Self {
        Self(AtomicPtr::new(line.as_ptr()))
    }
}

impl std::ops::Deref for LineRef {
    type Target = Line;

    #[inline(always)]
    fn deref(&self) -> &Line {
        // SAFETY: not null; it lives as long as the links or `own`, and is written as atomics only.
        unsafe { &*self.0.load(Ordering::Relaxed) }
    }
}

/// Where this task lets its copies be counted, as its card says.
pub(super) struct Places {
    /// Address of the lines in which peers count; 0 if there are none.
    pub(super) mapped: u64,
    /// Lines for tasks whose memory is not mapped, and for this task itself. An `Arc`, for pointers
    /// into a `Box` end when it moves.
    own: Arc<[Line]>,
}

impl Places {
    /// Takes the memory in which peers are to count, where links can map it.
    pub(super) fn new(links: &mut [Link], tasks: u32) -> Self {
        let own = (0..tasks).map(|_| Line::default()).collect();
        let lines = tasks as usize * size_of::<Line>();
        Self { mapped: allocate_for_peers(links, tasks, lines).unwrap_or(0), own }
    }

    /// Address of the lines that peers fetch.
    pub(super) fn fetched(&self) -> u64 {
        self.own.as_ptr().expose_provenance() as u64
    }
}

/// Takes memory that peers map, from a link that has some.
pub(super) fn allocate_for_peers(links: &mut [Link], tasks: u32, len: usize) -> Option<u64> {
    let maps = |link: &&mut Link| link.caps().contains(Caps::ALLOCATE | Caps::WINDOW | Caps::LOCAL_ONLY);
    let link = links.iter_mut().find(maps).filter(|_| tasks > 1)?;
    match link.mem_alloc(len) {
        Ok(region) => Some(region.addr),
        Err(e) => {
            tracing::debug!("{len} bytes that peers would map: {e}; they count and show nothing here");
            None
        }
    }
}

/// Where this task counts for each task, and where the others count for this one.
pub(crate) struct Tallies {
    /// By task: in its memory, or in `own`.
    lines: Box<[LineRef]>,
    /// By task: the address of the line in its memory; 0 if there is none.
    places: Box<[u64]>,
    /// See [`Places::own`].
    own: Arc<[Line]>,
    /// What the others have counted, by task: in this task's memory; none where peers can't reach
    /// any.
    told: Box<[LineRef]>,
    /// By task: what it counts for this one in memory of its own.
    fetched: Box<[Fetched]>,
    /// Tasks from which counts are fetched, and whose turn it was last.
    askable: Box<[PeerId]>,
    turn: AtomicUsize,
}

/// Whose counts are fetched for statistics: each costs a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// Those of all peers: the program asks.
    All,
    /// One task's, another one each time. What the others had counted when it was their turn is
    /// still known.
    Next,
}

/// A line of a peer's memory, if that is mapped here.
fn mapped_line(address: u64, window: &Window) -> Option<NonNull<Line>> {
    let offset = address.checked_sub(window.remote_base).filter(|_| address != 0)?;
    let fits = offset.checked_add(64)? <= window.len;
    let line = window.local_base.wrapping_add(offset as usize).cast::<Line>();
    NonNull::new(line).filter(|line| fits && line.is_aligned())
}

/// What a peer counts in memory of its own, which is fetched.
struct Fetched {
    /// Where; 0 if it does not say.
    at: u64,
    /// The epoch of the process whose memory that is.
    process: Option<u32>,
    /// What was there last: a peer that has ended can't be asked again.
    last: Line,
}

impl Tallies {
    /// The cards say where the others' places are. A peer without a window has not been met yet.
    pub(super) fn new(me: PeerId, places: Places, cards: &[Vec<u8>], windows: &[Option<Window>]) -> Self {
        let Places { mapped, own } = places;
        let line_of = |task: usize, field| -> Option<u64> {
            let card = address_in(&cards[task], field)?;
            let first = u64::from_le_bytes(card.try_into().ok()?);
            first.checked_add(u64::from(me) * 64).filter(|_| first != 0 && task != me as usize)
        };
        let places: Box<[u64]> = (0..cards.len()).map(|task| line_of(task, "tally").unwrap_or(0)).collect();
        let at = |task: usize| mapped_line(places[task], windows.get(task)?.as_ref()?);
        let lines =
            (0..cards.len()).map(|task| at(task).unwrap_or(NonNull::from(&own[task])).into()).collect();
        let told = NonNull::new(std::ptr::with_exposed_provenance_mut::<Line>(mapped as usize));
        let told_by = |first: NonNull<Line>| {
            // `Places::new` took a line for each task.
            let line = |task| first.as_ptr().wrapping_add(task);
            (0..cards.len()).filter_map(|task| NonNull::new(line(task)).map(LineRef::from)).collect()
        };
        let told = told.map_or_else(Default::default, told_by);
        // Whose memory is mapped here has this task's mapped as well, and counts there.
        let fetch = |task: usize| Fetched {
            at: line_of(task, "copied").filter(|_| at(task).is_none()).unwrap_or(0),
            process: epoch_of(&cards[task]),
            last: Line::default(),
        };
        let fetched: Box<[Fetched]> = (0..cards.len()).map(fetch).collect();
        let askable = (0..).zip(&fetched).filter(|(_, fetched)| fetched.at != 0).map(|(task, _)| task);
        let (askable, turn) = (askable.collect(), AtomicUsize::new(0));
        Self { lines, places, own, told, fetched, askable, turn }
    }

    /// A peer's memory is known from now on. What was counted before stays where the peer fetches
    /// it.
    pub(super) fn met(&self, task: PeerId, window: &Window) {
        let task = task as usize;
        if let Some(line) = mapped_line(self.places[task], window) {
            self.lines[task].0.store(line.as_ptr(), Ordering::Relaxed);
        }
    }

    /// Those of a context that reaches no other task.
    #[cfg(all(test, not(loom)))]
    pub(super) fn alone() -> Self {
        let places = Places { mapped: 0, own: Arc::new([Line::default()]) };
        Self::new(0, places, &[Vec::new()], &[None])
    }

    /// Where copies to and from a task are counted.
    #[inline(always)]
    pub(crate) fn of(&self, task: PeerId) -> Option<&Line> {
        self.lines.get(task as usize).map(|line| &**line)
    }

    /// Fetches what a peer has counted, if it can be had.
    fn fetch<C>(&self, task: PeerId, state: &mut State<C>) {
        let Some(fetched) = self.fetched.get(task as usize) else { return };
        if let Some(counts) = fetched.now(task, state) {
            fetched.last.set(counts);
        }
    }

    /// Whose turn it is.
    fn next(&self) -> Option<PeerId> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.askable.get(turn.checked_rem(self.askable.len())?).copied()
    }

    /// Adds what was counted, on both sides. The links are open.
    pub(crate) fn add_to<C>(
        &self,
        statistics: &mut Statistics,
        state: &mut State<C>,
        me: PeerId,
        fetch: Fetch,
    ) {
        match fetch {
            Fetch::All => self.askable.iter().for_each(|task| self.fetch(*task, state)),
            Fetch::Next => self.next().into_iter().for_each(|task| self.fetch(task, state)),
        }
        for (task, line) in self.lines.iter().enumerate() {
            let [out, into] = line.get();
            if task == me as usize {
                // What goes to oneself is received by oneself.
                let counts = statistics.path_mut(Path::Local);
                counts.data_sent += out + into;
                counts.data_received += out + into;
                continue;
            }
            let counts = statistics.path_mut(state.path_to(task as PeerId));
            counts.data_sent += out;
            counts.data_received += into;
            let [out, into] = self.told_by(task);
            counts.data_received += out;
            counts.data_sent += into;
        }
        debug_assert_eq!(self.own.len(), self.lines.len());
    }

    /// What a peer has put here and got from here past the packets, as far as is known.
    fn told_by(&self, task: usize) -> [u64; 2] {
        let [out, into] = self.told.get(task).map_or([0; 2], |line| line.get());
        let [out_too, into_too] = self.fetched[task].last.get();
        [out + out_too, into + into_too]
    }
}

impl Fetched {
    /// What is there now; none if nothing is to be fetched, or it can't be.
    fn now<C>(&self, peer: PeerId, state: &mut State<C>) -> Option<[u64; 2]> {
        let same = state.peers[peer].process.is_none_or(|process| Some(process) == self.process);
        if self.at == 0 || !same || !state.has_contact(peer) {
            return None;
        }
        let mut counts = [0u64; 2];
        let (into, len) = (counts.as_mut_ptr().cast(), size_of_val(&counts));
        // SAFETY: `counts` is writable; the peer keeps its lines while it is in the job, as its
        // card says.
        unsafe { state.read_memory(peer, self.at, into, len) }.then_some(counts)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::context::card::put_field;

    #[test]
    fn one_peer_is_asked_at_a_time_and_none_that_says_no_place() {
        let place = |at: u64| {
            let mut card = Vec::new();
            put_field(&mut card, b"copied");
            put_field(&mut card, &at.to_le_bytes());
            card
        };
        let cards = [place(4096), place(4096), place(0), place(8192), Vec::new()];
        let places = Places { mapped: 0, own: (0..5).map(|_| Line::default()).collect() };
        let tallies = Tallies::new(0, places, &cards, &[]);
        let turns: Vec<_> = (0..4).map(|_| tallies.next()).collect();
        assert_eq!(turns, [Some(1), Some(3), Some(1), Some(3)]);
        assert_eq!(Tallies::alone().next(), None);
    }
}
