//! Two plans that are built alike, run in step: each kernel reads one side's places and writes the other's.
#![allow(unsafe_code, reason = "the engine works on the user's raw memory")]

use crate::engine::kernels::{Direction, Kernels, Pack};
use crate::engine::lengths::{Any, NARROW};
use crate::engine::plan::{Field, Plan};

/// Repetitions of a structure that are done field by field before the next ones.
const BATCH: usize = 64;
/// Matrices whose rows lie nearer than this are transposed, which packing does better, several columns at a time.
const NEAR: usize = 32;

/// Copies as much of the first `bytes` bytes as both plans move by the same blocks. Answers how many bytes that were: 0 if the
/// plans are not alike. What is left is less than a part of the plans, or lies behind a difference.
///
/// # Safety
/// Every byte that the source's plan names in `bytes` bytes is readable, every one of the target's writable, and no byte is
/// on both sides.
pub(crate) unsafe fn prefix(s: &Plan, from: *mut u8, d: &Plan, to: *mut u8, bytes: usize) -> usize {
    let reps = |count: usize, size: usize| count.min(bytes / size);
    // SAFETY: no more than `bytes` bytes, in each arm.
    unsafe {
        match (s, d) {
            (Plan::Bytes { off, len }, Plan::Bytes { off: d_off, len: d_len }) => {
                let n = bytes.min(*len).min(*d_len);
                block(from.wrapping_offset(*off), to.wrapping_offset(*d_off), n);
                n
            }
            (
                Plan::Loop { off, count, stride, size, body },
                Plan::Loop { off: d_off, count: d_count, stride: d_stride, size: d_size, body: d_body },
            ) if size == d_size => {
                let most = *count.min(d_count);
                let n = if bytes < *size || !alike(body, d_body) { 0 } else { reps(most, *size) };
                for i in 0..n {
                    both(body, at(from, *off, *stride, i), d_body, at(to, *d_off, *d_stride, i));
                }
                let done = n * size;
                if n == most || bytes - done >= *size {
                    return done;
                }
                let (from, to) = (at(from, *off, *stride, n), at(to, *d_off, *d_stride, n));
                done + prefix(body, from, d_body, to, bytes - done)
            }
            (Plan::Seq { parts, .. }, Plan::Seq { parts: d_parts, .. }) => {
                let mut done = 0;
                for (s, d) in parts.iter().zip(d_parts) {
                    let (size, left) = (s.size(), bytes - done);
                    if size <= left && size == d.size() && alike(s, d) {
                        both(s, from, d, to);
                        done += size;
                        continue;
                    }
                    return done + prefix(s, from, d, to, left);
                }
                done
            }
            (Plan::List { offs, ends, kernels }, Plan::List { offs: d_offs, ends: d_ends, .. }) => {
                let n = ends.partition_point(|&end| end <= bytes).min(d_ends.len());
                let n = ends[..n].iter().zip(&d_ends[..n]).take_while(|(a, b)| a == b).count();
                (kernels.lists)(from, &offs[..n], to, &d_offs[..n], &ends[..n]);
                if n == 0 { 0 } else { ends[n - 1] }
            }
            (
                Plan::Table { offs, base, len, kernels },
                Plan::Table { offs: d_offs, base: d_base, len: d_len, .. },
            ) if len == d_len => {
                let n = reps(offs.len().min(d_offs.len()), *len);
                let (from, to) = (from.wrapping_offset(*base), to.wrapping_offset(*d_base));
                (kernels.tables)(from, &offs[..n], to, &d_offs[..n], *len);
                n * len
            }
            (
                Plan::Strided { off, count, stride, len, kernels },
                Plan::Strided { off: d_off, count: d_count, stride: d_stride, len: d_len, .. },
            ) if len == d_len => {
                let n = reps(*count.min(d_count), *len);
                let (from, to) = (from.wrapping_offset(*off), to.wrapping_offset(*d_off));
                (kernels.pack.strided)(from, *stride, to, *d_stride, n, *len);
                n * len
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
        (Plan::Table { offs, len, .. }, Plan::Table { offs: o, len: l, .. }) => {
            (offs.len(), len) == (o.len(), l)
        }
        (Plan::Fields { count, fields, comb: None, .. }, Plan::Fields { count: c, fields: f, .. }) => {
            count == c && same_fields(fields, f)
        }
        (Plan::Loop { count, body, .. }, Plan::Loop { count: c, body: b, .. }) => {
            count == c && alike(body, b)
        }
        (Plan::Seq { parts, .. }, Plan::Seq { parts: p, .. }) => {
            parts.len() == p.len() && parts.iter().zip(p).all(|(a, b)| alike(a, b))
        }
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
            (Plan::List { offs, ends, kernels }, Plan::List { offs: d_offs, .. }) => {
                (kernels.lists)(from, offs, to, d_offs, ends);
            }
            (Plan::Table { offs, base, len, kernels }, Plan::Table { offs: d_offs, base: d_base, .. }) => {
                let (from, to) = (from.wrapping_offset(*base), to.wrapping_offset(*d_base));
                (kernels.tables)(from, offs, to, d_offs, *len);
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
