//! Copy loops, one instance for each common block length.
//!
//! Each kernel exists in both directions; `mem` is the user's scattered memory, `buf` the packed
//! side.
#![allow(unsafe_code, reason = "the copy kernels work on the user's raw memory")]

use crate::engine::lengths::{Aligned, Any, Chunks, Fixed, Length, Long, MEMCPY, Row, Twice, WIDE, Wide};
use crate::engine::permute::Permutation;
use crate::engine::throttle::{self, Throttle};
use lapis_ablation::{Optimization, without};
use std::marker::PhantomData;

/// `(mem, mem_stride, buf, buf_stride, count, len)`: `count` blocks, both sides strided.
pub(crate) type StridedFn = unsafe fn(*mut u8, isize, *mut u8, isize, usize, usize);
/// `(mem, offsets, buf, len)`: blocks at listed offsets to consecutive places.
pub(crate) type TableFn = unsafe fn(*mut u8, &[i32], *mut u8, usize);
/// `(mem, [outer count, inner count], [outer stride, inner stride], buf, len)`: a matrix of blocks
/// to consecutive places.
pub(crate) type GridFn = unsafe fn(*mut u8, [usize; 2], [isize; 2], *mut u8, usize);

/// `(mem, offsets, ends, begin, buf)`: blocks of any lengths to consecutive places; `ends` less
/// `begin` are those in `buf`.
pub(crate) type ListFn = unsafe fn(*mut u8, &[isize], &[usize], usize, *mut u8);

/// `(from, offsets, to, offsets, len)`: blocks at listed offsets to others.
pub(crate) type TablesFn = unsafe fn(*mut u8, &[i32], *mut u8, &[i32], usize);
/// `(from, offsets, to, offsets, ends, begin)`: blocks of any lengths at listed offsets to others;
/// `ends` are their sums.
pub(crate) type ListsFn = unsafe fn(*mut u8, &[isize], *mut u8, &[isize], &[usize], usize);

/// The kernels of one direction and block length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    pub(crate) strided: StridedFn,
    pub(crate) table: TableFn,
    pub(crate) grid: GridFn,
    pub(crate) list: ListFn,
}

/// Which way the bytes go.
pub(crate) trait Direction {
    /// # Safety
    /// `mem` and `buf` are valid for what `L` copies, and don't overlap.
    unsafe fn copy<L: Length>(mem: *mut u8, buf: *mut u8, len: usize);
    /// Whether the blocks are read from `mem`, so that bytes behind a block in `buf` are still to
    /// be written.
    const GATHERS: bool;
    /// Picks this direction's kernel.
    fn kernel(pair: &Kernels) -> &Kernel;
    /// # Safety
    /// All blocks of `n` structures at `mem` are valid, as is `buf` for their bytes, and none
    /// overlaps `buf`.
    unsafe fn permute(by: &Permutation, mem: *mut u8, buf: *mut u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { if Self::GATHERS { by.run::<true>(mem, buf, n) } else { by.run::<false>(mem, buf, n) } }
    }
}

/// Gather: from `mem` to `buf`; `mem` is only read.
pub(crate) struct Pack;
/// Scatter: from `buf` to `mem`; `buf` is only read.
pub(crate) struct Unpack;

impl Direction for Pack {
    const GATHERS: bool = true;
    #[inline(always)]
    unsafe fn copy<L: Length>(mem: *mut u8, buf: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { L::copy(mem, buf, len) }
    }
    #[inline(always)]
    fn kernel(pair: &Kernels) -> &Kernel {
        &pair.pack
    }
}

impl Direction for Unpack {
    const GATHERS: bool = false;
    #[inline(always)]
    unsafe fn copy<L: Length>(mem: *mut u8, buf: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { L::copy(buf, mem, len) }
    }
    #[inline(always)]
    fn kernel(pair: &Kernels) -> &Kernel {
        &pair.unpack
    }
}

/// The loops over blocks, for one direction and class of lengths.
struct Loops<D, L>(PhantomData<(D, L)>);

impl<D: Direction, L: Length> Loops<D, L> {
    const PLAIN: Kernel =
        Kernel { strided: Self::strided, table: Self::table, grid: Self::grid, list: Self::list };

    /// # Safety
    /// All blocks on both sides are valid, and no block of `mem` overlaps one of `buf`.
    #[inline(always)]
    unsafe fn strided(mem: *mut u8, ms: isize, buf: *mut u8, bs: isize, count: usize, len: usize) {
        if L::of(len) <= LINE
            && !without(Optimization::DgspThrottle)
            && let Some(throttle) = Throttle::for_stride(ms, count, D::GATHERS)
        {
            // SAFETY: the caller's promise.
            return unsafe {
                match throttle {
                    Throttle::Light => Self::throttled::<2>(mem, ms, buf, bs, count, len),
                    Throttle::Medium => Self::throttled::<4>(mem, ms, buf, bs, count, len),
                    Throttle::Heavy => Self::throttled::<7>(mem, ms, buf, bs, count, len),
                }
            };
        }
        let (mut m, mut b, mut count) = (mem, buf, count);
        if D::GATHERS && L::SPILL > 0 && bs == L::of(len) as isize {
            // What spills over the end of a block is overwritten by the next ones; the last ones
            // are copied exactly.
            let exact = L::SPILL.div_ceil(L::of(len));
            for _ in exact..count {
                // SAFETY: one of the blocks that the caller promises; at least `SPILL` bytes of
                // `buf` are left.
                unsafe { L::copy_spilling(m, b) };
                (m, b) = (m.wrapping_offset(ms), b.wrapping_offset(bs));
            }
            count = count.min(exact);
        }
        if L::LONG {
            // SAFETY: the caller's promise.
            return unsafe { Self::rows(m, [1, count], [0, ms], b, bs, len) };
        }
        for _ in 0..count / 4 {
            // SAFETY: four of the blocks that the caller promises. Pointers in between are only
            // computed.
            unsafe {
                D::copy::<L>(m, b, len);
                D::copy::<L>(m.wrapping_offset(ms), b.wrapping_offset(bs), len);
                D::copy::<L>(m.wrapping_offset(2 * ms), b.wrapping_offset(2 * bs), len);
                D::copy::<L>(m.wrapping_offset(3 * ms), b.wrapping_offset(3 * bs), len);
            }
            (m, b) = (m.wrapping_offset(4 * ms), b.wrapping_offset(4 * bs));
        }
        for _ in 0..count % 4 {
            // SAFETY: the blocks that are left.
            unsafe { D::copy::<L>(m, b, len) };
            (m, b) = (m.wrapping_offset(ms), b.wrapping_offset(bs));
        }
    }

    /// A matrix of long blocks.
    ///
    /// One loop without branches that a row's end would turn: rows are short, and a turn foreseen
    /// wrongly costs as much as copying a hundred bytes.
    ///
    /// # Safety
    /// As `grid`, with blocks `bs` apart in `buf`.
    #[inline(always)]
    unsafe fn rows(
        mem: *mut u8,
        counts: [usize; 2],
        strides: [isize; 2],
        buf: *mut u8,
        bs: isize,
        len: usize,
    ) {
        let mut here = Place::new(mem, counts, strides);
        let mut b = buf;
        for _ in 0..counts[0] * counts[1] {
            // SAFETY: one of the blocks that the caller promises.
            unsafe { D::copy::<L>(here.at, b, len) };
            here.step();
            b = b.wrapping_offset(bs);
        }
    }

    /// `strided`, with stores of our own between the blocks.
    ///
    /// # Safety
    /// As `strided`.
    #[inline(never)]
    unsafe fn throttled<const STORES: u8>(
        mem: *mut u8,
        ms: isize,
        buf: *mut u8,
        bs: isize,
        count: usize,
        len: usize,
    ) {
        let (mut m, mut b) = (mem, buf);
        let mut left = count;
        while left > 0 {
            // SAFETY: one of the blocks that the caller promises.
            unsafe { D::copy::<L>(m, b, len) };
            throttle::wait::<STORES>(left);
            (m, b) = (m.wrapping_offset(ms), b.wrapping_offset(bs));
            left = throttle::opaque(left) - 1;
        }
    }

    /// # Safety
    /// As `strided`.
    #[inline(always)]
    unsafe fn table(mem: *mut u8, offs: &[i32], buf: *mut u8, len: usize) {
        let n = L::of(len);
        let mut b = buf;
        let (four, rest) = offs.as_chunks::<4>();
        for o in four {
            // SAFETY: four of the blocks that the caller promises.
            unsafe {
                D::copy::<L>(mem.wrapping_offset(o[0] as isize), b, len);
                D::copy::<L>(mem.wrapping_offset(o[1] as isize), b.wrapping_add(n), len);
                D::copy::<L>(mem.wrapping_offset(o[2] as isize), b.wrapping_add(2 * n), len);
                D::copy::<L>(mem.wrapping_offset(o[3] as isize), b.wrapping_add(3 * n), len);
            }
            b = b.wrapping_add(4 * n);
        }
        for &o in rest {
            // SAFETY: the blocks that are left.
            unsafe { D::copy::<L>(mem.wrapping_offset(o as isize), b, len) };
            b = b.wrapping_add(n);
        }
    }

    /// # Safety
    /// As `strided`.
    #[inline(always)]
    unsafe fn grid(mem: *mut u8, counts: [usize; 2], strides: [isize; 2], buf: *mut u8, len: usize) {
        let n = L::of(len);
        if L::LONG {
            // SAFETY: the caller's promise.
            return unsafe { Self::rows(mem, counts, strides, buf, n as isize, len) };
        }
        let [outer, inner] = strides.map(isize::unsigned_abs);
        // A transposition: the message goes down columns that lie side by side. Several columns at
        // once use a cache line while it is there. Blocks must not overlap, or the order of writes
        // would show.
        if outer <= LINE / 2 && n <= outer && counts[0].saturating_mul(outer) <= inner {
            let tile = LINE / outer;
            let mut j = 0;
            while j < counts[0] {
                let columns = tile.min(counts[0] - j);
                let mut m = mem.wrapping_offset(j as isize * strides[0]);
                let mut b = buf.wrapping_add(j * n * counts[1]);
                for _ in 0..counts[1] {
                    // SAFETY: a row's part of the blocks that the caller promises.
                    unsafe { Self::near(m, strides[0], b, (n * counts[1]) as isize, columns, len) };
                    (m, b) = (m.wrapping_offset(strides[1]), b.wrapping_add(n));
                }
                j += columns;
            }
            return;
        }
        let (mut m, mut b) = (mem, buf);
        for _ in 0..counts[0] {
            // SAFETY: one row of the blocks that the caller promises.
            unsafe { Self::strided(m, strides[1], b, n as isize, counts[1], len) };
            m = m.wrapping_offset(strides[0]);
            b = b.wrapping_add(n * counts[1]);
        }
    }

    /// # Safety
    /// As `strided`.
    #[inline(always)]
    unsafe fn list(mem: *mut u8, offs: &[isize], ends: &[usize], begin: usize, buf: *mut u8) {
        let mut at = begin;
        for (&off, &end) in offs.iter().zip(ends) {
            // SAFETY: one of the blocks that the caller promises.
            unsafe { D::copy::<L>(mem.wrapping_offset(off), buf.wrapping_add(at - begin), end - at) };
            at = end;
        }
    }

    /// # Safety
    /// As `strided`, with both sides' blocks anywhere.
    #[inline(always)]
    unsafe fn tables(from: *mut u8, offs: &[i32], to: *mut u8, to_offs: &[i32], len: usize) {
        let n = offs.len().min(to_offs.len());
        let (four, rest) = offs[..n].as_chunks::<4>();
        let (to_four, to_rest) = to_offs[..n].as_chunks::<4>();
        for (o, p) in four.iter().zip(to_four) {
            // SAFETY: four of the blocks that the caller promises.
            unsafe {
                D::copy::<L>(from.wrapping_offset(o[0] as isize), to.wrapping_offset(p[0] as isize), len);
                D::copy::<L>(from.wrapping_offset(o[1] as isize), to.wrapping_offset(p[1] as isize), len);
                D::copy::<L>(from.wrapping_offset(o[2] as isize), to.wrapping_offset(p[2] as isize), len);
                D::copy::<L>(from.wrapping_offset(o[3] as isize), to.wrapping_offset(p[3] as isize), len);
            }
        }
        for (&o, &p) in rest.iter().zip(to_rest) {
            // SAFETY: the blocks that are left.
            unsafe { D::copy::<L>(from.wrapping_offset(o as isize), to.wrapping_offset(p as isize), len) };
        }
    }

    /// # Safety
    /// As `tables`.
    #[inline(always)]
    unsafe fn lists(
        from: *mut u8,
        offs: &[isize],
        to: *mut u8,
        to_offs: &[isize],
        ends: &[usize],
        begin: usize,
    ) {
        let mut begin = begin;
        for ((&o, &p), &end) in offs.iter().zip(to_offs).zip(ends) {
            // SAFETY: one of the blocks that the caller promises.
            unsafe { D::copy::<L>(from.wrapping_offset(o), to.wrapping_offset(p), end - begin) };
            begin = end;
        }
    }

    /// A few blocks that are near each other.
    ///
    /// # Safety
    /// As `strided`.
    #[inline(always)]
    unsafe fn near(mem: *mut u8, ms: isize, buf: *mut u8, bs: isize, count: usize, len: usize) {
        if count == 4 {
            for i in 0..4 {
                // SAFETY: the caller's promise.
                unsafe { D::copy::<L>(mem.wrapping_offset(i * ms), buf.wrapping_offset(i * bs), len) };
            }
            return;
        }
        for i in 0..count as isize {
            // SAFETY: the caller's promise.
            unsafe { D::copy::<L>(mem.wrapping_offset(i * ms), buf.wrapping_offset(i * bs), len) };
        }
    }
}

/// The same loops with 32-byte moves. A processor without AVX2 must not run them.
#[cfg(target_arch = "x86_64")]
impl<D: Direction, L: Length> Loops<D, L> {
    const AVX2: Kernel = Kernel {
        strided: Self::strided_avx2,
        table: Self::table_avx2,
        grid: Self::grid_avx2,
        list: Self::list_avx2,
    };

    /// # Safety
    /// As `strided`.
    #[target_feature(enable = "avx2")]
    unsafe fn strided_avx2(mem: *mut u8, ms: isize, buf: *mut u8, bs: isize, count: usize, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { Self::strided(mem, ms, buf, bs, count, len) }
    }

    /// # Safety
    /// As `strided`.
    #[target_feature(enable = "avx2")]
    unsafe fn table_avx2(mem: *mut u8, offs: &[i32], buf: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { Self::table(mem, offs, buf, len) }
    }

    /// # Safety
    /// As `strided`.
    #[target_feature(enable = "avx2")]
    unsafe fn list_avx2(mem: *mut u8, offs: &[isize], ends: &[usize], begin: usize, buf: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { Self::list(mem, offs, ends, begin, buf) }
    }

    /// # Safety
    /// As `strided`.
    #[target_feature(enable = "avx2")]
    unsafe fn grid_avx2(mem: *mut u8, counts: [usize; 2], strides: [isize; 2], buf: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { Self::grid(mem, counts, strides, buf, len) }
    }
}

/// The kernels with both sides' blocks anywhere.
#[cfg(target_arch = "x86_64")]
impl<L: Length> Loops<Pack, L> {
    /// # Safety
    /// As `tables`.
    #[target_feature(enable = "avx2")]
    unsafe fn tables_avx2(from: *mut u8, offs: &[i32], to: *mut u8, to_offs: &[i32], len: usize) {
        // SAFETY: the caller's promise.
        unsafe { Self::tables(from, offs, to, to_offs, len) }
    }

    /// # Safety
    /// As `tables`.
    #[target_feature(enable = "avx2")]
    unsafe fn lists_avx2(
        from: *mut u8,
        offs: &[isize],
        to: *mut u8,
        to_offs: &[isize],
        ends: &[usize],
        begin: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { Self::lists(from, offs, to, to_offs, ends, begin) }
    }
}

/// A block's place in a matrix of blocks, which goes on from row to row.
#[derive(Clone, Copy)]
struct Place {
    at: *mut u8,
    /// Blocks of the row from here on.
    left: usize,
    row: usize,
    stride: isize,
    /// From a row's last block to the next row's first one.
    turn: isize,
}

impl Place {
    #[inline(always)]
    fn new(at: *mut u8, counts: [usize; 2], strides: [isize; 2]) -> Self {
        let back = strides[1].wrapping_mul(counts[1].wrapping_sub(1) as isize);
        Self { at, left: counts[1], row: counts[1], stride: strides[1], turn: strides[0].wrapping_sub(back) }
    }

    #[inline(always)]
    fn step(&mut self) {
        let last = self.left == 1;
        self.at = self.at.wrapping_offset(if last { self.turn } else { self.stride });
        self.left = if last { self.row } else { self.left.wrapping_sub(1) };
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;
/// Both directions' kernels for one block length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    pub(crate) pack: Kernel,
    pub(crate) unpack: Kernel,
    /// From memory to memory.
    pub(crate) tables: TablesFn,
    pub(crate) lists: ListsFn,
}

fn both<L: Length>() -> Kernels {
    Kernels {
        pack: plain::<Pack, L>(),
        unpack: plain::<Unpack, L>(),
        tables: Loops::<Pack, L>::tables,
        lists: Loops::<Pack, L>::lists,
    }
}

fn plain<D: Direction, L: Length>() -> Kernel {
    Loops::<D, L>::PLAIN
}

/// For lengths that wide moves help.
#[allow(unreachable_code, reason = "where there are wide moves and where not")]
fn wide<L: Length>() -> Kernels {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        return Kernels {
            pack: Loops::<Pack, L>::AVX2,
            unpack: Loops::<Unpack, L>::AVX2,
            tables: Loops::<Pack, L>::tables_avx2,
            lists: Loops::<Pack, L>::lists_avx2,
        };
    }
    both::<L>()
}

/// Kernels for blocks of `len` bytes; for 0, those for blocks of any length.
pub(crate) fn kernels(len: usize) -> Kernels {
    macro_rules! by_length {
        ($($small:literal)* ; $($wide:literal)*) => {
            match len {
                $($small => both::<Fixed<$small>>(),)*
                $($wide => wide::<Fixed<$wide>>(),)*
                17..=31 => both::<Twice<16>>(),
                33..=63 => wide::<Twice<32>>(),
                65..=127 => wide::<Chunks<64>>(),
                256 => wide::<Row<256, Wide>>(),
                512 => wide::<Row<512, Wide>>(),
                129..MEMCPY => wide::<Aligned<Wide>>(),
                MEMCPY.. => both::<Long>(),
                0 => wide::<Any<WIDE>>(),
            }
        };
    }
    by_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 28; 32 36 40 48 56 64 72 80 96 112 128)
}
