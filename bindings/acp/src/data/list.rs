//! Lists: elements in the memory of any process, linked both ways.
//!
//! The body of a list's control block is its first element, its last one, their number, a number
//! that names the list and, for lists of release 1.0, the size of elements. An element is four
//! words, and its bytes behind them: the list's number, the next element, the one before, and how
//! many bytes. The list itself stands for what is behind the last element and before the first one.
//!
//! An element that was erased, or has gone to another list, has not the list's number any more:
//! that is how iterators are found out.

use super::Element;
use super::control::Held;
use super::mark;
use super::numbered::{ListIt, one_list};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;
use lapis_core::sync::{AtomicU64, Ordering};

pub(super) const WORDS: usize = 5;
const FIRST: usize = 0;
const LAST: usize = 1;
pub(super) const COUNT: usize = 2;
pub(super) const NUMBER: usize = 3;
const ELEMENT_SIZE: usize = 4;

const NEXT: u64 = 8;
const BEFORE: u64 = 16;
const BYTES: u64 = 32;

/// What precedes an element's bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) next: u64,
    pub(super) before: u64,
    pub(super) size: u64,
}

/// Where a new element's bytes come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Global(Element),
    /// Memory of this process: as many bytes as the list's elements have.
    Here(*const u8),
}

pub(super) type HeldList<'a> = Held<'a, WORDS>;

/// A number that no other structure has, and no old one had.
pub(crate) fn fresh_number(process: &Process) -> u64 {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let count = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    super::control::sum(u64::from(process.context.task()), &[now.as_nanos() as u64, count]) | 1
}

impl Process {
    pub(super) fn element(&self, number: u64, at: u64) -> Result<Header> {
        let none = || Err(Error::Iterator).at("the iterator's element", at);
        if at == 0 || !at.is_multiple_of(16) {
            return none();
        }
        let mut words = [0; 4];
        self.read_words(at, &mut words).at("the iterator's element", at)?;
        let [owner, next, before, size] = words;
        if owner == number { Ok(Header { next, before, size }) } else { none() }
    }

    fn list(&self, at: u64) -> Result<[u64; WORDS]> {
        self.load(at, mark::LIST)
    }

    pub(super) fn hold_list(&self, at: u64) -> Result<HeldList<'_>> {
        self.hold(at, mark::LIST)
    }

    pub(super) fn hold_lists(&self, both: [u64; 2]) -> Result<[HeldList<'_>; 2]> {
        self.hold_both(both, mark::LIST)
    }

    /// Makes an empty list.
    pub(crate) fn create_list(&self, element_size: u64, rank: u32) -> Result<u64> {
        self.world().block(rank)?;
        let at = self.create_block(mark::LIST, &[0, 0, 0, fresh_number(self), element_size], rank)?;
        // An empty list's ends are itself.
        let mut held = self.hold_list(at)?;
        held.body[FIRST] = at;
        held.body[LAST] = at;
        held.keep()?;
        Ok(at)
    }

    /// Frees a list and its elements.
    pub(crate) fn destroy_list(&self, at: u64) -> Result {
        let mut held = self.hold_list(at)?;
        self.drop_elements(&mut held)?;
        held.destroy()
    }

    /// Frees a list's elements.
    pub(crate) fn clear_list(&self, at: u64) -> Result {
        let mut held = self.hold_list(at)?;
        self.drop_elements(&mut held)
    }

    fn drop_elements(&self, held: &mut HeldList<'_>) -> Result {
        self.erase_chain(held, held.body[FIRST], held.at)
    }

    /// How many elements there are.
    pub(crate) fn count_list(&self, at: u64) -> Result<u64> {
        self.list(at).map(|body| body[COUNT])
    }

    /// The size of a list's elements, for lists of release 1.0.
    pub(crate) fn element_size(&self, at: u64) -> Result<u64> {
        self.list(at).map(|body| body[ELEMENT_SIZE])
    }

    /// The first element, or what is behind the last one.
    pub(crate) fn end_of_list(&self, at: u64, last: bool) -> Result<ListIt> {
        let body = self.list(at)?;
        Ok(ListIt { list: at, elem: if last { at } else { body[FIRST] } })
    }

    /// Where an iterator's element is, and its bytes.
    pub(crate) fn dereference_list(&self, it: ListIt) -> Result<Element> {
        let header = self.element(self.list(it.list)?[NUMBER], it.elem)?;
        Ok(Element { ga: it.elem + BYTES, size: header.size as usize })
    }

    /// Goes on by so many elements, or back. Gives the place, and how many steps there were before
    /// an end.
    pub(crate) fn advance_list(&self, it: ListIt, steps: i64) -> Result<(ListIt, u64)> {
        let body = self.list(it.list)?;
        let mut elem = it.elem;
        if elem != it.list {
            self.element(body[NUMBER], elem)?;
        }
        let mut done = 0;
        while done < steps.unsigned_abs() {
            let next = match (steps < 0, elem == it.list) {
                (false, true) => break,
                (true, true) => body[LAST],
                (back, false) => {
                    let header = self.element(body[NUMBER], elem)?;
                    if back { header.before } else { header.next }
                }
            };
            if steps < 0 && next == it.list {
                break;
            }
            elem = next;
            done += 1;
        }
        Ok((ListIt { list: it.list, elem }, done))
    }

    /// The next element, or the one before. There must be one, or the end.
    pub(crate) fn step_list(&self, it: ListIt, steps: i64) -> Result<ListIt> {
        let (there, done) = self.advance_list(it, steps)?;
        if done == steps.unsigned_abs() {
            return Ok(there);
        }
        Err(Error::Iterator).at("the iterator's element", it.elem)
    }

    /// How many elements are between two iterators.
    pub(crate) fn distance_list(&self, first: ListIt, last: ListIt) -> Result<i32> {
        one_list(first, last)?;
        let number = self.list(first.list)?[NUMBER];
        let (mut at, mut count) = (first.elem, 0_i32);
        while at != last.elem {
            at = self.element(number, at)?.next;
            count = count.checked_add(1).ok_or(Error::Size)?;
        }
        Ok(count)
    }

    /// Makes an element of no list yet.
    fn make_element(&self, from: From, size: u64, rank: u32) -> Result<u64> {
        let room = size.checked_add(BYTES).ok_or(Error::Size);
        let at = room.and_then(|room| self.allocate(room, rank)).size_of("the element's size", size)?;
        let filled = match from {
            From::Global(element) => {
                self.transfer(at + BYTES, element.ga, size).at("the element's address", element.ga)
            }
            // SAFETY: the program says that so many bytes are there.
            From::Here(bytes) => unsafe { self.write_raw(at + BYTES, bytes, size as usize) },
        };
        filled.and_then(|()| self.write_words(at, &[0, 0, 0, size])).inspect_err(|_| {
            let _ = self.free(at);
        })?;
        Ok(at)
    }

    /// Links a chain, whose elements name the list already, before an element or the end.
    pub(super) fn link(
        &self,
        held: &mut HeldList<'_>,
        next: u64,
        (first, last, count): (u64, u64, u64),
    ) -> Result {
        let list = held.at;
        let before =
            if next == list { held.body[LAST] } else { self.element(held.body[NUMBER], next)?.before };
        self.write_words(first + BEFORE, &[before])?;
        self.write_words(last + NEXT, &[next])?;
        if before == list {
            held.body[FIRST] = first;
        } else {
            self.write_words(before + NEXT, &[first])?;
        }
        if next == list {
            held.body[LAST] = last;
        } else {
            self.write_words(next + BEFORE, &[last])?;
        }
        held.body[COUNT] += count;
        held.keep()
    }

    /// Takes a chain out: from its first element to its last one.
    pub(super) fn unlink(&self, held: &mut HeldList<'_>, (before, next): (u64, u64), count: u64) -> Result {
        if before == held.at {
            held.body[FIRST] = next;
        } else {
            self.write_words(before + NEXT, &[next])?;
        }
        if next == held.at {
            held.body[LAST] = before;
        } else {
            self.write_words(next + BEFORE, &[before])?;
        }
        held.body[COUNT] -= count;
        held.keep()
    }

    /// Gives an element a list, and its neighbours.
    pub(super) fn adopt(&self, at: u64, number: u64, next: u64, before: u64) -> Result {
        self.write_words(at, &[number, next, before])
    }

    /// Inserts a new element; `place` says before which, of the list that is held then.
    fn insert_at(
        &self,
        list: u64,
        (from, size): (From, u64),
        rank: u32,
        place: impl FnOnce(&HeldList<'_>) -> u64,
    ) -> Result<ListIt> {
        self.list(list)?;
        self.world().block(rank)?;
        let fresh = self.make_element(from, size, rank)?;
        let linked = self.hold_list(list).and_then(|mut held| {
            let next = place(&held);
            if next != list {
                self.element(held.body[NUMBER], next)?;
            }
            self.adopt(fresh, held.body[NUMBER], 0, 0)?;
            self.link(&mut held, next, (fresh, fresh, 1))
        });
        linked.inspect_err(|_| self.drop_unlinked(fresh))?;
        Ok(ListIt { list, elem: fresh })
    }

    /// Inserts an element before an iterator's.
    pub(crate) fn insert_list(&self, it: ListIt, from: (From, u64), rank: u32) -> Result<ListIt> {
        self.insert_at(it.list, from, rank, |_| it.elem)
    }

    /// Inserts an element at an end.
    pub(crate) fn push_list(&self, list: u64, from: (From, u64), rank: u32, front: bool) -> Result<ListIt> {
        self.insert_at(list, from, rank, |held| if front { held.body[FIRST] } else { list })
    }

    /// Takes an element away from an end, if there is one.
    pub(crate) fn pop_list(&self, list: u64, front: bool) -> Result {
        let mut held = self.hold_list(list)?;
        let elem = held.body[if front { FIRST } else { LAST }];
        if elem == list {
            return Ok(());
        }
        let next = self.element(held.body[NUMBER], elem)?.next;
        self.erase_chain(&mut held, elem, next)
    }

    /// Frees an element; gives what follows.
    pub(crate) fn erase_list(&self, it: ListIt) -> Result<ListIt> {
        let mut held = self.hold_list(it.list)?;
        let next = self.element(held.body[NUMBER], it.elem)?.next;
        self.erase_chain(&mut held, it.elem, next)?;
        Ok(ListIt { list: it.list, elem: next })
    }

    /// Frees the elements from one iterator to before the other one.
    pub(crate) fn erase_range_list(&self, start: ListIt, end: ListIt) -> Result<ListIt> {
        one_list(start, end)?;
        let mut held = self.hold_list(start.list)?;
        self.erase_chain(&mut held, start.elem, end.elem)?;
        Ok(end)
    }

    /// Frees elements from one to before another one, which must come.
    pub(super) fn erase_chain(&self, held: &mut HeldList<'_>, first: u64, end: u64) -> Result {
        if first == end {
            return Ok(());
        }
        let (chain, before) = self.chain(held, first, end)?;
        self.unlink(held, (before, end), chain.len() as u64)?;
        for (elem, _) in chain {
            self.write_words(elem, &[0])?;
            self.free(elem)?;
        }
        Ok(())
    }

    /// The elements, with their sizes, from one to before another one, and what is before them.
    pub(super) fn chain(&self, held: &HeldList<'_>, first: u64, end: u64) -> Result<(Vec<(u64, u64)>, u64)> {
        let (mut chain, mut at, mut before) = (Vec::new(), first, held.body[LAST]);
        while at != end {
            let header = self.element(held.body[NUMBER], at)?;
            if chain.is_empty() {
                before = header.before;
            }
            chain.push((at, header.size));
            at = header.next;
        }
        Ok((chain, before))
    }

    /// All elements with their sizes.
    pub(super) fn elements(&self, held: &HeldList<'_>) -> Result<Vec<(u64, u64)>> {
        self.chain(held, held.body[FIRST], held.at).map(|(chain, _)| chain)
    }

    /// Makes these elements, in this order, all that the list has.
    pub(super) fn relink(&self, held: &mut HeldList<'_>, elements: &[u64]) -> Result {
        let (list, number) = (held.at, held.body[NUMBER]);
        for (at, elem) in elements.iter().enumerate() {
            let next = elements.get(at + 1).copied().unwrap_or(list);
            let before = at.checked_sub(1).and_then(|at| elements.get(at)).copied().unwrap_or(list);
            self.adopt(*elem, number, next, before)?;
        }
        held.body[FIRST] = elements.first().copied().unwrap_or(list);
        held.body[LAST] = elements.last().copied().unwrap_or(list);
        held.body[COUNT] = elements.len() as u64;
        held.keep()
    }

    /// Where an element's bytes are.
    pub(super) fn bytes_of(&self, (elem, size): (u64, u64)) -> Element {
        Element { ga: elem + BYTES, size: size as usize }
    }

    /// Copies elements to before an element of a list, each to the process that has the original.
    /// If one can't be copied, none stays.
    pub(super) fn copy_chain(&self, held: &mut HeldList<'_>, next: u64, chain: &[(u64, u64)]) -> Result<u64> {
        if next != held.at {
            // Before anything is copied, which might take the place of an element that was freed.
            self.element(held.body[NUMBER], next)?;
        }
        let mut first = next;
        for element in chain {
            match self.copy_element(held, next, *element) {
                Ok(fresh) => first = if first == next { fresh } else { first },
                Err(error) => {
                    self.erase_chain(held, first, next)?;
                    return Err(error);
                }
            }
        }
        Ok(first)
    }

    fn copy_element(&self, held: &mut HeldList<'_>, next: u64, (elem, size): (u64, u64)) -> Result<u64> {
        let from = From::Global(self.bytes_of((elem, size)));
        let fresh = self.make_element(from, size, self.world().rank_of(elem)?)?;
        let linked = self
            .adopt(fresh, held.body[NUMBER], 0, 0)
            .and_then(|()| self.link(held, next, (fresh, fresh, 1)));
        linked.inspect_err(|_| self.drop_unlinked(fresh))?;
        Ok(fresh)
    }

    /// Gives back an element that no list has.
    fn drop_unlinked(&self, fresh: u64) {
        let _ = self.write_words(fresh, &[0]);
        let _ = self.free(fresh);
    }
}
