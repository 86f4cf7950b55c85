//! Running a plan from any byte for any number of bytes.
#![allow(unsafe_code, reason = "the engine works on the user's raw memory")]

use crate::engine::kernels::{Direction, Kernels};
use crate::engine::lengths::{Any, NARROW};
use crate::engine::plan::{Field, Plan};

/// Repetitions of a structure that are done field by field before the next ones, so that their
/// lines stay in the cache.
const FIELD_BATCH: usize = 64;

/// A place in the packed data: what is still to pass over, then what is still to move.
struct Cursor {
    buf: *mut u8,
    skip: usize,
    left: usize,
}

/// Moves up to `len` bytes between `mem` and `buf`, starting `skip` bytes into the plan. Answers
/// how many it moved: `len`, or what the plan has left.
///
/// # Safety
/// - `buf` is valid for `len` bytes, for reads (`Unpack`) or writes (`Pack`).
/// - Every byte that the plan names between `skip` and `skip + len`, relative to `mem`, is valid
///   for writes (`Unpack`) or reads (`Pack`), and outside `buf`.
#[inline]
pub(crate) unsafe fn run<D: Direction>(
    plan: &Plan,
    mem: *mut u8,
    skip: usize,
    buf: *mut u8,
    len: usize,
) -> usize {
    if let Plan::Bytes { off, len: all } = plan
        && skip.checked_add(len).is_some_and(|end| end <= *all)
    {
        // SAFETY: `len` bytes of the one block, which the caller promises.
        unsafe { D::copy::<Any<NARROW>>(mem.wrapping_offset(*off).wrapping_add(skip), buf, len) };
        return len;
    }
    let mut cursor = Cursor { buf, skip, left: len };
    // SAFETY: the caller's promise.
    unsafe { step::<D>(plan, mem, &mut cursor) };
    len - cursor.left
}

/// # Safety
/// As [`run`], for the cursor's place.
unsafe fn step<D: Direction>(plan: &Plan, mem: *mut u8, c: &mut Cursor) {
    // SAFETY: every arm moves bytes that the plan names, in their order, and no more than the
    // cursor asks for.
    unsafe {
        match plan {
            Plan::Bytes { off, len } => block::<D>(mem.wrapping_offset(*off), *len, c),
            Plan::Strided { off, count, stride, len, kernels } => {
                let mem = mem.wrapping_offset(*off);
                repeat(
                    *count,
                    *len,
                    c,
                    |i, c| block::<D>(at(mem, *stride, i), *len, c),
                    |i, n, buf| {
                        strided::<D>(kernels, at(mem, *stride, i), *stride, buf, *len as isize, n, *len)
                    },
                );
            }
            Plan::Grid { off, counts, strides, len, kernels } => {
                grid::<D>(kernels, mem.wrapping_offset(*off), *counts, *strides, *len, c);
            }
            Plan::Table { offs, base, len, kernels } => {
                let mem = mem.wrapping_offset(*base);
                repeat(
                    offs.len(),
                    *len,
                    c,
                    |i, c| block::<D>(mem.wrapping_offset(offs[i] as isize), *len, c),
                    |i, n, buf| (D::kernel(kernels).table)(mem, &offs[i..i + n], buf, *len),
                );
            }
            Plan::List { offs, ends, kernels } => list::<D>(kernels, offs, ends, mem, c),
            Plan::Fields { off, count, stride, size, fields, permutation } => {
                let mem = mem.wrapping_offset(*off);
                repeat(
                    *count,
                    *size,
                    c,
                    |i, c| one_struct::<D>(fields, at(mem, *stride, i), c),
                    |i, n, buf| match permutation {
                        Some(permutation) => D::permute(permutation, at(mem, *stride, i), buf, n),
                        None => structs::<D>(fields, at(mem, *stride, i), *stride, buf, *size, n),
                    },
                );
            }
            Plan::Loop { off, count, stride, size, body } => {
                again::<D>(body, mem.wrapping_offset(*off), *count, *stride, *size, c);
            }
            Plan::Seq { parts, ends } => in_turn::<D>(parts, ends, mem, c),
        }
    }
}

/// One part after the other.
///
/// # Safety
/// As [`step`], for each part.
#[inline(always)]
unsafe fn in_turn<D: Direction>(parts: &[Plan], ends: &[usize], mem: *mut u8, c: &mut Cursor) {
    let first = ends.partition_point(|&end| end <= c.skip);
    c.skip -= start(ends, first);
    for part in &parts[first.min(parts.len())..] {
        if c.left == 0 {
            break;
        }
        // SAFETY: `step`'s caller vouches for what each part names.
        unsafe { step::<D>(part, mem, c) };
    }
}

/// A matrix of equal blocks: rows are cut as blocks are.
///
/// # Safety
/// As [`step`].
#[inline(always)]
unsafe fn grid<D: Direction>(
    kernels: &Kernels,
    mem: *mut u8,
    counts: [usize; 2],
    strides: [isize; 2],
    len: usize,
    c: &mut Cursor,
) {
    // SAFETY: `step`'s caller vouches for the blocks of the matrix; `repeat` asks for no more.
    unsafe {
        repeat(
            counts[0],
            counts[1] * len,
            c,
            |i, c| {
                let mem = at(mem, strides[0], i);
                repeat(
                    counts[1],
                    len,
                    c,
                    |j, c| block::<D>(at(mem, strides[1], j), len, c),
                    |j, n, buf| {
                        let mem = at(mem, strides[1], j);
                        strided::<D>(kernels, mem, strides[1], buf, len as isize, n, len);
                    },
                );
            },
            |i, n, buf| {
                (D::kernel(kernels).grid)(at(mem, strides[0], i), [n, counts[1]], strides, buf, len);
            },
        );
    }
}

/// Anything, repeated.
///
/// # Safety
/// As [`step`], for each repetition of the body.
#[inline(always)]
unsafe fn again<D: Direction>(
    body: &Plan,
    mem: *mut u8,
    count: usize,
    stride: isize,
    size: usize,
    c: &mut Cursor,
) {
    // SAFETY: `step`'s caller vouches for each repetition; `repeat` asks for no more of them.
    unsafe {
        repeat(
            count,
            size,
            c,
            |i, c| step::<D>(body, at(mem, stride, i), c),
            |i, n, buf| {
                // The same box in several arrays, say: going through `step` for each costs as much
                // as some rows.
                if let Plan::Grid { off, counts, strides, len, kernels } = body {
                    for k in 0..n {
                        let (mem, buf) = (at(mem, stride, i + k), buf.wrapping_add(k * size));
                        let grid = D::kernel(kernels).grid;
                        grid(mem.wrapping_offset(*off), *counts, *strides, buf, *len);
                    }
                    return;
                }
                let mut whole = Cursor { buf, skip: 0, left: n * size };
                for k in i..i + n {
                    step::<D>(body, at(mem, stride, k), &mut whole);
                }
            },
        );
    }
}

/// Goes through `count` equal parts of `size` bytes: `partial` for the one that the cursor cuts at
/// either end, `whole` for those in between, given the first one's index, their number and their
/// place in the buffer.
fn repeat(
    count: usize,
    size: usize,
    c: &mut Cursor,
    mut partial: impl FnMut(usize, &mut Cursor),
    mut whole: impl FnMut(usize, usize, *mut u8),
) {
    let mut i = 0;
    if c.skip > 0 {
        i = (c.skip / size).min(count);
        c.skip -= i * size;
        if c.skip > 0 && i < count {
            partial(i, c);
            i += 1;
        }
    }
    let n = (c.left / size).min(count - i);
    if n > 0 {
        whole(i, n, c.buf);
        c.buf = c.buf.wrapping_add(n * size);
        c.left -= n * size;
        i += n;
    }
    if c.left > 0 && i < count {
        partial(i, c);
    }
}

/// What the cursor wants of one block.
///
/// # Safety
/// The bytes of the block that the cursor wants are valid.
#[inline(always)]
unsafe fn block<D: Direction>(mem: *mut u8, len: usize, c: &mut Cursor) {
    let from = c.skip.min(len);
    let n = (len - from).min(c.left);
    c.skip -= from;
    // SAFETY: `n` bytes of the block, and no more than the cursor has left.
    unsafe { D::copy::<Any<NARROW>>(mem.wrapping_add(from), c.buf, n) };
    c.buf = c.buf.wrapping_add(n);
    c.left -= n;
}

/// # Safety
/// As [`step`].
unsafe fn list<D: Direction>(
    kernels: &Kernels,
    offs: &[isize],
    ends: &[usize],
    mem: *mut u8,
    c: &mut Cursor,
) {
    let mut i = ends.partition_point(|&end| end <= c.skip);
    let mut begin = start(ends, i);
    c.skip -= begin;
    if c.skip > 0 && i < ends.len() {
        // SAFETY: the caller's promise.
        unsafe { block::<D>(mem.wrapping_offset(offs[i]), ends[i] - begin, c) };
        begin = ends[i];
        i += 1;
    }
    // Whole blocks: the ends say where in the buffer each goes.
    let last = i + ends[i..].partition_point(|&end| end - begin <= c.left);
    let first = begin;
    if last > i {
        // SAFETY: the caller's promise; all these blocks end within what the cursor has left.
        unsafe { (D::kernel(kernels).list)(mem, &offs[i..last], &ends[i..last], begin, c.buf) };
        begin = ends[last - 1];
    }
    c.buf = c.buf.wrapping_add(begin - first);
    c.left -= begin - first;
    if c.left > 0 && last < ends.len() {
        // SAFETY: the caller's promise.
        unsafe { block::<D>(mem.wrapping_offset(offs[last]), ends[last] - begin, c) };
    }
}

/// # Safety
/// As [`step`].
unsafe fn one_struct<D: Direction>(fields: &[Field], mem: *mut u8, c: &mut Cursor) {
    for f in fields {
        // SAFETY: the caller's promise.
        unsafe { block::<D>(mem.wrapping_offset(f.off), f.len, c) };
    }
}

/// # Safety
/// As [`step`], for `n` whole structures.
unsafe fn structs<D: Direction>(
    fields: &[Field],
    mem: *mut u8,
    stride: isize,
    buf: *mut u8,
    size: usize,
    n: usize,
) {
    let mut i = 0;
    while i < n {
        let batch = (n - i).min(FIELD_BATCH);
        let (mem, buf) = (at(mem, stride, i), buf.wrapping_add(i * size));
        for f in fields {
            let (mem, buf) = (mem.wrapping_offset(f.off), buf.wrapping_add(f.at));
            // SAFETY: the caller's promise.
            unsafe { strided::<D>(&f.kernels, mem, stride, buf, size as isize, batch, f.len) };
        }
        i += batch;
    }
}

/// # Safety
/// All blocks are valid on both sides.
#[inline(always)]
unsafe fn strided<D: Direction>(
    kernels: &Kernels,
    mem: *mut u8,
    ms: isize,
    buf: *mut u8,
    bs: isize,
    n: usize,
    len: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { (D::kernel(kernels).strided)(mem, ms, buf, bs, n, len) }
}

/// Place of repetition `i`.
#[inline(always)]
fn at(mem: *mut u8, stride: isize, i: usize) -> *mut u8 {
    mem.wrapping_offset(stride.wrapping_mul(i as isize))
}

/// Where part `i` begins, given the parts' ends.
#[inline(always)]
fn start(ends: &[usize], i: usize) -> usize {
    if i == 0 { 0 } else { ends[i - 1] }
}
