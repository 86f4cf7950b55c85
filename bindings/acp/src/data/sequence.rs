//! Vectors and deques: bytes in one block of memory of the process that has the control block.
//!
//! A deque's bytes may go round: its first one lies at an offset, and what does not fit behind it
//! continues at the block's beginning. A vector is a deque whose offset stays 0. Blocks grow by
//! half, so that appending costs the same on average however long the sequence is.

use super::control::Held;
use super::mark;
use super::memory::Parts;
use super::{Element, Pair};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::process::Process;

/// Which kind of sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Vector,
    Deque,
}

impl Kind {
    fn mark(self) -> u64 {
        match self {
            Self::Vector => mark::VECTOR,
            Self::Deque => mark::DEQUE,
        }
    }
}

/// An iterator: a sequence and the number of a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SequenceIt {
    /// The sequence; 0 in an iterator that a failed call gave.
    pub sequence: u64,
    /// Bytes before it.
    pub index: i32,
}

/// Fails unless two iterators are of one sequence.
pub(crate) fn one_sequence(one: SequenceIt, other: SequenceIt) -> Result {
    if one.sequence == other.sequence {
        return Ok(());
    }
    Err(Error::Iterator).at("the second iterator's structure", other.sequence)
}

/// The body of a sequence's control block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    data: u64,
    offset: u64,
    size: u64,
    capacity: u64,
}

const WORDS: usize = 4;

impl State {
    fn of([data, offset, size, capacity]: [u64; WORDS]) -> Self {
        Self { data, offset, size, capacity }
    }

    fn words(self) -> [u64; WORDS] {
        [self.data, self.offset, self.size, self.capacity]
    }

    /// Where a byte is in the block.
    fn within(&self, position: u64) -> u64 {
        let at = self.offset + position;
        if at < self.capacity { at } else { at - self.capacity }
    }

    /// The one or two places of bytes that there are.
    fn parts(&self, from: u64, len: u64) -> Parts {
        if len == 0 {
            return Parts::new();
        }
        let start = self.within(from);
        let first = len.min(self.capacity - start);
        let mut parts = vec![(self.data + start, first)];
        if first < len {
            parts.push((self.data, len - first));
        }
        parts
    }

    fn check(&self, index: i32) -> Result<u64> {
        let known = u64::try_from(index).ok().filter(|index| *index <= self.size);
        known.ok_or(Error::Iterator).of("index", index)
    }

    /// The bytes between two iterators.
    fn range(&self, start: i32, end: i32) -> Result<(u64, u64)> {
        let (first, last) = (self.check(start)?, self.check(end)?);
        let len = last.checked_sub(first).ok_or(Error::Iterator).of("the second iterator's index", end)?;
        Ok((first, len))
    }
}

/// A sequence that is being changed.
struct Open<'a> {
    process: &'a Process,
    kind: Kind,
    at: u64,
    state: State,
}

impl Open<'_> {
    /// Moves bytes within the sequence, whose old and new places may overlap.
    fn shift(&self, from: u64, to: u64, len: u64) -> Result {
        let mut left = if from == to { 0 } else { len };
        while left > 0 {
            let capacity = self.state.capacity;
            let (source, target, n) = if to < from {
                let done = len - left;
                let (source, target) = (self.state.within(from + done), self.state.within(to + done));
                (source, target, left.min(capacity - source).min(capacity - target))
            } else {
                // From the end on. Of each the bytes up to and with its last one.
                let source = self.state.within(from + left - 1) + 1;
                let target = self.state.within(to + left - 1) + 1;
                let n = left.min(source).min(target);
                (source - n, target - n, n)
            };
            self.process.transfer(self.state.data + target, self.state.data + source, n)?;
            left -= n;
        }
        Ok(())
    }

    /// Sees to it that so many bytes fit.
    fn grow(&mut self, needed: u64) -> Result {
        let State { data, size, capacity, .. } = self.state;
        if needed <= capacity {
            return Ok(());
        }
        let rank = self.process.world().rank_of(self.at)?;
        let roomy = needed.max(capacity.saturating_add(capacity / 2));
        let roomy = roomy.checked_next_multiple_of(16).ok_or(Error::Size)?;
        let (fresh, capacity) = match self.process.allocate(roomy, rank) {
            Err(Error::Memory) if roomy > needed => (self.process.allocate(needed, rank)?, needed),
            outcome => (outcome?, roomy),
        };
        let moved = self.process.transfer_parts(&[(fresh, size)], &self.state.parts(0, size));
        moved.inspect_err(|_| {
            let _ = self.process.free(fresh);
        })?;
        if data != 0 {
            self.process.free(data)?;
        }
        self.state = State { data: fresh, offset: 0, size, capacity };
        Ok(())
    }

    /// Makes room for bytes before a byte.
    fn open_gap(&mut self, index: u64, len: u64) -> Result {
        self.grow(self.state.size.checked_add(len).ok_or(Error::Size)?)?;
        let State { offset, size, capacity, .. } = self.state;
        if self.kind == Kind::Deque && index < size - index {
            self.state.offset = self.state.within(capacity - len);
            self.state.size += len;
            return self.shift(len, 0, index).inspect_err(|_| {
                self.state.offset = offset;
                self.state.size = size;
            });
        }
        self.state.size += len;
        self.shift(index, index + len, size - index).inspect_err(|_| self.state.size = size)
    }

    /// Takes bytes out.
    fn close_gap(&mut self, index: u64, len: u64) -> Result {
        let behind = self.state.size - index - len;
        if self.kind == Kind::Deque && index < behind {
            self.shift(0, len, index)?;
            self.state.offset = self.state.within(len);
        } else {
            self.shift(index + len, index, behind)?;
        }
        self.state.size -= len;
        if self.state.size == 0 {
            self.state.offset = 0;
        }
        Ok(())
    }

    /// Copies bytes from elsewhere to before a byte.
    fn insert(&mut self, index: u64, from: &[(u64, u64)]) -> Result {
        let len = from.iter().map(|part| part.1).sum();
        if len == 0 {
            return Ok(());
        }
        self.open_gap(index, len)?;
        let copied = self.process.transfer_parts(&self.state.parts(index, len), from);
        if copied.is_err() {
            self.close_gap(index, len)?;
        }
        copied
    }

    /// As [`insert`](Self::insert), from memory that may be the sequence's own and move away.
    fn insert_any(&mut self, index: u64, from: &[(u64, u64)]) -> Result {
        let State { data, capacity, .. } = self.state;
        let own = from.iter().any(|(at, len)| *at < data + capacity && data < at.saturating_add(*len));
        if !own {
            return self.insert(index, from);
        }
        let len = from.iter().map(|part| part.1).sum();
        let aside = self.process.allocate(len, self.process.world().rank)?;
        let done = self
            .process
            .transfer_parts(&[(aside, len)], from)
            .and_then(|()| self.insert(index, &[(aside, len)]));
        self.process.free(aside)?;
        done
    }
}

/// Operations. `at` is a sequence; a failure changes nothing, unless a process has ended.
impl Process {
    /// Makes a sequence of so many bytes, which are zero.
    pub(crate) fn create_sequence(&self, kind: Kind, size: u64, rank: u32) -> Result<u64> {
        self.world().block(rank)?;
        let mut state = State { data: 0, offset: 0, size, capacity: 0 };
        if size > 0 {
            state.capacity = size.checked_next_multiple_of(16).ok_or(Error::Size)?;
            state.data = self.allocate(state.capacity, rank)?;
        }
        let made = self
            .write_zeros(state.data, size)
            .and_then(|()| self.create_block(kind.mark(), &state.words(), rank));
        made.inspect_err(|_| {
            if state.data != 0 {
                let _ = self.free(state.data);
            }
        })
    }

    /// Clears memory.
    pub(crate) fn write_zeros(&self, at: u64, size: u64) -> Result {
        const PIECE: u64 = 1 << 16;
        let zeros = vec![0; size.min(PIECE) as usize];
        (0..size)
            .step_by(PIECE as usize)
            .try_for_each(|done| self.write_bytes(at + done, &zeros[..(size - done).min(PIECE) as usize]))
    }

    fn sequence(&self, kind: Kind, at: u64) -> Result<State> {
        self.load(at, kind.mark()).map(State::of)
    }

    /// Changes a sequence. What `f` did to the state stays, even if it fails then.
    fn change<T>(&self, kind: Kind, at: u64, f: impl FnOnce(&mut Open<'_>) -> Result<T>) -> Result<T> {
        let mut held: Held<'_, WORDS> = self.hold(at, kind.mark())?;
        let mut open = Open { process: self, kind, at, state: State::of(held.body) };
        let outcome = f(&mut open);
        held.body = open.state.words();
        held.keep()?;
        outcome
    }

    /// Gives a sequence's memory back.
    pub(crate) fn destroy_sequence(&self, kind: Kind, at: u64) -> Result {
        let held: Held<'_, WORDS> = self.hold(at, kind.mark())?;
        let data = State::of(held.body).data;
        held.destroy()?;
        if data == 0 { Ok(()) } else { self.free(data) }
    }

    /// Bytes, and bytes that fit without more memory.
    pub(crate) fn sequence_sizes(&self, kind: Kind, at: u64) -> Result<(u64, u64)> {
        self.sequence(kind, at).map(|state| (state.size, state.capacity))
    }

    /// Sees to it that so many bytes fit without more memory.
    pub(crate) fn reserve_sequence(&self, kind: Kind, at: u64, size: u64) -> Result {
        self.change(kind, at, |open| open.grow(size))
    }

    /// The address of a byte.
    pub(crate) fn at_sequence(&self, kind: Kind, at: u64, index: i32) -> Result<u64> {
        let state = self.sequence(kind, at)?;
        let at = state.check(index)?;
        if at == state.size {
            return Err(Error::Iterator).of("index", index);
        }
        Ok(state.data + state.within(at))
    }

    /// The places of at most so many bytes from one on.
    pub(crate) fn parts_of_sequence(&self, kind: Kind, it: SequenceIt, size: u64) -> Result<Pair> {
        let state = self.sequence(kind, it.sequence)?;
        let index = state.check(it.index)?;
        if index == state.size {
            return Err(Error::Iterator).of("index", it.index);
        }
        let parts = state.parts(index, size.min(state.size - index));
        let element = |at: usize| {
            parts.get(at).map_or(Element::default(), |&(ga, size)| Element { ga, size: size as usize })
        };
        Ok(Pair { first: element(0), second: element(1) })
    }

    /// Makes a sequence equal to a part of another, or of itself; without `range`, to all of it.
    pub(crate) fn assign_sequence(
        &self,
        kind: Kind,
        to: u64,
        from: u64,
        range: Option<(i32, i32)>,
    ) -> Result {
        if to == from {
            return self.change(kind, to, |open| {
                let Some((start, end)) = range else { return Ok(()) };
                let (start, len) = open.state.range(start, end)?;
                open.close_gap(start + len, open.state.size - start - len)?;
                open.close_gap(0, start)
            });
        }
        let [mut to, from] = self.hold_both::<WORDS>([to, from], kind.mark())?;
        let source = State::of(from.body);
        let (start, len) = range.map_or(Ok((0, source.size)), |(start, end)| source.range(start, end))?;
        let mut open = Open { process: self, kind, at: to.at, state: State::of(to.body) };
        // What was there need not be carried along.
        open.state.size = 0;
        open.state.offset = 0;
        let grown = open.grow(len);
        if grown.is_ok() {
            open.state.size = len;
            let copied = self.transfer_parts(&open.state.parts(0, len), &source.parts(start, len));
            to.body = open.state.words();
            to.keep()?;
            return copied;
        }
        grown
    }

    /// Inserts memory of any process before a byte; gives an iterator to the first inserted one.
    pub(crate) fn insert_sequence(
        &self,
        kind: Kind,
        it: SequenceIt,
        ga: u64,
        size: u64,
    ) -> Result<SequenceIt> {
        self.change(kind, it.sequence, |open| {
            let index = open.state.check(it.index)?;
            open.insert_any(index, &[(ga, size)])?;
            Ok(it)
        })
    }

    /// Inserts a part of a sequence before a byte.
    pub(crate) fn insert_range(
        &self,
        kind: Kind,
        it: SequenceIt,
        (start, end): (SequenceIt, SequenceIt),
    ) -> Result<SequenceIt> {
        one_sequence(start, end)?;
        if it.sequence == start.sequence {
            return self.change(kind, it.sequence, |open| {
                let (from, len) = open.state.range(start.index, end.index)?;
                open.insert_any(open.state.check(it.index)?, &open.state.parts(from, len))?;
                Ok(it)
            });
        }
        let [mut to, from] = self.hold_both::<WORDS>([it.sequence, start.sequence], kind.mark())?;
        let source = State::of(from.body);
        let (from, len) = source.range(start.index, end.index)?;
        let mut open = Open { process: self, kind, at: to.at, state: State::of(to.body) };
        let outcome =
            open.state.check(it.index).and_then(|index| open.insert(index, &source.parts(from, len)));
        to.body = open.state.words();
        to.keep()?;
        outcome.map(|()| it)
    }

    /// Inserts at an end.
    pub(crate) fn push(&self, kind: Kind, at: u64, (ga, size): (u64, u64), front: bool) -> Result {
        self.change(kind, at, |open| open.insert_any(if front { 0 } else { open.state.size }, &[(ga, size)]))
    }

    /// Takes at most so many bytes away from an end.
    pub(crate) fn pop(&self, kind: Kind, at: u64, size: u64, front: bool) -> Result {
        self.change(kind, at, |open| {
            let len = size.min(open.state.size);
            open.close_gap(if front { 0 } else { open.state.size - len }, len)
        })
    }

    /// Takes at most so many bytes out; gives an iterator to what follows.
    pub(crate) fn erase_sequence(&self, kind: Kind, it: SequenceIt, size: u64) -> Result<SequenceIt> {
        self.change(kind, it.sequence, |open| {
            let index = open.state.check(it.index)?;
            open.close_gap(index, size.min(open.state.size - index))?;
            Ok(it)
        })
    }

    /// Takes out what is between two iterators.
    pub(crate) fn erase_between(&self, kind: Kind, start: SequenceIt, end: SequenceIt) -> Result<SequenceIt> {
        one_sequence(start, end)?;
        self.change(kind, start.sequence, |open| {
            let (index, len) = open.state.range(start.index, end.index)?;
            open.close_gap(index, len)?;
            Ok(start)
        })
    }

    /// Takes everything out; the memory stays for what comes.
    pub(crate) fn clear_sequence(&self, kind: Kind, at: u64) -> Result {
        self.change(kind, at, |open| {
            open.state.size = 0;
            open.state.offset = 0;
            Ok(())
        })
    }

    /// Exchanges what two sequences hold; nothing is copied.
    pub(crate) fn swap_sequences(&self, kind: Kind, one: u64, other: u64) -> Result {
        if one == other {
            return self.sequence(kind, one).map(drop);
        }
        let [mut one, mut other] = self.hold_both::<WORDS>([one, other], kind.mark())?;
        std::mem::swap(&mut one.body, &mut other.body);
        one.keep()?;
        other.keep()
    }

    /// A new vector with what another one holds.
    pub(crate) fn duplicate_vector(&self, at: u64, rank: u32) -> Result<u64> {
        self.sequence(Kind::Vector, at)?;
        let copy = self.create_sequence(Kind::Vector, 0, rank)?;
        let filled = self.assign_sequence(Kind::Vector, copy, at, None);
        filled.inspect_err(|_| {
            let _ = self.destroy_sequence(Kind::Vector, copy);
        })?;
        Ok(copy)
    }

    /// The iterator of the first byte, or behind the last one.
    pub(crate) fn end_of_sequence(&self, kind: Kind, at: u64, last: bool) -> Result<SequenceIt> {
        let size = self.sequence(kind, at)?.size;
        let index = if last { i32::try_from(size).map_err(|_| Error::Size)? } else { 0 };
        Ok(SequenceIt { sequence: at, index })
    }
}
