//! Hand-written copies of the shapes: what an application's author would write.
#![allow(unsafe_code, reason = "plain loops over raw memory, as a C programmer would write them")]

use crate::shape::{Array, Both, Shape};

pub(crate) trait Way {
    /// # Safety
    /// Both are valid.
    unsafe fn one<T: Copy>(mem: *mut T, buf: *mut T);
    /// # Safety
    /// Both are valid for `n` values and don't overlap.
    unsafe fn run<T: Copy>(mem: *mut T, buf: *mut T, n: usize);
}

pub(crate) struct Pack;
pub(crate) struct Unpack;

impl Way for Pack {
    #[inline(always)]
    unsafe fn one<T: Copy>(mem: *mut T, buf: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { buf.write_unaligned(mem.read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn run<T: Copy>(mem: *mut T, buf: *mut T, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { buf.copy_from_nonoverlapping(mem, n) }
    }
}

impl Way for Unpack {
    #[inline(always)]
    unsafe fn one<T: Copy>(mem: *mut T, buf: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { mem.write_unaligned(buf.read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn run<T: Copy>(mem: *mut T, buf: *mut T, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { mem.copy_from_nonoverlapping(buf, n) }
    }
}

macro_rules! both {
    ($name:ident, $loop:ident $(, $arg:ty)*) => {
        pub(crate) const $name: Both =
            Both { pack: $loop::<Pack $(, $arg)*>, unpack: $loop::<Unpack $(, $arg)*> };
    };
}

both!(BOX_F32, boxes, f32);
both!(BOX_ROWS_F32, box_rows, f32);
both!(BOX_F64, boxes, f64);
both!(BOX_ROWS_F64, box_rows, f64);
both!(VECTOR_24, vector, [u8; 24]);
both!(VECTOR_F64, vector, f64);
both!(LU_Y, five_doubles);
both!(TRANSPOSE, transpose);
both!(TRIANGLE, triangle);
both!(INT_CHAR, int_char);
both!(RANDOM_F64, indexed, f64);
both!(RANDOM_F32, indexed, f32);
both!(CM, indexed_triples);
both!(LAMMPS, atoms);

/// Sub-boxes of 3-D arrays, element by element.
///
/// # Safety
/// Memory and buffer fit the shape; so for all functions here.
unsafe fn boxes<W: Way, T: Copy>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let mut b = buf.cast::<T>();
    for a in &s.arrays {
        let m = mem.wrapping_add(a.at).cast::<T>();
        let [nz, ny, nx] = a.sub;
        for z in a.start[0]..a.start[0] + nz {
            for y in a.start[1]..a.start[1] + ny {
                let row = m.wrapping_add((z * a.size[1] + y) * a.size[2] + a.start[2]);
                for x in 0..nx {
                    // SAFETY: inside the array and the buffer.
                    unsafe { W::one(row.wrapping_add(x), b) };
                    b = b.wrapping_add(1);
                }
            }
        }
    }
}

/// Sub-boxes of 3-D arrays, row by row with memcpy.
///
/// # Safety
/// As `boxes`.
unsafe fn box_rows<W: Way, T: Copy>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let mut b = buf.cast::<T>();
    for a in &s.arrays {
        let m = mem.wrapping_add(a.at).cast::<T>();
        let [nz, ny, nx] = a.sub;
        for z in a.start[0]..a.start[0] + nz {
            for y in a.start[1]..a.start[1] + ny {
                let row = m.wrapping_add((z * a.size[1] + y) * a.size[2] + a.start[2]);
                // SAFETY: inside the array and the buffer.
                unsafe { W::run(row, b, nx) };
                b = b.wrapping_add(nx);
            }
        }
    }
}

/// # Safety
/// As `boxes`.
unsafe fn vector<W: Way, T: Copy>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let Array { size: [_, count, stride], sub: [_, _, len], .. } = s.arrays[0];
    let (m, mut b) = (mem.cast::<T>(), buf.cast::<T>());
    for i in 0..count {
        if len == 1 {
            // SAFETY: inside the array and the buffer.
            unsafe { W::one(m.wrapping_add(i * stride), b) };
        } else {
            // SAFETY: inside the array and the buffer.
            unsafe { W::run(m.wrapping_add(i * stride), b, len) };
        }
        b = b.wrapping_add(len);
    }
}

/// # Safety
/// As `boxes`.
unsafe fn five_doubles<W: Way>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let Array { size: [_, count, stride], .. } = s.arrays[0];
    let (m, mut b) = (mem.cast::<f64>(), buf.cast::<f64>());
    for i in 0..count {
        for k in 0..5 {
            // SAFETY: inside the array and the buffer.
            unsafe { W::one(m.wrapping_add(i * stride + k), b.wrapping_add(k)) };
        }
        b = b.wrapping_add(5);
    }
}

/// Columns of a matrix of complex numbers, one after the other.
///
/// # Safety
/// As `boxes`.
unsafe fn transpose<W: Way>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let Array { size: [_, rows, pitch], sub: [_, _, columns], .. } = s.arrays[0];
    let (m, mut b) = (mem.cast::<[f64; 2]>(), buf.cast::<[f64; 2]>());
    for j in 0..columns {
        for i in 0..rows {
            // SAFETY: inside the array and the buffer.
            unsafe { W::one(m.wrapping_add(i * pitch + j), b) };
            b = b.wrapping_add(1);
        }
    }
}

/// # Safety
/// As `boxes`.
unsafe fn triangle<W: Way>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let n = s.arrays[0].size[2];
    let (m, mut b) = (mem.cast::<f64>(), buf.cast::<f64>());
    for i in 0..n {
        // SAFETY: inside the array and the buffer.
        unsafe { W::run(m.wrapping_add(i * n), b, i + 1) };
        b = b.wrapping_add(i + 1);
    }
}

/// # Safety
/// As `boxes`.
unsafe fn int_char<W: Way>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    for i in 0..s.reps as usize {
        let (m, b) = (mem.wrapping_add(i * 8), buf.wrapping_add(i * 5));
        // SAFETY: inside the array and the buffer.
        unsafe {
            W::one(m.cast::<i32>(), b.cast::<i32>());
            W::one(m.wrapping_add(4), b.wrapping_add(4));
        }
    }
}

/// # Safety
/// As `boxes`.
unsafe fn indexed<W: Way, T: Copy>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let (m, b) = (mem.cast::<T>(), buf.cast::<T>());
    for (k, &i) in s.index.iter().enumerate() {
        // SAFETY: inside the array and the buffer.
        unsafe { W::one(m.wrapping_add(i as usize), b.wrapping_add(k)) };
    }
}

/// # Safety
/// As `boxes`.
unsafe fn indexed_triples<W: Way>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let mut b = buf.cast::<[f32; 3]>();
    for a in &s.arrays {
        let m = mem.wrapping_add(a.at).cast::<[f32; 3]>();
        for &i in &s.index {
            // SAFETY: inside the array and the buffer.
            unsafe { W::one(m.wrapping_add(i as usize), b) };
            b = b.wrapping_add(1);
        }
    }
}

/// Fields of chosen atoms, array by array: positions first, then the fields of 4 and of 8 bytes.
///
/// # Safety
/// As `boxes`.
unsafe fn atoms<W: Way>(s: &Shape, mem: *mut u8, buf: *mut u8) {
    let mut b = buf;
    for a in &s.arrays {
        let m = mem.wrapping_add(a.at);
        // SAFETY: inside the arrays and the buffer.
        unsafe {
            match a.size[2] {
                24 => each::<W, [f64; 3]>(m, &mut b, &s.index),
                8 => each::<W, f64>(m, &mut b, &s.index),
                _ => each::<W, i32>(m, &mut b, &s.index),
            }
        }
    }
}

/// # Safety
/// As `boxes`.
#[inline(always)]
unsafe fn each<W: Way, T: Copy>(mem: *mut u8, buf: &mut *mut u8, index: &[i32]) {
    let (m, b) = (mem.cast::<T>(), buf.cast::<T>());
    for (k, &i) in index.iter().enumerate() {
        // SAFETY: inside the array and the buffer.
        unsafe { W::one(m.wrapping_add(i as usize), b.wrapping_add(k)) };
    }
    *buf = b.wrapping_add(index.len()).cast();
}
