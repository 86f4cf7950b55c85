//! Copy loops, one instance for each common block length.
//!
//! Each kernel exists in both directions; `mem` is the user's scattered memory, `buf` the packed side. Lengths that are
//! known at compile time become a few moves; others fall into classes that overlap two moves, or call memcpy.
#![allow(unsafe_code, reason = "the copy kernels work on the user's raw memory")]

use std::marker::PhantomData;

/// `(mem, mem_stride, buf, buf_stride, count, len)`: `count` blocks, both sides strided.
pub(crate) type StridedFn = unsafe fn(*mut u8, isize, *mut u8, isize, usize, usize);
/// `(mem, offsets, buf, len)`: blocks at listed offsets to consecutive places.
pub(crate) type TableFn = unsafe fn(*mut u8, &[i32], *mut u8, usize);
/// `(mem, [outer count, inner count], [outer stride, inner stride], buf, len)`: a matrix of blocks to consecutive places.
pub(crate) type GridFn = unsafe fn(*mut u8, [usize; 2], [isize; 2], *mut u8, usize);

/// `(mem, offsets, ends, begin, buf)`: blocks of any lengths to consecutive places; `ends` less `begin` are those in `buf`.
pub(crate) type ListFn = unsafe fn(*mut u8, &[isize], &[usize], usize, *mut u8);

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
    /// Whether the blocks are read from `mem`, so that bytes behind a block in `buf` are still to be written.
    const GATHERS: bool;
    /// Picks this direction's kernel.
    fn kernel(pair: &Kernels) -> &Kernel;
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

/// A class of block lengths.
pub(crate) trait Length {
    /// The length, where it is known at compile time, else `len` itself.
    fn of(len: usize) -> usize;
    /// Bytes that `copy_spilling` writes; 0 if there is no such copy.
    const SPILL: usize = 0;
    /// Copies with one store, which writes undefined bytes behind the block.
    ///
    /// # Safety
    /// As `copy`, with `dst` writable for `SPILL` bytes.
    #[inline(always)]
    unsafe fn copy_spilling(src: *const u8, dst: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { Self::copy(src, dst, Self::of(0)) }
    }
    /// # Safety
    /// `src` is readable and `dst` writable for `Self::of(len)` bytes, and they don't overlap.
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize);
}

/// Exactly N bytes.
pub(crate) struct Fixed<const N: usize>;
/// Chunk ≤ length ≤ 2 × CHUNK: two moves that overlap.
pub(crate) struct Twice<const CHUNK: usize>;
/// Length ≥ CHUNK: moves of CHUNK, the last one overlapping.
pub(crate) struct Chunks<const CHUNK: usize>;
/// Any length.
pub(crate) struct Any;
/// Long enough that calling memcpy pays.
pub(crate) struct Long;

impl<const N: usize> Length for Fixed<N> {
    #[inline(always)]
    fn of(_: usize) -> usize {
        N
    }
    const SPILL: usize = if N == 3 || (N > 4 && N < 8) { 8 } else { 0 };
    #[inline(always)]
    unsafe fn copy_spilling(src: *const u8, dst: *mut u8) {
        let mut word = [0; 8];
        // SAFETY: N bytes are read, which the caller promises, into 8; 8 are written, which it promises too.
        unsafe {
            std::ptr::copy_nonoverlapping(src, word.as_mut_ptr(), N);
            dst.cast::<u64>().write_unaligned(u64::from_ne_bytes(word));
        }
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, _: usize) {
        // SAFETY: the caller's promise, for N bytes.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, N) }
    }
}

impl<const CHUNK: usize> Length for Twice<CHUNK> {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        debug_assert!((CHUNK..=2 * CHUNK).contains(&len));
        // SAFETY: both moves lie within the `len` bytes promised, since CHUNK <= len. Both are read before either is
        // written, so that the second write repeats what the first wrote where they overlap.
        unsafe {
            let head = src.cast::<[u8; CHUNK]>().read_unaligned();
            let tail = src.add(len - CHUNK).cast::<[u8; CHUNK]>().read_unaligned();
            dst.cast::<[u8; CHUNK]>().write_unaligned(head);
            dst.add(len - CHUNK).cast::<[u8; CHUNK]>().write_unaligned(tail);
        }
    }
}

impl<const CHUNK: usize> Length for Chunks<CHUNK> {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        debug_assert!(len >= CHUNK);
        let mut at = 0;
        // SAFETY: every move ends at or before `len`, which the caller promises; CHUNK <= len.
        unsafe {
            while at + CHUNK < len {
                Fixed::<CHUNK>::copy(src.add(at), dst.add(at), CHUNK);
                at += CHUNK;
            }
            Fixed::<CHUNK>::copy(src.add(len - CHUNK), dst.add(len - CHUNK), CHUNK);
        }
    }
}

impl Length for Any {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        // SAFETY: each class gets lengths of its range, and the caller promises `len` bytes.
        unsafe {
            match len {
                0 => {}
                1 => Fixed::<1>::copy(src, dst, len),
                2..=3 => Twice::<2>::copy(src, dst, len),
                4..=7 => Twice::<4>::copy(src, dst, len),
                8..=15 => Twice::<8>::copy(src, dst, len),
                16..=31 => Twice::<16>::copy(src, dst, len),
                32..=63 => Twice::<32>::copy(src, dst, len),
                64..=127 => Chunks::<64>::copy(src, dst, len),
                128..=1023 => Chunks::<128>::copy(src, dst, len),
                _ => Long::copy(src, dst, len),
            }
        }
    }
}

impl Length for Long {
    #[inline(always)]
    fn of(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, len) }
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
        let (mut m, mut b, mut count) = (mem, buf, count);
        if D::GATHERS && L::SPILL > 0 && bs == L::of(len) as isize {
            // What spills over the end of a block is overwritten by the next ones; the last ones are copied exactly.
            let exact = L::SPILL.div_ceil(L::of(len));
            for _ in exact..count {
                // SAFETY: one of the blocks that the caller promises; at least `SPILL` bytes of `buf` are left.
                unsafe { L::copy_spilling(m, b) };
                (m, b) = (m.wrapping_offset(ms), b.wrapping_offset(bs));
            }
            count = count.min(exact);
        }
        for _ in 0..count / 4 {
            // SAFETY: four of the blocks that the caller promises. Pointers in between are only computed.
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
        let [outer, inner] = strides.map(isize::unsigned_abs);
        // A transposition: the message goes down columns that lie side by side. Several columns at once use a cache line
        // while it is there. Blocks must not overlap, or the order of writes would show.
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

/// Bytes of a cache line.
const LINE: usize = 64;
/// Both directions' kernels for one block length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    pub(crate) pack: Kernel,
    pub(crate) unpack: Kernel,
}

fn both<L: Length>() -> Kernels {
    Kernels { pack: plain::<Pack, L>(), unpack: plain::<Unpack, L>() }
}

fn plain<D: Direction, L: Length>() -> Kernel {
    Loops::<D, L>::PLAIN
}

/// For lengths that wide moves help.
#[allow(unreachable_code, reason = "where there are wide moves and where not")]
fn wide<L: Length>() -> Kernels {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        return Kernels { pack: Loops::<Pack, L>::AVX2, unpack: Loops::<Unpack, L>::AVX2 };
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
                65..=255 => wide::<Chunks<64>>(),
                256..=1023 => wide::<Chunks<128>>(),
                1024.. => both::<Long>(),
                0 => wide::<Any>(),
            }
        };
    }
    by_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 28; 32 36 40 48 56 64 72 80 96 112 128 144 160 192 224 256)
}
