//! Short values of an exchange, side by side behind the first task's flags.
//!
//! Each task stores its value there, all enter a barrier, and each reads the values of all:
//!
//! ```text
//! | row of even exchanges | row of odd ones |       a row: for each task | stamp | value |
//! ```
//!
//! The stamp is the exchange's number. A task that has not mapped this memory can't store a value:
//! after the barrier all tasks see that its stamp is missing, and use messages instead.
//!
//! A task that enters an exchange has ended the previous one, and no task ends an exchange before
//! all have entered it. So all have ended the exchange that last used the same row.

use super::{Area, Flags, Line, place_in};
use crate::sync::Ordering;
use crate::sync::placed::AtomicU64;
use crate::transport::PeerId;

/// In whose area the rows are.
pub(crate) const AT: PeerId = 0;

/// In jobs of more tasks there are no rows: few tasks of such a job share a machine.
const MOST_TASKS: u32 = 1024;

const WORD: usize = size_of::<AtomicU64>();

/// Words of a stamp and the longest value.
const SLOT: usize = 8;

/// Bytes of the longest value.
const LONGEST: usize = (SLOT - 1) * WORD;

/// Bytes of an area that is so long without rows.
pub(super) fn end(flags: usize, tasks: u32) -> usize {
    if tasks > MOST_TASKS { flags } else { begin(flags) + 2 * SLOT * WORD * tasks as usize }
}

/// Where rows begin in an area that is so long without them.
fn begin(flags: usize) -> usize {
    flags.next_multiple_of(size_of::<Line>())
}

/// Whether the tasks with these cards have rows, of which all are told the same: not whether they
/// are mapped.
pub(crate) fn have_rows(cards: &[Vec<u8>], hosts: &[u32]) -> bool {
    let of_one_host = hosts.iter().all(|host| *host == hosts[0]);
    of_one_host && (2..=MOST_TASKS as usize).contains(&cards.len()) && place_in(&cards[AT as usize]) != 0
}

impl Flags {
    /// Whether a value of so many bytes has room in a row.
    pub(crate) fn fit_in_row(len: usize) -> bool {
        len <= LONGEST
    }

    /// The words of a task in the row of an exchange of values of `len` bytes, if the row is mapped
    /// here: its stamp and its value.
    fn slot(&self, exchange: u64, task: usize, len: usize) -> Option<&[AtomicU64]> {
        let tasks = self.peers.len() as u32;
        let Area(first) = if self.me == AT { self.own } else { self.area(AT) }?;
        debug_assert!(tasks <= MOST_TASKS && task < tasks as usize && len <= LONGEST);
        let words = 1 + len.div_ceil(WORD);
        let row = (exchange % 2) as usize * tasks as usize * SLOT;
        let at = begin(Area::len(AT + 1, tasks)) + (row + task * words) * WORD;
        // SAFETY: behind the first task's flags are two rows of `SLOT` words for each task; they
        // hold zeroes or what was stored as atomics, and live as long as the flags.
        Some(unsafe { std::slice::from_raw_parts(first.byte_add(at).cast().as_ptr(), words) })
    }

    /// Puts this task's value where all read it after a barrier, if that memory is mapped here.
    pub(crate) fn put_in_row(&self, exchange: u64, value: &[u8]) {
        let Some(slot) = self.slot(exchange, self.me as usize, value.len()) else { return };
        for (word, bytes) in slot[1..].iter().zip(value.chunks(WORD)) {
            let mut whole = [0; WORD];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        slot[0].store(exchange, Ordering::Relaxed);
    }

    /// What all have put, by task, after a barrier; `None`, and at all tasks, if one has put
    /// nothing.
    pub(crate) fn row(&self, exchange: u64, len: usize) -> Option<Vec<u8>> {
        let mut all = vec![0; self.peers.len() * len];
        for task in 0..self.peers.len() {
            let slot = self.slot(exchange, task, len)?;
            if slot[0].load(Ordering::Relaxed) != exchange {
                return None;
            }
            for (word, into) in slot[1..].iter().zip(all[task * len..][..len].chunks_mut(WORD)) {
                into.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..into.len()]);
            }
        }
        Some(all)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::context::card::put_field;
    use crate::transport::Window;

    /// Tasks of one process, the areas of which are mapped to each other; `lost` maps nothing.
    struct Job {
        flags: Vec<Flags>,
        _areas: Vec<Box<[[u64; 8]]>>,
    }

    impl Job {
        fn of(tasks: u32, lost: Option<u32>) -> Self {
            let area = |task| vec![[0u64; 8]; 1 + Area::len(task, tasks) / 64].into_boxed_slice();
            let mut areas: Vec<Box<[[u64; 8]]>> = (0..tasks).map(area).collect();
            // Boxes begin where lines may: by chance or not, as the heap has it.
            let places: Vec<*mut u8> = areas
                .iter_mut()
                .map(|area| area.as_mut_ptr().cast::<u8>())
                .map(|at| at.wrapping_add(at.align_offset(64)))
                .collect();
            let cards: Vec<Vec<u8>> = places.iter().map(|at| card(at.expose_provenance() as u64)).collect();
            let window = |task: usize| Window {
                remote_base: places[task].addr() as u64,
                len: Area::len(task as u32, tasks) as u64,
                local_base: places[task],
            };
            let of = |me: u32| {
                let mapped = |task: u32| (task != me && lost != Some(me)).then(|| window(task as usize));
                let windows: Vec<_> = (0..tasks).map(mapped).collect();
                Flags::new(me, places[me as usize].addr() as u64, &cards, &windows)
            };
            assert!(have_rows(&cards, &vec![0; tasks as usize]));
            Self { flags: (0..tasks).map(of).collect(), _areas: areas }
        }

        fn exchange(&self, number: u64, len: usize) -> Vec<Option<Vec<u8>>> {
            for (task, flags) in (0..).zip(&self.flags) {
                flags.put_in_row(number, &value(number, task, len));
            }
            self.flags.iter().map(|flags| flags.row(number, len)).collect()
        }
    }

    fn card(at: u64) -> Vec<u8> {
        let mut card = Vec::new();
        put_field(&mut card, b"flags");
        put_field(&mut card, &at.to_le_bytes());
        card
    }

    fn value(number: u64, task: u8, len: usize) -> Vec<u8> {
        (0..len).map(|i| (number as u8) ^ task.wrapping_mul(37) ^ (i as u8).wrapping_mul(11)).collect()
    }

    #[test]
    fn everybody_reads_what_all_have_put_whatever_the_lengths() {
        let job = Job::of(5, None);
        for (number, len) in (1..).zip([8, 0, 1, 20, LONGEST, 7, 8]) {
            let expected: Vec<u8> = (0..5).flat_map(|task| value(number, task, len)).collect();
            for (task, got) in job.exchange(number, len).into_iter().enumerate() {
                assert_eq!(got.as_ref(), Some(&expected), "task {task}, exchange {number} of {len} bytes");
            }
        }
        assert!(Flags::fit_in_row(LONGEST) && !Flags::fit_in_row(LONGEST + 1));
    }

    #[test]
    fn where_one_task_can_put_nothing_all_find_that() {
        let job = Job::of(3, Some(2));
        for number in 1..4 {
            assert_eq!(job.exchange(number, 8), [None, None, None]);
        }
    }

    #[test]
    fn tasks_of_several_hosts_and_those_without_the_first_ones_memory_have_no_rows() {
        let cards = |first: u64| vec![card(first), card(64), card(64)];
        assert!(have_rows(&cards(64), &[0, 0, 0]));
        assert!(!have_rows(&cards(64), &[0, 0, 2]));
        assert!(!have_rows(&cards(0), &[0, 0, 0]));
        assert!(!have_rows(&[card(64)], &[0]));
    }
}
