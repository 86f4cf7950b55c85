//! The iterators of release 1.0's lists: numbers of this process.
//!
//! The number of a place stays the same as long as the place lasts, so that programs may compare
//! iterators. It goes with the element, or with the list, when this process frees it.

use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// An iterator: a list and an element, or the list again for the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ListIt {
    /// The list.
    pub list: u64,
    /// The element; 0 in an iterator that a failed call gave.
    pub elem: u64,
}

/// Fails unless two iterators are of one list.
pub(crate) fn one_list(one: ListIt, other: ListIt) -> Result {
    if one.list == other.list {
        return Ok(());
    }
    Err(Error::Iterator).at("the second iterator's list", other.list)
}

/// Places by number, and numbers by place.
#[derive(Default)]
pub(crate) struct Iterators {
    last: i32,
    places: HashMap<i32, ListIt>,
    /// By list, then by element.
    numbers: BTreeMap<(u64, u64), i32>,
}

impl Iterators {
    /// The number of a place.
    pub(crate) fn number(&mut self, place: ListIt) -> Result<i32> {
        if let Some(number) = self.numbers.get(&(place.list, place.elem)) {
            return Ok(*number);
        }
        if self.places.len() >= i32::MAX as usize {
            return Err(Error::Memory);
        }
        loop {
            self.last = if self.last == i32::MAX { 1 } else { self.last + 1 };
            if !self.places.contains_key(&self.last) {
                break;
            }
        }
        self.places.insert(self.last, place);
        self.numbers.insert((place.list, place.elem), self.last);
        Ok(self.last)
    }

    /// The place that a number stands for.
    pub(crate) fn place(&self, number: i32) -> Result<ListIt> {
        self.places.get(&number).copied().ok_or(Error::Iterator).of("it", number)
    }

    /// An element is no more.
    pub(crate) fn forget(&mut self, place: ListIt) {
        if let Some(number) = self.numbers.remove(&(place.list, place.elem)) {
            self.places.remove(&number);
        }
    }

    /// A list is no more.
    pub(crate) fn forget_list(&mut self, list: u64) {
        let lost: Vec<_> =
            self.numbers.range((list, 0)..=(list, u64::MAX)).map(|(&key, &at)| (key, at)).collect();
        for (key, number) in lost {
            self.numbers.remove(&key);
            self.places.remove(&number);
        }
    }

    /// Nothing is any more.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.numbers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_number_until_it_is_forgotten() {
        let mut iterators = Iterators::default();
        let place = |list, elem| ListIt { list, elem };
        let one = iterators.number(place(16, 32)).unwrap();
        let end = iterators.number(place(16, 16)).unwrap();
        let other = iterators.number(place(48, 32)).unwrap();
        assert!(one > 0 && one != end && end != other);
        assert_eq!(iterators.number(place(16, 32)), Ok(one));
        assert_eq!(iterators.place(end), Ok(place(16, 16)));
        iterators.forget(place(16, 32));
        assert_eq!(iterators.place(one), Err(Error::Iterator));
        iterators.forget_list(16);
        assert_eq!(iterators.place(end), Err(Error::Iterator));
        assert_eq!(iterators.place(other), Ok(place(48, 32)));
        assert_eq!(iterators.place(0), Err(Error::Iterator));
        iterators.clear();
        assert_eq!(iterators.place(other), Err(Error::Iterator));
    }
}
