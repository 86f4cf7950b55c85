//! Atomic operations on memory of this process, as [`RmwOp`] names them.

use super::RmwOp;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// An atomic operation on memory of this process; gives the previous value.
///
/// # Safety
/// `variable` is valid and aligned to `width`, which is 4 or 8.
#[inline(always)]
pub(crate) unsafe fn local_rmw(variable: *mut u8, width: u32, op: RmwOp, operand: u64, compare: u64) -> u64 {
    macro_rules! run {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: valid and aligned by the contract above; the types have the same layout.
            let v = unsafe { &*variable.cast::<$atomic>() };
            let (a, b) = (operand as $word, compare as $word);
            u64::from(match op {
                // SYNC: with each other, at whichever task they run: how programs publish data to
                // one another.
                RmwOp::FetchAndAdd => v.fetch_add(a, Ordering::AcqRel),
                RmwOp::FetchAndOr => v.fetch_or(a, Ordering::AcqRel),
                RmwOp::Swap => v.swap(a, Ordering::AcqRel),
                RmwOp::CompareAndSwap => {
                    v.compare_exchange(b, a, Ordering::AcqRel, Ordering::Acquire).unwrap_or_else(|seen| seen)
                }
            })
        }};
    }
    if width == 4 { run!(AtomicU32, u32) } else { run!(AtomicU64, u64) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_operation_gives_the_previous_value_and_leaves_the_next() {
        for (op, operand, compare, before, after) in [
            (RmwOp::FetchAndAdd, 5, 0, 10u64, 15u64),
            (RmwOp::FetchAndOr, 0b0110, 0, 0b0011, 0b0111),
            (RmwOp::Swap, 9, 0, 3, 9),
            (RmwOp::CompareAndSwap, 9, 3, 3, 9),
            (RmwOp::CompareAndSwap, 9, 4, 3, 3),
        ] {
            let mut wide = before;
            // SAFETY: a local variable of the right width.
            let previous = unsafe { local_rmw((&raw mut wide).cast(), 8, op, operand, compare) };
            assert_eq!((previous, wide), (before, after), "{op:?} on 64 bits");
            let mut narrow = before as u32;
            // SAFETY: a local variable of this width.
            let previous = unsafe { local_rmw((&raw mut narrow).cast(), 4, op, operand, compare) };
            assert_eq!((previous, u64::from(narrow)), (before, after), "{op:?} on 32 bits");
        }
    }

    #[test]
    fn narrow_addition_wraps_within_its_width() {
        let mut pair = [u32::MAX, 7];
        // SAFETY: the first of two local variables.
        let previous = unsafe { local_rmw(pair.as_mut_ptr().cast(), 4, RmwOp::FetchAndAdd, 1, 0) };
        assert_eq!((previous, pair), (u64::from(u32::MAX), [0, 7]));
    }
}
