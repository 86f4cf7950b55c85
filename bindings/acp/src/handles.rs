//! Tables of objects with handles: numbers that contain an object's slot and its generation. So a
//! handle is looked up without a search, and the handle of a freed object is invalid.

/// Bits of a handle that say where. The others count those that stood there.
const PLACE: u32 = if usize::BITS >= 64 { 24 } else { 20 };
const PLACES: usize = (1 << PLACE) - 1;

/// A handle of nothing, with a small number in it.
#[inline(always)]
pub(crate) fn of_number(number: u64) -> u64 {
    number << PLACE | PLACES as u64
}

/// The number in a handle of nothing; of any other one, a number that is larger than small ones, or
/// none.
#[inline(always)]
pub(crate) fn number_in(handle: u64) -> Option<u64> {
    (handle & PLACES as u64 == PLACES as u64).then_some(handle >> PLACE)
}

/// Things by handle.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    slots: Vec<Slot<T>>,
    /// Places that are free; the last one is used first.
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot<T> {
    /// The upper bits of its next or present thing's handle.
    turn: usize,
    thing: Option<T>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Handles<T> {
    /// Takes a thing in; gives its handle, which is not 0. `None`: there are too many.
    #[inline(always)]
    pub(crate) fn insert(&mut self, thing: T) -> Option<u64> {
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.slots.len() < PLACES - 1 => {
                self.slots.push(Slot { turn: 0, thing: None });
                self.slots.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.slots[at];
        slot.thing = Some(thing);
        Some((slot.turn | (at + 1)) as u64)
    }

    /// Whether one more can be taken in.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < PLACES - 1
    }

    /// The slot of a handle, if its thing is there.
    #[inline(always)]
    fn place(&self, handle: u64) -> Option<usize> {
        let handle = usize::try_from(handle).ok()?;
        let at = (handle & PLACES).checked_sub(1)?;
        (self.slots.get(at)?.turn == handle & !PLACES).then_some(at)
    }

    #[inline(always)]
    pub(crate) fn get(&self, handle: u64) -> Option<&T> {
        self.slots[self.place(handle)?].thing.as_ref()
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        let at = self.place(handle)?;
        self.slots[at].thing.as_mut()
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, handle: u64) -> Option<T> {
        let at = self.place(handle)?;
        let slot = &mut self.slots[at];
        let thing = slot.thing.take()?;
        slot.turn = slot.turn.wrapping_add(PLACES + 1);
        self.free.push(at);
        Some(thing)
    }

    /// Lets go of everything. Handles stay void.
    pub(crate) fn clear(&mut self) {
        self.handles().into_iter().for_each(|handle| drop(self.remove(handle)));
    }

    /// The handles of all things that are there.
    pub(crate) fn handles(&self) -> Vec<u64> {
        let there = self.slots.iter().enumerate().filter(|(_, slot)| slot.thing.is_some());
        there.map(|(at, slot)| (slot.turn | (at + 1)) as u64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_name_what_is_there_and_nothing_that_was() {
        let mut things = Handles::default();
        let first = things.insert('a').unwrap();
        let second = things.insert('b').unwrap();
        assert_eq!((things.get(first), things.get(second)), (Some(&'a'), Some(&'b')));
        assert_eq!(things.remove(first), Some('a'));
        let third = things.insert('c').unwrap();
        assert_ne!(third, first);
        assert_eq!((things.get(first), things.get(third)), (None, Some(&'c')));
        assert_eq!(things.remove(first), None);
        things.clear();
        assert_eq!((things.get(second), things.get(third)), (None, None));
        let fourth = things.insert('d').unwrap();
        assert!(![0, first, second, third].contains(&fourth));
    }

    #[test]
    fn a_number_in_a_handle_is_no_thing() {
        let mut things = Handles::default();
        let handle = things.insert(()).unwrap();
        assert_eq!(number_in(handle), None);
        for number in [0, 1, 176] {
            assert_eq!(number_in(of_number(number)), Some(number));
            assert_eq!(things.get(of_number(number)), None);
        }
    }

    #[test]
    fn numbers_that_nobody_gave_name_nothing() {
        let mut things = Handles::default();
        let handle = things.insert(()).unwrap();
        for other in [0, handle + 1, handle | 1 << 30, PLACES as u64, u64::MAX] {
            assert!(things.get(other).is_none() && things.get_mut(other).is_none(), "{other}");
        }
    }
}
