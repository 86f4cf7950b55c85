//! Two plans of the same structure, run in lockstep: each kernel reads one side's blocks and writes
//! the other's.
#![allow(unsafe_code, reason = "the engine works on the user's raw memory")]

use crate::engine::kernels::{Direction, Kernels, Pack};
use crate::engine::lengths::{Any, NARROW};
use crate::engine::plan::{Field, Plan};

/// Repetitions of a structure that are done field by field before the next ones.
const BATCH: usize = 64;
/// Matrices whose rows lie nearer than this are transposed, which packing does better, several
/// columns at a time.
const NEAR: usize = 32;

/// Bytes from `skip` to where a block that both plans have begins; 0 at a block's start, and where
/// the plans differ.
pub(crate) fn to_block(s: &Plan, d: &Plan, skip: usize) -> usize {
    let rest = |unit: usize| if skip.is_multiple_of(unit) { 0 } else { unit - skip % unit };
    match (s, d) {
        (Plan::Loop { size, body, .. }, Plan::Loop { body: d_body, size: d_size, .. }) if size == d_size => {
            to_block(body, d_body, skip % size)
        }
        (Plan::Seq { parts, ends }, Plan::Seq { parts: d_parts, ends: d_ends }) => {
            let i = ends.partition_point(|&end| end <= skip);
            match (parts.get(i), d_parts.get(i)) {
                (Some(s), Some(d)) if ends[..i] == d_ends[..i] => to_block(s, d, skip - start(ends, i)),
                _ => 0,
            }
        }
        (Plan::List { ends, .. }, Plan::List { .. }) => {
            let i = ends.partition_point(|&end| end <= skip);
            ends.get(i).filter(|_| skip > start(ends, i)).map_or(0, |end| end - skip)
        }
        (Plan::Table { len, .. }, Plan::Table { .. }) | (Plan::Strided { len, .. }, Plan::Strided { .. }) => {
            rest(*len)
        }
        (Plan::Fields { size, .. }, Plan::Fields { .. }) => rest(*size),
        (Plan::Grid { counts, len, .. }, Plan::Grid { .. }) => rest(counts[1] * len),
        _ => 0,
    }
}

/// Copies as much of `bytes` bytes from `skip` on as both plans move by the same blocks. Answers
/// how many bytes that were: 0 if the plans are not alike, or if no block begins at `skip`. What is
/// left is less than a part of the plans, or lies behind a difference.
///
/// # Safety
/// Every byte that the source's plan names in these bytes is readable, every one of the target's
/// writable, and no byte is on both sides.
pub(crate) unsafe fn common(
    s: &Plan,
    from: *mut u8,
    d: &Plan,
    to: *mut u8,
    skip: usize,
    bytes: usize,
) -> usize {
    // SAFETY: no more than `bytes` bytes from `skip` on, in each arm.
    unsafe {
        match (s, d) {
            (Plan::Bytes { off, len }, Plan::Bytes { off: d_off, len: d_len }) => {
                let n = bytes.min((*len).min(*d_len).saturating_sub(skip));
                let (from, to) = (from.wrapping_offset(*off), to.wrapping_offset(*d_off));
                block(from.wrapping_add(skip), to.wrapping_add(skip), n);
                n
            }
            (
                Plan::Loop { off, count, stride, size, body },
                Plan::Loop { off: d_off, count: d_count, stride: d_stride, size: d_size, body: d_body },
            ) if size == d_size => {
                let (s, d) = ((&**body, *off, *stride), (&**d_body, *d_off, *d_stride));
                common_loop(s, from, d, to, *count.min(d_count), *size, skip, bytes)
            }
            (Plan::Seq { parts, ends }, Plan::Seq { parts: d_parts, ends: d_ends }) => {
                let equal = ends.iter().zip(d_ends).take_while(|(a, b)| a == b).count();
                let mut i = ends.partition_point(|&end| end <= skip);
                let mut done = 0;
                while done < bytes && i < equal {
                    let within = (skip + done) - start(ends, i);
                    let left = (bytes - done).min(ends[i] - start(ends, i) - within);
                    let n = common(&parts[i], from, &d_parts[i], to, within, left);
                    done += n;
                    if n < left {
                        break;
                    }
                    i += 1;
                }
                done
            }
            (Plan::List { offs, ends, kernels }, Plan::List { offs: d_offs, ends: d_ends, .. }) => {
                let first = ends.partition_point(|&end| end <= skip);
                let last = ends.partition_point(|&end| end <= skip + bytes).min(d_ends.len());
                if first >= last || start(ends, first) != skip || ends[..last] != d_ends[..last] {
                    return 0;
                }
                let blocks = first..last;
                let (offs, d_offs) = (&offs[blocks.clone()], &d_offs[blocks.clone()]);
                (kernels.lists)(from, offs, to, d_offs, &ends[blocks], skip);
                ends[last - 1] - skip
            }
            _ => common_parts(s, from, d, to, skip, bytes),
        }
    }
}

/// Bodies that both plans repeat, whole ones without asking at each what is alike.
///
/// # Safety
/// As [`common`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "both sides of a copy, and which part of it")]
unsafe fn common_loop(
    (body, off, stride): (&Plan, isize, isize),
    from: *mut u8,
    (d_body, d_off, d_stride): (&Plan, isize, isize),
    to: *mut u8,
    count: usize,
    size: usize,
    skip: usize,
    bytes: usize,
) -> usize {
    let mut i = skip / size;
    let mut within = skip % size;
    let mut done = 0;
    let whole = within + bytes >= 2 * size && alike(body, d_body);
    while i < count && done < bytes {
        let left = (bytes - done).min(size - within);
        let (from, to) = (at(from, off, stride, i), at(to, d_off, d_stride, i));
        if whole && left == size {
            // SAFETY: a whole repetition of the bytes that `common`'s caller vouches for; the
            // bodies were found alike.
            unsafe { both(body, from, d_body, to) };
            done += size;
        } else {
            // SAFETY: a part of the bytes that `common`'s caller vouches for.
            let n = unsafe { common(body, from, d_body, to, within, left) };
            done += n;
            if n < left {
                break;
            }
        }
        (i, within) = (i + 1, 0);
    }
    done
}

/// [`common`] for plans of equal parts, which begin with a whole one.
///
/// # Safety
/// As [`common`].
#[inline(always)]
unsafe fn common_parts(s: &Plan, from: *mut u8, d: &Plan, to: *mut u8, skip: usize, bytes: usize) -> usize {
    // The first repetition, and how many of them, of `count` parts of `size` bytes.
    let reps = |count: usize, size: usize| {
        let first = skip / size;
        if !skip.is_multiple_of(size) || first >= count {
            return (0, 0);
        }
        (first, (count - first).min(bytes / size))
    };
    // SAFETY: whole parts of the `bytes` bytes from `skip` on, for which `common`'s caller vouches.
    unsafe {
        match (s, d) {
            (
                Plan::Table { offs, base, len, kernels },
                Plan::Table { offs: d_offs, base: d_base, len: d_len, .. },
            ) if len == d_len => {
                let (first, n) = reps(offs.len().min(d_offs.len()), *len);
                let blocks = first..first + n;
                let (from, to) = (from.wrapping_offset(*base), to.wrapping_offset(*d_base));
                (kernels.tables)(from, &offs[blocks.clone()], to, &d_offs[blocks], *len);
                n * len
            }
            (
                Plan::Strided { off, count, stride, len, kernels },
                Plan::Strided { off: d_off, count: d_count, stride: d_stride, len: d_len, .. },
            ) if len == d_len => {
                let (first, n) = reps(*count.min(d_count), *len);
                let (from, to) = (at(from, *off, *stride, first), at(to, *d_off, *d_stride, first));
                (kernels.pack.strided)(from, *stride, to, *d_stride, n, *len);
                n * len
            }
            (
                Plan::Fields { off, count, stride, size, fields, permutation: None },
                Plan::Fields { off: d_off, count: d_count, stride: d_stride, fields: d_fields, .. },
            ) if same_fields(fields, d_fields) => {
                let (first, n) = reps(*count.min(d_count), *size);
                structs(
                    (fields, at(from, *off, *stride, first), *stride),
                    (d_fields, at(to, *d_off, *d_stride, first), *d_stride),
                    n,
                );
                n * size
            }
            (
                Plan::Grid { off, counts, strides, len, kernels },
                Plan::Grid { off: d_off, counts: d_counts, strides: d_strides, len: d_len, .. },
            ) if len == d_len && counts[1] == d_counts[1] && !(near(strides) || near(d_strides)) => {
                let (first, n) = reps(counts[0].min(d_counts[0]), counts[1] * len);
                let (from, to) = (at(from, *off, strides[0], first), at(to, *d_off, d_strides[0], first));
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
        (Plan::Fields { count, fields, permutation: None, .. }, Plan::Fields { count: c, fields: f, .. }) => {
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
/// Both plans are [`alike`]; the memory that each names, from its base on, is valid for reading and
/// writing, and the two do not overlap.
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
                (kernels.lists)(from, offs, to, d_offs, ends, 0);
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

/// Where part `i` begins, given the parts' ends.
fn start(ends: &[usize], i: usize) -> usize {
    if i == 0 { 0 } else { ends[i - 1] }
}
