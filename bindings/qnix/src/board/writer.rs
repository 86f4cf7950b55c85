//! Writing records.

use super::{BYTES, Boards, ENTERED, Fields, Head, MOST, Places, SLOTS};
use crate::segments::Segment;
use lapis_core::sync::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A task sends a message with a tag.
    Message { root: u32, tag: i32 },
    /// A task has begun its next barrier in a group.
    Entered { task: u32, group: i32 },
}

impl Content {
    pub(super) fn of(fields: &Fields) -> Self {
        let &Fields { len, root, tag } = fields;
        if len & ENTERED == 0 {
            Self::Message { root, tag }
        } else {
            Self::Entered { task: root, group: tag }
        }
    }

    fn fields(self, len: usize) -> Fields {
        let (kind, root, tag) = match self {
            Self::Message { root, tag } => (0, root, tag),
            Self::Entered { task, group } => (ENTERED, task, group),
        };
        Fields { len: len as u32 | kind, root, tag }
    }
}

/// A record that somebody may still read.
struct Shown {
    readers: u64,
    /// Bytes of the ring up to its end, counted from the beginning of all.
    bytes: u64,
}

/// The one who writes this process's board.
pub(crate) struct Writer {
    pub(super) boards: Arc<Boards>,
    /// Words that are some group's.
    pub(super) words: usize,
    /// The number of the next record.
    next: u64,
    /// The last ones before it.
    shown: VecDeque<Shown>,
    /// Bytes of the ring that were used so far, and up to which they are free again.
    used: u64,
    free: u64,
    /// Places of those who read no more.
    gone: u64,
}

/// The bits of a mask.
pub(crate) fn places(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

impl Writer {
    pub(super) fn new(boards: Arc<Boards>) -> Self {
        let shown = VecDeque::with_capacity(SLOTS as usize);
        Self { boards, words: 0, next: 0, shown, used: 0, free: 0, gone: 0 }
    }

    pub(crate) fn boards(&self) -> &Arc<Boards> {
        &self.boards
    }

    /// A task reads no more.
    pub(crate) fn left(&mut self, task: u32) {
        if let Some(place) = self.boards.place(task) {
            self.gone |= 1 << place;
        }
    }

    /// Shows a record to `readers`, which are places and their numbers of the message; it asks for
    /// them if there is room only. Gives the tasks that have to be asked to look; `None`: there is
    /// no room.
    pub(crate) fn show(
        &mut self,
        content: Content,
        readers: impl Iterator<Item = (usize, u32)>,
        data: &[Segment],
    ) -> Option<impl Iterator<Item = u32>> {
        let len = data.iter().map(|segment| segment.len).sum();
        let (at, bytes) = self.room(len)?;
        let (places, me) = (self.boards.places, self.boards.me);
        let slot = self.boards.slot(me, self.next);
        let head = self.boards.head(me, self.next);
        head.begin();
        let behind = slot.wrapping_add(size_of::<Head>());
        let numbers = behind.wrapping_add(size_of::<Fields>()).cast::<u32>();
        let mut to = slot.wrapping_add(places.data);
        let mut mask = 0;
        // SAFETY: the record lies within the board, and whoever it was for has read it. Places are
        // those of the host's other tasks, for each of which there is a number. The program has
        // lent the data to the command.
        unsafe {
            behind.cast::<Fields>().write(content.fields(len));
            for (place, number) in readers {
                debug_assert!(place < places.tasks && place != me);
                numbers.add(Places::number_of(place, me)).write(number);
                mask |= 1 << place;
            }
            if let Some(at) = at {
                to.cast::<u64>().write(at as u64);
                to = self.boards.bases[me].wrapping_add(at);
            }
            for segment in data {
                let from: *const u8 = std::ptr::with_exposed_provenance(segment.address);
                std::ptr::copy_nonoverlapping(from, to, segment.len);
                to = to.wrapping_add(segment.len);
            }
        }
        head.show(self.next, mask);
        self.next += 1;
        self.used = bytes;
        self.shown.push_back(Shown { readers: mask, bytes });
        Some(self.boards.asleep(mask))
    }

    /// Room for a record with so many bytes: where on the board they go, if not in the record
    /// itself, and what will have been used of the ring then.
    fn room(&mut self, len: usize) -> Option<(Option<usize>, u64)> {
        let places = self.boards.places;
        let in_record = places.are_in_record(len);
        let bytes = if in_record { self.used } else { beyond(self.used, len) };
        let fits = |writer: &Self| {
            (writer.shown.len() as u64) < SLOTS && bytes - writer.free.min(bytes) <= BYTES as u64
        };
        if !fits(self) {
            self.reclaim();
        }
        if !fits(self) {
            return None;
        }
        let at = || places.bytes + ((bytes - len.next_multiple_of(64) as u64) % BYTES as u64) as usize;
        Some(((!in_record).then(at), bytes))
    }

    /// Takes back what everybody has read. Each reader is looked at once.
    fn reclaim(&mut self) {
        let mut known = 0;
        let mut next = [0; MOST];
        while let Some(oldest) = self.shown.front() {
            let record = self.next - self.shown.len() as u64;
            let readers = oldest.readers & !self.gone;
            for place in places(readers & !known) {
                // SYNC: pairs with the Release stores in `Boards::done` and `Boards::take_from`.
                next[place] = self.boards.next(place, self.boards.me).load(Ordering::Acquire);
            }
            known |= readers;
            if places(readers).any(|place| next[place] <= record) {
                return;
            }
            self.free = oldest.bytes;
            self.shown.pop_front();
        }
        self.free = self.used;
    }
}

/// What will have been used of the ring with `len` bytes more, in one piece.
fn beyond(used: u64, len: usize) -> u64 {
    let (len, ring) = (len.next_multiple_of(64) as u64, BYTES as u64);
    let rest = ring - used % ring;
    // What is left at the end of the ring is not used if it is too short.
    used + if len <= rest { len } else { rest + len }
}
