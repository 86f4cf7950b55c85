//! Messages that came before their operations waited for them.

use super::arrivals::length;
use super::op::Op;
use super::wire::{Header, Kind, before};
use super::{Engine, Members};
use crate::error::CollectiveError;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// A message that arrived before the operation waited for it.
pub(super) struct Letter {
    pub(super) source: u32,
    pub(super) header: Header,
    pub(super) data: Vec<u8>,
}

impl Letter {
    fn place(&self) -> Place {
        Place { number: self.header.number, key: (self.source, self.header.tag, self.header.kind as u32) }
    }
}

/// The place of a letter among others: the number of its operation, then its source, tag and kind.
#[derive(PartialEq, Eq)]
struct Place {
    number: u32,
    key: (u32, u32, u32),
}

impl Place {
    /// Numbers go round; those of a team's letters are near each other.
    fn compare(&self, other: &Self) -> Ordering {
        match self.number == other.number {
            true => self.key.cmp(&other.key),
            false if before(self.number, other.number) => Ordering::Less,
            false => Ordering::Greater,
        }
    }
}

/// Early letters of a team, by their places. Most come in this order and are taken in this order,
/// so that both ends of the queue are where things happen.
#[derive(Default)]
pub(super) struct Early(VecDeque<Letter>);

impl Early {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Equal letters stay in the order in which they came.
    pub(super) fn insert(&mut self, letter: Letter) {
        let place = letter.place();
        if self.0.back().is_none_or(|last| last.place().compare(&place).is_le()) {
            return self.0.push_back(letter);
        }
        let at = self.0.partition_point(|one| one.place().compare(&place).is_le());
        self.0.insert(at, letter);
    }

    /// Takes a letter out.
    pub(super) fn take(&mut self, number: u32, source: u32, tag: u32, kind: Kind) -> Option<Letter> {
        if self.0.is_empty() {
            return None;
        }
        let place = Place { number, key: (source, tag, kind as u32) };
        let at = self.0.partition_point(|one| one.place().compare(&place).is_lt());
        if self.0.get(at)?.place() == place { self.0.remove(at) } else { None }
    }

    /// The letters of an operation.
    pub(super) fn of(&self, number: u32) -> impl Iterator<Item = &Letter> {
        let first = self.first(number);
        self.0.range(first..).take_while(move |letter| letter.header.number == number)
    }

    /// Drops the letters of an operation.
    pub(super) fn clear(&mut self, number: u32) {
        let first = self.first(number);
        let many = self.of(number).count();
        self.0.drain(first..first + many);
    }

    fn first(&self, number: u32) -> usize {
        self.0.partition_point(|letter| before(letter.header.number, number))
    }
}

/// An operation and the messages that came before it.
impl Engine {
    /// An early message. One of another call becomes the operation's failure.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn take(
        &self,
        team: NonNull<Members>,
        op: *mut Op,
        task: u32,
        tag: u32,
        kind: Kind,
    ) -> Option<Letter> {
        // SAFETY: the caller's promise; nothing below calls out.
        unsafe {
            if self.meets_other_call(team, op) {
                return None;
            }
            (&mut (*team.as_ptr()).early).take((*op).number, task, tag, kind)
        }
    }

    /// Whether a message of another call with the operation's number came before it, which becomes
    /// its failure. Those that come while it is under way are compared when they come.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn meets_other_call(&self, team: NonNull<Members>, op: *mut Op) -> bool {
        // SAFETY: the caller's promise; nothing below calls out.
        unsafe {
            if std::mem::replace(&mut (*op).compared, true) {
                return false;
            }
            let (early, number, mine) = (&(*team.as_ptr()).early, (*op).number, (*op).signature.0);
            let differs = |l: &&Letter| l.header.signature != mine || (&*op).is_asked_in_vain(l);
            let Some(letter) = early.of(number).find(differs) else { return false };
            if letter.header.signature == mine {
                (*op).failure = Some(CollectiveError::Unmatched { from: letter.source, call: (*op).name });
                return true;
            }
            let got = length(letter.header.kind, Some(&letter.data), letter.data.len());
            (*op).failure = Some((&*op).mismatch(letter.source, &letter.header, got));
            true
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::wire::NUMBERS;
    use super::*;

    fn letter(number: u32, source: u32, tag: u32, kind: Kind, byte: u8) -> Letter {
        let header = Header { team: 1, number, kind, tag, signature: 0 };
        Letter { source, header, data: vec![byte] }
    }

    #[test]
    fn letters_are_found_whatever_the_order_in_which_they_came() {
        let mut early = Early::default();
        // Numbers that go round.
        let numbers = [NUMBERS - 1, NUMBERS, 0, 1];
        let kinds = [Kind::Data, Kind::Ready, Kind::Long];
        let mut all: Vec<(u32, u32, u32, Kind)> = Vec::new();
        for number in numbers {
            for source in 0..3 {
                all.extend(kinds.iter().map(|kind| (number, source, 7 - source, *kind)));
            }
        }
        for at in 0..all.len() {
            // 11 has no factor in common with their number.
            let (number, source, tag, kind) = all[at * 11 % all.len()];
            early.insert(letter(number, source, tag, kind, (at * 11 % all.len()) as u8));
        }
        assert_eq!(early.of(0).count(), 9);
        assert!(early.take(0, 0, 6, Kind::Data).is_none() && early.take(2, 0, 7, Kind::Data).is_none());
        early.clear(0);
        for (at, (number, source, tag, kind)) in all.iter().copied().enumerate() {
            let found = early.take(number, source, tag, kind);
            assert_eq!(found.map(|letter| letter.data[0]), (number != 0).then_some(at as u8));
        }
        assert!(early.is_empty());
    }

    #[test]
    fn equal_letters_are_taken_in_the_order_in_which_they_came() {
        let mut early = Early::default();
        for byte in 0..5 {
            early.insert(letter(3, 1, 2, Kind::Ask, byte));
            early.insert(letter(2, 1, 2, Kind::Ask, byte));
        }
        for byte in 0..5 {
            assert_eq!(early.take(3, 1, 2, Kind::Ask).unwrap().data, [byte]);
        }
        assert_eq!(early.len(), 5);
    }
}
