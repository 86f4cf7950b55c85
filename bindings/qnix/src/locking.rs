//! Which pages are locked: counted, and told to the kernel.
//!
//! The kernel may take long: it finds memory for each page. So nobody holds a context's lock
//! meanwhile, and messages go on. Threads that lock or unlock take turns instead, for what one of
//! them has the kernel unlock is only free as long as no other one locks it.

use crate::abi::{POOL_MAX, SEND_MAX};
use crate::error::{Error, Result};
use crate::memory::{Memory, page_size};
use crate::segments::Segment;
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::PoisonError;

struct Page {
    /// How often it is locked.
    locks: u32,
    token: u64,
}

/// By number.
type Pages = BTreeMap<usize, Page>;

/// The pages of this process that are locked.
pub(crate) struct Locked {
    /// Whose turn it is. What an ended process has left is in it: it stays locked until the program
    /// unlocks it, which it may do when it takes part in a job again.
    turn: Mutex<Option<Memory>>,
    /// Changed by whose turn it is, a few pages at a time.
    pages: Mutex<Pages>,
}

/// The right to change what is locked.
pub(crate) struct Turn<'a> {
    left: MutexGuard<'a, Option<Memory>>,
    pages: &'a Mutex<Pages>,
}

/// Who has the tokens, under a lock that is to be held for a moment.
pub(crate) trait HasMemory {
    fn with_memory<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T;
}

/// Pages that are dealt with in one piece, under any lock.
const BATCH: usize = 128;

/// Page numbers of a buffer.
fn numbers(buffer: Segment) -> Result<Range<usize>> {
    let end = buffer.address.checked_add(buffer.len).ok_or(Error::Length)?;
    Ok(buffer.address / page_size()..end.div_ceil(page_size()))
}

/// The same, a batch at a time.
fn batches(numbers: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = numbers.end;
    numbers.step_by(BATCH).map(move |from| from..end.min(from + BATCH))
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Locked {
    pub(crate) const fn new() -> Self {
        Self { turn: Mutex::new(None), pages: Mutex::new(BTreeMap::new()) }
    }

    /// Waits until no other thread changes what is locked.
    pub(crate) fn turn(&self) -> Turn<'_> {
        Turn { left: held(&self.turn), pages: &self.pages }
    }

    /// The tokens of a buffer's pages, and the numbers of its bytes in the first and the last page.
    pub(crate) fn translate(&self, buffer: Segment) -> Result<(Vec<u64>, u64)> {
        //= QNIX API, qx_buffer_translate, at most 2 MB
        if buffer.len == 0 || buffer.len > SEND_MAX {
            return Err(Error::Length);
        }
        let (numbers, offset) = (numbers(buffer)?, buffer.address % page_size());
        let mut tokens: Vec<u64> =
            held(&self.pages).range(numbers.clone()).map(|(_, page)| page.token).collect();
        if tokens.len() != numbers.len() {
            return Err(Error::Lock);
        }
        tokens[0] += offset as u64;
        //= QNIX API, qx_buffer_translate, the last element has the bytes in the first and last page
        let first = buffer.len.min(page_size() - offset);
        let last = if tokens.len() == 1 { first } else { (offset + buffer.len - 1) % page_size() + 1 };
        Ok((tokens, (first as u64) << 32 | last as u64))
    }
}

impl Turn<'_> {
    /// Keeps what an ended process leaves.
    pub(crate) fn keep(&mut self, memory: Memory) {
        *self.left = Some(memory);
    }

    /// Gives what an ended process has left to the next one.
    pub(crate) fn take(&mut self) -> Option<Memory> {
        self.left.take()
    }

    /// Locks the pages of a buffer.
    pub(crate) fn lock(&mut self, process: &impl HasMemory, buffer: Segment) -> Result {
        let numbers = numbers(buffer)?;
        // SAFETY: locking changes nothing in memory; the kernel judges the range.
        if unsafe { libc::mlock(std::ptr::without_provenance(buffer.address), buffer.len) } != 0 {
            // Those before the page that can't be locked are. What follows a gap is not.
            self.unlock_others(numbers, |_| {});
            return Err(Error::Lock);
        }
        for batch in batches(numbers) {
            self.count(process, batch);
        }
        Ok(())
    }

    /// These pages are locked once more.
    fn count(&self, process: &impl HasMemory, batch: Range<usize>) {
        for (_, page) in held(self.pages).range_mut(batch.clone()) {
            page.locks += 1;
        }
        let new: Vec<usize> = {
            let pages = held(self.pages);
            batch.filter(|number| !pages.contains_key(number)).collect()
        };
        if !new.is_empty() {
            let tokens = process.with_memory(|memory| memory.name(&new));
            let named = new.into_iter().zip(tokens);
            held(self.pages).extend(named.map(|(number, token)| (number, Page { locks: 1, token })));
        }
    }

    /// Unlocks the pages of a buffer that nobody else has locked.
    pub(crate) fn unlock(&mut self, process: &impl HasMemory, buffer: Segment) -> Result {
        let numbers = numbers(buffer)?;
        for batch in batches(numbers.clone()) {
            if held(self.pages).range(batch.clone()).count() != batch.len() {
                return Err(Error::Lock);
            }
        }
        for batch in batches(numbers.clone()) {
            let tokens = self.discount(batch);
            process.with_memory(|memory| memory.forget(&tokens));
        }
        // The program may have given pages back in between, behind which the kernel does not look.
        self.unlock_others(numbers, |run| {
            run.for_each(|number| {
                munlock(number..number + 1);
            });
        });
        Ok(())
    }

    /// These pages are locked once less; gives the tokens of those that are locked no longer.
    fn discount(&self, batch: Range<usize>) -> Vec<u64> {
        let mut pages = held(self.pages);
        let mut last = Vec::new();
        for (number, page) in pages.range_mut(batch) {
            page.locks -= 1;
            if page.locks == 0 {
                last.push(*number);
            }
        }
        last.into_iter().filter_map(|number| pages.remove(&number)).map(|page| page.token).collect()
    }

    /// Has the kernel unlock those of these pages, however many, that are not in use, run by run;
    /// `gaps` gets each run in which pages do not exist.
    fn unlock_others(&self, numbers: Range<usize>, gaps: impl Fn(Range<usize>)) {
        let mut from = numbers.start;
        while from < numbers.end {
            let pages = held(self.pages);
            let used: Vec<usize> =
                pages.range(from..numbers.end).take(BATCH).map(|(number, _)| *number).collect();
            drop(pages);
            let end = (used.len() < BATCH).then_some(numbers.end);
            for number in used.into_iter().chain(end) {
                if from < number && !munlock(from..number) {
                    gaps(from..number);
                }
                from = number + 1;
            }
        }
    }

    /// Makes the buffer pool.
    pub(crate) fn make_pool(&mut self, process: &impl HasMemory, pages: usize) -> Result {
        //= QNIX API, qx_buffer_pool, at most 8 MB
        let len = pages.checked_mul(page_size()).filter(|len| *len <= POOL_MAX && *len > 0);
        let len = len.ok_or(Error::Length)?;
        if process.with_memory(|memory| memory.pool()).is_some() {
            return Err(Error::Pool);
        }
        let pool = locked_mapping(len)?;
        process.with_memory(|memory| memory.set_pool(pool));
        Ok(())
    }
}

/// Whether the kernel has unlocked all these pages.
fn munlock(numbers: Range<usize>) -> bool {
    let start = std::ptr::without_provenance(numbers.start * page_size());
    // SAFETY: unlocking changes nothing in memory, be there some or not.
    unsafe { libc::munlock(start, numbers.len() * page_size()) == 0 }
}

/// New memory, which stays.
fn locked_mapping(len: usize) -> Result<Segment> {
    //= QNIX API, qx_buffer_pool, page aligned and locked
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(Error::Memory);
    }
    // SAFETY: the mapping was just made.
    if unsafe { libc::mlock(memory, len) } != 0 {
        // SAFETY: nobody knows of it yet.
        unsafe { libc::munmap(memory, len) };
        return Err(Error::Lock);
    }
    Ok(Segment { address: memory.expose_provenance(), len })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::ptr::null_mut;

    /// What a process has, and no process.
    struct Alone {
        locked: Locked,
        memory: RefCell<Memory>,
    }

    impl HasMemory for Alone {
        fn with_memory<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
            work(&mut self.memory.borrow_mut())
        }
    }

    impl Alone {
        fn new() -> Self {
            Self { locked: Locked::new(), memory: RefCell::new(Memory::new()) }
        }

        fn lock(&self, buffer: Segment) -> Result {
            self.locked.turn().lock(self, buffer)
        }

        fn unlock(&self, buffer: Segment) -> Result {
            self.locked.turn().unlock(self, buffer)
        }

        fn translate(&self, buffer: Segment) -> Result<(Vec<u64>, u64)> {
            self.locked.translate(buffer)
        }

        fn make_pool(&self, pages: usize) -> Result {
            self.locked.turn().make_pool(self, pages)
        }
    }

    fn locked(len: usize) -> (Alone, Vec<u8>, Segment) {
        let memory = Alone::new();
        let bytes = vec![0u8; len];
        let buffer = Segment { address: bytes.as_ptr().expose_provenance(), len };
        memory.lock(buffer).unwrap_or_else(|e| panic!("{e}"));
        (memory, bytes, buffer)
    }

    /// `pages` new ones, without some.
    fn mapping(pages: usize, without: Range<usize>) -> usize {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, of which a part goes again at once.
        unsafe {
            let start = libc::mmap(null_mut(), pages * page_size(), libc::PROT_READ, flags, -1, 0);
            libc::munmap(start.wrapping_byte_add(without.start * page_size()), without.len() * page_size());
            start.expose_provenance()
        }
    }

    //= QNIX API, qx_buffer_translate, the last element has the bytes in the first and last page
    //= type=test
    #[test]
    fn a_table_leads_back_to_the_buffer() {
        let (memory, _bytes, buffer) = locked(20_000);
        let inner = Segment { address: buffer.address + 5, len: 15_000 };
        let (table, ends) = memory.translate(inner).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(memory.memory.borrow_mut().resolve(&table, inner.len).as_deref(), Ok(&[inner][..]));
        assert_eq!(memory.memory.borrow_mut().pages_of(table[0] as usize, inner.len), table.len());
        let (first, last) = ((ends >> 32) as usize, ends as u32 as usize);
        assert_eq!(first + last + (table.len() - 2) * page_size(), inner.len);
    }

    #[test]
    fn forged_shifted_and_stale_addresses_are_refused() {
        let (memory, _bytes, buffer) = locked(3 * page_size());
        let (mut table, _) = memory.translate(buffer).unwrap_or_else(|e| panic!("{e}"));
        let good = table.clone();
        for forged in [0, 4096, u64::MAX, table[1] ^ 1 << 40, buffer.address as u64] {
            table[1] = forged;
            assert_eq!(
                memory.memory.borrow_mut().resolve(&table, buffer.len).err(),
                Some(Error::Address),
                "{forged:x}"
            );
        }
        table[1] = good[1] + 8;
        assert_eq!(memory.memory.borrow_mut().resolve(&table, buffer.len).err(), Some(Error::Address));
        assert_eq!(memory.memory.borrow_mut().resolve(&good[..1], buffer.len).err(), Some(Error::Size));
        // What was looked up just now is not remembered any longer than it is locked.
        assert!(memory.memory.borrow_mut().resolve(&good, buffer.len).is_ok());
        assert_eq!(memory.unlock(buffer), Ok(()));
        for (at, token) in good.iter().enumerate() {
            assert_eq!(memory.memory.borrow_mut().of_token(*token, 1), Err(Error::Address), "page {at}");
        }
        assert_eq!(memory.memory.borrow_mut().resolve(&good, buffer.len).err(), Some(Error::Address));
        assert_eq!(memory.unlock(buffer), Err(Error::Lock));
        assert_eq!(memory.translate(buffer), Err(Error::Lock));
    }

    #[test]
    fn a_page_stays_locked_until_its_last_buffer_is_unlocked() {
        let (memory, _bytes, buffer) = locked(100);
        memory.lock(buffer).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(memory.unlock(buffer), Ok(()));
        assert!(memory.translate(buffer).is_ok());
        assert_eq!(memory.unlock(buffer), Ok(()));
        assert!(memory.translate(buffer).is_err());
    }

    /// Pages of this process that are locked.
    fn locked_here() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmLck:")?.strip_suffix(" kB"));
        kilobytes.unwrap().trim().parse::<usize>().unwrap() * 1024 / page_size()
    }

    #[test]
    fn what_can_not_be_locked_as_a_whole_is_not_locked_in_part() {
        let (memory, before) = (Alone::new(), locked_here());
        let start = mapping(8, 7..8);
        let of = |from, pages| Segment { address: start + from * page_size(), len: pages * page_size() };
        memory.lock(of(2, 1)).unwrap();
        assert_eq!([8, 1 << 40].map(|pages| memory.lock(of(0, pages))), [Err(Error::Lock); 2]);
        assert_eq!(locked_here(), before + 1, "what was locked before stays locked");
        memory.lock(of(0, 7)).and_then(|()| memory.unlock(of(0, 7))).unwrap();
        assert_eq!(locked_here(), before + 1, "two runs of neighbours are unlocked");
    }

    #[test]
    fn pages_behind_one_that_is_gone_are_unlocked() {
        let (memory, before) = (Alone::new(), locked_here());
        let buffer = Segment { address: mapping(5, 5..5), len: 5 * page_size() };
        memory.lock(buffer).unwrap();
        let second = std::ptr::with_exposed_provenance_mut(buffer.address + page_size());
        // SAFETY: a page of the mapping, which nobody uses.
        assert_eq!(unsafe { libc::munmap(second, page_size()) }, 0);
        assert_eq!(locked_here(), before + 4);
        assert_eq!(memory.unlock(buffer), Ok(()));
        assert_eq!(locked_here(), before);
    }

    /// More pages than are dealt with at a time, and others of them in use.
    #[test]
    fn many_pages_are_locked_and_unlocked_in_parts() {
        let (memory, before) = (Alone::new(), locked_here());
        let start = mapping(3 * BATCH, 0..0);
        let of = |from, pages| Segment { address: start + from * page_size(), len: pages * page_size() };
        let kept: Vec<Segment> = (0..3 * BATCH).step_by(2).map(|at| of(at, 1)).collect();
        kept.iter().for_each(|one| memory.lock(*one).unwrap());
        memory.lock(of(0, 3 * BATCH)).unwrap();
        assert_eq!(locked_here(), before + 3 * BATCH);
        assert_eq!(memory.unlock(of(0, 3 * BATCH)), Ok(()));
        assert_eq!(locked_here(), before + kept.len());
        assert_eq!(memory.unlock(of(0, 3 * BATCH)), Err(Error::Lock));
        assert!(kept.iter().all(|one| memory.translate(*one).is_ok() && memory.unlock(*one).is_ok()));
        assert_eq!(locked_here(), before);
    }

    //= QNIX API, qx_buffer_pool, at most 8 MB
    //= type=test
    #[test]
    fn the_pool_has_limits() {
        let memory = Alone::new();
        assert_eq!(memory.memory.borrow_mut().in_pool(0, 1), Err(Error::Pool));
        assert_eq!(memory.make_pool(0), Err(Error::Length));
        assert_eq!(memory.make_pool(POOL_MAX / page_size() + 1), Err(Error::Length));
        memory.make_pool(4).unwrap_or_else(|e| panic!("{e}"));
        let (pool, pages) = memory.memory.borrow_mut().pool().expect("it was made");
        assert_eq!(pages, 4);
        assert_eq!(memory.make_pool(1), Err(Error::Pool));
        assert_eq!(
            memory.memory.borrow_mut().in_pool(3, page_size()).map(|s| s.address),
            Ok(pool + 3 * page_size())
        );
        for (index, len) in [(3, page_size() + 1), (4, 0), (usize::MAX, 1)] {
            assert_eq!(memory.memory.borrow_mut().in_pool(index, len), Err(Error::Pool));
        }
    }
}
