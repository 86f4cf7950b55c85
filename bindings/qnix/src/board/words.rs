//! Words by which the tasks of a host publish how many barriers of a group they have entered: a
//! barrier takes one store of each member, and reads of the others' words. A word stands in two
//! lines as teams have them, in turns: who enters a barrier has seen all others enter the one
//! before, and so they have seen what stood in its line until now.

use super::{Boards, Writer};
use lapis_collectives::lines::{LINE, Lines};
use lapis_core::sync::{AtomicU32, Ordering};

/// Words of a board: groups beyond that show records.
pub(super) const WORDS: usize = 16;

/// How many lines a word has. Between far cores, barriers are faster with lines 512 bytes apart
/// than with 128: a processor may fetch neighbours of a line that it reads.
const TURNS: usize = 2;

/// The lines of a word.
type Turns = Lines<{ 4 * LINE }>;

/// What stands before a word's lines.
#[repr(C)]
struct Label {
    /// Not 0: the word is some group's, whose name stands beside it.
    taken: AtomicU32,
    group: AtomicU32,
}

/// Bytes from one word to the next.
const STRIDE: usize = LINE + Turns::bytes(TURNS);

/// Bytes of all words.
pub(super) const BYTES: usize = WORDS * STRIDE;

const _: () = assert!(size_of::<Label>() <= LINE);

impl Boards {
    fn word(&self, place: usize, at: usize) -> *mut u8 {
        debug_assert!(at < WORDS);
        self.bases[place].wrapping_add(self.places.words + at * STRIDE)
    }

    fn label(&self, place: usize, at: usize) -> &Label {
        // SAFETY: within the board, which is mapped as long as the context lives and holds zeroes
        // or what its owner stores; atomics alone.
        unsafe { &*self.word(place, at).cast() }
    }

    #[inline(always)]
    fn turns(&self, place: usize, at: usize) -> Turns {
        // SAFETY: within the board, as for `label`.
        unsafe { Turns::at(self.word(place, at).wrapping_add(LINE), TURNS) }
    }

    /// Which word of the task at a place is a group's. `None`: it knows the group not yet, or shows
    /// records.
    pub(crate) fn word_of(&self, place: usize, group: i32) -> Option<usize> {
        (0..WORDS)
            .map(|at| (at, self.label(place, at)))
            // SYNC: pairs with the Release store in `claim`: the name comes first.
            .take_while(|(_, label)| label.taken.load(Ordering::Acquire) != 0)
            .find(|(_, label)| label.group.load(Ordering::Relaxed) == group as u32)
            .map(|(at, _)| at)
    }

    /// Whether the task at a place has entered so many barriers, by one of its words. If so, what
    /// it did before comes first.
    #[inline(always)]
    pub(crate) fn has_entered(&self, place: usize, at: usize, barriers: u64) -> bool {
        self.turns(place, at).line(barriers).is_reached(barriers)
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
        let label = self.boards.label(self.boards.me, at);
        label.group.store(group as u32, Ordering::Relaxed);
        // SYNC: pairs with the Acquire load in `word_of`.
        label.taken.store(1, Ordering::Release);
        Some(at)
    }

    /// Says that this task has entered so many barriers of a word's group. Gives the tasks among
    /// `others`, which are bits of places, that have to be asked to look.
    #[inline]
    pub(crate) fn enter(&mut self, at: usize, barriers: u64, others: u64) -> impl Iterator<Item = u32> {
        self.boards.turns(self.boards.me, at).line(barriers).show(barriers, 0);
        self.boards.asleep(others)
    }

    /// All have entered so many barriers; this task is about to enter the next one.
    #[inline]
    pub(crate) fn expect(&mut self, at: usize, barriers: u64) {
        self.boards.turns(self.boards.me, at).prefetch(barriers + 1);
    }
}
