//! Numbers for what programs hold: teams, requests, operators.
//!
//! A number is `generation × 65536 + place`, never 0 and never all ones, so that the number of
//! something that is gone is told from that of what has its place now.

use crate::sync::lock;
use lapis_core::sync::blocking::Mutex;
use lapis_core::sync::{AtomicPtr, AtomicU32, Ordering};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Places in a segment, and segments.
const SEGMENT: usize = 256;

/// Generations are 1 to this many.
const GENERATIONS: u32 = 0xfffe;

fn place_of(number: u32) -> usize {
    (number & 0xffff) as usize
}

/// The number of a place's next occupant.
fn next(place: usize, before: u32) -> u32 {
    ((before >> 16) % GENERATIONS + 1) << 16 | place as u32
}

struct Slot<T> {
    /// The live number, or the last one.
    number: AtomicU32,
    value: AtomicPtr<T>,
}

/// Places that are free, and how many were ever used.
#[derive(Default)]
struct Free {
    places: Vec<usize>,
    used: usize,
}

/// Values that are found without a lock.
pub(crate) struct Table<T> {
    segments: [OnceLock<Box<[Slot<T>]>>; SEGMENT],
    free: Mutex<Free>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENT], free: Mutex::default() }
    }
}

impl<T> Table<T> {
    fn slot(&self, place: usize) -> Option<&Slot<T>> {
        self.segments[place / SEGMENT].get().map(|segment| &segment[place % SEGMENT])
    }

    /// Takes a value in; `None` if all places are taken.
    pub(crate) fn insert(&self, value: T) -> Option<u32> {
        let mut free = lock(&self.free);
        let place = match free.places.pop() {
            Some(place) => place,
            None if free.used < SEGMENT * SEGMENT => {
                free.used += 1;
                free.used - 1
            }
            None => return None,
        };
        let empty = || Slot { number: AtomicU32::new(0), value: AtomicPtr::new(null_mut()) };
        let segment = self.segments[place / SEGMENT].get_or_init(|| (0..SEGMENT).map(|_| empty()).collect());
        let slot = &segment[place % SEGMENT];
        let number = next(place, slot.number.load(Ordering::Relaxed));
        slot.value.store(Box::into_raw(Box::new(value)), Ordering::Relaxed);
        // SYNC: Release pairs with `get`: whoever sees the number sees the value.
        slot.number.store(number, Ordering::Release);
        Some(number)
    }

    /// The value with this number.
    ///
    /// # Safety
    /// No other thread removes it meanwhile.
    #[inline]
    pub(crate) unsafe fn get(&self, number: u32) -> Option<&T> {
        let slot = self.slot(place_of(number))?;
        // SYNC: Acquire pairs with `insert`.
        if slot.number.load(Ordering::Acquire) != number {
            return None;
        }
        // SAFETY: null, or a value that is freed by `remove` alone.
        unsafe { slot.value.load(Ordering::Relaxed).as_ref() }
    }

    /// Takes a value out.
    ///
    /// # Safety
    /// Nobody uses a reference to it any more.
    pub(crate) unsafe fn remove(&self, number: u32) -> Option<Box<T>> {
        let mut free = lock(&self.free);
        let slot = self.slot(place_of(number))?;
        if slot.number.load(Ordering::Relaxed) != number {
            return None;
        }
        let value = slot.value.swap(null_mut(), Ordering::Relaxed);
        if value.is_null() {
            return None;
        }
        free.places.push(place_of(number));
        // SAFETY: it came from a box, and the caller promises that this is its end.
        Some(unsafe { Box::from_raw(value) })
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for slot in self.segments.iter().filter_map(OnceLock::get).flat_map(|segment| segment.iter()) {
            let value = slot.value.swap(null_mut(), Ordering::Relaxed);
            if !value.is_null() {
                // SAFETY: it came from a box, and the table is nobody else's.
                drop(unsafe { Box::from_raw(value) });
            }
        }
    }
}

enum Place<T> {
    Free,
    /// A thread works with it.
    Out,
    In(T),
}

struct Places<T> {
    all: Vec<(u32, Place<T>)>,
    free: Vec<usize>,
}

/// Values that one thread at a time takes out, works with, and puts back.
pub(crate) struct Shelf<T>(Mutex<Places<T>>);

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(Mutex::new(Places { all: Vec::new(), free: Vec::new() }))
    }
}

/// Why a value can't be taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Unknown,
    InUse,
}

impl<T> Shelf<T> {
    /// Takes a value in; `None` if all places are taken.
    pub(crate) fn insert(&self, value: T) -> Option<u32> {
        let mut places = lock(&self.0);
        let at = places.free.pop().unwrap_or(places.all.len());
        if at >= SEGMENT * SEGMENT {
            return None;
        }
        if at == places.all.len() {
            places.all.push((0, Place::Free));
        }
        let number = next(at, places.all[at].0);
        places.all[at] = (number, Place::In(value));
        Some(number)
    }

    /// Takes a value out to work with it.
    pub(crate) fn take(&self, number: u32) -> Result<T, Absent> {
        let mut places = lock(&self.0);
        let found = places.all.get_mut(place_of(number)).filter(|(known, _)| *known == number);
        let (_, place) = found.ok_or(Absent::Unknown)?;
        match std::mem::replace(place, Place::Out) {
            Place::In(value) => Ok(value),
            Place::Out => Err(Absent::InUse),
            Place::Free => {
                *place = Place::Free;
                Err(Absent::Unknown)
            }
        }
    }

    /// Puts back what was taken out, or `None` if it is no more.
    pub(crate) fn put(&self, number: u32, value: Option<T>) {
        let mut places = lock(&self.0);
        if value.is_none() {
            places.free.push(place_of(number));
        }
        if let Some((_, place)) = places.all.get_mut(place_of(number)) {
            *place = value.map_or(Place::Free, Place::In);
        }
    }
}

impl<T> Shelf<T> {
    /// Everything that is there. Numbers mean nothing any more.
    pub(crate) fn drain(&self) -> Vec<T> {
        let mut places = lock(&self.0);
        let take = |place: &mut (u32, Place<T>)| std::mem::replace(&mut place.1, Place::Free);
        let all: Vec<_> = places.all.iter_mut().map(take).collect();
        all.into_iter()
            .filter_map(|place| if let Place::In(value) = place { Some(value) } else { None })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_gone_when_its_value_is_and_another_one_has_the_place() {
        let table = Table::default();
        // SAFETY: one thread.
        unsafe {
            let first = table.insert("a").unwrap();
            assert_eq!(table.get(first), Some(&"a"));
            assert_eq!(table.remove(first).as_deref(), Some(&"a"));
            assert_eq!(table.get(first), None);
            assert!(table.remove(first).is_none());
            let second = table.insert("b").unwrap();
            assert_ne!(first, second);
            assert_eq!(place_of(first), place_of(second));
            assert_eq!((table.get(first), table.get(second)), (None, Some(&"b")));
        }
    }

    #[test]
    fn a_table_has_places_for_65536_values_and_says_when_they_are_taken() {
        let table = Table::default();
        let numbers: std::collections::HashSet<u32> =
            std::iter::from_fn(|| table.insert(7)).take(70_000).collect();
        assert_eq!(numbers.len(), 65_536);
        assert!(!numbers.contains(&0));
        // SAFETY: one thread.
        unsafe { assert!(numbers.iter().all(|number| table.get(*number) == Some(&7))) };
    }

    #[test]
    fn what_a_thread_has_taken_off_the_shelf_is_in_use() {
        let shelf = Shelf::default();
        let number = shelf.insert(5).unwrap();
        assert_eq!(shelf.take(number), Ok(5));
        assert_eq!(shelf.take(number), Err(Absent::InUse));
        shelf.put(number, Some(6));
        assert_eq!(shelf.take(number), Ok(6));
        shelf.put(number, None);
        assert_eq!(shelf.take(number), Err(Absent::Unknown));
        let next = shelf.insert(7).unwrap();
        assert_ne!(next, number);
        assert_eq!(shelf.take(number), Err(Absent::Unknown));
        assert_eq!(shelf.take(0), Err(Absent::Unknown));
    }
}
