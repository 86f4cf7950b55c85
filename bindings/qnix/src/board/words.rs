//! Words by which the tasks of a host publish how many barriers of a group they have entered: a
//! barrier takes one store of each member, and reads of the others' words.

use super::{Boards, LINE, Writer};
use lapis_core::sync::{AtomicU32, AtomicU64, Ordering};

/// Words of a board: groups beyond that show records.
pub(super) const WORDS: usize = 16;

/// What a task says of one of its groups.
#[repr(C, align(128))]
pub(super) struct Word {
    /// Not 0: the word is some group's, whose name stands beside it.
    taken: AtomicU32,
    group: AtomicU32,
    entered: AtomicU64,
}

const _: () = assert!(size_of::<Word>() == LINE);

/// What a barrier waits for: that the task at a place has entered so many, by one of its words.
pub(crate) struct Awaited {
    pub(crate) place: usize,
    pub(crate) word: usize,
    pub(crate) entered: u64,
}

impl Boards {
    fn word(&self, place: usize, at: usize) -> &Word {
        debug_assert!(at < WORDS);
        // SAFETY: within the board, which is mapped as long as the context lives and holds zeroes
        // or what its owner stores; atomics alone.
        unsafe { &*self.bases[place].wrapping_add(self.places.words + at * LINE).cast() }
    }

    /// Which word of the task at a place is a group's. `None`: it knows the group not yet, or shows
    /// records.
    pub(crate) fn word_of(&self, place: usize, group: i32) -> Option<usize> {
        (0..WORDS)
            .map(|at| (at, self.word(place, at)))
            // SYNC: pairs with the Release store in `claim`: the name comes first.
            .take_while(|(_, word)| word.taken.load(Ordering::Acquire) != 0)
            .find(|(_, word)| word.group.load(Ordering::Relaxed) == group as u32)
            .map(|(at, _)| at)
    }

    /// How many barriers the task at a place has entered, by one of its words.
    #[inline]
    pub(crate) fn entered(&self, place: usize, at: usize) -> u64 {
        // SYNC: pairs with the Release store in `enter`: what the task did before comes first.
        self.word(place, at).entered.load(Ordering::Acquire)
    }

    /// Whether what a barrier waits for is there.
    #[inline]
    pub(crate) fn has_come(&self, awaited: &Awaited) -> bool {
        self.entered(awaited.place, awaited.word) >= awaited.entered
    }
}

impl Writer {
    /// A word for a group, if one is left.
    pub(crate) fn claim(&mut self, group: i32) -> Option<usize> {
        let at = self.words;
        if at == WORDS {
            return None;
        }
        self.words += 1;
        let word = self.boards.word(self.boards.me, at);
        word.group.store(group as u32, Ordering::Relaxed);
        // SYNC: pairs with the Acquire load in `word_of`.
        word.taken.store(1, Ordering::Release);
        Some(at)
    }

    /// Says that this task has entered so many barriers of a word's group. Gives the tasks among
    /// `others`, which are bits of places, that have to be asked to look.
    pub(crate) fn enter(&mut self, at: usize, entered: u64, others: u64) -> impl Iterator<Item = u32> {
        // SYNC: pairs with the Acquire load in `entered`.
        self.boards.word(self.boards.me, at).entered.store(entered, Ordering::Release);
        self.boards.asleep(others)
    }
}
