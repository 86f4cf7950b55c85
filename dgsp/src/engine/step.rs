//! Two plans that are built alike, run in step: each kernel reads one side's places and writes the other's.
#![allow(unsafe_code, reason = "the engine works on the user's raw memory")]

use crate::engine::kernels::{Direction, Kernels, Pack};
use crate::engine::lengths::{Any, NARROW};
use crate::engine::plan::{Field, Plan};

/// Repetitions of a structure that are done field by field before the next ones.
const BATCH: usize = 64;
/// Matrices whose rows lie nearer than this are transposed, which packing does better, several columns at a time.
const NEAR: usize = 32;

/// Copies the whole repetitions that `bytes` bytes from the start hold. Answers how many bytes that were: 0 if the plans are not
/// alike.
///
/// # Safety
/// Every byte that the source's plan names in `bytes` bytes is readable, every one of the target's writable, and no byte is
/// on both sides.
pub(crate) unsafe fn whole(s: &Plan, from: *mut u8, d: &Plan, to: *mut u8, bytes: usize) -> usize {
    let reps = |count: usize, size: usize| count.min(bytes / size);
    // SAFETY: whole repetitions within the bytes promised, in each arm.
    unsafe {
        match (s, d) {
            (
                Plan::Loop { off, count, stride, size, body },
                Plan::Loop { off: d_off, count: d_count, stride: d_stride, size: d_size, body: d_body },
            ) if size == d_size && alike(body, d_body) => {
                let n = reps(*count.min(d_count), *size);
                for i in 0..n {
                    both(body, at(from, *off, *stride, i), d_body, at(to, *d_off, *d_stride, i));
                }
                n * size
            }
            (
                Plan::Fields { off, count, stride, size, fields, comb: None },
                Plan::Fields { off: d_off, count: d_count, stride: d_stride, fields: d_fields, .. },
            ) if same_fields(fields, d_fields) => {
                let n = reps(*count.min(d_count), *size);
                structs(
                    (fields, from.wrapping_offset(*off), *stride),
                    (d_fields, to.wrapping_offset(*d_off), *d_stride),
                    n,
                );
                n * size
            }
            (
                Plan::Grid { off, counts, strides, len, kernels },
                Plan::Grid { off: d_off, counts: d_counts, strides: d_strides, len: d_len, .. },
            ) if len == d_len && counts[1] == d_counts[1] && !(near(strides) || near(d_strides)) => {
                let n = reps(counts[0].min(d_counts[0]), counts[1] * len);
                let (from, to) = (from.wrapping_offset(*off), to.wrapping_offset(*d_off));
                rows(kernels, (from, *strides), (to, *d_strides), [n, counts[1]], *len);
                n * counts[1] * len
            }
            _ => 0,
        }
    }
}

/// Whether both move blocks of the same lengths in the same order, by the same loops.
fn alike(s: &Plan, d: &Plan) -> bool {
    match (s, d) {
        (Plan::Bytes { len, .. }, Plan::Bytes { len: l, .. }) => len == l,
        (Plan::Strided { count, len, .. }, Plan::Strided { count: c, len: l, .. }) => (count, len) == (c, l),
        (
            Plan::Grid { counts, len, strides, .. },
            Plan::Grid { counts: c, len: l, strides: d_strides, .. },
        ) => (counts, len) == (c, l) && !near(strides) && !near(d_strides),
        (Plan::List { ends, .. }, Plan::List { ends: e, .. }) => ends == e,
        (Plan::Fields { count, fields, comb: None, .. }, Plan::Fields { count: c, fields: f, .. }) => {
            count == c && same_fields(fields, f)
        }
        (Plan::Loop { count, body, .. }, Plan::Loop { count: c, body: b, .. }) => {
            count == c && alike(body, b)
        }
        (Plan::Seq { parts, .. }, Plan::Seq { parts: p, .. }) => {
            parts.len() == p.len() && parts.iter().zip(p).all(|(a, b)| alike(a, b))
        }
        // Blocks of tables are short: a kernel for each side is faster than a loop over both.
        _ => false,
    }
}

fn same_fields(s: &[Field], d: &[Field]) -> bool {
    s.len() == d.len() && s.iter().zip(d).all(|(a, b)| a.len == b.len)
}

fn near(strides: &[isize; 2]) -> bool {
    strides[0].unsigned_abs() <= NEAR
}

/// Copies all of a plan to one that is alike.
///
/// # Safety
/// As [`whole`].
unsafe fn both(s: &Plan, from: *mut u8, d: &Plan, to: *mut u8) {
    // SAFETY: the caller's promise, in each arm.
    unsafe {
        match (s, d) {
            (Plan::Bytes { off, len }, Plan::Bytes { off: d_off, .. }) => {
                block(from.wrapping_offset(*off), to.wrapping_offset(*d_off), *len);
            }
            (
                Plan::Strided { off, count, stride, len, kernels },
                Plan::Strided { off: d_off, stride: d_stride, .. },
            ) => {
                let (from, to) = (from.wrapping_offset(*off), to.wrapping_offset(*d_off));
                (kernels.pack.strided)(from, *stride, to, *d_stride, *count, *len);
            }
            (
                Plan::Grid { off, counts, strides, len, kernels },
                Plan::Grid { off: d_off, strides: d_strides, .. },
            ) => {
                let (from, to) = (from.wrapping_offset(*off), to.wrapping_offset(*d_off));
                rows(kernels, (from, *strides), (to, *d_strides), *counts, *len);
            }
            (Plan::List { offs, ends, .. }, Plan::List { offs: d_offs, .. }) => {
                let mut begin = 0;
                for ((off, d_off), end) in offs.iter().zip(d_offs).zip(ends) {
                    block(from.wrapping_offset(*off), to.wrapping_offset(*d_off), end - begin);
                    begin = *end;
                }
            }
            (
                Plan::Fields { off, count, stride, fields, .. },
                Plan::Fields { off: d_off, stride: d_stride, fields: d_fields, .. },
            ) => structs(
                (fields, from.wrapping_offset(*off), *stride),
                (d_fields, to.wrapping_offset(*d_off), *d_stride),
                *count,
            ),
            (
                Plan::Loop { off, count, stride, body, .. },
                Plan::Loop { off: d_off, stride: d_stride, body: d_body, .. },
            ) => {
                for i in 0..*count {
                    both(body, at(from, *off, *stride, i), d_body, at(to, *d_off, *d_stride, i));
                }
            }
            (Plan::Seq { parts, .. }, Plan::Seq { parts: d_parts, .. }) => {
                for (s, d) in parts.iter().zip(d_parts) {
                    both(s, from, d, to);
                }
            }
            _ => unreachable!("the plans were found alike"),
        }
    }
}

/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they don't overlap.
unsafe fn block(from: *mut u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { Pack::copy::<Any<NARROW>>(from, to, len) }
}

/// # Safety
/// All blocks of both matrices are valid, and no byte is in both.
unsafe fn rows(
    kernels: &Kernels,
    (from, strides): (*mut u8, [isize; 2]),
    (to, d_strides): (*mut u8, [isize; 2]),
    counts: [usize; 2],
    len: usize,
) {
    for i in 0..counts[0] {
        let (from, to) = (at(from, 0, strides[0], i), at(to, 0, d_strides[0], i));
        // SAFETY: one row of the blocks that the caller promises.
        unsafe { (kernels.pack.strided)(from, strides[1], to, d_strides[1], counts[1], len) };
    }
}

/// # Safety
/// All fields of `n` structures on both sides are valid, and no byte is on both.
unsafe fn structs(
    (fields, from, stride): (&[Field], *mut u8, isize),
    (d_fields, to, d_stride): (&[Field], *mut u8, isize),
    n: usize,
) {
    for first in (0..n).step_by(BATCH) {
        let batch = (n - first).min(BATCH);
        for (f, g) in fields.iter().zip(d_fields) {
            let (from, to) = (at(from, f.off, stride, first), at(to, g.off, d_stride, first));
            // SAFETY: the caller's promise.
            unsafe { (f.kernels.pack.strided)(from, stride, to, d_stride, batch, f.len) };
        }
    }
}

/// Place of repetition `i`.
#[inline(always)]
fn at(base: *mut u8, off: isize, stride: isize, i: usize) -> *mut u8 {
    base.wrapping_offset(off).wrapping_offset(stride.wrapping_mul(i as isize))
}
