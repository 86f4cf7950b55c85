//! What concerns many elements of lists: order, assignment, and moves between lists.

use super::Element;
use super::list::{COUNT, HeldList, NUMBER};
use super::numbered::{ListIt, one_list};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;
use std::ffi::c_int;

/// A program's function: negative, 0 or positive, as the first element is less than, equal to or
/// more than the second one.
pub(crate) type Comparison = extern "C" fn(Element, Element) -> c_int;

/// Merges two orders; of equal elements those of the first one come first.
fn merge<T: Copy>(one: &[T], other: &[T], after: &mut impl FnMut(T, T) -> bool) -> Vec<T> {
    let mut merged = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().copied().peekable(), other.iter().copied().peekable());
    while let (Some(&first), Some(&second)) = (one.peek(), other.peek()) {
        let from = if after(first, second) { &mut other } else { &mut one };
        merged.extend(from.next());
    }
    merged.extend(one.chain(other));
    merged
}

/// Sorts. A comparison that contradicts itself gives some order, and harms nothing.
fn sort<T: Copy>(all: &[T], after: &mut impl FnMut(T, T) -> bool) -> Vec<T> {
    if all.len() < 2 {
        return all.to_vec();
    }
    let (one, other) = all.split_at(all.len() / 2);
    let (one, other) = (sort(one, after), sort(other, after));
    merge(&one, &other, after)
}

impl Process {
    /// Puts elements in order; equal ones keep theirs.
    pub(crate) fn sort_list(&self, list: u64, compare: Comparison) -> Result {
        let mut held = self.hold_list(list)?;
        let elements = self.elements(&held)?;
        let sorted = sort(&elements, &mut self.after(compare));
        let order: Vec<u64> = sorted.iter().map(|element| element.0).collect();
        self.relink(&mut held, &order)
    }

    fn after(&self, compare: Comparison) -> impl FnMut((u64, u64), (u64, u64)) -> bool {
        move |one, other| compare(self.bytes_of(one), self.bytes_of(other)) > 0
    }

    /// Moves all elements of a sorted list into another one.
    pub(crate) fn merge_lists(&self, list: u64, from: u64, compare: Comparison) -> Result {
        if list == from {
            return self.count_list(list).map(drop);
        }
        let [mut to, mut from] = self.hold_lists([list, from])?;
        let (one, other) = (self.elements(&to)?, self.elements(&from)?);
        let order: Vec<u64> =
            merge(&one, &other, &mut self.after(compare)).iter().map(|element| element.0).collect();
        self.relink(&mut from, &[])?;
        self.relink(&mut to, &order)
    }

    /// Turns a list's order round.
    pub(crate) fn reverse_list(&self, list: u64) -> Result {
        let mut held = self.hold_list(list)?;
        let order: Vec<u64> = self.elements(&held)?.iter().rev().map(|element| element.0).collect();
        self.relink(&mut held, &order)
    }

    /// Frees every element that equals a piece of memory.
    pub(crate) fn remove_list(&self, list: u64, like: Element) -> Result {
        let wanted = self.read_bytes(like.ga, like.size as u64).at("the element's address", like.ga)?;
        let mut held = self.hold_list(list)?;
        for element in self.elements(&held)? {
            if element.1 == wanted.len() as u64 && self.bytes_at(element)? == wanted {
                self.erase_one(&mut held, element.0)?;
            }
        }
        Ok(())
    }

    fn bytes_at(&self, element: (u64, u64)) -> Result<Vec<u8>> {
        self.read_bytes(self.bytes_of(element).ga, element.1)
    }

    fn erase_one(&self, held: &mut HeldList<'_>, elem: u64) -> Result {
        let next = self.element(held.body[NUMBER], elem)?.next;
        self.erase_chain(held, elem, next)
    }

    /// Frees every element that equals the one before it.
    pub(crate) fn unique_list(&self, list: u64) -> Result {
        let mut held = self.hold_list(list)?;
        let mut kept = None;
        for element in self.elements(&held)? {
            let bytes = self.bytes_at(element)?;
            if kept.as_ref() == Some(&bytes) {
                self.erase_one(&mut held, element.0)?;
            } else {
                kept = Some(bytes);
            }
        }
        Ok(())
    }

    /// Exchanges what two lists have; nothing is copied. Iterators don't follow.
    pub(crate) fn swap_lists(&self, one: u64, other: u64) -> Result {
        if one == other {
            return self.count_list(one).map(drop);
        }
        let [mut one, mut other] = self.hold_lists([one, other])?;
        let elements = |held: &HeldList<'_>| {
            self.elements(held).map(|all| all.iter().map(|element| element.0).collect::<Vec<u64>>())
        };
        let (of_one, of_other) = (elements(&one)?, elements(&other)?);
        self.relink(&mut one, &of_other)?;
        self.relink(&mut other, &of_one)
    }

    /// Moves elements, from one to before another, to before an element of a list.
    pub(crate) fn splice_lists(&self, to: ListIt, start: ListIt, end: ListIt) -> Result {
        one_list(start, end)?;
        self.splice(to, start, |_| Ok(end.elem))
    }

    /// The same; which element is the end is found out while nobody else changes the list.
    fn splice(&self, to: ListIt, start: ListIt, end: impl Fn(&HeldList<'_>) -> Result<u64>) -> Result {
        if to.list == start.list {
            let held = self.hold_list(to.list)?;
            let end = end(&held)?;
            return self.splice_within(held, to, (start.elem, end));
        }
        let [mut held, mut from] = self.hold_lists([to.list, start.list])?;
        if to.elem != to.list {
            self.element(held.body[NUMBER], to.elem)?;
        }
        let end = end(&from)?;
        let (chain, before) = self.chain(&from, start.elem, end)?;
        if chain.is_empty() {
            return Ok(());
        }
        self.unlink(&mut from, (before, end), chain.len() as u64)?;
        self.link_chain(&mut held, to.elem, &chain)
    }

    fn splice_within(&self, mut held: HeldList<'_>, to: ListIt, (start, end): (u64, u64)) -> Result {
        if to.elem != to.list {
            self.element(held.body[NUMBER], to.elem)?;
        }
        let (chain, before) = self.chain(&held, start, end)?;
        if to.elem == end || chain.first().is_none_or(|first| first.0 == to.elem) {
            return Ok(());
        }
        if chain.iter().any(|element| element.0 == to.elem) {
            return Err(Error::Iterator);
        }
        self.unlink(&mut held, (before, end), chain.len() as u64)?;
        self.link_chain(&mut held, to.elem, &chain)
    }

    fn link_chain(&self, held: &mut HeldList<'_>, next: u64, chain: &[(u64, u64)]) -> Result {
        let at = |at: usize| chain.get(at).map_or(0, |element| element.0);
        for place in 0..chain.len() {
            // The ends' outer neighbours are written when the chain is linked.
            let before = if place == 0 { 0 } else { at(place - 1) };
            self.adopt(at(place), held.body[NUMBER], at(place + 1), before)?;
        }
        self.link(held, next, (at(0), at(chain.len() - 1), chain.len() as u64))
    }

    /// Moves one element to before another one.
    pub(crate) fn splice_list(&self, to: ListIt, from: ListIt) -> Result {
        self.splice(to, from, |held| Ok(self.element(held.body[NUMBER], from.elem)?.next))
    }

    /// Copies a part of a list to before an element; gives the first copy, or that element.
    pub(crate) fn insert_range_list(&self, it: ListIt, start: ListIt, end: ListIt) -> Result<ListIt> {
        one_list(start, end)?;
        let elem = if it.list == start.list {
            let mut held = self.hold_list(it.list)?;
            let (chain, _) = self.chain(&held, start.elem, end.elem)?;
            self.copy_chain(&mut held, it.elem, &chain)?
        } else {
            let [mut held, from] = self.hold_lists([it.list, start.list])?;
            let (chain, _) = self.chain(&from, start.elem, end.elem)?;
            self.copy_chain(&mut held, it.elem, &chain)?
        };
        Ok(ListIt { list: it.list, elem })
    }

    /// Makes a list equal to a part of another one, or of itself; without a range, to all of it.
    pub(crate) fn assign_list(&self, list: u64, from: u64, range: Option<(u64, u64)>) -> Result {
        if list == from {
            let mut held = self.hold_list(list)?;
            let Some((start, end)) = range else { return Ok(()) };
            // Nothing is erased before the range is known to be one.
            self.chain(&held, start, end)?;
            if end != list {
                self.erase_chain(&mut held, end, list)?;
            }
            let first = self.elements(&held)?.first().map_or(list, |element| element.0);
            let start = if held.body[COUNT] == 0 || start == end { list } else { start };
            return self.erase_chain(&mut held, first, start);
        }
        let [mut to, source] = self.hold_lists([list, from])?;
        let chain = match range {
            None => self.elements(&source)?,
            Some((start, end)) => self.chain(&source, start, end)?.0,
        };
        let old = self.elements(&to)?;
        let end = to.at;
        self.copy_chain(&mut to, end, &chain)?;
        let (Some(&(first, _)), count) = (old.first(), old.len()) else { return Ok(()) };
        // What was there lies before what came.
        let all = self.elements(&to)?;
        self.erase_chain(&mut to, first, all.get(count).map_or(list, |element| element.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_keeps_equals_in_their_order_and_survives_nonsense() {
        let all: Vec<(u32, usize)> = (0..200).map(|at| ((at * 7919 % 13) as u32, at)).collect();
        let sorted = sort(&all, &mut |one, other| one.0 > other.0);
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
        let mut flip = false;
        let mut odd = sort(&all, &mut |_, _| {
            flip = !flip;
            flip
        });
        odd.sort_by_key(|one| one.1);
        assert_eq!(odd, all);
    }
}
