//! Accesses to global memory of which both ends are mapped: copies, and atomic operations by the
//! processor's instructions.

use crate::regions::Region;
use lapis_core::sync::placed::{AtomicU32, AtomicU64};
use lapis_core::sync::{Ordering, fence};
use std::sync::Arc;

/// What an atomic operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    CompareAndSwap = 0,
    Swap = 1,
    Add = 2,
    Xor = 3,
    Or = 4,
    And = 5,
}

impl Operator {
    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::CompareAndSwap, Self::Swap, Self::Add, Self::Xor, Self::Or, Self::And]
            .into_iter()
            .find(|operator| *operator as u64 == number)
    }
}

/// An atomic operation without its places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) operator: Operator,
    /// 4 or 8 bytes.
    pub(crate) width: u32,
    pub(crate) operand: u64,
    /// What a compare-and-swap compares with.
    pub(crate) compare: u64,
}

/// An operation that waits, or begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) handle: u64,
    pub(crate) dst: u64,
    pub(crate) src: u64,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Copy(u64),
    Atomic(Atomic),
}

/// Where memory is, seen from this process.
pub(crate) enum Place {
    /// In this address space; the region is kept meanwhile if it is a registered one.
    Near(*mut u8, Option<Arc<Region>>),
    /// In this task's.
    Far(u32),
}

/// Longest copy that is made word by word where both ends are aligned: the library's own structures
/// are shorter, and are read while others write them.
const BY_WORDS: usize = 128;

/// Copies bytes that may overlap. Words that programs wait for are read and written as such.
///
/// # Safety
/// Both are valid for `len` bytes.
#[inline(always)]
pub(crate) unsafe fn move_bytes(to: *mut u8, from: *const u8, len: usize) {
    let aligned = |place: usize| place.is_multiple_of(len);
    // SAFETY: both places have `len` bytes; words are read and written as atomics only where the
    // address is a multiple of their size.
    unsafe {
        match len {
            8 if aligned(to.addr()) => {
                let word = if aligned(from.addr()) {
                    (*from.cast::<AtomicU64>()).load(Ordering::Relaxed)
                } else {
                    from.cast::<u64>().read_unaligned()
                };
                // SYNC: Release: whoever sees the word sees what was copied before it.
                (*to.cast::<AtomicU64>()).store(word, Ordering::Release);
            }
            4 if aligned(to.addr()) => {
                let word = if aligned(from.addr()) {
                    (*from.cast::<AtomicU32>()).load(Ordering::Relaxed)
                } else {
                    from.cast::<u32>().read_unaligned()
                };
                // SYNC: Release: whoever sees the word sees what was copied before it.
                (*to.cast::<AtomicU32>()).store(word, Ordering::Release);
            }
            _ => {
                if len <= BY_WORDS && (to.addr() | from.addr() | len).is_multiple_of(8) {
                    move_words(to.cast(), from.cast(), len / 8);
                } else {
                    std::ptr::copy(from, to, len);
                }
                // SYNC: Release: what is stored afterwards is seen afterwards.
                fence(Ordering::Release);
            }
        }
    }
}

/// Copies words that may overlap, each in one piece.
///
/// # Safety
/// Both are valid for so many words, and aligned to them.
unsafe fn move_words(to: *const AtomicU64, from: *const AtomicU64, count: usize) {
    // SAFETY: both loops stay below `count`, and both places have so many aligned words.
    let one = |at: usize| unsafe {
        (*to.add(at)).store((*from.add(at)).load(Ordering::Relaxed), Ordering::Relaxed)
    };
    // A destination that begins within the source is filled from its end.
    if to.addr().wrapping_sub(from.addr()) < count * 8 {
        (0..count).rev().for_each(one);
    } else {
        (0..count).for_each(one);
    }
}

/// Stores a result.
///
/// # Safety
/// `to` is valid for `width` bytes, 4 or 8, and aligned to them.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut u8, width: u32, value: u64) {
    // SAFETY: `to` has `width` bytes and is a multiple of that; an atomic has its integer's layout.
    unsafe {
        if width == 4 {
            (*to.cast::<AtomicU32>()).store(value as u32, Ordering::Relaxed);
        } else {
            (*to.cast::<AtomicU64>()).store(value, Ordering::Relaxed);
        }
    }
}

/// Applies an atomic operation; gives what was there before.
///
/// # Safety
/// `at` is valid for the operation's width, 4 or 8, and aligned to it.
#[inline(always)]
pub(crate) unsafe fn apply(at: *mut u8, atomic: Atomic) -> u64 {
    macro_rules! run {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: `at` has the operation's width and is a multiple of it; an atomic has its
            // integer's layout.
            let v = unsafe { &*at.cast::<$atomic>() };
            let (value, compare) = (atomic.operand as $word, atomic.compare as $word);
            // SYNC: AcqRel with each other, in whichever process: how programs publish data.
            let how = Ordering::AcqRel;
            u64::from(match atomic.operator {
                Operator::Add => v.fetch_add(value, how),
                Operator::Xor => v.fetch_xor(value, how),
                Operator::Or => v.fetch_or(value, how),
                Operator::And => v.fetch_and(value, how),
                Operator::Swap => v.swap(value, how),
                Operator::CompareAndSwap => {
                    // SYNC: AcqRel with the others; a comparison that fails writes nothing.
                    v.compare_exchange(compare, value, how, Ordering::Acquire).unwrap_or_else(|seen| seen)
                }
            })
        }};
    }
    if atomic.width == 4 { run!(AtomicU32, u32) } else { run!(AtomicU64, u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_move_as_a_whole_however_the_places_overlap() {
        for len in [0, 3, 4, 8, 16, 24, 64, 120, BY_WORDS, BY_WORDS + 8] {
            for (to, from) in [(0, 0), (0, 8), (8, 0), (0, 64), (64, 0), (4, 0), (0, 3), (16, 160)] {
                let mut words: [u64; 40] = std::array::from_fn(|at| at as u64 * 0x0101_0101_0101_0101 + 7);
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                let mut wanted = bytes;
                wanted.copy_within(from..from + len, to);
                let base = words.as_mut_ptr().cast::<u8>();
                // SAFETY: both places lie within the words.
                unsafe { move_bytes(base.add(to), base.add(from), len) };
                let moved: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                assert_eq!(moved, wanted, "{len} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn every_operator_gives_what_was_and_leaves_what_shall_be() {
        for (operator, operand, compare, before, after) in [
            (Operator::Add, 5, 0, u64::MAX, 4),
            (Operator::Xor, 0b0110, 0, 0b0011, 0b0101),
            (Operator::Or, 0b0110, 0, 0b0011, 0b0111),
            (Operator::And, 0b0110, 0, 0b0011, 0b0010),
            (Operator::Swap, 9, 0, 3, 9),
            (Operator::CompareAndSwap, 9, 3, 3, 9),
            (Operator::CompareAndSwap, 9, 4, 3, 3),
        ] {
            assert_eq!(Operator::of(operator as u64), Some(operator));
            let mut wide = [before, 77];
            // SAFETY: a local variable of this width.
            let was =
                unsafe { apply(wide.as_mut_ptr().cast(), Atomic { operator, width: 8, operand, compare }) };
            assert_eq!((was, wide), (before, [after, 77]), "{operator:?}");
            let mut narrow = [before as u32, 77];
            let atomic = Atomic { operator, width: 4, operand, compare };
            // SAFETY: a local variable of this width.
            let was = unsafe { apply(narrow.as_mut_ptr().cast(), atomic) };
            assert_eq!((was as u32, narrow), (before as u32, [after as u32, 77]), "{operator:?}");
        }
        assert_eq!(Operator::of(6), None);
    }
}
