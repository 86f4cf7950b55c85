//! Writing records.

use super::{BYTES, Boards, ENTERED, Fields, Head, MESSAGE, SLOTS};
use crate::memory::Segment;
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
        match fields.kind {
            MESSAGE => Self::Message { root: fields.root, tag: fields.tag },
            _ => Self::Entered { task: fields.root, group: fields.tag },
        }
    }

    fn fields(self, len: usize, at: usize) -> Fields {
        let (kind, root, tag) = match self {
            Self::Message { root, tag } => (MESSAGE, root, tag),
            Self::Entered { task, group } => (ENTERED, task, group),
        };
        Fields { kind, root, tag, len: len as u32, at: at as u64 }
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

    /// Shows a record to `readers`, which are places and their numbers of the message. Gives the
    /// tasks that have to be asked to look; `None`: there is no room.
    pub(crate) fn show(
        &mut self,
        content: Content,
        readers: impl Iterator<Item = (usize, u32)>,
        data: &[Segment],
    ) -> Option<impl Iterator<Item = u32>> {
        let len = data.iter().map(|segment| segment.len).sum();
        let (at, bytes) = self.room(len)?;
        let places = self.boards.places;
        let slot = self.boards.slot(self.boards.me, self.next);
        let head = self.boards.head(self.boards.me, self.next);
        head.begin();
        let behind = slot.wrapping_add(size_of::<Head>());
        let numbers = behind.wrapping_add(size_of::<Fields>()).cast::<u32>();
        let mut mask = 0;
        // SAFETY: the record lies within the board, and whoever it was for has read it. Places are
        // those of the host's tasks, for each of which there is a number. The program has lent the
        // data to the command.
        unsafe {
            behind.cast::<Fields>().write(content.fields(len, at));
            for (place, number) in readers {
                debug_assert!(place < places.tasks);
                numbers.add(place).write(number);
                mask |= 1 << place;
            }
            let mut to = self.boards.bases[self.boards.me].wrapping_add(at);
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

    /// Room for a record with so many bytes: where they go on the board, and what will have been
    /// used of the ring then.
    fn room(&mut self, len: usize) -> Option<(usize, u64)> {
        let places = self.boards.places;
        let in_record = len <= places.slot - places.data;
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
        if in_record {
            let slot = self.boards.slot(self.boards.me, self.next);
            let at = slot.addr() - self.boards.bases[self.boards.me].addr() + places.data;
            return Some((at, bytes));
        }
        let at = (bytes - len.next_multiple_of(64) as u64) % BYTES as u64;
        Some((places.bytes + at as usize, bytes))
    }

    /// Takes back what everybody has read.
    fn reclaim(&mut self) {
        while let Some(oldest) = self.shown.front() {
            let record = self.next - self.shown.len() as u64;
            let reads = |place: usize| {
                // SYNC: pairs with the Release stores in `Boards::done` and `Boards::take_from`.
                self.boards.next(place, self.boards.me).load(Ordering::Acquire) <= record
            };
            if places(oldest.readers & !self.gone).any(reads) {
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
