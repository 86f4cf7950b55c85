//! Vectors and deques.

use super::{allocated, call, copied, process, rank_of};
use crate::data::Pair;
use crate::data::sequence::{Kind, SequenceIt, one_sequence};
use crate::diagnostics::Blame as _;
use crate::error::Error;
use std::ffi::c_int;

/// What failed calls give in place of an iterator.
const NOWHERE: SequenceIt = SequenceIt { sequence: 0, index: 0 };

macro_rules! calls {
    ($kind:ident: $assign:ident $assign_range:ident $at:ident $begin:ident $capacity:ident $clear:ident
     $create:ident $destroy:ident $empty:ident $end:ident $erase:ident $erase_range:ident $insert:ident
     $insert_range:ident $pop_back:ident $push_back:ident $reserve:ident $size:ident $swap:ident
     $advance:ident $distance:ident) => {
        /// Makes one equal to another.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign(to: u64, from: u64) {
            call(stringify!($assign), (), || process()?.assign_sequence(Kind::$kind, to, from, None));
        }

        /// Makes one equal to a part of another.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign_range(to: u64, start: SequenceIt, end: SequenceIt) {
            call(stringify!($assign_range), (), || {
                let process = process()?;
                one_sequence(start, end)?;
                let range = Some((start.index, end.index));
                process.assign_sequence(Kind::$kind, to, start.sequence, range)
            });
        }

        /// The address of a byte, or 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $at(of: u64, index: c_int) -> u64 {
            call(stringify!($at), 0, || process()?.at_sequence(Kind::$kind, of, index))
        }

        /// The first byte's iterator.
        #[unsafe(no_mangle)]
        pub extern "C" fn $begin(of: u64) -> SequenceIt {
            call(stringify!($begin), NOWHERE, || process()?.end_of_sequence(Kind::$kind, of, false))
        }

        /// How many bytes fit without more memory.
        #[unsafe(no_mangle)]
        pub extern "C" fn $capacity(of: u64) -> usize {
            call(stringify!($capacity), 0, || Ok(process()?.sequence_sizes(Kind::$kind, of)?.1 as usize))
        }

        /// Takes everything out.
        #[unsafe(no_mangle)]
        pub extern "C" fn $clear(of: u64) {
            call(stringify!($clear), (), || process()?.clear_sequence(Kind::$kind, of));
        }

        /// Makes one of so many bytes, which are 0; gives it, or 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $create(size: usize, rank: c_int) -> u64 {
            call(stringify!($create), 0, || {
                allocated(process()?.create_sequence(Kind::$kind, size as u64, rank_of(rank)?), size, rank)
            })
        }

        /// Frees one.
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(of: u64) {
            call(stringify!($destroy), (), || process()?.destroy_sequence(Kind::$kind, of));
        }

        /// 1 if there are no bytes, else 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty(of: u64) -> c_int {
            call(stringify!($empty), 1, || {
                Ok(c_int::from(process()?.sequence_sizes(Kind::$kind, of)?.0 == 0))
            })
        }

        /// The iterator behind the last byte.
        #[unsafe(no_mangle)]
        pub extern "C" fn $end(of: u64) -> SequenceIt {
            call(stringify!($end), NOWHERE, || process()?.end_of_sequence(Kind::$kind, of, true))
        }

        /// Takes bytes out; gives the iterator of what follows.
        #[unsafe(no_mangle)]
        pub extern "C" fn $erase(it: SequenceIt, size: usize) -> SequenceIt {
            call(stringify!($erase), NOWHERE, || process()?.erase_sequence(Kind::$kind, it, size as u64))
        }

        /// Takes out what is between two iterators; gives the iterator of what follows.
        #[unsafe(no_mangle)]
        pub extern "C" fn $erase_range(start: SequenceIt, end: SequenceIt) -> SequenceIt {
            call(stringify!($erase_range), NOWHERE, || process()?.erase_between(Kind::$kind, start, end))
        }

        /// Inserts memory; gives the iterator of what was inserted.
        #[unsafe(no_mangle)]
        pub extern "C" fn $insert(it: SequenceIt, ga: u64, size: usize) -> SequenceIt {
            call(stringify!($insert), NOWHERE, || {
                copied(process()?.insert_sequence(Kind::$kind, it, ga, size as u64), ga, size)
            })
        }

        /// Inserts a part of another; gives the iterator of what was inserted.
        #[unsafe(no_mangle)]
        pub extern "C" fn $insert_range(it: SequenceIt, start: SequenceIt, end: SequenceIt) -> SequenceIt {
            call(stringify!($insert_range), NOWHERE, || {
                process()?.insert_range(Kind::$kind, it, (start, end))
            })
        }

        /// Takes bytes away from the end.
        #[unsafe(no_mangle)]
        pub extern "C" fn $pop_back(of: u64, size: usize) {
            call(stringify!($pop_back), (), || process()?.pop(Kind::$kind, of, size as u64, false));
        }

        /// Appends memory.
        #[unsafe(no_mangle)]
        pub extern "C" fn $push_back(of: u64, ga: u64, size: usize) {
            call(stringify!($push_back), (), || {
                copied(process()?.push(Kind::$kind, of, (ga, size as u64), false), ga, size)
            });
        }

        /// Sees to it that so many bytes fit.
        #[unsafe(no_mangle)]
        pub extern "C" fn $reserve(of: u64, size: usize) {
            call(stringify!($reserve), (), || {
                let size = size as u64;
                process()?.reserve_sequence(Kind::$kind, of, size).size_of("size", size)
            });
        }

        /// How many bytes there are.
        #[unsafe(no_mangle)]
        pub extern "C" fn $size(of: u64) -> usize {
            call(stringify!($size), 0, || Ok(process()?.sequence_sizes(Kind::$kind, of)?.0 as usize))
        }

        /// Exchanges what two of them hold.
        #[unsafe(no_mangle)]
        pub extern "C" fn $swap(one: u64, other: u64) {
            call(stringify!($swap), (), || process()?.swap_sequences(Kind::$kind, one, other));
        }

        /// The iterator so many bytes on.
        #[unsafe(no_mangle)]
        pub extern "C" fn $advance(it: SequenceIt, n: c_int) -> SequenceIt {
            call(stringify!($advance), NOWHERE, || {
                process()?;
                let index = it.index.checked_add(n).filter(|index| *index >= 0);
                index.map(|index| SequenceIt { index, ..it }).ok_or(Error::Iterator).of("n", n)
            })
        }

        /// Bytes from one iterator to another.
        #[unsafe(no_mangle)]
        pub extern "C" fn $distance(first: SequenceIt, last: SequenceIt) -> c_int {
            call(stringify!($distance), 0, || {
                process()?;
                one_sequence(first, last)?;
                last.index.checked_sub(first.index).ok_or(Error::Iterator).of("index", last.index)
            })
        }
    };
}

//= ACP 3.0, vector
calls! {
    Vector: acp_assign_vector acp_assign_range_vector acp_at_vector acp_begin_vector acp_capacity_vector
    acp_clear_vector acp_create_vector_3 acp_destroy_vector acp_empty_vector acp_end_vector acp_erase_vector
    acp_erase_range_vector acp_insert_vector acp_insert_range_vector acp_pop_back_vector
    acp_push_back_vector acp_reserve_vector acp_size_vector acp_swap_vector acp_advance_vector_it
    acp_distance_vector_it
}

//= ACP 3.0, deque
calls! {
    Deque: acp_assign_deque acp_assign_range_deque acp_at_deque acp_begin_deque acp_capacity_deque
    acp_clear_deque acp_create_deque acp_destroy_deque acp_empty_deque acp_end_deque acp_erase_deque
    acp_erase_range_deque acp_insert_deque acp_insert_range_deque acp_pop_back_deque
    acp_push_back_deque acp_reserve_deque acp_size_deque acp_swap_deque acp_advance_deque_it
    acp_distance_deque_it
}

/// Makes a vector of elements of one size, which are 0; gives it, or 0.
//= ACP 1.0, acp_create_vector
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_vector(nelem: usize, size: usize, rank: c_int) -> u64 {
    call("acp_create_vector", 0, || {
        let process = process()?;
        if size == 0 {
            return Err(Error::Size).of("size", 0);
        }
        let bytes = nelem.checked_mul(size).ok_or(Error::Size).size_of("nelem", nelem as u64)?;
        allocated(process.create_sequence(Kind::Vector, bytes as u64, rank_of(rank)?), size, rank)
    })
}

/// Makes a vector that is equal to another one; gives it, or 0.
//= ACP 1.0, acp_duplicate_vector
#[unsafe(no_mangle)]
pub extern "C" fn acp_duplicate_vector(vector: u64, rank: c_int) -> u64 {
    call("acp_duplicate_vector", 0, || process()?.duplicate_vector(vector, rank_of(rank)?))
}

/// The address of an iterator's byte, or 0.
//= ACP 3.0, acp_dereference_vector_it
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_vector_it(it: SequenceIt) -> u64 {
    call("acp_dereference_vector_it", 0, || process()?.at_sequence(Kind::Vector, it.sequence, it.index))
}

/// The one or two places of bytes from an iterator on.
//= ACP 3.0, acp_dereference_deque_it
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_deque_it(it: SequenceIt, size: usize) -> Pair {
    call("acp_dereference_deque_it", Pair::default(), || {
        process()?.parts_of_sequence(Kind::Deque, it, size as u64)
    })
}

/// Takes bytes away from the beginning.
//= ACP 3.0, acp_pop_front_deque
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_front_deque(deque: u64, size: usize) {
    call("acp_pop_front_deque", (), || process()?.pop(Kind::Deque, deque, size as u64, true));
}

/// Inserts memory at the beginning.
//= ACP 3.0, acp_push_front_deque
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_front_deque(deque: u64, ga: u64, size: usize) {
    call("acp_push_front_deque", (), || {
        copied(process()?.push(Kind::Deque, deque, (ga, size as u64), true), ga, size)
    });
}
