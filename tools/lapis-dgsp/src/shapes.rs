//! The shapes that are timed: those of the DDTBench collection, in sizes of a halo exchange, and
//! some plain ones.
//!
//! `peers/mpi_pack.c` builds the same shapes with MPI datatypes; sizes and index lists must match.

use crate::handwritten;
use crate::shape::{Array, Both, Shape};
use lapis_dgsp::{Error, Layout, Order};

/// All shapes.
pub(crate) fn all() -> Result<Vec<Shape>, Error> {
    let (float, double) = (Layout::bytes(4)?, Layout::bytes(8)?);
    let n = 66;
    let mut shapes = vec![
        boxes("wrf_x", 4, [48, 28, 72], [40, 20, 3], [4, 4, 3], 4, &float, handwritten::BOX_F32)?,
        boxes("wrf_y", 4, [48, 28, 72], [3, 20, 64], [4, 4, 4], 4, &float, handwritten::BOX_ROWS_F32)?,
        strided("milc_su3_zd", 16, 128, 2048, 24, handwritten::VECTOR_24)?,
        strided("nas_lu_x", 1, 510, 510, 8, handwritten::VECTOR_F64)?,
        strided("nas_lu_y", 102, 5, 510, 8, handwritten::LU_Y)?,
        boxes("nas_mg_x", 1, [n, n, n], [n - 2, n - 2, 1], [1, 1, 1], 8, &double, handwritten::BOX_F64)?,
        boxes("nas_mg_y", 1, [n, n, n], [n - 2, 1, n - 2], [1, 1, 1], 8, &double, handwritten::BOX_ROWS_F64)?,
        boxes("nas_mg_z", 1, [n, n, n], [1, n - 2, n - 2], [1, 1, 1], 8, &double, handwritten::BOX_ROWS_F64)?,
        atoms("lammps_full", &[24, 4, 4, 4, 8, 4])?,
        atoms("lammps_atomic", &[24, 4, 4, 4])?,
        points("specfem3d_oc", 1, 4, 8192, 40_000, &float, handwritten::RANDOM_F32)?,
        points("specfem3d_cm", 2, 12, 4096, 20_000, &Layout::bytes(12)?, handwritten::CM)?,
    ];
    shapes.push(fft2()?);
    shapes.push(strided("column", 1024, 1, 1024, 8, handwritten::VECTOR_F64)?);
    shapes.push(triangle()?);
    shapes.push(Shape {
        name: "int_char",
        layout: Layout::structure(&[(1, 0, &float), (1, 4, &Layout::bytes(1)?)])?.aligned(4)?,
        reps: 16_384,
        memory: 16_384 * 8,
        arrays: Vec::new(),
        index: Vec::new(),
        hand: handwritten::INT_CHAR,
    });
    shapes.push(points("random_index", 1, 8, 8192, 65_536, &double, handwritten::RANDOM_F64)?);
    Ok(shapes)
}

#[allow(clippy::too_many_arguments, reason = "one row of the table above")]
fn boxes(
    name: &'static str,
    arrays: usize,
    size: [usize; 3],
    sub: [usize; 3],
    start: [usize; 3],
    element: usize,
    old: &Layout,
    hand: Both,
) -> Result<Shape, Error> {
    let long = |a: [usize; 3]| a.map(|v| v as u64);
    let one = Layout::subarray(&long(size), &long(sub), &long(start), Order::C, old)?;
    let each = size.iter().product::<usize>() * element;
    let fields: Vec<_> = (0..arrays).map(|i| (1, (i * each) as i64, &one)).collect();
    Ok(Shape {
        name,
        layout: Layout::structure(&fields)?,
        reps: 1,
        memory: arrays * each,
        arrays: (0..arrays).map(|i| Array { at: i * each, size, sub, start }).collect(),
        index: Vec::new(),
        hand,
    })
}

/// `count` blocks of `len` elements, `stride` elements apart.
fn strided(
    name: &'static str,
    count: usize,
    len: usize,
    stride: usize,
    element: usize,
    hand: Both,
) -> Result<Shape, Error> {
    let old = Layout::bytes(element as u64)?;
    Ok(Shape {
        name,
        layout: Layout::vector(count as u64, len as u64, stride as i64, &old)?,
        reps: 1,
        memory: count * stride * element,
        arrays: vec![Array { size: [0, count, stride], sub: [0, 0, len], ..Array::default() }],
        index: Vec::new(),
        hand,
    })
}

/// Chosen atoms' fields of the given sizes, each field in an array of its own.
fn atoms(name: &'static str, fields: &[usize]) -> Result<Shape, Error> {
    const ATOMS: usize = 10_000;
    let index = ascending(3000, 10_000);
    let disps: Vec<i64> = index.iter().map(|&i| i64::from(i)).collect();
    let (mut at, mut arrays, mut layouts) = (0, Vec::new(), Vec::new());
    for &field in fields {
        layouts.push((at as i64, Layout::indexed_block(1, &disps, &Layout::bytes(field as u64)?)?));
        arrays.push(Array { at, size: [0, 0, field], ..Array::default() });
        at += ATOMS * field;
    }
    let fields: Vec<_> = layouts.iter().map(|(at, l)| (1, *at, l)).collect();
    let layout = Layout::structure(&fields)?;
    Ok(Shape { name, layout, reps: 1, memory: at, arrays, index, hand: handwritten::LAMMPS })
}

/// Elements of `arrays` arrays at unordered indices.
fn points(
    name: &'static str,
    arrays: usize,
    element: usize,
    chosen: usize,
    of: usize,
    old: &Layout,
    hand: Both,
) -> Result<Shape, Error> {
    let index = unordered(chosen, of);
    let disps: Vec<i64> = index.iter().map(|&i| i64::from(i)).collect();
    let one = Layout::indexed_block(1, &disps, old)?;
    let each = of * element;
    let fields: Vec<_> = (0..arrays).map(|i| (1, (i * each) as i64, &one)).collect();
    Ok(Shape {
        name,
        layout: Layout::structure(&fields)?,
        reps: 1,
        memory: arrays * each,
        arrays: (0..arrays).map(|i| Array { at: i * each, ..Array::default() }).collect(),
        index,
        hand,
    })
}

/// The columns of 64 × 64 complex numbers out of rows of 256, column by column.
fn fft2() -> Result<Shape, Error> {
    let complex = Layout::bytes(16)?;
    let column = Layout::vector(64, 1, 256, &complex)?.resized(0, 16)?;
    Ok(Shape {
        name: "fft2",
        layout: Layout::contiguous(64, &column)?,
        reps: 1,
        memory: 64 * 256 * 16,
        arrays: vec![Array { size: [0, 64, 256], sub: [0, 0, 64], ..Array::default() }],
        index: Vec::new(),
        hand: handwritten::TRANSPOSE,
    })
}

fn triangle() -> Result<Shape, Error> {
    const N: usize = 256;
    let rows: Vec<(u64, i64)> = (0..N).map(|i| (i as u64 + 1, (i * N) as i64)).collect();
    Ok(Shape {
        name: "lower_triangle",
        layout: Layout::indexed(&rows, &Layout::bytes(8)?)?,
        reps: 1,
        memory: N * N * 8,
        arrays: vec![Array { size: [0, 0, N], ..Array::default() }],
        index: Vec::new(),
        hand: handwritten::TRIANGLE,
    })
}

/// A plain generator that C can repeat.
fn step(state: &mut u32) -> usize {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*state >> 8) as usize
}

/// `chosen` different indices below `of`, shuffled.
fn unordered(chosen: usize, of: usize) -> Vec<i32> {
    let mut all: Vec<i32> = (0..of as i32).collect();
    let mut state = 12_345;
    for i in 0..chosen {
        let j = i + step(&mut state) % (of - i);
        all.swap(i, j);
    }
    all.truncate(chosen);
    all
}

fn ascending(chosen: usize, of: usize) -> Vec<i32> {
    let mut index = unordered(chosen, of);
    index.sort_unstable();
    index
}
